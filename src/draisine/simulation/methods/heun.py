"""Heun's method (improved Euler) of order 2 with a fixed step.

K. Heun, "Neue Methoden zur approximativen Integration der Differentialgleichungen einer unabhängigen Veränderlichen", Z. Math.
Phys. 45 (1900) 23–38. Dense output is the cubic Hermite polynomial through both ends of a step.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from draisine.numerics.number_range import with_number_range
from draisine.simulation.methods.tableau import Scheme, positive

SCHEME = Scheme(
    order=2,
    history=1,
    stages=2,
    weights=np.array(
        [
            [0.0, 0.0, 0.0],
            [1.0, 0.0, 0.0],
            [1 / 2, 1 / 2, 0.0],
        ]
    ),
    nodes=np.array([0.0, 1.0, 1.0]),
    dense=np.zeros((0, 3)),
)


@with_number_range
@dataclass(frozen=True)
class Heun:
    """Heun's method of order 2. A run is divided into equal steps, none longer than `step`.

    It serves for comparisons; RK4 costs twice as much per step and is far more accurate.

    >>> Heun(step=0.01).order
    2
    """

    step: float
    max_steps: int = 100_000_000

    order = 2
    adaptive = False
    implicit = False
    scheme = SCHEME
    starter = SCHEME

    def __post_init__(self) -> None:
        positive("Heun", "step", self.step)
        positive("Heun", "max_steps", self.max_steps)
