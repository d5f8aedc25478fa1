"""Gradients of costs by the adjoint system, and controls by descent along them (Delebecque & Nikoukhah 1992, section 3.3)."""
