"""Numerical methods shared by several packages; they depend on NumPy and SciPy only."""
