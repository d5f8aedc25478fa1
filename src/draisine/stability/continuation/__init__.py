"""Numerical continuation of steady motions through folds and branch points, and grids of steady motions."""
