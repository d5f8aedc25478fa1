"""Continuation: steps along a curve with control of their length, and curves of solutions of F(y) = 0.

`CurveTracer` is the one loop: a step is tried, shortened while it fails, and lengthened after it went well. What a step is (predictor
and corrector) the caller says; `ImplicitCurve` has those of pseudo-arclength continuation.

H. B. Keller, Numerical solution of bifurcation and nonlinear eigenvalue problems, in: Applications of Bifurcation Theory (1977)
359–384; E. L. Allgower and K. Georg, Introduction to Numerical Continuation Methods, SIAM 2003.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from draisine.numerics.newton import LeastNorm, Newton
from draisine.numerics.rank import RTOL, decompose
from draisine.numerics.root_finding import bracketed_root

Array = NDArray[np.float64]
P = TypeVar("P")


# ---------------------------------------------------------------- steps


@dataclass(frozen=True)
class Rejected:
    """A step that leads nowhere good; `shorten` is the factor with which it is tried again."""

    shorten: float = 0.5


@dataclass(frozen=True)
class StepLengths:
    first: float
    least: float
    most: float


class CurveTracer(Generic[P]):
    """Points of a curve, one after the other.

    `advance` of (point, length) gives the next point or rejects the step; `growth` of a new point is the factor of the next
    step's length; `limit` of a point is the longest step allowed from there.
    """

    def __init__(
        self,
        start: P,
        advance: Callable[[P, float], P | Rejected],
        lengths: StepLengths,
        growth: Callable[[P], float],
        limit: Callable[[P], float] = lambda point: np.inf,
    ) -> None:
        self.point, self.length, self.lengths = start, lengths.first, lengths
        self._advance, self._growth, self._limit = advance, growth, limit
        self.ended = False  # whether no step of the least length led on

    def __iter__(self) -> Iterator[P]:
        while True:
            found = self._next()
            if found is None:
                self.ended = True
                return
            self.point = found
            yield found

    def _next(self) -> P | None:
        self.length = max(min(self.length, self._limit(self.point)), self.lengths.least)
        while self.length >= self.lengths.least:
            found = self._advance(self.point, self.length)
            if not isinstance(found, Rejected):
                self.length = min(self._growth(found) * self.length, self.lengths.most)
                return found
            self.length *= found.shorten
        return None


# ---------------------------------------------------------------- curves of solutions


@dataclass(frozen=True)
class CurvePoint:
    """A point of the curve, in scaled unknowns, with its tangent, F's Jacobian and the gradient of the quantity that is watched;
    `iterations` is how many corrections it took."""

    y: Array
    tangent: Array
    jacobian: Array
    gradient: Array
    iterations: int = 0

    def heading(self, tangent: Array) -> CurvePoint:
        """The same point with another tangent."""
        return CurvePoint(self.y, tangent, self.jacobian, self.gradient, self.iterations)

    @property
    def advance(self) -> float:
        """How fast the watched quantity changes along the curve."""
        return float(self.gradient @ self.tangent)


# a correction has settled when its change is so small that its square is rounding, with a residual that counts as zero
CORRECTION = Newton(step_tolerance=1e-10, acceptable=1e-9, max_iterations=12, max_step=10.0)
TURN = 0.96  # least cosine between tangents at the ends of a step
AT_BRANCH_POINT = 1e-7  # share of the largest singular value below which a step has landed on a branch point
ASIDE = 0.83  # factor of a step that has: tangents mean nothing there


class ImplicitCurve:
    """F(y) = 0 with one unknown more than the rank of F.

    F may have more rows than the curve needs (constraints repeat themselves, a balance of power follows from equations of
    motion): such rows agree on the curve, and all steps are of least squares. What is needed is the rank that F has at ordinary
    points, one less than there are unknowns. Unknowns and rows are scaled. `evaluate` gives residuals and Jacobian in the
    unknowns themselves; its last row is the quantity that is watched, less what is wanted of it, and no part of F.
    """

    def __init__(self, evaluate: Callable[[Array], tuple[Array, Array]], scale: Array, weights: Array) -> None:
        self._evaluate = evaluate
        self.scale, self.weights = scale, weights

    @property
    def unknowns(self) -> int:
        return len(self.scale)

    def jacobians(self, y: Array) -> tuple[Array, Array, Array]:
        """F, its Jacobian and the gradient of the watched quantity, all scaled, at scaled unknowns."""
        residual, jacobian = self._evaluate(y * self.scale)
        jacobian = jacobian * self.scale
        return residual[:-1] * self.weights, jacobian[:-1] * self.weights[:, None], jacobian[-1]

    def point(self, y: Array, along: Array, iterations: int = 0) -> CurvePoint:
        """The point y with its tangent, pointing along a direction."""
        return _point(y, *self.jacobians(y)[1:], along, iterations)

    def correct(self, guess: Array, across: Array, along: Array | None = None) -> CurvePoint | None:
        """The point of the curve in the plane through the guess across a direction; None where the search does not settle."""
        gradients: dict[bytes, Array] = {}

        def evaluate(y: Array) -> tuple[Array, Array]:
            f, jacobian, gradient = self.jacobians(y)
            gradients[y.tobytes()] = gradient
            return np.append(f, across @ (y - guess)), np.vstack([jacobian, across])

        found = CORRECTION.solve(evaluate, guess, LeastNorm(RTOL))
        if not found.converged:
            return None
        at = found.point
        gradient = gradients[at.x.tobytes()]
        return _point(at.x, at.jacobian[:-1], gradient, across if along is None else along, found.iterations)

    def advance(self, here: CurvePoint, length: float) -> CurvePoint | Rejected:
        """A pseudo-arclength step: along the tangent, and back onto the curve across it."""
        ahead = self.correct(here.y + length * here.tangent, here.tangent)
        if ahead is None or ahead.tangent @ here.tangent < TURN:
            return Rejected()
        sizes = np.linalg.svd(ahead.jacobian, compute_uv=False)
        return ahead if sizes[self.unknowns - 2] > AT_BRANCH_POINT * sizes[0] else Rejected(ASIDE)

    def between(self, here: CurvePoint, ahead: CurvePoint, value: Callable[[CurvePoint], float]) -> CurvePoint | None:
        """The point between two neighbors at which a function of the point passes zero, by Brent's method on the curve."""
        chord = ahead.y - here.y
        length = float(np.linalg.norm(chord))
        unit = chord / length
        found: dict[float, CurvePoint | None] = {0.0: here, length: ahead}

        def at(s: float) -> float:
            if s not in found:
                found[s] = self.correct(here.y + s * unit, unit, here.tangent)
            point = found[s]
            return value(point) if point is not None else float("nan")

        if not at(0.0) * at(length) < 0:
            return None
        root = bracketed_root(at, 0.0, length, rtol=1e-14)
        return found[root] if np.isfinite(root) and np.isfinite(at(root)) else None

    # ------------------------------------------------------------ branch points

    def rows(self, point: CurvePoint) -> Array:
        """Combinations of F's rows that have its rank: all its equations, none twice."""
        u, _, _ = np.linalg.svd(point.jacobian)
        return np.asarray(u[:, : self.unknowns - 1].T)

    def orientation(self, point: CurvePoint, rows: Array) -> float:
        """det [F_y; tangentᵀ] for given combinations of rows: passes zero at a simple branch point."""
        return float(np.linalg.det(np.vstack([rows @ point.jacobian, point.tangent])))

    def bend(self, y: Array, along: Array, step: float = 1e-5) -> Array:
        """Derivative of the Jacobian along a direction, by central differences with one extrapolation."""

        def difference(h: float) -> Array:
            return (self.jacobians(y + h * along)[1] - self.jacobians(y - h * along)[1]) / (2 * h)

        return np.asarray((4 * difference(step) - difference(2 * step)) / 3)


def _point(y: Array, jacobian: Array, gradient: Array, along: Array, iterations: int) -> CurvePoint:
    null = decompose(jacobian).null_space
    last = null[:, -1] if null.shape[1] else np.linalg.svd(jacobian)[2][-1]
    tangent = null @ (null.T @ along) if null.shape[1] > 1 else last
    size = float(np.linalg.norm(tangent))
    tangent = tangent / size if size > 0 else last
    return CurvePoint(y, tangent if tangent @ along >= 0 else -tangent, jacobian, gradient, iterations)
