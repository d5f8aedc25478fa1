"""Consistent starts lane after lane in compiled code: the change that fulfils all rows and is smallest, then calmed.

The iteration z ← A⁺(A z − r), in the words of `start_rows`, is Newton's as far as the residuals go, and slides along the
solutions to the one closest to the reference: where it stands still, r = 0 and z lies in the span of the rows. A lane that does
not settle, or whose rows come close to being dependent, is left: `consistent_start` decides about it.
"""

from __future__ import annotations

import math

from draisine.simulation.ensemble.rest_velocities import calm
from draisine.simulation.ensemble.start_rows import (
    ARGUMENTS,
    COLUMNS,
    ENTRIES,
    FOUND,
    FREE,
    FRESH,
    HELD,
    INPUT_COUNT,
    INPUT_PLACE,
    INPUTS,
    LANES,
    LEAP,
    MOST_ARGUMENTS,
    NEW,
    OTHER,
    OTHER_PLACE,
    OTHERS,
    PARAMETER_COUNT,
    PARAMETER_PLACE,
    PARAMETERS,
    ROWS,
    SCALE,
    SETTLED,
    SHARES,
    UNKNOWNS,
    Y,
    Z,
    evaluate,
    everything,
    factorise,
    judge,
    larger,
    size_up,
    slide,
)
from draisine.simulation.initial.residual_system import FULFILLED
from draisine.simulation.stepper.native import integers_at, reals_at

MOST_TURNS = 60
STILL = 1e-10  # a change of z below this part of it: the distance is then exact to rounding


def solve_starts(address: int) -> int:
    """Solve for all lanes; return how many settled."""
    table = integers_at(address, ENTRIES)
    settled = integers_at(table[SETTLED], table[LANES])
    done = 0
    for lane in range(table[LANES]):
        begin_lane(address, lane)
        settled[lane] = 1 if closest(address, lane) == 1 and calm(address, lane) == 1 else 0
        write(address, lane)
        done += settled[lane]
    return done


def begin_lane(address: int, lane: int) -> None:
    """The kernel reads this lane; all unknowns are at their references."""
    table = integers_at(address, ENTRIES)
    arguments = integers_at(table[ARGUMENTS], MOST_ARGUMENTS)
    if table[OTHER_PLACE] >= 0:
        arguments[table[OTHER_PLACE]] = table[OTHER] + 8 * table[OTHERS] * lane
    if table[INPUT_PLACE] >= 0:
        arguments[table[INPUT_PLACE]] = table[INPUTS] + 8 * table[INPUT_COUNT] * lane
    if table[PARAMETER_PLACE] >= 0:
        arguments[table[PARAMETER_PLACE]] = table[PARAMETERS] + 8 * table[PARAMETER_COUNT] * lane
    z, held = reals_at(table[Z], table[FREE]), integers_at(table[HELD], table[FREE])
    for i in range(table[FREE]):
        z[i] = 0.0
        held[i] = 0
    integers_at(table[FRESH], 1)[0] = 0


def write(address: int, lane: int) -> None:
    """The unknowns of a lane as they are now."""
    table = integers_at(address, ENTRIES)
    n = table[UNKNOWNS]
    everything(address, lane, table[Z])
    y, found = reals_at(table[Y], n), reals_at(table[FOUND] + 8 * n * lane, n)
    for i in range(n):
        found[i] = y[i]


def closest(address: int, lane: int) -> int:
    """The change that fulfils all rows and is smallest; 1 if it was found."""
    table = integers_at(address, ENTRIES)
    rows, free = table[ROWS], table[FREE]
    if rows == 0:
        return 1
    if rows > free:
        return 0
    shares, fresh = reals_at(table[SHARES], 2), integers_at(table[FRESH], 1)
    z, new = reals_at(table[Z], free), reals_at(table[NEW], free)
    evaluate(address, lane, table[Z])
    size_up(address, lane)
    judge(address, lane)
    for turn in range(MOST_TURNS):
        if not shares[0] < math.inf:
            return 0
        if fresh[0] == 0:
            fresh[0] = factorise(address, lane)
            if fresh[0] == 0:
                return 0
        slide(address, table[Z], table[NEW])
        change, size = 0.0, 0.0
        for k in range(free):
            if abs(new[k] - z[k]) > furthest(address, lane, k):
                return 0
            change, size = larger(change, abs(new[k] - z[k])), larger(size, abs(new[k]))
            z[k] = new[k]
        evaluate(address, lane, table[Z])
        judge(address, lane)
        if turn > 0 and change <= STILL * size + 1e-15 and shares[1] <= FULFILLED:
            return 1
    return 0


def furthest(address: int, lane: int, k: int) -> float:
    """The largest change of a free unknown that is believed."""
    table = integers_at(address, ENTRIES)
    n = table[UNKNOWNS]
    column = integers_at(table[COLUMNS], table[FREE])[k]
    leap: float = reals_at(table[LEAP], n)[column] / reals_at(table[SCALE] + 8 * n * lane, n)[column]
    return leap
