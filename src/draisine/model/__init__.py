"""Describe a system by names."""

from draisine.model.items import GROUND, System
from draisine.model.model import Model
from draisine.model.validate import ModelError

__all__ = ["GROUND", "Model", "ModelError", "System"]
