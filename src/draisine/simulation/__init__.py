"""Initial value problems: consistent starts, methods, events, control, and the driver that makes a run of them."""

from __future__ import annotations

from draisine.simulation.choices import Choices, prepare
from draisine.simulation.control import EveryStage, Sampled, State
from draisine.simulation.iterated import ConjugateGradients, Reactions, reactions
from draisine.simulation.methods import CVODE, DOP853, ESDIRK23, IDA, RK4, Auto, Gauss, Heun, Method, PredictorCorrector, Radau
from draisine.simulation.result import Occurrence, Run, Segment
from draisine.simulation.run import integrate
from draisine.simulation.start import Conflict, InconsistentStart, Near, Start, StartProblem, StartReport, consistent_start

__all__ = [
    "CVODE",
    "DOP853",
    "ESDIRK23",
    "IDA",
    "RK4",
    "Auto",
    "Choices",
    "Conflict",
    "ConjugateGradients",
    "EveryStage",
    "Gauss",
    "Heun",
    "InconsistentStart",
    "Method",
    "Near",
    "Occurrence",
    "PredictorCorrector",
    "Radau",
    "Reactions",
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
    "reactions",
]
