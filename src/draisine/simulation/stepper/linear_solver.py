"""Linear systems inside the loop: λ/h ∂F/∂ẋ + ∂F/∂x, real and complex, dense with row exchanges or sparse by a plan.

Like `stages`, these functions are compiled as they stand. Those of the first part serve real and complex matrices alike.
"""

from __future__ import annotations

from typing import Any

from draisine.numerics import sparse_qr
from draisine.simulation.stepper.layout import SINGULAR_MATRIX, SOLVED
from draisine.simulation.stepper.native import complex_matrix_at, complexes_at, integers_at, matrix_at, reals_at

# A pivot this small beside its column says that the unknown is not determined.
UNDETERMINED_PIVOT = 1e-11


def clear(address: int, length: int) -> None:
    numbers = reals_at(address, length)
    for i in range(length):
        numbers[i] = 0.0


# ------------------------------------------------------------------------------------------------------ dense matrices


def magnitude(value: Any) -> float:
    return abs(value.real) + abs(value.imag)


def inverse_of(value: Any) -> Any:
    """1/value, for complex numbers without Python's exception for zero."""
    return value.conjugate() * (1.0 / (value.real * value.real + value.imag * value.imag))


def decompose(a: Any, pivot: Any, n: int) -> int:
    """a = P L U in place, the diagonal of U inverted; return a column without a pivot, or −1 if all have one."""
    for k in range(n):
        best, size = k, magnitude(a[k, k])
        for i in range(k + 1, n):
            other = magnitude(a[i, k])
            if other > size:
                best, size = i, other
        if not size > 0.0:
            return k
        pivot[k] = best
        if best != k:
            for j in range(n):
                a[k, j], a[best, j] = a[best, j], a[k, j]
        inverse = inverse_of(a[k, k])
        a[k, k] = inverse
        for i in range(k + 1, n):
            if magnitude(a[i, k]) != 0.0:
                factor = a[i, k] * inverse
                a[i, k] = factor
                for j in range(k + 1, n):
                    a[i, j] -= factor * a[k, j]
    return -1


def substitute(a: Any, pivot: Any, n: int, side: Any) -> None:
    """side ← (P L U)⁻¹ side."""
    for k in range(n):
        best = pivot[k]
        side[k], side[best] = side[best], side[k]
    for i in range(n):
        value = side[i]
        for j in range(i):
            value -= a[i, j] * side[j]
        side[i] = value
    for back in range(n):
        i = n - 1 - back
        value = side[i]
        for j in range(i + 1, n):
            value -= a[i, j] * side[j]
        side[i] = value * a[i, i]


# --------------------------------------------------------------------------------------------- the matrices of a step


def factorise_real(s: Any, by_rate: float) -> int:
    """Factorise by_rate · ∂F/∂ẋ + ∂F/∂x."""
    s.factorisations += 1
    n, entries = s.unknowns, s.entries
    rows, columns = integers_at(s.entry_row_at, entries), integers_at(s.entry_column_at, entries)
    dx, dxdot = reals_at(s.by_state_at, entries), reals_at(s.by_rate_at, entries)
    if s.sparse != 0:
        values = reals_at(s.entry_at, entries)
        for e in range(entries):
            values[e] = by_rate * dxdot[e] + dx[e]
        plan = integers_at(s.plan_at, s.plan_length)
        sparse_qr.factorise(plan, values, reals_at(s.factor_at, s.factor_length), reals_at(s.work_at, n))
        return SOLVED
    clear(s.factor_at, n * n)
    a = matrix_at(s.factor_at, n, n)
    for e in range(entries):
        a[rows[e], columns[e]] = by_rate * dxdot[e] + dx[e]
    return SOLVED if decompose(a, integers_at(s.pivot_at, n), n) < 0 else SINGULAR_MATRIX


def factorise_complex(s: Any, system: int, by_rate: complex) -> int:
    """The same with a complex factor."""
    s.factorisations += 1
    n, entries = s.unknowns, s.entries
    rows, columns = integers_at(s.entry_row_at, entries), integers_at(s.entry_column_at, entries)
    dx, dxdot = reals_at(s.by_state_at, entries), reals_at(s.by_rate_at, entries)
    place = s.wide_factor_at + 16 * s.factor_length * system
    if s.sparse != 0:
        values = complexes_at(s.wide_entry_at, entries)
        for e in range(entries):
            values[e] = by_rate * dxdot[e] + dx[e]
        plan = integers_at(s.plan_at, s.plan_length)
        sparse_qr.factorise(plan, values, complexes_at(place, s.factor_length), complexes_at(s.wide_work_at, n))
        return SOLVED
    clear(place, 2 * n * n)
    a = complex_matrix_at(place, n, n)
    for e in range(entries):
        a[rows[e], columns[e]] = by_rate * dxdot[e] + dx[e]
    return SOLVED if decompose(a, integers_at(s.wide_pivot_at + 8 * n * system, n), n) < 0 else SINGULAR_MATRIX


def solve_real(s: Any, side_at: int) -> None:
    n = s.unknowns
    side = reals_at(side_at, n)
    if s.sparse != 0:
        plan = integers_at(s.plan_at, s.plan_length)
        sparse_qr.solve(plan, reals_at(s.factor_at, s.factor_length), side, reals_at(s.work_at, n))
    else:
        substitute(matrix_at(s.factor_at, n, n), integers_at(s.pivot_at, n), n, side)


def solve_complex(s: Any, system: int, side_at: int) -> None:
    n = s.unknowns
    side = complexes_at(side_at, n)
    place = s.wide_factor_at + 16 * s.factor_length * system
    if s.sparse != 0:
        plan = integers_at(s.plan_at, s.plan_length)
        sparse_qr.solve(plan, complexes_at(place, s.factor_length), side, complexes_at(s.wide_work_at, n))
    else:
        substitute(complex_matrix_at(place, n, n), integers_at(s.wide_pivot_at + 8 * n * system, n), n, side)


def factorise_start(s: Any) -> int:
    """Factorise the matrix for the rates of differential and the values of algebraic unknowns; one not determined, or −1.

    A pivot that is tiny beside the column it came from betrays it.
    """
    n, entries = s.unknowns, s.entries
    rows, columns = integers_at(s.entry_row_at, entries), integers_at(s.entry_column_at, entries)
    dx, dxdot = reals_at(s.by_state_at, entries), reals_at(s.by_rate_at, entries)
    differential = integers_at(s.differential_at, n)
    s.factorised = 0
    clear(s.side_at, n)
    largest = reals_at(s.side_at, n)
    if s.sparse != 0:
        values, factors = reals_at(s.entry_at, entries), reals_at(s.factor_at, s.factor_length)
        for e in range(entries):
            values[e] = dxdot[e] if differential[columns[e]] != 0 else dx[e]
            largest[columns[e]] = max(largest[columns[e]], abs(values[e]))
        plan = integers_at(s.plan_at, s.plan_length)
        sparse_qr.factorise(plan, values, factors, reals_at(s.work_at, n))
        for k in range(n):
            column = plan[plan[sparse_qr.COLUMN_PLACE] + k]
            if not abs(factors[plan[sparse_qr.DIAGONAL] + k]) > UNDETERMINED_PIVOT * largest[column]:
                return column
        return -1
    clear(s.factor_at, n * n)
    a = matrix_at(s.factor_at, n, n)
    for e in range(entries):
        value = dxdot[e] if differential[columns[e]] != 0 else dx[e]
        a[rows[e], columns[e]] = value
        largest[columns[e]] = max(largest[columns[e]], abs(value))
    missing = decompose(a, integers_at(s.pivot_at, n), n)
    if missing >= 0:
        return missing
    for k in range(n):
        # the diagonal holds inverses
        if not abs(a[k, k]) * largest[k] * UNDETERMINED_PIVOT < 1.0:
            return k
    return -1


def times_rate_slope(s: Any, vector_at: int, target_at: int) -> None:
    """target = ∂F/∂ẋ · vector."""
    n, entries = s.unknowns, s.entries
    rows, columns = integers_at(s.entry_row_at, entries), integers_at(s.entry_column_at, entries)
    dxdot = reals_at(s.by_rate_at, entries)
    clear(target_at, n)
    vector, target = reals_at(vector_at, n), reals_at(target_at, n)
    for e in range(entries):
        target[rows[e]] += dxdot[e] * vector[columns[e]]
