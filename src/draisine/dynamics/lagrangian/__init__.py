"""An independent derivation from energies, in Euler angles."""
