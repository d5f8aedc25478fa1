"""Vector kernels: several samples in the lanes of one register."""
