"""Several lanes side by side: each with its own time, step and fate, their stages evaluated together by a wide kernel.

A round is one attempt of every lane of a group. All that follows from an attempt (error, events, samples, projection) is the
stepping loop's own, lane by lane; a lane that has ended makes room for the next one. Nothing is shared but the kernel's call, so
that a lane makes the steps it would make alone. Compiled like `lanes`.
"""

from __future__ import annotations

from draisine.codegen.simd.vector_kernel import LANES
from draisine.simulation.ensemble.batch import (
    BEARS_STIFFNESS,
    BLOCK,
    ENTRIES,
    LEFT_OUT,
    PARAMETER_COUNT,
    PARAMETERS,
    STOP,
    WANTED,
    gather_events,
    leave,
    load,
)
from draisine.simulation.ensemble.batch import LANES as LANE_COUNT
from draisine.simulation.stepper.explicit_rk import copy, error_size, first_bad, looks_stiff, place, row_at
from draisine.simulation.stepper.layout import GO_ON, GRID, REACHED, RUNNING, STIFF, TOO_MANY_STEPS
from draisine.simulation.stepper.loop import accept, begin
from draisine.simulation.stepper.native import call_kernel, integers_at, plain_block_at, reals_at, scheme_at
from draisine.simulation.stepper.step_size_control import next_step, reject, retreat

# Entries of the table of a group.
(
    TABLES,  # (LANES) a table of `lanes` for each place
    LANE_OF,  # (LANES) the lane that a place has, or NOBODY
    KERNEL,
    ARGUMENTS,  # time, state, inputs, parameters
    RESULTS,  # rates
    TIME,  # (1, LANES)
    STATE,  # (n, LANES)
    INPUTS,  # (m, LANES)
    GROUP_PARAMETERS,  # (p, LANES)
    RATE,  # (n, LANES)
    STEP,  # (LANES) of the round
    NEW_TIME,  # (LANES)
    SIZE,  # (LANES) of the errors
    VERDICT,  # (LANES) of the round
    GROUP_ENTRIES,
) = range(15)

NOBODY = -1
PENDING = -2  # the attempt is good as far as is known


def advance_groups(address: int) -> int:
    """Run the wanted lanes, some at a time; return 1 if all were."""
    group = integers_at(address, GROUP_ENTRIES)
    tables, lane_of = integers_at(group[TABLES], LANES), integers_at(group[LANE_OF], LANES)
    stop = integers_at(integers_at(tables[0], ENTRIES)[STOP], 1)
    following = 0
    for place_ in range(LANES):
        lane_of[place_] = NOBODY
    while stop[0] == 0:
        busy = 0
        for place_ in range(LANES):
            if lane_of[place_] == NOBODY:
                following = take_next(address, place_, following)
            if lane_of[place_] != NOBODY:
                busy += 1
        if busy == 0:
            return 1
        attempt_round(address)
        judge_round(address)
    return 0


def take_next(address: int, place_: int, following: int) -> int:
    """Give a place the next wanted lane that can begin; return the one after it."""
    group = integers_at(address, GROUP_ENTRIES)
    table_at = integers_at(group[TABLES], LANES)[place_]
    table = integers_at(table_at, ENTRIES)
    s = plain_block_at(table[BLOCK])
    wanted = integers_at(table[WANTED], table[LANE_COUNT])
    for lane in range(following, table[LANE_COUNT]):
        if wanted[lane] != LEFT_OUT:
            load(table_at, lane)
            reason = begin(s) if s.phase != RUNNING else GO_ON
            if reason == GO_ON:
                reason = before_a_step(table_at, lane)
            if reason == GO_ON:
                integers_at(group[LANE_OF], LANES)[place_] = lane
                spread(s.inputs_at, group[INPUTS], s.inputs, place_)
                spread(table[PARAMETERS], group[GROUP_PARAMETERS], table[PARAMETER_COUNT], place_)
                return lane + 1
            leave(table_at, lane, reason)
    return table[LANE_COUNT]


def before_a_step(table_at: int, lane: int) -> int:
    """What the stepping loop asks before every step; buffers are emptied."""
    s = plain_block_at(integers_at(table_at, ENTRIES)[BLOCK])
    if s.t == s.end:
        return REACHED
    if s.accepted + s.rejected >= s.max_steps:
        return TOO_MANY_STEPS
    if s.happened + GRID * s.events > s.event_room:
        gather_events(table_at, lane)
    if s.stepped >= s.step_room:
        s.stepped = 0
    return GO_ON


def attempt_round(address: int) -> None:
    """The stages of a step of every lane."""
    group = integers_at(address, GROUP_ENTRIES)
    tables, lane_of = integers_at(group[TABLES], LANES), integers_at(group[LANE_OF], LANES)
    steps, new_times = reals_at(group[STEP], LANES), reals_at(group[NEW_TIME], LANES)
    times = reals_at(group[TIME], LANES)
    m = scheme_at(plain_block_at(integers_at(tables[0], ENTRIES)[BLOCK]).scheme_at)
    nodes = reals_at(m.nodes_at, m.rows)
    for k in range(LANES):
        if lane_of[k] != NOBODY:
            steps[k], new_times[k] = next_step(plain_block_at(integers_at(tables[k], ENTRIES)[BLOCK]))
    for row in range(1, m.stages):
        for k in range(LANES):
            if lane_of[k] != NOBODY:
                s = plain_block_at(integers_at(tables[k], ENTRIES)[BLOCK])
                place(s, m, row, steps[k], s.point_at)
                times[k] = s.t + nodes[row] * steps[k]
                spread(s.point_at, group[STATE], s.states, k)
        call_kernel(group[KERNEL], group[ARGUMENTS], group[RESULTS])
        for k in range(LANES):
            if lane_of[k] != NOBODY:
                s = plain_block_at(integers_at(tables[k], ENTRIES)[BLOCK])
                collect(group[RATE], row_at(s, row), s.states, k)
                s.evaluations += 1


def judge_round(address: int) -> None:
    """New states, their errors and rates, and what follows from them."""
    group = integers_at(address, GROUP_ENTRIES)
    tables, lane_of = integers_at(group[TABLES], LANES), integers_at(group[LANE_OF], LANES)
    steps, new_times = reals_at(group[STEP], LANES), reals_at(group[NEW_TIME], LANES)
    sizes, verdict, times = reals_at(group[SIZE], LANES), integers_at(group[VERDICT], LANES), reals_at(group[TIME], LANES)
    m = scheme_at(plain_block_at(integers_at(tables[0], ENTRIES)[BLOCK]).scheme_at)
    for k in range(LANES):
        verdict[k] = GO_ON
        if lane_of[k] != NOBODY:
            s = plain_block_at(integers_at(tables[k], ENTRIES)[BLOCK])
            place(s, m, m.stages, steps[k], s.new_at)
            sizes[k] = 0.0
            if s.adaptive != 0:
                sizes[k] = error_size(s, m, steps[k])
            if first_bad(s.new_at, s.states) >= 0:
                verdict[k] = retreat(s, m, steps[k], m.stages - 1)
            elif not sizes[k] <= 1.0:
                verdict[k] = reject(s, m, steps[k], sizes[k])
            else:
                verdict[k] = PENDING
                times[k] = new_times[k]
                copy(s.new_at, s.point_at, s.width)
                spread(s.new_at, group[STATE], s.states, k)
    call_kernel(group[KERNEL], group[ARGUMENTS], group[RESULTS])
    for k in range(LANES):
        if lane_of[k] != NOBODY:
            s = plain_block_at(integers_at(tables[k], ENTRIES)[BLOCK])
            if verdict[k] == PENDING:
                collect(group[RATE], row_at(s, m.stages), s.states, k)
                s.evaluations += 1
                verdict[k] = arrive_at(tables[k], steps[k], new_times[k], sizes[k])
            if verdict[k] == GO_ON:
                verdict[k] = before_a_step(tables[k], lane_of[k])
            if verdict[k] != GO_ON:
                gather_events(tables[k], lane_of[k])
                leave(tables[k], lane_of[k], verdict[k])
                lane_of[k] = NOBODY


def arrive_at(table_at: int, h: float, new_time: float, size: float) -> int:
    """Accept a step whose error is small enough, unless its rate is not finite."""
    table = integers_at(table_at, ENTRIES)
    s = plain_block_at(table[BLOCK])
    m = scheme_at(s.scheme_at)
    if first_bad(row_at(s, m.stages), s.states) >= 0:
        return retreat(s, m, h, m.stages)
    stiff = s.suspect != 0 and looks_stiff(s, m, h)
    reason = accept(s, m, h, new_time, size)
    if stiff and reason == GO_ON:
        if table[BEARS_STIFFNESS] == 0:
            return STIFF
        s.suspect = 0
    return reason


def spread(source: int, target: int, length: int, place_: int) -> None:
    """Numbers of a lane to its place among the others."""
    a, b = reals_at(source, length), reals_at(target, length * LANES)
    for i in range(length):
        b[i * LANES + place_] = a[i]


def collect(source: int, target: int, length: int, place_: int) -> None:
    """Numbers of a lane from its place among the others."""
    a, b = reals_at(source, length * LANES), reals_at(target, length)
    for i in range(length):
        b[i] = a[i * LANES + place_]
