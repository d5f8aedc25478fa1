"""Derivatives and margins with contacts in any mode, from factors of the mass matrix. Restricted Python.

With M = L D Lᵀ, Y = L⁻¹ Aᵀ and y = L⁻¹ F (`dynamics/augmented/contact_forces.py`) the forces λ of the rows of closed normals and
of contacts that stick follow from

    Y_aᵀ D⁻¹ (y + Σ_b E_b λ_b) = −b_a,

in which E_b is Y_b, and Y_n − μ Σ d_t Y_t for the normal of a contact that slips along d, or whose resistance to rolling or
drilling does. Rows that may be dependent have a compliance ε, which iteration removes: (K + ε) λ⁺ = r + ε λ, from λ = 0.
"""

from __future__ import annotations

import math

from draisine.codegen.restricted.types import Vector, call_kernel
from draisine.simulation.stepper.contact_layout import MODE_ENTRIES, ContactModes
from draisine.simulation.stepper.dense_matrices import lu_decompose, lu_solve
from draisine.simulation.stepper.layout import Stepper

REMOVED = 1e-7  # relative change of forces at which the compliance is removed
SETTLED = 1e-13  # the same of the next one, as the last two let expect it
MOST_ITERATIONS = 40
CONTRADICTION = 1e4  # steps relative to forces, of accelerations that contradict each other by about 1e-3: errors of a step
LEAST_PIVOT = 1e-3  # relative to its column, of rows that are independent beyond doubt
BLOCK_ROWS, BLOCK_COLUMNS = 2, 4  # of products that are formed together


def contact_field(s: Stepper, target: Vector) -> None:
    """The derivative at (time, point)."""
    c = s.modes
    solve_contact_forces(s)
    # arrays by names of their own: the compiler cannot know that what is written leaves their places in the record alone
    n, first, rates, pull, inverse, lower = c.velocities, c.first_velocity, c.rates, c.pull, c.inverse, c.lower
    for i in range(first):
        target[i] = rates[i]
    for i in range(n):
        pull[i] *= inverse[i]
    for back in range(n):
        i = n - 1 - back
        value = pull[i]
        target[first + back] = value
        for k in range(i):  # differences that need not wait for each other
            pull[k] -= lower[k * n + i] * value
    multiplier, drift, speed, power = c.multiplier, c.drift, c.row_speed, rates[first]
    if c.driven != 0:
        for k in range(c.rows):
            if multiplier[k] != 0.0:  # what the kernel has not computed for open contacts is that of an earlier point
                power -= multiplier[k] * drift[k]
    for i in range(c.contacts):
        # it does not stick; one that is open has no force
        if c.mode[MODE_ENTRIES * i] != 0.0 and c.mode[MODE_ENTRIES * i + 1] == 0.0:
            for w in range(c.ways[i]):
                t = int(c.tangential[i]) + w
                power += multiplier[t] * speed[t]
    target[c.work] = power


def contact_margins(s: Stepper, known: bool) -> None:
    """The margins at (time, point): two of every contact, positive inside its mode. Where the derivative there was the last one
    its forces are `known`."""
    c = s.modes
    if not known:
        solve_contact_forces(s)
    for i in range(c.contacts):
        n, t, k = int(c.normal[i]), int(c.tangential[i]), MODE_ENTRIES * i
        if c.mode[k] == 0.0:
            c.margins[2 * i], c.margins[2 * i + 1] = c.gaps[i], 1.0
            continue
        normal = c.multiplier[n] if n >= 0 else 1.0
        c.margins[2 * i], c.margins[2 * i + 1] = normal, 1.0
        if c.bounded[i] != 0:  # it also ends with the part of a ground profile that it touches
            c.margins[2 * i] = min(normal, c.gaps[i])
        if c.ways[i] > 0 and c.mode[k + 1] == 0.0:
            c.margins[2 * i + 1] = c.forward[i]
        elif c.ways[i] > 0 and c.static_friction[i] >= 0.0:
            size = 0.0
            for w in range(c.ways[i]):
                size += c.multiplier[t + w] * c.multiplier[t + w]
            load = c.multiplier[int(c.pressing[i])] if c.pressing[i] >= 0 else 1.0
            c.margins[2 * i + 1] = c.static_friction[i] * load - math.sqrt(size)
    c.margins[2 * c.contacts] = 1.0


def write_margins(c: ContactModes, target: Vector) -> None:
    """The margins, as those of the step: of contacts that touch, and of those that are below the other surface."""
    for i in range(c.contacts):
        gap = c.margins[2 * i]
        target[2 * i] = -gap if c.below[i] != 0 else gap + c.touch[i]
        target[2 * i + 1] = c.margins[2 * i + 1]


def solve_contact_forces(s: Stepper) -> None:
    """Forces of all rows, in `multiplier`, and y + Y λ, in `pull`; NaN where they are not determined."""
    c = s.modes
    call_kernel(
        c.system_kernel,
        (s.time, s.point, s.u, s.parameters),
        (
            c.rates,
            c.lower,
            c.inverse,
            c.load,
            c.columns,
            c.row_side,
            c.row_speed,
            c.drift,
            c.rubbing,
            c.gaps,
            c.forward,
            c.static_friction,
            c.compliance,
        ),
    )
    n, pull, load, multiplier = c.velocities, c.pull, c.load, c.multiplier
    for j in range(n):
        pull[j] = load[j]
    for k in range(c.rows):
        multiplier[k] = 0.0
    size = choose_columns(c)
    c.field_size = size
    done = size == 0
    if size == 1:
        done = solve_for_one(c)
    elif size == 2:
        done = solve_for_two(c)
    if not done:
        solve_for_many(c, size)
    add_forces(c, size)


def solve_for_one(c: ContactModes) -> bool:
    """One force, as by `solve_for_many` but without loops over rows, which take most of its time where few contacts are closed;
    false where the force is not determined."""
    n, row, effect, inverse, pull = c.velocities, int(c.field_row[0]), c.effect[0], c.inverse, c.pull
    column = c.columns[row * n : row * n + n]
    entry, product = 0.0, 0.0
    for j in range(n):
        weighted = column[j] * inverse[j]
        entry += weighted * effect[j]
        product += weighted * pull[j]
    if not abs(entry) > 0.0:
        return False
    pivot = 1.0 / entry
    c.field_matrix[0, 0], c.field_pivot[0] = pivot, 0
    c.field_force[0] = (c.row_side[row] - product) * pivot
    return True


def solve_for_two(c: ContactModes) -> bool:
    """Two forces in the same way; false where they are not determined, or may be dependent."""
    n, inverse, pull, matrix = c.velocities, c.inverse, c.pull, c.field_matrix
    row, other, first, second = int(c.field_row[0]), int(c.field_row[1]), c.effect[0], c.effect[1]
    column, below = c.columns[row * n : row * n + n], c.columns[other * n : other * n + n]
    a00, a01, a10, a11, product, product_below = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for j in range(n):
        x, y, p, q, r = column[j] * inverse[j], below[j] * inverse[j], first[j], second[j], pull[j]
        a00 += x * p
        a01 += x * q
        product += x * r
        a10 += y * p
        a11 += y * q
        product_below += y * r
    upper, lower = c.row_side[row] - product, c.row_side[other] - product_below
    c.field_pivot[0], c.field_pivot[1] = 0, 1
    if abs(a10) > abs(a00):
        a00, a10, a01, a11, upper, lower = a10, a00, a11, a01, lower, upper
        c.field_pivot[0] = 1
    if not abs(a00) > 0.0:
        return False
    inverse_pivot = 1.0 / a00
    factor = a10 * inverse_pivot
    last = a11 - factor * a01
    # as in `are_independent`; without a compliance, too, the others give what there is to say
    if not abs(last) > LEAST_PIVOT * max(abs(a01), abs(a11)):
        return False
    inverse_last = 1.0 / last
    matrix[0, 0], matrix[0, 1], matrix[1, 0], matrix[1, 1] = inverse_pivot, a01, factor, inverse_last
    force = (lower - factor * upper) * inverse_last
    c.field_force[0], c.field_force[1] = (upper - a01 * force) * inverse_pivot, force
    return True


def solve_for_many(c: ContactModes, size: int) -> None:
    """Any number of forces; NaN where they are not determined."""
    compliant, matrix = form_matrix(c, size), c.field_matrix
    missing = eliminate(c, size)
    if missing < 0 and (not compliant or are_independent(c, size)):
        substitute_back(c, size)
        return
    if compliant:
        form_matrix(c, size)
        for a in range(size):
            matrix[a, a] += c.compliance[int(c.field_row[a])]
        missing = lu_decompose(matrix, c.field_pivot, size)
    if missing >= 0:
        for a in range(size):
            c.field_force[a] = math.nan
    else:
        remove_compliance(c, size)


def eliminate(c: ContactModes, size: int) -> int:
    """`lu_decompose` of the matrix together with its right side, the column behind it: then `substitute_back` is left to do."""
    matrix, pivot, side = c.field_matrix, c.field_pivot, c.field_side
    for a in range(size):
        matrix[a, size] = side[a]
    for k in range(size):
        top, best = matrix[k], k
        largest = abs(top[k])
        for i in range(k + 1, size):
            other = abs(matrix[i, k])
            if other > largest:
                best, largest = i, other
        if not largest > 0.0:
            return k
        pivot[k] = best
        if best != k:
            row = matrix[best]
            for j in range(size + 1):
                top[j], row[j] = row[j], top[j]
        inverse = 1.0 / top[k]
        top[k] = inverse
        for i in range(k + 1, size):
            row = matrix[i]
            factor = row[k] * inverse
            row[k] = factor
            for j in range(k + 1, size + 1):
                row[j] -= factor * top[j]
    return -1


def substitute_back(c: ContactModes, size: int) -> None:
    """Forces from the right side after `eliminate`."""
    force, matrix = c.field_force, c.field_matrix
    for back in range(size):
        i = size - 1 - back
        row = matrix[i]
        value = row[size]
        for j in range(i + 1, size):
            value -= row[j] * force[j]
        force[i] = value * row[i]


def form_matrix(c: ContactModes, size: int) -> bool:
    """The matrix K of the forces, without compliance, and its right side; whether there are rows with a compliance."""
    n, inverse, columns, last, largest = c.velocities, c.inverse, c.columns, c.effect[size], c.field_new
    compliant = False
    for a in range(size):
        row = int(c.field_row[a])
        column, weighted = columns[row * n : row * n + n], c.weighted[a]
        for j in range(n):
            weighted[j] = column[j] * inverse[j]
        compliant = compliant or c.compliance[row] != 0.0
    for j in range(n):  # the right side is one more product
        last[j] = c.pull[j]
    for a in range(0, size, BLOCK_ROWS):
        for b in range(0, size + 1, BLOCK_COLUMNS):
            multiply_block(c, a, b)
    for a in range(size):
        c.field_side[a] = c.row_side[int(c.field_row[a])] - c.field_matrix[a, size]
    if compliant:
        for b in range(size):
            largest[b] = 0.0
        for a in range(size):
            entries = c.field_matrix[a]
            for b in range(size):
                largest[b] = max(largest[b], abs(entries[b]))
    return compliant


def multiply_block(c: ContactModes, a: int, b: int) -> None:
    """Two rows and four columns of the products of weighted columns and effects: sums none of which has to wait for another. What
    lies beyond the rows that are solved for is not read."""
    first, second, target, below = c.weighted[a], c.weighted[a + 1], c.field_matrix[a], c.field_matrix[a + 1]
    p, q, r, s = c.effect[b], c.effect[b + 1], c.effect[b + 2], c.effect[b + 3]
    p0, q0, r0, s0, p1, q1, r1, s1 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for j in range(c.velocities):
        x, y = first[j], second[j]
        p0 += x * p[j]
        q0 += x * q[j]
        r0 += x * r[j]
        s0 += x * s[j]
        p1 += y * p[j]
        q1 += y * q[j]
        r1 += y * r[j]
        s1 += y * s[j]
    target[b], target[b + 1], target[b + 2], target[b + 3] = p0, q0, r0, s0
    below[b], below[b + 1], below[b + 2], below[b + 3] = p1, q1, r1, s1


def are_independent(c: ContactModes, size: int) -> bool:
    """Whether pivots show that rows which may be dependent are not: compliance and its removal are then not needed."""
    found = True
    for k in range(size):
        found = found and abs(c.field_matrix[k, k]) * c.field_new[k] * LEAST_PIVOT < 1.0  # the diagonal holds inverses
    return found


def choose_columns(c: ContactModes) -> int:
    """The rows that are solved for, in `field_row`, and the effects of their forces; return their number. Forces of dry friction
    that slips are given, and are added to the load."""
    size, n, mode, columns, pull = 0, c.velocities, c.mode, c.columns, c.pull
    for k in range(len(c.permanent)):
        size = add_column(c, size, int(c.permanent[k]))
    for i in range(c.contacts):
        k = MODE_ENTRIES * i
        if mode[k] == 0.0:
            continue
        t, ways, sticks = int(c.tangential[i]), int(c.ways[i]), mode[k + 1] != 0.0
        if c.normal[i] >= 0:
            c.column[i] = size
            size = add_column(c, size, int(c.normal[i]))
        for w in range(ways):
            if sticks:
                size = add_column(c, size, t + w)
            elif c.pressing[i] >= 0:  # those of resistances come after their contacts
                pressed = int(c.column[i] if c.host[i] < 0 else c.column[int(c.host[i])])
                add_multiple(c.effect[pressed], -c.rubbing[t + w], columns[(t + w) * n : (t + w) * n + n], n)
            else:
                c.multiplier[t + w] = -c.rubbing[t + w]
                add_multiple(pull, -c.rubbing[t + w], columns[(t + w) * n : (t + w) * n + n], n)
    return size


def add_multiple(target: Vector, factor: float, column: Vector, n: int) -> None:
    for j in range(n):
        target[j] += factor * column[j]


def add_column(c: ContactModes, size: int, row: int) -> int:
    """One more row that is solved for."""
    c.field_row[size] = row
    n, effect = c.velocities, c.effect[size]
    column = c.columns[row * n : row * n + n]
    for j in range(n):
        effect[j] = column[j]
    return size + 1


def remove_compliance(c: ContactModes, size: int) -> None:
    """Solve for the forces, in `field_force`."""
    before, side, force, new, step = 1.0, c.field_side, c.field_force, c.field_new, c.field_step
    for a in range(size):
        force[a], step[a] = 0.0, 0.0
    for iteration in range(MOST_ITERATIONS):
        for a in range(size):
            new[a] = side[a] + c.compliance[int(c.field_row[a])] * force[a]
        lu_solve(c.field_matrix, c.field_pivot, size, new)
        change, bend, length = 0.0, 0.0, 0.0
        for a in range(size):
            made = new[a] - force[a]
            change += made * made
            bend += (made - step[a]) * (made - step[a])
            length += new[a] * new[a]
            force[a], step[a] = new[a], made
        if not change > REMOVED * REMOVED * length:
            return
        if iteration > 0 and not change * (change / before) > SETTLED * SETTLED * length:
            return  # the next change would be smaller by as much as this one
        equal = not bend > REMOVED * REMOVED * max(change, 0.01 * length)  # steps have rounding errors, too
        if iteration > 1 and equal and take_back(c, size, iteration + 1.0, change):
            return
        before = change
    for a in range(size):
        c.field_force[a] = math.nan


def take_back(c: ContactModes, size: int, count: float, change: float) -> bool:
    """Take back the equal steps of the iteration, unless they show modes that contradict each other.

    Where n is the dependence of rows, nᵀA = 0, what they ask for differs by nᵀ(A v̇ + b) = −ṅᵀ(A v): slips within a step, of
    contacts that stick, let forces along n grow by the same amount in every iteration."""
    rest = 0.0
    for a in range(size):
        c.field_new[a] = c.field_force[a] - count * c.field_step[a]
        rest += c.field_new[a] * c.field_new[a]
    if change > CONTRADICTION * CONTRADICTION * rest:
        return False
    for a in range(size):
        c.field_force[a] = c.field_new[a]
    return True


def add_forces(c: ContactModes, size: int) -> None:
    """The forces by rows, with those of friction, and their effects."""
    multiplier, mode = c.multiplier, c.mode
    for b in range(size):
        multiplier[int(c.field_row[b])] = c.field_force[b]
        add_multiple(c.pull, c.field_force[b], c.effect[b], c.velocities)
    for i in range(c.contacts):
        slips = mode[MODE_ENTRIES * i] != 0.0 and mode[MODE_ENTRIES * i + 1] == 0.0
        if slips and c.pressing[i] >= 0:
            for w in range(c.ways[i]):
                t = int(c.tangential[i]) + w
                multiplier[t] = -c.rubbing[t] * multiplier[int(c.pressing[i])]
