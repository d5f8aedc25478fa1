"""A curve of solutions of F(y) = 0: tangents, corrections, and the number whose sign changes at a branch point.

F may have more rows than the curve needs. Constraints repeat themselves, and in a conservative system the balance of power makes
one equation of motion follow from the others; such rows agree on the curve, and all steps are of least squares. What is
needed is the rank that F has at ordinary points, one less than there are unknowns. Unknowns and rows are scaled.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

RANK = 1e-9  # singular values below this share of the largest are zero
SETTLED = 1e-10  # change of scaled unknowns at which a correction has settled: its square is what is left
SMALL = 1e-9  # residual, in scaled rows, that counts as zero
ROUNDS = 12  # of a correction
ASTRAY = 10.0  # change of scaled unknowns at which a correction has gone astray


@dataclass(frozen=True)
class Place:
    """A point of the curve, in scaled unknowns, with its tangent, F's Jacobian and the gradient of the quantity that is watched;
    `rounds` is how many corrections it took."""

    y: Array
    tangent: Array
    jacobian: Array
    gradient: Array
    rounds: int = 0

    def heading(self, tangent: Array) -> Place:
        """The same point with another tangent."""
        return Place(self.y, tangent, self.jacobian, self.gradient, self.rounds)

    @property
    def advance(self) -> float:
        """How fast the watched quantity changes along the curve."""
        return float(self.gradient @ self.tangent)


class Curve:
    """F(y) = 0 with one unknown more than the rank of F.

    `evaluate` gives residuals and Jacobian in the unknowns themselves; its last row is the quantity that is watched, less what is
    wanted of it, and no part of F.
    """

    def __init__(self, evaluate: Callable[[Array], tuple[Array, Array]], scale: Array, weights: Array) -> None:
        self._evaluate = evaluate
        self.scale, self.weights = scale, weights

    @property
    def unknowns(self) -> int:
        return len(self.scale)

    def slopes(self, y: Array) -> tuple[Array, Array, Array]:
        """F, its Jacobian and the gradient of the watched quantity, all scaled, at scaled unknowns."""
        residual, jacobian = self._evaluate(y * self.scale)
        jacobian = jacobian * self.scale
        return residual[:-1] * self.weights, jacobian[:-1] * self.weights[:, None], jacobian[-1]

    def place(self, y: Array, along: Array, rounds: int = 0) -> Place:
        """The point y with its tangent, pointing along a direction."""
        return self._placed(y, self.slopes(y), along, rounds)

    def _placed(self, y: Array, slopes: tuple[Array, Array, Array], along: Array, rounds: int) -> Place:
        _, jacobian, gradient = slopes
        _, sizes, rows = np.linalg.svd(jacobian)
        null = rows[np.count_nonzero(sizes > RANK * sizes[0]) :] if len(sizes) else rows
        tangent = null.T @ (null @ along) if len(null) > 1 else rows[-1]
        size = float(np.linalg.norm(tangent))
        tangent = tangent / size if size > 0 else rows[-1]
        return Place(y, tangent if tangent @ along >= 0 else -tangent, jacobian, gradient, rounds)

    def correct(self, guess: Array, across: Array, along: Array | None = None) -> Place | None:
        """The point of the curve in the plane through the guess across a direction; None where the search does not settle."""
        y, slopes = guess, self.slopes(guess)
        for k in range(ROUNDS):
            f, jacobian, _ = slopes
            if not (np.isfinite(f).all() and np.isfinite(jacobian).all()):
                return None
            whole = np.vstack([jacobian, across])
            change = np.linalg.lstsq(whole, -np.append(f, across @ (y - guess)), rcond=RANK)[0]
            size = float(np.abs(change).max())
            if not np.isfinite(size) or size > ASTRAY:
                return None
            y = y + change
            slopes = self.slopes(y)
            if size <= SETTLED * max(1.0, float(np.abs(y).max())):
                settled = float(np.abs(slopes[0]).max(initial=0.0)) <= SMALL and np.isfinite(slopes[1]).all()
                return self._placed(y, slopes, across if along is None else along, k + 1) if settled else None
        return None

    # ------------------------------------------------------------ branch points

    def rows(self, place: Place) -> Array:
        """Combinations of F's rows that have its rank: all its equations, none twice."""
        u, _, _ = np.linalg.svd(place.jacobian)
        return np.asarray(u[:, : self.unknowns - 1].T)

    def orientation(self, place: Place, rows: Array) -> float:
        """det [F_y; tangentᵀ] for given combinations of rows: passes zero at a simple branch point."""
        return float(np.linalg.det(np.vstack([rows @ place.jacobian, place.tangent])))

    def bend(self, y: Array, along: Array, step: float = 1e-5) -> Array:
        """Derivative of the Jacobian along a direction, by central differences with one extrapolation."""

        def difference(h: float) -> Array:
            return (self.slopes(y + h * along)[1] - self.slopes(y - h * along)[1]) / (2 * h)

        return np.asarray((4 * difference(step) - difference(2 * step)) / 3)


def rank_of(matrix: Array) -> int:
    sizes = np.linalg.svd(matrix, compute_uv=False)
    return int(np.count_nonzero(sizes > RANK * sizes[0])) if len(sizes) and sizes[0] > 0 else 0
