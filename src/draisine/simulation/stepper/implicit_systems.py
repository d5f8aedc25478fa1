"""Implicit equations in the stepping loop: residuals, Jacobians, linear systems, error weights and the consistent start.

The linear systems have the matrix λ/h ∂F/∂ẋ + ∂F/∂x, real or complex, dense with row pivoting or sparse by a precomputed plan.
Dense systems leave out unknowns on which no other equation of ẋ = f depends, as cyclic coordinates: these follow.
Restricted Python, like `explicit_rk`.
"""

from __future__ import annotations

import math

from draisine.codegen.jit import sparse_qr
from draisine.codegen.restricted.types import Integers, Number, NumberMatrix, Numbers, Vector, call_kernel
from draisine.simulation.stepper.contact_field import contact_field
from draisine.simulation.stepper.dense_matrices import clear, clear_matrix, lu_decompose, lu_solve, reciprocal
from draisine.simulation.stepper.explicit_rk import apply_control, copy, first_nonfinite
from draisine.simulation.stepper.layout import DIVERGED, NONFINITE_VALUES, SINGULAR_MATRIX, SOLVED, UNDETERMINED, Stepper, Tableau
from draisine.simulation.stepper.sliding import sliding_field
from draisine.simulation.stepper.slow_slips import note_slips

# A pivot below this fraction of its column means that the unknown is not determined.
UNDETERMINED_PIVOT = 1e-11
DIFFERENCE = 1e-7  # relative step of difference quotients
CONTACT_DIFFERENCE = 1e-10  # the same with contacts, whose slips may be small


# --------------------------------------------------------------------------------------------- the matrices of a step


def factorize_real(s: Stepper, by_rate: float) -> int:
    """Factorize by_rate · ∂F/∂ẋ + ∂F/∂x."""
    s.factorizations += 1
    dx, dxdot = s.by_state, s.by_rate
    if s.sparse != 0:
        values = s.entry
        for e in range(s.entries):
            values[e] = by_rate * dxdot[e] + dx[e]
        sparse_qr.factorize(s.plan, values, s.factor, s.work)
        return SOLVED
    a, rows, columns, place = s.lu, s.entry_row, s.entry_column, s.core_place
    clear_matrix(a, s.core)
    for e in range(s.entries):
        i, j = place[rows[e]], place[columns[e]]
        if i >= 0 and j >= 0:
            a[i, j] = by_rate * dxdot[e] + dx[e]
    return SOLVED if lu_decompose(a, s.pivot, s.core) < 0 else SINGULAR_MATRIX


def factorize_complex(s: Stepper, system: int, by_rate: complex) -> int:
    """Factorize the same matrix with a complex factor."""
    s.factorizations += 1
    dx, dxdot = s.by_state, s.by_rate
    if s.sparse != 0:
        values = s.complex_entry
        for e in range(s.entries):
            values[e] = by_rate * dxdot[e] + dx[e]
        sparse_qr.factorize(s.plan, values, s.complex_factor[system], s.complex_work)
        return SOLVED
    a, rows, columns, place = s.complex_lu[system], s.entry_row, s.entry_column, s.core_place
    clear_matrix(a, s.core)
    for e in range(s.entries):
        i, j = place[rows[e]], place[columns[e]]
        if i >= 0 and j >= 0:
            a[i, j] = by_rate * dxdot[e] + dx[e]
    return SOLVED if lu_decompose(a, s.complex_pivot[system], s.core) < 0 else SINGULAR_MATRIX


def solve_real(s: Stepper, rhs: Vector) -> None:
    if s.sparse != 0:
        sparse_qr.solve(s.plan, s.factor, rhs, s.work)
    else:
        solve_dense(s, s.lu, s.pivot, s.core_side, rhs, s.tableau.filter / s.factor_h)


def solve_complex(s: Stepper, system: int) -> None:
    """Solve a complex system for `complex_rhs`."""
    if s.sparse != 0:
        sparse_qr.solve(s.plan, s.complex_factor[system], s.complex_rhs, s.complex_work)
    else:
        by_rate = s.tableau.pairs[system, 0] * (1.0 / s.factor_h)
        solve_dense(s, s.complex_lu[system], s.complex_pivot[system], s.complex_core_side, s.complex_rhs, by_rate)


def solve_dense(s: Stepper, factors: NumberMatrix, pivot: Integers, side: Numbers, rhs: Numbers, by_rate: Number) -> None:
    """Solve for the unknowns that enter other equations than their own together; the others follow."""
    n, unknown, outer, dx = s.core, s.core_unknown, s.outer, s.by_state
    for i in range(n):
        side[i] = rhs[unknown[i]]
    lu_solve(factors, pivot, n, side)
    for i in range(n):
        rhs[unknown[i]] = side[i]
    for k in range(s.outer_count):
        e = outer[k]
        rhs[s.entry_row[e]] -= dx[e] * rhs[s.entry_column[e]]
    for k in range(n, s.unknowns):
        rhs[unknown[k]] *= reciprocal(by_rate + dx[outer[s.outer_count + k - n]])


def factorize_start(s: Stepper) -> int:
    """Factorize the matrix for the rates of differential and the values of algebraic unknowns.

    Return an unknown that is not determined, which has a tiny pivot relative to its column, or −1.
    """
    n, rows, columns, dx, dxdot = s.unknowns, s.entry_row, s.entry_column, s.by_state, s.by_rate
    differential, largest = s.differential, s.rhs
    s.factorized = 0
    clear(largest, n)
    if s.sparse != 0:
        values, factors, plan = s.entry, s.factor, s.plan
        for e in range(s.entries):
            values[e] = dxdot[e] if differential[columns[e]] != 0 else dx[e]
            largest[columns[e]] = max(largest[columns[e]], abs(values[e]))
        sparse_qr.factorize(plan, values, factors, s.work)
        for k in range(n):
            column = int(plan[plan[sparse_qr.COLUMN_PLACE] + k])
            if not abs(factors[plan[sparse_qr.DIAGONAL] + k]) > UNDETERMINED_PIVOT * largest[column]:
                return column
        return -1
    a = s.lu
    clear_matrix(a, n)
    for e in range(s.entries):
        value = dxdot[e] if differential[columns[e]] != 0 else dx[e]
        a[rows[e], columns[e]] = value
        largest[columns[e]] = max(largest[columns[e]], abs(value))
    missing = lu_decompose(a, s.pivot, n)
    if missing >= 0:
        return missing
    for k in range(n):
        # the diagonal holds inverses
        if not abs(a[k, k]) * largest[k] * UNDETERMINED_PIVOT < 1.0:
            return k
    return -1


def multiply_rate_jacobian(s: Stepper, vector: Vector, target: Vector) -> None:
    """target = ∂F/∂ẋ · vector."""
    rows, columns, dxdot = s.entry_row, s.entry_column, s.by_rate
    clear(target, s.unknowns)
    for e in range(s.entries):
        target[rows[e]] += dxdot[e] * vector[columns[e]]


MAX_ITERATIONS = 60  # iterations to rounding error


def residual(s: Stepper, time: float, target: Vector) -> None:
    """F at (time, point, rate). After an abort by the control the target is unchanged."""
    apply_control(s, time)
    if s.aborted == 0:
        if s.unilateral != 0 and s.modes.system_kernel != 0:
            contact_field(s, target)
            for i in range(s.states):
                target[i] = s.rate[i] - target[i]
        else:
            call_kernel(s.residual, (s.time, s.point, s.rate, s.u, s.parameters), (target,))
        s.evaluations += 1
        if s.switching != 0 and s.sliding > 0:
            sliding_field(s, s.sliding_motion)
            for i in range(s.states):
                target[i] = s.rate[i] - s.sliding_motion[i]


def make_jacobians(s: Stepper) -> int:
    """∂F/∂x and ∂F/∂ẋ at (t, x) and the rate there."""
    copy(s.x, s.point, s.width)
    copy(s.k[0], s.rate, s.width)
    s.time[0] = s.t
    if s.unilateral != 0 and s.modes.system_kernel != 0 and s.sliding == 0:
        contact_jacobians(s)
    else:
        call_kernel(s.jacobian, (s.time, s.point, s.rate, s.u, s.parameters), (s.by_state, s.by_rate))
        if s.switching != 0 and s.sliding > 0:
            sliding_jacobians(s)
    s.jacobians += 1
    s.jacobian_fresh, s.jacobian_old, s.factorized = 1, 0, 0
    bad = max(first_nonfinite(s.by_state, s.entries), first_nonfinite(s.by_rate, s.entries))
    if bad >= 0:
        return record_nonfinite_equation(s, int(s.entry_row[bad]))
    return SOLVED


def contact_jacobians(s: Stepper) -> None:
    """Jacobians of ẋ − f with contacts, by differences, as far as the pattern of the equations has them: an evaluation in the
    present modes is short, and the Jacobian of the equations of all modes takes as long as sixty of them. Nothing depends on
    cyclic coordinates."""
    start, motion, point = s.stage_residual[0], s.stage_residual[1], s.point
    contact_field(s, start)
    note_slips(s)
    column, step = -1, 1.0
    for e in range(s.entries):
        row, other = int(s.entry_row[e]), int(s.entry_column[e])
        s.by_state[e], s.by_rate[e] = 0.0, 1.0 if row == other else 0.0
        if s.core_place[other] < 0:
            continue
        if other != column:
            kept = point[other]
            step = CONTACT_DIFFERENCE * (1.0 + abs(kept))
            point[other] = kept + step
            step = point[other] - kept
            contact_field(s, motion)
            point[other] = kept
            column = other
        s.by_state[e] = (start[row] - motion[row]) / step


def sliding_jacobians(s: Stepper) -> None:
    """Jacobians of ẋ − f for a sliding motion, by differences, as far as the pattern of the equations has them."""
    sliding_field(s, s.sliding_motion)
    for i in range(s.states):
        s.sliding_start[i] = s.sliding_motion[i]
    column = -1
    step = 0.0
    for e in range(s.entries):
        row, other = int(s.entry_row[e]), int(s.entry_column[e])
        if other != column and other < s.states:
            step = DIFFERENCE * (1e-3 + abs(s.point[other]))
            kept = s.point[other]
            s.point[other] = kept + step
            sliding_field(s, s.sliding_motion)
            s.point[other] = kept
            column = other
        if row < s.states:
            s.by_state[e] = (s.sliding_start[row] - s.sliding_motion[row]) / step if other < s.states else 0.0
            s.by_rate[e] = 1.0 if row == other else 0.0


def record_nonfinite_equation(s: Stepper, equation: int) -> int:
    """Record the equation whose residual or derivative is not finite; a shorter step may help."""
    s.failed_index, s.failed_kind, s.bad_time, s.shrink_factor = equation, 2, s.t, 0.5
    return NONFINITE_VALUES


def factorize(s: Stepper, m: Tableau, h: float) -> int:
    """Factorize the matrices of a step of length h, unless this is done."""
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


def set_error_weights(s: Stepper, h: float) -> None:
    """One over the error tolerance of each unknown; for index 2 or 3 it is larger by 1/h or 1/h².

    With a fixed step there is no tolerance: the scale is the size of the unknown plus that of its change plus a small part of the
    largest unknown, which matters where an unknown passes zero.
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


def widen_scale(s: Stepper, i: int, size: float) -> None:
    """Fixed steps: the scale of an unknown that is zero and at rest, or nearly so, at the beginning of a step is its change."""
    if size * s.weight[i] > 1e6:
        s.weight[i] = 1.0 / size


def weighted_rms(s: Stepper, value: Vector) -> float:
    """Root mean square over the states, in units of the tolerance."""
    weight, total = s.weight, 0.0
    for i in range(s.states):
        total += (value[i] * weight[i]) ** 2
    return math.sqrt(total / s.states)


# ---------------------------------------------------------------------------------------------------------- the start


def solve_start(s: Stepper) -> int:
    """Solve F = 0 at t for the rates of differential unknowns and the values of algebraic ones, by Newton's iteration."""
    width, n = s.width, s.unknowns
    x, rate, rhs, differential = s.x, s.k[0], s.rhs, s.differential
    clear(s.weight, width)
    before = math.inf
    for iteration in range(MAX_ITERATIONS):
        if make_jacobians(s) != SOLVED:
            return NONFINITE_VALUES
        missing = factorize_start(s)
        if missing >= 0:
            s.failed_index = missing
            return UNDETERMINED
        copy(x, s.point, width)
        copy(rate, s.rate, width)
        residual(s, s.t, rhs)
        if s.aborted != 0:
            return SOLVED
        bad = first_nonfinite(rhs, n)
        if bad >= 0:
            return record_nonfinite_equation(s, bad)
        solve_real(s, rhs)
        size = 0.0
        for i in range(n):
            old = rate[i] if differential[i] != 0 else x[i]
            size = max(size, abs(rhs[i]) / (1e-3 + abs(old)))
            if differential[i] != 0:
                rate[i] = old - rhs[i]
            else:
                x[i] = old - rhs[i]
        if not math.isfinite(size):
            s.failed_index = first_nonfinite(rhs, n)
            return UNDETERMINED
        if size <= 1e-14 or (iteration > 0 and size < 1e-9 and size >= 0.25 * before):
            s.jacobian_old = 1
            return SOLVED
        before = size
    return DIVERGED
