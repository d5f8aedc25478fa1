"""Equations of motion from a description."""

from draisine.equations.augmented import Baumgarte
from draisine.equations.derive import derive

__all__ = ["Baumgarte", "derive"]
