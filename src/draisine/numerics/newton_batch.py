"""Newton's method for many samples at once: each has its own F(x) = 0 of the same shape and ends by itself.

Steps are taken whole, or with Levenberg's damping, which grows where a step makes the residual worse and fades where it does not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from draisine.numerics.newton import DECREASE

Array = NDArray[np.float64]
Indices = NDArray[np.int64]
Flags = NDArray[np.bool_]

Evaluate = Callable[[Array, Indices], "tuple[Array, Array]"]
Steps = Callable[[Array, Array, Array], Array]  # F (samples, rows), J (samples, rows, unknowns), damping (samples) → steps

MANY_ROWS = 40  # beyond, normal equations instead of singular values: many small decompositions are slow
FIRST_DAMPING, FADED = 1e-2, 1e-6
STALLED = 0.25  # share of the step before above which a small step shrinks no more


@dataclass(frozen=True, eq=False)
class BatchSolution:
    """Of each sample the unknowns, the size of the residual where it was last evaluated, and whether it has converged."""

    x: Array
    residual: Array
    converged: Flags
    iterations: int


@dataclass(frozen=True)
class BatchNewton:
    """Settings as those of `newton.Newton`, for each sample by itself; `damped` by Levenberg's method.

    A step that is at most `step_rounding` and not below a quarter of the one before is rounding, and the last.
    """

    tolerance: float = 0.0
    acceptable: float | None = None
    step_tolerance: float = 0.0
    step_rounding: float = 0.0
    max_iterations: int = 30
    damped: bool = False

    def solve(
        self, evaluate: Evaluate, x: Array, steps: Steps, step_size: Callable[[Array, Array, Indices], Array] | None = None
    ) -> BatchSolution:
        """Roots near x (samples, unknowns).

        `evaluate` gets all samples and the places of those that count, and gives F and J of these. `step_size` of (steps, x,
        places) measures steps beside their unknowns; by default the largest change beside the largest unknown or one.
        """
        batch = _Batch(self, evaluate, x, _relative if step_size is None else step_size)
        while batch.unfinished():
            batch.move(batch.settle(steps(batch.f, batch.j, batch.damping[batch.going])))
        return BatchSolution(batch.x, batch.residual, batch.converged, batch.iterations)


class _Batch:
    """The iteration: of all samples what is found, of those that are still `going` F and J at their unknowns."""

    def __init__(
        self, settings: BatchNewton, evaluate: Evaluate, x: Array, measure: Callable[[Array, Array, Indices], Array]
    ) -> None:
        count = len(x)
        self.settings, self.evaluate, self.measure = settings, evaluate, measure
        self.content = settings.tolerance if settings.acceptable is None else settings.acceptable
        self.x, self.iterations = x.copy(), 0
        self.converged, self.idle = np.zeros(count, dtype=bool), np.zeros(count, dtype=bool)
        self.residual, self.stride, self.damping = np.full(count, np.inf), np.full(count, np.inf), np.zeros(count)
        self.going = np.arange(count)
        self.f, self.j, self.size = self._evaluated()

    def _evaluated(self) -> tuple[Array, Array, Array]:
        """F, J and the largest residual, which is infinite where F or J is not finite."""
        f, j = self.evaluate(self.x, self.going)
        whole = np.isfinite(f).all(axis=1) & np.isfinite(j).all(axis=(1, 2))
        return f, j, np.where(whole, np.abs(f).max(axis=1, initial=0.0), np.inf)

    def _keep(self, kept: Flags) -> None:
        if not kept.all():
            self.going, self.f, self.j, self.size = self.going[kept], self.f[kept], self.j[kept], self.size[kept]

    def unfinished(self) -> bool:
        """Whether samples are left, without those that have converged or are not finite."""
        self.residual[self.going] = self.size
        done = (self.size <= self.settings.tolerance) | (self.idle[self.going] & (self.size <= self.content))
        self.converged[self.going[done]] = True
        self._keep(~done & np.isfinite(self.size))
        if self.iterations < self.settings.max_iterations:
            return len(self.going) > 0
        self.converged[self.going] = self.size <= self.content
        return False

    def settle(self, change: Array) -> Array:
        """Take steps that are the last ones; the other steps."""
        settings, going = self.settings, self.going
        length = self.measure(change, self.x[going], going)
        rounding = (length <= settings.step_rounding) & (length > STALLED * self.stride[going])
        finite = np.isfinite(change).all(axis=1)
        small: Flags = np.asarray(finite & ((length <= settings.step_tolerance) | rounding))
        self.stride[going] = length
        self.x[going[small]] += change[small]
        self.converged[going[small]] = True if settings.acceptable is None else self.size[small] <= settings.acceptable
        self._keep(finite & ~small)
        self.iterations += 1
        return np.asarray(change[finite & ~small])

    def move(self, change: Array) -> None:
        """Take steps; those that lead out of what is acceptable already, or (damped) make the residual worse, are taken back."""
        going, before = self.going, self.x[self.going]
        if not len(going):
            return
        self.x[going] = before + change
        f, j, size = self._evaluated()
        idle = ~(size < DECREASE * self.size)
        worse: Flags = np.asarray(idle & (self.size <= self.content) & ~(size <= self.size))
        if self.settings.damped:
            worse |= ~(np.isfinite(size) & (np.linalg.norm(f, axis=1) < np.linalg.norm(self.f, axis=1)))
            less, more = np.where(self.damping > FADED, self.damping / 8, 0.0), np.maximum(8 * self.damping, FIRST_DAMPING)
            self.damping[going] = np.where(worse, more[going], less[going])
        self.idle[going] = False if self.settings.damped else idle
        self.x[going[worse]] = before[worse]
        if worse.any():
            f, j = np.where(worse[:, None], self.f, f), np.where(worse[:, None, None], self.j, j)
        self.f, self.j, self.size = f, j, np.where(worse, self.size, size)


def _relative(change: Array, x: Array, places: Indices) -> Array:
    return np.asarray(np.abs(change).max(axis=1, initial=0.0) / np.maximum(1.0, np.abs(x).max(axis=1, initial=0.0)))


# ---------------------------------------------------------------- steps


def solve_each(square: Array, sides: Array) -> tuple[Array, Flags]:
    """Solutions of square systems (samples, n, n) with sides (samples, n, k), and where there are any: matrices that are not
    finite, or singular, give NaN."""
    good: Flags = np.asarray(np.isfinite(square).all(axis=(1, 2)) & np.isfinite(sides).all(axis=(1, 2)))
    if not good.all():
        square = np.where(good[:, None, None], square, np.eye(square.shape[1]))
    try:
        found = np.linalg.solve(square, sides)
    except np.linalg.LinAlgError:
        good = good & (np.linalg.matrix_rank(square) == square.shape[1])
        found = np.linalg.solve(np.where(good[:, None, None], square, np.eye(square.shape[1])), sides)
    return np.where(good[:, None, None], found, np.nan), good


def square_steps(f: Array, j: Array, damping: Array) -> Array:
    """J δ = −F by elimination."""
    return solve_each(j, -f[..., None])[0][..., 0]


@dataclass(frozen=True)
class LeastNormSteps:
    """The shortest δ with J δ = −F in the sense of least squares, or damped towards the steepest descent.

    Directions that no residual changes, and residuals that repeat others, are left out: singular values below `rcond` of the
    largest are zero.
    """

    rcond: float = 1e-10

    def __call__(self, f: Array, j: Array, damping: Array) -> Array:
        if f.shape[1] > MANY_ROWS:
            gram = j @ j.transpose(0, 2, 1)
            largest = np.maximum(np.abs(gram).max(axis=(1, 2)), 1e-300)
            gram += ((damping + 1e-13) * largest)[:, None, None] * np.eye(f.shape[1])
            return np.asarray(-(j.transpose(0, 2, 1) @ np.linalg.solve(gram, f[:, :, None]))[:, :, 0])
        left, stretch, right = np.linalg.svd(j, full_matrices=False)
        top = np.maximum(stretch[:, :1], 1e-300)
        damped = np.maximum(stretch**2 + damping[:, None] * top**2, 1e-300)
        gain = np.where(stretch > self.rcond * top, stretch / damped, 0.0)
        along = gain * np.einsum("nji,nj->ni", left, f)
        return np.asarray(-np.einsum("nki,nk->ni", right, along))
