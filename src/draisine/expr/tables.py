"""Tabulated functions of one and two variables, as call nodes of a program.

A `Table` interpolates values on a grid: linearly, or by cubic splines with *natural* ends (second derivative zero). Called on
symbols it creates one call node. The callee is a CasADi function that contains the values, so that CasADi's interpreter and C
export, draisine's interpreter and the compiled code all use the same data, and the digest of the program covers them.
Derivatives are exact: tables up to the second order, differentiated by CasADi beyond it.

Outside the grid the extrapolation is linear ("slope") or constant ("hold"). A natural spline with linear extrapolation has two
continuous derivatives everywhere. At a knot, a discontinuous derivative has its right-hand value.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from draisine.errors import ArgumentError, ModelError

if TYPE_CHECKING:
    import casadi as ca

Kind = Literal["linear", "spline"]
Outside = Literal["slope", "hold"]
Array = NDArray[np.float64]

_NAME = re.compile(r"(?!(?:null|jac|hess)$)[A-Za-z](?:_?[A-Za-z0-9])*_?")  # of a CasADi function
_DERIVATIVE = re.compile(r"_d[0-9]+$")
_NEAREST = re.compile(r"_foot$")  # of callees of paths
_HIGHEST_CALL = 2  # derivatives up to this total order are calls of tables; beyond it CasADi differentiates the cells


@dataclass(frozen=True, eq=False)
class Table:
    """A function of one or two variables given by numbers on a grid.

    `knots` is one increasing sequence, or a pair of them; `values` has one entry per knot, or one row per knot of the first axis
    and one column per knot of the second.

    >>> import casadi as ca
    >>> torque = Table("torque", (0.0, 1.0, 3.0), (0.0, 10.0, 0.0))
    >>> float(torque.at(2.0)), float(torque.at(4.0))
    (5.0, -5.0)
    >>> x = ca.SX.sym("x")
    >>> float(ca.evalf(ca.substitute(ca.jacobian(torque(x), x), x, 2.0)))
    -5.0
    """

    name: str
    knots: Any
    values: Any
    kind: Kind = "linear"
    outside: Outside = "slope"

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise ModelError(
                f"table {self.name!r}: the name must be a letter, followed by letters, digits and single underscores"
            )
        if _DERIVATIVE.search(self.name):
            raise ModelError(
                f"table {self.name!r}: names that end in _d and a number are those of derivatives of tables; rename it"
            )
        if ending := _NEAREST.search(self.name):
            raise ModelError(f"table {self.name!r}: names that end in {ending[0]} are those of paths; rename it")
        self._check_choice("kind", self.kind, get_args(Kind))
        self._check_choice("outside", self.outside, get_args(Outside))
        axes = self.knots if isinstance(self.knots, Sequence) and any(np.ndim(k) for k in self.knots) else (self.knots,)
        knots = tuple(self._numbers("knots", axis) for axis in axes)
        values = self._numbers("values", self.values)
        if len(knots) not in (1, 2):
            raise ModelError(f"table {self.name!r}: {len(knots)} axes of knots given; one or two are supported")
        for which, axis in zip(("first ", "second "), knots, strict=False):
            self._check_axis(which if len(knots) == 2 else "", axis)
        shape = tuple(axis.size for axis in knots)
        if values.shape != shape:
            raise ModelError(f"table {self.name!r}: values have shape {values.shape}, expected {shape} from the knots")
        object.__setattr__(self, "knots", knots)
        object.__setattr__(self, "values", values)

    def __call__(self, *arguments: Any) -> ca.SX:
        """The value of the table as a call node, for symbols; applied elementwise to columns."""
        import casadi as ca

        if len(arguments) != len(self.knots):
            raise ArgumentError(f"table {self.name!r} takes {len(self.knots)} arguments, got {len(arguments)}")
        columns = [ca.densify(ca.SX(a)) for a in arguments]
        shape = max((c.shape for c in columns), key=lambda s: s[0] * s[1])
        columns = [c if c.shape == shape else ca.repmat(c, *shape) for c in columns]
        entries = [self.function(*(c.nz[k] for c in columns)) for k in range(columns[0].numel())]
        return ca.reshape(ca.vertcat(*entries), *shape)

    def at(self, *points: ArrayLike, orders: tuple[int, ...] | None = None) -> Array:
        """Numerical evaluation: the value, or the derivative of the given order in each variable, at arrays of points."""
        if len(points) != len(self.knots):
            raise ArgumentError(f"table {self.name!r} takes {len(self.knots)} arguments, got {len(points)}")
        cells = self._cells.derivative(orders or (0,) * len(self.knots))
        arrays = np.broadcast_arrays(*(np.asarray(p, dtype=float) for p in points))
        where = tuple(np.searchsorted(axis, p, side="right") for axis, p in zip(self.knots, arrays, strict=True))
        steps = [p - origin[w] for origin, p, w in zip(cells.origins, arrays, where, strict=True)]
        powers = [
            np.stack([s**a for a in range(n)], -1) for s, n in zip(steps, cells.coefficients.shape[len(steps) :], strict=True)
        ]
        if len(powers) == 1:
            return np.asarray(np.einsum("...a,...a->...", cells.coefficients[where], powers[0]))
        return np.asarray(np.einsum("...ab,...a,...b->...", cells.coefficients[where], *powers))

    @cached_property
    def function(self) -> ca.Function:
        """The CasADi function, with its derivatives."""
        return _callee(self.name, self._cells, (0,) * len(self.knots), {})

    @cached_property
    def _cells(self) -> _Cells:
        coefficients = self.values
        for number in range(len(self.knots)):
            axis = self.knots[number]
            pieces = _pieces(axis, np.moveaxis(coefficients, number, 0), self.kind, self.outside)  # (cell, power, …)
            coefficients = np.moveaxis(np.moveaxis(pieces, 1, -1), 0, number)
        return _Cells(self.knots, tuple(np.concatenate([axis[:1], axis]) for axis in self.knots), coefficients)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Table) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    @property
    def _key(self) -> tuple[Any, ...]:
        return (self.name, tuple(k.tobytes() for k in self.knots), self.values.tobytes(), self.kind, self.outside)

    # ---------------------------------------------------------------- checks

    def _check_choice(self, what: str, given: str, possible: Iterable[str]) -> None:
        if given not in possible:
            raise ModelError(f"table {self.name!r}: {what} {given!r} is unknown; choose one of {', '.join(map(repr, possible))}")

    def _numbers(self, what: str, given: Any) -> Array:
        try:
            array = np.array(given, dtype=float)
        except (TypeError, ValueError):
            raise ModelError(f"table {self.name!r}: {what} must be numbers, in rows of equal length") from None
        if not np.isfinite(array).all():
            where = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
            raise ModelError(f"table {self.name!r}: {what} must be finite, found {array[where]} at entry {where}")
        array.flags.writeable = False
        return array

    def _check_axis(self, which: str, axis: Array) -> None:
        if axis.ndim != 1 or axis.size < 2:
            raise ModelError(
                f"table {self.name!r}: the {which}knots must be a sequence of two numbers or more, got shape {axis.shape}"
            )
        steps = np.diff(axis)
        if not (steps > 0.0).all():
            k = int(np.argmax(steps <= 0.0))
            raise ModelError(
                f"table {self.name!r}: the {which}knots must increase, but {axis[k]:g} is followed by {axis[k + 1]:g}; "
                "sort them and remove duplicates"
            )


# ------------------------------------------------------------------------------------------------ piecewise polynomials


class _Cells(NamedTuple):
    """Polynomials in (x − origin), one per cell. The first and last cells of an axis are the extrapolation."""

    knots: tuple[Array, ...]
    origins: tuple[Array, ...]
    coefficients: Array  # (cell, …, power, …), as many cell axes as power axes

    def derivative(self, orders: Sequence[int]) -> _Cells:
        coefficients, axes = self.coefficients, len(self.knots)
        for number, order in enumerate(orders):
            for _ in range(order):
                last = np.moveaxis(coefficients, axes + number, -1)
                last = last[..., 1:] * np.arange(1, last.shape[-1]) if last.shape[-1] > 1 else np.zeros_like(last)
                coefficients = np.moveaxis(last, -1, axes + number)
        return _Cells(self.knots, self.origins, coefficients)


def _pieces(x: Array, y: Array, kind: Kind, outside: Outside) -> Array:
    """Coefficients (cell, power, …) along the first axis of y, including the two cells of the extrapolation."""
    steps = np.diff(x).reshape((-1,) + (1,) * (y.ndim - 1))
    chords = np.diff(y, axis=0) / steps
    if kind == "linear":
        inner = np.stack([y[:-1], chords], 1)
        edges = chords[0], chords[-1]
    else:
        m = _natural_moments(np.diff(x), chords)
        inner = np.stack([y[:-1], chords - steps * (2 * m[:-1] + m[1:]) / 6, m[:-1] / 2, (m[1:] - m[:-1]) / (6 * steps)], 1)
        edges = inner[0, 1], chords[-1] + steps[-1] * (m[-2] + 2 * m[-1]) / 6
    pieces = np.zeros((x.size + 1, *inner.shape[1:]))
    pieces[1:-1] = inner
    for cell, end, slope in zip((0, -1), (y[0], y[-1]), edges, strict=True):
        pieces[cell, 0] = end
        pieces[cell, 1] = slope if outside == "slope" else 0.0
    return pieces


def _natural_moments(h: Array, chords: Array) -> Array:
    """Second derivatives at the knots: h₋ m₋ + 2 (h₋ + h₊) m + h₊ m₊ = 6 (chord₊ − chord₋), zero at both ends."""
    m = np.zeros((h.size + 1, *chords.shape[1:]))
    n = h.size - 1
    if n == 0:
        return m
    right = 6.0 * np.diff(chords, axis=0)
    diagonal = 2.0 * (h[:-1] + h[1:])
    for k in range(1, n):  # diagonally dominant: elimination without pivoting
        factor = h[k] / diagonal[k - 1]
        diagonal[k] -= factor * h[k]
        right[k] -= factor * right[k - 1]
    m[n] = right[n - 1] / diagonal[n - 1]
    for k in range(n - 1, 0, -1):
        m[k] = (right[k - 1] - h[k] * m[k + 1]) / diagonal[k - 1]
    return m


# ------------------------------------------------------------------------------------------------------- call nodes


def _callee(name: str, cells: _Cells, orders: tuple[int, ...], known: dict[tuple[int, ...], ca.Function]) -> ca.Function:
    """The function of the derivative of the given orders; `known` shares mixed derivatives, which are reached in two ways."""
    import casadi as ca

    if orders in known:
        return known[orders]
    x = [ca.MX.sym(f"x{k}") for k in range(len(orders))]
    called = name + "".join(f"_d{order}" for order in orders if any(orders))
    inputs, output = [s.name() for s in x], "value"
    options: dict[str, Any] = {"never_inline": True}
    if sum(orders) < _HIGHEST_CALL:
        higher_orders = [tuple(o + (k == j) for k, o in enumerate(orders)) for j in range(len(orders))]
        derivatives = [_callee(name, cells, higher, known)(*x) for higher in higher_orders]
        jacobian = ca.Function(
            f"jac_{called}",
            [*x, ca.MX(1, 1)],
            derivatives,
            [*inputs, f"out_{output}"],
            [f"jac_{output}_{i}" for i in inputs],
            {"always_inline": True},
        )
        options |= {"custom_jacobian": jacobian, "enable_forward": False, "enable_reverse": False}
    known[orders] = ca.Function(called, x, [_lookup(cells.derivative(orders), x)], inputs, [output], options)
    return known[orders]


def _lookup(cells: _Cells, x: Sequence[ca.MX]) -> ca.MX:
    """Find the cell, fetch its coefficients, evaluate by Horner's rule: scalar operations and lookups only."""
    import casadi as ca

    axes = len(x)
    powers = cells.coefficients.shape[axes:]
    data = ca.MX(ca.DM(cells.coefficients.reshape(-1)))
    offset, steps = ca.MX(0), []
    for axis, origin, at in zip(cells.knots, cells.origins, x, strict=True):
        span = axis[-1] - axis[0]
        # `low` clamps at both ends: with one more entry on either side, the extrapolation is a cell.
        cell = ca.low(ca.DM(np.concatenate([[axis[0] - span], axis, [axis[-1] + span]])), at)
        offset = offset * origin.size + cell
        steps.append(at - ca.MX(ca.DM(origin))[cell])
    offset = offset * int(np.prod(powers))
    entries = {index: data[offset + k] for k, index in enumerate(product(*(range(n) for n in powers)))}
    rows = [entries[index] for index in entries]
    for step, count in zip(reversed(steps), reversed(powers), strict=True):
        rows = [_horner(rows[k : k + count], step) for k in range(0, len(rows), count)]
    return rows[0]


def _horner(coefficients: Sequence[ca.MX], step: ca.MX) -> ca.MX:
    value = coefficients[-1]
    for coefficient in reversed(coefficients[:-1]):
        value = coefficient + step * value
    return value
