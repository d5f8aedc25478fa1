"""Explicit methods for initial value problems, one file each: its numbers, its paper, a thin frozen class."""

from __future__ import annotations

from draisine.simulation.methods.dop853 import DOP853
from draisine.simulation.methods.predictor_corrector import PredictorCorrector
from draisine.simulation.methods.rk4 import RK4
from draisine.simulation.methods.scheme import Method, Scheme

__all__ = ["DOP853", "RK4", "Method", "PredictorCorrector", "Scheme"]
