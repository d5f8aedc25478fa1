"""Differential-algebraic equations: structural and differential index, index reduction, and mechanisms as DAEs."""
