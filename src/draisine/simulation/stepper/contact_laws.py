"""Forces and impulses of unilateral contacts by complementarity. Restricted Python.

Along the rows of the contacts, a = c + G λ: accelerations from forces, or velocities from impulses, with Delassus' matrix
G = A M⁻¹ Aᵀ. Every contact is open (λ = 0, a_n ≥ 0), slips (a_n = 0, λ_n ≥ 0, λ_t = −μ λ_n d) or sticks (a = 0, λ_n ≥ 0,
|λ_t| ≤ μ λ_n). All combinations are tried, those that stick first. The first one that satisfies its inequalities is taken;
another one that opens other contacts and has other accelerations shows that the motion is not determined (Painlevé's paradox),
none that it does not exist.
"""

from __future__ import annotations

import math

from draisine.codegen.restricted.types import Vector
from draisine.simulation.stepper.contact_layout import (
    FOUND,
    INCONSISTENT,
    INDETERMINATE,
    OPEN,
    SLIP,
    STICK,
    ContactModes,
)
from draisine.simulation.stepper.dense_matrices import lu_decompose, lu_solve

SLACK = 1e-9  # relative error of inequalities
COMPLIANCE = 1e-10  # relative, of rows that may be dependent; removed by iteration
REFINEMENTS = 3
TURNS = 50  # iterations for the directions in which several contacts begin to slip
BOUNDARY = 1e-7  # relative, of accelerations that are zero at the limit of friction


def respond(c: ContactModes) -> bool:
    """G and c from the terms; False if the mass matrix is singular."""
    n, held = c.velocities, len(c.permanent)
    for i in range(n + held):
        for j in range(n + held):
            c.system[i, j] = 0.0
    for i in range(n):
        for j in range(n):
            c.system[i, j] = c.mass[i * n + j]
    for k in range(held):
        row = int(c.permanent[k])
        for j in range(n):
            c.system[n + k, j] = c.row[row * n + j]
            c.system[j, n + k] = -c.row[row * n + j]
    if lu_decompose(c.system, c.system_pivot, n + held) >= 0:
        return False
    for j in range(n):
        c.side[j] = c.force[j]
    for k in range(held):
        c.side[n + k] = -c.bias[int(c.permanent[k])]
    lu_solve(c.system, c.system_pivot, n + held, c.side)
    for j in range(n):
        c.free[j] = c.side[j]
    for i in range(c.rows):
        for j in range(n):
            c.side[j] = c.row[i * n + j]
        for k in range(held):
            c.side[n + k] = 0.0
        lu_solve(c.system, c.system_pivot, n + held, c.side)
        for j in range(n):
            c.response[i, j] = c.side[j]
    for i in range(c.rows):
        c.offset[i] = c.bias[i] + along(c, i, c.free)
        for k in range(c.rows):
            c.delassus[i, k] = along(c, i, c.response[k])
    return True


def along(c: ContactModes, row: int, motion: Vector) -> float:
    """A row times a motion."""
    total = 0.0
    for j in range(c.velocities):
        total += c.row[row * c.velocities + j] * motion[j]
    return total


def kinetic(c: ContactModes, i: int) -> float:
    return c.coefficient[3 * i + 1]


def static(c: ContactModes, i: int) -> float:
    return c.coefficient[3 * i]


def solve_choice(c: ContactModes) -> bool:
    """Reactions and results of the combination `choice`, with slip along `direction`; False if they are not determined."""
    size = 0
    for i in range(c.contacts):
        if c.active[i] != 0 and c.choice[i] != OPEN:
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
        if c.active[i] != 0 and c.choice[i] == SLIP:
            for b in range(size):
                if c.small_row[b] == c.normal[i]:
                    for a in range(size):
                        for w in range(c.ways[i]):
                            part = c.delassus[int(c.small_row[a]), int(c.tangential[i]) + w]
                            c.small[a, b] -= kinetic(c, i) * c.direction[i, w] * part
    for a in range(size):
        for b in range(size):
            c.small_copy[a, b] = c.small[a, b]
        row = int(c.small_row[a])
        c.small[a, a] += COMPLIANCE * c.delassus[row, row]
        c.unknown[a] = 0.0
    if lu_decompose(c.small, c.small_pivot, size) >= 0:
        return False
    for _ in range(REFINEMENTS):
        for a in range(size):
            left = c.small_side[a]
            for b in range(size):
                left -= c.small_copy[a, b] * c.unknown[b]
            c.side[a] = left
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
                c.reaction[int(c.tangential[i]) + w] = -kinetic(c, i) * c.direction[i, w] * c.reaction[int(c.normal[i])]
    finite = True
    for i in range(c.rows):
        total = c.target[i]
        for k in range(c.rows):
            total += c.delassus[i, k] * c.reaction[k]
        c.result[i] = total
        if not math.isfinite(total):
            finite = False
    return finite


def largest(c: ContactModes) -> float:
    """The size of accelerations, or velocities."""
    size = 0.0
    for i in range(c.contacts):
        if c.active[i] != 0:
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


def satisfies(c: ContactModes) -> bool:
    """Whether the solved combination satisfies its inequalities."""
    room, slack = SLACK * largest(c), SLACK * largest_reaction(c)
    for i in range(c.contacts):
        if c.active[i] == 0:
            continue
        normal = int(c.normal[i])
        if c.choice[i] == OPEN:
            if c.result[normal] < -room:
                return False
            continue
        if c.reaction[normal] < -slack:
            return False
        if c.choice[i] == STICK:
            limit = static(c, i)
            if limit >= 0.0 and tangential_size(c, i, c.reaction) > limit * c.reaction[normal] + slack:
                return False
        elif c.settled[i] == 0:
            forward = 0.0
            for w in range(c.ways[i]):
                forward += c.result[int(c.tangential[i]) + w] * c.direction[i, w]
            if forward < -10.0 * BOUNDARY * largest(c):
                return False
    return True


def take_direction_of_force(c: ContactModes, i: int) -> None:
    """The direction in which a contact would begin to slip: against the force that it needs to stick."""
    c.choice[i] = STICK
    solved = solve_choice(c)
    c.choice[i] = SLIP
    size = tangential_size(c, i, c.reaction)
    for w in range(c.ways[i]):
        c.direction[i, w] = -c.reaction[int(c.tangential[i]) + w] / size if solved and size > 0.0 else 1.0 - w


def turn_directions(c: ContactModes) -> bool:
    """Solve the combination with slip along the accelerations (or velocities) that follow from it."""
    for i in range(c.contacts):
        if c.active[i] != 0 and c.choice[i] == SLIP and c.settled[i] == 0:
            take_direction_of_force(c, i)
    if not solve_choice(c):
        return False
    room = BOUNDARY * largest(c)
    for _ in range(TURNS):
        turned = False
        for i in range(c.contacts):
            if c.active[i] != 0 and c.choice[i] == SLIP and c.settled[i] == 0:
                if c.ways[i] == 1:
                    turned = reverse(c, i, room) or turned
                elif abs(sideways(c, i)) > room:
                    if not turn(c, i):
                        return False
                    turned = True
        if not turned:
            return True
    return False


def reverse(c: ContactModes, i: int, room: float) -> bool:
    """Reverse a slip in one direction if it would go the other way; whether it was reversed."""
    if c.result[int(c.tangential[i])] * c.direction[i, 0] >= -room:
        return False
    c.direction[i, 0] = -c.direction[i, 0]
    if solve_choice(c) and c.result[int(c.tangential[i])] * c.direction[i, 0] >= -room:
        return True
    c.direction[i, 0] = -c.direction[i, 0]
    solve_choice(c)
    return False


def sideways(c: ContactModes, i: int) -> float:
    """The acceleration (or velocity) across the direction of slip, to its left."""
    first = int(c.tangential[i])
    return c.direction[i, 0] * c.result[first + 1] - c.direction[i, 1] * c.result[first]


def at_angle(c: ContactModes, i: int, angle: float) -> float:
    """What is left across the direction of slip at an angle from `trial`; NaN without a solution."""
    cosine, sine = math.cos(angle), math.sin(angle)
    c.direction[i, 0] = cosine * c.trial[i, 0] - sine * c.trial[i, 1]
    c.direction[i, 1] = sine * c.trial[i, 0] + cosine * c.trial[i, 1]
    if not solve_choice(c):
        return math.nan
    return sideways(c, i)


def turn(c: ContactModes, i: int) -> bool:
    """Turn the direction of slip, as the motion turns it, to the first one that it keeps."""
    c.trial[i, 0], c.trial[i, 1] = c.direction[i, 0], c.direction[i, 1]
    first = sideways(c, i)
    sign = 1.0 if first > 0.0 else -1.0
    low, high = 0.0, 1e-6
    while not sign * at_angle(c, i, sign * high) < 0.0:
        low, high = high, 2.0 * high
        if high > 6.4:
            return False
    for _ in range(60):
        middle = 0.5 * (low + high)
        if sign * at_angle(c, i, sign * middle) > 0.0:
            low = middle
        else:
            high = middle
    return not math.isnan(at_angle(c, i, sign * low))


def allowed(c: ContactModes, i: int, choice: int) -> bool:
    """Whether a contact may be in a mode."""
    if c.excluded[i] == choice + 1:
        return False
    if choice == OPEN:
        return True
    if choice == SLIP:
        return c.ways[i] > 0 and kinetic(c, i) >= 0.0
    return c.settled[i] == 0  # a contact that slips cannot stick at once


def combine(c: ContactModes, code: int) -> bool:
    """The combination of a number: digits 0, 1, 2 for contacts that stick, slip, are open; False if it is not allowed."""
    for i in range(c.contacts):
        c.choice[i] = OPEN
        if c.active[i] != 0:
            c.choice[i] = STICK - code % 3
            code //= 3
            if not allowed(c, i, int(c.choice[i])):
                return False
    return True


def solve_complementarity(c: ContactModes) -> int:
    """The modes, forces and results of the active contacts, in `best`, `best_reaction`, `best_result`, `best_direction`."""
    count, number = 1, 0
    for i in range(c.contacts):
        if c.active[i] != 0:
            count *= 3
    for i in range(c.contacts):
        for w in range(2):
            c.trial[i, w] = c.direction[i, w]
            c.best_direction[i, w] = c.direction[i, w]
    outcome = INCONSISTENT
    for number in range(count):
        if not combine(c, number):
            continue
        if outcome == FOUND and not opens_others(c):
            continue
        for i in range(c.contacts):
            if c.settled[i] != 0:
                for w in range(2):
                    c.direction[i, w] = c.best_direction[i, w]
        if not turn_directions(c) or not satisfies(c):
            continue
        if outcome == FOUND:
            if differs_from_best(c):
                return INDETERMINATE
            continue
        outcome = FOUND
        keep_best(c)
    return outcome


def keep_best(c: ContactModes) -> None:
    for i in range(c.contacts):
        c.best[i] = c.choice[i]
        if c.choice[i] == SLIP:
            for w in range(2):
                c.best_direction[i, w] = c.direction[i, w]
    for i in range(c.rows):
        c.best_reaction[i], c.best_result[i] = c.reaction[i], c.result[i]


def opens_others(c: ContactModes) -> bool:
    """Whether a combination opens other contacts than the best one."""
    for i in range(c.contacts):
        if c.choice[i] == OPEN and c.best[i] != OPEN:
            return True
        if c.choice[i] != OPEN and c.best[i] == OPEN:
            return True
    return False


def differs_from_best(c: ContactModes) -> bool:
    room = 1e3 * SLACK * largest(c)
    for i in range(c.contacts):
        if c.active[i] != 0 and abs(c.result[int(c.normal[i])] - c.best_result[int(c.normal[i])]) > room:
            return True
    return False
