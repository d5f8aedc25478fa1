"""Many runs in one call of compiled code: every lane begins from the same settings and leaves its samples, events and end.

Compiled by Numba as it stands, with the stepping loop inside it (`stepping`), and run in the interpreter as well. A lane that
asks for something rare (another choice of velocities, another method) is left with its reason, and with what is needed to go on.
"""

from __future__ import annotations

from draisine.simulation.stepper.explicit_rk import copy
from draisine.simulation.stepper.layout import CHANGED, FULL, PAUSED, RUNNING, STIFF
from draisine.simulation.stepper.loop import go_on
from draisine.simulation.stepper.native import integers_at, plain_block_at, reals_at

# Entries of the table that tells where everything is.
(
    BLOCK,  # the block that the loop works on
    SETTINGS,  # the block as every lane begins with it
    WORDS,  # length of a block
    PARAMETERS,  # where the kernels read them
    PARAMETER_COUNT,
    LANES,
    WANTED,  # (lanes) whether to leave it out, begin it, or go on with it
    START_X,  # (lanes, n)
    START_U,  # (lanes, m)
    START_P,  # (lanes, p)
    STATES,  # (lanes, samples + 1, n) at the samples; the last row has the state at the end
    SAMPLED,  # (lanes) how many samples were reached
    REASON,  # (lanes) of `layout`
    HAPPENING,  # (lanes) the event that stopped it, or −1
    FIRST,  # (lanes, e) when an event first happened, or NaN
    COUNT,  # (lanes, e) how often
    ENDED,  # (lanes) the time reached
    ACCEPTED,  # (lanes)
    REJECTED,  # (lanes)
    EVALUATIONS,  # (lanes)
    CONDITION,  # (lanes) of the choice of velocities
    REALS,  # (lanes, 4) where a lane stands: time, step, limit of the condition, last error
    COUNTERS,  # (lanes, 4) phase, and what the watch for stiffness has seen
    SIGNS,  # (lanes, e) of the events
    BEARS_STIFFNESS,  # 1: go on where an explicit method finds the equations stiff
    STOP,  # address of a word that is not 0 when the work is to be left
    ENTRIES,
) = range(27)

UNFINISHED = -1  # reason of a lane that was not run
LEFT_OUT, BEGINS, GOES_ON = 0, 1, 2


def advance_lanes(address: int) -> int:
    """Run the wanted lanes one after the other; return how many were."""
    table = integers_at(address, ENTRIES)
    wanted, stop = integers_at(table[WANTED], table[LANES]), integers_at(table[STOP], 1)
    done = 0
    for lane in range(table[LANES]):
        if wanted[lane] == LEFT_OUT:
            continue
        if stop[0] != 0:
            return done
        load(address, lane)
        reason = whole_lane(address, lane)
        if reason == PAUSED:
            return done
        leave(address, lane, reason)
        done += 1
    return done


def load(address: int, lane: int) -> None:
    """Make the block that of a lane, at its beginning or where it was left."""
    table = integers_at(address, ENTRIES)
    s = plain_block_at(table[BLOCK])
    words, settings = integers_at(table[BLOCK], table[WORDS]), integers_at(table[SETTINGS], table[WORDS])
    for i in range(table[WORDS]):
        words[i] = settings[i]
    copy(table[START_X] + 8 * s.states * lane, s.x_at, s.states)
    copy(table[START_U] + 8 * s.inputs * lane, s.inputs_at, s.inputs)
    copy(table[START_P] + 8 * table[PARAMETER_COUNT] * lane, table[PARAMETERS], table[PARAMETER_COUNT])
    s.sample_x_at = table[STATES] + 8 * s.states * (s.samples + 1) * lane
    if integers_at(table[WANTED], table[LANES])[lane] == GOES_ON:
        take_up(address, lane)


def take_up(address: int, lane: int) -> None:
    """Go on with a lane where it was left."""
    table = integers_at(address, ENTRIES)
    s = plain_block_at(table[BLOCK])
    reals, counters = reals_at(table[REALS] + 32 * lane, 4), integers_at(table[COUNTERS] + 32 * lane, 4)
    s.t, s.h, s.limit, s.last_error = reals[0], reals[1], reals[2], reals[3]
    s.phase, s.suspect, s.stiff_steps, s.calm_steps = counters[0], counters[1], counters[2], counters[3]
    s.sampled = integers_at(table[SAMPLED], table[LANES])[lane]
    s.accepted = integers_at(table[ACCEPTED], table[LANES])[lane]
    s.rejected = integers_at(table[REJECTED], table[LANES])[lane]
    s.evaluations = integers_at(table[EVALUATIONS], table[LANES])[lane]
    copy_whole(table[SIGNS] + 8 * s.events * lane, s.sign_at, s.events)


def copy_whole(source: int, target: int, length: int) -> None:
    """Copy whole numbers from one address to another."""
    a, b = integers_at(source, length), integers_at(target, length)
    for i in range(length):
        b[i] = a[i]


def whole_lane(address: int, lane: int) -> int:
    """Run a lane to its end, emptying the buffers of steps and events on the way; PAUSED if it was told to stop."""
    table = integers_at(address, ENTRIES)
    s = plain_block_at(table[BLOCK])
    stop = integers_at(table[STOP], 1)
    while True:
        reason = go_on(s)
        gather_events(address, lane)
        if reason == FULL:
            s.stepped = 0
        elif reason == STIFF and table[BEARS_STIFFNESS] != 0:
            s.suspect = 0
        elif reason != PAUSED or stop[0] != 0:
            return reason


def gather_events(address: int, lane: int) -> None:
    """Count the events met since the last time."""
    table = integers_at(address, ENTRIES)
    s = plain_block_at(table[BLOCK])
    if s.events == 0:
        return
    first = reals_at(table[FIRST] + 8 * s.events * lane, s.events)
    count = integers_at(table[COUNT] + 8 * s.events * lane, s.events)
    times, index = reals_at(s.event_time_at, s.event_room), integers_at(s.event_index_at, s.event_room)
    for j in range(s.happened):
        event = index[j]
        if count[event] == 0:
            first[event] = times[j]
        count[event] += 1
    s.happened = 0


def leave(address: int, lane: int, reason: int) -> None:
    """Note how a lane ended, and where."""
    table = integers_at(address, ENTRIES)
    s = plain_block_at(table[BLOCK])
    copy(s.x_at, s.sample_x_at + 8 * s.states * s.samples, s.states)
    integers_at(table[REASON], table[LANES])[lane] = reason
    integers_at(table[SAMPLED], table[LANES])[lane] = s.sampled
    integers_at(table[HAPPENING], table[LANES])[lane] = s.happening
    reals_at(table[ENDED], table[LANES])[lane] = s.t
    integers_at(table[ACCEPTED], table[LANES])[lane] = s.accepted
    integers_at(table[REJECTED], table[LANES])[lane] = s.rejected
    integers_at(table[EVALUATIONS], table[LANES])[lane] = s.evaluations
    reals_at(table[CONDITION], table[LANES])[lane] = s.condition
    reals, counters = reals_at(table[REALS] + 32 * lane, 4), integers_at(table[COUNTERS] + 32 * lane, 4)
    reals[0], reals[1], reals[2], reals[3] = s.t, s.h, s.limit, s.last_error
    counters[0] = CHANGED if s.phase == RUNNING else s.phase
    counters[1], counters[2], counters[3] = s.suspect, s.stiff_steps, s.calm_steps
    copy_whole(s.sign_at, table[SIGNS] + 8 * s.events * lane, s.events)
