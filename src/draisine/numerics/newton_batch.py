"""Newton's method for batches: systems F(x) = 0 of equal shape, each sample with its own convergence.

Full steps, or Levenberg damping, which increases where a step increases the residual and decreases otherwise.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Indices = NDArray[np.int64]
Flags = NDArray[np.bool_]

Evaluate = Callable[[Array, Indices], "tuple[Array, Array]"]
Steps = Callable[[Array, Array, Array], Array]  # F (samples, rows), J (samples, rows, unknowns), damping (samples) → steps

DECREASE = 0.9  # a residual above this multiple of the smallest so far has not decreased
MANY_ROWS = 40  # beyond it normal equations instead of singular value decompositions, which are slow
FIRST_DAMPING, LEAST_DAMPING = 1e-2, 1e-6
STALLED = 0.25  # ratio to the previous step above which a small step is rounding


class BatchSolution(NamedTuple):
    """For each sample the unknowns, the norm of the last residual, and whether it has converged."""

    x: Array
    residual: Array
    converged: Flags
    iterations: int


@dataclass(frozen=True)
class BatchNewton:
    """Settings as in `newton.Newton`, for each sample; `damped` selects Levenberg damping.

    A step of at most `step_rounding` that is not below a quarter of the previous one is rounding, and the last.
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

        `evaluate` gets all samples and the indices of the active ones, and returns F and J of these. `step_size` of (steps, x,
        indices) measures steps; by default the largest change relative to the largest unknown or one.
        """
        batch = _Batch(self, evaluate, x, _relative if step_size is None else step_size)
        while batch.unfinished():
            batch.move(batch.settle(steps(batch.f, batch.j, batch.damping[batch.active])))
        return BatchSolution(batch.x, batch.residual, batch.converged, batch.iterations)


class _Batch:
    """State of the iteration: the unknowns of all samples, and F and J of the `active` ones."""

    def __init__(
        self, settings: BatchNewton, evaluate: Evaluate, x: Array, measure: Callable[[Array, Array, Indices], Array]
    ) -> None:
        count = len(x)
        self.settings, self.evaluate, self.measure = settings, evaluate, measure
        self.accepted = settings.tolerance if settings.acceptable is None else settings.acceptable
        self.x, self.iterations = x.copy(), 0
        self.converged, self.idle = np.zeros(count, dtype=bool), np.zeros(count, dtype=bool)
        self.residual, self.stride, self.damping = np.full(count, np.inf), np.full(count, np.inf), np.zeros(count)
        self.active = np.arange(count)
        self.f, self.j, self.size = self._evaluated()

    def _evaluated(self) -> tuple[Array, Array, Array]:
        """F, J and the largest residual, infinite where F or J is not finite."""
        f, j = self.evaluate(self.x, self.active)
        finite = np.isfinite(f).all(axis=1) & np.isfinite(j).all(axis=(1, 2))
        return f, j, np.where(finite, np.abs(f).max(axis=1, initial=0.0), np.inf)

    def _keep(self, kept: Flags) -> None:
        if not kept.all():
            self.active, self.f, self.j, self.size = self.active[kept], self.f[kept], self.j[kept], self.size[kept]

    def unfinished(self) -> bool:
        """Remove samples that have converged or are not finite; returns whether any are left."""
        self.residual[self.active] = self.size
        done = (self.size <= self.settings.tolerance) | (self.idle[self.active] & (self.size <= self.accepted))
        self.converged[self.active[done]] = True
        self._keep(~done & np.isfinite(self.size))
        if self.iterations < self.settings.max_iterations:
            return len(self.active) > 0
        self.converged[self.active] = self.size <= self.accepted
        return False

    def settle(self, change: Array) -> Array:
        """Take steps that are the last of their sample; returns the other steps."""
        settings, active = self.settings, self.active
        length = self.measure(change, self.x[active], active)
        rounding = (length <= settings.step_rounding) & (length > STALLED * self.stride[active])
        finite = np.isfinite(change).all(axis=1)
        small: Flags = np.asarray(finite & ((length <= settings.step_tolerance) | rounding))
        self.stride[active] = length
        self.x[active[small]] += change[small]
        self.converged[active[small]] = True if settings.acceptable is None else self.size[small] <= settings.acceptable
        self._keep(finite & ~small)
        self.iterations += 1
        return np.asarray(change[finite & ~small])

    def move(self, change: Array) -> None:
        """Take steps; undo those that leave the acceptable residual or (damped) increase the residual."""
        active, before = self.active, self.x[self.active]
        if not len(active):
            return
        self.x[active] = before + change
        f, j, size = self._evaluated()
        idle = ~(size < DECREASE * self.size)
        worse: Flags = np.asarray(idle & (self.size <= self.accepted) & ~(size <= self.size))
        if self.settings.damped:
            worse |= ~(np.isfinite(size) & (np.linalg.norm(f, axis=1) < np.linalg.norm(self.f, axis=1)))
            less, more = (
                np.where(self.damping > LEAST_DAMPING, self.damping / 8, 0.0),
                np.maximum(8 * self.damping, FIRST_DAMPING),
            )
            self.damping[active] = np.where(worse, more[active], less[active])
        self.idle[active] = False if self.settings.damped else idle
        self.x[active[worse]] = before[worse]
        if worse.any():
            f, j = np.where(worse[:, None], self.f, f), np.where(worse[:, None, None], self.j, j)
        self.f, self.j, self.size = f, j, np.where(worse, self.size, size)


def _relative(change: Array, x: Array, indices: Indices) -> Array:
    return np.asarray(np.abs(change).max(axis=1, initial=0.0) / np.maximum(1.0, np.abs(x).max(axis=1, initial=0.0)))


# ---------------------------------------------------------------- steps


def solve_each(square: Array, sides: Array) -> tuple[Array, Flags]:
    """Solutions of square systems (samples, n, n) with right-hand sides (samples, n, k), and where they exist; NaN for matrices
    that are singular or not finite."""
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
    """The minimum-norm least-squares solution δ of J δ = −F, or damped towards steepest descent.

    Relative singular values below `rcond` count as zero, which removes undetermined directions and redundant residuals.
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
