"""Switches that accumulate: infinitely many in a finite time (Zeno), as of a twisting controller or a time-optimal relay.

The intervals between the switches become shorter than the rounding of time, and the run would never pass their limit. There all
switching functions involved are zero. The motion rests there if it can, with a law between its sides; else it continues on the
surfaces if it is unique there (`share_equally`); otherwise the run ends at the limit. Restricted Python.
"""

from __future__ import annotations

from draisine.simulation.stepper.layout import (
    ACCUMULATED,
    AMBIGUOUS,
    CONTINUE,
    ENTERED,
    MOST_SLIDING,
    MOST_SWITCHES,
    RECENT,
    Stepper,
)
from draisine.simulation.stepper.sliding import short_time
from draisine.simulation.stepper.switching import adds_up, is_sliding_on, record_switch, use_branches


def accumulates(s: Stepper) -> bool:
    """Whether the last switches followed each other within the rounding of time."""
    if s.switch_count < RECENT:
        return False
    span = abs(s.t - s.switch_time[s.switch_count - RECENT])
    return span > 0.0 and span <= short_time(s)


def beyond_limit(s: Stepper, reason: int) -> int:
    """After a change of branches: how the run continues if its switches have come to a limit, or do not end at this time."""
    if reason == CONTINUE and accumulates(s):
        if pass_limit(s):
            return CONTINUE
        return ACCUMULATED if s.switch_rate_kernel != 0 else AMBIGUOUS  # 0 = F may switch for ever where others slide
    if reason == AMBIGUOUS and s.switches_here > MOST_SWITCHES:
        return CONTINUE if pass_limit(s) else AMBIGUOUS
    return reason


def pass_limit(s: Stepper) -> bool:
    """Continue on all surfaces of the last switches if the motion there is unique."""
    if s.switch_rate_kernel == 0 or s.variations > 0:
        return False
    known, last = s.sliding, s.switch_count
    for j in range(max(0, last - RECENT), last):
        row = int(s.switch_margin[j])
        if row < 0 or s.margin_step[row] != 0 or (s.sliding >= MOST_SLIDING and is_sliding_on(s, row) < 0):
            s.sliding = known
            return False
        if is_sliding_on(s, row) < 0:
            s.sliding_margin[s.sliding] = row
            s.sliding += 1
    use_branches(s)
    s.resting = 1
    if not possible(s):
        s.resting = 0
        if not possible(s) or s.sliding_row == 0:
            s.sliding = known
            use_branches(s)
            return False
    for i in range(known, s.sliding):
        s.armed[int(s.sliding_margin[i])] = 0
        record_switch(s, int(s.sliding_margin[i]), ENTERED)
    s.switches_here = 0
    return True


def possible(s: Stepper) -> bool:
    """Whether the motion on the surfaces is known, with shares of both sides."""
    if not adds_up(s):
        return False
    least = 1.0
    for i in range(s.sliding):
        least = min(least, min(s.share[i], 1.0 - s.share[i]))
    return least >= 0.0
