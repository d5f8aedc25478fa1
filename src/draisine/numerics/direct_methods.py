"""Direct methods on a mesh in time: collocation and multiple shooting, used by optimal control and by estimation.

Time is scaled to [0, 1]; the duration multiplies the rates. The rows of every collocation scheme are linear in states x and
rates F:

    Radau, Gauss:      Σ D_jk x_k − h F_j = 0;   Gauss also x⁺ = x + h Σ b_j F_j
    trapezoidal:       x⁺ − x − h/2 (F + F⁺) = 0
    Hermite–Simpson:   x_m − (x + x⁺)/2 − h/8 (F − F⁺) = 0,   x⁺ − x − h/6 (F + 4 F_m + F⁺) = 0
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from draisine.errors import ArgumentError
from draisine.numerics.number_range import refuse_large_count, with_number_range
from draisine.numerics.runge_kutta import gauss_nodes, lagrange, lagrange_derivatives, quadrature, radau_nodes

if TYPE_CHECKING:
    from draisine.simulation.methods.selection import Method

Reals = NDArray[np.float64]
Indices = NDArray[np.int64]
Scheme = Literal["radau", "gauss", "hermite-simpson", "trapezoidal"]

MOST_INTERVALS = 1_000_000
STEPS = 4  # of the classical Runge–Kutta method in an interval of optimal control


@with_number_range
@dataclass(frozen=True)
class Collocation:
    """Direct collocation: polynomials that satisfy the equations at the nodes of a scheme.

    - `degree`: collocation points per interval of Radau (order 2 d − 1) and Gauss (order 2 d) schemes.
    - `intervals`: their number, or the mesh points from 0 to 1.
    - `constant_controls`: whether controls are constant in each interval (optimal control); of a refined mesh, in which.

    >>> Collocation("trapezoidal", intervals=4).grid.breaks.tolist()
    [0.0, 0.25, 0.5, 0.75, 1.0]
    """

    scheme: Scheme = "radau"
    degree: int = 3
    intervals: int | tuple[float, ...] = 60
    constant_controls: bool | tuple[bool, ...] = False

    def __post_init__(self) -> None:
        if self.scheme not in get_args(Scheme):
            raise ArgumentError(f"Collocation: scheme {self.scheme!r} is unknown; choose one of {', '.join(get_args(Scheme))}")
        if not 1 <= self.degree <= 12:
            raise ArgumentError(f"Collocation: degree is the number of points per interval, from 1 to 12, got {self.degree!r}")
        check_breaks("Collocation", self.intervals)
        count = len(breaks_of(self.intervals)) - 1
        if not isinstance(self.constant_controls, bool) and len(self.constant_controls) != count:
            raise ArgumentError(
                f"Collocation: constant_controls is True, False or one of them for each of the {count} intervals, got "
                f"{len(self.constant_controls)}"
            )

    @cached_property
    def grid(self) -> Grid:
        breaks = breaks_of(self.intervals)
        if self.scheme in ("radau", "gauss"):
            return _polynomial(breaks, self.degree, self.scheme == "radau", self.constant_controls)
        return _local(breaks, self.scheme == "hermite-simpson", self.constant_controls)

    def on(self, breaks: Reals, constant_controls: bool | tuple[bool, ...] | None = None) -> Collocation:
        """The same scheme on another mesh; `constant_controls` by interval, or as before."""
        constant = self.constant_controls is True if constant_controls is None else constant_controls
        return replace(self, intervals=tuple(float(b) for b in breaks), constant_controls=constant)

    @property
    def order(self) -> int:
        """Order of the states at the ends of intervals."""
        fixed = {"hermite-simpson": 4, "trapezoidal": 2, "radau": 2 * self.degree - 1, "gauss": 2 * self.degree}
        return fixed[self.scheme]


@with_number_range
@dataclass(frozen=True)
class MultipleShooting:
    """Multiple shooting: each interval has an initial state of its own, joined to the interval before by continuity.

    - `intervals`: their number, or the mesh points from 0 to 1.

    For optimal control, where controls are constant in each interval:

    - `steps`: of the classical Runge–Kutta method in each interval (default 4).

    For estimation:

    - `window`: length of an interval in seconds, in place of `intervals`.
    - `known_start`: whether the whole start of each experiment is exact (True) or an initial guess (False); by default what is
      given of it is kept.
    - `states`: names of states or outputs that parametrize the initial states; the others are chosen.
    - `spread`: by name, how far initial states may lie from their first guesses; it need not be exact.
    - `integration`: the integration method; chosen if not given.

    >>> MultipleShooting(intervals=2).grid.points.tolist()
    [0.0, 0.5, 1.0]
    """

    intervals: int | tuple[float, ...] = 60
    steps: int | None = None
    window: float | None = field(default=None, kw_only=True)
    known_start: bool | None = field(default=None, kw_only=True)
    states: tuple[str, ...] = field(default=(), kw_only=True)
    spread: Mapping[str, float] = field(default_factory=dict, kw_only=True)
    integration: Method | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        check_breaks("MultipleShooting", self.intervals)
        if self.steps is not None and self.steps < 1:
            raise ArgumentError(f"MultipleShooting: at least one step per interval is needed, got {self.steps!r}")
        refuse_large_count("MultipleShooting: steps", self.steps, MOST_INTERVALS)
        if self.window is not None and not self.window > 0.0:
            raise ArgumentError(f"MultipleShooting: window is a time in seconds, got {self.window!r}")

    @property
    def order(self) -> int:
        return 4

    def on(self, breaks: Reals) -> MultipleShooting:
        """The same steps on another mesh."""
        return replace(self, intervals=tuple(float(b) for b in breaks))

    @cached_property
    def grid(self) -> Grid:
        """States at the mesh points, controls constant in between."""
        breaks = breaks_of(self.intervals)
        n = len(breaks) - 1
        each = np.arange(n)
        point_of = np.stack([each, each + 1], axis=1)
        none = (np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64), np.zeros(0))
        return Grid(
            breaks=breaks,
            points=breaks,
            node_point=each,
            node_control=each,
            control_times=breaks[:-1],
            linear=(each, each + 1, np.ones(n)),
            rates=none,
            weights=np.diff(breaks),
            point_local=np.array([0.0, 1.0]),
            point_of=point_of,
            control_local=np.zeros(1),
            control_of=each[:, None],
            node_of=each[:, None],
            node_local=np.zeros(1),
            hermite=False,
            start_node=0,
            end_node=n - 1,
        )


def check_breaks(method: str, intervals: int | Sequence[float]) -> None:
    if isinstance(intervals, int):
        if intervals < 1:
            raise ArgumentError(f"{method}: at least one interval is needed, got {intervals!r}")
        refuse_large_count(f"{method}: intervals", intervals, MOST_INTERVALS)
        return
    breaks = np.asarray(intervals, dtype=float)
    if breaks.ndim != 1 or len(breaks) < 2 or breaks[0] != 0.0 or breaks[-1] != 1.0 or not (np.diff(breaks) > 0).all():
        raise ArgumentError(
            f"{method}: intervals is their number, or a sequence of mesh points that increases from 0 to 1, got {intervals!r}"
        )


def breaks_of(intervals: int | Sequence[float]) -> Reals:
    return np.linspace(0.0, 1.0, intervals + 1) if isinstance(intervals, int) else np.asarray(intervals, dtype=float)


@dataclass(frozen=True, eq=False)
class Grid:
    """Positions of states, rates and controls in [0, 1], and the rows that link them.

    A row is given for one state and holds for each: coefficients of states at points (`linear`) and of rates at nodes (`rates`).
    """

    breaks: Reals
    points: Reals  # of states
    node_point: Indices  # the point of each node; rates are evaluated at nodes
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
    hermite: bool  # cubic Hermite interpolation of states; otherwise the polynomial through the points
    start_node: int | None
    end_node: int | None

    @property
    def nodes(self) -> Reals:
        return self.points[self.node_point]

    @property
    def rows(self) -> int:
        return int(self.linear[0].max()) + 1

    @cached_property
    def edges(self) -> tuple[Indices, Indices, Indices]:
        """Interval, point and control of the edges of intervals with a constant control that are not nodes with that control.

        The control jumps there: what depends on it has two values, one of which no node has.
        """
        constant = np.flatnonzero((self.control_of == self.control_of[:, :1]).all(axis=1))
        interval = np.repeat(constant, 2)
        point = np.searchsorted(self.points, self.breaks)[interval + np.tile([0, 1], len(constant))]
        control = self.control_of[interval, 0]
        nodes = set(zip(self.node_point.tolist(), self.node_control.tolist(), strict=True))
        new = np.array([edge not in nodes for edge in zip(point.tolist(), control.tolist(), strict=True)], dtype=bool)
        return interval[new], point[new], control[new]

    def locate(self, tau: Reals) -> tuple[Indices, Reals]:
        """Index of the interval, and the position in it from 0 to 1."""
        k = np.clip(np.searchsorted(self.breaks, tau, side="right") - 1, 0, len(self.breaks) - 2)
        return k, (tau - self.breaks[k]) / (self.breaks[k + 1] - self.breaks[k])

    def controls_at(self, tau: Reals, values: Reals) -> Reals:
        """Controls between their points; values (controls, n)."""
        k, s = self.locate(tau)
        return np.einsum("ij,ijn->in", lagrange(self.control_local, s), values[self.control_of[k]])

    def states_at(self, tau: Reals, values: Reals, rates: Reals) -> tuple[Reals, Reals]:
        """States and their derivatives d/dτ between points, from values at points and rates at nodes."""
        k, s = self.locate(tau)
        h = np.diff(self.breaks)[k][:, None]
        if not self.hermite:
            local = values[self.point_of[k]]
            value = np.einsum("ij,ijn->in", lagrange(self.point_local, s), local)
            return value, np.einsum("ij,ijn->in", lagrange_derivatives(self.point_local, s), local) / h
        one, other = values[self.point_of[k, 0]], values[self.point_of[k, -1]]
        begin, end = h * rates[self.node_of[k, 0]], h * rates[self.node_of[k, -1]]
        s = s[:, None]
        value = one + s * begin + s**2 * (3 * (other - one) - 2 * begin - end) + s**3 * (2 * (one - other) + begin + end)
        derivative = begin + 2 * s * (3 * (other - one) - 2 * begin - end) + 3 * s**2 * (2 * (one - other) + begin + end)
        return value, derivative / h


# -------------------------------------------------------------------------------------------------------- schemes


def _polynomial(breaks: Reals, degree: int, radau: bool, constant_controls: bool | tuple[bool, ...]) -> Grid:
    """Radau or Gauss: the polynomial through the initial point of an interval and its nodes."""
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
    node_control, times, control_local, control_of = _controls(
        breaks, points[point_of[:, 1:]].ravel(), node_of, c, constant_controls
    )
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


def _local(breaks: Reals, simpson: bool, constant_controls: bool | tuple[bool, ...]) -> Grid:
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
    if constant_controls:
        raise ArgumentError(
            "Collocation: constant_controls=True needs scheme 'radau' or 'gauss', whose nodes lie inside intervals"
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


def _controls(
    breaks: Reals, times: Reals, node_of: Indices, c: Reals, constant_controls: bool | tuple[bool, ...]
) -> tuple[Indices, Reals, Reals, Indices]:
    n, d = node_of.shape
    if constant_controls is True:
        return np.repeat(np.arange(n), d), breaks[:-1], np.zeros(1), np.arange(n)[:, None]
    if constant_controls is False:
        return np.arange(n * d), times, c, node_of
    constant = np.array(constant_controls)
    counts = np.where(constant, 1, d)
    first = np.concatenate([[0], np.cumsum(counts)[:-1]])
    control_of = first[:, None] + np.where(constant[:, None], 0, np.arange(d))  # a constant one is the polynomial of equal values
    own = np.where(constant[:, None] & (np.arange(d) > 0), np.nan, times.reshape(n, d))
    own[constant, 0] = breaks[:-1][constant]
    return control_of.ravel(), own[~np.isnan(own)], c, control_of


def _joined(parts: Sequence[tuple[Indices, Indices, Reals]]) -> tuple[Indices, Indices, Reals]:
    a, b, c = (np.concatenate(column) for column in zip(*parts, strict=True))
    return a, b, c
