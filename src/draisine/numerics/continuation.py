"""Numerical continuation: step length control along a curve, and curves of solutions of F(y) = 0.

`CurveTracer` is the loop: a step is shortened until it succeeds, and the next one is lengthened. The caller provides predictor
and corrector; `ImplicitCurve` has those of pseudo-arclength continuation.

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

LEVEL = 0.3  # slope between two points, relative to the smaller one at them, that calls for a look


# ---------------------------------------------------------------- steps


@dataclass(frozen=True)
class Rejected:
    """A failed step; it is repeated with its length multiplied by `shorten`."""

    shorten: float = 0.5


@dataclass(frozen=True)
class StepLengths:
    first: float
    least: float
    most: float


class CurveTracer(Generic[P]):
    """Iterator over points of a curve.

    `advance` of (point, length) returns the next point or rejects the step; `growth` of a new point is the factor for the next
    step length; `limit` of a point is the maximum step length there.
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
        self.ended = False  # whether even a step of the least length failed

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


def least_slope(first: float, last: float, change: float) -> float | None:
    """Where, as a share of a step, a quantity might turn back and return: it changes by `change`, and at the ends its
    derivatives by the share have one sign. The cubic with these values is nearly level, or goes the other way, there; None if
    it does not.

    >>> round(least_slope(1.0, 1.0, -0.5), 6)  # there and back
    0.5
    >>> least_slope(1.0, 1.0, 1.0) is None
    True
    """
    bend, curve = 6.0 * change - 4.0 * first - 2.0 * last, 3.0 * (first + last) - 6.0 * change
    if curve * first <= 0.0:
        return None
    share = -0.5 * bend / curve
    slope = first + share * (bend + share * curve)
    return share if 0.0 < share < 1.0 and slope / first < LEVEL * min(1.0, last / first) else None


# ---------------------------------------------------------------- curves of solutions


@dataclass(frozen=True)
class CurvePoint:
    """A point of the curve in scaled unknowns, with its tangent, the Jacobian of F and the gradient of the monitored quantity;
    `iterations` is the number of corrections."""

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
        """The derivative of the monitored quantity along the curve."""
        return float(self.gradient @ self.tangent)


# converged when the square of the change is below rounding and the residual is acceptable
CORRECTION = Newton(step_tolerance=1e-10, acceptable=1e-9, max_iterations=12, max_step=10.0)
TURN = 0.96  # minimum cosine of the angle between the tangents at the ends of a step
AT_BRANCH_POINT = 1e-7  # relative singular value below which a point counts as a branch point
ASIDE = 0.83  # factor for a step that ends at a branch point, where the tangent is not unique


class ImplicitCurve:
    """The curve F(y) = 0, where y has one entry more than the rank of F.

    F may have redundant rows (repeated constraints, a power balance that follows from the equations of motion); steps are in the
    least-squares sense. At regular points the rank of F is the number of unknowns less one. Unknowns and rows are scaled.
    `evaluate` returns residuals and Jacobian in unscaled unknowns; the last row is the monitored quantity, not a part of F.
    """

    def __init__(self, evaluate: Callable[[Array], tuple[Array, Array]], scale: Array, weights: Array) -> None:
        self._evaluate = evaluate
        self.scale, self.weights = scale, weights

    @property
    def unknowns(self) -> int:
        return len(self.scale)

    def jacobians(self, y: Array) -> tuple[Array, Array, Array]:
        """F, its Jacobian and the gradient of the monitored quantity, all scaled, at scaled unknowns."""
        residual, jacobian = self._evaluate(y * self.scale)
        jacobian = jacobian * self.scale
        return residual[:-1] * self.weights, jacobian[:-1] * self.weights[:, None], jacobian[-1]

    def monitored(self, y: Array) -> float:
        """The monitored quantity at scaled unknowns."""
        return float(self._evaluate(y * self.scale)[0][-1])

    def point(self, y: Array, along: Array, iterations: int = 0) -> CurvePoint:
        """The point y with its tangent, oriented along a direction."""
        return _point(y, *self.jacobians(y)[1:], along, iterations)

    def correct(self, guess: Array, across: Array, along: Array | None = None) -> CurvePoint | None:
        """The point of the curve in the plane through `guess` normal to `across`; None if the iteration does not converge."""
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

    def advance(self, point: CurvePoint, length: float) -> CurvePoint | Rejected:
        """A pseudo-arclength step: tangent predictor, and corrector normal to the tangent."""
        ahead = self.correct(point.y + length * point.tangent, point.tangent)
        if ahead is None or ahead.tangent @ point.tangent < TURN:
            return Rejected()
        sizes = np.linalg.svd(ahead.jacobian, compute_uv=False)
        return ahead if sizes[self.unknowns - 2] > AT_BRANCH_POINT * sizes[0] else Rejected(ASIDE)

    def between(self, first: CurvePoint, ahead: CurvePoint, value: Callable[[CurvePoint], float]) -> CurvePoint | None:
        """The point between two neighbors at which a function is zero, by Brent's method along the curve."""
        chord = ahead.y - first.y
        length = float(np.linalg.norm(chord))
        unit = chord / length
        found: dict[float, CurvePoint | None] = {0.0: first, length: ahead}

        def at(s: float) -> float:
            if s not in found:
                found[s] = self.correct(first.y + s * unit, unit, first.tangent)
            point = found[s]
            return value(point) if point is not None else float("nan")

        if not at(0.0) * at(length) < 0:
            return None
        root = bracketed_root(at, 0.0, length, rtol=1e-14)
        return found[root] if np.isfinite(root) and np.isfinite(at(root)) else None

    # ------------------------------------------------------------ branch points

    def rows(self, point: CurvePoint) -> Array:
        """Linear combinations of the rows of F that are independent and span all rows."""
        u, _, _ = np.linalg.svd(point.jacobian)
        return np.asarray(u[:, : self.unknowns - 1].T)

    def orientation(self, point: CurvePoint, rows: Array) -> float:
        """det [F_y; tangentᵀ] for given combinations of rows: changes sign at a simple branch point."""
        return float(np.linalg.det(np.vstack([rows @ point.jacobian, point.tangent])))

    def jacobian_derivative(self, y: Array, along: Array, step: float = 1e-5) -> Array:
        """Derivative of the Jacobian along a direction, by central differences with Richardson extrapolation."""

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
