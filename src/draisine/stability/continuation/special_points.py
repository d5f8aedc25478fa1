"""Special points of a branch: folds, branch points, Hopf points, zero crossings of real modes.

Each is bracketed by a change of sign and solved on the curve itself. A branch point, where the tangent is not unique, is solved
by an extended system, F + β ψ = 0, F_yᵀ ψ = 0, ψᵀψ = 1, which is regular there (Moore 1980). Special points explain the numbers
of growing modes on both sides; a step in which they do not has several that hide each other, and is halved.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from draisine.numerics.continuation import CurvePoint, ImplicitCurve, least_slope
from draisine.numerics.newton import LeastNorm, Newton
from draisine.numerics.spectrum import Spectrum
from draisine.stability.continuation.branch_stability import spectrum_without_neutral, without_neutral
from draisine.stability.continuation.mode_crossings import Place, explained, pairs_that_cross, zero_crossing
from draisine.stability.crossings import Matrices, hidden
from draisine.stability.exchanges import exchanges

Array = NDArray[np.float64]

FOLD, BRANCH_POINT, HOPF, ZERO_CROSSING = "fold", "branch point", "Hopf point", "zero crossing"

STILL = 1e-9  # relative to the gradient: smaller changes of the continuation quantity are round-off
SAME = 1e-4  # distance in scaled unknowns below which two special points coincide
PARTED = 1e-6  # distance of two special points between which there is a point of the branch
DEPTH = 8  # divisions of a step in search of two folds
HALVINGS = 30  # of a step whose special points do not explain its numbers of growing modes
BY_SHAPES = (8, 0)  # halvings after which modes that cross at one point are told apart by their shapes
WINDOW = 16  # halvings of steps in search of a window in which modes grow, or decay
SHORTEST = 1e-9  # step, in scaled unknowns, that is halved
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
    every: Sequence[Array],
    neutral: int,
    matrix: Callable[[CurvePoint], Array],
    skip: int | None = None,
) -> list[FoundPoint]:
    """All special points between neighbors, except next to the point with index `skip`; `every` has the linear models at the
    points, `matrix` gives that of any point."""
    search = _Search(curve, neutral, matrix)
    found: list[FoundPoint] = []
    places = [Place(point, a) for point, a in zip(points, every, strict=True)]
    for i, (current, upcoming) in enumerate(pairwise(places)):
        if skip not in (i, i + 1):
            found += search.between(i, current, upcoming)
    steps = {one.after for one in found}
    for i in np.flatnonzero(_might_cross_and_return(places, neutral)).tolist():
        if skip not in (i - 1, i, i + 1) and not steps & {i - 1, i}:
            windows = search.window((places[i - 1], places[i], places[i + 1]), (i - 1, i))
            steps |= {one.after for one in windows}
            found += windows
    return sorted(found, key=lambda one: one.after)


def _might_cross_and_return(places: Sequence[Place], neutral: int) -> NDArray[np.bool_]:
    """Of each place whether it is to be asked for a window about it: all inner ones whose real parts bend towards zero, or all
    where linear models have different states."""
    asked = np.zeros(len(places), dtype=bool)
    asked[1:-1] = True
    if len(places) > 2 and len({place.matrix.shape for place in places}) == 1:
        along = np.cumsum([0.0, *(np.linalg.norm(b.point.y - a.point.y) for a, b in pairwise(places))])
        spectrum = spectrum_without_neutral(Spectrum.of(np.array([place.matrix for place in places])), neutral)
        asked[1:-1] = hidden(along, spectrum, np.arange(1, len(places) - 1))
    return asked


def parted(
    curve: ImplicitCurve, points: Sequence[CurvePoint], found: Sequence[FoundPoint]
) -> tuple[list[CurvePoint], list[FoundPoint]]:
    """Points with one more between each two special points in one step, and the special points with their indices among these:
    what is between them, as an unstable motion between two folds, no other point shows."""
    every, renumbered = list(points[:1]), []
    for i in range(len(points)):
        inside = [one for one in found if one.after == i]
        for k, one in enumerate(inside):
            middle = _halfway(curve, inside[k - 1], one) if k else None
            every += [] if middle is None else [middle]
            renumbered.append(replace(one, after=len(every) - 1))
        every += points[i + 1 : i + 2]
    return every, renumbered


def _halfway(curve: ImplicitCurve, one: FoundPoint, other: FoundPoint) -> CurvePoint | None:
    chord = other.point.y - one.point.y
    length = float(np.linalg.norm(chord))
    return curve.correct(0.5 * (one.point.y + other.point.y), chord / length) if length > PARTED else None


class _Search:
    """Searches steps of one branch for special points."""

    def __init__(self, curve: ImplicitCurve, neutral: int, matrix: Callable[[CurvePoint], Array]) -> None:
        self.curve, self.neutral, self.matrix = curve, neutral, matrix

    def between(self, i: int, current: Place, upcoming: Place, depth: int = 0) -> list[FoundPoint]:
        """Special points of a step, in order. A step is halved where they do not explain how many more modes grow behind it."""
        at = (self.curve, i, current.point, upcoming.point)
        swings = [
            FoundPoint(HOPF, i, point, frequency)
            for point, frequency in pairs_that_cross(self.curve, current, upcoming, self.matrix)
        ]
        some = [_branch_point(*at), *_folds(*at), *swings]
        zero = zero_crossing(self.curve, current, upcoming, self.neutral, self.matrix)
        some.append(None if zero is None else FoundPoint(ZERO_CROSSING, i, zero))
        fresh: list[FoundPoint] = []
        for one in some:
            if one is not None and all(_apart(one, other) for other in fresh):
                fresh.append(one)
        fresh = _in_order(fresh, current)
        if depth == HALVINGS or self._explained(current, upcoming, fresh):
            return fresh
        middle = self._middle(current, upcoming)
        if middle is not None:
            finer = [*self.between(i, current, middle, depth + 1), *self.between(i, middle, upcoming, depth + 1)]
            fresh = finer if len(finer) >= len(fresh) else fresh
        if depth in BY_SHAPES and not self._explained(current, upcoming, fresh):
            fresh = self._with_modes_at_one_point(i, current, upcoming, fresh)
        return fresh

    def window(self, three: tuple[Place, Place, Place], steps: tuple[int, int], depth: int = 0) -> list[FoundPoint]:
        """Special points between which modes cross the axis and return, about the middle one of three places at which as many
        grow: real parts bend towards zero there, and the steps are halved until the numbers differ."""
        numbers = [place.signs(self.neutral) for place in three]
        if len({len(place.spectrum) for place in three}) > 1:
            return []
        if len(set(numbers)) > 1:
            return []
        lengths = [float(np.linalg.norm(b.point.y - a.point.y)) for a, b in pairwise(three)]
        spectrum = spectrum_without_neutral(Spectrum.joined([place.bounded for place in three]), self.neutral)
        if depth == WINDOW or not hidden(np.array([0.0, *np.cumsum(lengths)]), spectrum, np.array([1]))[0]:
            return []
        between = [self._middle(a, b) for a, b in pairwise(three)]
        if between[0] is None or between[1] is None:
            return []
        five = (three[0], between[0], three[1], between[1], three[2])
        numbered = (steps[0], steps[0], steps[1], steps[1])
        numbers = [place.signs(self.neutral) for place in five]
        differ = [k for k in range(4) if numbers[k] != numbers[k + 1]]
        if differ:
            return [point for k in differ for point in self.between(numbered[k], five[k], five[k + 1])]
        k = min(
            range(3), key=lambda k: float(np.abs(without_neutral(five[k + 1].spectrum, self.neutral).real).min(initial=np.inf))
        )
        return self.window((five[k], five[k + 1], five[k + 2]), (numbered[k], numbered[k + 1]), depth + 1)

    def _explained(self, current: Place, upcoming: Place, found: list[FoundPoint]) -> bool:
        pairs = sum(one.kind == HOPF for one in found)
        return explained(current, upcoming, self.neutral, pairs, len(found) - pairs)

    def _with_modes_at_one_point(self, i: int, current: Place, upcoming: Place, found: list[FoundPoint]) -> list[FoundPoint]:
        """Special points and those of further modes that cross at the same point as others, which halving does not separate."""
        chord = upcoming.point.y - current.point.y
        length = float(np.linalg.norm(chord))

        def at(s: float) -> CurvePoint | None:
            return self.curve.correct(current.point.y + s * chord, chord / length, current.point.tangent)

        def matrices(shares: Array) -> Array:
            points = [at(float(s)) for s in shares]
            return np.array([np.full_like(current.matrix, np.nan) if p is None else self.matrix(p) for p in points])

        def fits(one: FoundPoint, share: float, swings: bool) -> tuple[bool, float]:
            return (one.kind == HOPF) == swings, abs(float((one.point.y - current.point.y) @ chord) / length**2 - share)

        left, more = list(found), []
        for share, eigenvalue, change in exchanges(Matrices(matrices), 0.0, 1.0):
            swings = abs(change) == 2
            known = min(
                (one for one in left if fits(one, share, swings)[0]), key=lambda one: fits(one, share, swings)[1], default=None
            )
            point = at(share)
            if known is not None:
                left.remove(known)
            elif point is not None:
                more.append(FoundPoint(HOPF if swings else ZERO_CROSSING, i, point, abs(eigenvalue.imag)))
        return _in_order([*found, *more], current)

    def _middle(self, current: Place, upcoming: Place) -> Place | None:
        chord = upcoming.point.y - current.point.y
        length = float(np.linalg.norm(chord))
        if not length > SHORTEST:
            return None
        for share in (0.5, 0.43):  # not at a branch point
            point = self.curve.correct(current.point.y + share * chord, chord / length, current.point.tangent)
            if point is not None:
                return Place(point, self.matrix(point))
        return None


def _in_order(found: list[FoundPoint], current: Place) -> list[FoundPoint]:
    return sorted(found, key=lambda f: float(np.linalg.norm(f.point.y - current.point.y)))


def _apart(one: FoundPoint, other: FoundPoint) -> bool:
    """Whether two points are different: two of one kind are, since each has a bracket of its own, and a pair crosses the axis by
    itself wherever a real mode does."""
    if one.kind == other.kind or HOPF in (one.kind, other.kind):
        return True
    return float(np.linalg.norm(one.point.y - other.point.y)) > SAME


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
