"""Where an experiment begins: a consistent start, in terms of the choice of velocities that fits it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from draisine.program.equations import Equations
from draisine.simulation.compiled_equations import best_choice_for
from draisine.simulation.initial.consistent_start import consistent_start
from draisine.simulation.initial.problem import StartProblem
from draisine.simulation.initial.result import Start

Reals = NDArray[np.float64]


@lru_cache(maxsize=32)
def start_problem(equations: Equations) -> StartProblem:
    """Consistent starts of these equations, their programs compiled once."""
    return StartProblem(equations)


def begun(problem: StartProblem, targets: Mapping[str, Any], u: Reals, p: Reals) -> tuple[Start, Equations, Reals]:
    """The start that wishes lead to, the equations with the fitting choice of velocities, and their state."""
    e = problem.equations
    begin = consistent_start(problem, targets, p, inputs=u)
    extra = begin.x[len(begin.x) - len(e.extra_states) :]
    return begin, *best_choice_for(e, begin.q, begin.v, extra, (0.0, u, p))
