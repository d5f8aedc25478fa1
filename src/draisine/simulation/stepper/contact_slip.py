"""Modes of contacts as parameters, and slips that begin, grow, turn and stop. Restricted Python.

Where a planar slip s begins, its direction s/|s| follows the force quickly: the equations are stiff, and at s = 0 they have no value.
So it begins with the direction of (s + ε d), d that of the force at its begin and ε a small slip of the size of the tolerance, until it
is large against ε. It has stopped where it passes zero along its direction, or is as small as the tolerance: a slip that slows down
may turn at the end, at any rate.
"""

from __future__ import annotations

import math

from draisine.codegen.restricted.types import call_kernel
from draisine.simulation.stepper.contact_laws import tangential_size
from draisine.simulation.stepper.contact_layout import MODE_ENTRIES, OPEN, SLIP, STICK, ContactModes
from draisine.simulation.stepper.explicit_rk import copy
from draisine.simulation.stepper.layout import Stepper

STILL = 30.0  # m/s times the relative tolerance: ε
LEAST_STILL = 1e-12  # m/s
GROWN = 1e4  # times ε: a slip that is not small any more
TURNED = 10.0  # times ε: a slip whose direction is its own
NEAR = 1.0  # times the relative tolerance and a velocity: a slip that is zero within the errors of integration
SLIPPING = 1e-11  # the same, of rounding errors
TURNING = 100.0  # times that: a slip that turns, or whose direction has no motion, is zero
RIGHT_ANGLE = 1e-3  # cosine of an angle that is taken for one
STRAIGHT = 0.9  # cosine between a slip and its former direction


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
    c.mode[k + 7] = max(LEAST_STILL, STILL * c.tolerance) if mode == SLIP and c.settled[i] == 0 else 0.0
    for w in range(2):
        c.mode[k + 2 + w] = c.best_direction[i, w] if mode == SLIP and w < c.ways[i] else 0.0
        c.mode[k + 4 + w] = 0.0


def load_terms(s: Stepper) -> None:
    """The terms of the equations at (t, x)."""
    c = s.modes
    copy(s.x, s.point, s.width)
    s.time[0] = s.t
    results = (c.mass, c.force, c.row, c.bias, c.speed, c.gap, c.coefficient)
    call_kernel(c.terms, (s.time, s.point, s.u, s.parameters), results)


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
        size = max(size, abs(c.offset[int(c.normal[i])]))
    return size


def zero_slip(s: Stepper) -> float:
    """The slip that is zero within errors."""
    return max(SLIPPING, NEAR * s.modes.tolerance) * (1.0 + velocity_scale(s))


def follow_slips(s: Stepper) -> int:
    """After an accepted step: slips that have grown, and the margin of one that has stopped; −1 for none."""
    c = s.modes
    for i in range(c.contacts):
        k = MODE_ENTRIES * i
        if c.ways[i] > 1 and mode_of(c, i) == SLIP:
            row = c.first_margin + 2 * i + 1
            forward = s.margin[0, row]
            if c.mode[k + 6] == 0.0 and forward > GROWN * c.mode[k + 7]:
                load_terms(s)
                take_own_direction(s, i)
            elif c.mode[k + 6] != 0.0 and forward < TURNING * zero_slip(s):
                load_terms(s)
                size = tangential_size(c, i, c.speed)
                if size < zero_slip(s) or (size < TURNING * zero_slip(s) and forward < STRAIGHT * size):
                    return row
    return -1


def take_own_direction(s: Stepper, i: int) -> None:
    """From now on the direction of a slip is that of the slip alone."""
    c, k = s.modes, MODE_ENTRIES * i
    size = tangential_size(c, i, c.speed)
    for w in range(c.ways[i]):
        c.mode[k + 2 + w] = c.speed[int(c.tangential[i]) + w] / size
        c.mode[k + 4 + w] = 0.0
    c.mode[k + 6], c.mode[k + 7] = 1.0, 0.0
    update_hoisted_values(s)
    s.margin[0, c.first_margin + 2 * i + 1] = size


def turns(s: Stepper) -> bool:
    """Whether slips have turned by a right angle; their directions are then the present ones."""
    c, turned = s.modes, False
    for i in range(c.contacts):
        k = MODE_ENTRIES * i
        if c.ways[i] < 2 or mode_of(c, i) != SLIP or not has_direction(c, i):
            continue
        size, forward = tangential_size(c, i, c.speed), 0.0
        for w in range(2):
            forward += c.speed[int(c.tangential[i]) + w] * c.mode[k + 2 + w]
        if forward < RIGHT_ANGLE * size and size > max(TURNING * zero_slip(s), TURNED * c.mode[k + 7]):
            take_own_direction(s, i)
            turned = True
    return turned


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
