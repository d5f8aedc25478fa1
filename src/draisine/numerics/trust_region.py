"""Levenberg–Marquardt method for structured nonlinear least squares.

Dense problems use `scipy.optimize.least_squares`. Here the caller computes the damped step (by block elimination, within bounds),
and the method controls damping and termination.

J. J. Moré, The Levenberg–Marquardt algorithm: implementation and theory, Lecture Notes in Mathematics 630 (1978) 105–116.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

P = TypeVar("P")

SLACK = 1e-14  # relative growth of the cost that is rounding
LEAST, MOST = 1e-6, 1e12  # damping: minimum after a failed step, maximum before termination
NEGLIGIBLE_DAMPING = 1e-3  # below it a short step is not due to damping


@dataclass(frozen=True)
class Trial(Generic[P]):
    """A damped step: the new point (None where undefined), the predicted decrease of the cost, and the step length."""

    point: Callable[[], P | None]
    gain: float
    length: float


@dataclass(frozen=True)
class Minimum(Generic[P]):
    """The best point, and whether the iteration converged."""

    point: P
    converged: bool
    iterations: int


@dataclass(frozen=True)
class LevenbergMarquardt:
    """The iteration ends when the actual or predicted relative decrease of the cost is at most `gain_tolerance`, or the relative
    step at most `step_tolerance`."""

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
        """A minimum of the cost near a point; `step` of (point, damping)."""
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
            if quiet or (still and damping < NEGLIGIBLE_DAMPING):
                return Minimum(now, True, taken)
        return Minimum(now, False, taken)
