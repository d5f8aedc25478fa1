"""Adjoint method: gradients by the adjoint system, and optimal controls by descent (Delebecque & Nikoukhah 1992, section 3.3)."""
