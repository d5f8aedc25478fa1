"""Special points of a branch: folds, branch points, Hopf points, zero crossings of real modes.

Each is bracketed by a change of sign and solved on the curve itself. A branch point, where the tangent is not unique, is solved
by an extended system, F + β ψ = 0, F_yᵀ ψ = 0, ψᵀψ = 1, which is regular there (Moore 1980).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from draisine.numerics.continuation import CurvePoint, ImplicitCurve, least_slope
from draisine.numerics.newton import LeastNorm, Newton
from draisine.stability.continuation.branch_stability import GROWS, product

Array = NDArray[np.float64]
Complex = NDArray[np.complex128]

FOLD, BRANCH_POINT, HOPF, ZERO_CROSSING = "fold", "branch point", "Hopf point", "zero crossing"

STILL = 1e-9  # relative to the gradient: smaller changes of the continuation quantity are round-off
SAME = 1e-4  # distance in scaled unknowns below which two special points coincide
DEPTH = 8  # divisions of a step in search of two folds
OSCILLATES = 1e-6  # imaginary part of an oscillation, relative to the largest eigenvalue
BRANCH_POINT_NEWTON = Newton(step_tolerance=1e-12, acceptable=1e-10, max_iterations=15, max_step=1.0)


@dataclass(frozen=True)
class FoundPoint:
    """A special point: its kind, the index of the preceding point, the frequency of a Hopf point, and the direction of a crossing
    branch."""

    kind: str
    after: int
    point: CurvePoint
    frequency: float = 0.0
    other: Array | None = None


def find(
    curve: ImplicitCurve,
    points: Sequence[CurvePoint],
    spectra: Sequence[Complex],
    neutral: int,
    spectrum: Callable[[CurvePoint], Complex],
    skip: int | None = None,
) -> list[FoundPoint]:
    """All special points between neighbors, except next to the point with index `skip`."""
    found: list[FoundPoint] = []
    for i, (current, upcoming) in enumerate(pairwise(points)):
        if skip in (i, i + 1):
            continue
        at_branch = _branch_point(curve, i, current, upcoming)
        both = (spectra[i], spectra[i + 1])
        some = [at_branch, *_folds(curve, i, current, upcoming), *_oscillations(curve, i, current, upcoming, both, spectrum)]
        some.append(_zero_crossing(curve, i, current, upcoming, both, neutral, spectrum))
        fresh: list[FoundPoint] = []
        for one in some:
            if one is not None and all(_apart(one, other) for other in fresh):
                fresh.append(one)
        found += sorted(fresh, key=lambda f: float(np.linalg.norm(f.point.y - current.y)))
    return found


def _apart(one: FoundPoint, other: FoundPoint) -> bool:
    """Whether two points are different: two of one kind are, since each has a bracket of its own."""
    return one.kind == other.kind or float(np.linalg.norm(one.point.y - other.point.y)) > SAME


def _folds(curve: ImplicitCurve, i: int, current: CurvePoint, upcoming: CurvePoint, depth: int = 0) -> list[FoundPoint]:
    """Where the continuation quantity turns back; between neighbors with one direction, where it might turn back and return."""
    size = STILL * float(np.linalg.norm(current.gradient))
    if min(abs(current.advance), abs(upcoming.advance)) <= size:
        return []
    if current.advance * upcoming.advance < 0:
        point = curve.between(current, upcoming, lambda p: p.advance)
        return [] if point is None else [FoundPoint(FOLD, i, point)]
    chord = upcoming.y - current.y
    length = float(np.linalg.norm(chord))
    change = curve.monitored(upcoming.y) - curve.monitored(current.y)
    share = least_slope(current.advance * length, upcoming.advance * length, change)
    if share is None or depth == DEPTH:
        return []
    middle = curve.correct(current.y + share * chord, chord / length, current.tangent)
    if middle is None:
        return []
    return [*_folds(curve, i, current, middle, depth + 1), *_folds(curve, i, middle, upcoming, depth + 1)]


def _oscillations(
    curve: ImplicitCurve,
    i: int,
    current: CurvePoint,
    upcoming: CurvePoint,
    spectra: tuple[Complex, Complex],
    spectrum: Callable[[CurvePoint], Complex],
) -> list[FoundPoint]:
    """Where a pair of eigenvalues crosses the imaginary axis."""
    size = max(float(np.abs(s).max(initial=0.0)) for s in spectra)
    first, second = (s[s.imag > OSCILLATES * size] for s in spectra)
    found = []
    for value in first:
        if not len(second):
            break
        k = int(np.argmin(np.abs(second - value)))
        partner, second = second[k], np.delete(second, k)
        if not (value.real * partner.real < 0 and min(abs(value.real), abs(partner.real)) > GROWS * size):
            continue
        one = _hopf_point(curve, i, current, upcoming, complex(value + partner) / 2, spectrum)
        if one is not None and one.frequency > OSCILLATES * size:
            found.append(one)
    return found


def _hopf_point(
    curve: ImplicitCurve,
    i: int,
    current: CurvePoint,
    upcoming: CurvePoint,
    middle: complex,
    spectrum: Callable[[CurvePoint], Complex],
) -> FoundPoint | None:
    """Where the eigenvalue nearest to a given one is imaginary."""

    def nearest(point: CurvePoint) -> complex:
        values = spectrum(point)
        return complex(values[np.argmin(np.abs(values - middle))])

    point = curve.between(current, upcoming, lambda p: nearest(p).real)
    return None if point is None else FoundPoint(HOPF, i, point, nearest(point).imag)


def _zero_crossing(
    curve: ImplicitCurve,
    i: int,
    current: CurvePoint,
    upcoming: CurvePoint,
    spectra: tuple[Complex, Complex],
    neutral: int,
    spectrum: Callable[[CurvePoint], Complex],
) -> FoundPoint | None:
    """Where a real eigenvalue crosses zero without a fold or a branch point."""
    if len(spectra[0]) != len(spectra[1]) or not len(spectra[0]):
        return None
    ends = [product(s, neutral) for s in spectra]
    if not (ends[0] * ends[1] < 0 and min(abs(e) for e in ends) > 1e-12):
        return None
    point = curve.between(current, upcoming, lambda p: product(spectrum(p), neutral))
    return None if point is None else FoundPoint(ZERO_CROSSING, i, point)


# ---------------------------------------------------------------- branch points


def _branch_point(curve: ImplicitCurve, i: int, current: CurvePoint, upcoming: CurvePoint) -> FoundPoint | None:
    rows = curve.rows(current)
    if not curve.orientation(current, rows) * curve.orientation(upcoming, rows) < 0:
        return None
    rough = curve.between(current, upcoming, lambda p: curve.orientation(p, rows))
    if rough is None:
        share = _share(curve, current, upcoming, rows)
        rough = curve.point(current.y + share * (upcoming.y - current.y), current.tangent)
    solved = _solve_branch_point(curve, rough.y, rows)
    if solved is None:
        return None
    y, left = solved
    if float(np.linalg.norm(y - current.y)) > 3 * float(np.linalg.norm(upcoming.y - current.y)):
        return None
    tangent, other = _directions(curve, y, left, rows, upcoming.y - current.y)
    return FoundPoint(BRANCH_POINT, i, curve.point(y, tangent).heading(tangent), other=other)


def _share(curve: ImplicitCurve, current: CurvePoint, upcoming: CurvePoint, rows: Array) -> float:
    a, b = curve.orientation(current, rows), curve.orientation(upcoming, rows)
    return a / (a - b)


def _solve_branch_point(curve: ImplicitCurve, y: Array, rows: Array) -> tuple[Array, Array] | None:
    """Newton's method on (y, β, ψ); derivatives of F_yᵀ ψ by differences, which does not affect the accuracy."""
    n = len(y)

    def evaluate(z: Array) -> tuple[Array, Array]:
        y, beta, left = z[:n], z[n], z[n + 1 :]
        f, jacobian, _ = curve.jacobians(y)
        f, jacobian = rows @ f, rows @ jacobian
        gap = np.concatenate([f + beta * left, jacobian.T @ left, [left @ left - 1]])
        # F is twice differentiable, so that ∂(F_yᵀ ψ)/∂y is symmetric: row k is the derivative along the k-th unknown
        second = np.array([(rows @ curve.jacobian_derivative(y, unit)).T @ left for unit in np.eye(n)])
        whole = np.block(
            [
                [jacobian, left[:, None], beta * np.eye(n - 1)],
                [second, np.zeros((n, 1)), jacobian.T],
                [np.zeros((1, n + 1)), 2 * left[None]],
            ]
        )
        return gap, whole

    left = np.linalg.svd(rows @ curve.jacobians(y)[1])[0][:, -1]
    found = BRANCH_POINT_NEWTON.solve(evaluate, np.concatenate([y, [0.0], left]), LeastNorm(1e-12))
    z = found.point.x
    return (z[:n], z[n + 1 :]) if found.converged and abs(z[n]) < 1e-8 else None


def _directions(curve: ImplicitCurve, y: Array, left: Array, rows: Array, along: Array) -> tuple[Array, Array]:
    """Tangents of the current and of the crossing branch: roots of ψᵀ F_yy (v, v) = 0 in the plane of tangents."""
    plane = np.linalg.svd(rows @ curve.jacobians(y)[1])[2][-2:]
    quadratic = np.array([[left @ (rows @ curve.jacobian_derivative(y, a)) @ b for b in plane] for a in plane])
    a, b, c = quadratic[0, 0], quadratic[0, 1] + quadratic[1, 0], quadratic[1, 1]
    root = np.sqrt(max(b * b - 4 * a * c, 0.0))
    # (α, β) with a α² + b αβ + c β² = 0, in the form that divides by the larger number
    q = -(b + (root if b >= 0 else -root)) / 2
    pairs = [np.array([q, a]), np.array([c, q])] if q != 0 else [np.array([1.0, 0.0]), np.array([0.0, 1.0])]
    directions = [plane.T @ pair / max(float(np.linalg.norm(pair)), 1e-300) for pair in pairs]
    directions.sort(key=lambda d: -abs(float(d @ along)))
    ours, other = directions
    return (ours if ours @ along >= 0 else -ours), _ahead(other, curve.jacobians(y)[2])


def _ahead(direction: Array, gradient: Array) -> Array:
    """The direction or its opposite, so that the continuation quantity grows, or else the largest component is positive."""
    grows = float(gradient @ direction)
    sign = grows if abs(grows) > STILL * float(np.linalg.norm(gradient)) else float(direction[np.argmax(np.abs(direction))])
    return direction if sign >= 0 else -direction
