"""Levenberg and Marquardt's trust region for sums of squares whose steps exploit structure.

Plain dense problems go to `scipy.optimize.least_squares`. Here the caller makes the damped step (windows eliminated one after the
other, parameters within their bounds), and the method decides on damping and on the end.

J. J. Moré, The Levenberg–Marquardt algorithm: implementation and theory, Lecture Notes in Mathematics 630 (1978) 105–116.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

P = TypeVar("P")

SLACK = 1e-14  # growth of the cost that is rounding
LEAST, MOST = 1e-6, 1e12  # damping after a step that failed, and at which the search ends
CALM = 1e-3  # damping below which a short step is no work of the damping


@dataclass(frozen=True)
class Trial(Generic[P]):
    """What a damped step leads to: the point (None where there is none), the fall of the cost it promises, and its length."""

    point: Callable[[], P | None]
    gain: float
    length: float


@dataclass(frozen=True)
class Minimum(Generic[P]):
    """The best point, and whether the search came to its end by itself."""

    point: P
    converged: bool
    iterations: int


@dataclass(frozen=True)
class LevenbergMarquardt:
    """The search ends when a step gains or should gain at most `gain_tolerance` of the cost, or changes the unknowns by at most
    `step_tolerance` of their size."""

    gain_tolerance: float
    step_tolerance: float
    max_iterations: int
    first_damping: float = 1.0

    def minimize(
        self,
        start: P,
        cost: Callable[[P], float],
        step: Callable[[P, float], Trial[P]],
        progress: Callable[[int, P], None] | None = None,
    ) -> Minimum[P]:
        """The least cost near a point; `step` of (point, damping)."""
        now, damping, taken = start, self.first_damping, 0
        for k in range(self.max_iterations):
            trial = step(now, damping)
            enough = self.gain_tolerance * max(cost(now), 1e-300)
            if trial.gain <= enough and damping <= self.first_damping:
                return Minimum(now, True, taken)
            point = trial.point()
            if point is None or not cost(point) <= cost(now) * (1.0 + SLACK):
                damping = max(10.0 * damping, LEAST)
                if damping > MOST:
                    return Minimum(now, True, taken)
                continue
            quiet, still = cost(now) - cost(point) <= enough, trial.length <= self.step_tolerance
            now, damping, taken = point, damping / 10.0, taken + 1
            if progress is not None:
                progress(k + 1, now)
            if quiet or (still and damping < CALM):
                return Minimum(now, True, taken)
        return Minimum(now, False, taken)
