"""Changes of the modes of unilateral contacts within the stepping loop. Restricted Python.

A margin of a contact ends within a step: its gap closes, its normal force vanishes, its friction is exceeded, or its slip
vanishes. The step is cut there (`switch_location`). Contacts that approach take an impact; then the modes of all closed contacts
follow from complementarity of forces and accelerations, without the mode that has just ended.
"""

from __future__ import annotations

import math

from draisine.codegen.restricted.types import call_kernel
from draisine.simulation.stepper.contact_impact import impact_on_one, impact_on_several
from draisine.simulation.stepper.contact_laws import respond, solve_complementarity, tangential_size
from draisine.simulation.stepper.contact_layout import (
    FOUND,
    MODE_ENTRIES,
    OPEN,
    SINGULAR_MASS,
    SLIP,
    STICK,
    ContactModes,
)
from draisine.simulation.stepper.explicit_rk import copy, first_nonfinite
from draisine.simulation.stepper.layout import CONTACT_UNSOLVED, CONTINUE, Stepper

CLOSE = 1e-10  # gap, relative to the typical length, at which a contact takes part in the impact of another
RESTING = 3e-6  # approach, relative to √(a·length), from which on a contact rests: infinitely many bounces are left out
STILL = 30.0  # m/s times the relative tolerance: a slip that begins keeps the direction of its force below it
LEAST_STILL = 1e-12  # m/s
GROWN = 1e3  # times that: a slip that is not small any more
NEAR = 3.0  # m/s times the relative tolerance: a slip that passes zero within the errors of integration; it ends at −1.5 times it
SLIPPING = 1e-11  # slip, relative to other velocities and to 1 m/s, that is not zero
PROJECTIONS = 2
MOST_IMPACTS = 50  # at one time


def mode_of(c: ContactModes, i: int) -> int:
    if c.mode[MODE_ENTRIES * i] == 0.0:
        return OPEN
    return STICK if c.mode[MODE_ENTRIES * i + 1] != 0.0 else SLIP


def set_mode(c: ContactModes, i: int, mode: int, still: float) -> None:
    """The mode as parameters; the direction of slip is that of the solution."""
    k = MODE_ENTRIES * i
    c.mode[k] = 0.0 if mode == OPEN else 1.0
    c.mode[k + 1] = 1.0 if mode == STICK else 0.0
    for w in range(2):
        c.mode[k + 2 + w] = c.best_direction[i, w] if mode == SLIP and w < c.ways[i] else 0.0
        c.mode[k + 6] = 1.0 if mode == SLIP and c.settled[i] != 0 else 0.0
        c.mode[k + 7] = still if mode == SLIP and c.settled[i] == 0 else 0.0
        c.mode[k + 4 + w] = 0.0


def load_terms(s: Stepper) -> None:
    """The terms of the equations at (t, x)."""
    c = s.modes
    copy(s.x, s.point, s.width)
    s.time[0] = s.t
    results = (c.mass, c.force, c.row, c.bias, c.speed, c.gap, c.coefficient)
    call_kernel(c.terms, (s.time, s.point, s.u, s.parameters), results)


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


def begin_modes(s: Stepper) -> int:
    """The modes at a start: contacts with a gap are open, the others follow from velocities and forces."""
    c = s.modes
    for i in range(c.contacts):
        c.excluded[i] = 0
    return change_modes(s, -1)


def change_modes(s: Stepper, row: int) -> int:
    """At (t, x), where the margin `row` has ended (−1 for none): impacts, then the modes of all contacts."""
    c = s.modes
    ended, which = (row - c.first_margin) // 2, (row - c.first_margin) % 2
    c.lost, c.late = 0.0, 0.0
    for k in range(c.rows):
        c.total[k] = 0.0
    return_to_constraints(s)
    load_terms(s)
    if not respond(c):
        c.outcome = SINGULAR_MASS
        return CONTACT_UNSOLVED
    for i in range(c.contacts):
        closes = i == ended and row >= 0 and which == 0 and mode_of(c, i) == OPEN
        c.active[i] = 1 if mode_of(c, i) != OPEN or closes or c.gap[i] <= CLOSE * c.length else 0
    if row >= 0 and which == 1 and mode_of(c, ended) == SLIP and turns(s, ended):
        update_parameters(s)
        return CONTINUE
    if not collide(s):
        return CONTACT_UNSOLVED
    for i in range(c.contacts):
        c.excluded[i] = 0
    if row >= 0 and not collided(c) and mode_of(c, ended) != OPEN:
        c.excluded[ended] = 1 + leaves(c, ended, which)
    return settle(s, ended if row >= 0 and which == 1 else -1)


def return_to_constraints(s: Stepper) -> None:
    """Remove the drift of closed contacts, which is not to be taken for an approach or a slip."""
    if s.project == 0:
        return
    for _ in range(PROJECTIONS):
        copy(s.x, s.point, s.width)
        s.time[0] = s.t
        call_kernel(s.project, (s.time, s.point, s.u, s.parameters), (s.new, s.scalar))
        if first_nonfinite(s.new, s.states) >= 0:
            return
        copy(s.new, s.x, s.states)


def leaves(c: ContactModes, i: int, which: int) -> int:
    """The mode that a contact cannot keep after the end of a margin; −1 for none."""
    if which == 0:
        return mode_of(c, i)
    return STICK if mode_of(c, i) == STICK else -1


def grow_slips(s: Stepper) -> None:
    """After an accepted step: slips that are not small any more keep their direction where they pass zero."""
    c = s.modes
    for i in range(c.contacts):
        k = MODE_ENTRIES * i
        if c.ways[i] > 1 and c.mode[k] != 0.0 and c.mode[k + 1] == 0.0 and c.mode[k + 6] == 0.0:
            follow_direction(s, i)


def follow_direction(s: Stepper, i: int) -> None:
    """The direction of a slip that has begun."""
    c, k = s.modes, MODE_ENTRIES * i
    load_terms(s)
    size = 0.0
    for w in range(2):
        moved = c.speed[int(c.tangential[i]) + w] - c.mode[k + 4 + w]
        c.direction[i, w] = moved + c.mode[k + 7] * c.mode[k + 2 + w]
        size += c.direction[i, w] * c.direction[i, w]
    size = math.sqrt(size)
    for w in range(2):
        c.mode[k + 2 + w] = c.direction[i, w] / size
    if size > GROWN * c.mode[k + 7]:
        c.mode[k + 6], c.mode[k + 7] = 1.0, 0.0
    update_hoisted_values(s)
    start_contact_margin(s, i)


def start_contact_margin(s: Stepper, i: int) -> None:
    """The margin of slip after a change of its direction."""
    c, k = s.modes, MODE_ENTRIES * i
    total = 0.0
    for w in range(2):
        total += (c.speed[int(c.tangential[i]) + w] - c.mode[k + 4 + w]) * c.mode[k + 2 + w]
    s.margin[0, c.first_margin + 2 * i + 1] = total


def turns(s: Stepper, i: int) -> bool:
    """Whether the slip of a contact has only turned by a right angle; its direction is then the present one."""
    c = s.modes
    size = tangential_size(c, i, c.speed)
    if not size > max(SLIPPING * (1.0 + velocity_scale(s)), NEAR * s.rtol):
        return False
    for w in range(c.ways[i]):
        c.mode[MODE_ENTRIES * i + 2 + w] = c.speed[int(c.tangential[i]) + w] / size
        c.mode[MODE_ENTRIES * i + 4 + w] = 0.0
    return c.ways[i] > 1


def collide(s: Stepper) -> bool:
    """Impacts of contacts that approach, until none does; False if their impulses are not found."""
    c = s.modes
    for _ in range(MOST_IMPACTS):
        count, approaching, last, bounces = 0, 0, -1, False
        slow = RESTING * math.sqrt(c.length * (fall_of(c) + 1e-300))
        room = 1e-12 * velocity_scale(s)
        for i in range(c.contacts):
            if c.active[i] != 0:
                speed = c.speed[int(c.normal[i])]
                if speed > room and mode_of(c, i) == OPEN:
                    c.active[i] = 0  # it separates
                    continue
                count += 1
                if speed < -room:
                    approaching += 1
                    last = i
                    if c.coefficient[3 * i + 2] * -speed > slow:
                        bounces = True
        if approaching == 0:
            return True
        if count == 1:
            c.outcome = impact_on_one(c, last, c.coefficient[3 * last + 2] if bounces else 0.0)
        else:
            c.outcome = impact_on_several(c, bounces)
        if c.outcome != FOUND:
            return False
        if not bounces:
            c.late = max(c.late, bounces_left(c, last))
        apply_impulse(s)
        for i in range(c.contacts):
            if c.active[i] != 0 and c.speed[int(c.normal[i])] > 1e-9 * velocity_scale(s) and c.speed[int(c.normal[i])] > slow:
                c.active[i] = 0
                set_mode(c, i, OPEN, 0.0)
    return True


def collided(c: ContactModes) -> bool:
    """Whether the change has impacts; elastic ones lose no energy."""
    for k in range(c.rows):
        if c.total[k] != 0.0:
            return True
    return False


def bounces_left(c: ContactModes, i: int) -> float:
    """How long infinitely many bounces of a contact that approaches take: 2 e v/a, times 1 + e + e² + …"""
    e, fall = c.coefficient[3 * i + 2], -c.offset[int(c.normal[i])]
    if not fall > 0.0 or e >= 1.0:
        return 0.0
    return -2.0 * e * c.speed[int(c.normal[i])] / (fall * (1.0 - e))


def apply_impulse(s: Stepper) -> None:
    """Velocities, and the energy that is lost."""
    c = s.modes
    power = 0.0
    for k in range(c.rows):
        power += c.impulse[k] * c.speed[k]
    for k in range(c.rows):
        c.total[k] += c.impulse[k]
        if c.impulse[k] != 0.0:
            for j in range(c.velocities):
                s.x[c.first_velocity + j] += c.impulse[k] * c.response[k, j]
            for l in range(c.rows):
                c.speed[l] += c.impulse[k] * c.delassus[l, k]
    for k in range(c.rows):
        power += c.impulse[k] * c.speed[k]
    c.lost -= 0.5 * power
    s.x[c.work] += 0.5 * power


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


def settle(s: Stepper, stopped: int) -> int:
    """The modes of the active contacts by their accelerations."""
    c = s.modes
    if collided(c):  # velocity products have changed
        load_terms(s)
        if not respond(c):
            c.outcome = SINGULAR_MASS
            return CONTACT_UNSOLVED
    scale = velocity_scale(s)
    for k in range(c.rows):
        c.target[k] = c.offset[k]
    for i in range(c.contacts):
        size = tangential_size(c, i, c.speed)
        least = SLIPPING * (1.0 + scale)
        if stopped >= 0:  # others that stop with it, as edges of one block do, are decided with it
            least = max(least, NEAR * s.rtol)
        slips = size > least and (mode_of(c, i) != STICK or collided(c)) and not (i == stopped and c.ways[i] == 1)
        c.settled[i] = 1 if c.active[i] != 0 and slips and c.coefficient[3 * i + 1] >= 0.0 else 0
        for w in range(c.ways[i]):
            c.direction[i, w] = c.speed[int(c.tangential[i]) + w] / size if c.settled[i] != 0 else 0.0
        goes_on = i != stopped and not (stopped >= 0 and size <= least)
        if c.active[i] != 0 and mode_of(c, i) == SLIP and has_direction(c, i) and goes_on and not collided(c):
            c.settled[i] = 2  # it goes on slipping, however slowly
            present_direction(c, i)
    c.outcome = solve_complementarity(c)
    if c.outcome != FOUND:
        return CONTACT_UNSOLVED
    for i in range(c.contacts):
        if c.settled[i] != 2 or c.best[i] != SLIP:
            set_mode(c, i, int(c.best[i]) if c.active[i] != 0 else OPEN, max(LEAST_STILL, STILL * s.rtol))
    update_hoisted_values(s)
    return_to_constraints(s)
    load_terms(s)
    for i in range(c.contacts):
        if c.settled[i] == 0 and mode_of(c, i) == SLIP:
            for w in range(c.ways[i]):
                c.mode[MODE_ENTRIES * i + 4 + w] = c.speed[int(c.tangential[i]) + w]
    update_parameters(s)
    return CONTINUE


def update_hoisted_values(s: Stepper) -> None:
    if s.prologue != 0:
        call_kernel(s.prologue, (s.time, s.point, s.u, s.parameters), (s.hoisted,))


def update_parameters(s: Stepper) -> None:
    """After a change of modes: what depends on them, and the record."""
    c = s.modes
    update_hoisted_values(s)
    s.restarted = 1
    for j in range(2 * c.contacts):
        s.armed[c.first_margin + j] = 0
    record_modes(s)


def record_modes(s: Stepper) -> None:
    c = s.modes
    k = c.change_count
    if k > 0 and not collided(c) and same_modes(c, k - 1):
        return
    c.change_time[k], c.change_lost[k] = s.t + c.late, c.lost
    if k > 0:  # what follows within the time of the bounces that are left out, follows them
        c.change_time[k] = max(c.change_time[k], c.change_time[k - 1])
    c.change_sample[k], c.change_step[k] = s.sample_count, s.step_count
    for i in range(c.contacts):
        c.change_mode[k, i] = mode_of(c, i)
        for w in range(6):
            c.change_direction[k, 6 * i + w] = c.mode[MODE_ENTRIES * i + 2 + w]
    for j in range(c.rows):
        c.change_impulse[k, j] = c.total[j]
    c.change_count = k + 1
    s.switches_here += 1


def same_modes(c: ContactModes, k: int) -> bool:
    """Whether the modes are those of a record."""
    for i in range(c.contacts):
        if c.change_mode[k, i] != mode_of(c, i):
            return False
        for w in range(4):
            if c.change_direction[k, 6 * i + w] != c.mode[MODE_ENTRIES * i + 2 + w]:
                return False
    return True
