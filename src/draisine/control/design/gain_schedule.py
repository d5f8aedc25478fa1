"""Gain schedules: laws designed at several values of a quantity, interpolated by splines that are compiled."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from draisine.control.design.feedback import Feedback
from draisine.errors import ArgumentError
from draisine.expr.expression import Expr, Name, Number, clip, lt, where

Array = NDArray[np.float64]


def gain_schedule(design: Callable[[float], Feedback], over: Mapping[str, Sequence[float]]) -> Feedback:
    """One law from several: gains, references and feedforward as natural cubic splines of a quantity, limits linear between the
    nodes, all constant beyond its ends.

    - `design`: a function that returns the law for one value; `over`: the quantity with its values, the nodes.

    At the nodes it equals the law designed there. The quantity may be any state, output or parameter of the model.

    >>> import draisine as dr
    >>> bike = dr.gallery.bicycle()
    >>> def at(speed):
    ...     return dr.lqr(bike, {"speed": speed}, weights={"lean": 10.0, "steer": 1.0}, input_weights={"steer_torque": 0.1})
    >>> law = gain_schedule(at, over={"speed": [2.0, 3.0, 4.0]})
    >>> law.scheduled({"speed": 3.0}).round(6).tolist() == law.nodes[1].K.round(6).tolist()
    True
    """
    if len(over) != 1:
        raise ArgumentError(f"a schedule depends on one quantity, got {', '.join(over) or 'none'}: over={{'speed': [2, 3, 4]}}")
    ((name, given),) = over.items()
    knots = np.asarray(given, dtype=float)
    if knots.ndim != 1 or len(knots) < 2 or not np.all(np.diff(knots) > 0):
        shown = np.array2string(knots, threshold=6)
        raise ArgumentError(f"the nodes of {name!r} must be two or more increasing numbers, got {shown}")
    nodes = tuple(design(float(value)) for value in knots)
    first = nodes[0]
    for node, value in zip(nodes, knots, strict=True):
        if node.period != first.period:
            raise ArgumentError(f"{first.model}: at {name} = {value:g} the law has another period than at {knots[0]:g}")
        if node.states != first.states or node.controls != first.controls:
            raise ArgumentError(
                f"{first.model}: at {name} = {value:g} the law has the states {', '.join(node.states)}, at {knots[0]:g} "
                f"{', '.join(first.states)}; name the same states at every node: states=…"
            )
    inside = clip(Name(name), float(knots[0]), float(knots[-1]))

    def along(values: Sequence[Expr], what: str) -> Expr:
        if any(not isinstance(v, Number) for v in values):
            if all(v == values[0] for v in values):
                return values[0]
            raise ArgumentError(
                f"{first.model}: {what} depends on time, differently at every node; give references to the schedule"
            )
        return spline(inside, knots, np.array([v.value for v in values if isinstance(v, Number)]))

    gains = {u: {s: along([n.gains[u][s] for n in nodes], f"the gain of {s!r}") for s in first.states} for u in first.gains}
    reference = {s: along([n.reference[s] for n in nodes], f"the reference of {s!r}") for s in first.states}
    needed = dict.fromkeys(u for n in nodes for u in n.feedforward)
    feed = {u: along([n.feedforward.get(u, Number(0.0)) for n in nodes], f"the input {u!r}") for u in needed}
    limits = _limits(first.model, name, nodes, knots, inside)
    over_nodes = (name, tuple(knots.tolist()))
    return replace(first, gains=gains, reference=reference, feedforward=feed, limits=limits, nodes=nodes, over=over_nodes)


def _limits(model: str, name: str, nodes: Sequence[Feedback], knots: Array, inside: Expr) -> dict[str, tuple[Expr, Expr]]:
    """Limits of inputs between the nodes, linear, so that none is larger or smaller than at both of them."""
    found: dict[str, tuple[Expr, Expr]] = {}
    for u in dict.fromkeys(u for node in nodes for u in node.limits):
        for node, value in zip(nodes, knots, strict=True):
            if u not in node.limits:
                raise ArgumentError(
                    f"{model}: the law at {name} = {value:g} has no limits of {u!r}, others have; give them at every node"
                )
        edges = [[node.limits[u][side] for node in nodes] for side in (0, 1)]
        found[u] = (_polyline(inside, knots, edges[0]), _polyline(inside, knots, edges[1]))
    return found


def _polyline(x: Expr, knots: Array, values: Sequence[Expr]) -> Expr:
    """Straight lines through values at knots, as an expression."""
    numbers = [value.value if isinstance(value, Number) else float("nan") for value in values]
    if not np.isfinite(numbers).all():
        raise ArgumentError("limits at the nodes of a schedule must be finite numbers")
    if np.ptp(numbers) == 0.0:
        return Number(numbers[0])

    def piece(k: int) -> Expr:
        slope = (numbers[k + 1] - numbers[k]) / float(knots[k + 1] - knots[k])
        return (x - float(knots[k])) * slope + numbers[k]

    return _tree(x, knots, piece, 0, len(knots) - 1)


def spline(x: Expr, knots: Array, values: Array) -> Expr:
    """A natural cubic spline through values at knots, as an expression: a tree of comparisons, a cubic in each leaf."""
    from scipy.interpolate import CubicSpline

    if np.ptp(values) <= 1e-14 * max(float(np.abs(values).max()), 1e-300):
        return Number(float(values[0]))
    pieces = CubicSpline(knots, values, bc_type="natural").c  # (power, piece), highest power first

    def piece(k: int) -> Expr:
        step = x - float(knots[k])
        total: Expr = Number(float(pieces[0, k]))
        for coefficient in pieces[1:, k]:
            total = total * step + float(coefficient)
        return total

    return _tree(x, knots, piece, 0, len(knots) - 1)


def _tree(x: Expr, knots: Array, piece: Callable[[int], Expr], low: int, high: int) -> Expr:
    """The piece in whose interval x lies, by a tree of comparisons."""
    if high - low == 1:
        return piece(low)
    middle = (low + high) // 2
    return where(lt(x, float(knots[middle])), _tree(x, knots, piece, low, middle), _tree(x, knots, piece, middle, high))
