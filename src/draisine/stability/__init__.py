"""Steady motions, exact linearization, modes and critical values."""
