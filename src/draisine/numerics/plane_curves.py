"""Plane curves by their arc length: quintic pieces from a curve in any parameter or from its curvature, and their reach.

A curve is stored as one polynomial of degree five per cell of its arc length, with position, unit tangent and curvature of the
given curve at all knots, as many of them as an accuracy needs. The *reach* (Federer 1959) is the distance up to which every point
beside the curve has one nearest point on it: the least of all radii of curvature and of half the width of all bottlenecks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from draisine.errors import ArgumentError
from draisine.numerics.runge_kutta import gauss_nodes, gauss_weights

Array = NDArray[np.float64]
Parametrized = Callable[[Array], tuple[Array, Array, Array]]  # parameters → positions, first and second derivatives, each (2, n)

ACCURACY = 1e-11  # of positions between knots, relative to the larger of the curve's length over 100 and 1
MOST_CELLS = 20_000
_POINTS = 10  # of Gauss's rule
_TURNS_BY = 0.5  # rad, by which a run-out turns at most
_SAMPLES = 1500  # of the curve, for its reach


class CurveData(NamedTuple):
    """Position, unit tangent and curvature vector at arc lengths: (n,), and (2, n) each."""

    s: Array
    position: Array
    tangent: Array
    curvature: Array


@dataclass(frozen=True, eq=False)
class PlaneCurve:
    """A curve of arc length s between `knots[0]` and `knots[-1]`: coefficients (2, cell, 6) of powers of s − knot."""

    knots: Array
    coefficients: Array

    def at(self, s: Array | float, order: int = 0) -> Array:
        """Position (2, …), or its derivative by s of that order; beyond the ends the last polynomials go on."""
        s = np.asarray(s, dtype=float)
        cell = np.clip(np.searchsorted(self.knots, s, side="right") - 1, 0, self.knots.size - 2)
        powers = self.coefficients[:, cell]  # (2, …, 6)
        for _ in range(order):
            powers = powers[..., 1:] * np.arange(1, powers.shape[-1])
        value = powers[..., -1]
        for k in range(powers.shape[-1] - 2, -1, -1):
            value = powers[..., k] + (s - self.knots[cell]) * value
        return np.asarray(value)

    def curvature(self, s: Array | float) -> Array:
        """Curvature, positive to the left."""
        (dx, dy), (ddx, ddy) = self.at(s, 1), self.at(s, 2)
        return np.asarray((dx * ddy - dy * ddx) / np.hypot(dx, dy) ** 3)

    def heading(self, s: Array | float) -> Array:
        dx, dy = self.at(s, 1)
        return np.asarray(np.arctan2(dy, dx))

    @cached_property
    def samples(self) -> Array:
        """Arc lengths for distances between parts of the curve: in every cell, and no farther apart than its length over 1500."""
        spacing = (self.knots[-1] - self.knots[0]) / _SAMPLES
        cells = [
            np.linspace(a, b, max(2, int(np.ceil((b - a) / spacing))), endpoint=False)
            for a, b in zip(self.knots[:-1], self.knots[1:], strict=True)
        ]
        return np.concatenate([*cells, self.knots[-1:]])


# ------------------------------------------------------------------------------------------------ construction


def from_parameter(curve: Parametrized, breaks: Sequence[float]) -> tuple[PlaneCurve, Array]:
    """The curve of a parameter that goes through `breaks`, between which it is smooth; and the arc lengths of the breaks."""
    edges, arc = _arc_length(curve, np.asarray(breaks, dtype=float))
    whole = float(arc[-1])

    def data(s: Array) -> CurveData:
        u = _parameter_at(curve, edges, arc, s)
        position, first, second = curve(u)
        speed = np.hypot(*first)
        with np.errstate(divide="ignore", invalid="ignore"):  # a cusp, which `_fitted` refuses
            bend = (first[0] * second[1] - first[1] * second[0]) / speed**3
            tangent = first / speed
        return CurveData(s, position, tangent, bend * np.stack([-tangent[1], tangent[0]]))

    stations = arc[np.searchsorted(edges, np.asarray(breaks, dtype=float))]
    stations[-1] = whole
    return _fitted(data, stations), stations


def from_curvature(
    lengths: Sequence[float], curvatures: Sequence[tuple[float, float]], start: tuple[float, float], heading: float
) -> tuple[PlaneCurve, Array]:
    """The curve of pieces with linear curvature: straight lines, arcs and clothoids, one after the other."""
    stations = np.concatenate([[0.0], np.cumsum(lengths)])
    ends = np.asarray(curvatures, dtype=float)
    rates = (ends[:, 1] - ends[:, 0]) / np.asarray(lengths)
    angles = heading + np.concatenate([[0.0], np.cumsum(ends.mean(axis=1) * np.asarray(lengths))])
    nodes, weights = gauss_nodes(_POINTS), gauss_weights(_POINTS)

    def directed(piece: NDArray[np.intp], ahead: Array) -> tuple[Array, Array]:
        """Heading and curvature at a distance ahead of the beginning of a piece."""
        return angles[piece] + ends[piece, 0] * ahead + rates[piece] * ahead**2 / 2, ends[piece, 0] + rates[piece] * ahead

    def moved(piece: NDArray[np.intp], begin: Array, end: Array) -> Array:
        """The way between two distances of a piece."""
        at = begin[:, None] + (end - begin)[:, None] * nodes
        angle, _ = directed(piece[:, None], at)
        return np.stack([(np.cos(angle) @ weights), (np.sin(angle) @ weights)]) * (end - begin)

    # positions at the ends of panels, over each of which the curve turns little
    turned = np.abs(ends).max(axis=1) * np.asarray(lengths)
    panels = [np.linspace(0.0, length, 2 + int(t / 0.5)) for length, t in zip(lengths, turned, strict=True)]
    owner = np.concatenate([np.full(p.size - 1, k) for k, p in enumerate(panels)])
    begins, panel_ends = np.concatenate([p[:-1] for p in panels]), np.concatenate([p[1:] for p in panels])
    steps = moved(owner, begins, panel_ends)
    corners = np.asarray(start, dtype=float)[:, None] + np.concatenate([np.zeros((2, 1)), np.cumsum(steps, axis=1)], axis=1)
    edges = np.concatenate([stations[owner] + begins, stations[-1:]])

    def data(s: Array) -> CurveData:
        panel = np.clip(np.searchsorted(edges, s, side="right") - 1, 0, owner.size - 1)
        piece = owner[panel]
        ahead = s - stations[piece]
        angle, bend = directed(piece, ahead)
        tangent = np.stack([np.cos(angle), np.sin(angle)])
        position = corners[:, panel] + moved(piece, begins[panel], ahead)
        return CurveData(s, position, tangent, bend * np.stack([-tangent[1], tangent[0]]))

    return _fitted(data, stations), stations


def with_run_outs(curve: PlaneCurve, beyond: float) -> PlaneCurve:
    """The curve, and at both ends a clothoid to curvature 0, which turns by half a radian at most, and a straight line."""
    before, behind = curve.knots[0], curve.knots[-1]
    parts: list[PlaneCurve] = []
    for end, sign in ((before, -1.0), (behind, 1.0)):
        (x, y), heading, bend = curve.at(end), float(curve.heading(end)), float(curve.curvature(end))
        lengths, ends = [beyond], [(0.0, 0.0)]
        if abs(bend) * beyond > 1e-12:
            easing = min(beyond, 2 * _TURNS_BY / abs(bend))
            lengths, ends = [easing, beyond], [(sign * bend, 0.0), (0.0, 0.0)]
        run_out, _ = from_curvature(lengths, ends, (float(x), float(y)), heading + (np.pi if sign < 0 else 0.0))
        parts.append(_reversed(run_out, end) if sign < 0 else PlaneCurve(run_out.knots + end, run_out.coefficients))
    knots = np.concatenate([parts[0].knots[:-1], curve.knots, parts[1].knots[1:]])
    return PlaneCurve(knots, np.concatenate([parts[0].coefficients, curve.coefficients, parts[1].coefficients], axis=1))


def with_overlap(curve: PlaneCurve, share: float = 0.1) -> PlaneCurve:
    """A closed curve with some of its other end before and behind it."""
    knots, length = curve.knots, curve.knots[-1] - curve.knots[0]
    before, behind = knots >= knots[-1] - share * length, knots <= knots[0] + share * length
    first, last = max(int(np.argmax(before)) - 1, 0), min(int(np.argmin(behind)), knots.size - 1)
    every = np.concatenate([knots[first:-1] - length, knots, knots[1 : last + 1] + length])
    parts = (curve.coefficients[:, first:], curve.coefficients, curve.coefficients[:, :last])
    return PlaneCurve(every, np.concatenate(parts, axis=1))


def _reversed(curve: PlaneCurve, end: float) -> PlaneCurve:
    """A curve that begins at `end` and goes backwards, as one that ends there."""
    steps = np.diff(curve.knots)[::-1]
    knots = end - curve.knots[::-1]
    shifted = curve.coefficients[:, ::-1].copy()
    binomial = [
        [1, 0, 0, 0, 0, 0],
        [1, 1, 0, 0, 0, 0],
        [1, 2, 1, 0, 0, 0],
        [1, 3, 3, 1, 0, 0],
        [1, 4, 6, 4, 1, 0],
        [1, 5, 10, 10, 5, 1],
    ]
    # c(h − δ) as a polynomial of δ
    found = np.zeros_like(shifted)
    for power in range(6):
        for k in range(power + 1):
            found[..., k] += shifted[..., power] * binomial[power][k] * steps ** (power - k) * (-1.0) ** k
    return PlaneCurve(knots, found)


def _fitted(data: Callable[[Array], CurveData], stations: Array) -> PlaneCurve:
    """Quintic pieces between stations, halved until they have the accuracy in the middle of cells."""
    allowed = ACCURACY * max(1.0, stations[-1] / 100)
    knots = np.concatenate([*(np.linspace(a, b, 3)[:-1] for a, b in pairwise(stations)), stations[-1:]])
    while knots.size <= MOST_CELLS:
        at_knots = data(knots)
        if not np.isfinite(at_knots.tangent).all():
            raise ArgumentError("the curve stands still or is not finite somewhere, at a corner or a cusp; give a smooth one")
        curve = PlaneCurve(knots, _quintics(at_knots))
        quarters = knots[:-1] + np.diff(knots) * np.array([[0.25], [0.5], [0.75]])
        exact = data(quarters.ravel())
        off = np.abs(curve.at(exact.s) - exact.position).max(axis=0)
        skew = np.abs(curve.at(exact.s, 1) - exact.tangent).max(axis=0) * np.tile(np.diff(knots), 3)
        rough = (np.maximum(off, skew).reshape(3, -1) > allowed).any(axis=0)
        if not rough.any():
            return curve
        knots = np.sort(np.concatenate([knots, (knots[:-1] + np.diff(knots) / 2)[rough]]))
    raise ArgumentError(f"a curve of {stations[-1]:g} m needs more than {MOST_CELLS} pieces; it is not smooth, or very long")


def _quintics(data: CurveData) -> Array:
    h = np.diff(data.s)
    p, t, k = data.position, data.tangent, data.curvature
    a = np.diff(p, axis=1) - t[:, :-1] * h - k[:, :-1] * h**2 / 2
    b = np.diff(t, axis=1) - k[:, :-1] * h
    c = np.diff(k, axis=1)
    third = 10 * a / h**3 - 4 * b / h**2 + c / (2 * h)
    fourth = -15 * a / h**4 + 7 * b / h**3 - c / h**2
    fifth = 6 * a / h**5 - 3 * b / h**4 + c / (2 * h**3)
    return np.stack([p[:, :-1], t[:, :-1], k[:, :-1] / 2, third, fourth, fifth], axis=-1)


def _arc_length(curve: Parametrized, breaks: Array) -> tuple[Array, Array]:
    """Parameters at the ends of panels, and the arc lengths up to them, to rounding."""
    edges = breaks
    for _ in range(14):
        lengths, halves = _panel_lengths(curve, edges), np.sort(np.concatenate([edges, (edges[:-1] + edges[1:]) / 2]))
        finer = _panel_lengths(curve, halves).reshape(-1, 2).sum(axis=1)
        if not np.isfinite(finer).all():
            raise ArgumentError(
                "the curve is not finite everywhere; look for a division by zero or the root of a negative number"
            )
        rough = np.abs(finer - lengths) > 1e-13 * finer.sum()
        if not rough.any():
            break
        edges = np.sort(np.concatenate([edges, ((edges[:-1] + edges[1:]) / 2)[rough]]))
    else:
        raise ArgumentError("the arc length of the curve does not converge; it has a corner or a cusp")
    if not (lengths > 0).all():
        raise ArgumentError("the curve stands still somewhere; give one that moves on with its parameter")
    return edges, np.concatenate([[0.0], np.cumsum(lengths)])


def _panel_lengths(curve: Parametrized, edges: Array, ends: Array | None = None) -> Array:
    begins, steps = (edges[:-1], np.diff(edges)) if ends is None else (edges, ends - edges)
    at = begins[:, None] + steps[:, None] * gauss_nodes(_POINTS)
    _, first, _ = curve(at.ravel())
    return np.asarray(np.hypot(*first).reshape(at.shape) @ gauss_weights(_POINTS) * steps)


def _parameter_at(curve: Parametrized, edges: Array, arc: Array, s: Array) -> Array:
    """The parameters of arc lengths: Newton's method from the chord of the panel, whose speed is the slope."""
    panel = np.clip(np.searchsorted(arc, s, side="right") - 1, 0, edges.size - 2)
    begin, end = edges[panel], edges[panel + 1]
    u = begin + (end - begin) * (s - arc[panel]) / (arc[panel + 1] - arc[panel])
    for _ in range(30):
        with np.errstate(divide="ignore", invalid="ignore"):  # a cusp, which `_fitted` refuses
            step = (s - arc[panel] - _panel_lengths(curve, begin, u)) / np.hypot(*curve(u)[1])
        u = np.clip(u + step, begin, end)
        if np.abs(step).max(initial=0.0) <= 1e-14 * (edges[-1] - edges[0]):
            break
    return u


# ------------------------------------------------------------------------------------------------ reach


class Reach(NamedTuple):
    """The distance up to which nearest points are unique, the arc lengths at which it is least, and whether the radius of
    curvature is the reason, so that both are one."""

    distance: float
    first: float
    second: float
    curved: bool


def reach_of(curve: PlaneCurve, length: float | None = None) -> Reach:
    """The reach of a curve, which closes if it has a `length`: of all circles that touch it at one sample and pass through
    another one, the least radius, |b − a|²/(2 |(b − a) × t|)."""
    s = curve.samples
    if length is not None:
        s = s[(s >= 0) & (s < length)]
    bend = np.abs(curve.curvature(s))
    sharpest = int(bend.argmax())
    best = Reach(float(1 / bend[sharpest]) if bend[sharpest] > 0 else np.inf, float(s[sharpest]), float(s[sharpest]), True)
    position, tangent = curve.at(s), curve.at(s, 1)
    spacing = float(np.diff(s).max())
    for k in range(s.size):
        away = position - position[:, [k]]
        apart = np.abs(s - s[k])
        apart = apart if length is None else np.minimum(apart, length - apart)
        aside = np.abs(away[0] * tangent[1, k] - away[1] * tangent[0, k])
        square = away[0] ** 2 + away[1] ** 2
        with np.errstate(divide="ignore", invalid="ignore"):
            radius = np.where((apart > 4 * spacing) & (square < 4 * best.distance * aside), square / (2 * aside), np.inf)
        radius[(square == 0) & (apart > 4 * spacing)] = 0.0
        near = int(radius.argmin())
        if radius[near] < 0.999 * best.distance:
            best = Reach(float(radius[near]), float(s[k]), float(s[near]), False)
    return best
