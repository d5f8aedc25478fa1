"""Gauss–Legendre collocation: order 2s, symplectic, A-stable, symmetric.

E. Hairer, C. Lubich and G. Wanner, Geometric Numerical Integration, 2nd ed., Springer 2006, sections II.1.3, IV.2.1 (quadratic
invariants) and VI.4 (symplecticity).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from draisine.errors import ArgumentError
from draisine.numerics.number_range import with_number_range
from draisine.numerics.runge_kutta import gauss_nodes
from draisine.simulation.methods.collocation import collocation_scheme
from draisine.simulation.methods.tableau import ImplicitScheme, check_settings

STAGES = (1, 2, 3)


@cache
def scheme(stages: int) -> ImplicitScheme:
    return collocation_scheme(gauss_nodes(stages), 2 * stages)


@with_number_range
@dataclass(frozen=True)
class Gauss:
    """Gauss–Legendre with 1 stage (implicit midpoint rule, order 2), 2 (order 4) or 3 stages (order 6).

    With `step` the run is divided into equal steps, none longer than `step`, and each is solved to rounding error: quadratic
    invariants are conserved, and the energy of a Hamiltonian system does not drift. Without `step` the step size is controlled,
    and these properties are lost. Algebraic unknowns converge only with order s or s + 1; for them Radau is better.

    >>> Gauss(step=0.01).order, Gauss(step=0.01, stages=3).order
    (4, 6)
    """

    step: float | None = None
    stages: int = 2
    rtol: float = 1e-8
    atol: float | Sequence[float] = 1e-10
    first_step: float | None = None
    max_step: float | None = None
    max_steps: int = 100_000_000

    implicit = True
    highest_index = 1

    def __post_init__(self) -> None:
        check_settings(self)
        if self.stages not in STAGES:
            raise ArgumentError(f"Gauss: stages must be 1, 2 or 3, got {self.stages!r}")

    @property
    def order(self) -> int:
        return 2 * self.stages

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
        """The tolerance of the error estimate, whose order is lower than that of the method."""
        return 0.02 * self.rtol ** ((self.stages + 1) / (2 * self.stages + 1))
