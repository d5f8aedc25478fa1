"""Special points between neighbors of a branch: folds, branch points, oscillations that begin, modes that pass zero.

Each is bracketed by a change of sign and solved for on the curve itself. A branch point, where tangents lose their meaning, is
solved as a point of its own: F + β ψ = 0, F_yᵀ ψ = 0, ψᵀψ = 1 is regular there (Moore 1980).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from draisine.numerics.continuation import CurvePoint, ImplicitCurve
from draisine.numerics.newton import LeastNorm, Newton
from draisine.stability.continuation.branch_stability import GROWS, product

Array = NDArray[np.float64]
Complex = NDArray[np.complex128]

FOLD, BRANCH_POINT, HOPF, ZERO_CROSSING = "fold", "branch point", "Hopf point", "zero crossing"

STILL = 1e-9  # of the gradient: below it the watched quantity does not change at all
SAME = 1e-4  # distance in scaled unknowns below which two special points are one
SWINGS = 1e-6  # of the largest eigenvalue: an imaginary part above it is an oscillation
BRANCH_POINT_NEWTON = Newton(step_tolerance=1e-12, acceptable=1e-10, max_iterations=15, max_step=1.0)


@dataclass(frozen=True)
class Found:
    """A special point: its kind, the index of the neighbor before it, the frequency of an oscillation that begins there, and the
    direction of the branch that crosses."""

    kind: str
    after: int
    place: CurvePoint
    frequency: float = 0.0
    other: Array | None = None


def find(
    curve: ImplicitCurve,
    places: Sequence[CurvePoint],
    spectra: Sequence[Complex],
    neutral: int,
    spectrum: Callable[[CurvePoint], Complex],
    skip: int | None = None,
) -> list[Found]:
    """All special points between neighbors; none beside the point with the index `skip`."""
    found: list[Found] = []
    for i, (here, ahead) in enumerate(pairwise(places)):
        if skip in (i, i + 1):
            continue
        at_branch = _branch_point(curve, i, here, ahead)
        both = (spectra[i], spectra[i + 1])
        some = [at_branch, _fold(curve, i, here, ahead), *_oscillations(curve, i, here, ahead, both, spectrum)]
        some.append(_zero_crossing(curve, i, here, ahead, both, neutral, spectrum))
        fresh: list[Found] = []
        for one in some:
            if one is not None and all(np.linalg.norm(one.place.y - other.place.y) > SAME for other in fresh):
                fresh.append(one)
        found += sorted(fresh, key=lambda f: float(np.linalg.norm(f.place.y - here.y)))
    return found


def _fold(curve: ImplicitCurve, i: int, here: CurvePoint, ahead: CurvePoint) -> Found | None:
    """Where the watched quantity turns back."""
    size = STILL * float(np.linalg.norm(here.gradient))
    if not (here.advance * ahead.advance < 0 and min(abs(here.advance), abs(ahead.advance)) > size):
        return None
    place = curve.between(here, ahead, lambda p: p.advance)
    return None if place is None else Found(FOLD, i, place)


def _oscillations(
    curve: ImplicitCurve,
    i: int,
    here: CurvePoint,
    ahead: CurvePoint,
    spectra: tuple[Complex, Complex],
    spectrum: Callable[[CurvePoint], Complex],
) -> list[Found]:
    """Where a pair of eigenvalues passes the imaginary axis."""
    size = max(float(np.abs(s).max(initial=0.0)) for s in spectra)
    first, second = (s[s.imag > SWINGS * size] for s in spectra)
    found = []
    for value in first:
        if not len(second):
            break
        k = int(np.argmin(np.abs(second - value)))
        partner, second = second[k], np.delete(second, k)
        if not (value.real * partner.real < 0 and min(abs(value.real), abs(partner.real)) > GROWS * size):
            continue
        one = _hopf_point(curve, i, here, ahead, complex(value + partner) / 2, spectrum)
        if one is not None and one.frequency > SWINGS * size:
            found.append(one)
    return found


def _hopf_point(
    curve: ImplicitCurve, i: int, here: CurvePoint, ahead: CurvePoint, middle: complex, spectrum: Callable[[CurvePoint], Complex]
) -> Found | None:
    """Where the eigenvalue nearest to a given one has no real part."""

    def nearest(place: CurvePoint) -> complex:
        values = spectrum(place)
        return complex(values[np.argmin(np.abs(values - middle))])

    place = curve.between(here, ahead, lambda p: nearest(p).real)
    return None if place is None else Found(HOPF, i, place, nearest(place).imag)


def _zero_crossing(
    curve: ImplicitCurve,
    i: int,
    here: CurvePoint,
    ahead: CurvePoint,
    spectra: tuple[Complex, Complex],
    neutral: int,
    spectrum: Callable[[CurvePoint], Complex],
) -> Found | None:
    """Where a real eigenvalue passes zero, though the branch neither turns back nor meets another."""
    if len(spectra[0]) != len(spectra[1]) or not len(spectra[0]):
        return None
    ends = [product(s, neutral) for s in spectra]
    if not (ends[0] * ends[1] < 0 and min(abs(e) for e in ends) > 1e-12):
        return None
    place = curve.between(here, ahead, lambda p: product(spectrum(p), neutral))
    return None if place is None else Found(ZERO_CROSSING, i, place)


# ---------------------------------------------------------------- branch points


def _branch_point(curve: ImplicitCurve, i: int, here: CurvePoint, ahead: CurvePoint) -> Found | None:
    rows = curve.rows(here)
    if not curve.orientation(here, rows) * curve.orientation(ahead, rows) < 0:
        return None
    rough = curve.between(here, ahead, lambda p: curve.orientation(p, rows))
    if rough is None:
        share = _share(curve, here, ahead, rows)
        rough = curve.point(here.y + share * (ahead.y - here.y), here.tangent)
    solved = _solve_branch_point(curve, rough.y, rows)
    if solved is None:
        return None
    y, left = solved
    if float(np.linalg.norm(y - here.y)) > 3 * float(np.linalg.norm(ahead.y - here.y)):
        return None
    tangent, other = _directions(curve, y, left, rows, ahead.y - here.y)
    return Found(BRANCH_POINT, i, curve.point(y, tangent).heading(tangent), other=other)


def _share(curve: ImplicitCurve, here: CurvePoint, ahead: CurvePoint, rows: Array) -> float:
    a, b = curve.orientation(here, rows), curve.orientation(ahead, rows)
    return a / (a - b)


def _solve_branch_point(curve: ImplicitCurve, y: Array, rows: Array) -> tuple[Array, Array] | None:
    """Newton's method on (y, β, ψ); derivatives of F_yᵀ ψ by differences, which costs no digits of the solution."""
    n = len(y)

    def evaluate(z: Array) -> tuple[Array, Array]:
        y, beta, left = z[:n], z[n], z[n + 1 :]
        f, jacobian, _ = curve.jacobians(y)
        f, jacobian = rows @ f, rows @ jacobian
        gap = np.concatenate([f + beta * left, jacobian.T @ left, [left @ left - 1]])
        # F is twice differentiable, so that ∂(F_yᵀ ψ)/∂y is symmetric: row k is the bend along the k-th unknown
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
    """Tangents of the branch followed and of the one that crosses it: roots of ψᵀ F_yy (v, v) = 0 in the plane of tangents."""
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
    """The direction or its opposite: what varies grows along it, or where it does not change, what changes most."""
    grows = float(gradient @ direction)
    sign = grows if abs(grows) > STILL * float(np.linalg.norm(gradient)) else float(direction[np.argmax(np.abs(direction))])
    return direction if sign >= 0 else -direction
