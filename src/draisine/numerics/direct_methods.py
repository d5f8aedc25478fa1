"""Direct collocation: states and controls at points of a mesh, tied by the defects of a scheme.

Time is counted from 0 to 1; the duration multiplies the rates. The rows of every scheme are linear in states x and rates F:

    Radau, Gauss:      Σ D_jk x_k − h F_j = 0;   Gauss also x⁺ = x + h Σ b_j F_j
    trapezoidal:       x⁺ − x − h/2 (F + F⁺) = 0
    Hermite–Simpson:   x_m − (x + x⁺)/2 − h/8 (F − F⁺) = 0,   x⁺ − x − h/6 (F + 4 F_m + F⁺) = 0
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from draisine.errors import ArgumentError
from draisine.numerics.runge_kutta import gauss_nodes, lagrange, lagrange_derivatives, quadrature, radau_nodes

Reals = NDArray[np.float64]
Indices = NDArray[np.int64]
Scheme = Literal["radau", "gauss", "hermite-simpson", "trapezoidal"]


@dataclass(frozen=True)
class Collocation:
    """`degree` counts collocation points per interval of Radau (order 2 d − 1) and Gauss (order 2 d) schemes.

    `intervals` is their number, or the points between them from 0 to 1. With `held` the controls are constant in each interval.

    >>> Collocation("trapezoidal", intervals=4).grid.breaks.tolist()
    [0.0, 0.25, 0.5, 0.75, 1.0]
    """

    scheme: Scheme = "radau"
    degree: int = 3
    intervals: int | tuple[float, ...] = 60
    held: bool = False

    def __post_init__(self) -> None:
        if self.scheme not in get_args(Scheme):
            raise ArgumentError(f"Collocation: scheme {self.scheme!r} is unknown; choose one of {', '.join(get_args(Scheme))}")
        if not 1 <= self.degree <= 12:
            raise ArgumentError(f"Collocation: degree counts points per interval, from 1 to 12, got {self.degree!r}")
        check_breaks("Collocation", self.intervals)

    @cached_property
    def grid(self) -> Grid:
        breaks = breaks_of(self.intervals)
        if self.scheme in ("radau", "gauss"):
            return _polynomial(breaks, self.degree, self.scheme == "radau", self.held)
        return _local(breaks, self.scheme == "hermite-simpson", self.held)

    def on(self, breaks: Reals) -> Collocation:
        """The same scheme on another mesh."""
        return replace(self, intervals=tuple(float(b) for b in breaks))

    @property
    def order(self) -> int:
        """Of the states at the ends of intervals."""
        fixed = {"hermite-simpson": 4, "trapezoidal": 2, "radau": 2 * self.degree - 1, "gauss": 2 * self.degree}
        return fixed[self.scheme]


def check_breaks(who: str, intervals: int | Sequence[float]) -> None:
    if isinstance(intervals, int):
        if intervals < 1:
            raise ArgumentError(f"{who}: at least one interval is needed, got {intervals!r}")
        return
    breaks = np.asarray(intervals, dtype=float)
    if breaks.ndim != 1 or len(breaks) < 2 or breaks[0] != 0.0 or breaks[-1] != 1.0 or not (np.diff(breaks) > 0).all():
        raise ArgumentError(f"{who}: intervals is a number, or the points between them, increasing from 0 to 1")


def breaks_of(intervals: int | Sequence[float]) -> Reals:
    return np.linspace(0.0, 1.0, intervals + 1) if isinstance(intervals, int) else np.asarray(intervals, dtype=float)


@dataclass(frozen=True, eq=False)
class Grid:
    """Where states, rates and controls live in [0, 1], and the rows between them.

    A row is given for one state and holds for each: coefficients of states at points (`linear`) and of rates at nodes (`rates`).
    """

    breaks: Reals
    points: Reals  # where states are
    node_point: Indices  # the point of each node; at nodes rates are taken
    node_control: Indices  # its control
    control_times: Reals
    linear: tuple[Indices, Indices, Reals]  # row, point, coefficient
    rates: tuple[Indices, Indices, Reals]  # row, node, coefficient
    weights: Reals  # quadrature over the nodes
    point_local: Reals  # of an interval's points, in [0, 1]
    point_of: Indices  # (intervals, points of one)
    control_local: Reals
    control_of: Indices  # (intervals, controls of one)
    node_of: Indices  # (intervals, nodes of one)
    node_local: Reals
    hermite: bool  # states between points by values and rates at the ends, otherwise by the polynomial through the points
    start_node: int | None
    end_node: int | None

    @property
    def nodes(self) -> Reals:
        return self.points[self.node_point]

    @property
    def rows(self) -> int:
        return int(self.linear[0].max()) + 1

    @property
    def row_times(self) -> Reals:
        """The latest point that each row speaks of."""
        times = np.zeros(self.rows)
        np.maximum.at(times, self.linear[0], self.points[self.linear[1]])
        return times

    def place(self, tau: Reals) -> tuple[Indices, Reals]:
        """Interval, and place in it from 0 to 1."""
        k = np.clip(np.searchsorted(self.breaks, tau, side="right") - 1, 0, len(self.breaks) - 2)
        return k, (tau - self.breaks[k]) / (self.breaks[k + 1] - self.breaks[k])

    def controls_at(self, tau: Reals, values: Reals) -> Reals:
        """Controls between their points; values (controls, n)."""
        k, s = self.place(tau)
        return np.einsum("ij,ijn->in", lagrange(self.control_local, s), values[self.control_of[k]])

    def states_at(self, tau: Reals, values: Reals, rates: Reals) -> tuple[Reals, Reals]:
        """States and their slopes d/dτ between points, from values at points and rates at nodes."""
        k, s = self.place(tau)
        h = np.diff(self.breaks)[k][:, None]
        if not self.hermite:
            local = values[self.point_of[k]]
            value = np.einsum("ij,ijn->in", lagrange(self.point_local, s), local)
            return value, np.einsum("ij,ijn->in", lagrange_derivatives(self.point_local, s), local) / h
        one, other = values[self.point_of[k, 0]], values[self.point_of[k, -1]]
        begin, end = h * rates[self.node_of[k, 0]], h * rates[self.node_of[k, -1]]
        s = s[:, None]
        value = one + s * begin + s**2 * (3 * (other - one) - 2 * begin - end) + s**3 * (2 * (one - other) + begin + end)
        slope = begin + 2 * s * (3 * (other - one) - 2 * begin - end) + 3 * s**2 * (2 * (one - other) + begin + end)
        return value, slope / h


# -------------------------------------------------------------------------------------------------------- schemes


def _polynomial(breaks: Reals, degree: int, radau: bool, held: bool) -> Grid:
    """Radau or Gauss: the polynomial through the beginning of an interval and its nodes."""
    n, d = len(breaks) - 1, degree
    c = radau_nodes(d) if radau else gauss_nodes(d)
    local = np.concatenate([[0.0], c])
    derivative, b = lagrange_derivatives(local, c), quadrature(c)
    h, stride = np.diff(breaks), d if radau else d + 1
    first = np.arange(n) * stride
    point_of = first[:, None] + np.arange(d + 1)
    points = np.empty(n * stride + 1)
    points[point_of] = breaks[:-1, None] + h[:, None] * local
    points[first], points[-1] = breaks[:-1], breaks[-1]
    node_of = np.arange(n * d).reshape(n, d)
    row = (np.arange(n)[:, None] * stride + np.arange(d)).ravel()  # Gauss has one more row per interval
    linear = [(np.repeat(row, d + 1), np.repeat(point_of, d, axis=0).ravel(), np.tile(derivative.ravel(), n))]
    rates = [(row, node_of.ravel(), -np.repeat(h, d))]
    if not radau:
        end = np.arange(n) * stride + d
        linear += [(end, first + stride, np.ones(n)), (end, first, -np.ones(n))]
        rates += [(np.repeat(end, d), node_of.ravel(), -(h[:, None] * b).ravel())]
    node_control, times, control_local, control_of = _controls(breaks, points[point_of[:, 1:]].ravel(), node_of, c, held)
    return Grid(
        breaks,
        points,
        point_of[:, 1:].ravel(),
        node_control,
        times,
        _joined(linear),
        _joined(rates),
        (h[:, None] * b).ravel(),
        local,
        point_of,
        control_local,
        control_of,
        node_of,
        c,
        False,
        None,
        n * d - 1 if radau else None,
    )


def _local(breaks: Reals, simpson: bool, held: bool) -> Grid:
    """Hermite–Simpson or trapezoidal: nodes at the points, those between intervals shared."""
    n, h = len(breaks) - 1, np.diff(breaks)
    stride = 2 if simpson else 1
    local = np.linspace(0.0, 1.0, stride + 1)
    point_of = np.arange(n)[:, None] * stride + np.arange(stride + 1)
    points = np.empty(n * stride + 1)
    points[point_of] = breaks[:-1, None] + h[:, None] * local
    points[::stride] = breaks
    begin, middle, end = point_of[:, 0], point_of[:, 1], point_of[:, -1]
    row, one = np.arange(n) * stride, np.ones(n)
    weights = np.zeros(len(points))
    linear = [(row, end, one), (row, begin, -one)]
    if simpson:
        rates = [(row, begin, -h / 6), (row, middle, -4 * h / 6), (row, end, -h / 6)]
        linear += [(row + 1, middle, one), (row + 1, begin, -one / 2), (row + 1, end, -one / 2)]
        rates += [(row + 1, begin, -h / 8), (row + 1, end, h / 8)]
        shares: list[tuple[Indices, float]] = [(begin, 1 / 6), (middle, 4 / 6), (end, 1 / 6)]
    else:
        rates = [(row, begin, -h / 2), (row, end, -h / 2)]
        shares = [(begin, 1 / 2), (end, 1 / 2)]
    for where, share in shares:
        np.add.at(weights, where, share * h)
    if held:
        raise ArgumentError(
            "Collocation: controls held in each interval need scheme 'radau' or 'gauss', whose nodes lie in one interval"
        )
    nodes = np.arange(len(points))
    return Grid(
        breaks,
        points,
        nodes,
        nodes,
        points,
        _joined(linear),
        _joined(rates),
        weights,
        local,
        point_of,
        local,
        point_of,
        point_of,
        local,
        True,
        0,
        len(points) - 1,
    )


def _controls(breaks: Reals, times: Reals, node_of: Indices, c: Reals, held: bool) -> tuple[Indices, Reals, Reals, Indices]:
    n, d = node_of.shape
    if held:
        return np.repeat(np.arange(n), d), breaks[:-1], np.zeros(1), np.arange(n)[:, None]
    return np.arange(n * d), times, c, node_of


def _joined(parts: Sequence[tuple[Indices, Indices, Reals]]) -> tuple[Indices, Indices, Reals]:
    a, b, c = (np.concatenate(column) for column in zip(*parts, strict=True))
    return a, b, c
