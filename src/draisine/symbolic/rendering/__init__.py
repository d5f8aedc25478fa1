"""Equations for people: text about a model, SymPy matrices of small systems, structured listings and documents of large ones."""
