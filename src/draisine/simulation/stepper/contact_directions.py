"""Directions in which contacts begin to slip: along their accelerations, or velocities after an impact. Restricted Python.

A contact that slips along d has the force −μ λ_n d, on which its acceleration depends. Its direction is right where the
acceleration across it vanishes. Of one contact it is turned as the motion would turn it, to the first such direction; those of
several contacts are solved for together, by Newton's method.

Where only d changes, the column of λ_n in the equations of the forces is affine in d. By Cramer's rule 1/λ_n is, too, and so are
all forces and accelerations divided by λ_n: three directions give those of all others.
"""

from __future__ import annotations

import math

from draisine.simulation.stepper.contact_laws import BOUNDARY, largest, largest_reaction, solve_choice, tangential_size
from draisine.simulation.stepper.contact_layout import SLIP, STICK, ContactModes
from draisine.simulation.stepper.dense_matrices import lu_decompose, lu_solve

SWEEPS = 4  # over the contacts, before all are solved for together
ITERATIONS = 25
HALVINGS = 8
LONGEST = 0.5  # rad, of a Newton step
DIFFERENCE = 1e-7  # rad
MOST_TURNS = 100
TURNED = 1e-13  # what is left across the direction, relative to the first
LEAST_FORCE = 1e-9  # normal force, relative to the largest force, by which others are divided
COARSE = 0.1  # rad, between two directions that are tried
HALF_TURN = math.pi
SECTORS = 16  # of half a turn, with one direction that a slip keeps at most
BISECTIONS = 60


def take_direction_of_force(c: ContactModes, i: int) -> None:
    """The direction in which a contact would begin to slip: against the force that it needs to stick."""
    c.choice[i] = STICK
    solved = solve_choice(c)
    c.choice[i] = SLIP
    size = tangential_size(c, i, c.reaction)
    for w in range(c.ways[i]):
        c.direction[i, w] = -c.reaction[int(c.tangential[i]) + w] / size if solved and size > 0.0 else 1.0 - w


def begins(c: ContactModes, i: int) -> bool:
    """Whether the direction of its slip is to be found."""
    return c.active[i] != 0 and c.choice[i] == SLIP and c.settled[i] == 0


def turn_directions(c: ContactModes) -> bool:
    """Solve the combination with slip along the accelerations (or velocities) that follow from it."""
    for i in range(c.contacts):
        if begins(c, i):
            take_direction_of_force(c, i)
    return refine_directions(c)


def refine_directions(c: ContactModes) -> bool:
    """The same, from present directions."""
    if not solve_choice(c):
        return False
    room = BOUNDARY * largest(c)
    for _ in range(SWEEPS):
        turned = False
        for i in range(c.contacts):
            if begins(c, i):
                if c.ways[i] == 1:
                    turned = reverse(c, i, room) or turned
                elif c.ways[i] == 2 and abs(sideways(c, i)) > room:
                    if not turn(c, i):
                        return False
                    turned = True
        if not turned:
            return True
    return solve_together(c, room)


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


def rotate(c: ContactModes, i: int, angle: float) -> None:
    """The direction at an angle from `trial`."""
    cosine, sine = math.cos(angle), math.sin(angle)
    c.direction[i, 0] = cosine * c.trial[i, 0] - sine * c.trial[i, 1]
    c.direction[i, 1] = sine * c.trial[i, 0] + cosine * c.trial[i, 1]


def at_angle(c: ContactModes, i: int, angle: float, known: bool) -> float:
    """What is left across the direction of slip at an angle from `trial`, by `turning` if that is known; NaN without a
    solution."""
    if known:
        left, y = across_per_force(c, i, angle), c.turning
        return left / (y[2, 0] + c.direction[i, 0] * y[2, 1] + c.direction[i, 1] * y[2, 2])
    rotate(c, i, angle)
    if not solve_choice(c):
        return math.nan
    return sideways(c, i)


def know_turning(c: ContactModes, i: int) -> bool:
    """Both accelerations along the tangential rows of a contact, divided by its normal force, and the reciprocal of that, as
    affine functions of the direction of its slip, in `turning`: 1, d₁, d₂. False where the force vanishes."""
    t, y = int(c.tangential[i]), c.turning
    c.trial[i, 0], c.trial[i, 1] = c.direction[i, 0], c.direction[i, 1]
    known = True
    for k in range(3):
        c.direction[i, 0], c.direction[i, 1] = (1.0 if k == 1 else 0.0), (1.0 if k == 2 else 0.0)
        known = known and solve_choice(c)
        force = c.reaction[int(c.pressing[i])]
        known = known and abs(force) > LEAST_FORCE * largest_reaction(c)
        if known:
            y[0, k], y[1, k], y[2, k] = c.result[t] / force, c.result[t + 1] / force, 1.0 / force
    for row in range(3):
        for k in range(1, 3):
            y[row, k] -= y[row, 0]
    c.direction[i, 0], c.direction[i, 1] = c.trial[i, 0], c.trial[i, 1]
    return known


def turn(c: ContactModes, i: int) -> bool:
    """Turn the direction of slip to one that it keeps: the first one as the motion turns it, unless its normal force would pull
    there or its slip go back. That one may lie so close to a pole of the forces that it is passed; then all others are tried."""
    start, other = c.direction[i, 0], c.direction[i, 1]
    found = turn_on(c, i)
    if found and goes_forward(c, i):
        return True
    first, second = c.direction[i, 0], c.direction[i, 1]
    c.direction[i, 0], c.direction[i, 1] = start, other
    if turn_to_any(c, i):
        return True
    c.direction[i, 0], c.direction[i, 1] = first, second
    return found and solve_choice(c)


def goes_forward(c: ContactModes, i: int) -> bool:
    """Whether a slip goes along its direction, with a force that does not pull."""
    along = 0.0
    for w in range(c.ways[i]):
        along += c.direction[i, w] * c.result[int(c.tangential[i]) + w]
    return c.reaction[int(c.pressing[i])] >= 0.0 and along >= -BOUNDARY * largest(c)


def turn_to_any(c: ContactModes, i: int) -> bool:
    """Turn the direction of slip to the next one, on either side, that it keeps with a force that does not pull. Per normal
    force, the acceleration across it has no poles."""
    if not know_turning(c, i):
        return False
    for k in range(2 * SECTORS):
        low, sign = HALF_TURN * (k // 2) / SECTORS, 1.0 if k % 2 == 0 else -1.0
        high = low + HALF_TURN / SECTORS
        below = across_per_force(c, i, sign * low)
        if below * across_per_force(c, i, sign * high) > 0.0:
            continue
        for _ in range(BISECTIONS):
            middle = 0.5 * (low + high)
            if below * across_per_force(c, i, sign * middle) > 0.0:
                low = middle
            else:
                high = middle
        across_per_force(c, i, sign * high)
        if solve_choice(c) and goes_forward(c, i) and abs(sideways(c, i)) <= BOUNDARY * largest(c):
            return True
    return False


def across_per_force(c: ContactModes, i: int, angle: float) -> float:
    """The acceleration across the direction at an angle from `trial`, divided by the normal force, by `turning`."""
    rotate(c, i, angle)
    first, second, y = c.direction[i, 0], c.direction[i, 1], c.turning
    return first * (y[1, 0] + first * y[1, 1] + second * y[1, 2]) - second * (y[0, 0] + first * y[0, 1] + second * y[0, 2])


def turn_on(c: ContactModes, i: int) -> bool:
    """Turn the direction of slip, as the motion turns it, to the first one that it keeps."""
    first = sideways(c, i)
    known = know_turning(c, i)
    sign = 1.0 if first > 0.0 else -1.0
    low, high, before = 0.0, 1e-6, abs(first)
    after = sign * at_angle(c, i, sign * high, known)
    while not after < 0.0:
        low, before = high, after
        high += min(high, COARSE)
        if high > 6.4:
            return False
        after = sign * at_angle(c, i, sign * high, known)
    left = first
    for k in range(MOST_TURNS):  # false position with halved values (Illinois), and bisections where that does not serve
        share = before / (before - after) if k % 4 != 3 else 0.5
        angle = low + (share if 0.0 < share < 1.0 else 0.5) * (high - low)
        left = sign * at_angle(c, i, sign * angle, known)
        if abs(left) <= TURNED * abs(first) or not low < angle < high:
            break
        if left > 0.0:
            low, before, after = angle, left, 0.5 * after
        else:
            high, after, before = angle, left, 0.5 * before
    if known:
        if not solve_choice(c):
            return False
        left = sideways(c, i)
    return abs(left) <= max(1e-3 * abs(first), 10.0 * BOUNDARY * largest(c))  # not a pole of the forces


def residual_size(c: ContactModes) -> float:
    """The largest acceleration across a direction that is to be found."""
    size = 0.0
    for i in range(c.contacts):
        if begins(c, i) and c.ways[i] == 2:
            size = max(size, abs(sideways(c, i)))
    return size


def solve_together(c: ContactModes, room: float) -> bool:
    """Newton's method for all directions; in one dimension they are reversed beforehand."""
    for _ in range(ITERATIONS):
        size = residual_size(c)
        if size <= room:
            return True
        if not newton_angles(c):
            return False
        share, better = 1.0, False
        for _ in range(HALVINGS):
            for i in range(c.contacts):
                if begins(c, i) and c.ways[i] == 2:
                    rotate(c, i, share * c.angle[i])
            if solve_choice(c) and residual_size(c) < size:
                better = True
                break
            share *= 0.5
        if not better:
            return False
    return False


def newton_angles(c: ContactModes) -> bool:
    """The Newton step of all angles, in `angle`, from the present directions, in `trial`."""
    count, longest = 0, 0.0
    for i in range(c.contacts):
        if begins(c, i) and c.ways[i] == 2:
            c.trial[i, 0], c.trial[i, 1] = c.direction[i, 0], c.direction[i, 1]
            c.angle_contact[count] = i
            c.angle[i] = -sideways(c, i)
            count += 1
    for b in range(count):
        j = int(c.angle_contact[b])
        rotate(c, j, DIFFERENCE)
        if not solve_choice(c):
            return False
        for a in range(count):
            i = int(c.angle_contact[a])
            c.angle_matrix[a, b] = (sideways(c, i) + c.angle[i]) / DIFFERENCE
        rotate(c, j, 0.0)
    for a in range(count):
        c.angle_side[a] = c.angle[int(c.angle_contact[a])]
    if lu_decompose(c.angle_matrix, c.angle_pivot, count) >= 0:
        return False
    lu_solve(c.angle_matrix, c.angle_pivot, count, c.angle_side)
    for a in range(count):
        longest = max(longest, abs(c.angle_side[a]))
    for a in range(count):
        c.angle[int(c.angle_contact[a])] = c.angle_side[a] * min(1.0, LONGEST / longest if longest > 0.0 else 1.0)
    return math.isfinite(longest)
