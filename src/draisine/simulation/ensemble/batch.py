"""Compiled stepping of a batch: many runs in one call, one at a time or several side by side by a vector kernel.

Restricted Python with the stepping loop inside; `batch_stepper` compiles it. Every sample of the batch starts from the same
settings and stores its states, events and final state. A sample that needs something rare (another choice of velocities, another
method) is returned with the reason and with all that is needed to continue.

Side by side, one round is one attempt of every sample of a group. All that follows from an attempt (error, events, recording,
projection) is done by the stepping loop, sample by sample; a sample that has ended is replaced by the next one. Only the kernel's
call is shared, so a sample makes the same steps as it would alone.
"""

from __future__ import annotations

import math

from draisine.codegen.restricted.types import Cube, IntegerMatrix, Integers, Matrix, Record, Vector, call_kernel, restore
from draisine.simulation.stepper.contact_monitor import keep_least, monitor_inside
from draisine.simulation.stepper.explicit_rk import copy, first_nonfinite, is_stiff, weighted_sum
from draisine.simulation.stepper.layout import (
    CHANGED,
    CONTINUE,
    FULL,
    PAUSED,
    REACHED,
    ROOTS,
    RUNNING,
    STIFF,
    TOO_MANY_STEPS,
    Stepper,
)
from draisine.simulation.stepper.loop import accept, advance, begin
from draisine.simulation.stepper.step_size_control import halve_step, next_step, reject

UNFINISHED = -1  # reason of a sample that was not run
SKIP, BEGIN, RESUME = 0, 1, 2


class Batch(Record):
    """The samples of a batch: initial data and results."""

    size: int
    ignore_stiffness: int  # 1: continue where the equations are stiff for an explicit method
    stop: Integers  # (1) nonzero to stop
    action: Integers  # (batch) whether to skip, begin or resume it
    start_x: Matrix  # (batch, n)
    start_u: Matrix  # (batch, m)
    start_p: Matrix  # (batch, p)
    states: Cube  # (batch, samples + 1, n) at the samples; the last row has the state at the end
    sample_count: Integers  # (batch) number of output times reached
    reason: Integers  # (batch) of `layout`
    stopping_event: Integers  # (batch) the event that stopped it, or −1
    first: Matrix  # (batch, e) time of the first occurrence of an event, or NaN
    count: IntegerMatrix  # (batch, e) number of occurrences
    ended: Vector  # (batch) the time reached
    accepted: Integers  # (batch)
    rejected: Integers  # (batch)
    evaluations: Integers  # (batch)
    condition: Vector  # (batch) condition number of the choice of velocities
    reals: Matrix  # (batch, 4) time, step, limit of the condition number, last error
    counters: IntegerMatrix  # (batch, 4) phase, and counters of stiffness detection
    signs: IntegerMatrix  # (batch, e) of the events
    contact_least: Matrix  # (batch, c) least contact margins
    unresolved: Integers  # (batch) 1 + an event that varies too fast for a step, or 0


class SampleStepper(Record):
    """A stepper that runs one sample at a time."""

    stepper: Stepper  # memory of the loop
    settings: Stepper  # its initial state for every sample
    batch: Batch


def advance_samples(p: SampleStepper) -> int:
    """Run the samples one after the other; return their number."""
    batch, done = p.batch, 0
    for index in range(batch.size):
        if batch.action[index] == SKIP:
            continue
        if batch.stop[0] != 0:
            return done
        load(p, index)
        reason = advance_sample(p, index)
        if reason == PAUSED:
            return done
        store_result(p, index, reason)
        done += 1
    return done


def load(p: SampleStepper, index: int) -> None:
    """Load a sample into the stepper, at its start or where it was stopped."""
    s, batch = p.stepper, p.batch
    restore(s, p.settings)
    copy(batch.start_x[index], s.x, s.states)
    copy(batch.start_u[index], s.u, s.inputs)
    copy(batch.start_p[index], s.parameters, len(s.parameters))
    s.sample_x = batch.states[index]
    if batch.action[index] == RESUME:
        resume(p, index)


def resume(p: SampleStepper, index: int) -> None:
    """Resume a sample."""
    s, batch = p.stepper, p.batch
    reals, counters = batch.reals[index], batch.counters[index]
    s.t, s.h, s.limit, s.last_error = reals[0], reals[1], reals[2], reals[3]
    s.phase, s.check_stiffness = int(counters[0]), int(counters[1])
    s.condition = batch.condition[index]
    s.stiff_steps, s.nonstiff_steps = int(counters[2]), int(counters[3])
    s.sample_count = int(batch.sample_count[index])
    s.accepted = int(batch.accepted[index])
    s.rejected = int(batch.rejected[index])
    s.evaluations = int(batch.evaluations[index])
    for e in range(s.events):
        s.sign[e] = batch.signs[index, e]
    copy(batch.contact_least[index], s.contact_least, s.contacts)


def advance_sample(p: SampleStepper, index: int) -> int:
    """Run a sample to its end and empty the buffers of steps and events; PAUSED if it was stopped."""
    s, batch = p.stepper, p.batch
    while True:
        reason = advance(s)
        gather_events(p, index)
        if reason == FULL:
            s.step_count = 0
        elif reason == STIFF and batch.ignore_stiffness != 0:
            s.check_stiffness = 0
        elif reason != PAUSED or batch.stop[0] != 0:
            return reason


def gather_events(p: SampleStepper, index: int) -> None:
    """Count the events since the last call."""
    s, batch = p.stepper, p.batch
    for j in range(s.event_count):
        event = int(s.event_index[j])
        if batch.count[index, event] == 0:
            batch.first[index, event] = s.event_time[j]
        batch.count[index, event] += 1
    s.event_count = 0


def store_result(p: SampleStepper, index: int, reason: int) -> None:
    """Store how a sample ended, and its state."""
    s, batch = p.stepper, p.batch
    copy(s.x, s.sample_x[s.samples], s.states)
    batch.reason[index] = reason
    batch.sample_count[index] = s.sample_count
    batch.stopping_event[index] = s.stopping_event
    batch.ended[index] = s.t
    batch.accepted[index] = s.accepted
    batch.rejected[index] = s.rejected
    batch.evaluations[index] = s.evaluations
    batch.condition[index] = s.condition
    if s.unresolved_event != 0:
        batch.unresolved[index] = s.unresolved_event
    reals, counters = batch.reals[index], batch.counters[index]
    reals[0], reals[1], reals[2], reals[3] = s.t, s.h, s.limit, s.last_error
    counters[0] = CHANGED if s.phase == RUNNING else s.phase
    counters[1], counters[2], counters[3] = s.check_stiffness, s.stiff_steps, s.nonstiff_steps
    for e in range(s.events):
        batch.signs[index, e] = s.sign[e]
    copy(s.contact_least, batch.contact_least[index], s.contacts)


EMPTY = -1
PENDING = -2  # the attempt is not yet rejected


class Group(Record):
    """Samples side by side, with arguments and results of the vector kernel: number i of sample k is at i · lanes + k."""

    lanes: int  # of the vector kernel; fixed when this is compiled
    slots: list[SampleStepper]  # (lanes)
    sample_of: Integers  # (lanes) the sample in a slot, or EMPTY
    kernel: int
    time: Vector  # (lanes)
    state: Vector  # (n · lanes)
    inputs: Vector  # (m · lanes)
    parameters: Vector  # (p · lanes)
    rates: Matrix  # (stages + 1, n · lanes) of the round's step
    old: Vector  # (n · lanes) the states at its beginning …
    new: Vector  # (n · lanes) … and at its end
    lengths: Vector  # (n · lanes) the step of a sample, for each of its states
    error: Matrix  # (2, n · lanes)
    sums: Matrix  # (2, lanes) of squares of the errors
    contact_kernel: int  # of contact margins, or 0
    margins: Vector  # (c · lanes)
    step: Vector  # (lanes) of the round
    new_time: Vector  # (lanes)
    size: Vector  # (lanes) of the errors
    outcome: Integers  # (lanes) of the round
    accepted: Integers  # (lanes) whether the round's step was accepted
    begin: Vector  # (lanes) of the round's step


def advance_groups(g: Group) -> int:
    """Run the samples, as many at a time as there are lanes; return 1 if all were run."""
    stop, following = g.slots[0].batch.stop, 0
    for k in range(g.lanes):
        g.sample_of[k] = EMPTY
    while stop[0] == 0:
        busy = 0
        for k in range(g.lanes):
            if g.sample_of[k] == EMPTY:
                following = take_next(g, k, following)
            if g.sample_of[k] != EMPTY:
                busy += 1
        if busy == 0:
            return 1
        attempt_round(g)
        finish_round(g)
    return 0


def take_next(g: Group, k: int, following: int) -> int:
    """Load the next sample that can start into a slot; return the one after it."""
    p = g.slots[k]
    s, batch = p.stepper, p.batch
    for index in range(following, batch.size):
        if batch.action[index] != SKIP:
            load(p, index)
            reason = begin(s) if s.phase != RUNNING else CONTINUE
            if reason == CONTINUE:
                reason = check_before_step(p, index)
            if reason == CONTINUE:
                g.sample_of[k] = index
                scatter(s.u, g.inputs, s.inputs, k, g.lanes)
                scatter(s.parameters, g.parameters, len(s.parameters), k, g.lanes)
                return index + 1
            store_result(p, index, reason)
    return batch.size


def check_before_step(p: SampleStepper, index: int) -> int:
    """The checks of the stepping loop before every step; full buffers are emptied."""
    s = p.stepper
    if s.t == s.end:
        return REACHED
    if s.accepted + s.rejected >= s.max_steps:
        return TOO_MANY_STEPS
    if s.event_count + ROOTS * s.events > s.event_room:
        gather_events(p, index)
    if s.step_count >= s.step_room:
        s.step_count = 0
    return CONTINUE


def attempt_round(g: Group) -> None:
    """The stages of a step of every sample, and its end; in slots without a sample whatever is there."""
    m, width = g.slots[0].stepper.tableau, len(g.old)
    for k in range(g.lanes):
        if g.sample_of[k] != EMPTY:
            s = g.slots[k].stepper
            g.step[k], g.new_time[k] = next_step(s)
            g.begin[k] = s.t
            scatter(s.x, g.old, s.states, k, g.lanes)
            scatter(s.k[0], g.rates[0], s.states, k, g.lanes)
            fill(g.step[k], g.lengths, s.states, k, g.lanes)
            s.evaluations += m.stages - 1
    for row in range(1, m.stages):
        points(g.rates, m.weights[row], row, g.old, g.lengths, g.state, width)
        for k in range(g.lanes):
            g.time[k] = g.begin[k] + m.nodes[row] * g.step[k]
        call_kernel(g.kernel, (g.time, g.state, g.inputs, g.parameters), (g.rates[row],))
    points(g.rates, m.weights[m.stages], m.stages, g.old, g.lengths, g.new, width)


def points(rates: Matrix, weights: Vector, count: int, old: Vector, lengths: Vector, target: Vector, width: int) -> None:
    """`stage_point` of all samples."""
    weighted_sum(rates, weights, count, target, width)
    for i in range(width):
        target[i] = old[i] + lengths[i] * target[i]


def error_sizes(g: Group) -> None:
    """`error_size` of all samples."""
    s = g.slots[0].stepper
    m, width = s.tableau, len(g.old)
    weighted_sum(g.rates, m.error[0], m.stages, g.error[0], width)
    weighted_sum(g.rates, m.error[1], m.stages, g.error[1], width)
    add_squares(s.atol, s.rtol, g.old, g.new, g.error[0], g.sums[0], s.states, g.lanes)
    add_squares(s.atol, s.rtol, g.old, g.new, g.error[1], g.sums[1], s.states, g.lanes)
    for k in range(g.lanes):
        main, other = g.sums[0, k], g.sums[1, k]
        g.size[k] = 0.0
        if main != 0.0:
            g.size[k] = abs(g.step[k]) * main / math.sqrt((main + 0.01 * other) * s.states)


def add_squares(
    atol: Vector, rtol: float, old: Vector, new: Vector, error: Vector, sums: Vector, states: int, lanes: int
) -> None:
    """sums = Σ (error / tolerance)² over the states of every sample."""
    for k in range(lanes):
        sums[k] = 0.0
    for i in range(states):
        absolute = atol[i]
        for k in range(lanes):
            j = i * lanes + k
            unit = 1.0 / (absolute + rtol * max(abs(old[j]), abs(new[j])))
            sums[k] += (error[j] * unit) ** 2


def finish_round(g: Group) -> None:
    """New states, their errors and rates, and acceptance or rejection."""
    m = g.slots[0].stepper.tableau
    if g.slots[0].stepper.adaptive != 0:
        error_sizes(g)
    else:
        for k in range(g.lanes):
            g.size[k] = 0.0
    for k in range(g.lanes):
        g.outcome[k], g.accepted[k] = CONTINUE, 0
        if g.sample_of[k] != EMPTY:
            s, h = g.slots[k].stepper, g.step[k]
            collect(g.new, s.new, s.states, k, g.lanes)
            for row in range(1, m.stages):
                collect(g.rates[row], s.k[row], s.states, k, g.lanes)
            if first_nonfinite(s.new, s.states) >= 0:
                g.outcome[k] = halve_step(s, m, h, m.stages - 1)
            elif not g.size[k] <= 1.0:
                collect(g.error[0], s.error[0], s.states, k, g.lanes)
                g.outcome[k] = reject(s, m, h, g.size[k])
            else:
                g.outcome[k] = PENDING
                copy(s.new, s.point, s.width)
    call_kernel(g.kernel, (g.new_time, g.new, g.inputs, g.parameters), (g.rates[m.stages],))
    for k in range(g.lanes):
        if g.sample_of[k] != EMPTY:
            p = g.slots[k]
            s = p.stepper
            if g.outcome[k] == PENDING:
                collect(g.rates[m.stages], s.k[m.stages], s.states, k, g.lanes)
                s.evaluations += 1
                g.accepted[k] = s.accepted
                g.outcome[k] = accept_attempt(p, g.step[k], g.new_time[k], g.size[k])
                g.accepted[k] = s.accepted - g.accepted[k]
    if g.contact_kernel != 0:
        monitor_round(g)
    for k in range(g.lanes):
        if g.sample_of[k] != EMPTY:
            p, index = g.slots[k], int(g.sample_of[k])
            if g.outcome[k] == CONTINUE:
                g.outcome[k] = check_before_step(p, index)
            if g.outcome[k] != CONTINUE:
                gather_events(p, index)
                store_result(p, index, int(g.outcome[k]))
                g.sample_of[k] = EMPTY


def monitor_round(g: Group) -> None:
    """The contact margins of the samples whose step was accepted."""
    for k in range(g.lanes):
        if g.sample_of[k] != EMPTY:
            s = g.slots[k].stepper
            g.time[k] = s.t
            scatter(s.x, g.state, s.states, k, g.lanes)
    call_kernel(g.contact_kernel, (g.time, g.state, g.inputs, g.parameters), (g.margins,))
    for k in range(g.lanes):
        if g.sample_of[k] != EMPTY and g.accepted[k] != 0:
            s = g.slots[k].stepper
            collect(g.margins, s.contact, s.contacts, k, g.lanes)
            keep_least(s)
            if s.contact_spacing > 0.0:
                monitor_inside(s, g.begin[k], 0)


def accept_attempt(p: SampleStepper, h: float, new_time: float, size: float) -> int:
    """Accept a step with a small error, unless its rate is not finite."""
    s = p.stepper
    m = s.tableau
    if first_nonfinite(s.k[m.stages], s.states) >= 0:
        return halve_step(s, m, h, m.stages)
    stiff = s.check_stiffness != 0 and is_stiff(s, m, h)
    reason = accept(s, m, h, new_time, size)
    if stiff and reason == CONTINUE:
        if p.batch.ignore_stiffness == 0:
            return STIFF
        s.check_stiffness = 0
    return reason


def scatter(source: Vector, target: Vector, length: int, k: int, lanes: int) -> None:
    """Write the numbers of a sample into the interleaved array."""
    for i in range(length):
        target[i * lanes + k] = source[i]


def collect(source: Vector, target: Vector, length: int, k: int, lanes: int) -> None:
    """Read the numbers of a sample from the interleaved array."""
    for i in range(length):
        target[i] = source[i * lanes + k]


def fill(value: float, target: Vector, length: int, k: int, lanes: int) -> None:
    """Write one number into all places of a sample."""
    for i in range(length):
        target[i * lanes + k] = value
