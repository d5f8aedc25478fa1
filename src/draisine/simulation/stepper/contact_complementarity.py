"""Modes of unilateral contacts by complementarity of forces and accelerations, or of impulses and velocities. Restricted Python.

Where one contact changes its mode the others usually keep theirs: that combination is tried first. Else forces are iterated by
projection on the cones of friction (De Saxcé & Feng 1998), which shows the modes, and all combinations are tried if that fails.
Another combination that opens other contacts and has other accelerations shows that the motion is not determined (Painlevé's
paradox), none that it does not exist.
"""

from __future__ import annotations

import math

from draisine.simulation.stepper.contact_directions import begins, refine_directions, turn_directions
from draisine.simulation.stepper.contact_laws import (
    SLACK,
    has_normal,
    is_joint,
    kinetic,
    largest,
    open_with_host,
    resists,
    solve_choice,
    static,
    tangential_size,
)
from draisine.simulation.stepper.contact_layout import (
    FOUND,
    INCONSISTENT,
    INDETERMINATE,
    OPEN,
    SLIP,
    STICK,
    UNDECIDED,
    ContactModes,
)
from draisine.simulation.stepper.contact_shares import satisfies

ITERATIONS = 2000  # of the projections
FEW = 8  # of them after which modes are tried first, then after times as many, and after twice as many each time
RELAXATION = 0.9
CONVERGED = 1e-13  # relative change of forces
MOST_ENUMERATED = 4  # contacts of which all combinations are tried


def allowed(c: ContactModes, i: int, choice: int) -> bool:
    """Whether a contact may be in a mode."""
    if c.excluded[i] == choice + 1:
        return False
    if choice == OPEN:
        return not is_joint(c, i)
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
            if not allowed(c, i, int(c.choice[i])) or not open_with_host(c, i):
                return False
    return True


def solve_complementarity(c: ContactModes) -> int:
    """The modes, forces and results of the active contacts, in `best`, `best_reaction`, `best_result`, `best_direction`."""
    outcome = iterate_to_modes(c)
    if outcome == FOUND and not may_be_indeterminate(c):
        return outcome
    return solve_by_enumeration(c, outcome)


def solve_any(c: ContactModes) -> int:
    """The same where any solution will do: whether there are others is not examined."""
    outcome = iterate_to_modes(c)
    return outcome if outcome == FOUND else solve_by_enumeration(c, outcome)


def iterate_to_modes(c: ContactModes) -> int:
    """The modes that are presumed, or that iterated forces show: FOUND, or INCONSISTENT where these are not right."""
    for i in range(c.contacts):
        for w in range(2):
            c.best_direction[i, w] = c.direction[i, w]
    outcome = INCONSISTENT
    if solve_presumed(c) or solve_by_projection(c):
        outcome = FOUND
        keep_best(c)
        prefer_sticking(c)
    return outcome


def solve_presumed(c: ContactModes) -> bool:
    """Whether all contacts stay closed, those that do not slip stick, and this is right: so it most often is after an impact."""
    for i in range(c.contacts):
        c.choice[i] = OPEN
        if c.active[i] != 0:
            c.choice[i] = SLIP if c.settled[i] != 0 else STICK
            if not allowed(c, i, int(c.choice[i])):
                return False
    return solve_choice(c) and satisfies(c)


def prefer_sticking(c: ContactModes) -> None:
    """Where forces along dependent rows are at the limit of friction in one of several contacts, though none of them slips."""
    found = False
    for i in range(c.contacts):
        rests = tangential_size(c, i, c.result) <= 1e3 * SLACK * largest(c)
        if begins(c, i) and allowed(c, i, STICK) and rests:
            c.choice[i], found = STICK, True
    if found and turn_directions(c) and satisfies(c):
        keep_best(c)


def may_be_indeterminate(c: ContactModes) -> bool:
    """Whether friction may lift a contact: few contacts are examined anyway."""
    count = 0
    for i in range(c.contacts):
        if c.active[i] != 0 and has_normal(c, i):
            count += 1
            if c.ways[i] > 0 and lifts(c, i):
                return True
    return 1 < count <= 2


def lifts(c: ContactModes, i: int) -> bool:
    """Whether the normal acceleration that a unit normal force gives may be negative, by the friction that it causes."""
    n, t, friction = int(c.normal[i]), int(c.tangential[i]), kinetic(c, i)
    if friction < 0.0:
        return False
    coupling = 0.0
    for w in range(c.ways[i]):
        if c.settled[i] != 0:
            coupling += c.delassus[n, t + w] * c.best_direction[i, w]
        else:
            coupling += abs(c.delassus[n, t + w])
    return c.delassus[n, n] - friction * coupling <= 0.0


def solve_by_enumeration(c: ContactModes, outcome: int) -> int:
    """Try all combinations: for the first one that is right, and for others that contradict it."""
    count, closed, undecided = 1, 0, False
    for i in range(c.contacts):
        if c.active[i] != 0:
            count *= 3
            closed += 1
    if closed > MOST_ENUMERATED and outcome == FOUND:
        return outcome
    for number in range(count):
        if not combine(c, number):
            continue
        if outcome == FOUND and not opens_others(c):
            continue
        for i in range(c.contacts):
            if c.settled[i] != 0:
                for w in range(2):
                    c.direction[i, w] = c.best_direction[i, w]
        if not turn_directions(c):
            undecided = True
            continue
        if not satisfies(c):
            continue
        if outcome == FOUND:
            if differs_from_best(c):
                return INDETERMINATE
            continue
        outcome = FOUND
        keep_best(c)
    return UNDECIDED if outcome == INCONSISTENT and undecided else outcome


def keep_modes(c: ContactModes) -> bool:
    """Whether the combination `choice`, with directions of slips that go on in `direction`, is right; it is then the best one."""
    for i in range(c.contacts):
        if c.active[i] == 0:
            c.choice[i] = OPEN
        elif not allowed(c, i, int(c.choice[i])) or not open_with_host(c, i):
            return False
        for w in range(2):
            c.best_direction[i, w] = c.direction[i, w]
    if not turn_directions(c) or not satisfies(c):
        for i in range(c.contacts):
            for w in range(2):
                c.direction[i, w] = c.best_direction[i, w]
        return False
    keep_best(c)
    return True


def begin_slips(c: ContactModes) -> bool:
    """Whether the combination `choice` is right with slips that begin near `direction`; it is then the best one."""
    for i in range(c.contacts):
        if c.active[i] != 0 and not allowed(c, i, int(c.choice[i])):
            return False
    if not refine_directions(c) or not satisfies(c):
        return False
    keep_best(c)
    return True


# ------------------------------------------------------------------------------------------------------ projections


def solve_by_projection(c: ContactModes) -> bool:
    """Forces by iteration; their modes, if these are right. Where no slip begins a few iterations may show them."""
    for k in range(c.rows):
        c.reaction[k], c.result[k] = 0.0, c.target[k]
    done, count = 0, FEW
    while done < ITERATIONS:
        converged = iterate_forces(c, count)
        done, count = done + count, FEW * FEW if done == 0 else 2 * count
        if converged:
            break
        for k in range(c.rows):
            c.best_reaction[k], c.best_result[k] = c.reaction[k], c.result[k]
        if modes_of_forces(c, True):
            return True
        for k in range(c.rows):
            c.reaction[k], c.result[k] = c.best_reaction[k], c.best_result[k]
    return modes_of_forces(c, True)


def modes_of_forces(c: ContactModes, slips: bool) -> bool:
    """The modes that iterated forces show, and whether they are right; those of slips that begin only with `slips`."""
    for i in range(c.contacts):
        c.choice[i] = OPEN
        if c.active[i] != 0:
            c.choice[i] = mode_of_force(c, i)
            if not allowed(c, i, int(c.choice[i])):
                return False
    for i in range(c.contacts):
        if begins(c, i):
            size = tangential_size(c, i, c.reaction)
            if not slips or not size > 0.0:
                return False
            for w in range(c.ways[i]):
                c.direction[i, w] = -c.reaction[int(c.tangential[i]) + w] / size
    return refine_directions(c) and satisfies(c)


def mode_of_force(c: ContactModes, i: int) -> int:
    """The mode that an iterated force shows."""
    if is_joint(c, i):
        return STICK if c.settled[i] == 0 and tangential_size(c, i, c.reaction) < (1.0 - 1e-7) * static(c, i) else SLIP
    normal = c.reaction[int(c.pressing[i])]
    if not normal > 1e-8 * strongest(c):
        return OPEN
    if c.settled[i] != 0:
        return SLIP
    limit = static(c, i)
    if c.ways[i] == 0 or limit < 0.0 or tangential_size(c, i, c.reaction) < (1.0 - 1e-7) * limit * normal:
        return STICK
    return SLIP


def strongest(c: ContactModes) -> float:
    size = 0.0
    for i in range(c.rows):
        size = max(size, abs(c.reaction[i]))
    return size


def iterate_forces(c: ContactModes, count: int) -> bool:
    """λ ← P(λ − ρ (a + μ |a_t| n)) contact by contact, P onto the cone of friction; whether it has converged."""
    for _ in range(count):
        change = 0.0
        for i in range(c.contacts):
            if c.active[i] != 0:
                change = max(change, project_force(c, i))
        if change <= CONVERGED * strongest(c):
            return True
    return False


def project_force(c: ContactModes, i: int) -> float:
    """One projection of the force of a contact; the size of its change."""
    if is_joint(c, i):
        return project_dry_friction(c, i)
    if resists(c, i):
        return project_resistance(c, i)
    n, t, ways = int(c.normal[i]), int(c.tangential[i]), int(c.ways[i])
    response = c.delassus[n, n]
    for w in range(ways):
        response += c.delassus[t + w, t + w]
    step = RELAXATION / response
    limit = static(c, i)
    across = tangential_size(c, i, c.result) if limit > 0.0 else 0.0
    normal = c.reaction[n] - step * (c.result[n] + max(limit, 0.0) * across * (1.0 if c.settled[i] == 0 else 0.0))
    size = 0.0
    for w in range(ways):
        c.path_force[w] = c.reaction[t + w] - step * c.result[t + w]
        size += c.path_force[w] * c.path_force[w]
    size = math.sqrt(size)
    if c.settled[i] != 0:
        normal = max(0.0, c.reaction[n] - step * c.result[n])
        for w in range(ways):
            c.path_force[w] = -kinetic(c, i) * normal * c.direction[i, w]
    elif limit < 0.0:
        if normal < 0.0:
            normal = 0.0
            for w in range(ways):
                c.path_force[w] = 0.0
    elif size > limit * normal:
        if normal + limit * size <= 0.0:
            normal, size = 0.0, 1.0
            for w in range(ways):
                c.path_force[w] = 0.0
        else:
            normal = (normal + limit * size) / (1.0 + limit * limit)
            for w in range(ways):
                c.path_force[w] *= limit * normal / size if size > 0.0 else 0.0
    change = abs(normal - c.reaction[n])
    add_force(c, n, normal - c.reaction[n])
    for w in range(ways):
        change = max(change, abs(c.path_force[w] - c.reaction[t + w]))
        add_force(c, t + w, c.path_force[w] - c.reaction[t + w])
    return change


def project_dry_friction(c: ContactModes, i: int) -> float:
    """The same for dry friction of a joint, onto an interval."""
    t, limit = int(c.tangential[i]), static(c, i)
    force = -kinetic(c, i) * c.direction[i, 0]
    if c.settled[i] == 0:
        force = c.reaction[t]
        if c.delassus[t, t] > 0.0:
            force -= RELAXATION / c.delassus[t, t] * c.result[t]
        force = min(limit, max(-limit, force))
    change = force - c.reaction[t]
    add_force(c, t, change)
    return abs(change)


def project_resistance(c: ContactModes, i: int) -> float:
    """The same for resistance to rolling or drilling, onto a disc, or an interval, of the size that the normal force gives."""
    t, ways, response, size, change = int(c.tangential[i]), int(c.ways[i]), 0.0, 0.0, 0.0
    most = max(0.0, c.reaction[int(c.pressing[i])]) * (static(c, i) if c.settled[i] == 0 else kinetic(c, i))
    for w in range(ways):
        response += c.delassus[t + w, t + w]
    for w in range(ways):
        c.path_force[w] = c.reaction[t + w] - (RELAXATION / response * c.result[t + w] if response > 0.0 else 0.0)
        if c.settled[i] != 0:
            c.path_force[w] = -most * c.direction[i, w]
        size += c.path_force[w] * c.path_force[w]
    size = math.sqrt(size)
    for w in range(ways):
        force = c.path_force[w] * (most / size if size > most else 1.0)
        change = max(change, abs(force - c.reaction[t + w]))
        add_force(c, t + w, force - c.reaction[t + w])
    return change


def add_force(c: ContactModes, row: int, change: float) -> None:
    if change == 0.0:
        return
    c.reaction[row] += change
    for k in range(c.rows):
        c.result[k] += change * c.delassus[row, k]  # symmetric


# ---------------------------------------------------------------------------------------------------- the best so far


def keep_best(c: ContactModes) -> None:
    for i in range(c.contacts):
        c.best[i] = c.choice[i]
        if c.choice[i] == SLIP:
            for w in range(2):
                c.best_direction[i, w] = c.direction[i, w]
    for i in range(c.rows):
        c.best_reaction[i], c.best_result[i] = c.reaction[i], c.result[i]
    c.best_shared = c.is_shared


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
        if c.active[i] != 0 and has_normal(c, i) and abs(c.result[int(c.normal[i])] - c.best_result[int(c.normal[i])]) > room:
            return True
    return False
