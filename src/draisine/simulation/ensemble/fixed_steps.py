"""Compiled fixed steps of a batch: all members make the same number of equal steps of an explicit Runge–Kutta method.

Restricted Python; `fixed_step_batch` compiles it. Members stand side by side in groups of as many as vector registers have lanes:
number i of lane k is at i · lanes + k. A step has the operations of the stepping loop in the same order, and the kernels of a lane
have the bits of the scalar ones, so that a member moves as in a single run, bit for bit. Members for which the loop would do
something rare (another choice of velocities, a shorter step, a projection that fails) are left where they were and marked; the
driver of single runs makes their steps.
"""

from __future__ import annotations

import math

from draisine.codegen.restricted.types import Integers, Matrix, Record, Vector, call_kernel
from draisine.simulation.stepper.explicit_rk import copy, weighted_sum

ERROR, CONDITION, VALUES = 0, 1, 2  # rows of the results of the kernels `guard` and `report`


class FixedSteps(Record):
    """A batch, and the working memory of one thread."""

    lanes: int  # of the vector kernels; fixed when this is compiled
    first: int  # groups of this thread
    last: int
    substeps: int
    projections: int  # at most, in a step
    stages: int
    states: int
    reported: int  # number of values
    step: float  # of the method
    threshold: float  # of the residual, for projections
    broken: float
    limit: float  # of the condition number
    dynamics: int
    project: int  # or 0
    guard: int  # (t, x, u, p) → residual, condition number; or 0
    report: int  # (t, x, u, p) → residual, condition number, values
    weights: Matrix
    nodes: Vector
    acts: Integers  # (a) inputs that actions set
    low: Vector  # (a) bounds of actions
    high: Vector
    actions: Matrix  # (members, a)
    time: Vector  # (members)
    x: Matrix  # (groups, n · lanes)
    u: Matrix  # (groups, m · lanes)
    p: Matrix  # (groups, parameters · lanes)
    values: Matrix  # (members, c) after the steps
    rare: Integers  # (members) nonzero: the steps are left to the driver
    now: Vector  # (lanes)
    stage_time: Vector  # (lanes)
    old: Vector  # (n · lanes)
    new: Vector  # (n · lanes)
    point: Vector  # (n · lanes)
    rates: Matrix  # (stages, n · lanes)
    found: Vector  # ((2 + c) · lanes)
    error: Vector  # (lanes)
    check: Vector  # (lanes)
    done: Integers  # (lanes)


def advance_fixed(b: FixedSteps) -> int:
    """Make the steps of all groups of this thread; return their number."""
    for g in range(b.first, b.last):
        set_inputs(b, g)
        advance_group(b, g)
    return b.last - b.first


def set_inputs(b: FixedSteps, g: int) -> None:
    """The inputs of a group, from its actions within their bounds."""
    u = b.u[g]
    for k in range(b.lanes):
        for j in range(len(b.acts)):
            given = b.actions[g * b.lanes + k, j]
            if given < b.low[j]:
                given = b.low[j]
            if given > b.high[j]:
                given = b.high[j]
            u[b.acts[j] * b.lanes + k] = given


def advance_group(b: FixedSteps, g: int) -> None:
    """The steps of a group; its members that need something rare are marked and stay where they were."""
    lanes, width, first = b.lanes, b.states * b.lanes, g * b.lanes
    x, u, p = b.x[g], b.u[g], b.p[g]
    copy(x, b.old, width)
    for k in range(lanes):
        b.now[k] = b.time[first + k]
        b.rare[first + k] = 0
    for index in range(b.substeps):
        runge_kutta(b, u, p, width)
        for k in range(lanes):
            b.now[k] = b.time[first + k] + (index + 1) * b.step
        keep_constraints(b, g, b.report if index + 1 == b.substeps else b.guard)
        copy(b.new, b.old, width)
    for k in range(lanes):
        if b.rare[first + k] == 0:
            for i in range(b.states):
                x[i * lanes + k] = b.new[i * lanes + k]
            for j in range(b.reported):
                b.values[first + k, j] = b.found[(VALUES + j) * lanes + k]


def runge_kutta(b: FixedSteps, u: Vector, p: Vector, width: int) -> None:
    """One step from `old` to `new`."""
    call_kernel(b.dynamics, (b.now, b.old, u, p), (b.rates[0],))
    for row in range(1, b.stages):
        stage(b, row, b.point, width)
        for k in range(b.lanes):
            b.stage_time[k] = b.now[k] + b.nodes[row] * b.step
        call_kernel(b.dynamics, (b.stage_time, b.point, u, p), (b.rates[row],))
    stage(b, b.stages, b.new, width)


def stage(b: FixedSteps, row: int, target: Vector, width: int) -> None:
    """`stage_point` of all members."""
    h, old = b.step, b.old
    weighted_sum(b.rates, b.weights[row], row, target, width)
    for i in range(width):
        target[i] = old[i] + h * target[i]


def keep_constraints(b: FixedSteps, g: int, kernel: int) -> None:
    """Project members whose residual exceeds the threshold; mark those that are not finite or ill-conditioned."""
    lanes, first = b.lanes, g * b.lanes
    for k in range(lanes):
        b.check[k] = 0.0
    for i in range(b.states):
        for k in range(lanes):
            b.check[k] += 0.0 * b.new[i * lanes + k]  # NaN where a state is not finite
    for k in range(lanes):
        if math.isnan(b.check[k]):
            b.rare[first + k] = 1
    if kernel == 0:
        return
    u, p = b.u[g], b.p[g]
    call_kernel(kernel, (b.now, b.new, u, p), (b.found,))
    if b.project != 0:
        away = 0
        for k in range(lanes):
            if not b.found[ERROR * lanes + k] <= b.threshold:
                away = 1
        if away != 0:
            project(b, g)
            call_kernel(kernel, (b.now, b.new, u, p), (b.found,))
    for k in range(lanes):
        if not b.found[CONDITION * lanes + k] <= b.limit:
            b.rare[first + k] = 1


def project(b: FixedSteps, g: int) -> None:
    """`project` of the stepping loop, for all members."""
    lanes = b.lanes
    for k in range(lanes):
        b.done[k] = 0
    for _ in range(b.projections):
        call_kernel(b.project, (b.now, b.new, b.u[g], b.p[g]), (b.point, b.error))
        moved = 0
        for k in range(lanes):
            if b.done[k] == 0:
                if b.error[k] <= b.threshold:
                    b.done[k] = 1
                else:
                    moved = 1
                    for i in range(b.states):
                        b.new[i * lanes + k] = b.point[i * lanes + k]
        if moved == 0:
            return
    for k in range(lanes):
        if not b.error[k] <= b.broken:
            b.rare[g * lanes + k] = 1
