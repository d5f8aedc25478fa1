"""Initial value problems: consistent starts, methods, events, control, and the driver that makes a run of them."""

from __future__ import annotations

from draisine.simulation.choices import Choices, prepare
from draisine.simulation.control import EveryStage, Sampled, State
from draisine.simulation.methods import DOP853, RK4, Method, PredictorCorrector
from draisine.simulation.run import Occurrence, Run, Segment, integrate
from draisine.simulation.start import InconsistentStart, Start, StartProblem, StartReport, consistent_start

__all__ = [
    "DOP853",
    "RK4",
    "Choices",
    "EveryStage",
    "InconsistentStart",
    "Method",
    "Occurrence",
    "PredictorCorrector",
    "Run",
    "Sampled",
    "Segment",
    "Start",
    "StartProblem",
    "StartReport",
    "State",
    "consistent_start",
    "integrate",
    "prepare",
]
