"""Modes of contacts as parameters, and slips that begin, grow, turn and stop. Restricted Python.

Where a planar slip s begins, its direction s/|s| follows the force quickly: the equations are stiff, and at s = 0 they have no
value. So it begins with the direction of (s + ε d), d that of the force at its begin and ε a small slip of the size of the
tolerance, until it is large against ε. It has stopped where it passes zero along its direction, or is as small as the
tolerance: a slip that slows down may turn at the end, at any rate.
"""

from __future__ import annotations

import math

from draisine.codegen.restricted.types import call_kernel
from draisine.simulation.stepper.contact_laws import has_normal, tangential_size
from draisine.simulation.stepper.contact_layout import MODE_ENTRIES, OPEN, SLIP, SLIPPING, STICK, ContactModes
from draisine.simulation.stepper.explicit_rk import copy, evaluate, interpolate
from draisine.simulation.stepper.layout import Stepper, Tableau

STILL = 300.0  # m/s times the relative tolerance: ε, well above the errors of integration
JOINT_STILL = 30.0  # the same for dry friction of joints, whose direction is one of two
LEAST_STILL = 1e-12  # m/s
GROWN = 100.0  # times ε: a slip that is not small any more
COARSEST = 1e-6  # relative tolerance with which slips are resolved at least: with a larger ε, motions would have no other slips
NEAR = 1.0  # times the relative tolerance and a velocity: a slip that is zero within the errors of integration
TURNING = (
    100.0  # times SLIPPING, which is the same of rounding errors: a slip that turns, or whose direction has no motion, is zero
)
MOST_GROWTH = 8.0  # factor by which a slip may grow in a step of an implicit method
FIRST_GROWTH = 0.4  # the same of a slip that begins, times ε, from where on Newton's iteration converges at once
TRIED = 1e-3  # part of a step in which it is tried how fast a slip begins
STRAIGHT = 1e-4  # tangent of the angle between a slip and its deceleration up to which it stops without turning
PART_OF_STOP = 0.35  # of the time until it stops, in a step
# The same where what a slip turns is nearly zero: an error in it matters less.
LATE, PART_NEAR_END = 1e3, 0.7
FINAL, PART_AT_END = 30.0, 0.95
MOST_TURNED = 0.4  # sine of the angle by which a slip may turn in a step


def mode_of(c: ContactModes, i: int) -> int:
    if c.mode[MODE_ENTRIES * i] == 0.0:
        return OPEN
    return STICK if c.mode[MODE_ENTRIES * i + 1] != 0.0 else SLIP


def set_mode(c: ContactModes, i: int, mode: int) -> None:
    """The mode as parameters; the direction of slip is that of the solution."""
    k = MODE_ENTRIES * i
    c.mode[k] = 0.0 if mode == OPEN else 1.0
    c.mode[k + 1] = 1.0 if mode == STICK else 0.0
    c.mode[k + 6] = 1.0 if mode == SLIP and c.settled[i] != 0 else 0.0
    still = STILL if has_normal(c, i) or c.ways[i] > 1 else JOINT_STILL
    c.mode[k + 7] = max(LEAST_STILL, still * min(c.tolerance, COARSEST)) if mode == SLIP and c.settled[i] == 0 else 0.0
    c.begun[i] = 0.0
    for w in range(2):
        c.mode[k + 2 + w] = c.best_direction[i, w] if mode == SLIP and w < c.ways[i] else 0.0
        c.mode[k + 4 + w] = 0.0


def load_terms(s: Stepper) -> None:
    """The terms of the equations at (t, x)."""
    copy(s.x, s.point, s.width)
    load_terms_at(s, s.t)


def load_terms_at(s: Stepper, time: float) -> None:
    """The same at (time, point)."""
    c = s.modes
    s.time[0] = time
    call_kernel(
        c.terms,
        (s.time, s.point, s.u, s.parameters),
        (c.mass, c.force, c.row, c.bias, c.speed, c.gap, c.coefficient, c.landing),
    )


def update_hoisted_values(s: Stepper) -> None:
    if s.prologue != 0:
        call_kernel(s.prologue, (s.time, s.point, s.u, s.parameters), (s.hoisted,))


def velocity_scale(s: Stepper) -> float:
    """The largest velocity along a row; that of a small fall if all are small."""
    c = s.modes
    size = 0.0
    for k in range(c.rows):
        size = max(size, abs(c.speed[k]))
    for j in range(c.velocities):
        size = max(size, abs(s.x[c.first_velocity + j]) * min(1.0, c.length))
    return max(size, 1e-3 * math.sqrt(c.length * (fall_of(c) + 1e-300)))


def fall_of(c: ContactModes) -> float:
    """The largest acceleration along a normal without contact forces."""
    size = 0.0
    for i in range(c.contacts):
        if has_normal(c, i):
            size = max(size, abs(c.offset[int(c.normal[i])]))
    return size


def zero_slip(s: Stepper) -> float:
    """The slip that is zero within errors."""
    return max(SLIPPING, NEAR * min(s.modes.tolerance, COARSEST)) * (1.0 + velocity_scale(s))


def slips_in_plane(c: ContactModes, i: int) -> bool:
    """Whether a contact slips in two dimensions, and its slip is not small any more."""
    return c.ways[i] > 1 and mode_of(c, i) == SLIP and c.mode[MODE_ENTRIES * i + 6] != 0.0


def turned(c: ContactModes, i: int) -> bool:
    """Whether the line of a slip has turned away from its former direction."""
    k, t = MODE_ENTRIES * i, int(c.tangential[i])
    return abs(c.mode[k + 2] * c.speed[t + 1] - c.mode[k + 3] * c.speed[t]) > MOST_TURNED * tangential_size(c, i, c.speed)


def shorten_for_slips(s: Stepper, m: Tableau, h: float, cut: float) -> float:
    """The factor by which a step is to be shortened, 1 for none: up to the end of a margin at the fraction `cut` a slip turns
    far, or grows by far from the small value at which equations are stiff. Error control, whose estimate is filtered by the
    Jacobian at the start, does not see that."""
    c, factor = s.modes, 1.0
    examined = False
    c.at_end = 0
    for i in range(c.contacts):
        examined = examined or slips_in_plane(c, i) or (m.implicit != 0 and c.ways[i] > 1 and mode_of(c, i) == SLIP)
    if not examined or s.adaptive == 0:
        return factor
    if cut < 1.0:
        interpolate(s, m.terms, cut, s.point, s.states)
    else:
        copy(s.new, s.point, s.width)
    load_terms_at(s, s.t + min(cut, 1.0) * h)
    c.at_end = 1 if cut > 1.0 else 0
    least = TURNING * zero_slip(s)
    for i in range(c.contacts):
        if c.ways[i] < 2 or mode_of(c, i) != SLIP:
            continue
        row, size = c.first_margin + 2 * i + 1, tangential_size(c, i, c.speed)
        if slips_in_plane(c, i) and size > least and (turned(c, i) or (cut <= 1.0 and s.switch_row == row)):
            factor = min(factor, 0.4)
        allowed = MOST_GROWTH * (max(c.begun[i], s.margin[0, row]) + c.mode[MODE_ENTRIES * i + 7]) + least
        if m.implicit != 0 and size > allowed:
            factor = min(factor, max(0.05, 0.8 * math.sqrt(allowed / size)))
    return factor


def begins_to_slip(c: ContactModes) -> bool:
    """Whether a slip in two dimensions begins, which is stiff."""
    found = False
    for i in range(c.contacts):
        found = found or (c.ways[i] > 1 and mode_of(c, i) == SLIP and c.mode[MODE_ENTRIES * i + 7] > 0.0)
    return found


def limit_to_begin(s: Stepper) -> None:
    """Shorten the first step of an implicit method where slips in two dimensions begin: their accelerations, and the growth of
    these in a short time by the midpoint rule, show when they are as large as one step allows."""
    c, last = s.modes, s.tableau.stages
    if s.adaptive == 0 or s.dynamics == 0 or not begins_to_slip(c):
        return
    n, h = c.velocities, math.copysign(TRIED * s.h, s.end - s.t)
    for i in range(c.contacts):
        c.trial[i, 0], c.trial[i, 1] = along_direction(c, i), 0.0
        for w in range(c.ways[i]):
            t = int(c.tangential[i]) + w
            rate = c.bias[t]
            for j in range(n):
                rate += c.row[t * n + j] * s.k[0, c.first_velocity + j]
            c.trial[i, 1] += c.mode[MODE_ENTRIES * i + 2 + w] * rate
    for part in range(2):
        rates, length = s.k[0 if part == 0 else last], h if part == 1 else 0.5 * h
        copy(s.x, s.point, s.width)
        for j in range(s.states):
            s.point[j] += length * rates[j]
        if part == 0:
            evaluate(s, s.t + length, last)
    if s.aborted != 0:
        return
    load_terms_at(s, s.t + h)
    longest = abs(s.h)
    for i in range(c.contacts):
        still = c.mode[MODE_ENTRIES * i + 7]
        if c.ways[i] > 1 and mode_of(c, i) == SLIP and still > 0.0:
            allowed = FIRST_GROWTH * still + abs(c.trial[i, 0])
            rate = c.trial[i, 1] * math.copysign(1.0, h)
            growth = (along_direction(c, i) - c.trial[i, 0] - rate * abs(h)) / (h * h)
            root = rate * rate + 4.0 * growth * allowed
            if root > 0.0 and rate + math.sqrt(root) > 0.0:
                longest = min(longest, 2.0 * allowed / (rate + math.sqrt(root)))
    s.h = math.copysign(longest, s.h)
    load_terms(s)


def along_direction(c: ContactModes, i: int) -> float:
    """The slip along its first direction."""
    total = 0.0
    for w in range(c.ways[i]):
        total += c.mode[MODE_ENTRIES * i + 2 + w] * c.speed[int(c.tangential[i]) + w]
    return total


def follow_slips(s: Stepper) -> int:
    """After an accepted step: the directions of slips, and the margin of one that has stopped; −1 for none."""
    c, loaded, zero = s.modes, False, 0.0
    for i in range(c.contacts):
        k, row = MODE_ENTRIES * i, c.first_margin + 2 * i + 1
        if c.ways[i] < 2 or mode_of(c, i) != SLIP:
            continue
        grown = slips_in_plane(c, i)
        if not loaded:
            if c.at_end == 0:
                load_terms(s)
            loaded, zero = True, zero_slip(s)
        size = tangential_size(c, i, c.speed)
        if grown and (size < zero or (size < TURNING * zero and turned(c, i))):
            return row
        c.begun[i] = size  # it may turn away from its first direction as it grows
        if grown or size > GROWN * c.mode[k + 7]:
            take_own_direction(s, i)
    if loaded:
        update_hoisted_values(s)
        limit_to_stops(s)
    return -1


def limit_to_stops(s: Stepper) -> None:
    """Shorten the next step where a slip in two dimensions turns as it stops, by the terms and the derivative at (t, x): with
    |s|' = −b and |s| θ' = ω its direction has no limit from the outside, and steps that are a part of the time |s|/b that is
    left follow it without attempts in vain."""
    c, n = s.modes, s.modes.velocities
    if s.adaptive == 0 or s.tableau.implicit != 0:
        return
    zero = zero_slip(s)
    for i in range(c.contacts):
        if not slips_in_plane(c, i):
            continue
        t, along, across, size = int(c.tangential[i]), 0.0, 0.0, 0.0
        first, second = c.bias[t], c.bias[t + 1]
        for j in range(n):
            first += c.row[t * n + j] * s.k[0, c.first_velocity + j]
            second += c.row[(t + 1) * n + j] * s.k[0, c.first_velocity + j]
        size = tangential_size(c, i, c.speed)
        along = -(c.speed[t] * first + c.speed[t + 1] * second)  # b |s|
        across = abs(c.speed[t] * second - c.speed[t + 1] * first)  # ω |s|
        if across > STRAIGHT * along:
            left, part = size * size / max(along, across), PART_OF_STOP
            turning = size * min(1.0, across / along) if along > 0.0 else size
            if turning < FINAL * zero:
                part = PART_AT_END
            elif turning < LATE * zero:
                part = PART_NEAR_END
            s.h = math.copysign(min(abs(s.h), part * left), s.h)


def take_own_direction(s: Stepper, i: int) -> None:
    """From now on the direction of a slip is that of the slip alone."""
    c, k = s.modes, MODE_ENTRIES * i
    size = tangential_size(c, i, c.speed)
    for w in range(c.ways[i]):
        c.mode[k + 2 + w] = c.speed[int(c.tangential[i]) + w] / size
        c.mode[k + 4 + w] = 0.0
    c.mode[k + 6], c.mode[k + 7] = 1.0, 0.0
    s.margin[0, c.first_margin + 2 * i + 1] = size


def turns(s: Stepper, i: int) -> bool:
    """Whether a slip that has begun has only turned by a right angle; its direction is then the present one."""
    c, k = s.modes, MODE_ENTRIES * i
    size = tangential_size(c, i, c.speed)
    if c.ways[i] < 2 or not size > max(TURNING * zero_slip(s), 10.0 * c.mode[k + 7]):
        return False
    take_own_direction(s, i)
    return True


def has_direction(c: ContactModes, i: int) -> bool:
    """Whether the direction of the slip is known; not at a start."""
    size = 0.0
    for w in range(c.ways[i]):
        size += abs(c.mode[MODE_ENTRIES * i + 2 + w])
    return size > 0.0


def present_direction(c: ContactModes, i: int) -> None:
    """The direction of slip as the equations have it."""
    k, forward, size = MODE_ENTRIES * i, 0.0, 0.0
    for w in range(c.ways[i]):
        c.direction[i, w] = c.speed[int(c.tangential[i]) + w] - c.mode[k + 4 + w]
        forward += c.direction[i, w] * c.mode[k + 2 + w]
    sign = -1.0 if c.mode[k + 6] != 0.0 and forward < 0.0 else 1.0
    for w in range(c.ways[i]):
        c.direction[i, w] = sign * c.direction[i, w] + (1e-14 + c.mode[k + 7]) * c.mode[k + 2 + w]
        size += c.direction[i, w] * c.direction[i, w]
    for w in range(c.ways[i]):
        c.direction[i, w] /= math.sqrt(size)
