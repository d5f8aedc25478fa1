"""Sizes of the quantities of a phase, from its statement, by which unknowns, rows and cost of the nonlinear program are scaled.

Start, end and bounds give the sizes of some states and controls. Those of the others follow from the equations ẏ = f, in each of
which the largest terms balance. A velocity whose displacement d is known has the size d/T, or √(d a) if the acceleration a
that drives it is known too. Without this, a tolerance would be an amount in meters, newtons and seconds, and the unit of a
quantity would decide whether a condition holds.

Mechanisms with constraints or algebraic unknowns are in SI units, and Jacobians at one configuration say little about them: what
nothing states has the size 1. Sizes that nothing states are rounded to 1 within `ORDINARY`: solvers do not feel the difference.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.float64]

ORDINARY = (1e-2, 1e4)  # sizes that count as 1: smaller ones come near tolerances, larger ones only sharpen them
ROUNDED = 1e-13  # of the largest size: below, a state is zero but for rounding
NEGLIGIBLE = 1e-10  # of the largest entry of a row of a Jacobian: below, an entry may be rounding
COMPUTED = 1e-6  # the same, in states that a solver made consistent with constraints
LEAST_SIZE = 1e-3  # of a size: the scale of a quantity that stays at zero, in errors and misses
MOST_BOUND = 1e3  # bounds of states that are wider say little about their sizes
LONGEST, SHORTEST = 1e12, 1e-12  # s, of estimated durations


@dataclass(frozen=True, eq=False)
class Sizes:
    """Sizes of a phase's quantities, 1 where neither statement nor equations say anything."""

    states: Reals  # kept
    algebraic: Reals
    controls: Reals
    path: Reals
    starts: Reals
    ends: Reals
    returns: Reals
    cost: float

    @property
    def smallest_state(self) -> float:
        """At most 1."""
        return float(self.states.min(initial=1.0))


def ordinary(size: float, otherwise: float = 1.0) -> float:
    """A size, or `otherwise` if the size is ordinary or unknown."""
    return otherwise if not (np.isfinite(size) and size > 0.0) or ORDINARY[0] <= size <= ORDINARY[1] else float(size)


class Samples:
    """Values and derivatives of expressions at points between the start and the end of a phase."""

    def __init__(self, unknowns: ca.SX, rest: Sequence[ca.SX], points: Reals, numbers: Sequence[Reals]) -> None:
        self._unknowns, self._rest, self._points, self._numbers = unknowns, list(rest), points, list(numbers)

    def _evaluated(self, value: ca.SX, points: Reals) -> Reals:
        function = ca.Function("sampled", [self._unknowns, *self._rest], [ca.densify(value)])
        made = [np.asarray(function(point, *self._numbers).full()) for point in points]
        return np.nan_to_num(np.array(made), nan=0.0, posinf=0.0, neginf=0.0)

    def jacobian(self, value: ca.SX) -> Reals:
        """(rows, unknowns): the largest magnitudes over the points."""
        if not value.numel() or not self._unknowns.numel():
            return np.zeros((value.numel(), self._unknowns.numel()))
        return np.asarray(np.abs(self._evaluated(ca.jacobian(value, self._unknowns), self._points)).max(axis=0))

    def largest(self, value: ca.SX) -> Reals:
        """(rows): the largest magnitudes over the points."""
        if not value.numel():
            return np.zeros(0)
        return np.asarray(np.abs(self._evaluated(value, self._points)).max(axis=0).ravel())

    def change(self, value: ca.SX, sizes: Reals) -> float:
        """The largest change of one expression when unknowns change by their sizes, each alone and all together."""
        base = self._evaluated(value, self._points).ravel()
        steps = [*np.diag(sizes), sizes, np.where(np.arange(len(sizes)) % 2, sizes, -sizes)]
        moved = [np.abs(self._evaluated(value, self._points + sign * step).ravel() - base) for step in steps for sign in (1, -1)]
        return float(np.max(moved)) if moved else 0.0


def balanced(rates: Reals, drift: Reals, given: Reals, caps: Reals, duration: float) -> Reals:
    """Sizes of (y, u), from those that are given; the others are NaN. `caps` are bounds of states, their largest sizes possible,
    which count where nothing else is known.

    `rates` (y, unknowns) are magnitudes of the Jacobian of f, `drift` those of f.
    """
    sizes, count = given.copy(), len(rates)
    rates = np.where(rates > NEGLIGIBLE * rates.max(axis=1, initial=0.0, keepdims=True), rates, 0.0)
    for _ in range(2 * len(sizes)):
        known = np.isfinite(sizes)
        if known.all():
            break
        amounts = np.where(known, sizes, 0.0)
        pushes = (rates * amounts).max(axis=1, initial=0.0)
        noise = NEGLIGIBLE * max(float(pushes.max(initial=0.0)), float(drift.max(initial=0.0)))
        reached = duration * np.maximum(pushes, np.where(drift > noise, drift, 0.0))  # by what drives a state
        more = sizes.copy()
        for j in np.flatnonzero(~known):
            needed = [sizes[i] / (duration * rates[i, j]) for i in range(count) if known[i] and i != j and rates[i, j] > 0.0]
            found = [max(needed)] if needed else []
            found += [reached[j]] if j < count and reached[j] > 0.0 else []
            if found:
                more[j] = float(np.exp(np.mean(np.log(found))))
        more = np.minimum(more, np.where(known, np.inf, caps))
        if np.array_equal(more, sizes, equal_nan=True):
            more = np.where(~known & np.isfinite(caps), caps, sizes)
            if np.array_equal(more, sizes, equal_nan=True):
                break
        sizes = more
    return np.array([s if fixed else ordinary(s) for s, fixed in zip(sizes, np.isfinite(given), strict=True)])


def row_sizes(jacobian: Reals, sizes: Reals, stated: Sequence[float], floor: Sequence[float]) -> Reals:
    """Sizes of rows: their change with the sizes of the unknowns, or what is stated; `floor` where that is ordinary."""
    changes = (jacobian * sizes).max(axis=1, initial=0.0) if len(jacobian) else np.zeros(0)
    return np.array([ordinary(max(c, s), f) for c, s, f in zip(changes, stated, floor, strict=True)])


def shortest_duration(rates: Reals, drift: Reals, controls: Reals, wanted: Reals) -> float | None:
    """The duration in which bounded controls and the drift can change the states as much as wanted, by a linear estimate.

    `rates` (y, y and u), `controls` their sizes (zero if unbounded); None if they cannot, or nothing is wanted.
    """
    count = len(rates)
    if not (wanted > 0.0).any():
        return None

    def reach(duration: float) -> bool:
        reached = np.zeros(count)
        for _ in range(count):
            push = (rates * np.concatenate([reached, controls])).max(axis=1, initial=0.0)
            reached = duration * np.maximum(push, drift)
        return bool((reached >= wanted).all())

    low, high = np.log(SHORTEST), np.log(LONGEST)
    if not reach(LONGEST) or reach(SHORTEST):
        return None
    while high - low > 0.1:
        mid = (low + high) / 2
        low, high = (low, mid) if reach(float(np.exp(mid))) else (mid, high)
    return float(np.exp(high))
