"""Pseudo-arclength continuation along a curve, with step-length control and a reason for the end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from draisine.errors import ArgumentError
from draisine.numerics.continuation import CurvePoint, CurveTracer, ImplicitCurve, StepLengths
from draisine.numerics.number_range import with_number_range
from draisine.results.status import Progress, ProgressCallback

Array = NDArray[np.float64]

NEARLY_OUT = 1e-9
EASY, HARD, GROWTH = 5, 8, 1.4  # corrector iterations up to which steps grow, and above which they shrink, by this factor


@with_number_range
@dataclass(frozen=True)
class Steps:
    """Step lengths in scaled unknowns (angles in radians, other quantities relative to their initial values)."""

    first: float = 0.02
    least: float = 1e-7
    most: float = 0.1
    count: int = 400  # at most, in each direction
    share: float = 0.02  # largest step, relative to the range of the continuation quantity, if it has one

    def __post_init__(self) -> None:
        if not (0 < self.least <= self.first <= self.most < np.inf and self.count >= 1 and self.share > 0):
            raise ArgumentError(
                f"steps must satisfy 0 < least ≤ first ≤ most, count ≥ 1 and share > 0; got least = {self.least:g}, "
                f"first = {self.first:g}, most = {self.most:g}, count = {self.count}, share = {self.share:g}"
            )


@dataclass(frozen=True)
class Bound:
    """A named quantity with a range, as a function of the scaled unknowns."""

    name: str
    low: float
    high: float
    value: Callable[[Array], float]

    def passed(self, y: Array) -> float | None:
        """The limit of the range that y exceeds, if any."""
        value, slack = self.value(y), NEARLY_OUT * max(abs(self.low), abs(self.high), 1e-6)
        if not np.isfinite(value):
            return None
        edge = self.low if value < self.low - slack else self.high if value > self.high + slack else None
        return edge if edge is None or np.isfinite(edge) else None


@dataclass(frozen=True)
class CurveSegment:
    """Points in order, and why the curve ends there."""

    points: tuple[CurvePoint, ...]
    ended: str
    closed: bool = False
    bounded: bool = False


def follow(
    curve: ImplicitCurve,
    start: CurvePoint,
    steps: Steps,
    bounds: tuple[Bound, ...],
    span: float = np.inf,
    progress: ProgressCallback | None = None,
) -> CurveSegment:
    """Follow a curve from a point along its tangent; `span` is the length of the range of the continuation quantity."""
    points = [start]

    def limit(current: CurvePoint) -> float:
        bounded = np.isfinite(span) and current.advance != 0.0
        return steps.share * span / abs(current.advance) if bounded else np.inf

    def growth(upcoming: CurvePoint) -> float:
        return GROWTH if upcoming.iterations <= EASY else 1 / GROWTH if upcoming.iterations > HARD else 1.0

    walker = CurveTracer(start, curve.advance, StepLengths(steps.first, steps.least, steps.most), growth, limit)
    for upcoming in islice(walker, steps.count):
        current = points[-1]
        if len(points) > 4 and _passes(current, upcoming, start):
            return CurveSegment((*points, start), "the curve closed", closed=True)
        for bound in bounds:
            edge = bound.passed(upcoming.y)
            if edge is not None:
                last = _onto(curve, current, upcoming, bound, edge)
                return CurveSegment(
                    tuple(points) if last is None else (*points, last), f"{bound.name} reached {edge:g}", bounded=True
                )
        points.append(upcoming)
        if progress is not None:
            progress(Progress(f"{len(points)} points", None, {"points": len(points)}))
    if walker.ended:
        return CurveSegment(tuple(points), f"no further point was found with the smallest step, {steps.least:g}")
    return CurveSegment(tuple(points), f"the maximum of {steps.count} steps was reached")


def _passes(current: CurvePoint, upcoming: CurvePoint, start: CurvePoint) -> bool:
    """Whether the start lies on the step from `current` to `upcoming`."""
    gone, whole = start.y - current.y, upcoming.y - current.y
    share = float(gone @ whole / (whole @ whole))
    apart = float(np.linalg.norm(gone - share * whole))
    return 0 < share <= 1 and apart < 0.1 * float(np.linalg.norm(whole)) and float(start.tangent @ current.tangent) > 0.8


def _onto(curve: ImplicitCurve, current: CurvePoint, upcoming: CurvePoint, bound: Bound, edge: float) -> CurvePoint | None:
    """The point at which the quantity has the value of the limit; None where this is `current` itself."""
    return curve.between(current, upcoming, lambda point: bound.value(point.y) - edge)
