"""Forces and impulses of unilateral contacts in given modes, and the laws that they must satisfy. Restricted Python.

Along the rows of the contacts, a = c + G λ: accelerations from forces, or velocities from impulses, with Delassus' matrix
G = A M⁻¹ Aᵀ. Every contact is open (λ = 0, a_n ≥ 0), slips (a_n = 0, λ_n ≥ 0, λ_t = −μ λ_n d) or sticks (a = 0, λ_n ≥ 0,
|λ_t| ≤ μ λ_n).
`contact_directions` has the directions in which contacts begin to slip, `contact_complementarity` the modes.

Dry friction of joints has no normal row, and forces in the place of coefficients: it slips (λ_t = −F d) or sticks (|λ_t| ≤ F).
Resistance to rolling and drilling has the normal force of its host, another contact, and is open where that is.
"""

from __future__ import annotations

import math

from draisine.codegen.restricted.types import Vector
from draisine.simulation.stepper.contact_layout import (
    OPEN,
    SLIP,
    STICK,
    ContactModes,
)
from draisine.simulation.stepper.dense_matrices import lu_decompose, lu_solve

SLACK = 1e-9  # relative error of inequalities
COMPLIANCE = 1e-6  # relative, of rows that may be dependent; removed by iteration
CANCELLED = 1e-14  # relative, of an acceleration whose terms cancel each other
REFINEMENTS = 3
MOST_REFINEMENTS = 100  # where forces are nearly undetermined, as at the limit of Painlevé's paradox
LEFT, CONVERGES = 1e-9, 0.9  # accelerations along rows relative to those without forces; of those before, where it converges
TORN = 1e-3  # relative, of what is left along rows of infinite friction: by dependent rows that contradict each other
BOUNDARY = 1e-7  # relative, of accelerations that are zero at the limit of friction, or where a force has just vanished


def respond(c: ContactModes) -> bool:
    """c from the terms, with factors of the mass matrix for `respond_along_rows`; False if it is singular."""
    n, fixed = c.velocities, len(c.permanent)
    for i in range(n + fixed):
        for j in range(n + fixed):
            c.system[i, j] = 0.0
    for i in range(n):
        for j in range(n):
            c.system[i, j] = c.mass[i * n + j]
    for k in range(fixed):
        row = int(c.permanent[k])
        for j in range(n):
            c.system[n + k, j] = c.row[row * n + j]
            c.system[j, n + k] = -c.row[row * n + j]
    if lu_decompose(c.system, c.system_pivot, n + fixed) >= 0:
        return False
    accelerate(c)
    return True


def accelerate(c: ContactModes) -> None:
    """c from the terms, with the factors of `respond`, which do not depend on velocities."""
    n, fixed = c.velocities, len(c.permanent)
    for j in range(n):
        c.side[j] = c.force[j]
    for k in range(fixed):
        c.side[n + k] = -c.bias[int(c.permanent[k])]
    lu_solve(c.system, c.system_pivot, n + fixed, c.side)
    for j in range(n):
        c.free[j] = c.side[j]
    for i in range(c.rows):
        c.offset[i] = c.bias[i] + along(c, i, c.free)
    for i in range(c.contacts):
        if has_normal(c, i):
            row = int(c.normal[i])
            if is_rounding(c, row, c.offset[row]):
                c.offset[row] = 0.0  # rounding error is no approach


def is_rounding(c: ContactModes, row: int, acceleration: float) -> bool:
    """Whether an acceleration along a row is rounding error of the terms of which it is made up without contact forces."""
    return abs(acceleration) <= CANCELLED * (abs(c.bias[row]) + largest_part(c, row, c.free))


def respond_along_rows(c: ContactModes, everything: bool) -> None:
    """G from the terms: the rows of active contacts, or all rows; others are zero."""
    n, fixed = c.velocities, len(c.permanent)
    for i in range(c.rows):
        c.small_row[i] = 1 if everything else 0
    for i in range(c.contacts):
        if c.active[i] != 0:
            if has_normal(c, i):
                c.small_row[int(c.normal[i])] = 1
            for w in range(c.ways[i]):
                c.small_row[int(c.tangential[i]) + w] = 1
    for i in range(c.rows):
        for k in range(c.rows):
            c.delassus[i, k] = 0.0
        if c.small_row[i] == 0:
            continue
        for j in range(n):
            c.side[j] = c.row[i * n + j]
        for k in range(fixed):
            c.side[n + k] = 0.0
        lu_solve(c.system, c.system_pivot, n + fixed, c.side)
        for j in range(n):
            c.response[i, j] = c.side[j]
    for i in range(c.rows):
        if c.small_row[i] != 0:
            for k in range(i + 1):
                if c.small_row[k] != 0:
                    c.delassus[i, k] = along(c, i, c.response[k])
                    c.delassus[k, i] = c.delassus[i, k]


def along(c: ContactModes, row: int, motion: Vector) -> float:
    """A row times a motion."""
    total = 0.0
    for j in range(c.velocities):
        total += c.row[row * c.velocities + j] * motion[j]
    return total


def largest_part(c: ContactModes, row: int, motion: Vector) -> float:
    """The largest term of a row times a motion."""
    size = 0.0
    for j in range(c.velocities):
        size = max(size, abs(c.row[row * c.velocities + j] * motion[j]))
    return size


def kinetic(c: ContactModes, i: int) -> float:
    return c.coefficient[3 * i + 1]


def static(c: ContactModes, i: int) -> float:
    return c.coefficient[3 * i]


def has_normal(c: ContactModes, i: int) -> bool:
    """Whether a contact has a normal row; dry friction of joints and resistances of other contacts have none."""
    return c.normal[i] >= 0


def is_joint(c: ContactModes, i: int) -> bool:
    """Whether it is the dry friction of a joint, a given force."""
    return c.pressing[i] < 0


def resists(c: ContactModes, i: int) -> bool:
    """Whether it is the resistance of another contact to rolling or drilling."""
    return c.host[i] >= 0


def open_with_host(c: ContactModes, i: int) -> bool:
    """Whether the combination `choice` opens a resistance where its contact is open, and only there."""
    if not resists(c, i):
        return True
    if c.choice[int(c.host[i])] == OPEN:
        return c.choice[i] == OPEN
    return c.choice[i] != OPEN


def sliding_force(c: ContactModes, i: int) -> float:
    """The force of friction of a contact that slips, with the present reactions."""
    return kinetic(c, i) if is_joint(c, i) else kinetic(c, i) * c.reaction[int(c.pressing[i])]


def solve_choice(c: ContactModes) -> bool:
    """Reactions and results of the combination `choice`, with slip along `direction`; False if they are not determined."""
    size = 0
    c.is_shared = 0
    for i in range(c.contacts):
        if c.active[i] != 0 and c.choice[i] != OPEN:
            if has_normal(c, i):
                c.small_row[size] = c.normal[i]
                size += 1
            if c.choice[i] == STICK:
                for w in range(c.ways[i]):
                    c.small_row[size] = c.tangential[i] + w
                    size += 1
    for a in range(size):
        row = int(c.small_row[a])
        c.small_side[a] = -c.target[row]
        for b in range(size):
            c.small[a, b] = c.delassus[row, int(c.small_row[b])]
    for i in range(c.contacts):
        if c.active[i] != 0 and c.choice[i] == SLIP and is_joint(c, i):
            for a in range(size):
                part = c.delassus[int(c.small_row[a]), int(c.tangential[i])]
                c.small_side[a] += kinetic(c, i) * c.direction[i, 0] * part
        elif c.active[i] != 0 and c.choice[i] == SLIP:
            for b in range(size):
                if c.small_row[b] == c.pressing[i]:
                    for a in range(size):
                        for w in range(c.ways[i]):
                            part = c.delassus[int(c.small_row[a]), int(c.tangential[i]) + w]
                            c.small[a, b] -= kinetic(c, i) * c.direction[i, w] * part
    for a in range(size):
        for b in range(size):
            c.small_copy[a, b] = c.small[a, b]
        c.small[a, a] += compliance(c, int(c.small_row[a]))
        c.unknown[a] = 0.0
    if lu_decompose(c.small, c.small_pivot, size) >= 0:
        return False
    room, before = LEFT * largest(c), math.inf
    for k in range(MOST_REFINEMENTS):
        most = 0.0
        for a in range(size):
            left = c.small_side[a]
            for b in range(size):
                left -= c.small_copy[a, b] * c.unknown[b]
            c.side[a] = left
            most = max(most, abs(left))
        if k >= REFINEMENTS and not (room < most < CONVERGES * before):  # rows that contradict each other leave as much
            break
        before = most
        lu_solve(c.small, c.small_pivot, size, c.side)
        for a in range(size):
            c.unknown[a] += c.side[a]
    for i in range(c.rows):
        c.reaction[i] = 0.0
    for a in range(size):
        c.reaction[int(c.small_row[a])] = c.unknown[a]
    for i in range(c.contacts):
        if c.active[i] != 0 and c.choice[i] == SLIP:
            for w in range(c.ways[i]):
                c.reaction[int(c.tangential[i]) + w] = -c.direction[i, w] * sliding_force(c, i)
    for i in range(c.rows):
        c.result[i] = c.target[i]
    for k in range(c.rows):
        force = c.reaction[k]
        if force != 0.0:  # most contacts are open
            for i in range(c.rows):
                c.result[i] += force * c.delassus[k, i]  # symmetric
    finite = True
    for i in range(c.rows):
        finite = finite and math.isfinite(c.result[i])
    return finite


def compliance(c: ContactModes, row: int) -> float:
    """Of a row, removed by refinement. That of rows that may be dependent is in the ratio of the equations."""
    return c.share[row] if c.share[row] > 0.0 else COMPLIANCE * c.delassus[row, row]


def largest(c: ContactModes) -> float:
    """The size of accelerations, or velocities."""
    size = 0.0
    for i in range(c.contacts):
        if c.active[i] != 0:
            if has_normal(c, i):
                size = max(size, abs(c.target[int(c.normal[i])]))
            for w in range(c.ways[i]):
                size = max(size, abs(c.target[int(c.tangential[i]) + w]))
    return size


def largest_reaction(c: ContactModes) -> float:
    size = 0.0
    for i in range(c.rows):
        size = max(size, abs(c.reaction[i]))
    return size


def tangential_size(c: ContactModes, i: int, values: Vector) -> float:
    """The length of the tangential part of a contact."""
    total = 0.0
    for w in range(c.ways[i]):
        total += values[int(c.tangential[i]) + w] * values[int(c.tangential[i]) + w]
    return math.sqrt(total)


def boundary(c: ContactModes, i: int) -> float:
    """The same as BOUNDARY; where a contact leaves a mode, that has ended within the tolerance of the interpolated motion."""
    return 10.0 * (max(BOUNDARY, c.tolerance) if c.excluded[i] != 0 else BOUNDARY)


def accelerations_fit(c: ContactModes) -> bool:
    """Whether the accelerations, or velocities, of the solved combination satisfy its inequalities."""
    room = SLACK * largest(c)
    for i in range(c.contacts):
        if c.active[i] == 0:
            continue
        normal = int(c.normal[i])
        if c.choice[i] == OPEN and resists(c, i):
            continue  # with its contact
        if c.choice[i] == OPEN:
            # where its force has just vanished its acceleration has, too: what is left of it is the error of that time
            least = boundary(c, i) * largest(c) if c.excluded[i] != 0 else room
            if c.result[normal] < -(max(least, c.negligible) if i == c.vanished else least):
                return False
            continue
        if c.choice[i] == STICK:
            if static(c, i) < 0.0 and tangential_size(c, i, c.result) > TORN * largest(c):
                return False  # other contacts hold it on ground that moves: no force is enough
        elif c.settled[i] == 0:
            forward = 0.0
            for w in range(c.ways[i]):
                forward += c.result[int(c.tangential[i]) + w] * c.direction[i, w]
            if forward < -boundary(c, i) * largest(c):
                return False
    return True


def forces_fit(c: ContactModes) -> bool:
    """Whether its forces, or impulses, do: those of friction as far as contacts stick."""
    slack = SLACK * largest_reaction(c)
    for i in range(c.contacts):
        if c.active[i] == 0 or c.choice[i] == OPEN:
            continue
        if has_normal(c, i) and c.reaction[int(c.normal[i])] < -slack:
            return False
        if c.choice[i] == STICK:
            limit = static(c, i)
            most = limit if is_joint(c, i) else limit * c.reaction[int(c.pressing[i])]
            if limit >= 0.0 and tangential_size(c, i, c.reaction) > most + slack:
                return False
    return True
