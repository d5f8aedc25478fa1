"""Constraint rows, their redundancy, regularity and projection onto them."""
