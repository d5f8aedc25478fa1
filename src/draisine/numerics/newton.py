"""Newton's method for F(x) = 0: damped or full steps; dense, sparse or minimum-norm.

An iterate may be any object with a residual (the nodes of a periodic motion, a mesh): `Newton.iterate` takes functions for its
size, its Newton step and the iterate after a step. `Newton.solve` is for vectors. For batches: `newton_batch`.

P. Deuflhard, Newton Methods for Nonlinear Problems, Springer 2004: affine invariance (section 1.2), steps of least norm for
systems of deficient rank (section 4.4).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from draisine.numerics.newton_batch import DECREASE
from draisine.numerics.rank import equilibrate

Array = NDArray[np.float64]
P = TypeVar("P")


class Status(Enum):
    """How an iteration ended."""

    CONVERGED = "converged"
    STALLED = "no step decreases the residual further"
    DIVERGED = "a step is longer than allowed"
    NOT_FINITE = "the residual, its Jacobian or a step is not finite"
    MAX_ITERATIONS = "maximum number of iterations reached"


@dataclass(frozen=True)
class Solution(Generic[P]):
    """The last iterate, or the best one if the iteration did not converge."""

    point: P
    status: Status
    residual: float  # its size
    iterations: int

    @property
    def converged(self) -> bool:
        return self.status is Status.CONVERGED


class Linearized(NamedTuple):
    """A vector with F and ∂F/∂x there; the Jacobian is an array or a sparse matrix."""

    x: Array
    residual: Array
    jacobian: Any

    @property
    def size(self) -> float:
        """The largest residual; infinite where F or its Jacobian is not finite."""
        values = self.jacobian if isinstance(self.jacobian, np.ndarray) else np.asarray(self.jacobian.data)
        finite = np.isfinite(self.residual).all() and np.isfinite(values).all()
        return float(np.abs(self.residual).max(initial=0.0)) if finite else np.inf


Evaluate = Callable[[Array], "tuple[Array, Any] | None"]
Step = Callable[[Linearized], Array]


@dataclass(frozen=True)
class Newton:
    """Settings of the iteration.

    Converged when the residual is at most `tolerance`; or at most `acceptable` while steps do not decrease it further (rounding);
    or when a step is at most `step_tolerance` relative to the unknowns, and the residual `acceptable` if that is given. Steps are
    halved down to `least_share` where the residual would grow; with 1 full steps are taken, and the iteration ends after
    `patience` steps that do not decrease the residual. A step above `max_step` ends the iteration.

    >>> import numpy as np
    >>> found = Newton(tolerance=1e-14).solve(lambda x: (x**2 - 2.0, np.diag(2.0 * x)), np.ones(1), square_step)
    >>> found.converged, found.iterations, float(found.point.x[0])
    (True, 5, 1.4142135623730951)
    """

    tolerance: float = 0.0
    acceptable: float | None = None
    step_tolerance: float = 0.0
    max_iterations: int = 30
    max_step: float = np.inf
    least_share: float = 1.0
    patience: int | None = None

    def solve(self, evaluate: Evaluate, x: Array, step: Step) -> Solution[Linearized]:
        """A root near x. `evaluate` returns F and its Jacobian, or None where undefined; `step` the Newton step."""

        def at(x: Array) -> Linearized | None:
            found = evaluate(x)
            return None if found is None else Linearized(x, *found)

        start = at(x)
        if start is None:
            undefined = Linearized(x, np.full(1, np.nan), np.full((1, len(x)), np.nan))
            return Solution(undefined, Status.NOT_FINITE, np.inf, 0)
        return self.iterate(
            start,
            size=lambda point: point.size,
            step=step,
            move=lambda point, change: at(point.x + change),
            scale=lambda point: float(np.abs(point.x).max(initial=0.0)),
        )

    def iterate(
        self,
        start: P,
        *,
        size: Callable[[P], float],
        step: Callable[[P], Array],
        move: Callable[[P, Array], P | None],
        scale: Callable[[P], float] = lambda point: 1.0,
    ) -> Solution[P]:
        """A root near an iterate: `size` of its residual, its Newton `step`, the iterate after a step (None where undefined), and
        the `scale` of its unknowns, relative to which steps are measured."""
        now, error = start, size(start)
        best, least, idle, count = now, error, 0, 0

        def ended(status: Status) -> Solution[P]:
            accepted = least <= self._accepted and status is not Status.DIVERGED
            return Solution(best, Status.CONVERGED if accepted else status, least, count)

        while True:
            if not np.isfinite(error):
                return ended(Status.NOT_FINITE)
            if error <= self.tolerance:
                return Solution(now, Status.CONVERGED, error, count)
            if idle and (least <= self._accepted or (self.patience is not None and idle > self.patience)):
                return ended(Status.STALLED)
            if count == self.max_iterations:
                return ended(Status.MAX_ITERATIONS)
            change = step(now)
            length = float(np.abs(change).max(initial=0.0))
            if not np.isfinite(length):
                return ended(Status.NOT_FINITE)
            if length > self.max_step:
                return ended(Status.DIVERGED)
            settled = length <= self.step_tolerance * max(1.0, scale(now))  # regardless of rounding in the residual
            taken = self._moved(now, error, change, size, move, whole=settled or self.least_share == 1.0)
            if taken is None:
                return ended(Status.STALLED if self.least_share < 1.0 else Status.NOT_FINITE)
            now, count = taken, count + 1
            error = size(now)
            idle = 0 if error < DECREASE * least else idle + 1
            if error <= least:
                best, least = now, error
            if settled:
                accepted = self.acceptable is None or error <= self.acceptable
                return Solution(now, Status.CONVERGED if accepted else Status.STALLED, error, count)

    @property
    def _accepted(self) -> float:
        return self.tolerance if self.acceptable is None else self.acceptable

    def _moved(
        self, now: P, error: float, change: Array, size: Callable[[P], float], move: Callable[[P, Array], P | None], whole: bool
    ) -> P | None:
        """The iterate after a step, or after the largest fraction of it that decreases the residual; None if none does."""
        share = 1.0
        while share >= self.least_share:
            trial = move(now, share * change)
            if trial is not None and (whole or size(trial) < error or size(trial) <= self._accepted):
                return trial
            share /= 2
        return None


# ---------------------------------------------------------------- steps


def square_step(point: Linearized) -> Array:
    """J δ = −F by elimination; NaN if J is singular."""
    try:
        return np.asarray(np.linalg.solve(point.jacobian, -point.residual))
    except np.linalg.LinAlgError:
        return np.full(len(point.x), np.nan)


def sparse_step(point: Linearized) -> Array:
    """J δ = −F for a sparse J, by SuperLU; NaN if J is singular."""
    from scipy.sparse.linalg import splu

    try:
        return np.asarray(splu(point.jacobian.tocsc()).solve(-point.residual))
    except RuntimeError:
        return np.full(len(point.x), np.nan)


@dataclass(frozen=True, eq=False)
class LeastNorm:
    """The minimum-norm least-squares solution δ of J δ = −F; relative singular values below `rcond` count as zero.

    `sizes` scale the unknowns; an unknown of size zero is constant. With `equilibrated` rows and columns are scaled by their
    largest entries first, for equations of very different units.
    """

    rcond: float | None = 1e-10
    sizes: Array | None = None
    equilibrated: bool = False

    def __call__(self, point: Linearized) -> Array:
        jacobian, residual = point.jacobian if self.sizes is None else point.jacobian * self.sizes, point.residual
        scales = self.sizes
        if self.equilibrated:
            jacobian, rows, columns = equilibrate(jacobian)
            residual, scales = rows * residual, columns if scales is None else columns * scales
        change = np.linalg.lstsq(jacobian, -residual, rcond=self.rcond)[0]
        return np.asarray(change if scales is None else change * scales)
