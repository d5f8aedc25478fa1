"""Many runs in one call of compiled code: every lane begins from the same settings and leaves its samples, events and end.

Restricted Python with the stepping loop inside it; `stepping` compiles it. A lane that asks for something rare (another choice of
velocities, another method) is left with its reason, and with what is needed to go on.
"""

from __future__ import annotations

from draisine.codegen.restricted.record import Record, restore
from draisine.codegen.restricted.types import Cube, IntegerMatrix, Integers, Matrix, Vector
from draisine.simulation.stepper.explicit_rk import copy
from draisine.simulation.stepper.layout import CHANGED, FULL, PAUSED, RUNNING, STIFF, Stepper
from draisine.simulation.stepper.loop import advance

UNFINISHED = -1  # reason of a lane that was not run
LEFT_OUT, BEGINS, GOES_ON = 0, 1, 2


class Batch(Record):
    """The lanes of a call: what they begin from, and what they leave."""

    lanes: int
    bears_stiffness: int  # 1: go on where an explicit method finds the equations stiff
    stop: Integers  # (1) not 0 when the work is to be left
    wanted: Integers  # (lanes) whether to leave it out, begin it, or go on with it
    start_x: Matrix  # (lanes, n)
    start_u: Matrix  # (lanes, m)
    start_p: Matrix  # (lanes, p)
    states: Cube  # (lanes, samples + 1, n) at the samples; the last row has the state at the end
    sampled: Integers  # (lanes) how many samples were reached
    reason: Integers  # (lanes) of `layout`
    happening: Integers  # (lanes) the event that stopped it, or −1
    first: Matrix  # (lanes, e) when an event first happened, or NaN
    count: IntegerMatrix  # (lanes, e) how often
    ended: Vector  # (lanes) the time reached
    accepted: Integers  # (lanes)
    rejected: Integers  # (lanes)
    evaluations: Integers  # (lanes)
    condition: Vector  # (lanes) of the choice of velocities
    reals: Matrix  # (lanes, 4) where a lane stands: time, step, limit of the condition, last error
    counters: IntegerMatrix  # (lanes, 4) phase, and what the watch for stiffness has seen
    signs: IntegerMatrix  # (lanes, e) of the events


class Place(Record):
    """Where one lane at a time is run."""

    stepper: Stepper  # what the loop works on
    settings: Stepper  # the same as every lane begins with it
    batch: Batch


def advance_lanes(p: Place) -> int:
    """Run the wanted lanes one after the other; return how many were."""
    batch, done = p.batch, 0
    for lane in range(batch.lanes):
        if batch.wanted[lane] == LEFT_OUT:
            continue
        if batch.stop[0] != 0:
            return done
        load(p, lane)
        reason = whole_lane(p, lane)
        if reason == PAUSED:
            return done
        leave(p, lane, reason)
        done += 1
    return done


def load(p: Place, lane: int) -> None:
    """Make the stepper that of a lane, at its beginning or where it was left."""
    s, batch = p.stepper, p.batch
    restore(s, p.settings)
    copy(batch.start_x[lane], s.x, s.states)
    copy(batch.start_u[lane], s.u, s.inputs)
    copy(batch.start_p[lane], s.parameters, len(s.parameters))
    s.sample_x = batch.states[lane]
    if batch.wanted[lane] == GOES_ON:
        take_up(p, lane)


def take_up(p: Place, lane: int) -> None:
    """Go on with a lane where it was left."""
    s, batch = p.stepper, p.batch
    reals, counters = batch.reals[lane], batch.counters[lane]
    s.t, s.h, s.limit, s.last_error = reals[0], reals[1], reals[2], reals[3]
    s.phase, s.suspect = int(counters[0]), int(counters[1])
    s.stiff_steps, s.calm_steps = int(counters[2]), int(counters[3])
    s.sampled = int(batch.sampled[lane])
    s.accepted = int(batch.accepted[lane])
    s.rejected = int(batch.rejected[lane])
    s.evaluations = int(batch.evaluations[lane])
    for e in range(s.events):
        s.sign[e] = batch.signs[lane, e]


def whole_lane(p: Place, lane: int) -> int:
    """Run a lane to its end, emptying the buffers of steps and events on the way; PAUSED if it was told to stop."""
    s, batch = p.stepper, p.batch
    while True:
        reason = advance(s)
        gather_events(p, lane)
        if reason == FULL:
            s.stepped = 0
        elif reason == STIFF and batch.bears_stiffness != 0:
            s.suspect = 0
        elif reason != PAUSED or batch.stop[0] != 0:
            return reason


def gather_events(p: Place, lane: int) -> None:
    """Count the events met since the last time."""
    s, batch = p.stepper, p.batch
    for j in range(s.happened):
        event = int(s.event_index[j])
        if batch.count[lane, event] == 0:
            batch.first[lane, event] = s.event_time[j]
        batch.count[lane, event] += 1
    s.happened = 0


def leave(p: Place, lane: int, reason: int) -> None:
    """Note how a lane ended, and where."""
    s, batch = p.stepper, p.batch
    copy(s.x, s.sample_x[s.samples], s.states)
    batch.reason[lane] = reason
    batch.sampled[lane] = s.sampled
    batch.happening[lane] = s.happening
    batch.ended[lane] = s.t
    batch.accepted[lane] = s.accepted
    batch.rejected[lane] = s.rejected
    batch.evaluations[lane] = s.evaluations
    batch.condition[lane] = s.condition
    reals, counters = batch.reals[lane], batch.counters[lane]
    reals[0], reals[1], reals[2], reals[3] = s.t, s.h, s.limit, s.last_error
    counters[0] = CHANGED if s.phase == RUNNING else s.phase
    counters[1], counters[2], counters[3] = s.suspect, s.stiff_steps, s.calm_steps
    for e in range(s.events):
        batch.signs[lane, e] = s.sign[e]
