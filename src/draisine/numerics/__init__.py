"""Numerical methods that several folders share, on NumPy and SciPy alone."""
