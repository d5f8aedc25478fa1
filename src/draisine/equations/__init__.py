"""Equations of motion from a description."""

from draisine.equations.derive import derive

__all__ = ["derive"]
