"""Paths of roads of any smooth shape: through points, from segments with given curvature, or curves x(p), y(p).

`Model.path` makes one, with the coordinates `along` and `across` for the functions of `draisine.model.contact.roads`. In
expressions they are NAME_along(x, y) and NAME_across(x, y).

    >>> bend = GroundPath("bend", segments=((20.0, 0.0, 0.0), (15.0, 0.0, 0.05), (10.0, 0.05, 0.05)))
    >>> print(bend.along, "|", bend.across, "|", f"{bend.length:g} m")
    bend_along(x, y) | bend_across(x, y) | 45 m
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from draisine.errors import ArgumentError, ExpressionError, ModelError
from draisine.expr.expression import Expr, Name, Number, evaluate, evaluate_number, names
from draisine.expr.path_functions import CurveCoordinates, CurveFunction
from draisine.expr.safe_functions import SX_FUNCTIONS
from draisine.expr.tree import Call
from draisine.model.quantities import Amount, amount_in
from draisine.numerics.plane_curves import (
    Parametrized,
    PlaneCurve,
    from_curvature,
    from_parameter,
    reach_of,
    with_overlap,
    with_run_outs,
)

Array = NDArray[np.float64]

BEYOND = 50.0  # m
WIDEST = 20.0  # m, the default width of paths with a large reach
_SHARE = 0.5  # of the reach: the default width
_MOST = 0.95  # of the reach: the largest width
_MEETS = 1 / 3000  # of the length: less than the samples of a path that covers itself can be apart
_CLOSES = 1e-9  # of the length, or rad: gaps of closed paths that are rounding


@dataclass(frozen=True)
class GroundPath:
    """A smooth path on the ground: lengths in m, headings in rad to the left of x, curvatures in 1/m, positive to the left."""

    name: str
    points: tuple[tuple[float, float], ...] = ()
    segments: tuple[tuple[float, float, float], ...] = ()  # length, curvature at the beginning and at the end
    start: tuple[float, float] = (0.0, 0.0)
    heading: float = 0.0
    curve: tuple[Expr, Expr] | None = None  # of p
    between: tuple[float, float] = (0.0, 1.0)  # values of p
    closed: bool = False
    width: float | None = None
    beyond: float = BEYOND

    @classmethod
    def described(
        cls,
        name: str,
        points: Sequence[Sequence[Amount]] | None,
        segments: Sequence[Sequence[Amount]] | None,
        curve: Sequence[Amount] | None,
        between: Sequence[Amount],
        start: Sequence[Amount],
        heading: Amount,
        closed: bool,
        width: Amount | None,
        beyond: Amount | None,
    ) -> GroundPath:
        """The path that is described, checked."""
        where = f"path {name!r}"
        if sum(given is not None for given in (points, segments, curve)) != 1:
            raise ModelError(f"{where}: give one of points, segments and curve")
        if not isinstance(closed, bool):
            raise ModelError(f"{where}: closed is True or False, got {closed!r}")
        numbers: dict[str, Any] = {
            "width": None if width is None else _number(width, "m", f"width of {where}", positive=True),
            "beyond": BEYOND if beyond is None else _number(beyond, "m", f"beyond of {where}", positive=True),
        }
        found: GroundPath
        if points is not None:
            found = cls(name, points=_points(points, closed, where), closed=closed, **numbers)
        elif segments is not None:
            placed = _pair(start, "m", f"start of {where}"), _number(heading, "rad", f"heading of {where}")
            found = cls(name, (), _segments(segments, closed, where), *placed, closed=closed, **numbers)
        else:
            assert curve is not None
            x, y = (amount_in(part, None, f"curve of {where}") for part in _two(curve, f"curve of {where}"))
            for part in (x, y):
                if unknown := sorted(names(part) - {"p"}):
                    raise ModelError(f"curve of {where}: '{part}' depends on {', '.join(unknown)}; it is a function of p alone")
            span = _pair(between, "", f"between of {where}")
            if not span[1] > span[0]:
                raise ModelError(f"between of {where}: p must increase, got {span[0]:g} to {span[1]:g}")
            found = cls(name, curve=(x, y), between=span, closed=closed, **numbers)
        _ = found.coordinates  # whatever is wrong is said now
        return found

    # ---------------------------------------------------------------- coordinates

    @property
    def along(self) -> Expr:
        """Arc length of the nearest point; on a closed path from half its length before the beginning to half behind it."""
        own = Call(f"{self.name}_along", (Name("x"), Name("y")))
        if not self.closed:
            return own
        radius = Number(self.length / (2 * math.pi))  # of the circle with that length: what lies on it closes
        return radius * Call("atan2", (Call("sin", (own / radius,)), Call("cos", (own / radius,))))

    @property
    def across(self) -> Expr:
        """Distance to the left of the path."""
        return Call(f"{self.name}_across", (Name("x"), Name("y")))

    @property
    def functions(self) -> tuple[CurveFunction, CurveFunction]:
        """The functions of expressions."""
        return self.coordinates.functions

    @property
    def length(self) -> float:
        """From the beginning to the end, or around."""
        return float(self._line.knots[-1])

    def position(self, s: ArrayLike) -> Array:
        """Positions x and y at arc lengths, (2, …)."""
        return self.coordinates.curve.at(self._wrapped(s))

    def heading_at(self, s: ArrayLike) -> Array:
        """Headings at arc lengths."""
        return self.coordinates.curve.heading(self._wrapped(s))

    def curvature_at(self, s: ArrayLike) -> Array:
        """Curvatures at arc lengths."""
        return self.coordinates.curve.curvature(self._wrapped(s))

    def _wrapped(self, s: ArrayLike) -> Array:
        given = np.asarray(s, dtype=float)
        return np.mod(given, self.length) if self.closed else given

    # ---------------------------------------------------------------- geometry

    @cached_property
    def coordinates(self) -> CurveCoordinates:
        """The path with run-outs, or around, and what is known of points beside it."""
        line = self._line
        whole = with_overlap(line) if self.closed else with_run_outs(line, self.beyond)
        reach = reach_of(whole, self.length if self.closed else None)
        if reach.distance < (1e-6 if reach.curved else _MEETS) * self.length:
            self._refuse_crossing(reach.first, reach.second, whole)
        width = self.width if self.width is not None else min(_SHARE * reach.distance, WIDEST)
        if width > _MOST * reach.distance:
            x, y = whole.at(reach.first)
            where = f"at s = {reach.first:.6g} m, x = {x:.6g} m, y = {y:.6g} m"
            most = math.floor(_MOST * reach.distance * 1000) / 1000
            if reach.curved:
                raise ModelError(
                    f"path {self.name!r}: a width of {width:g} m on both sides reaches its center of curvature, "
                    f"{reach.distance:.6g} m aside {where}; points beyond it have no unique place along the path. "
                    f"Take a width of {most:g} m or less"
                )
            raise ModelError(
                f"path {self.name!r}: a width of {width:g} m on both sides overlaps with itself: {where} it is "
                f"{2 * reach.distance:.4g} m from s = {reach.second:.6g} m"
                f"{self._beyond_text(reach.first, reach.second)}. Take a width of {most:g} m or less"
            )
        return CurveCoordinates(self.name, whole, width, reach.distance, self.length if self.closed else None)

    def _refuse_crossing(self, first: float, second: float, whole: PlaneCurve) -> None:
        x, y = whole.at(first)
        if abs(first - second) < 1e-3 * self.length:
            raise ModelError(
                f"path {self.name!r} has a corner at x = {x:.4g} m, y = {y:.4g} m, s = {first:.4g} m; give a smooth curve"
            )
        raise ModelError(
            f"path {self.name!r} meets itself at x = {x:.4g} m, y = {y:.4g} m: s = {first:.4g} m and {second:.4g} m"
            f"{self._beyond_text(first, second)}; points there have no unique place "
            "along it. Describe its parts as paths of their own"
        )

    def _beyond_text(self, *places: float) -> str:
        outside = any(not -1e-9 <= s <= self.length * (1 + 1e-12) for s in places)
        return f" (beyond its ends it goes on for {self.beyond:g} m; `beyond` can be shorter)" if outside else ""

    @cached_property
    def _line(self) -> PlaneCurve:
        try:
            found = self._described()
        except ArgumentError as problem:
            raise ModelError(f"path {self.name!r}: {problem}") from None
        if self.closed:
            self._check_closes(found)
        return found

    def _described(self) -> PlaneCurve:
        if self.segments:
            lengths, ends = [s[0] for s in self.segments], [s[1:] for s in self.segments]
            return from_curvature(lengths, ends, self.start, self.heading)[0]
        if self.curve is not None:
            return from_parameter(_parametrized(*self.curve), np.linspace(*self.between, 9).tolist())[0]
        return from_parameter(*_spline(np.array(self.points), self.closed))[0]

    def _check_closes(self, line: PlaneCurve) -> None:
        ends, length = np.array([line.knots[0], line.knots[-1]]), float(line.knots[-1])
        (x0, x1), (y0, y1) = line.at(ends)
        gap, (h0, h1), (k0, k1) = math.hypot(x1 - x0, y1 - y0), line.heading(ends), line.curvature(ends)
        turn = math.remainder(h1 - h0, 2 * math.pi)
        if gap > _CLOSES * length or abs(turn) > _CLOSES or abs(k1 - k0) > 1e-6 * max(abs(k0), abs(k1), 1 / length):
            raise ModelError(
                f"path {self.name!r} does not close: from its end to its beginning there are {gap:.3g} m, {turn:.3g} rad and "
                f"{k1 - k0:.3g} 1/m of curvature; correct it, or leave out closed"
            )

    def __getstate__(self) -> dict[str, Any]:
        return {f.name: getattr(self, f.name) for f in fields(self)}


def _spline(points: Array, closed: bool) -> tuple[Parametrized, list[float]]:
    """The quintic spline through points over the lengths of its chords; at open ends its second and third derivatives vanish, so
    that a straight road goes on without a jump of the curvature or of its rate."""
    from scipy.interpolate import make_interp_spline

    every = np.concatenate([points, points[:1]]) if closed else points
    chords = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(every, axis=0).T))])
    ends: Any = "periodic" if closed else ([(2, np.zeros(2)), (3, np.zeros(2))],) * 2
    spline = make_interp_spline(chords, every, k=5, bc_type=ends)
    first, second = spline.derivative(1), spline.derivative(2)
    return lambda u: (spline(u).T, first(u).T, second(u).T), chords.tolist()


def _parametrized(x: Expr, y: Expr) -> Parametrized:
    import casadi as ca

    p = ca.SX.sym("p")
    position = ca.vertcat(*(ca.SX(evaluate(e, lambda _: p, SX_FUNCTIONS)) for e in (x, y)))
    first = ca.jacobian(position, p)
    function = ca.Function("curve", [p], [ca.densify(v) for v in (position, first, ca.jacobian(first, p))])

    def curve(u: Array) -> tuple[Array, Array, Array]:
        one, two, three = (np.asarray(found) for found in function.map(u.size).call([ca.DM(u).T]))
        return one, two, three

    return curve


# ------------------------------------------------------------------------------------------------ what a user gives


def _number(value: Amount, unit: str, where: str, positive: bool = False) -> float:
    given = amount_in(value, unit, where)
    try:
        number = evaluate_number(given, {})
    except ExpressionError:
        raise ModelError(f"{where}: '{given}' is no number; paths do not depend on parameters, since they are tables") from None
    if not math.isfinite(number) or (positive and not number > 0):
        raise ModelError(f"{where}: expected a {'positive' if positive else 'finite'} number, got {number:g}")
    return number


def _two(given: Any, where: str) -> Sequence[Any]:
    if isinstance(given, str) or not hasattr(given, "__len__") or len(given) != 2:
        raise ModelError(f"{where}: needs two entries, x and y or beginning and end, got {given!r}")
    return tuple(given)


def _pair(given: Any, unit: str, where: str) -> tuple[float, float]:
    first, second = (_number(part, unit, where) for part in _two(given, where))
    return first, second


def _points(given: Sequence[Sequence[Amount]], closed: bool, where: str) -> tuple[tuple[float, float], ...]:
    found = [_pair(point, "m", f"point {k + 1} of {where}") for k, point in enumerate(given)]
    if closed and len(found) > 1 and found[0] == found[-1]:
        found.pop()
    least = 3 if closed else 2
    if len(found) < least:
        raise ModelError(f"{where}: {len(found)} points given; a {'closed' if closed else 'smooth'} path needs {least} or more")
    for k, (one, other) in enumerate(zip(found, [*found[1:], *([found[0]] if closed else [])], strict=False)):
        if one == other:
            raise ModelError(f"{where}: point {k + 1} stands twice, at {one[0]:g}, {one[1]:g}; remove one")
    return tuple(found)


def _segments(given: Sequence[Sequence[Amount]], closed: bool, where: str) -> tuple[tuple[float, float, float], ...]:
    found: list[tuple[float, float, float]] = []
    for k, segment in enumerate(given):
        own = f"segment {k + 1} of {where}"
        if isinstance(segment, str) or not hasattr(segment, "__len__") or len(segment) not in (2, 3):
            raise ModelError(
                f"{own}: give (length, curvature), or (length, curvature at its beginning, at its end), got {segment!r}"
            )
        length = _number(segment[0], "m", f"length of {own}", positive=True)
        first, last = (_number(bend, "1/m", f"curvature of {own}") for bend in (segment[1], segment[-1]))
        found.append((length, first, last))
    if not found:
        raise ModelError(f"{where}: no segments given")
    for k, (one, other) in enumerate(zip(found, [*found[1:], *([found[0]] if closed else [])], strict=False)):
        if abs(other[1] - one[2]) > 1e-9 * max(abs(one[2]), abs(other[1])):
            raise ModelError(
                f"{where}: the curvature jumps from {one[2]:g} to {other[1]:g} 1/m behind segment {k + 1}, and the slope of "
                f"heights beside the path with it; put a clothoid between, (length, {one[2]:g}, {other[1]:g})"
            )
    return tuple(found)
