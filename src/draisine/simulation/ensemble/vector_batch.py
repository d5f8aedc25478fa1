"""Several lanes side by side: each with its own time, step and fate, their stages evaluated together by a wide kernel.

A round is one attempt of every lane of a group. All that follows from an attempt (error, events, samples, projection) is the
stepping loop's own, lane by lane; a lane that has ended makes room for the next one. Nothing is shared but the kernel's call, so
that a lane makes the steps it would make alone. Compiled like `lanes`.
"""

from __future__ import annotations

from draisine.codegen.restricted.record import Record, call_kernel
from draisine.codegen.restricted.types import Integers, Vector
from draisine.codegen.simd import LANES
from draisine.simulation.ensemble.batch import LEFT_OUT, Place, gather_events, leave, load
from draisine.simulation.stepper.explicit_rk import copy, error_size, first_bad, looks_stiff, place
from draisine.simulation.stepper.layout import GO_ON, GRID, REACHED, RUNNING, STIFF, TOO_MANY_STEPS
from draisine.simulation.stepper.loop import accept, begin
from draisine.simulation.stepper.step_size_control import next_step, reject, retreat

NOBODY = -1
PENDING = -2  # the attempt is good as far as is known


class Group(Record):
    """Lanes side by side, and what the wide kernel reads and writes of them: number i of lane k lies at i · LANES + k."""

    places: list[Place]  # LANES of them
    lane_of: Integers  # (LANES) the lane that a place has, or NOBODY
    kernel: int
    time: Vector  # (LANES)
    state: Vector  # (n · LANES)
    inputs: Vector  # (m · LANES)
    parameters: Vector  # (p · LANES)
    rate: Vector  # (n · LANES)
    step: Vector  # (LANES) of the round
    new_time: Vector  # (LANES)
    size: Vector  # (LANES) of the errors
    verdict: Integers  # (LANES) of the round


def advance_groups(g: Group) -> int:
    """Run the wanted lanes, some at a time; return 1 if all were."""
    stop, following = g.places[0].batch.stop, 0
    for k in range(LANES):
        g.lane_of[k] = NOBODY
    while stop[0] == 0:
        busy = 0
        for k in range(LANES):
            if g.lane_of[k] == NOBODY:
                following = take_next(g, k, following)
            if g.lane_of[k] != NOBODY:
                busy += 1
        if busy == 0:
            return 1
        attempt_round(g)
        judge_round(g)
    return 0


def take_next(g: Group, k: int, following: int) -> int:
    """Give a place the next wanted lane that can begin; return the one after it."""
    p = g.places[k]
    s, batch = p.stepper, p.batch
    for lane in range(following, batch.lanes):
        if batch.wanted[lane] != LEFT_OUT:
            load(p, lane)
            reason = begin(s) if s.phase != RUNNING else GO_ON
            if reason == GO_ON:
                reason = before_a_step(p, lane)
            if reason == GO_ON:
                g.lane_of[k] = lane
                spread(s.u, g.inputs, s.inputs, k)
                spread(s.parameters, g.parameters, len(s.parameters), k)
                return lane + 1
            leave(p, lane, reason)
    return batch.lanes


def before_a_step(p: Place, lane: int) -> int:
    """What the stepping loop asks before every step; buffers are emptied."""
    s = p.stepper
    if s.t == s.end:
        return REACHED
    if s.accepted + s.rejected >= s.max_steps:
        return TOO_MANY_STEPS
    if s.happened + GRID * s.events > s.event_room:
        gather_events(p, lane)
    if s.stepped >= s.step_room:
        s.stepped = 0
    return GO_ON


def attempt_round(g: Group) -> None:
    """The stages of a step of every lane."""
    m = g.places[0].stepper.tableau
    for k in range(LANES):
        if g.lane_of[k] != NOBODY:
            g.step[k], g.new_time[k] = next_step(g.places[k].stepper)
    for row in range(1, m.stages):
        for k in range(LANES):
            if g.lane_of[k] != NOBODY:
                s = g.places[k].stepper
                place(s, m, row, g.step[k], s.point)
                g.time[k] = s.t + m.nodes[row] * g.step[k]
                spread(s.point, g.state, s.states, k)
        call_kernel(g.kernel, (g.time, g.state, g.inputs, g.parameters), (g.rate,))
        for k in range(LANES):
            if g.lane_of[k] != NOBODY:
                s = g.places[k].stepper
                collect(g.rate, s.k[row], s.states, k)
                s.evaluations += 1


def judge_round(g: Group) -> None:
    """New states, their errors and rates, and what follows from them."""
    m = g.places[0].stepper.tableau
    for k in range(LANES):
        g.verdict[k] = GO_ON
        if g.lane_of[k] != NOBODY:
            s, h = g.places[k].stepper, g.step[k]
            place(s, m, m.stages, h, s.new)
            g.size[k] = 0.0
            if s.adaptive != 0:
                g.size[k] = error_size(s, m, h)
            if first_bad(s.new, s.states) >= 0:
                g.verdict[k] = retreat(s, m, h, m.stages - 1)
            elif not g.size[k] <= 1.0:
                g.verdict[k] = reject(s, m, h, g.size[k])
            else:
                g.verdict[k] = PENDING
                g.time[k] = g.new_time[k]
                copy(s.new, s.point, s.width)
                spread(s.new, g.state, s.states, k)
    call_kernel(g.kernel, (g.time, g.state, g.inputs, g.parameters), (g.rate,))
    for k in range(LANES):
        if g.lane_of[k] != NOBODY:
            p, lane = g.places[k], int(g.lane_of[k])
            s = p.stepper
            if g.verdict[k] == PENDING:
                collect(g.rate, s.k[m.stages], s.states, k)
                s.evaluations += 1
                g.verdict[k] = arrive_at(p, g.step[k], g.new_time[k], g.size[k])
            if g.verdict[k] == GO_ON:
                g.verdict[k] = before_a_step(p, lane)
            if g.verdict[k] != GO_ON:
                gather_events(p, lane)
                leave(p, lane, int(g.verdict[k]))
                g.lane_of[k] = NOBODY


def arrive_at(p: Place, h: float, new_time: float, size: float) -> int:
    """Accept a step whose error is small enough, unless its rate is not finite."""
    s = p.stepper
    m = s.tableau
    if first_bad(s.k[m.stages], s.states) >= 0:
        return retreat(s, m, h, m.stages)
    stiff = s.suspect != 0 and looks_stiff(s, m, h)
    reason = accept(s, m, h, new_time, size)
    if stiff and reason == GO_ON:
        if p.batch.bears_stiffness == 0:
            return STIFF
        s.suspect = 0
    return reason


def spread(source: Vector, target: Vector, length: int, k: int) -> None:
    """Numbers of a lane to its place among the others."""
    for i in range(length):
        target[i * LANES + k] = source[i]


def collect(source: Vector, target: Vector, length: int, k: int) -> None:
    """Numbers of a lane from its place among the others."""
    for i in range(length):
        target[i] = source[i * LANES + k]
