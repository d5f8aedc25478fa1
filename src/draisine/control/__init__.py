"""Feedback laws and their design, prescribed paths, optimal control."""
