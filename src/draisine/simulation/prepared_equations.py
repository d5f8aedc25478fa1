"""What runs of one set of equations share."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from draisine.program.dae_residual import DaeResidual
from draisine.program.equations import Equations
from draisine.simulation.compiled_equations import VelocityChoices, prepare
from draisine.simulation.initial.problem import StartProblem
from draisine.simulation.named_values import numbers
from draisine.simulation.stepper.memory import stepping_loop


class Prepared(NamedTuple):
    """What runs of one set of equations share: kernels, and the problem of finding a start."""

    choices: VelocityChoices
    starts: StartProblem


@lru_cache(maxsize=32)
def prepared(equations: Equations) -> Prepared:
    """Compiled once for all runs of these equations in this process."""
    # compiled at its first use on a machine: that belongs to compiling, not to integrating
    stepping_loop(implicit=isinstance(equations.dynamics, DaeResidual))
    return Prepared(prepare(equations), StartProblem(equations))


def values_of(equations: Equations, parameters: Mapping[str, float | str] | None) -> np.ndarray:
    """Parameters in order, those not given at their defaults."""
    return numbers("parameter", equations.parameters, parameters)
