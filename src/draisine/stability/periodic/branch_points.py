"""Points of a branch of periodic motions, solved for along the branch: folds, where the parameter turns back, and values at which
multipliers pass the unit circle near a fold, where the motions are no function of the parameter.

The length s along the tangent at a motion determines the next ones, as in the continuation. At a fold dp/ds = 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from draisine.errors import ModelError, SolverError
from draisine.numerics.root_finding import bracketed_root
from draisine.stability.periodic.shooting import Shot, close_orbit, shoot

Array = NDArray[np.float64]

ROUNDS = 8
LEAST_SHARE = 1e-3  # of the way to a value of the parameter, in one step
ACCURACY = 1e-10  # of the motions, relative to their size
RESOLVED = 1e-9  # of a length, relative to that of the step
LEVEL = 1e-7  # slopes of the parameter below this on both sides are zero: a family at one value


def value_of(shot: Shot) -> float:
    """Of the parameter."""
    return float(shot.p[shot.flow.parameter_index])


def weights_of(begin: Shot) -> Array:
    """Of the unknowns in lengths, which are relative to values where these are larger than their change over a period."""
    sizes = np.concatenate([np.abs(node.values) / begin.flow.scales for node in begin.nodes])
    weights = np.ones(begin.unknowns)
    weights[: len(sizes)] = 1.0 / np.maximum(sizes, 1.0)
    return weights


def tangent_at(shot: Shot, weights: Array, along: Array) -> Array:
    """The unit tangent, oriented along a direction."""
    tangent = np.linalg.svd(np.vstack([shot.jacobian, shot.phase_row]))[2][-1]
    length = float(np.linalg.norm(weights * tangent))
    return np.asarray(tangent / (length if (weights**2 * tangent) @ along >= 0.0 else -length))


def at_length(begin: Shot, tangent: Array, weights: Array, length: float, accuracy: float, rounds: int) -> Shot:
    """The motion at a length along the tangent."""
    return close_orbit(begin.stepped(length * tangent), accuracy, rounds, (weights**2 * tangent)[None], np.zeros(1))


def _difference(before: Shot, after: Shot) -> Array:
    """Of the unknowns."""
    nodes = [(b.values - a.values) / before.flow.scales for a, b in zip(before.nodes, after.nodes, strict=True)]
    period = [np.log(after.period / before.period)] if before.conditions.autonomous else []
    return np.concatenate([*nodes, period, [(value_of(after) - value_of(before)) / before.flow.size]])


@dataclass(frozen=True, eq=False)
class Arc:
    """The branch between two neighboring motions."""

    before: Shot
    after: Shot
    weights: Array
    tangents: tuple[Array, Array]

    @property
    def turns(self) -> bool:
        """Whether the parameter turns back."""
        first, last = (float(t[-1]) for t in self.tangents)
        return first * last < 0.0 and max(abs(first), abs(last)) > LEVEL

    def slope(self, shot: Shot) -> float:
        """The change of the parameter along the branch."""
        return float(tangent_at(shot, self.weights, self.tangents[0])[-1])

    def solve(self, function: Callable[[Shot], float]) -> float | None:
        """The parameter where a function of the motion passes zero; None if the motions were not found."""
        length = float((self.weights**2 * self.tangents[0]) @ _difference(self.before, self.after))
        if not length > 0.0:
            return None

        def at(share: float) -> Shot:
            if share in (1.0, 2.0):
                return self.before if share == 1.0 else self.after
            return at_length(self.before, self.tangents[0], self.weights, (share - 1.0) * length, ACCURACY, ROUNDS)

        try:
            share = bracketed_root(lambda share: function(at(share)), 1.0, 2.0, rtol=RESOLVED)
            return value_of(at(share)) if np.isfinite(share) else None
        except (ModelError, SolverError):
            return None

    @property
    def fold(self) -> float:
        """The value at which the parameter turns back; by the cubic between the ends where it is not found."""
        found = self.solve(self.slope)
        if found is not None:
            return found
        first, last = (float(t[-1]) for t in self.tangents)
        share = first / (first - last)
        return value_of(self.before) + 0.5 * share * first * self.before.flow.size * float(
            np.linalg.norm(self.weights * _difference(self.before, self.after))
        )


def arcs_of(shots: Sequence[Shot]) -> list[Arc]:
    """The arcs of a branch, with tangents in its direction."""
    if len(shots) < 2:
        return []
    weights = weights_of(shots[0])
    tangents = [tangent_at(shots[0], weights, _difference(shots[0], shots[1]))]
    for shot in shots[1:]:
        tangents.append(tangent_at(shot, weights, tangents[-1]))
    return [Arc(shots[i], shots[i + 1], weights, (tangents[i], tangents[i + 1])) for i in range(len(shots) - 1)]


def at_value(near: Shot, value: float) -> Shot:
    """The motion of a family with a value of the parameter, from one nearby; in several steps where one fails."""
    now = near
    share = 1.0
    while (left := value - value_of(now)) != 0.0:
        try:
            found = _moved(now, share * left if share < 1.0 else left)
        except (ModelError, SolverError):
            share *= 0.5
            if share < LEAST_SHARE:
                raise
            continue
        if share == 1.0:
            p = found.p.copy()
            p[found.flow.parameter_index] = value  # without the rounding of sums
            return shoot(found.flow, found.conditions, list(found.nodes), found.period, p)
        now, share = found, min(1.0, 2.0 * share)
    return now


def _moved(now: Shot, change: float) -> Shot:
    """The motion with the parameter changed by an amount."""
    row = np.zeros((1, now.unknowns))
    row[0, -1] = 1.0
    begun = now.stepped(now.step(row, np.array([change / now.flow.size])))
    return close_orbit(begun, 1e-8, ROUNDS, row, np.zeros(1))


def crossed_minimum(function: Callable[[float], float], three: tuple[float, float, float], looks: int) -> float | None:
    """Where a function that is positive at three points, and least at the middle one, is negative between them, by parabolas
    through the least values; None if it is not, or its minimum is found.

    >>> round(crossed_minimum(lambda x: (x - 0.3) ** 2 - 1e-6, (-1.0, 0.4, 2.0), 12), 6)
    0.3
    >>> crossed_minimum(lambda x: (x - 0.3) ** 2 + 1e-6, (-1.0, 0.4, 2.0), 12) is None
    True
    """
    known = {x: function(x) for x in three}
    for _ in range(looks):
        a, b, c = _around_least(known)
        u, w = (b - a) * (known[b] - known[c]), (b - c) * (known[b] - known[a])
        span = c - a
        x = b - 0.5 * ((b - a) * u - (b - c) * w) / (u - w) if u != w else b
        if min(abs(x - one) for one in (a, b, c)) < 1e-3 * span:  # no new information: the larger side
            x = b + 0.1 * (c - b) if c - b > b - a else b - 0.1 * (b - a)
        if not a < x < c or min(abs(x - one) for one in known) < 1e-9 * span:
            return None
        known[x] = function(x)
        if not np.isfinite(known[x]):
            return None
        if known[x] < 0.0:
            return x
        if min(known.values()) > 0.0 and span < 1e-3 * (three[2] - three[0]):
            return None
    return None


def _around_least(known: dict[float, float]) -> tuple[float, float, float]:
    """The point with the least value and its neighbors."""
    places = sorted(known)
    i = min(max(min(range(len(places)), key=lambda k: known[places[k]]), 1), len(places) - 2)
    return places[i - 1], places[i], places[i + 1]
