"""Steady motions, exact linearisation, modes and critical values."""
