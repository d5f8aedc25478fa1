"""Compiled fixed steps of a batch: all members make the same number of equal steps of the classical Runge–Kutta method.

Restricted Python; `fixed_step_batch` compiles it. Members stand side by side in groups of as many as vector registers have lanes:
number i of lane k is at i · lanes + k. A step has the operations of the stepping loop in the same order, and the kernels of a
lane have the bits of the scalar ones, so that a member moves as in a single run, bit for bit. Members for which the loop would
do something rare (another choice of velocities, a shorter step, a projection that fails) are left where they were and marked;
the driver of single runs makes their steps.
"""

from __future__ import annotations

import math

from draisine.codegen.restricted.types import Integers, Matrix, Record, Vector, call_kernel
from draisine.simulation.stepper.explicit_rk import copy

ERROR, CONDITION, VALUES = 0, 1, 2  # rows of the results of the kernels `guard` and `report`


class FixedSteps(Record):
    """A batch, and the working memory of one thread."""

    lanes: int  # of the vector kernels; fixed when this is compiled
    first: int  # groups of this thread
    last: int
    substeps: int
    projections: int  # at most, in a step
    states: int
    reported: int  # number of values
    step: float  # of the method
    threshold: float  # of the residual, for projections
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
    conditions: Integers  # values that are not zero where something is to be examined …
    crossings: Integers  # (e) … and values whose change of sign is
    before: Matrix  # (members, e) the latter before the steps
    after: Matrix  # (members, e)
    flags: Integers  # (members) nonzero: a condition holds, or a sign has changed
    rare: Integers  # (members) nonzero: the steps are left to the driver
    now: Vector  # (lanes)
    stage_time: Vector  # (lanes)
    old: Vector  # (n · lanes)
    new: Vector  # (n · lanes)
    point: Vector  # (n · lanes)
    rates: Matrix  # (4, n · lanes)
    found: Vector  # ((2 + c) · lanes)
    error: Vector  # (lanes) of the projection
    check: Vector  # (lanes)


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
            examine(b, first + k)


def examine(b: FixedSteps, member: int) -> None:
    """Flag a member with a condition that holds, or is not a number, or a value that has changed its sign."""
    b.flags[member] = 0
    for j in range(len(b.conditions)):
        if b.values[member, b.conditions[j]] != 0.0:
            b.flags[member] = 1
    for j in range(len(b.crossings)):
        b.before[member, j] = b.after[member, j]
        b.after[member, j] = b.values[member, b.crossings[j]]
        if not b.before[member, j] * b.after[member, j] > 0.0:
            b.flags[member] = 1


def runge_kutta(b: FixedSteps, u: Vector, p: Vector, width: int) -> None:
    """One step of the classical method from `old` to `new`; sums are those of `stage_point`, in its order."""
    h, old, point, new, weights = b.step, b.old, b.point, b.new, b.weights
    call_kernel(b.dynamics, (b.now, old, u, p), (b.rates[0],))
    for row in range(1, 4):
        weight, last = weights[row, row - 1], b.rates[row - 1]
        for i in range(width):
            point[i] = old[i] + h * (0.0 + weight * last[i])
        for k in range(b.lanes):
            b.stage_time[k] = b.now[k] + b.nodes[row] * h
        call_kernel(b.dynamics, (b.stage_time, point, u, p), (b.rates[row],))
    w0, w1, w2, w3 = weights[4, 0], weights[4, 1], weights[4, 2], weights[4, 3]
    k0, k1, k2, k3 = b.rates[0], b.rates[1], b.rates[2], b.rates[3]
    for i in range(width):
        new[i] = old[i] + h * ((((0.0 + w0 * k0[i]) + w1 * k1[i]) + w2 * k2[i]) + w3 * k3[i])


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
        for _ in range(b.projections):  # Newton steps
            if not project(b, g):
                break
            call_kernel(kernel, (b.now, b.new, u, p), (b.found,))
    for k in range(lanes):
        if not (b.found[CONDITION * lanes + k] <= b.limit and b.found[ERROR * lanes + k] <= b.threshold):
            b.rare[first + k] = 1


def project(b: FixedSteps, g: int) -> bool:
    """Project the members whose residual exceeds the threshold, as the stepping loop does; return whether there are any."""
    lanes, away = b.lanes, False
    for k in range(lanes):
        if b.found[ERROR * lanes + k] > b.threshold:
            away = True
    if away:
        call_kernel(b.project, (b.now, b.new, b.u[g], b.p[g]), (b.point, b.error))
        for k in range(lanes):
            if b.found[ERROR * lanes + k] > b.threshold:
                for i in range(b.states):
                    b.new[i * lanes + k] = b.point[i * lanes + k]
    return away
