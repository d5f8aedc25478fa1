"""Radau IIA collocation: order 2s − 1, stiffly accurate and L-stable.

E. Hairer and G. Wanner, Solving Ordinary Differential Equations II, 2nd ed., Springer 1996, section IV.8, and the code RADAU5
described there; E. Hairer, C. Lubich and M. Roche, The Numerical Solution of Differential-Algebraic Systems by Runge–Kutta
Methods, Springer 1989, for the orders at index 1, 2 and 3.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from draisine.errors import ArgumentError
from draisine.numerics.number_range import with_number_range
from draisine.numerics.runge_kutta import radau_nodes
from draisine.simulation.methods.collocation import collocation_scheme
from draisine.simulation.methods.tableau import ImplicitScheme, check_settings

STAGES = (1, 3, 5)


@cache
def scheme(stages: int) -> ImplicitScheme:
    return collocation_scheme(radau_nodes(stages), 2 * stages - 1)


@with_number_range
@dataclass(frozen=True)
class Radau:
    """Radau IIA with 3 stages (order 5), 5 stages (order 9) or 1 stage (implicit Euler), for stiff and implicit equations.

    Steps are controlled so that errors stay near `atol + rtol · |x|`; errors of unknowns of index 2 and 3 are scaled by one
    and two powers of the step. With `step` the run is divided into equal steps, none longer than `step`, and each is solved to
    rounding error.

    >>> Radau().order, Radau(stages=5).order
    (5, 9)
    """

    rtol: float = 1e-8
    atol: float | Sequence[float] = 1e-10
    stages: int = 3
    step: float | None = None
    first_step: float | None = None
    max_step: float | None = None
    max_steps: int = 10_000_000

    implicit = True
    highest_index = 3

    def __post_init__(self) -> None:
        check_settings(self)
        if self.stages not in STAGES:
            raise ArgumentError(f"Radau: stages must be 1, 3 or 5, got {self.stages!r}")

    @property
    def order(self) -> int:
        return 2 * self.stages - 1

    @property
    def adaptive(self) -> bool:
        return self.step is None

    @property
    def scheme(self) -> ImplicitScheme:
        return scheme(self.stages)

    @property
    def starter(self) -> ImplicitScheme:
        return scheme(self.stages)

    @property
    def inner_rtol(self) -> float:
        """The tolerance of the error estimate, whose order is lower than that of the method: as in Hairer's code RADAU."""
        return 0.1 * self.rtol ** ((self.stages + 1) / (2 * self.stages))
