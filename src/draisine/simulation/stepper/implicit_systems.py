"""Linear systems inside the loop: λ/h ∂F/∂ẋ + ∂F/∂x, real and complex, dense with row exchanges or sparse by a plan.

Restricted Python, like `stages`. The functions of the first part serve real and complex matrices alike.
"""

from __future__ import annotations

from draisine.codegen.jit import sparse_qr
from draisine.codegen.restricted.types import Integers, Number, NumberMatrix, Numbers, Vector
from draisine.simulation.stepper.layout import SINGULAR_MATRIX, SOLVED, Stepper

# A pivot this small beside its column says that the unknown is not determined.
UNDETERMINED_PIVOT = 1e-11


def clear(numbers: Vector, length: int) -> None:
    for i in range(length):
        numbers[i] = 0.0


# ------------------------------------------------------------------------------------------------------ dense matrices


def magnitude(value: Number) -> float:
    return abs(value.real) + abs(value.imag)


def inverse_of(value: Number) -> Number:
    """1/value, for complex numbers without Python's exception for zero."""
    return value.conjugate() * (1.0 / (value.real * value.real + value.imag * value.imag))


def clear_matrix(a: NumberMatrix, n: int) -> None:
    for i in range(n):
        for j in range(n):
            a[i, j] = 0.0


def decompose(a: NumberMatrix, pivot: Integers, n: int) -> int:
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


def substitute(a: NumberMatrix, pivot: Integers, n: int, side: Numbers) -> None:
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


def factorize_real(s: Stepper, by_rate: float) -> int:
    """Factorize by_rate · ∂F/∂ẋ + ∂F/∂x."""
    s.factorisations += 1
    n, dx, dxdot = s.unknowns, s.by_state, s.by_rate
    if s.sparse != 0:
        values = s.entry
        for e in range(s.entries):
            values[e] = by_rate * dxdot[e] + dx[e]
        sparse_qr.factorize(s.plan, values, s.factor, s.work)
        return SOLVED
    a, rows, columns = s.lu, s.entry_row, s.entry_column
    clear_matrix(a, n)
    for e in range(s.entries):
        a[rows[e], columns[e]] = by_rate * dxdot[e] + dx[e]
    return SOLVED if decompose(a, s.pivot, n) < 0 else SINGULAR_MATRIX


def factorize_complex(s: Stepper, system: int, by_rate: complex) -> int:
    """The same with a complex factor."""
    s.factorisations += 1
    n, dx, dxdot = s.unknowns, s.by_state, s.by_rate
    if s.sparse != 0:
        values = s.complex_entry
        for e in range(s.entries):
            values[e] = by_rate * dxdot[e] + dx[e]
        sparse_qr.factorize(s.plan, values, s.complex_factor[system], s.complex_work)
        return SOLVED
    a, rows, columns = s.complex_lu[system], s.entry_row, s.entry_column
    clear_matrix(a, n)
    for e in range(s.entries):
        a[rows[e], columns[e]] = by_rate * dxdot[e] + dx[e]
    return SOLVED if decompose(a, s.complex_pivot[system], n) < 0 else SINGULAR_MATRIX


def solve_real(s: Stepper, side: Vector) -> None:
    if s.sparse != 0:
        sparse_qr.solve(s.plan, s.factor, side, s.work)
    else:
        substitute(s.lu, s.pivot, s.unknowns, side)


def solve_complex(s: Stepper, system: int) -> None:
    """The same for a complex system and `complex_side`."""
    if s.sparse != 0:
        sparse_qr.solve(s.plan, s.complex_factor[system], s.complex_side, s.complex_work)
    else:
        substitute(s.complex_lu[system], s.complex_pivot[system], s.unknowns, s.complex_side)


def factorize_start(s: Stepper) -> int:
    """Factorize the matrix for the rates of differential and the values of algebraic unknowns; one not determined, or −1.

    A pivot that is tiny beside the column it came from betrays it.
    """
    n, rows, columns, dx, dxdot = s.unknowns, s.entry_row, s.entry_column, s.by_state, s.by_rate
    differential, largest = s.differential, s.side
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
    missing = decompose(a, s.pivot, n)
    if missing >= 0:
        return missing
    for k in range(n):
        # the diagonal holds inverses
        if not abs(a[k, k]) * largest[k] * UNDETERMINED_PIVOT < 1.0:
            return k
    return -1


def times_rate_slope(s: Stepper, vector: Vector, target: Vector) -> None:
    """target = ∂F/∂ẋ · vector."""
    rows, columns, dxdot = s.entry_row, s.entry_column, s.by_rate
    clear(target, s.unknowns)
    for e in range(s.entries):
        target[rows[e]] += dxdot[e] * vector[columns[e]]
