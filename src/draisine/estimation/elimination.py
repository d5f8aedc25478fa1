"""Least squares over a chain of windows: their starts are eliminated one after the other by orthogonal transformations.

Window i has rows on its own start δs_i, the next start δs_{i+1}, and the parameters δθ:

    L_i δs_i + N_i δs_{i+1} + P_i δθ + r_i ≈ 0.

QR on (what is left of earlier windows; these rows) gives the triangle by which δs_i is found later, and what is left for the next
window. In the end rows on δθ alone are left: the root of their information, whatever the starts are. Nothing is squared, so that
the growth of unstable motions from window to window does no harm.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of one window. `own` has no columns where the start is known, `after` none in the last window."""

    own: Reals
    after: Reals
    common: Reals
    side: Reals


@dataclass(frozen=True, eq=False)
class Eliminated:
    """Triangles by which the starts follow from the parameters, and the rows left on the parameters."""

    triangles: tuple[tuple[Reals, Reals, Reals, Reals], ...]  # own, after, common, side
    common: Reals
    side: Reals

    def starts(self, change: Reals) -> list[Reals]:
        """δs of every window, given δθ."""
        found: list[Reals] = []
        after: Reals = np.zeros(0)
        for own, onward, common, side in reversed(self.triangles):
            right = -side - common @ change
            if onward.shape[1]:
                right = right - onward @ after
            after = np.asarray(np.linalg.solve(own, right)) if own.shape[1] else np.zeros(0)
            found.append(after)
        return found[::-1]


def eliminate(chain: Sequence[Rows], damping: Sequence[Reals] | None = None) -> Eliminated:
    """Eliminate the starts of a chain; `damping` are rows' weights on δs of every window, and keep steps short."""
    count = chain[0].common.shape[1]
    left = np.zeros((0, chain[0].own.shape[1] + count + 1))
    triangles = []
    for i, rows in enumerate(chain):
        d, onward = rows.own.shape[1], rows.after.shape[1]
        block = np.hstack([rows.own, rows.after, rows.common, rows.side[:, None]])
        carried = np.hstack([left[:, :d], np.zeros((len(left), onward)), left[:, d:]])
        parts: list[Reals] = [carried, block]
        if damping is not None and d:
            parts.append(np.hstack([np.diag(damping[i]), np.zeros((d, onward + count + 1))]))
        triangle: Reals = np.asarray(np.linalg.qr(np.vstack(parts), mode="r"))
        if len(triangle) < d:
            triangle = np.vstack([triangle, np.zeros((d - len(triangle), triangle.shape[1]))])
        top = triangle[:d]
        triangles.append((top[:, :d], top[:, d : d + onward], top[:, d + onward : -1], top[:, -1]))
        left = triangle[d:, d:]
    return Eliminated(tuple(triangles), left[:, :-1], left[:, -1])
