"""Rendering of equations: text about a model, SymPy matrices of small systems, listings and documents of large ones."""
