"""Coordinates along and across a plane curve as functions of a position x, y: call nodes of a program, like tables.

The nearest point of the curve is found in a fixed number of operations: a grid of cells has its arc length for the middle of each
cell, and steps of Newton's method lead from there to the root of (p − c(s))·c′(s). Derivatives are closed formulas of the Taylor
coefficients of the curve at the nearest point, since ∇s = c′/(c′·c′ − (p − c)·c″): one callee for all of an order, up to the
third, differentiated by CasADi beyond it. All of them call the function NAME_foot, which finds the nearest point and stays a call
in compiled code.

Up to a width, which is less than the reach of the curve, each point has one nearest point, and that it is found has been checked
at nine points of each cell. Farther away the coordinates are those of some point at which the curve is perpendicular to the
distance, mostly the nearest: the equations can be evaluated, for example by searches that begin there, and runs end before.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from draisine.errors import ArgumentError
from draisine.numerics.plane_curves import PlaneCurve

if TYPE_CHECKING:
    import casadi as ca

Array = NDArray[np.float64]

STEPS = 5  # of Newton's method, from the middle of a cell
MOST_CELLS = 400_000
_LEAST = 0.04  # of 1 − κ d in steps of Newton's method: it is larger within the largest width
_DEGREE = 5
_HIGHEST_CALL = 3  # derivatives up to this total order are callees


@dataclass(frozen=True, eq=False)
class CurveCoordinates:
    """Arc length of the nearest point of a curve, and distance to its left, up to a `width` on both sides.

    `reach` is the distance up to which nearest points are unique, more than the width. A closed curve has a `length`, and is
    stored with some of its other end before and behind it, so that steps of Newton's method may pass the closing point.
    """

    name: str
    curve: PlaneCurve
    width: float
    reach: float
    length: float | None = None

    @cached_property
    def grid(self) -> tuple[Array, Array, Array]:
        """Edges of cells along x and y, and arc lengths (x, y)."""
        size = 0.5 * min(self.reach - self.width, 4 * self.width, 1e6)
        while True:
            found = self._grid_of(size)
            if found is not None:
                return found
            size /= 2

    def _grid_of(self, size: float) -> tuple[Array, Array, Array] | None:
        """The grid of that cell size, or None if Newton's method does not lead to the nearest point everywhere."""
        from scipy.spatial import cKDTree

        s = self.curve.samples
        if self.length is not None:
            s = s[(s >= 0) & (s < self.length)]  # of each place once: behind the end of an overlap there is no curve
        line = self.curve.at(s)
        low, high = line.min(axis=1) - self.width - size, line.max(axis=1) + self.width + size
        counts = [int(np.ceil(extent / size)) for extent in high - low]
        if counts[0] * counts[1] > MOST_CELLS:
            shorter = "" if self.length is not None else "let it go on for less beyond its ends (beyond=…), "
            raise ArgumentError(
                f"path {self.name!r}: its coordinates up to {self.width:g} m aside need more than {MOST_CELLS} cells; "
                f"{shorter}take a smaller width, or several shorter paths"
            )
        x, y = (a + size * np.arange(-1, n + 2) for a, n in zip(low, counts, strict=True))
        middles = np.stack(np.meshgrid((x[:-1] + x[1:]) / 2, (y[:-1] + y[1:]) / 2, indexing="ij"), -1)
        tree = cKDTree(line.T)
        aside, nearest = tree.query(middles)
        spacing = float(np.diff(s).max())
        inside = aside - size * 0.7072 - spacing <= self.width  # a part of the cell is
        if self.length is None:
            inside &= (nearest > 0) & (nearest < s.size - 1)  # not beyond the ends
        if (aside[inside] + size * 0.7072 + spacing >= self.reach).any():
            return None
        guess = s[nearest]
        corners = np.stack(np.meshgrid((-0.5, 0.0, 0.5), (-0.5, 0.0, 0.5), indexing="ij"), -1).reshape(-1, 2) * size
        points = (middles[inside][:, None, :] + corners).reshape(-1, 2)
        begin = np.repeat(guess[inside], len(corners))
        found = _refined(begin, points[:, 0], points[:, 1], STEPS, self._lookup)
        settled = _refined(found, points[:, 0], points[:, 1], 1, self._lookup)
        distance = np.hypot(*(points.T - self.curve.at(found)))
        least = tree.query(points)[0]
        close = np.abs(settled - found) <= 1e-12 * (1 + np.abs(found))
        return (x, y, guess) if (close & (distance <= least + 1e-9)).all() else None

    def _lookup(self, s: Array) -> tuple[Any, Any, Any]:
        cell = np.clip(np.searchsorted(self.curve.knots, s, side="right") - 1, 0, self.curve.knots.size - 2)
        x, y = self.curve.coefficients[:, cell]
        return s - self.curve.knots[cell], [x[..., k] for k in range(_DEGREE + 1)], [y[..., k] for k in range(_DEGREE + 1)]

    @property
    def functions(self) -> tuple[CurveFunction, CurveFunction]:
        """The functions of x and y by name: along and across the curve."""
        return CurveFunction(f"{self.name}_along", self), CurveFunction(f"{self.name}_across", self)

    # ---------------------------------------------------------------- numbers

    def at(self, x: ArrayLike, y: ArrayLike) -> tuple[Array, Array]:
        """Both coordinates of points."""
        x, y = np.broadcast_arrays(np.asarray(x, dtype=float), np.asarray(y, dtype=float))
        edges_x, edges_y, guess = self.grid
        columns = [np.clip(np.searchsorted(e, p, side="right") - 1, 0, e.size - 2) for e, p in ((edges_x, x), (edges_y, y))]
        s = _refined(guess[columns[0], columns[1]], x, y, STEPS, self._lookup)
        (px, py), (tx, ty) = self.curve.at(s), self.curve.at(s, 1)
        return s, (tx * (y - py) - ty * (x - px)) / np.hypot(tx, ty)

    # ---------------------------------------------------------------- symbols

    @cached_property
    def foot(self) -> ca.Function:
        """(x, y) → arc length of the nearest point, and the Taylor coefficients of both positions there."""
        import casadi as ca

        x, y = ca.MX.sym("x"), ca.MX.sym("y")
        edges_x, edges_y, guess = self.grid
        knots = ca.DM(self.curve.knots)
        data = [[ca.MX(ca.DM(row[:, k])) for k in range(_DEGREE + 1)] for row in self.curve.coefficients]

        def lookup(s: ca.MX) -> tuple[Any, Any, Any]:
            cell = ca.low(knots, s)
            return s - ca.MX(knots)[cell], [row[cell] for row in data[0]], [row[cell] for row in data[1]]

        cell = ca.low(ca.DM(edges_x), x) * (edges_y.size - 1) + ca.low(ca.DM(edges_y), y)
        r = _refined(ca.MX(ca.DM(guess.ravel()))[cell], x, y, STEPS, lookup)
        ahead, first, second = lookup(r)
        found = [r, *_shifted(first, ahead), *_shifted(second, ahead)]
        return ca.Function(f"{self.name}_foot", [x, y], found, {"never_inline": True})

    @cached_property
    def callee(self) -> ca.Function:
        """(x, y) → both coordinates, with their derivatives."""
        formulas = _Formulas()
        return _callee(self, formulas, list(formulas.values))


@dataclass(frozen=True, eq=False)
class CurveFunction:
    """One of the coordinates, called by its name in expressions."""

    name: str
    coordinates: CurveCoordinates

    @property
    def _number(self) -> int:
        return 0 if self.name.endswith("_along") else 1

    def __call__(self, *arguments: Any) -> ca.SX:
        import casadi as ca

        self._check(arguments)
        x, y = (ca.densify(ca.SX(a)) for a in arguments)
        shape = max((x.shape, y.shape), key=lambda s: s[0] * s[1])
        x, y = (a if a.shape == shape else ca.repmat(a, *shape) for a in (x, y))
        entries = [self.coordinates.callee(x.nz[k], y.nz[k])[self._number] for k in range(x.numel())]
        return ca.reshape(ca.vertcat(*entries), *shape)

    def at(self, *points: ArrayLike) -> Array:
        """Values at arrays of points."""
        self._check(points)
        return self.coordinates.at(*points)[self._number]

    def _check(self, arguments: Sequence[Any]) -> None:
        if len(arguments) != 2:
            raise ArgumentError(f"{self.name} takes a position, x and y, got {len(arguments)} arguments")


# ------------------------------------------------------------------------------------------------ derivatives


class _Formulas:
    """Coordinates and their derivatives as expressions of x, y and the Taylor coefficients, all of one position `ahead` of the
    nearest point, which is 0 in the end."""

    def __init__(self) -> None:
        import casadi as ca

        self.x, self.y, self.r, self.ahead = (ca.SX.sym(name) for name in ("x", "y", "r", "ahead"))
        self.px, self.py = ([ca.SX.sym(f"{axis}{k}") for k in range(_DEGREE + 1)] for axis in "xy")
        position, tangent, bend = [], [], []
        for row in (self.px, self.py):
            position.append(_horner(row, self.ahead))
            tangent.append(_horner(_derivative(row), self.ahead))
            bend.append(_horner(_derivative(_derivative(row)), self.ahead))
        dx, dy = self.x - position[0], self.y - position[1]
        square = tangent[0] ** 2 + tangent[1] ** 2
        self.gradient = [t / (square - dx * bend[0] - dy * bend[1]) for t in tangent]
        across = (tangent[0] * dy - tangent[1] * dx) / ca.sqrt(square)
        self.values = (self.r + self.ahead, across)

    def derivatives(self, value: ca.SX) -> list[ca.SX]:
        """By x and by y: the nearest point moves along."""
        import casadi as ca

        by_ahead = ca.jacobian(value, self.ahead)
        return [ca.jacobian(value, by) + by_ahead * rate for by, rate in zip((self.x, self.y), self.gradient, strict=True)]

    def function(self, values: Sequence[ca.SX]) -> ca.Function:
        import casadi as ca

        here = ca.cse([ca.densify(h) for h in ca.substitute(list(values), [self.ahead], [ca.SX(0)])])
        return ca.Function("formulas", [self.x, self.y, self.r, *self.px, *self.py], here)


def _callee(coordinates: CurveCoordinates, formulas: _Formulas, values: Sequence[ca.SX], order: int = 0) -> ca.Function:
    """The function of all derivatives of an order: of each coordinate by x …, then one of them by y, …, all by y."""
    import casadi as ca

    x, y = ca.MX.sym("x"), ca.MX.sym("y")
    name = f"{coordinates.name}_foot_order{order}"
    names = [f"v{k}" for k in range(len(values))]
    options: dict[str, Any] = {"never_inline": True}
    if order < _HIGHEST_CALL:
        # d^(n+1)/dx^(n+1−k) dy^k, k = 0 … n + 1, of each coordinate: the entry behind one is its derivative by y
        both = [values[: order + 1], values[order + 1 :]]
        higher = [[formulas.derivatives(row[0])[0], *(formulas.derivatives(v)[1] for v in row)] for row in both]
        found = _callee(coordinates, formulas, [v for row in higher for v in row], order + 1)(x, y)
        by_x = [found[half * (order + 2) + k] for half in range(2) for k in range(order + 1)]
        by_y = [found[half * (order + 2) + k + 1] for half in range(2) for k in range(order + 1)]
        jacobian = ca.Function(
            f"jac_{name}",
            [x, y, *(ca.MX(1, 1) for _ in names)],
            [one for pair in zip(by_x, by_y, strict=True) for one in pair],
            ["x", "y", *(f"out_{n}" for n in names)],
            [f"jac_{n}_{axis}" for n in names for axis in "xy"],
            {"always_inline": True},
        )
        options |= {"custom_jacobian": jacobian, "enable_forward": False, "enable_reverse": False}
    outputs = formulas.function(values).call([x, y, *coordinates.foot(x, y)], True, False)  # inlined
    return ca.Function(name, [x, y], outputs, ["x", "y"], names, options)


# ------------------------------------------------------------------------------- polynomials, of numbers or symbols


def _refined(s: Any, x: Any, y: Any, steps: int, lookup: Callable[[Any], tuple[Any, Any, Any]]) -> Any:
    """Steps of Newton's method towards the nearest point."""
    for _ in range(steps):
        ahead, first, second = lookup(s)
        s = s + _newton(ahead, first, second, x, y)
    return s


def _newton(ahead: Any, px: Sequence[Any], py: Sequence[Any], x: Any, y: Any) -> Any:
    """The step for (x − X) X′ + (y − Y) Y′ = 0, the coordinates of a cell being polynomials."""
    dx, dy = x - _horner(px, ahead), y - _horner(py, ahead)
    first = _derivative(px), _derivative(py)
    tx, ty = (_horner(row, ahead) for row in first)
    bx, by = (_horner(_derivative(row), ahead) for row in first)
    return (dx * tx + dy * ty) / _at_least(tx * tx + ty * ty - dx * bx - dy * by)


def _at_least(steep: Any) -> Any:
    if isinstance(steep, np.ndarray | float):
        return np.maximum(steep, _LEAST)
    import casadi as ca

    return ca.fmax(steep, _LEAST)


def _horner(coefficients: Sequence[Any], step: Any) -> Any:
    value = coefficients[-1]
    for coefficient in reversed(coefficients[:-1]):
        value = coefficient + step * value
    return value


def _derivative(coefficients: Sequence[Any]) -> list[Any]:
    return [k * c for k, c in enumerate(coefficients)][1:]


def _shifted(coefficients: Sequence[Any], step: Any) -> list[Any]:
    """The coefficients of the polynomial about another point (Horner's scheme)."""
    found = list(coefficients)
    for begin in range(len(found) - 1):
        for k in range(len(found) - 2, begin - 1, -1):
            found[k] = found[k] + step * found[k + 1]
    return found
