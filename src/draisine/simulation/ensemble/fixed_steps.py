"""Compiled fixed steps of a batch: all members make the same number of equal steps of the classical Runge–Kutta method.

Restricted Python; `fixed_step_batch` compiles it. Members stand side by side in groups of as many as vector registers have lanes:
number i of lane k is at i · lanes + k. A step has the operations of the stepping loop in the same order, and the kernels of a
lane have the bits of the scalar ones, so that a member moves as in a single run, bit for bit. Members for which the loop would
do something rare (another choice of velocities, a shorter step, a projection that fails) are left where they were and marked;
the driver of single runs makes their steps.

Stopping events are looked for within every step, not at its end alone: their functions are evaluated on the cubic through the
stages of the step, x(θ) = x₀ + h Σ bᵢ(θ) kᵢ with b₀ = θ − 3θ²/2 + 2θ³/3, b₁ = b₂ = θ² − 2θ³/3, b₃ = −θ²/2 + 2θ³/3, which needs no
further derivative (E. Hairer, S. P. Nørsett, G. Wanner, Solving Ordinary Differential Equations I, 2nd ed. 1993, section II.6).
A function stays away from zero if it is farther from it than it varies, or if the Bernstein coefficients of the polynomial
through its values miss zero by four times the last Chebyshev coefficients (`event_polynomials`). Members for which neither holds,
and whose event has not changed its sign from the start to the end, are left to the driver, which isolates zeros.
"""

from __future__ import annotations

import math

from draisine.codegen.restricted.types import Integers, Matrix, Record, Vector, call_kernel
from draisine.simulation.stepper.explicit_rk import copy

FAR = 8.0  # distance of an event from zero, relative to its change in a step, from which on three points of the step suffice
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
    events: int  # (t, x, u, p) → functions of stopping events; or 0
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
    directions: Integers  # (e) in which they stop, or 0
    event_states: Integers  # states on which stopping events depend
    node: Vector  # (c) fractions of a step
    bernstein: Matrix  # (c, c) coefficients of the polynomial through values at the nodes
    tail: Matrix  # (2, c) its last Chebyshev coefficients
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
    near: Vector  # (lanes) nonzero: an event may have occurred within the step
    path: Matrix  # (c, e · lanes) functions of events at the nodes
    part: Vector  # (c) of one event


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
    if b.events != 0:
        begin_path(b, first)
    for index in range(b.substeps):
        runge_kutta(b, u, p, width)
        for k in range(lanes):
            b.now[k] = b.time[first + k] + (index + 1) * b.step
        keep_constraints(b, g, b.report if index + 1 == b.substeps else b.guard)
        if b.events != 0:
            examine_path(b, u, p, first, index)
        copy(b.new, b.old, width)
    if b.events != 0:
        leave_near(b, first)
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


def begin_path(b: FixedSteps, first: int) -> None:
    """Functions of events at the start of the steps, as the last node of a step before."""
    last = b.path[len(b.node) - 1]
    for k in range(b.lanes):
        b.near[k] = 0.0
        for j in range(len(b.crossings)):
            last[j * b.lanes + k] = b.after[first + k, j]


def examine_path(b: FixedSteps, u: Vector, p: Vector, first: int, index: int) -> None:
    """Note in `near` the members with an event that may have occurred within the step from `old` to `new`."""
    lanes, last = b.lanes, len(b.node) - 1
    copy(b.path[last], b.path[0], len(b.crossings) * lanes)
    if index + 1 == b.substeps:
        for j in range(len(b.crossings)):
            for k in range(lanes):
                b.path[last, j * lanes + k] = b.found[(VALUES + b.crossings[j]) * lanes + k]
    else:
        call_kernel(b.events, (b.now, b.new, u, p), (b.path[last],))
    middle = last // 2
    events_at(b, u, p, first, index, middle)
    far = True
    for column in range(len(b.crossings) * lanes):
        far = far and is_far(b.path[0, column], b.path[middle, column], b.path[last, column])
    if far:
        return
    for node in range(1, last):
        if node != middle:
            events_at(b, u, p, first, index, node)
    for j in range(len(b.crossings)):
        for k in range(lanes):
            if not stays_away(b, j * lanes + k):
                b.near[k] = 1.0


def events_at(b: FixedSteps, u: Vector, p: Vector, first: int, index: int, node: int) -> None:
    """Functions of events at a node of the step, on the cubic through its stages."""
    lanes, h, theta = b.lanes, b.step, b.node[node]
    k0, k1, k2, k3 = b.rates[0], b.rates[1], b.rates[2], b.rates[3]
    square, cube = theta * theta, theta * theta * theta * (2.0 / 3.0)
    b0, b1, b3 = theta - 1.5 * square + cube, square - cube, cube - 0.5 * square
    for j in range(len(b.event_states)):
        begin = b.event_states[j] * lanes
        for i in range(begin, begin + lanes):
            b.point[i] = b.old[i] + h * (b0 * k0[i] + b1 * (k1[i] + k2[i]) + b3 * k3[i])
    for k in range(lanes):
        b.stage_time[k] = b.time[first + k] + (index + theta) * h
    call_kernel(b.events, (b.stage_time, b.point, u, p), (b.path[node],))


def is_far(start: float, middle: float, end: float) -> bool:
    """Whether three values of a function are much farther from zero than they differ. NaN is not."""
    lowest, highest = min(start, min(middle, end)), max(start, max(middle, end))
    return FAR * (highest - lowest) < max(lowest, -highest) and start + middle + end == start + middle + end


def stays_away(b: FixedSteps, column: int) -> bool:
    """Whether the function of an event stays away from zero in a step."""
    count = len(b.node)
    lowest = b.path[0, column]
    highest = lowest
    for i in range(count):
        value = b.path[i, column]
        if value != value:
            return False
        b.part[i] = value
        lowest, highest = min(lowest, value), max(highest, value)
    spread = highest - lowest
    if lowest > spread + spread or -highest > spread + spread or (lowest == 0.0 and highest == 0.0):
        return True
    if not (lowest > 0.0 or highest < 0.0):
        return False
    margin = 0.0
    for row in range(len(b.tail)):
        margin = max(margin, abs(product(b.tail[row], b.part, count)))
    margin *= 4.0
    for row in range(count):
        coefficient = product(b.bernstein[row], b.part, count)
        if not (coefficient > margin if lowest > 0.0 else coefficient < -margin):
            return False
    return True


def product(a: Vector, b: Vector, count: int) -> float:
    total = 0.0
    for i in range(count):
        total += a[i] * b[i]
    return total


def leave_near(b: FixedSteps, first: int) -> None:
    """Leave to the driver the members that are near an event, unless one has occurred from the start to the end."""
    last = b.path[len(b.node) - 1]
    for k in range(b.lanes):
        if b.near[k] != 0.0:
            occurred = False
            for j in range(len(b.crossings)):
                begin, end = b.after[first + k, j], last[j * b.lanes + k]
                rises, falls = begin < 0.0 and end >= 0.0, begin > 0.0 and end <= 0.0
                if (rises and b.directions[j] >= 0) or (falls and b.directions[j] <= 0):
                    occurred = True
            if not occurred:
                b.rare[first + k] = 1


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
