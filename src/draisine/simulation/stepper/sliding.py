"""Sliding motion on switching surfaces (Filippov): the field is the convex combination of both sides that stays on the surface.

With the fields f₀ of the present branches and f_i with the branch of surface i switched,

    f = f₀ + Σ_i a_i (f_i − f₀),        ż_j(f) = 0 for the switching function z_j of every surface j,

which determines the shares a_i. On one surface this is Filippov's definition. On several it is the only motion in the convex hull
of all fields where the effects of the switches add up; `switching` checks that when a surface is added. Derivatives of the state
(`saltation`) slide with it, and the shares have derivatives too. Restricted Python.

A. F. Filippov, Differential Equations with Discontinuous Righthand Sides, Kluwer 1988, section 4.
"""

from __future__ import annotations

import math

from draisine.codegen.restricted.types import Vector, call_kernel
from draisine.simulation.stepper.dense_matrices import lu_decompose, lu_solve
from draisine.simulation.stepper.layout import Stepper


def sliding_field(s: Stepper, target: Vector) -> None:
    """The sliding field at (time, point), with the shares of the switched fields; NaN where they are not determined."""
    solve_shares(s)
    combine_fields(s, target)


def combine_fields(s: Stepper, target: Vector) -> None:
    """f₀ + Σ_i a_i (f_i − f₀)."""
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
    count, a = s.sliding, s.sliding_matrix
    for i in range(count):
        switch = int(s.margin_branch[int(s.sliding_margin[i])])
        s.share[i] = -s.sliding_rate[0, switch]
        for k in range(count):
            a[i, k] = s.sliding_rate[k + 1, switch] - s.sliding_rate[0, switch]
    if lu_decompose(a, s.sliding_pivot, count) >= 0:
        for i in range(count):
            s.share[i] = math.nan
    else:
        lu_solve(a, s.sliding_pivot, count, s.share)


def inward(s: Stepper, row: int) -> float:
    """The sign of a margin's rate relative to that of its switching function."""
    if s.margin_step[row] != 0:
        return -1.0 * s.margin_step[row]
    return 1.0 if s.branch[int(s.margin_branch[row])] > 0.5 else -1.0


def return_to_surfaces(s: Stepper) -> None:
    """Move x onto the surfaces, across which the branches differ, by one Newton step along f_i − f₀."""
    for l in range(s.width):
        s.point[l] = s.x[l]
    s.time[0] = s.t
    solve_shares(s)
    call_kernel(s.margin_kernel, (s.time, s.point, s.u, s.sliding_parameters[0]), (s.margin_value,))
    for i in range(s.sliding):
        row = int(s.sliding_margin[i])
        s.share[i] = -s.margin_value[row] * inward(s, row)
    lu_solve(s.sliding_matrix, s.sliding_pivot, s.sliding, s.share)
    field = s.sliding_field
    for i in range(s.sliding):
        length = s.share[i]
        if math.isfinite(length):
            for l in range(s.width):
                s.x[l] += length * (field[i + 1, l] - field[0, l])
