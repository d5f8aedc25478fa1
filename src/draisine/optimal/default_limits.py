"""Limits of durations that a statement does not give: they are the package's own, and widened where a search ends at one.

Minimum effort with a small cost of time may take hours, a jump of a relay a millisecond. Only what goes on over many powers of
ten has no shortest or longest duration that is best."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from draisine.optimal.maneuver import OptimalControlProblem
    from draisine.optimal.phase import Phase

WIDER, TIMES = 100.0, 3  # factor, and how often
ENDLESS = "the longer the motion, the lower the cost"  # of durations without a best one
AT_LIMIT = 1.001  # factor within which a duration is at its limit


def default_limit_reached(stated: OptimalControlProblem, phase: Phase, duration: float) -> int:
    """−1 if a duration is at the shortest that the statement does not give, 1 if at the longest, otherwise 0."""
    (low, high), (shortest, longest) = phase.times, stated.times_given
    if not shortest and duration <= low * AT_LIMIT:
        return -1
    return 1 if not longest and duration >= high / AT_LIMIT else 0


def with_limits_about(maneuver: OptimalControlProblem, phases: Sequence[Phase], durations: Sequence[float]) -> tuple[Phase, ...]:
    """Phases with default limits that were widened as far as a solution with these durations needs."""
    made = []
    for stated, phase, duration in zip(maneuver.phases, phases, durations, strict=True):
        (low, high), (shortest, longest) = phase.times, stated.times_given
        for _ in range(TIMES):
            low = low if shortest or duration >= low / AT_LIMIT else low / WIDER
            high = high if longest or duration <= high * AT_LIMIT else high * WIDER
        made.append(phase if (low, high) == phase.times else replace(phase, times=(low, high)))
    return tuple(made)
