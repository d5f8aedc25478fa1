"""Methods for initial value problems, one file each: its numbers, its paper, a thin frozen class."""

from __future__ import annotations

from draisine.simulation.methods.auto import Auto
from draisine.simulation.methods.dop853 import DOP853
from draisine.simulation.methods.esdirk23 import ESDIRK23
from draisine.simulation.methods.gauss import Gauss
from draisine.simulation.methods.heun import Heun
from draisine.simulation.methods.predictor_corrector import PredictorCorrector
from draisine.simulation.methods.radau import Radau
from draisine.simulation.methods.rk4 import RK4
from draisine.simulation.methods.scheme import Scheme, SteppingMethod
from draisine.simulation.methods.sundials import CVODE, IDA

Method = SteppingMethod | Auto

__all__ = [
    "CVODE",
    "DOP853",
    "ESDIRK23",
    "IDA",
    "RK4",
    "Auto",
    "Gauss",
    "Heun",
    "Method",
    "PredictorCorrector",
    "Radau",
    "Scheme",
    "SteppingMethod",
]
