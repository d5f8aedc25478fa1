"""Consistent starts lane after lane in compiled code: the change that fulfils all rows and is smallest, then calmed.

z is the scaled change of the free unknowns, A the rows' slope by it, r their residuals, Λ the rows' lengths. From
Λ⁻¹A = L Q (Q with orthonormal rows, L from the products of rows by Cholesky) the iteration

    z ← A⁺(A z − r) = Qᵀ(Q z − L⁻¹Λ⁻¹r)

is Newton's as far as the residuals go, and slides along the solutions to the one closest to the reference: where it stands still,
r = 0 and z lies in the span of the rows. Compiled by Numba as it stands, and run in the interpreter as well; `starts` fills the
table. A lane that does not settle, or whose rows come close to being dependent, is left: `consistent_start` decides about it.
"""

from __future__ import annotations

import math

from draisine.simulation.native import call_kernel, integers_at, matrix_at, reals_at
from draisine.simulation.start.calm import DECIDED, REASON
from draisine.simulation.start.level import EXACT, FULFILLED, SAFE

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
MOST_TURNS = 60
STILL = 1e-10  # a change of z below this part of it: the distance is then exact to rounding


def solve_starts(address: int) -> int:
    """Solve for all lanes; return how many settled."""
    table = integers_at(address, ENTRIES)
    settled = integers_at(table[SETTLED], table[LANES])
    done = 0
    for lane in range(table[LANES]):
        begin_lane(address, lane)
        settled[lane] = 1 if closest(address, lane) == 1 and calm(address, lane) == 1 else 0
        write(address, lane)
        done += settled[lane]
    return done


def begin_lane(address: int, lane: int) -> None:
    """The kernel reads this lane; all unknowns are at their references."""
    table = integers_at(address, ENTRIES)
    arguments = integers_at(table[ARGUMENTS], MOST_ARGUMENTS)
    if table[OTHER_PLACE] >= 0:
        arguments[table[OTHER_PLACE]] = table[OTHER] + 8 * table[OTHERS] * lane
    if table[INPUT_PLACE] >= 0:
        arguments[table[INPUT_PLACE]] = table[INPUTS] + 8 * table[INPUT_COUNT] * lane
    if table[PARAMETER_PLACE] >= 0:
        arguments[table[PARAMETER_PLACE]] = table[PARAMETERS] + 8 * table[PARAMETER_COUNT] * lane
    z, held = reals_at(table[Z], table[FREE]), integers_at(table[HELD], table[FREE])
    for i in range(table[FREE]):
        z[i] = 0.0
        held[i] = 0
    integers_at(table[FRESH], 1)[0] = 0


def write(address: int, lane: int) -> None:
    """The unknowns of a lane as they are now."""
    table = integers_at(address, ENTRIES)
    n = table[UNKNOWNS]
    everything(address, lane, table[Z])
    y, found = reals_at(table[Y], n), reals_at(table[FOUND] + 8 * n * lane, n)
    for i in range(n):
        found[i] = y[i]


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


# -------------------------------------------------------------------------------------------------- closest and calm


def closest(address: int, lane: int) -> int:
    """The change that fulfils all rows and is smallest; 1 if it was found."""
    table = integers_at(address, ENTRIES)
    rows, free = table[ROWS], table[FREE]
    if rows == 0:
        return 1
    if rows > free:
        return 0
    shares, fresh = reals_at(table[SHARES], 2), integers_at(table[FRESH], 1)
    z, new = reals_at(table[Z], free), reals_at(table[NEW], free)
    evaluate(address, lane, table[Z])
    size_up(address, lane)
    judge(address, lane)
    for turn in range(MOST_TURNS):
        if not shares[0] < math.inf:
            return 0
        if fresh[0] == 0:
            fresh[0] = factorise(address, lane)
            if fresh[0] == 0:
                return 0
        slide(address, table[Z], table[NEW])
        change, size = 0.0, 0.0
        for k in range(free):
            if abs(new[k] - z[k]) > furthest(address, lane, k):
                return 0
            change, size = larger(change, abs(new[k] - z[k])), larger(size, abs(new[k]))
            z[k] = new[k]
        evaluate(address, lane, table[Z])
        judge(address, lane)
        if turn > 0 and change <= STILL * size + 1e-15 and shares[1] <= FULFILLED:
            return 1
    return 0


def furthest(address: int, lane: int, k: int) -> float:
    """The largest change of a free unknown that is believed."""
    table = integers_at(address, ENTRIES)
    n = table[UNKNOWNS]
    column = integers_at(table[COLUMNS], table[FREE])[k]
    leap: float = reals_at(table[LEAP], n)[column] / reals_at(table[SCALE] + 8 * n * lane, n)[column]
    return leap


def calm(address: int, lane: int) -> int:
    """As few of the chosen unknowns moved as will do, see `start.calm`; 1 if that was done, or nothing is to be done."""
    table = integers_at(address, ENTRIES)
    free, count = table[FREE], table[CALMED]
    chosen, held = integers_at(table[CHOSEN], count), integers_at(table[HELD], free)
    z, calmer = reals_at(table[Z], free), reals_at(table[NEW], free)
    moving = 0
    for c in range(count):
        moving += 1 if z[chosen[c]] != 0.0 else 0
    if moving == 0:
        return 1
    if allow(address, lane) == 0:
        return 0
    bound = REASON * size_of(table[Z], free)
    for c in range(count):
        if z[chosen[c]] == 0.0:
            hold(address, c)
    for k in range(free):
        calmer[k] = z[k]
    best = next_at_rest(address, bound)
    touched = best
    while best >= 0:
        put_to_rest(address, best)
        hold(address, best)
        best = next_at_rest(address, bound)
    if touched < 0:
        return 1
    for k in range(free):
        if held[k] == 1:
            calmer[k] = 0.0
    return put_right(address, lane, bound)


def size_of(address: int, length: int) -> float:
    a = reals_at(address, length)
    total = 0.0
    for i in range(length):
        total += a[i] * a[i]
    return math.sqrt(total)


def allow(address: int, lane: int) -> int:
    """The rows of 1 − QᵀQ that belong to the chosen: how a change of one of them moves all, so that the rows stay fulfilled."""
    table = integers_at(address, ENTRIES)
    rows, free, count = table[ROWS], table[FREE], table[CALMED]
    allowed, chosen = matrix_at(table[ALLOWED], count, free), integers_at(table[CHOSEN], count)
    q, fresh = matrix_at(table[UNIT], rows, free), integers_at(table[FRESH], 1)
    if fresh[0] == 0 and rows > 0:
        fresh[0] = factorise(address, lane)
        if fresh[0] == 0:
            return 0
    for c in range(count):
        for k in range(free):
            allowed[c, k] = 1.0 if k == chosen[c] else 0.0
        for i in range(rows):
            for k in range(free):
                allowed[c, k] -= q[i, chosen[c]] * q[i, k]
    return 1


def hold(address: int, c: int) -> None:
    """Hold one of the chosen at its reference: its changes are taken out of those that the rows allow."""
    table = integers_at(address, ENTRIES)
    free, count = table[FREE], table[CALMED]
    allowed, chosen = matrix_at(table[ALLOWED], count, free), integers_at(table[CHOSEN], count)
    own = chosen[c]
    integers_at(table[HELD], free)[own] = 1
    pivot = allowed[c, own]
    if not pivot > DECIDED:
        return
    for other in range(count):
        if other != c:
            factor = allowed[other, own] / pivot
            for k in range(free):
                allowed[other, k] -= factor * allowed[c, k]
    for k in range(free):
        allowed[c, k] = 0.0


def next_at_rest(address: int, bound: float) -> int:
    """The one of the chosen whose rest asks least of the others, or −1."""
    table = integers_at(address, ENTRIES)
    free, count = table[FREE], table[CALMED]
    allowed, chosen = matrix_at(table[ALLOWED], count, free), integers_at(table[CHOSEN], count)
    calmer, moved, held = reals_at(table[NEW], free), reals_at(table[MOVED], free), integers_at(table[HELD], free)
    best, best_size = -1, math.inf
    for c in range(count):
        if held[chosen[c]] == 1 or not allowed[c, chosen[c]] > DECIDED:
            continue
        factor = calmer[chosen[c]] / allowed[c, chosen[c]]
        for k in range(free):
            moved[k] = calmer[k] - factor * allowed[c, k]
        size = 0.0
        for other in range(count):
            size += moved[chosen[other]] * moved[chosen[other]]
        if size < best_size and size_of(table[MOVED], free) <= bound:
            best, best_size = c, size
    return best


def put_to_rest(address: int, c: int) -> None:
    """The changes with one more of the chosen at its reference."""
    table = integers_at(address, ENTRIES)
    free, count = table[FREE], table[CALMED]
    allowed, own = matrix_at(table[ALLOWED], count, free), integers_at(table[CHOSEN], count)[c]
    calmer = reals_at(table[NEW], free)
    factor = calmer[own] / allowed[c, own]
    for k in range(free):
        calmer[k] -= factor * allowed[c, k]


def put_right(address: int, lane: int, bound: float) -> int:
    """What rounding left of the rows is taken away without moving what is at rest; 1 if the rows are then fulfilled."""
    table = integers_at(address, ENTRIES)
    free, rows = table[FREE], table[ROWS]
    z, calmer, shares = reals_at(table[Z], free), reals_at(table[NEW], free), reals_at(table[SHARES], 2)
    for k in range(free):
        z[k] = calmer[k]
    if rows > 0:
        evaluate(address, lane, table[Z])
        judge(address, lane)
        if shares[1] > EXACT:
            if factorise(address, lane) == 0:
                return 0
            step(address, table[Z], table[Z])
            evaluate(address, lane, table[Z])
            judge(address, lane)
            if not shares[1] <= FULFILLED:
                return 0
    return 1 if size_of(table[Z], free) <= bound else 0
