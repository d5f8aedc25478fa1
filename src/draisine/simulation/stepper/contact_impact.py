"""Impacts of unilateral contacts. Restricted Python.

One contact: the normal impulse p takes the place of time (Routh, Darboux, Keller). Slip and normal velocity change along
dv/dp = G (1, f), with f = −μ d while it slips and f = −G_tt⁻¹ G_tn while it sticks, so slip may stop, stay zero or reverse during
the impact. Compression ends at v_n = 0. Restitution ends where the work of the normal impulse, from then on, is e² times that of
compression (energetic, Stronge), at (1 + e) times the impulse of compression (Poisson), or at −e times the first velocity
(Newton).

Several contacts at once, coupled by Delassus' matrix: complementarity of the impulses with v_n⁺ + e v_n⁻ and with the slip
at the end (Moreau), whatever the law of one contact alone; for e = 0 all laws agree on the normal velocities. Where impacts are
sequential, each is one of one contact alone. Tangential restitution puts v_t⁺ + e_t v_t⁻ in the place of the slip at the end,
also for one contact. So do contacts with resistance to rolling or drilling, whose moments take impulses of at most the lever arm
times the normal one. Dry friction of joints is a finite force and takes no impulse.
"""

from __future__ import annotations

import math

from draisine.codegen.restricted.types import Vector
from draisine.simulation.stepper.contact_complementarity import solve_any
from draisine.simulation.stepper.contact_laws import has_normal, is_joint, kinetic, resists, static
from draisine.simulation.stepper.contact_layout import (
    FOUND,
    INCONSISTENT,
    INDETERMINATE,
    NEWTON,
    POISSON,
    UNENDED,
    ContactModes,
)
from draisine.simulation.stepper.explicit_rk import copy

STEPS = 64  # of the path of slip, where its direction changes
LAST = 1e-3  # of the impulse: shares of what is left of restitution alone would become too small to change it before it ends
STRAIGHT = 1e-12  # relative, of a slip that keeps its direction
LOCKED = 1e-11  # change of the normal velocity by impulses, relative to that without friction, that is rounding error
STOPPED = 1e-13  # relative, of a slip that has ended
FIXED = 1e-13  # of Delassus' matrix, relative: a direction in which the point cannot move
COUPLED = 1e-12  # of Delassus' matrix, relative: an impulse of one contact changes the velocity of another
MOST_PARTS = 20000


def impact_on_one(c: ContactModes, i: int, restitution: float) -> int:
    """Impulses of an impact of contact i alone, in `impulse`."""
    before = begin_path(c, i)
    first = path_scale(c, i)
    if kinetic(c, i) < 0.0 and c.ways[i] > 0:
        stop_slip(c, i)
    return compress_and_return(c, i, restitution, before, first)


def impact_without_collision(c: ContactModes, i: int) -> int:
    """The same of a contact that slips and does not approach, where friction presses it into the other body so that no force is
    enough: the impulse first ends its slip, which makes it approach, and then the approach."""
    before = begin_path(c, i)
    first = path_scale(c, i)
    for _ in range(MOST_PARTS):
        size = slip_size(c, i, c.path)
        if size <= STOPPED * first:
            return compress_and_return(c, i, c.coefficient[3 * i + 2], before, first)
        step = straight_part(c, i, True, 1, 1e300) if is_straight(c, i, size) else curved_part(c, i, 1, 1e300)
        if step < 0.0 or not math.isfinite(c.path[4]):
            return INCONSISTENT
    return UNENDED


def begin_path(c: ContactModes, i: int) -> float:
    """Velocities of contact i without impulses; return the normal one."""
    y = c.path
    for k in range(7):
        y[k] = 0.0
    y[0] = c.speed[int(c.normal[i])]
    for w in range(c.ways[i]):
        y[1 + w] = c.speed[int(c.tangential[i]) + w]
    return y[0]


def path_scale(c: ContactModes, i: int) -> float:
    """The largest velocity before the impact."""
    first = abs(c.path[0])
    for w in range(c.ways[i]):
        first = max(first, abs(c.path[1 + w]))
    return first


def compress_and_return(c: ContactModes, i: int, restitution: float, before: float, first: float) -> int:
    """Follow the impulse to the end of compression, then of restitution."""
    y = c.path
    outcome = follow_path(c, i, 0, 0.0, first)
    if outcome != FOUND:
        return outcome
    compressed, done = y[4], y[3]
    if restitution > 0.0:
        kind, goal = 0, -restitution * before  # Newton
        if c.law[i] == POISSON:
            kind, goal = 1, (1.0 + restitution) * compressed
        elif c.law[i] != NEWTON:
            kind, goal = 2, (1.0 - restitution * restitution) * done
        outcome = follow_path(c, i, kind, goal, first)
        if outcome != FOUND:
            return outcome
    for k in range(c.rows):
        c.impulse[k] = 0.0
    c.impulse[int(c.normal[i])] = y[4]
    for w in range(c.ways[i]):
        c.impulse[int(c.tangential[i]) + w] = y[5 + w]
    return FOUND


def stop_slip(c: ContactModes, i: int) -> None:
    """With infinite friction a slip ends at once, by a tangential impulse alone."""
    y, n, t, ways = c.path, int(c.normal[i]), int(c.tangential[i]), int(c.ways[i])
    force_against(c, i, y[1], y[2])
    for w in range(ways):
        y[5 + w] += c.path_force[w]
        y[0] += c.delassus[n, t + w] * c.path_force[w]
    for w in range(ways):
        y[1 + w] = 0.0


def left(y: Vector, kind: int, goal: float) -> float:
    """What is left of a phase: of normal velocity, impulse or work; negative beyond its end."""
    if kind == 0:
        return goal - y[0]
    if kind == 1:
        return goal - y[4]
    return goal - y[3]


def slip_size(c: ContactModes, i: int, y: Vector) -> float:
    total = 0.0
    for w in range(c.ways[i]):
        total += y[1 + w] * y[1 + w]
    return math.sqrt(total)


def follow_path(c: ContactModes, i: int, kind: int, goal: float, first: float) -> int:
    """Follow the impulse until nothing is left of a phase."""
    y = c.path
    for _ in range(MOST_PARTS):
        if not left(y, kind, goal) > 1e-15 * max(abs(goal), 1e-300 if kind != 0 else first):
            return FOUND
        size = slip_size(c, i, y)
        slips = size > STOPPED * first and c.ways[i] > 0 and kinetic(c, i) >= 0.0
        if not slips:
            for w in range(c.ways[i]):
                y[1 + w] = 0.0
        if not slips and kind != 1 and is_locked(c, i):
            return FOUND if abs(y[0]) <= STOPPED * first else INCONSISTENT
        step = straight_part(c, i, slips, kind, goal) if not slips or is_straight(c, i, size) else 0.0
        if step == 0.0:
            step = curved_part(c, i, kind, goal)
        if step < 0.0:
            return INCONSISTENT
    return UNENDED


def is_locked(c: ContactModes, i: int) -> bool:
    """Whether friction holds a contact that has stopped, whatever the normal impulse is, so that no restitution moves it: its
    point moves along one line only, and the force that sticking needs is within the cone."""
    if c.ways[i] == 0:
        return False
    force_at_rest(c, i)
    n = int(c.normal[i])
    return abs(rate_along(c, i, n)) <= LOCKED * c.delassus[n, n]


def force_of_slip(c: ContactModes, i: int, y: Vector) -> None:
    """Tangential force per normal force of a contact that slips."""
    size = slip_size(c, i, y)
    for w in range(c.ways[i]):
        c.path_force[w] = -kinetic(c, i) * y[1 + w] / size if size > 0.0 else 0.0


def force_at_rest(c: ContactModes, i: int) -> None:
    """Tangential force per normal force of a contact that has stopped: it sticks if it can, else slips as the force leads it."""
    n, t, ways = int(c.normal[i]), int(c.tangential[i]), int(c.ways[i])
    g = c.delassus
    if ways == 0:
        return
    force_against(c, i, g[t, n], g[t + ways - 1, n])
    size = 0.0
    for w in range(ways):
        size += c.path_force[w] * c.path_force[w]
    size = math.sqrt(size)
    limit = static(c, i)
    if limit < 0.0 or size <= limit or kinetic(c, i) < 0.0:
        return
    for _ in range(200):  # slip against the force: f = −μ d, with d along G_tn + G_tt f
        total = 0.0
        for w in range(ways):
            c.path_point[w] = g[t + w, n]
            for k in range(ways):
                c.path_point[w] += g[t + w, t + k] * (-kinetic(c, i) * (-c.path_force[k] / size))
            total += c.path_point[w] * c.path_point[w]
        total = math.sqrt(total)
        change, new = 0.0, 0.0
        for w in range(ways):
            mixed = -c.path_force[w] / size + (c.path_point[w] / total if total > 0.0 else 0.0)
            c.path_point[w] = mixed
            new += mixed * mixed
        new = math.sqrt(new)
        for w in range(ways):
            turned = -kinetic(c, i) * c.path_point[w] / new
            change = max(change, abs(turned - c.path_force[w]))
            c.path_force[w] = turned
        size = kinetic(c, i)
        if change <= 1e-15 or size == 0.0:
            return


def force_against(c: ContactModes, i: int, first_part: float, second_part: float) -> None:
    """−G_tt⁻¹ r, in `path_force`, which makes a motion r vanish; without a part along a direction in which the point cannot
    move."""
    n, t, g = int(c.normal[i]), int(c.tangential[i]), c.delassus
    if c.ways[i] == 1:
        c.path_force[0] = -first_part / g[t, t] if g[t, t] > FIXED * g[n, n] else 0.0
        return
    mean, half = 0.5 * (g[t, t] + g[t + 1, t + 1]), 0.5 * (g[t, t] - g[t + 1, t + 1])
    spread = math.sqrt(half * half + g[t, t + 1] * g[t + 1, t])
    c.path_force[0], c.path_force[1] = 0.0, 0.0
    if mean - spread > FIXED * (mean + g[n, n]):
        determinant = g[t, t] * g[t + 1, t + 1] - g[t, t + 1] * g[t + 1, t]
        c.path_force[0] = -(g[t + 1, t + 1] * first_part - g[t, t + 1] * second_part) / determinant
        c.path_force[1] = -(g[t, t] * second_part - g[t + 1, t] * first_part) / determinant
    elif mean + spread > FIXED * g[n, n]:
        first, second = g[t, t + 1], mean + spread - g[t, t]  # the direction of the larger eigenvalue
        if half > 0.0:
            first, second = mean + spread - g[t + 1, t + 1], g[t + 1, t]
        share = -(first * first_part + second * second_part) / ((mean + spread) * (first * first + second * second))
        c.path_force[0], c.path_force[1] = share * first, share * second


def rate_along(c: ContactModes, i: int, row: int) -> float:
    """dv/dp along a row."""
    total = c.delassus[row, int(c.normal[i])]
    for w in range(c.ways[i]):
        total += c.delassus[row, int(c.tangential[i]) + w] * c.path_force[w]
    return total


def is_straight(c: ContactModes, i: int, size: float) -> bool:
    """Whether the slip keeps its direction."""
    if c.ways[i] < 2:
        return True
    y, t = c.path, int(c.tangential[i])
    force_of_slip(c, i, y)
    first, second = rate_along(c, i, t), rate_along(c, i, t + 1)
    return abs(y[1] * second - y[2] * first) <= STRAIGHT * size * (abs(first) + abs(second))


def straight_part(c: ContactModes, i: int, slips: bool, kind: int, goal: float) -> float:
    """Follow the impulse with constant forces up to the end of the phase or of the slip; return its length, −1 without end."""
    y, t = c.path, int(c.tangential[i])
    if slips:
        force_of_slip(c, i, y)
    else:
        force_at_rest(c, i)
    up = rate_along(c, i, int(c.normal[i]))
    stop = 1e300
    if slips:
        closing = 0.0
        for w in range(c.ways[i]):
            closing += y[1 + w] * rate_along(c, i, t + w)
        size = slip_size(c, i, y)
        if closing < 0.0:
            stop = -size * size / closing
    end = 1e300
    if kind == 0 and up > 0.0:
        end = (goal - y[0]) / up
    elif kind == 1:
        end = goal - y[4]
    elif kind == 2 and up > 0.0:  # work v₀ p + up p²/2
        end = (-y[0] + math.sqrt(max(0.0, y[0] * y[0] + 2.0 * up * (goal - y[3])))) / up
    part = min(stop, end)
    if part >= 1e299:
        return -1.0
    y[3] += part * (y[0] + 0.5 * up * part)
    y[0] += up * part
    y[4] += part
    for w in range(c.ways[i]):
        y[1 + w] += part * rate_along(c, i, t + w)
        y[5 + w] += part * c.path_force[w]
    if stop <= end:
        for w in range(c.ways[i]):
            y[1 + w] = 0.0
    elif kind == 0:
        y[0] = goal
    elif kind == 1:
        y[4] = goal
    else:
        y[3] = goal
    return part


def path_rates(c: ContactModes, i: int, y: Vector, rate: Vector) -> None:
    force_of_slip(c, i, y)
    rate[0] = rate_along(c, i, int(c.normal[i]))
    for w in range(2):
        rate[1 + w] = rate_along(c, i, int(c.tangential[i]) + w)
        rate[5 + w] = c.path_force[w]
    rate[3], rate[4] = y[0], 1.0


def runge_kutta(c: ContactModes, i: int, part: float) -> None:
    """One step of the classical method from `path` to `path_new`."""
    y, k = c.path, c.path_rate
    path_rates(c, i, y, k[0])
    for stage in range(1, 4):
        share = 1.0 if stage == 3 else 0.5
        for j in range(7):
            c.path_point[j] = y[j] + share * part * k[stage - 1, j]
        path_rates(c, i, c.path_point, k[stage])
    for j in range(7):
        c.path_new[j] = y[j] + part / 6.0 * (k[0, j] + 2.0 * k[1, j] + 2.0 * k[2, j] + k[3, j])


def curved_part(c: ContactModes, i: int, kind: int, goal: float) -> float:
    """Follow the impulse for a short part while the slip changes its direction; return its length."""
    y = c.path
    path_rates(c, i, y, c.path_rate[0])
    size, turning = slip_size(c, i, y), 0.0
    for w in range(2):
        turning += c.path_rate[0, 1 + w] * c.path_rate[0, 1 + w]
    part = size / math.sqrt(turning)
    speed = abs(c.path_rate[0, 0])
    if kind == 0 and speed > 0.0:
        part = min(part, max(goal - y[0], 0.25 * abs(goal - y[0]) + 1e-3 * abs(y[0])) / speed)
    elif kind == 1:
        part = min(part, max(goal - y[4], LAST * y[4]))
    elif abs(y[0]) > 0.0:
        part = min(part, max((goal - y[3]) / max(abs(y[0]), math.sqrt(speed * (goal - y[3]))), LAST * y[4]))
    part /= STEPS
    runge_kutta(c, i, part)
    if left(c.path_new, kind, goal) < 0.0:
        low, high = 0.0, part
        for _ in range(100):  # the end of the phase
            part = 0.5 * (low + high)
            runge_kutta(c, i, part)
            if left(c.path_new, kind, goal) > 0.0:
                low = part
            else:
                high = part
        part = high
        runge_kutta(c, i, part)
    copy(c.path_new, y, 7)
    return part


# ------------------------------------------------------------------------------------------------ several contacts


def find_group(c: ContactModes, first: int) -> None:
    """The active contacts that take part in an impact of one of them, in `group`: the block of Delassus' matrix."""
    for i in range(c.contacts):
        c.group[i] = 1 if i == first else 0
    grows = True
    while grows:
        grows = False
        for i in range(c.contacts):
            if c.group[i] == 0 and c.active[i] != 0 and has_normal(c, i):
                for j in range(c.contacts):
                    if c.group[i] == 0 and c.group[j] == 1 and are_coupled(c, i, j):
                        c.group[i], grows = 1, True
    group_resistances(c)


def group_resistances(c: ContactModes) -> None:
    """Resistances take part in the impacts of their contacts."""
    for i in range(c.contacts):
        if resists(c, i):
            c.group[i] = c.group[int(c.host[i])] if c.active[i] != 0 else 0


def are_coupled(c: ContactModes, i: int, j: int) -> bool:
    """Whether impulses of a contact change velocities of another one."""
    size, first, second = 0.0, 0.0, 0.0
    for k in range(rows_of_impulse(c, i)):
        a = row_of_impulse(c, i, k)
        first = max(first, abs(c.delassus[a, a]))
        for l in range(rows_of_impulse(c, j)):
            b = row_of_impulse(c, j, l)
            second = max(second, abs(c.delassus[b, b]))
            size = max(size, abs(c.delassus[a, b]), abs(c.delassus[b, a]))
    return size > COUPLED * math.sqrt(first * second)


def rows_of_impulse(c: ContactModes, i: int) -> int:
    """The number of rows along which a contact takes impulses."""
    return 1 + int(c.ways[i]) if static(c, i) != 0.0 or kinetic(c, i) != 0.0 else 1


def row_of_impulse(c: ContactModes, i: int, k: int) -> int:
    return int(c.normal[i]) if k == 0 else int(c.tangential[i]) + k - 1


def restrict_to_group(c: ContactModes) -> None:
    """Leave only the group active."""
    for i in range(c.contacts):
        if c.active[i] != 0 and c.group[i] == 0 and not is_joint(c, i):
            c.active[i], c.group[i] = 0, -1


def restore_others(c: ContactModes) -> None:
    for i in range(c.contacts):
        if c.group[i] == -1:
            c.active[i], c.group[i] = 1, 0


def returns_slip(c: ContactModes, i: int) -> bool:
    """Whether a contact has tangential restitution."""
    return c.ways[i] > 0 and c.landing[4 * i] > 0.0


def is_resisted(c: ContactModes, i: int) -> bool:
    """Whether a contact resists rolling or drilling."""
    found = False
    for k in range(c.contacts):
        found = found or (resists(c, k) and c.host[k] == i)
    return found


def impact_on_several(c: ContactModes, bounces: bool, collides: float) -> int:
    """Impulses of an impact of all active contacts, in `impulse`. Contacts that approach faster than `collides` return a part of
    their slip, where they have tangential restitution."""
    for k in range(c.rows):
        c.target[k] = c.speed[k]
    for i in range(c.contacts):
        c.settled[i], c.excluded[i] = 0, 0
        if is_joint(c, i):
            c.active[i] = 0
        if bounces and c.active[i] != 0 and has_normal(c, i):
            c.target[int(c.normal[i])] += c.coefficient[3 * i + 2] * min(0.0, c.speed[int(c.normal[i])])
        if c.active[i] != 0 and has_normal(c, i) and returns_slip(c, i) and c.speed[int(c.normal[i])] < -collides:
            for w in range(c.ways[i]):
                c.target[int(c.tangential[i]) + w] += c.landing[4 * i] * c.speed[int(c.tangential[i]) + w]
    c.shares = 0  # impulses that stop a wheel between the ground and a kerb would be within infinite friction, too
    outcome = solve_any(c)
    if outcome == INCONSISTENT and c.dependent != 0:
        c.shares = 1
        outcome = solve_any(c)
    c.shares = c.dependent
    for i in range(c.contacts):
        if is_joint(c, i):
            c.active[i] = 1
    for k in range(c.rows):
        c.impulse[k] = c.best_reaction[k]
    return FOUND if outcome == INDETERMINATE else outcome
