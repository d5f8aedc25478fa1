"""The linear model of straight running as one program of speed and all parameters, for eigenvalues while sliders move.

It is the program from which `modes` sweeps (`stability/straight_running.py`), with every parameter varied besides the speed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from draisine.errors import DraisineError
from draisine.program.equations import Equations
from draisine.program.program import Program
from draisine.stability.closed_form_family import EXACT
from draisine.stability.steady_family import Family

SWEPT = "speed"
STILL = ("lean", "steer")  # zero in straight running, where a model has them
MOST_OPERATIONS = 40_000
_TYPICAL = 4.6  # m/s
_FASTEST = 10.0


@dataclass(frozen=True, eq=False)
class Straight:
    """(points) → A and misfit: points are the speed and then all parameters; A is of the deviations `states`.

    Where the misfit exceeds `exact` the motion written down is not the straight running of those parameters.
    """

    program: Program
    states: tuple[str, ...]
    low: float = 0.0
    high: float = _FASTEST
    exact: float = EXACT


def straight_running(equations: Equations) -> Straight | None:
    """None where a model has no speed, or no straight running that can be written down for all parameters."""
    outputs = equations.motion.output("outputs").labels
    known = {*outputs, *(q.name for q in equations.coordinates)}
    reported = tuple(name for name in STILL if name in known)
    if SWEPT not in outputs or not reported:
        return None
    p = {q.name: q.default for q in equations.parameters}
    try:
        family = Family(equations, {SWEPT: _TYPICAL, **p}, fixed=dict.fromkeys(reported, 0.0), states=reported)
        made = family.closed_form
    except (DraisineError, np.linalg.LinAlgError):
        return None
    if made is None or "lean" not in family.states or made.program.operations > MOST_OPERATIONS:
        return None
    return Straight(replace(made.program, name="straight"), family.states)
