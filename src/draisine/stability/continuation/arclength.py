"""Pseudo-arclength steps along a curve, with control of their length and a stated reason for the end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from draisine.errors import ArgumentError
from draisine.numerics.continuation import CurvePoint, CurveTracer, ImplicitCurve, StepLengths

Array = NDArray[np.float64]

NEARLY_OUT = 1e-9
EASY, HARD, GROWTH = 5, 8, 1.4  # iterations of a correction up to which steps grow, and above which they shrink, by this


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

    places: tuple[CurvePoint, ...]
    ended: str
    closed: bool = False
    bounded: bool = False


def follow(
    curve: ImplicitCurve,
    start: CurvePoint,
    steps: Steps,
    bounds: tuple[Bound, ...],
    span: float = np.inf,
    progress: Callable[[int], None] | None = None,
) -> Walk:
    """Steps from a point along its tangent until something ends them; `span` is the length of the watched quantity's range."""
    places = [start]

    def limit(here: CurvePoint) -> float:
        bounded = np.isfinite(span) and here.advance != 0.0
        return steps.share * span / abs(here.advance) if bounded else np.inf

    def growth(ahead: CurvePoint) -> float:
        return GROWTH if ahead.iterations <= EASY else 1 / GROWTH if ahead.iterations > HARD else 1.0

    walker = CurveTracer(start, curve.advance, StepLengths(steps.first, steps.least, steps.most), growth, limit)
    for ahead in islice(walker, steps.count):
        here = places[-1]
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
    if walker.ended:
        return Walk(tuple(places), f"no further point was found with the least step, {steps.least:g}")
    return Walk(tuple(places), f"{steps.count} steps were made, as many as allowed")


def _passes(here: CurvePoint, ahead: CurvePoint, start: CurvePoint) -> bool:
    """Whether the start lies on the step from here to ahead."""
    gone, whole = start.y - here.y, ahead.y - here.y
    share = float(gone @ whole / (whole @ whole))
    apart = float(np.linalg.norm(gone - share * whole))
    return 0 < share <= 1 and apart < 0.1 * float(np.linalg.norm(whole)) and float(start.tangent @ here.tangent) > 0.8


def _onto(curve: ImplicitCurve, here: CurvePoint, ahead: CurvePoint, bound: Bound, edge: float) -> CurvePoint | None:
    """The point at which the quantity has the value of the edge; None where this is the point itself."""
    return curve.between(here, ahead, lambda place: bound.value(place.y) - edge)
