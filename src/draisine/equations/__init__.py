"""Equations of motion from a description."""

from draisine.equations.augmented import Baumgarte
from draisine.equations.derive import derive
from draisine.equations.treatment import Augmented, Recursive, Reduced

__all__ = ["Augmented", "Baumgarte", "Recursive", "Reduced", "derive"]
