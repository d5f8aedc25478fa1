"""Equations typed by hand or brought along: Lagrangians, first-order systems, SymPy's mechanics; and laws for their inputs."""
