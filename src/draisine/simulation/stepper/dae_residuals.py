"""Implicit equations inside the loop: residuals, Jacobians and their factors, what an error counts, and the start.

Compiled as they stand, like `stages`.
"""

from __future__ import annotations

import math
from typing import Any

from draisine.simulation.stepper.explicit_rk import command, copy, first_bad, row_at
from draisine.simulation.stepper.layout import BAD_NUMBERS, DIVERGED, SOLVED, UNDETERMINED
from draisine.simulation.stepper.linear_solver import clear, factorise_complex, factorise_real, factorise_start, solve_real
from draisine.simulation.stepper.native import call_kernel, complex_matrix_at, integers_at, reals_at

PATIENCE = 60  # iterations to rounding error


def residual(s: Any, time: float, target_at: int) -> None:
    """F at (time, point, rate). After an abort by the control the target is left as it is."""
    command(s, time)
    if s.aborted == 0:
        integers_at(s.results, 2)[0] = target_at
        call_kernel(s.residual, s.full_arguments, s.results)
        s.evaluations += 1


def make_jacobians(s: Any) -> int:
    """∂F/∂x and ∂F/∂ẋ at (t, x) and the rate there."""
    copy(s.x_at, s.point_at, s.width)
    copy(row_at(s, 0), s.rate_at, s.width)
    reals_at(s.time_at, 1)[0] = s.t
    results = integers_at(s.results, 2)
    results[0], results[1] = s.by_state_at, s.by_rate_at
    call_kernel(s.jacobian, s.full_arguments, s.results)
    s.jacobians += 1
    s.fresh, s.old, s.factorised = 1, 0, 0
    bad = max(first_bad(s.by_state_at, s.entries), first_bad(s.by_rate_at, s.entries))
    if bad >= 0:
        return blame_equation(s, integers_at(s.entry_row_at, s.entries)[bad])
    return SOLVED


def blame_equation(s: Any, equation: int) -> int:
    """A residual or its derivative is not finite: a shorter step may help, else this is the culprit."""
    s.culprit, s.culprit_is_state, s.bad_time, s.relief = equation, 2, s.t, 0.5
    return BAD_NUMBERS


def factorise(s: Any, m: Any, h: float) -> int:
    """Factorise the matrices of a step of length h, unless they are."""
    if s.factorised != 0 and s.factor_h == h:
        return SOLVED
    outcome = SOLVED
    if m.coupled == 0 or m.real_systems > 0 or s.adaptive != 0:
        outcome = factorise_real(s, m.filter / h)
    pairs = complex_matrix_at(m.pairs_at, m.pairs, 1 + 2 * m.solved)
    for k in range(m.pairs):
        if outcome == SOLVED:
            outcome = factorise_complex(s, k, pairs[k, 0] * (1.0 / h))
    s.factorised, s.factor_h = 1 if outcome == SOLVED else 0, h
    return outcome


# ------------------------------------------------------------------------------------------------------------ weights


def weigh_unknowns(s: Any, h: float) -> None:
    """One over the error allowed to each unknown; that of index 2 or 3 may be larger by 1/h or 1/h².

    With a fixed step there is no tolerance: then the size of the unknown itself counts, that of its change, and a little of the
    largest unknown so that one that passes zero is not asked for digits it does not have.
    """
    x, weight, index = reals_at(s.x_at, s.width), reals_at(s.weight_at, s.width), integers_at(s.index_at, s.unknowns)
    atol, rate = reals_at(s.atol_at, s.states), reals_at(row_at(s, 0), s.width)
    largest = 0.0
    for i in range(s.states):
        largest = max(largest, abs(x[i]))
    for i in range(s.states):
        if s.adaptive != 0:
            unit = 1.0 / (atol[i] + s.rtol * abs(x[i]))
        else:
            unit = 1.0 / (abs(x[i]) + abs(h * rate[i]) + 1e-3 * largest + 1e-290)
        for _ in range(1, index[i]):
            unit *= min(1.0, abs(h))
        weight[i] = unit


def size_of(s: Any, address: int) -> float:
    """Root mean square over the states, in units of the error allowed."""
    value, weight = reals_at(address, s.width), reals_at(s.weight_at, s.width)
    total = 0.0
    for i in range(s.states):
        total += (value[i] * weight[i]) ** 2
    return math.sqrt(total / s.states)


# ---------------------------------------------------------------------------------------------------------- the start


def settle_start(s: Any) -> int:
    """Solve F = 0 at t for the rates of differential unknowns and the values of algebraic ones, by Newton's iteration."""
    width, n = s.width, s.unknowns
    x, rate, side = reals_at(s.x_at, width), reals_at(row_at(s, 0), width), reals_at(s.side_at, width)
    differential = integers_at(s.differential_at, n)
    clear(s.weight_at, width)
    before = math.inf
    for turn in range(PATIENCE):
        if make_jacobians(s) != SOLVED:
            return BAD_NUMBERS
        missing = factorise_start(s)
        if missing >= 0:
            s.culprit = missing
            return UNDETERMINED
        copy(s.x_at, s.point_at, width)
        copy(row_at(s, 0), s.rate_at, width)
        residual(s, s.t, s.side_at)
        if s.aborted != 0:
            return SOLVED
        bad = first_bad(s.side_at, n)
        if bad >= 0:
            return blame_equation(s, bad)
        solve_real(s, s.side_at)
        size = 0.0
        for i in range(n):
            old = rate[i] if differential[i] != 0 else x[i]
            size = max(size, abs(side[i]) / (1e-3 + abs(old)))
            if differential[i] != 0:
                rate[i] = old - side[i]
            else:
                x[i] = old - side[i]
        if not math.isfinite(size):
            s.culprit = first_bad(s.side_at, n)
            return UNDETERMINED
        if size <= 1e-14 or (turn > 0 and size < 1e-9 and size >= 0.25 * before):
            s.old = 1
            return SOLVED
        before = size
    return DIVERGED
