"""What runs of one set of equations share."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

import numpy as np

from draisine.program.equations import Equations
from draisine.program.implicit import Implicit
from draisine.records import dataclass
from draisine.simulation.choices import Choices, prepare
from draisine.simulation.names import numbers
from draisine.simulation.start import StartProblem
from draisine.simulation.stored import stepping_loop


@dataclass(frozen=True, eq=False)
class Prepared:
    """What runs of one set of equations share: kernels, and the problem of finding a start."""

    choices: Choices
    starts: StartProblem


@lru_cache(maxsize=32)
def prepared(equations: Equations) -> Prepared:
    """Compiled once for all runs of these equations in this process."""
    # compiled at its first use on a machine: that belongs to compiling, not to integrating
    stepping_loop(implicit=isinstance(equations.dynamics, Implicit))
    return Prepared(prepare(equations), StartProblem(equations))


def values_of(equations: Equations, parameters: Mapping[str, float | str] | None) -> np.ndarray:
    """Parameters in order, those not given at their defaults."""
    return numbers("parameter", equations.parameters, parameters)
