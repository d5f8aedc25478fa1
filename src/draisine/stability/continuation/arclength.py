"""Pseudo-arclength steps along a curve, with control of their length and a stated reason for the end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from draisine.errors import ArgumentError
from draisine.stability.continuation.curve import Curve, Place

Array = NDArray[np.float64]

TURN = 0.96  # least cosine between tangents at the ends of a step
ON_A_BRANCH_POINT = 1e-7  # share of the largest singular value below which a step has landed on a branch point
NEARLY_OUT = 1e-9
EASY, HARD = 5, 8  # rounds of a correction up to which steps grow, and above which they shrink


@dataclass(frozen=True)
class Steps:
    """Lengths of steps in scaled unknowns (angles count in radians, other quantities relative to their value at the start)."""

    first: float = 0.02
    least: float = 1e-7
    most: float = 0.1
    count: int = 400  # at most, in each direction
    share: float = 0.02  # of the range of what varies, if it has one: no step is longer

    def __post_init__(self) -> None:
        if not (0 < self.least <= self.first <= self.most < np.inf and self.count >= 1 and self.share > 0):
            raise ArgumentError(
                f"steps must fulfil 0 < least ≤ first ≤ most, count ≥ 1 and share > 0; got least = {self.least:g}, "
                f"first = {self.first:g}, most = {self.most:g}, count = {self.count}, share = {self.share:g}"
            )


@dataclass(frozen=True)
class Bound:
    """A quantity that must stay in a range: its value at scaled unknowns, by name."""

    name: str
    low: float
    high: float
    value: Callable[[Array], float]

    def passed(self, y: Array) -> float | None:
        """The end of the range that y has passed, if it has."""
        value, slack = self.value(y), NEARLY_OUT * max(abs(self.low), abs(self.high), 1e-6)
        if not np.isfinite(value):
            return None
        edge = self.low if value < self.low - slack else self.high if value > self.high + slack else None
        return edge if edge is None or np.isfinite(edge) else None


@dataclass(frozen=True)
class Walk:
    """Points in order, and why there are no more."""

    places: tuple[Place, ...]
    ended: str
    closed: bool = False
    bounded: bool = False


def follow(
    curve: Curve,
    start: Place,
    steps: Steps,
    bounds: tuple[Bound, ...],
    span: float = np.inf,
    progress: Callable[[int], None] | None = None,
) -> Walk:
    """Steps from a point along its tangent until something ends them; `span` is the length of the watched quantity's range."""
    places, length = [start], steps.first
    while len(places) <= steps.count:
        here = places[-1]
        if np.isfinite(span) and here.advance != 0.0:
            length = max(min(length, steps.share * span / abs(here.advance)), steps.least)
        ahead, length = _step(curve, here, length, steps.least)
        if ahead is None:
            return Walk(tuple(places), f"no further point was found with the least step, {steps.least:g}")
        if len(places) > 4 and _passes(here, ahead, start):
            return Walk((*places, start), "the curve closed", closed=True)
        for bound in bounds:
            edge = bound.passed(ahead.y)
            if edge is not None:
                last = _onto(curve, here, ahead, bound, edge)
                return Walk(tuple(places) if last is None else (*places, last), f"{bound.name} reached {edge:g}", bounded=True)
        places.append(ahead)
        if progress is not None:
            progress(len(places))
        length = min(1.4 * length, steps.most) if ahead.rounds <= EASY else length / 1.4 if ahead.rounds > HARD else length
    return Walk(tuple(places), f"{steps.count} steps were made, as many as allowed")


def _step(curve: Curve, here: Place, length: float, least: float) -> tuple[Place | None, float]:
    """The next point, and the length of the step that led to it: halved until it settles without a sharp turn."""
    while length >= least:
        ahead = curve.correct(here.y + length * here.tangent, here.tangent)
        if ahead is not None and ahead.tangent @ here.tangent >= TURN:
            sizes = np.linalg.svd(ahead.jacobian, compute_uv=False)
            if sizes[curve.unknowns - 2] > ON_A_BRANCH_POINT * sizes[0]:
                return ahead, length
            length *= 0.83  # on a branch point tangents mean nothing; land elsewhere
        else:
            length /= 2
    return None, length


def _passes(here: Place, ahead: Place, start: Place) -> bool:
    """Whether the start lies on the step from here to ahead."""
    gone, whole = start.y - here.y, ahead.y - here.y
    share = float(gone @ whole / (whole @ whole))
    apart = float(np.linalg.norm(gone - share * whole))
    return 0 < share <= 1 and apart < 0.1 * float(np.linalg.norm(whole)) and float(start.tangent @ here.tangent) > 0.8


def between(curve: Curve, here: Place, ahead: Place, value: Callable[[Place], float]) -> Place | None:
    """The point between two neighbours at which a function of the point passes zero, by Brent's method on the curve."""
    from scipy.optimize import brentq

    chord = ahead.y - here.y
    length = float(np.linalg.norm(chord))
    unit = chord / length
    found: dict[float, Place] = {0.0: here, length: ahead}

    def at(s: float) -> float:
        if s not in found:
            place = curve.correct(here.y + s * unit, unit, here.tangent)
            if place is None:
                raise ArithmeticError
            found[s] = place
        return value(found[s])

    try:
        if not at(0.0) * at(length) < 0:
            return None
        root = float(brentq(at, 0.0, length, xtol=1e-300, rtol=1e-14, maxiter=100))
        at(root)
    except ArithmeticError:
        return None
    return found[root]


def _onto(curve: Curve, here: Place, ahead: Place, bound: Bound, edge: float) -> Place | None:
    """The point at which the quantity has the value of the edge; None where this is the point itself."""
    return between(curve, here, ahead, lambda place: bound.value(place.y) - edge)
