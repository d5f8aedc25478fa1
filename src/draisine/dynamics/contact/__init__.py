"""Wheels, knife edges and surfaces in contact, as constraint rows and forces."""
