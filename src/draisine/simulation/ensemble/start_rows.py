"""Rows of a start, of one lane: residuals, their slopes, and the factors of these; on memory that a table tells.

z is the scaled change of the free unknowns, A the rows' slope by it, r their residuals, Λ the rows' lengths. From
Λ⁻¹A = L Q (Q with orthonormal rows, L from the products of rows by Cholesky)

    z − A⁺r = z − Qᵀ L⁻¹Λ⁻¹r,    A⁺(A z − r) = Qᵀ(Q z − L⁻¹Λ⁻¹r).

Compiled by Numba as it stands, and run in the interpreter as well; `starts` fills the table.
"""

from __future__ import annotations

import math

from draisine.simulation.initial.residual_system import SAFE
from draisine.simulation.stepper.native import call_kernel, integers_at, matrix_at, reals_at

# Entries of the table that tells where everything is.
(
    LANES,
    UNKNOWNS,  # how many there are: n
    FREE,  # how many of them are not held by wishes: f
    ROWS,  # constraints and wishes for outputs: r
    ENTRY_COUNT,  # of the Jacobian that can differ from zero: e
    CALMED,  # how many of the free unknowns shall be moved only where needed: c
    OTHERS,  # unknowns of the other level
    INPUT_COUNT,
    PARAMETER_COUNT,
    KERNEL,  # of all values and the entries of both Jacobians
    ARGUMENTS,  # of the kernel; those that differ from lane to lane are set here
    RESULTS,
    OTHER_PLACE,  # of the other level's unknowns among the arguments, or −1
    INPUT_PLACE,
    PARAMETER_PLACE,
    VALUES,  # where the kernel writes them
    ENTRIES_OF_J,
    COLUMNS,  # (f) the free unknowns
    TAKE,  # (r) the rows among the values
    SOURCE,  # (e) among the entries
    PLACE,  # (e) in the Jacobian
    WISHED,  # (r) whether a row is a wish
    CHOSEN,  # (c) among the free unknowns
    REFERENCE,  # (lanes, n)
    SCALE,  # (lanes, n)
    LEAP,  # (n) steps beyond it are not believed
    TARGET,  # (lanes, r)
    HOMOGENEOUS,  # 1: the size of unknowns is that of what was wished for, not of the scale
    OTHER,  # (lanes, others)
    INPUTS,  # (lanes, inputs)
    PARAMETERS,  # (lanes, parameters)
    FOUND,  # (lanes, n) the results
    SETTLED,  # (lanes) whether they mean anything
    # memory of one lane
    Y,  # (n)
    LEAST,  # (n) unknowns count as at least this large
    RESIDUAL,  # (r)
    JACOBIAN,  # (r, n)
    LENGTHS,  # (r) Λ
    PRODUCTS,  # (r, r) of the rows, then L⁻¹
    UNIT,  # (r, f) Λ⁻¹A, then Q
    PART,  # (r)
    Z,  # (f)
    NEW,  # (f)
    HELD,  # (f) whether it is held at its reference
    ALLOWED,  # (c, f) rows of 1 − QᵀQ, less what is held
    MOVED,  # (f)
    SHARES,  # (2) largest residual as a part of its weight; the same where wishes are compared with themselves alone
    FRESH,  # (1) whether Q is that of the Jacobian
    ENTRIES,
) = range(49)

MOST_ARGUMENTS = 5  # of a motion: t, q, v, u, p


# ------------------------------------------------------------------------------------------------------------- rows


def everything(address: int, lane: int, z_at: int) -> None:
    """All unknowns at the changes z."""
    table = integers_at(address, ENTRIES)
    n = table[UNKNOWNS]
    y, columns, z = reals_at(table[Y], n), integers_at(table[COLUMNS], table[FREE]), reals_at(z_at, table[FREE])
    reference, scale = reals_at(table[REFERENCE] + 8 * n * lane, n), reals_at(table[SCALE] + 8 * n * lane, n)
    for i in range(n):
        y[i] = reference[i]
    for k in range(table[FREE]):
        y[columns[k]] += scale[columns[k]] * z[k]


def evaluate(address: int, lane: int, z_at: int) -> None:
    """Residuals and their Jacobian by all unknowns, at the changes z."""
    table = integers_at(address, ENTRIES)
    n, rows, count = table[UNKNOWNS], table[ROWS], table[ENTRY_COUNT]
    everything(address, lane, z_at)
    call_kernel(table[KERNEL], table[ARGUMENTS], table[RESULTS])
    take, target = integers_at(table[TAKE], rows), reals_at(table[TARGET] + 8 * rows * lane, rows)
    residual, values = reals_at(table[RESIDUAL], rows), table[VALUES]
    for i in range(rows):
        residual[i] = reals_at(values + 8 * take[i], 1)[0] - target[i]
    source, place = integers_at(table[SOURCE], count), integers_at(table[PLACE], count)
    jacobian = reals_at(table[JACOBIAN], rows * n)
    same = 1
    for k in range(count):
        entry = reals_at(table[ENTRIES_OF_J] + 8 * source[k], 1)[0]
        if jacobian[place[k]] != entry:
            jacobian[place[k]] = entry
            same = 0
    if same == 0:
        integers_at(table[FRESH], 1)[0] = 0


def size_up(address: int, lane: int) -> None:
    """Unknowns count as at least as large as their scales; velocities as what is wished for needs, see `start.level`."""
    table = integers_at(address, ENTRIES)
    n, rows = table[UNKNOWNS], table[ROWS]
    least, scale = reals_at(table[LEAST], n), reals_at(table[SCALE] + 8 * n * lane, n)
    size = 1.0
    if table[HOMOGENEOUS] == 1:
        size = 0.0
        jacobian, residual = matrix_at(table[JACOBIAN], rows, n), reals_at(table[RESIDUAL], rows)
        reference, target = reals_at(table[REFERENCE] + 8 * n * lane, n), reals_at(table[TARGET] + 8 * rows * lane, rows)
        for i in range(rows):
            rate = 0.0
            for j in range(n):
                rate += abs(jacobian[i, j]) * scale[j]
            if rate > 0.0:
                size = larger(size, larger(abs(residual[i]), abs(target[i])) / rate)
        for j in range(n):
            size = larger(size, abs(reference[j]) / scale[j])
        if not (size > 0.0 and math.isfinite(size)):
            size = 1.0
    for j in range(n):
        least[j] = size * scale[j]


def larger(a: float, b: float) -> float:
    """The larger of two; the first where the second is not a number."""
    return b if b > a else a


def judge(address: int, lane: int) -> None:
    """The shares of the residuals, infinite where any is not a number."""
    table = integers_at(address, ENTRIES)
    n, rows = table[UNKNOWNS], table[ROWS]
    y, least = reals_at(table[Y], n), reals_at(table[LEAST], n)
    jacobian, residual = matrix_at(table[JACOBIAN], rows, n), reals_at(table[RESIDUAL], rows)
    target, wished = reals_at(table[TARGET] + 8 * rows * lane, rows), integers_at(table[WISHED], rows)
    share, own = 0.0, 0.0
    for i in range(rows):
        weight = abs(target[i])
        for j in range(n):
            weight += abs(jacobian[i, j]) * larger(least[j], abs(y[j]))
        part = abs(residual[i]) / (weight if weight != 0.0 else 1.0)
        share = larger(share, part) if part == part else math.inf
        if wished[i] == 1 and target[i] != 0.0:
            own = larger(own, abs(residual[i]) / abs(target[i]))
    shares = reals_at(table[SHARES], 2)
    shares[0], shares[1] = share, larger(share, own)


# --------------------------------------------------------------------------------------------------------- factors


def factorise(address: int, lane: int) -> int:
    """L⁻¹ and Q of the rows, columns that are held left out; 1 if the rows are independent beyond doubt."""
    table = integers_at(address, ENTRIES)
    n, rows, free = table[UNKNOWNS], table[ROWS], table[FREE]
    jacobian, unit = matrix_at(table[JACOBIAN], rows, n), matrix_at(table[UNIT], rows, free)
    scale, lengths = reals_at(table[SCALE] + 8 * n * lane, n), reals_at(table[LENGTHS], rows)
    columns, held = integers_at(table[COLUMNS], free), integers_at(table[HELD], free)
    for i in range(rows):
        square = 0.0
        for k in range(free):
            unit[i, k] = jacobian[i, columns[k]] * scale[columns[k]] if held[k] == 0 else 0.0
            square += unit[i, k] * unit[i, k]
        if not math.isfinite(square):
            return 0
        lengths[i] = math.sqrt(square) if square > 0.0 else 1.0
        for k in range(free):
            unit[i, k] /= lengths[i]
    return orthonormalise(address)


def orthonormalise(address: int) -> int:
    """L⁻¹ in place of the products of the rows, and Q in place of the rows. The largest entry of (AAᵀ)⁻¹ is on its diagonal."""
    table = integers_at(address, ENTRIES)
    rows, free = table[ROWS], table[FREE]
    unit, lower = matrix_at(table[UNIT], rows, free), matrix_at(table[PRODUCTS], rows, rows)
    for i in range(rows):
        for j in range(i + 1):
            total = 0.0
            for k in range(free):
                total += unit[i, k] * unit[j, k]
            lower[i, j] = total
    for j in range(rows):
        for k in range(j):
            lower[j, j] -= lower[j, k] * lower[j, k]
        if not lower[j, j] > 1.0 / SAFE:
            return 0
        lower[j, j] = math.sqrt(lower[j, j])
        for i in range(j + 1, rows):
            for k in range(j):
                lower[i, j] -= lower[i, k] * lower[j, k]
            lower[i, j] /= lower[j, j]
    for i in range(rows):  # row i of L⁻¹ needs the rows of L⁻¹ before it and row i of L
        pivot = 1.0 / lower[i, i]
        for j in range(i):
            total = 0.0
            for k in range(j, i):
                total += lower[i, k] * lower[k, j]
            reals_at(table[PART], rows)[j] = -total * pivot
        for j in range(i):
            lower[i, j] = reals_at(table[PART], rows)[j]
        lower[i, i] = pivot
    for j in range(rows):
        total = 0.0
        for i in range(j, rows):
            total += lower[i, j] * lower[i, j]
        if not total < SAFE:
            return 0
    for i in range(rows - 1, -1, -1):
        for k in range(free):
            unit[i, k] *= lower[i, i]
        for j in range(i):
            for k in range(free):
                unit[i, k] += lower[i, j] * unit[j, k]
    return 1


def step(address: int, z_at: int, target_at: int) -> None:
    """target = z − A⁺r, as far as z lies along the rows or not."""
    table = integers_at(address, ENTRIES)
    rows, free = table[ROWS], table[FREE]
    q, lower = matrix_at(table[UNIT], rows, free), matrix_at(table[PRODUCTS], rows, rows)
    residual, lengths = reals_at(table[RESIDUAL], rows), reals_at(table[LENGTHS], rows)
    z, target = reals_at(z_at, free), reals_at(target_at, free)
    for k in range(free):
        target[k] = z[k]
    for i in range(rows):
        total = 0.0
        for j in range(i + 1):
            total += lower[i, j] * (residual[j] / lengths[j])
        for k in range(free):
            target[k] -= q[i, k] * total


def slide(address: int, z_at: int, target_at: int) -> None:
    """target = A⁺(A z − r)."""
    table = integers_at(address, ENTRIES)
    rows, free = table[ROWS], table[FREE]
    q, lower = matrix_at(table[UNIT], rows, free), matrix_at(table[PRODUCTS], rows, rows)
    residual, lengths = reals_at(table[RESIDUAL], rows), reals_at(table[LENGTHS], rows)
    z, target = reals_at(z_at, free), reals_at(target_at, free)
    for k in range(free):
        target[k] = 0.0
    for i in range(rows):
        total = 0.0
        for k in range(free):
            total += q[i, k] * z[k]
        for j in range(i + 1):
            total -= lower[i, j] * (residual[j] / lengths[j])
        for k in range(free):
            target[k] += q[i, k] * total
