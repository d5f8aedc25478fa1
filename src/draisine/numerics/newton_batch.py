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
Places = NDArray[np.int64]
Flags = NDArray[np.bool_]

Evaluate = Callable[[Array, Places], "tuple[Array, Array]"]
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
        self, evaluate: Evaluate, x: Array, steps: Steps, step_size: Callable[[Array, Array, Places], Array] | None = None
    ) -> BatchSolution:
        """Roots near x (samples, unknowns).

        `evaluate` gets all samples and the places of those that count, and gives F and J of these. `step_size` of (steps, x,
        places) measures steps beside their unknowns; by default the largest change beside the largest unknown or one.
        """
        measure = _relative if step_size is None else step_size
        x, count = x.copy(), len(x)
        converged, damping = np.zeros(count, dtype=bool), np.zeros(count)
        last, stride, idle = np.full(count, np.inf), np.full(count, np.inf), np.zeros(count, dtype=bool)
        going = np.arange(count)
        content = self.tolerance if self.acceptable is None else self.acceptable
        f, j = _finite(*evaluate(x, going))
        size = _size(f)
        iterations = 0
        while True:
            last[going] = size
            done = (size <= self.tolerance) | (idle[going] & (size <= content))
            converged[going[done]] = True
            keep = ~done & np.isfinite(size)
            going, f, j, size = going[keep], f[keep], j[keep], size[keep]
            if not len(going) or iterations == self.max_iterations:
                converged[going] = size <= content
                return BatchSolution(x, last, converged, iterations)
            change = steps(f, j, damping[going])
            finite = np.isfinite(change).all(axis=1)
            length = measure(change, x[going], going)
            rounding = (length <= self.step_rounding) & (length > STALLED * stride[going])
            small = finite & ((length <= self.step_tolerance) | rounding)
            stride[going] = length
            x[going[small]] += change[small]
            converged[going[small]] = True if self.acceptable is None else size[small] <= self.acceptable
            keep = finite & ~small
            going, f, j, size, change = going[keep], f[keep], j[keep], size[keep], change[keep]
            iterations += 1
            if not len(going):
                continue
            before = x[going]
            x[going] = before + change
            f_new, j_new = _finite(*evaluate(x, going))
            size_new = _size(f_new)
            idle[going] = ~(size_new < DECREASE * size)
            # a step that leads out of what is acceptable already, or (damped) makes the residual worse, is taken back
            worse = idle[going] & (size <= content) & ~(size_new <= size)
            if self.damped:
                worse |= ~(np.isfinite(size_new) & (np.linalg.norm(f_new, axis=1) < np.linalg.norm(f, axis=1)))
                damping[going] = np.where(
                    worse,
                    np.maximum(8 * damping[going], FIRST_DAMPING),
                    np.where(damping[going] > FADED, damping[going] / 8, 0.0),
                )
                idle[going] = False
            x[going[worse]] = before[worse]
            f, j = np.where(worse[:, None], f, f_new), np.where(worse[:, None, None], j, j_new)
            size = np.where(worse, size, size_new)


def _finite(f: Array, j: Array) -> tuple[Array, Array]:
    """F and J, F of samples where either is not finite replaced by NaN."""
    whole: Flags = np.asarray(np.isfinite(f).all(axis=1) & np.isfinite(j).all(axis=(1, 2)))
    return np.where(whole[:, None], f, np.nan), j


def _size(f: Array) -> Array:
    size = np.abs(f).max(axis=1, initial=0.0)
    return np.asarray(np.where(np.isnan(size), np.inf, size))


def _relative(change: Array, x: Array, places: Places) -> Array:
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
