"""Settings of the adjoint method: pieces of controls, integration steps, and descent."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from draisine.errors import ArgumentError
from draisine.numerics.direct_methods import MOST_INTERVALS, Grid, MultipleShooting, breaks_of, check_breaks
from draisine.numerics.number_range import refuse_large_count, with_number_range
from draisine.simulation.methods import dop853, rk4
from draisine.simulation.methods.tableau import Scheme

Reals = NDArray[np.float64]

MOST_STEPS = 64  # in a piece, if chosen automatically
SCHEMES: dict[int, Scheme] = {4: rk4.SCHEME, 8: dop853.SCHEME}


@with_number_range
@dataclass(frozen=True)
class Descent:
    """Settings of the descent: a bounded quasi-Newton method (L-BFGS-B) inside an augmented Lagrangian.

    `tolerance` of the conditions at the end, relative to their sizes, and of the projected gradient; `rounds` of multipliers,
    each of `iterations` at most; `memory` pairs of the quasi-Newton method.
    """

    tolerance: float = 1e-6
    rounds: int = 40
    iterations: int = 1000
    memory: int = 20
    penalty: float = 100.0  # initial value

    def __post_init__(self) -> None:
        if not (0.0 < self.tolerance < 1.0):
            raise ArgumentError(f"Descent: tolerance must lie between 0 and 1, got {self.tolerance!r}")
        for name in ("rounds", "iterations", "memory", "penalty"):
            if not getattr(self, name) > 0:
                raise ArgumentError(f"Descent: {name} must be positive, got {getattr(self, name)!r}")


@with_number_range
@dataclass(frozen=True)
class Adjoint:
    """Descent with adjoint gradients; controls are constant in each of the `pieces` (their number, or their ends from 0 to 1).

    Each piece takes `steps` of a Runge–Kutta method of `order` 8 or 4; by default as many as keep the error of the motion below
    `accuracy`.

    >>> Adjoint(pieces=4).breaks.tolist()
    [0.0, 0.25, 0.5, 0.75, 1.0]
    """

    pieces: int | tuple[float, ...] = 60
    steps: int | None = None
    order: Literal[4, 8] = 8
    accuracy: float = 1e-10
    descent: Descent = field(default_factory=Descent)

    def __post_init__(self) -> None:
        check_breaks("Adjoint", self.pieces)
        if self.steps is not None and self.steps < 1:
            raise ArgumentError(f"Adjoint: at least one step per piece is needed, got {self.steps!r}")
        refuse_large_count("Adjoint: steps", self.steps, MOST_INTERVALS)
        if self.order not in SCHEMES:
            raise ArgumentError(f"Adjoint: order is 4 or 8, got {self.order!r}")

    @property
    def breaks(self) -> Reals:
        return breaks_of(self.pieces)

    @property
    def scheme(self) -> Scheme:
        return SCHEMES[self.order]

    @cached_property
    def grid(self) -> Grid:
        """States at the ends of pieces, controls constant in between."""
        return MultipleShooting(self.pieces).grid

    def fractions(self, steps: int) -> Reals:
        """Ends of all steps, in [0, 1]."""
        inside = np.arange(steps) / steps
        b = self.breaks
        return np.append((b[:-1, None] + np.diff(b)[:, None] * inside).ravel(), 1.0)
