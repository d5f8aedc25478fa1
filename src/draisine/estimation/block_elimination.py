"""Least squares over a chain of windows: their starts are eliminated one after the other by orthogonal transformations.

Window i has rows on its own start δs_i, on what belongs to it alone δl_i, on the next start δs_{i+1}, and on the parameters δθ:

    S_i δs_i + L_i δl_i + N_i δs_{i+1} + P_i δθ + r_i ≈ 0.

QR on (what is left of earlier windows; these rows) gives the triangle by which δs_i and δl_i are found later, and what is left
for the next window. In the end rows on δθ alone are left: the root of their information, whatever the starts are. Nothing is
squared, so that the growth of unstable motions from window to window does no harm.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of one window. `own` are the columns of its start and then of what belongs to it alone, `after` those of the next
    start: none in the last window. `start` counts the columns of the start, which has none where it is known."""

    own: Reals
    after: Reals
    common: Reals
    side: Reals
    start: int


@dataclass(frozen=True, eq=False)
class Eliminated:
    """Triangles by which starts follow from the parameters, and the rows left on the parameters."""

    triangles: tuple[tuple[Reals, Reals, Reals, Reals, int], ...]  # own, after, common, side, columns of the start
    common: Reals
    side: Reals
    squares: float  # of the sides of all rows

    def starts(self, change: Reals) -> list[Reals]:
        """δs and δl of every window, given δθ."""
        found: list[Reals] = []
        after: Reals = np.zeros(0)
        for own, onward, common, side, start in reversed(self.triangles):
            right = -side - common @ change
            if onward.shape[1]:
                right = right - onward @ after
            here = np.asarray(np.linalg.solve(own, right)) if own.shape[1] else np.zeros(0)
            after = here[:start]
            found.append(here)
        return found[::-1]


def eliminate(chain: Sequence[Rows], damping: Sequence[Reals] | None = None) -> Eliminated:
    """Eliminate the starts of a chain; `damping` are rows' weights on δs and δl of every window, and keep steps short."""
    count = chain[0].common.shape[1]
    left = np.zeros((0, chain[0].start + count + 1))
    triangles = []
    for i, rows in enumerate(chain):
        d, s, onward = rows.own.shape[1], rows.start, rows.after.shape[1]
        kept = d if damping is not None else 0
        block = np.zeros((len(left) + len(rows.side) + kept, d + onward + count + 1))
        block[: len(left), :s], block[: len(left), d + onward :] = left[:, :s], left[:, s:]
        here = block[len(left) : len(left) + len(rows.side)]
        here[:, :d], here[:, d : d + onward], here[:, d + onward : -1], here[:, -1] = rows.own, rows.after, rows.common, rows.side
        if damping is not None:
            block[len(block) - kept :, :d] = np.diag(damping[i])
        triangle: Reals = np.asarray(np.linalg.qr(block, mode="r"))
        if len(triangle) < d:
            triangle = np.vstack([triangle, np.zeros((d - len(triangle), triangle.shape[1]))])
        top = triangle[:d]
        triangles.append((top[:, :d], top[:, d : d + onward], top[:, d + onward : -1], top[:, -1], s))
        left = triangle[d:, d:]
    return Eliminated(tuple(triangles), left[:, :-1], left[:, -1], sum(float(rows.side @ rows.side) for rows in chain))
