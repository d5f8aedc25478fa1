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


def contact_field(s: Stepper, target: Vector) -> None:
    """The derivative at (time, point)."""
    c = s.modes
    solve_contact_forces(s)
    n, first = c.velocities, c.first_velocity
    for i in range(first):
        target[i] = c.rates[i]
    for i in range(n):
        c.pull[i] *= c.inverse[i]
    for back in range(n):
        i = n - 1 - back
        value = c.pull[i]
        for k in range(i + 1, n):
            value -= c.lower[i * n + k] * c.pull[k]
        c.pull[i] = value
        target[first + back] = value
    power = c.rates[first]
    for k in range(c.rows):
        if c.multiplier[k] != 0.0:  # what the kernel has not computed for open contacts is that of an earlier point
            power -= c.multiplier[k] * c.drift[k]
    for i in range(c.contacts):
        if c.mode[MODE_ENTRIES * i + 1] == 0.0:  # it does not stick
            for w in range(c.ways[i]):
                t = int(c.tangential[i]) + w
                power += c.multiplier[t] * c.row_speed[t]
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
    n = c.velocities
    for j in range(n):
        c.pull[j] = c.load[j]
    for k in range(c.rows):
        c.multiplier[k] = 0.0
    size = choose_columns(c)
    compliant = False
    for a in range(size):
        row = int(c.field_row[a])
        for j in range(n):
            c.scaled[j] = c.columns[row * n + j] * c.inverse[j]
        left = c.row_side[row]
        for j in range(n):
            left -= c.scaled[j] * c.pull[j]
        c.field_side[a] = left
        for b in range(size):
            total = 0.0
            for j in range(n):
                total += c.scaled[j] * c.effect[b, j]
            c.field_matrix[a, b] = total
        c.field_matrix[a, a] += c.compliance[row]
        compliant = compliant or c.compliance[row] != 0.0
    if lu_decompose(c.field_matrix, c.field_pivot, size) >= 0:
        for a in range(size):
            c.field_force[a] = math.nan
    else:
        remove_compliance(c, size, compliant)
    add_forces(c, size)


def choose_columns(c: ContactModes) -> int:
    """The rows that are solved for, in `field_row`, and the effects of their forces; return their number. Forces of dry friction
    that slips are given, and are added to the load."""
    size = 0
    for k in range(len(c.permanent)):
        size = add_column(c, size, int(c.permanent[k]))
    for i in range(c.contacts):
        k, t, ways = MODE_ENTRIES * i, int(c.tangential[i]), int(c.ways[i])
        if c.mode[k] == 0.0:
            continue
        sticks = c.mode[k + 1] != 0.0
        if c.normal[i] >= 0:
            c.column[i] = size
            size = add_column(c, size, int(c.normal[i]))
        for w in range(ways):
            if sticks:
                size = add_column(c, size, t + w)
            elif c.pressing[i] >= 0:  # those of resistances come after their contacts
                pressed = int(c.column[i] if c.host[i] < 0 else c.column[int(c.host[i])])
                for j in range(c.velocities):
                    c.effect[pressed, j] -= c.rubbing[t + w] * c.columns[(t + w) * c.velocities + j]
            else:
                c.multiplier[t + w] = -c.rubbing[t + w]
                for j in range(c.velocities):
                    c.pull[j] -= c.rubbing[t + w] * c.columns[(t + w) * c.velocities + j]
    return size


def add_column(c: ContactModes, size: int, row: int) -> int:
    """One more row that is solved for."""
    c.field_row[size] = row
    for j in range(c.velocities):
        c.effect[size, j] = c.columns[row * c.velocities + j]
    return size + 1


def remove_compliance(c: ContactModes, size: int, compliant: bool) -> None:
    """Solve for the forces, in `field_force`."""
    before = 1.0
    for a in range(size):
        c.field_force[a] = 0.0
    for iteration in range(MOST_ITERATIONS):
        for a in range(size):
            c.field_new[a] = c.field_side[a] + c.compliance[int(c.field_row[a])] * c.field_force[a]
        lu_solve(c.field_matrix, c.field_pivot, size, c.field_new)
        change, length = 0.0, 0.0
        for a in range(size):
            change += (c.field_new[a] - c.field_force[a]) * (c.field_new[a] - c.field_force[a])
            length += c.field_new[a] * c.field_new[a]
            c.field_force[a] = c.field_new[a]
        if not compliant or not change > REMOVED * REMOVED * length:
            return
        if iteration > 0 and not change * (change / before) > SETTLED * SETTLED * length:
            return  # the next change would be smaller by as much as this one
        before = change
    for a in range(size):
        c.field_force[a] = math.nan


def add_forces(c: ContactModes, size: int) -> None:
    """The forces by rows, with those of friction, and their effects."""
    for b in range(size):
        force = c.field_force[b]
        c.multiplier[int(c.field_row[b])] = force
        for j in range(c.velocities):
            c.pull[j] += force * c.effect[b, j]
    for i in range(c.contacts):
        slips = c.mode[MODE_ENTRIES * i] != 0.0 and c.mode[MODE_ENTRIES * i + 1] == 0.0
        if slips and c.pressing[i] >= 0:
            for w in range(c.ways[i]):
                t = int(c.tangential[i]) + w
                c.multiplier[t] = -c.rubbing[t] * c.multiplier[int(c.pressing[i])]
