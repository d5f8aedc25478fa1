"""The numbers of an explicit method, in one form for all: rows of weights on derivatives.

A step starts with `history` known derivatives (one for Runge–Kutta methods: that of the point itself; more for multistep
methods: the newest first). Row i of `weights` makes the point of stage i from the derivatives before it,

    X_i = x + h Σ_j weights[i, j] k_j,        k_i = f(t + nodes[i] h, X_i);

row number `stages` gives the new state, and its derivative opens the next step. Rows after it serve dense output only.

The interpolant is nested in θ = (time − t)/h,

    x(θ) = x + θ (F₀ + (1−θ) (F₁ + θ (F₂ + (1−θ) (F₃ + θ (F₄ + …))))),

F₀ … F₂ being the cubic Hermite polynomial through both ends, and the further ones F = h · dense · k.
This is Hairer's form (Hairer, Nørsett & Wanner, Solving Ordinary Differential Equations I, 2nd ed., section II.6).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from draisine.errors import ArgumentError
from draisine.numerics.runge_kutta import ExplicitTableau

if TYPE_CHECKING:
    from draisine.simulation.methods.tableau import ImplicitScheme

Array = NDArray[np.float64]


def protect(scheme: Scheme | ImplicitScheme) -> None:
    """No more writing to the numbers of a method, which all runs share."""
    for numbers in vars(scheme).values():
        if isinstance(numbers, np.ndarray):
            numbers.flags.writeable = False


@dataclass(frozen=True, eq=False)
class Scheme:
    """Weights of one explicit method; see the module's text for their meaning."""

    order: int
    history: int
    stages: int
    weights: Array  # (rows, rows)
    nodes: Array  # (rows)
    dense: Array  # (terms beyond the cubic, rows)
    error: Array | None = None  # (2, rows): the estimates of order 5 and 3 of DOP853; a single one leaves the second zero
    foreign: bool = False  # steps are made outside the loop, which only takes them

    def __post_init__(self) -> None:
        protect(self)

    @property
    def rows(self) -> int:
        return len(self.nodes)

    @property
    def tableau(self) -> ExplicitTableau:
        """Butcher's table of a Runge–Kutta method, for steps outside the compiled loop."""
        s = self.stages
        error = None if self.error is None else self.error[:, :s]
        return ExplicitTableau(self.order, self.weights[:s, :s], self.weights[s, :s], self.nodes[:s], error)


class SteppingMethod(Protocol):
    """What the driver reads of a method. A fixed-step method has `step`; an adaptive one its tolerances."""

    @property
    def order(self) -> int: ...

    @property
    def adaptive(self) -> bool: ...

    @property
    def implicit(self) -> bool:
        """Whether it solves 0 = F(t, x, ẋ); then it has `highest_index`."""

    @property
    def scheme(self) -> Scheme | ImplicitScheme: ...

    @property
    def starter(self) -> Scheme | ImplicitScheme:
        """Makes the first steps, until `scheme` has its history."""

    @property
    def max_steps(self) -> int: ...


def positive(method: str, name: str, value: float) -> None:
    """Refuse a setting that is not a positive finite number."""
    if not (value > 0.0 and math.isfinite(value)):
        raise ArgumentError(f"{method}: {name} must be a positive number, got {value!r}")
