"""Symbolic systems: Lagrangians, first-order and differential-algebraic systems, SymPy's mechanics; rendering of equations."""
