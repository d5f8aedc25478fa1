"""Sliding motion on switching surfaces (Filippov): the field is the convex combination of both sides that stays on the surface.

With the fields f₀ of the present branches and f_i with the branch of surface i switched,

    f = f₀ + Σ_i a_i (f_i − f₀),        ż_j(f) = 0 for the switching function z_j of every surface j,

which determines the shares a_i. On one surface this is Filippov's definition. On several it is the only motion in the convex hull
of all fields where the effects of the switches add up; `switching` checks that when a surface is added. Derivatives of the state
(`saltation`) slide with it, and the shares have derivatives too. Where laws act along one line, only a sum of their shares is
determined (`share_equally`). Restricted Python.

A. F. Filippov, Differential Equations with Discontinuous Righthand Sides, Kluwer 1988, section 4.
"""

from __future__ import annotations

import math

from draisine.codegen.restricted.types import Vector, call_kernel
from draisine.simulation.stepper.dense_matrices import lu_decompose, lu_solve
from draisine.simulation.stepper.layout import Stepper

DEPENDENT = 1e-13  # relative determinant of two surfaces that are one
FAR = 1e-3  # time along the fields back to a surface, relative to the step …
ROUNDING = 1e-13  # … and to the time itself
SAME = 1e-7  # relative difference of equal fields and rates
TICKS = 5e-14  # a short time, in which switches come to their limit: relative to the time itself …
SHORT = 1e-11  # … or to the duration of the run


def sliding_field(s: Stepper, target: Vector) -> None:
    """The sliding field at (time, point), with the shares of the switched fields; NaN where they are not determined."""
    solve_shares(s)
    combine_fields(s, target)


def combine_fields(s: Stepper, target: Vector) -> None:
    """f₀ + Σ_i a_i (f_i − f₀)."""
    if s.resting != 0:
        for l in range(s.width):
            target[l] = 0.0
        return
    field = s.sliding_field
    for l in range(s.width):
        target[l] = field[0, l]
    for i in range(s.sliding):
        a = s.share[i]
        for l in range(s.width):
            target[l] += a * (field[i + 1, l] - field[0, l])
    for j in range(s.variations):
        vary_shares(s, j, target)


def vary_shares(s: Stepper, j: int, target: Vector) -> None:
    """The part of direction j that comes from the change of the shares: Σ_i ∂a_i (f_i − f₀), where ∂ż = 0 on every surface."""
    rate, change, first = s.sliding_rate, s.share_change, (1 + j) * len(s.branch)
    for i in range(s.sliding):
        entry = first + int(s.margin_branch[int(s.sliding_margin[i])])
        change[i] = -rate[0, entry]
        for k in range(s.sliding):
            change[i] -= s.share[k] * (rate[k + 1, entry] - rate[0, entry])
    lu_solve(s.sliding_matrix, s.sliding_pivot, s.sliding, change)
    n, field = s.plain_states, s.sliding_field
    for i in range(s.sliding):
        for l in range(n):
            target[n * (1 + j) + l] += change[i] * (field[i + 1, l] - field[0, l])


def solve_shares(s: Stepper) -> None:
    """The shares at (time, point), from the fields and the rates of the margins along them."""
    for k in range(s.sliding + 1):
        call_kernel(s.dynamics, (s.time, s.point, s.u, s.sliding_parameters[k]), (s.sliding_field[k],))
        call_kernel(s.switch_rate_kernel, (s.time, s.point, s.u, s.sliding_parameters[k]), (s.sliding_rate[k],))
        s.evaluations += 1
    if s.resting != 0:
        s.sliding_row = -1
        if not rest(s):
            s.share[0] = -1.0  # beyond its range, where sliding ends
        return
    count, a = s.sliding, s.sliding_matrix
    for i in range(count):
        switch = int(s.margin_branch[int(s.sliding_margin[i])])
        s.share[i] = -s.sliding_rate[0, switch]
        for k in range(count):
            a[i, k] = s.sliding_rate[k + 1, switch] - s.sliding_rate[0, switch]
    s.sliding_row = 0
    dependent = count == 2 and abs(a[0, 0] * a[1, 1] - a[0, 1] * a[1, 0]) <= DEPENDENT * (
        abs(a[0, 0] * a[1, 1]) + abs(a[0, 1] * a[1, 0])
    )
    if dependent or lu_decompose(a, s.sliding_pivot, count) >= 0:
        share_equally(s)
    else:
        lu_solve(a, s.sliding_pivot, count, s.share)


# ------------------------------------------------------------------------------------------------ laws that act along one line


def rate_jump(s: Stepper, i: int, k: int) -> float:
    """The change of the rate of surface i with the branch of surface k."""
    switch = int(s.margin_branch[int(s.sliding_margin[i])])
    return s.sliding_rate[k + 1, switch] - s.sliding_rate[0, switch]


def share_equally(s: Stepper) -> None:
    """The shares where the rates do not determine all of them: equal parts of their ranges, if the motion is unique; else NaN.

    All laws act along one line then: f_k − f₀ are parallel, and only a sum of the shares matters. It follows from the surface
    whose rate they change, such as that of v of a mass that is held at x = 0, v = 0 by sign(x) and sign(v). If they change no
    rate, the motion is known only if it can rest.
    """
    best, size = -1, 0.0
    for i in range(s.sliding):
        total = 0.0
        for k in range(s.sliding):
            total += abs(rate_jump(s, i, k))
        if total > size:
            best, size = i, total
    if best >= 0:
        s.sliding_row = 1 + best
        switch = int(s.margin_branch[int(s.sliding_margin[best])])
        middle = s.sliding_rate[0, switch]
        for k in range(s.sliding):
            middle += 0.5 * rate_jump(s, best, k)
        for k in range(s.sliding):
            s.share[k] = 0.5 - math.copysign(middle / size, middle * rate_jump(s, best, k))
        known = agrees(s) and is_parallel(s, best)
    else:
        s.sliding_row, known = -1, rest(s)
    if not known or s.variations > 0:
        for i in range(s.sliding):
            s.share[i] = math.nan


def agrees(s: Stepper) -> bool:
    """Whether the motion stays on all surfaces whose rates depend on the shares."""
    for i in range(s.sliding):
        rate, total = s.sliding_rate[0, int(s.margin_branch[int(s.sliding_margin[i])])], 0.0
        for k in range(s.sliding):
            rate += s.share[k] * rate_jump(s, i, k)
            total += abs(rate_jump(s, i, k))
        if total > 0.0 and abs(rate) > SAME * total:
            return False
    return True


def is_parallel(s: Stepper, row: int) -> bool:
    """Whether the fields change along one line, in proportion to the rate of a surface."""
    field = s.sliding_field
    for l in range(s.plain_states):
        for k in range(s.sliding):
            for j in range(k):
                a = (field[k + 1, l] - field[0, l]) * rate_jump(s, row, j)
                b = (field[j + 1, l] - field[0, l]) * rate_jump(s, row, k)
                if abs(a - b) > SAME * (abs(a) + abs(b)):
                    return False
    return True


def short_time(s: Stepper) -> float:
    """A time that is short for a run: that of the rounding of many switches."""
    return max(TICKS * abs(s.t), SHORT * abs(s.t - s.step_time[0]))


def rest(s: Stepper) -> bool:
    """Shares with which all states rest, up to rates that the jump of the field gives them in a short time; whether they do."""
    field, best, size = s.sliding_field, 0, 0.0
    for l in range(s.plain_states):
        total = 0.0
        for k in range(s.sliding):
            total += abs(field[k + 1, l] - field[0, l])
        if total > size:
            best, size = l, total
    if not size > 0.0:
        return False
    middle = field[0, best]
    for k in range(s.sliding):
        middle += 0.5 * (field[k + 1, best] - field[0, best])
    for k in range(s.sliding):
        s.share[k] = 0.5 - math.copysign(middle / size, middle * (field[k + 1, best] - field[0, best]))
    room = size * (1e-12 + 4.0 * short_time(s))
    for l in range(s.plain_states):
        rate = field[0, l]
        for k in range(s.sliding):
            rate += s.share[k] * (field[k + 1, l] - field[0, l])
        if abs(rate) > room:
            return False
    for i in range(s.sliding):
        rate = s.sliding_rate[0, int(s.margin_branch[int(s.sliding_margin[i])])]
        for k in range(s.sliding):
            rate += s.share[k] * rate_jump(s, i, k)
        if abs(rate) > room:
            return False
    return True


def inward(s: Stepper, row: int) -> float:
    """The sign of a margin's rate relative to that of its switching function."""
    if s.margin_step[row] != 0:
        return -1.0 * s.margin_step[row]
    return 1.0 if s.branch[int(s.margin_branch[row])] > 0.5 else -1.0


def return_to_surfaces(s: Stepper, h: float) -> bool:
    """After a step h: move x onto the surfaces, across which the branches differ, by one Newton step along f_i − f₀.

    False if that is far: where both fields become tangential the motion is no longer held on the surface.
    """
    for l in range(s.width):
        s.point[l] = s.x[l]
    s.time[0] = s.t
    solve_shares(s)
    if s.resting != 0:
        return True
    call_kernel(s.margin_kernel, (s.time, s.point, s.u, s.sliding_parameters[0]), (s.margin_value,))
    for i in range(s.sliding):
        row = int(s.sliding_margin[i])
        s.share[i] = -s.margin_value[row] * inward(s, row)
    if s.sliding_row > 0:
        share_distance(s, s.sliding_row - 1)
    else:
        lu_solve(s.sliding_matrix, s.sliding_pivot, s.sliding, s.share)
    for i in range(s.sliding):
        if abs(s.share[i]) > FAR * abs(h) + ROUNDING * abs(s.t):
            return False
    field = s.sliding_field
    for i in range(s.sliding):
        length = s.share[i]
        if math.isfinite(length):
            for l in range(s.width):
                s.x[l] += length * (field[i + 1, l] - field[0, l])
    return True


def share_distance(s: Stepper, row: int) -> None:
    """The way to a surface in equal parts along fields that are parallel."""
    distance, size = s.share[row], 0.0
    for k in range(s.sliding):
        size += abs(rate_jump(s, row, k))
    for k in range(s.sliding):
        s.share[k] = math.copysign(distance / size, distance * rate_jump(s, row, k))
