"""Constraint rows, their redundancy, and the constraint manifold."""
