"""The classical Runge–Kutta method of order 4 with a fixed step.

W. Kutta, "Beitrag zur näherungsweisen Integration totaler Differentialgleichungen", Z. Math. Phys. 46 (1901) 435–453.
Dense output is the cubic Hermite polynomial through both ends of a step, of order 4 like the method itself.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from draisine.numerics import runge_kutta as tables
from draisine.numerics.number_range import with_number_range
from draisine.simulation.methods.tableau import Scheme, positive

SCHEME = Scheme(
    order=4,
    history=1,
    stages=4,
    weights=np.pad(np.vstack([tables.RK4.a, tables.RK4.b]), ((0, 0), (0, 1))),
    nodes=np.append(tables.RK4.c, 1.0),
    dense=np.zeros((0, 5)),
)


@with_number_range
@dataclass(frozen=True)
class RK4:
    """The classical Runge–Kutta method of order 4. The run is divided into equal steps, none longer than `step`.

    >>> RK4(step=0.01).order
    4
    """

    step: float
    max_steps: int = 100_000_000

    order = 4
    adaptive = False
    implicit = False
    scheme = SCHEME
    starter = SCHEME

    def __post_init__(self) -> None:
        positive("RK4", "step", self.step)
        positive("RK4", "max_steps", self.max_steps)
