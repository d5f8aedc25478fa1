"""Implicit equations inside the loop: residuals, Jacobians and their factors, what an error counts, and the start.

Restricted Python, like `stages`.
"""

from __future__ import annotations

import math

from draisine.codegen.restricted.record import call_kernel
from draisine.codegen.restricted.types import Vector
from draisine.simulation.stepper.explicit_rk import command, copy, first_bad
from draisine.simulation.stepper.implicit_systems import clear, factorize_complex, factorize_real, factorize_start, solve_real
from draisine.simulation.stepper.layout import BAD_NUMBERS, DIVERGED, SOLVED, UNDETERMINED, Stepper, Tableau

PATIENCE = 60  # iterations to rounding error


def residual(s: Stepper, time: float, target: Vector) -> None:
    """F at (time, point, rate). After an abort by the control the target is left as it is."""
    command(s, time)
    if s.aborted == 0:
        call_kernel(s.residual, (s.time, s.point, s.rate, s.u, s.parameters), (target,))
        s.evaluations += 1


def make_jacobians(s: Stepper) -> int:
    """∂F/∂x and ∂F/∂ẋ at (t, x) and the rate there."""
    copy(s.x, s.point, s.width)
    copy(s.k[0], s.rate, s.width)
    s.time[0] = s.t
    call_kernel(s.jacobian, (s.time, s.point, s.rate, s.u, s.parameters), (s.by_state, s.by_rate))
    s.jacobians += 1
    s.fresh, s.old, s.factorized = 1, 0, 0
    bad = max(first_bad(s.by_state, s.entries), first_bad(s.by_rate, s.entries))
    if bad >= 0:
        return blame_equation(s, int(s.entry_row[bad]))
    return SOLVED


def blame_equation(s: Stepper, equation: int) -> int:
    """A residual or its derivative is not finite: a shorter step may help, else this is the culprit."""
    s.culprit, s.culprit_is_state, s.bad_time, s.relief = equation, 2, s.t, 0.5
    return BAD_NUMBERS


def factorize(s: Stepper, m: Tableau, h: float) -> int:
    """Factorize the matrices of a step of length h, unless they are."""
    if s.factorized != 0 and s.factor_h == h:
        return SOLVED
    outcome = SOLVED
    if m.coupled == 0 or m.real_systems > 0 or s.adaptive != 0:
        outcome = factorize_real(s, m.filter / h)
    for k in range(m.pair_systems):
        if outcome == SOLVED:
            outcome = factorize_complex(s, k, m.pairs[k, 0] * (1.0 / h))
    s.factorized, s.factor_h = 1 if outcome == SOLVED else 0, h
    return outcome


# ------------------------------------------------------------------------------------------------------------ weights


def weigh_unknowns(s: Stepper, h: float) -> None:
    """One over the error allowed to each unknown; that of index 2 or 3 may be larger by 1/h or 1/h².

    With a fixed step there is no tolerance: then the size of the unknown itself counts, that of its change, and a little of the
    largest unknown so that one that passes zero is not asked for digits it does not have.
    """
    x, weight, index, atol, rate = s.x, s.weight, s.dae_index, s.atol, s.k[0]
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


def size_of(s: Stepper, value: Vector) -> float:
    """Root mean square over the states, in units of the error allowed."""
    weight, total = s.weight, 0.0
    for i in range(s.states):
        total += (value[i] * weight[i]) ** 2
    return math.sqrt(total / s.states)


# ---------------------------------------------------------------------------------------------------------- the start


def settle_start(s: Stepper) -> int:
    """Solve F = 0 at t for the rates of differential unknowns and the values of algebraic ones, by Newton's iteration."""
    width, n = s.width, s.unknowns
    x, rate, side, differential = s.x, s.k[0], s.side, s.differential
    clear(s.weight, width)
    before = math.inf
    for turn in range(PATIENCE):
        if make_jacobians(s) != SOLVED:
            return BAD_NUMBERS
        missing = factorize_start(s)
        if missing >= 0:
            s.culprit = missing
            return UNDETERMINED
        copy(x, s.point, width)
        copy(rate, s.rate, width)
        residual(s, s.t, side)
        if s.aborted != 0:
            return SOLVED
        bad = first_bad(side, n)
        if bad >= 0:
            return blame_equation(s, bad)
        solve_real(s, side)
        size = 0.0
        for i in range(n):
            old = rate[i] if differential[i] != 0 else x[i]
            size = max(size, abs(side[i]) / (1e-3 + abs(old)))
            if differential[i] != 0:
                rate[i] = old - side[i]
            else:
                x[i] = old - side[i]
        if not math.isfinite(size):
            s.culprit = first_bad(side, n)
            return UNDETERMINED
        if size <= 1e-14 or (turn > 0 and size < 1e-9 and size >= 0.25 * before):
            s.old = 1
            return SOLVED
        before = size
    return DIVERGED
