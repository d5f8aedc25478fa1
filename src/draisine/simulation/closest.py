"""The point closest to a reference among those that fulfil nonlinear equations: small, dense, and careful.

Equations are restored by Gauss–Newton steps of least length, halved while they do not help; then the point slides along the
solutions towards the reference. Redundant and contradictory equations are met by the pseudo-inverse.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.float64]
Rows = Callable[[Reals], tuple[Reals, Reals]]  # y → residuals, their Jacobian

RANK = 1e-10  # singular values below this fraction of the largest count as zero
EXACT = 1e-14
NUDGES = (1e-3, 1e-2, 1e-1)


def closest_point(rows: Rows, reference: Reals, free: NDArray[np.bool_], start: Reals | None = None) -> tuple[Reals, Reals]:
    """The point and its residuals, which are not zero if the equations contradict each other. Only `free` entries move.

    The search begins at the reference, or at `start`.
    """
    y, r = restore(rows, (reference if start is None else start).copy(), free)
    for nudge in NUDGES:
        if fulfilled(r) or start is not None:
            break
        # A length has no gradient at zero. A small fixed move in all directions gives it one, the same in every run.
        pattern = np.where(free, nudge / (1.0 + 0.1 * np.arange(len(y))), 0.0)
        other, s = restore(rows, reference + pattern, free)
        if _size(s) < _size(r):
            y, r = other, s
    return slide(rows, y, r, reference, free) if fulfilled(r) else (y, r)


def restore(rows: Rows, y: Reals, free: NDArray[np.bool_]) -> tuple[Reals, Reals]:
    """Gauss–Newton towards zero residuals, from y on, as far as it helps."""
    r, jacobian = rows(y)
    for _ in range(60):
        if not r.size or not free.any() or _size(r) <= EXACT or not np.all(np.isfinite(jacobian)):
            break
        step = np.zeros_like(y)
        step[free] = -np.linalg.pinv(jacobian[:, free], rcond=RANK) @ r
        if np.linalg.norm(r + jacobian @ step) > 0.999 * np.linalg.norm(r):
            break  # not even the linear model promises anything
        length = 1.0
        while length > 1e-5:
            trial = y + length * step
            s, next_jacobian = rows(trial)
            if np.all(np.isfinite(s)) and np.linalg.norm(s) < (1.0 - 1e-4 * length) * np.linalg.norm(r):
                break
            length *= 0.5
        else:
            break
        y, r, jacobian = trial, s, next_jacobian
    return y, r


def slide(rows: Rows, y: Reals, r: Reals, reference: Reals, free: NDArray[np.bool_]) -> tuple[Reals, Reals]:
    """Move along the solutions towards the reference while that shortens the distance."""
    for _ in range(50):
        jacobian = rows(y)[1][:, free]
        if not np.all(np.isfinite(jacobian)):
            break
        away = (reference - y)[free]
        along = away - np.linalg.pinv(jacobian, rcond=RANK) @ (jacobian @ away) if jacobian.size else away
        if np.linalg.norm(along) <= 1e-10 * (1.0 + np.linalg.norm(y)):
            break
        length, distance = 1.0, np.linalg.norm(away)
        while length > 1e-3:
            trial = y.copy()
            trial[free] += length * along
            trial, s = restore(rows, trial, free)
            if fulfilled(s) and np.linalg.norm((reference - trial)[free]) < distance * (1.0 - 1e-9):
                break
            length *= 0.5
        else:
            break
        y, r = trial, s
    return y, r


def _size(r: Reals) -> float:
    if not r.size:
        return 0.0
    return float(np.abs(r).max()) if np.all(np.isfinite(r)) else np.inf


def fulfilled(r: Reals) -> bool:
    """Whether residuals are zero but for rounding."""
    return _size(r) <= 1e-10
