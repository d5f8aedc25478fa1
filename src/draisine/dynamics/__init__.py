"""Equations of motion from a description."""
