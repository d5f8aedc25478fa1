"""Changes of the modes of unilateral contacts within the stepping loop. Restricted Python.

A margin of a contact ends within a step: its gap closes, its normal force vanishes, its friction is exceeded, or its slip
vanishes. The step is cut there (`switch_location`). Contacts that approach take an impact; then the modes of all closed contacts
follow from complementarity of forces and accelerations, without the mode that has just ended.
"""

from __future__ import annotations

import math

from draisine.codegen.restricted.types import call_kernel
from draisine.simulation.stepper.contact_complementarity import (
    allowed,
    begin_slips,
    keep_best,
    keep_modes,
    lifts,
    solve_complementarity,
)
from draisine.simulation.stepper.contact_impact import (
    find_group,
    group_resistances,
    impact_on_one,
    impact_on_several,
    impact_without_collision,
    is_resisted,
    restore_others,
    restrict_to_group,
    returns_slip,
)
from draisine.simulation.stepper.contact_laws import (
    BOUNDARY,
    accelerate,
    along,
    has_normal,
    is_joint,
    is_rounding,
    kinetic,
    largest,
    largest_reaction,
    resists,
    respond,
    respond_along_rows,
    solve_choice,
    static,
    tangential_size,
)
from draisine.simulation.stepper.contact_layout import (
    ENDLESS,
    FOUND,
    INCONSISTENT,
    MODE_ENTRIES,
    OPEN,
    PENETRATED,
    SINGULAR_MASS,
    SLIP,
    STICK,
    UNDECIDED,
    ContactModes,
)
from draisine.simulation.stepper.contact_shares import GIVES, HOLDS, satisfies, slips_at_cone, widest_margin
from draisine.simulation.stepper.contact_slip import (
    TURNING,
    fall_of,
    has_direction,
    load_terms,
    mode_of,
    present_direction,
    set_mode,
    slips_in_plane,
    take_own_direction,
    turns,
    update_hoisted_values,
    velocity_scale,
    zero_slip,
)
from draisine.simulation.stepper.explicit_rk import copy, first_nonfinite
from draisine.simulation.stepper.layout import CONTACT_UNSOLVED, CONTINUE, FRESH, MARGIN_GRID, Stepper
from draisine.simulation.stepper.usual_modes import enter_usual_modes, leave_usual_modes

CLOSE = 1e-10  # gap, and time until it closes, relative to typical ones, at which a contact takes part in the impact of another
GAP_ERROR = 2e-14  # gap, relative to the typical length, that is rounding error
LANDED = 4.0  # times the tolerance: how far below the other surface a contact may land
DEPTH = 0.09  # times the tolerance and the typical length: where a contact lands on which nothing presses
RESTING = 3e-6  # approach, relative to √(a·length), from which on a contact rests: infinitely many bounces are left out
SLOW_SLIP = 10.0  # times that, a slip that friction ends with the rest of the bounces
ROUNDING = 1e-12  # approach, relative to typical velocities, that is rounding error
EDGE = 1e-9  # distance from the end of a part of a ground profile, and gap there, relative to the typical length
INSIDE = 1e-5  # depth in the ground, relative to the typical length, that is no error of the integration
NEGLIGIBLE = 1e-9  # acceleration, relative to typical ones, that is zero …
LOCATED = 10.0  # … and the same times the tolerance: a force vanishes where the interpolated motion has it vanish
ERRORS = 1e4  # times a slip that is zero: what errors of integration leave of one that others hold
PROJECTIONS = 2  # the velocities of the first one are those of positions before it
BRIEFLY = 4e-3  # of the time scale of the motion, within which friction would take away the drift of a slip that begins
MOST_IMPACTS = 50  # at one time, for each contact
MOST_SEQUENTIAL = 2000  # the same, where they come one after the other


def note_contacts_below(s: Stepper) -> None:
    """At a start: the open contacts that are below the other surface and do not land there."""
    c = s.modes
    load_terms(s)
    for i in range(c.contacts):
        c.excluded[i] = 0
        c.below[i] = 1 if mode_of(c, i) == OPEN and passes(c, i) and c.gap[i] < 0.0 else 0


def change_modes(s: Stepper, row: int) -> int:
    """At (t, x), where the margin `row` has ended (−1 for none, as at a start): impacts, then the modes of all contacts."""
    c = s.modes
    ended, which = (row - c.first_margin) // 2, (row - c.first_margin) % 2
    c.lost, c.late, c.vanished = 0.0, 0.0, -1
    for k in range(c.rows):
        c.total[k] = 0.0
    leave_usual_modes(s)
    return_to_constraints(s)
    load_terms(s)
    if not respond(c):
        c.outcome = SINGULAR_MASS
        return CONTACT_UNSOLVED
    if row >= 0 and which == 0 and mode_of(c, ended) == OPEN and passes(c, ended):
        c.below[ended] = 1 - c.below[ended]
        update_parameters(s)
        return CONTINUE
    if activate(c, row):  # a part of a profile has ended, and the next one has taken over
        row = -1
    if row >= 0 and which == 1 and mode_of(c, ended) == SLIP and turns(s, ended):
        update_parameters(s)
        return CONTINUE
    if raise_landed(s) and not respond(c):
        c.outcome = SINGULAR_MASS
        return CONTACT_UNSOLVED
    respond_along_rows(c, s.variations != 0)
    if not collide(s):
        return CONTACT_UNSOLVED
    for i in range(c.contacts):
        c.excluded[i] = 0
    if row >= 0 and not collided(c) and mode_of(c, ended) != OPEN:
        c.excluded[ended] = 1 + leaves(c, ended, which)
        if which == 0:
            c.vanished, c.negligible = ended, negligible_acceleration(s, ended)
    reason = settle(s, ended if row >= 0 else -1, which)
    if reason != CONTINUE and c.outcome == INCONSISTENT and c.without_collision != 0 and strike_without_collision(s):
        reason = settle(s, -1, 0)
    return reason


def strike_without_collision(s: Stepper) -> bool:
    """Painlevé's paradox of one contact that slips: an impact that begins without approach; False if there is none."""
    c, slides = s.modes, -1
    for i in range(c.contacts):
        if c.active[i] != 0 and has_normal(c, i) and c.settled[i] != 0 and lifts(c, i):
            slides = i
    if slides < 0 or is_resisted(c, slides):
        return False
    find_group(c, slides)
    for i in range(c.contacts):
        if i != slides and c.group[i] != 0:
            return False  # the impulses of several contacts are not known
    c.outcome = impact_without_collision(c, slides)
    if c.outcome != FOUND:
        return False
    apply_impulse(s)
    release_separated(s, RESTING * math.sqrt(c.length * (fall_of(c) + 1e-300)))
    for i in range(c.contacts):
        c.excluded[i] = 0
    return True


def negligible_acceleration(s: Stepper, i: int) -> float:
    """Along the normal of a contact, beside the accelerations and velocities of the mechanism, and what its force gave in the
    last step: forces that cancel leave errors of their own size, not of that of their sum."""
    c, row, motion = s.modes, int(s.modes.normal[i]), 0.0
    gain, force = 0.0, 0.0
    for at in range(2):
        force = max(force, abs(s.margin[at * MARGIN_GRID, c.first_margin + 2 * i]))
    for j in range(c.velocities):
        gain, motion = max(gain, abs(c.row[row * c.velocities + j])), max(motion, abs(c.free[j]))
    speed = velocity_scale(s)
    others = abs(c.bias[row]) + gain * motion + speed * speed / c.length
    return max(NEGLIGIBLE, LOCATED * c.tolerance) * (others + c.delassus[row, row] * force)


def passes(c: ContactModes, i: int) -> bool:
    """Whether an open contact does not land where its gap vanishes, or is below the other surface."""
    return has_normal(c, i) and (c.below[i] != 0 or not c.landing[4 * i + 1] > 0.0)


def is_inside(s: Stepper) -> bool:
    """At the end of a step: whether a body is inside a ground profile; the contact that is deepest is then the only active one.

    A part of a profile that is open, with a negative gap where it would land, is penetrated; so is an edge with any normal."""
    c, deepest = s.modes, -1
    found = 0
    for i in range(c.contacts):
        found += int(c.bounded[i])
    if found == 0:
        return False
    load_terms(s)
    least = -INSIDE * c.length
    for i in range(c.contacts):
        below = c.bounded[i] != 0 and mode_of(c, i) == OPEN and c.gap[i] < least
        if below and (c.landing[4 * i + 3] > 0.0 or c.landing[4 * i + 1] > INSIDE * c.length):
            deepest, least = i, c.gap[i]
    if deepest < 0:
        return False
    for i in range(c.contacts):
        c.active[i] = 1 if i == deepest else 0
    c.outcome = PENETRATED
    return True


def is_torn(s: Stepper) -> bool:
    """At the end of a step: whether contacts with infinite friction slip (`slip_apart`)."""
    c, sticks = s.modes, False
    for i in range(c.contacts):
        sticks = sticks or sticks_endlessly(c, i)
    if c.driven == 0 or not sticks:
        return False
    load_terms(s)
    return slip_apart(s)


def sticks_endlessly(c: ContactModes, i: int) -> bool:
    """Whether a contact sticks with infinite friction."""
    return has_normal(c, i) and c.ways[i] > 0 and mode_of(c, i) == STICK and static(c, i) < 0.0


def slip_apart(s: Stepper) -> bool:
    """Whether contacts that stick with infinite friction slip all the same, beyond errors: ground that moves draws them apart,
    and no motion of rigid bodies follows it. These are then the only active contacts."""
    c, found = s.modes, False
    near = max(s.broken, TURNING * zero_slip(s))
    for i in range(c.contacts):
        found = found or (sticks_endlessly(c, i) and tangential_size(c, i, c.speed) > near)
    if found:
        for i in range(c.contacts):
            c.active[i] = 1 if sticks_endlessly(c, i) and tangential_size(c, i, c.speed) > near else 0
        c.outcome = INCONSISTENT
    return found


def is_left(c: ContactModes, i: int) -> bool:
    """Whether a contact with a part of a ground profile is at its end."""
    return c.bounded[i] != 0 and c.landing[4 * i + 1] <= EDGE * c.length


def takes_over(c: ContactModes, i: int) -> bool:
    """Whether an open contact with a part of a profile begins where that with its neighbor ends."""
    near = c.bounded[i] != 0 and mode_of(c, i) == OPEN and c.landing[4 * i + 1] >= -EDGE * c.length
    return near and abs(c.gap[i]) <= EDGE * c.length


def activate(c: ContactModes, row: int) -> bool:
    """The contacts that are closed, or close where the margin `row` has ended; whether it is that of a part of a profile that has
    ended, so that the next one takes over."""
    ended = (row - c.first_margin) // 2 if row >= 0 and (row - c.first_margin) % 2 == 0 else -1
    left = ended >= 0 and mode_of(c, ended) != OPEN and is_left(c, ended)
    if left:
        set_mode(c, ended, OPEN)
    for i in range(c.contacts):
        closes = closes_too(c, i) or takes_over(c, i) if left else closes_too(c, i) or i == ended
        c.active[i] = 1 if mode_of(c, i) != OPEN or closes else 0
        c.below[i] = 0 if c.active[i] != 0 else c.below[i]
    if left:
        c.active[ended], c.below[ended] = 0, 1
    follow_hosts(c)
    return left


def follow_hosts(c: ContactModes) -> None:
    """Resistances are active where their contacts are."""
    for i in range(c.contacts):
        if resists(c, i):
            c.active[i] = c.active[int(c.host[i])]
            if mode_of(c, int(c.host[i])) == OPEN and mode_of(c, i) != OPEN:
                set_mode(c, i, OPEN)


def closes_too(c: ContactModes, i: int) -> bool:
    """Whether an open contact closes at this time, too: it has no gap, or passes it within a short time."""
    if not has_normal(c, i) or passes(c, i):
        return False
    duration = math.sqrt(c.length / (fall_of(c) + 1e-300))
    reached = CLOSE * min(c.length, duration * max(0.0, -c.speed[int(c.normal[i])]))
    return c.gap[i] <= max(reached, GAP_ERROR * c.length)


def return_to_constraints(s: Stepper) -> None:
    """Remove the drift of closed contacts, which is not to be taken for an approach or a slip."""
    if s.project == 0 or s.behind_switch != 0:
        return
    for k in range(PROJECTIONS):
        if k > 0 and lies_on_constraints(s, GAP_ERROR * s.modes.length):
            return
        copy(s.x, s.point, s.width)
        s.time[0] = s.t
        call_kernel(s.project, (s.time, s.point, s.u, s.parameters), (s.new, s.scalar))
        if first_nonfinite(s.new, s.states) >= 0:
            return
        copy(s.new, s.x, s.states)


def lies_on_constraints(s: Stepper, threshold: float) -> bool:
    """Whether the residual is below the threshold, which most often shows that there is nothing to project; then as a projection
    would leave it."""
    if s.deviation == 0 or (s.unilateral != 0 and s.modes.usual != 0):
        return False  # the projection of the usual modes is short
    copy(s.x, s.point, s.width)
    s.time[0] = s.t
    call_kernel(s.deviation, (s.time, s.point, s.u, s.parameters), (s.scalar,))
    return s.scalar[0] <= threshold


def raise_landed(s: Stepper) -> bool:
    """Move the coordinates so that contacts which land have no gap; whether that changes them. Those on which nothing presses
    land below the other surface by a part of the tolerance (`update_parameters`), and depths would add up."""
    c, found = s.modes, False
    if s.project == 0 or s.behind_switch != 0:
        return False
    deepest = -LANDED * max(GAP_ERROR, c.tolerance) * c.length
    for i in range(c.contacts):
        lands = c.active[i] != 0 and mode_of(c, i) == OPEN and has_normal(c, i)
        c.choice[i] = 1 if lands and deepest < c.gap[i] < -GAP_ERROR * c.length else 0
        found = found or c.choice[i] != 0
    if not found:
        return False
    for i in range(c.contacts):
        if c.choice[i] != 0:
            c.mode[MODE_ENTRIES * i] = 1.0
    update_hoisted_values(s)
    for _ in range(PROJECTIONS):
        copy(s.x, s.point, s.width)
        s.time[0] = s.t
        call_kernel(s.project, (s.time, s.point, s.u, s.parameters), (s.new, s.scalar))
        if first_nonfinite(s.new, s.states) < 0:
            copy(s.new, s.x, c.first_velocity)
    for i in range(c.contacts):
        if c.choice[i] != 0:
            c.mode[MODE_ENTRIES * i] = 0.0
    update_hoisted_values(s)
    load_terms(s)
    return True


def leaves(c: ContactModes, i: int, which: int) -> int:
    """The mode that a contact cannot keep after the end of a margin; −1 for none."""
    if which == 0:
        return mode_of(c, i)
    return STICK if mode_of(c, i) == STICK else -1


def collide(s: Stepper) -> bool:
    """Impacts of contacts that approach, each with those coupled to it, until none does; False if impulses are not found."""
    c = s.modes
    for _ in range((MOST_SEQUENTIAL if c.sequential != 0 else MOST_IMPACTS) * c.contacts):
        slow = RESTING * math.sqrt(c.length * (fall_of(c) + 1e-300))
        room = ROUNDING * velocity_scale(s)
        first = -1
        for i in range(c.contacts):
            if c.active[i] != 0 and has_normal(c, i):
                speed = c.speed[int(c.normal[i])]
                if speed > room and mode_of(c, i) == OPEN and c.sequential == 0:
                    c.active[i] = 0  # it separates
                elif speed < -room and (first < 0 or (c.sequential != 0 and speed < c.speed[int(c.normal[first])])):
                    first = i
        follow_hosts(c)
        if first < 0:
            if c.sequential != 0:
                release_separated(s, max(room, slow))
            return True
        find_group(c, first)
        if c.sequential != 0:
            for i in range(c.contacts):
                c.group[i] = 1 if i == first else 0
            group_resistances(c)
        count, last, bounces, fastest = 0, first, False, 0.0
        for i in range(c.contacts):
            if c.group[i] == 1 and has_normal(c, i):
                count += 1
                speed = c.speed[int(c.normal[i])]
                if speed < -room:
                    last = i
                    fastest = max(fastest, -speed)
                    if c.coefficient[3 * i + 2] * -speed > slow:
                        bounces = True
        restrict_to_group(c)
        rests = not bounces and fastest < slow
        if count == 1 and not returns_slip(c, last) and not is_resisted(c, last) and not (rests and sticks_in_joints(c)):
            c.outcome = impact_on_one(c, last, c.coefficient[3 * last + 2] if bounces else 0.0)
        elif rests:
            c.outcome = stop_rocking(c, slow)
        else:
            c.outcome = impact_on_several(c, bounces, max(slow, room))
        restore_others(c)
        if c.outcome != FOUND:
            return False
        if not bounces:
            c.late = max(c.late, bounces_left(c, last))
        apply_impulse(s)
        if c.sequential == 0:  # else one that separates may be struck again
            release_separated(s, slow)
    c.outcome = ENDLESS if c.sequential != 0 else FOUND
    return c.sequential == 0


def release_separated(s: Stepper, slow: float) -> None:
    """Open contacts that separate after an impact."""
    c = s.modes
    for i in range(c.contacts):
        if c.active[i] != 0 and has_normal(c, i):
            speed = c.speed[int(c.normal[i])]
            if speed > 1e-9 * velocity_scale(s) and speed > slow:
                c.active[i] = 0
                set_mode(c, i, OPEN)


def collided(c: ContactModes) -> bool:
    """Whether the change has impacts; elastic ones lose no energy."""
    found = False
    for k in range(c.rows):
        found = found or c.total[k] != 0.0
    return found


def sticks_in_joints(c: ContactModes) -> bool:
    """Whether the dry friction of a joint sticks."""
    found = False
    for i in range(c.contacts):
        found = found or (c.active[i] != 0 and is_joint(c, i) and mode_of(c, i) == STICK)
    return found


def stop_rocking(c: ContactModes, slow: float) -> int:
    """Impulses that end all approach and separation of active contacts, and slow slips with friction: infinitely many impacts of
    a body that rocks from one to another are left out."""
    for k in range(c.rows):
        c.target[k] = c.speed[k]
    for i in range(c.contacts):
        c.choice[i] = OPEN
        if is_joint(c, i) and mode_of(c, i) == STICK:
            c.choice[i] = STICK  # its force would stop within a short time what such an impact sets in motion
        if c.active[i] != 0 and not is_joint(c, i):
            rubs = c.coefficient[3 * i + 1] != 0.0  # friction would end such a slip at once
            c.choice[i] = STICK if rubs and tangential_size(c, i, c.speed) < SLOW_SLIP * slow else SLIP
        for w in range(2):
            c.direction[i, w] = 0.0
    if not solve_choice(c):
        return UNDECIDED
    for k in range(c.rows):
        c.impulse[k] = c.reaction[k]
    return FOUND


def bounces_left(c: ContactModes, i: int) -> float:
    """How long infinitely many bounces of a contact that approaches take: u (1/a + 1/√(a b)), times 1 + r + r² + …, where it
    leaves with u, slows down with a and returns with b, and r = e √(b/a)."""
    n, e = int(c.normal[i]), c.coefficient[3 * i + 2]
    fall, drag = -c.offset[n], 0.0
    for j in range(c.contacts):
        if is_joint(c, j) and c.delassus[n, n] > 0.0:
            t = int(c.tangential[j])
            force = kinetic(c, j) * c.delassus[n, t]
            moved = -c.speed[n] * c.delassus[t, n] / c.delassus[n, n]
            if abs(c.speed[t] + moved) <= 0.5 * abs(moved):  # it reverses with the gap
                drag += abs(force)
            elif c.speed[t] != 0.0:
                fall += force if c.speed[t] > 0.0 else -force
    up, down = fall + drag, fall - drag
    if not down > 0.0:
        return 0.0
    ratio = e * math.sqrt(down / up)
    return -e * c.speed[n] * (1.0 / up + 1.0 / math.sqrt(up * down)) / (1.0 - ratio) if ratio < 1.0 else 0.0


def apply_impulse(s: Stepper) -> None:
    """Velocities, the energy that is lost, and the work: the change of kinetic energy, with that of moving surfaces, stops and
    prescribed motions."""
    c = s.modes
    n = c.velocities
    power, work = 0.0, 0.0
    for j in range(n):
        c.side[j] = 0.0
    for k in range(c.rows):
        power += c.impulse[k] * c.speed[k]
        for j in range(n):
            c.side[j] += c.impulse[k] * c.response[k, j]
    for i in range(n):  # Δv·M (v + Δv/2)
        for j in range(n):
            work += c.side[i] * c.mass[i * n + j] * (s.x[c.first_velocity + j] + 0.5 * c.side[j])
    for j in range(n):
        s.x[c.first_velocity + j] += c.side[j]
    for k in range(c.rows):
        c.total[k] += c.impulse[k]
        if c.impulse[k] != 0.0:
            for l in range(c.rows):
                c.speed[l] += c.impulse[k] * c.delassus[l, k]
    for k in range(c.rows):
        power += c.impulse[k] * c.speed[k]
    c.lost -= 0.5 * power
    s.x[c.work] += work


def moving(s: Stepper, row: int) -> float:
    """The velocity along a row that is not that of the mechanism: of moving ground, a belt or a driven stop."""
    c = s.modes
    return c.speed[row] - along(c, row, s.x[c.first_velocity : c.first_velocity + c.velocities])


def settle(s: Stepper, ended: int, which: int) -> int:
    """The modes of the active contacts by their accelerations, after the end of a margin of one of them (−1 for none)."""
    c = s.modes
    follow_hosts(c)
    if collided(c):  # velocity products have changed
        load_terms(s)
        accelerate(c)  # what impulses give depends on coordinates alone
    for k in range(c.rows):
        c.target[k] = c.offset[k]
    stopped = ended if which == 1 else -1
    stops = stopped >= 0 and mode_of(c, stopped) == SLIP  # others may stop with it, as edges of one block do
    least = zero_slip(s)
    for i in range(c.contacts):
        size = tangential_size(c, i, c.speed)
        slips = size > least and (mode_of(c, i) != STICK or collided(c)) and not (i == stopped and c.ways[i] == 1)
        c.settled[i] = 1 if c.active[i] != 0 and slips and c.coefficient[3 * i + 1] >= 0.0 else 0
        for w in range(c.ways[i]):
            c.direction[i, w] = c.speed[int(c.tangential[i]) + w] / size if c.settled[i] != 0 else 0.0
        goes_on = i != stopped and not (stops and size <= least)
        if c.active[i] != 0 and mode_of(c, i) == SLIP and has_direction(c, i) and goes_on and not collided(c):
            c.settled[i] = 2  # it goes on slipping, however slowly
            present_direction(c, i)
    if stops and not collided(c):
        for i in range(c.contacts):
            c.choice[i] = mode_of(c, i) if c.active[i] != 0 else OPEN
        if allowed(c, stopped, STICK):
            c.choice[stopped] = STICK
            stop_slips_without_motion(c, least)
    if s.switches_here == 0 and not collided(c):
        release_resting(c, least)
    c.outcome = FOUND
    near = TURNING * least if stops and not collided(c) else 0.0
    expected = near > 0.0 and unresolved_stop(c, stopped, least, near) and stop_together(c, least, near)
    expected = expected or (ended >= 0 and c.dependent != 0 and not collided(c) and hold_together(s, ended, which))
    expected = expected or (s.phase != FRESH and not collided(c) and expect_modes(c, ended, which))
    if not expected and not (near > 0.0 and stop_together(c, least, near)):
        c.outcome = solve_complementarity(c)
        if c.outcome != FOUND and stop_small_slips(s):
            c.outcome = solve_complementarity(c)
    if c.outcome != FOUND:
        return CONTACT_UNSOLVED
    release_unpressed(c)
    for i in range(c.contacts):
        if c.settled[i] != 2 or c.best[i] != SLIP:
            set_mode(c, i, int(c.best[i]) if c.active[i] != 0 else OPEN)
        set_preload(c, i)
    remove_drift(s)
    update_hoisted_values(s)
    return_to_constraints(s)
    load_terms(s)
    if c.driven != 0 and slip_apart(s):
        return CONTACT_UNSOLVED
    for i in range(c.contacts):
        if c.settled[i] == 0 and mode_of(c, i) == SLIP:
            for w in range(c.ways[i]):
                c.mode[MODE_ENTRIES * i + 4 + w] = c.speed[int(c.tangential[i]) + w]
        elif slips_in_plane(c, i) and tangential_size(c, i, c.speed) > 0.0:
            take_own_direction(s, i)  # it has changed with the drift of others
    update_parameters(s)
    return CONTINUE


def stop_slips_without_motion(c: ContactModes, least: float) -> None:
    """In the combination `choice`: slips to which contacts that stick leave no motion have stopped with these."""
    others, sticks = False, False
    for i in range(c.contacts):
        slips = c.choice[i] == SLIP and c.settled[i] != 0 and has_normal(c, i)
        others = others or (slips and tangential_size(c, i, c.speed) < ERRORS * least)
        sticks = sticks or (c.choice[i] == STICK and has_normal(c, i))
    if not others or not sticks:
        return
    for k in range(c.rows):
        c.target[k] = c.speed[k]
    for i in range(c.contacts):
        for w in range(2):
            c.trial[i, w], c.direction[i, w] = c.direction[i, w], 0.0
    solved = solve_choice(c)
    for i in range(c.contacts):
        for w in range(2):
            c.direction[i, w] = c.trial[i, w]
        if solved and c.choice[i] == SLIP and c.settled[i] != 0 and has_normal(c, i) and tangential_size(c, i, c.result) <= least:
            c.choice[i], c.settled[i] = STICK, 0
    for k in range(c.rows):
        c.target[k] = c.offset[k]


def release_resting(c: ContactModes, least: float) -> None:
    """Dry friction at its limit that other constraints hold at rest, so that it does not slip: it may stick, or slip back."""
    resting = False
    for i in range(c.contacts):
        c.choice[i] = mode_of(c, i) if c.active[i] != 0 else OPEN
        if c.settled[i] == 2 and is_joint(c, i) and abs(c.speed[int(c.tangential[i])]) <= least:
            resting = True
    if not resting or not solve_choice(c):
        return
    for i in range(c.contacts):
        if c.settled[i] == 2 and is_joint(c, i):
            t = int(c.tangential[i])
            if abs(c.speed[t]) <= least and abs(c.result[t]) <= BOUNDARY * (largest(c) + abs(c.delassus[t, t]) * kinetic(c, i)):
                c.settled[i] = 0


def release_unpressed(c: ContactModes) -> None:
    """Open contacts that would begin to slip although nothing presses them but errors of rounding: where their motion without
    forces keeps them closed, the direction of a slip would be that of errors, and stages of steps turn errors into forces that
    drive it."""
    for i in range(c.contacts):
        if c.active[i] != 0 and has_normal(c, i) and c.best[i] == SLIP and c.settled[i] == 0:
            n = int(c.normal[i])
            if c.offset[n] == 0.0 and is_rounding(c, n, c.best_reaction[n] * c.delassus[n, n]):
                c.best[i] = OPEN
    for i in range(c.contacts):
        if resists(c, i) and c.best[int(c.host[i])] == OPEN:
            c.best[i] = OPEN


def set_preload(c: ContactModes, i: int) -> None:
    """The forces next to which those are that are not determined: zero, unless they would leave the cones of friction."""
    k, closed = MODE_ENTRIES * i + 8, c.best_shared != 0 and mode_of(c, i) != OPEN
    c.mode[k] = c.best_reaction[int(c.normal[i])] if closed and has_normal(c, i) else 0.0
    for w in range(2):
        sticks = closed and w < c.ways[i] and mode_of(c, i) == STICK
        c.mode[k + 1 + w] = c.best_reaction[int(c.tangential[i]) + w] if sticks else 0.0


def hold_together(s: Stepper, ended: int, which: int) -> bool:
    """Where a force that is not determined has left its cone: whether others hold the contact, with all modes as they are, or
    which contacts begin to slip together as none can hold any more. The solution is then the best one."""
    c = s.modes
    if is_joint(c, ended):  # a force of given size stays at its limit while others hold the joint
        return False
    if mode_of(c, ended) == OPEN or (which == 1 and mode_of(c, ended) != STICK) or s.switches_here > 1:
        return False
    for i in range(c.contacts):
        c.choice[i] = mode_of(c, i) if c.active[i] != 0 else OPEN
        if c.choice[i] == SLIP and c.settled[i] == 0:
            return False
    if not solve_choice(c):
        return False
    margin = widest_margin(c)
    if margin < -HOLDS * largest_reaction(c) and satisfies(c):
        keep_best(c)
        return True
    if which == 0 or not margin <= GIVES * largest_reaction(c):
        return False
    slips = False
    for i in range(c.contacts):
        size = tangential_size(c, i, c.reaction)
        if c.choice[i] == STICK and size > 0.0 and slips_at_cone(c, i, margin):
            for w in range(c.ways[i]):
                c.direction[i, w] = -c.reaction[int(c.tangential[i]) + w] / size
            c.small_place[i], slips = 1, True
        else:
            c.small_place[i] = 0
    for i in range(c.contacts):
        if c.small_place[i] != 0:
            c.choice[i] = SLIP
    return slips and begin_slips(c)


def expect_modes(c: ContactModes, ended: int, which: int) -> bool:
    """Whether the other contacts keep their modes where a margin of one of them has ended (−1 for none); the solution is then the
    best one. If there were others the motion would go on with this one."""
    for i in range(c.contacts):
        c.choice[i] = mode_of(c, i)
        if i != ended and c.choice[i] == SLIP and c.settled[i] == 0:
            return False  # it has stopped with the other one
    if ended >= 0:
        if mode_of(c, ended) == OPEN:
            return False
        if which == 0:
            c.choice[ended] = OPEN
            for i in range(c.contacts):
                if c.host[i] == ended:
                    c.choice[i] = OPEN
        else:
            c.choice[ended] = SLIP if mode_of(c, ended) == STICK else STICK
    return keep_modes(c)


def unresolved_stop(c: ContactModes, stopped: int, least: float, near: float) -> bool:
    """Whether a slip in two dimensions has reversed before it had a direction of its own, or another one is as small: which of
    them stops first is not known."""
    found = c.ways[stopped] > 1 and least < tangential_size(c, stopped, c.speed) < near
    for i in range(c.contacts):
        begun = c.active[i] != 0 and mode_of(c, i) == SLIP and c.ways[i] > 1 and c.mode[MODE_ENTRIES * i + 6] == 0.0
        found = found or (begun and i != stopped and tangential_size(c, i, c.speed) < near)
    return found


def stop_together(c: ContactModes, least: float, near: float) -> bool:
    """Whether all slips that are nearly zero stop with one that has stopped, and the other contacts keep their modes; the
    solution is then the best one. Each of them alone may find that it cannot stick while another one still slips."""
    for i in range(c.contacts):
        c.choice[i] = mode_of(c, i)
        c.before_stop[i] = c.settled[i]
        if c.choice[i] == SLIP and c.active[i] != 0 and tangential_size(c, i, c.speed) < near:
            c.choice[i], c.settled[i] = STICK, 0
    stop_slips_without_motion(c, least)
    if keep_modes(c):
        return True
    for i in range(c.contacts):
        c.settled[i] = c.before_stop[i]
    return False


def stop_small_slips(s: Stepper) -> bool:
    """Take slips that are nearly zero, or as slow as those that end with the impacts of a body that rocks, for zero: as one stops
    it may turn to directions in which friction locks it. Whether there are any."""
    c, found = s.modes, False
    near = max(TURNING * zero_slip(s), SLOW_SLIP * RESTING * math.sqrt(c.length * (fall_of(c) + 1e-300)))
    for i in range(c.contacts):
        if c.settled[i] != 0 and tangential_size(c, i, c.speed) < near:
            c.settled[i], found = 0, True
        c.excluded[i] = 0
        for w in range(2):
            c.direction[i, w] = c.best_direction[i, w] if c.settled[i] != 0 else 0.0
    return found


def remove_drift(s: Stepper) -> None:
    """Remove velocities that the new modes exclude, of the size of the tolerance, by impulses: they change no more energy than
    these have. A slip begins at zero, unless that takes an impulse that friction does not have: where a slip ends because its
    row vanishes, at the dead point of a crank, the motion goes on."""
    c = s.modes
    for k in range(c.rows):
        c.target[k] = c.speed[k]
    for i in range(c.contacts):
        c.choice[i] = STICK if mode_of(c, i) == SLIP and c.settled[i] == 0 else mode_of(c, i)
        for w in range(2):
            c.direction[i, w] = 0.0
    solved = solve_choice(c)
    if not solved or passes_dead_points(s):
        for i in range(c.contacts):
            if not solved and mode_of(c, i) == SLIP:
                c.choice[i] = SLIP
        if not solve_choice(c):
            return
    power = 0.0
    for k in range(c.rows):
        power += 0.5 * c.reaction[k] * (c.speed[k] + c.result[k]) - c.reaction[k] * moving(s, k)
    for k in range(c.rows):
        for j in range(c.velocities):
            s.x[c.first_velocity + j] += c.reaction[k] * c.response[k, j]
    s.x[c.work] += power


def passes_dead_points(s: Stepper) -> bool:
    """Let slips begin as they are that only an impulse beyond that of friction would make zero; whether there are any."""
    c, found = s.modes, False
    for i in range(c.contacts):
        if c.choice[i] == STICK and mode_of(c, i) == SLIP:
            force = tangential_size(c, i, c.best_reaction)
            if tangential_size(c, i, c.reaction) > BRIEFLY * time_scale(s, i, force) * force:
                c.choice[i], found = SLIP, True
    return found


def time_scale(s: Stepper, i: int, force: float) -> float:
    """The time in which the mechanism moves by its typical length, or a force of friction moves it by that from rest."""
    c = s.modes
    response = 0.0
    for w in range(c.ways[i]):
        response = max(response, c.delassus[int(c.tangential[i]) + w, int(c.tangential[i]) + w])
    return c.length / (velocity_scale(s) + math.sqrt(c.length * (fall_of(c) + response * force)) + 1e-300)


def update_parameters(s: Stepper) -> None:
    """After a change of modes: what depends on them, and the record."""
    c = s.modes
    update_hoisted_values(s)
    for i in range(c.contacts):
        c.touch[i] = 0.0
        if mode_of(c, i) == OPEN and c.below[i] == 0 and c.gap[i] < CLOSE * c.length:
            least = max(RESTING * math.sqrt(c.length * fall_of(c)), ROUNDING * velocity_scale(s))
            speed = c.speed[int(c.normal[i])]
            drift = max(ROUNDING, c.tolerance) * velocity_scale(s)
            free = c.offset[int(c.normal[i])] == 0.0 and abs(speed) < drift
            # nothing presses it on: only errors of integration make it approach, or separate
            slow = free or speed < least  # slower than any bounce, or than errors of rounding …
            slow = slow and c.gap[i] <= GAP_ERROR * c.length  # … and not in flight, where dry friction turns at its apex
            error = max(GAP_ERROR, DEPTH * c.tolerance) if free else GAP_ERROR
            c.touch[i] = max(0.0, -c.gap[i])
            if slow:  # where it is below already, hardly more
                c.touch[i] = max(c.touch[i] + GAP_ERROR * c.length, error * c.length)
    s.restarted = 1
    for j in range(2 * c.contacts):
        s.armed[c.first_margin + j] = 0
    record_modes(s)
    enter_usual_modes(s)


def record_modes(s: Stepper) -> None:
    c = s.modes
    k = c.change_count
    s.switches_here += 1
    if k > 0 and not collided(c) and same_modes(c, k - 1):
        return
    c.change_time[k], c.change_lost[k] = s.t + c.late, c.lost
    if k > 0:  # what follows within the time of the bounces that are left out, follows them
        c.change_time[k] = max(c.change_time[k], c.change_time[k - 1])
    c.change_sample[k], c.change_step[k] = s.sample_count, s.step_count
    for i in range(c.contacts):
        c.change_mode[k, i] = mode_of(c, i)
        for w in range(MODE_ENTRIES - 2):
            c.change_entries[k, (MODE_ENTRIES - 2) * i + w] = c.mode[MODE_ENTRIES * i + 2 + w]
    for j in range(c.rows):
        c.change_impulse[k, j] = c.total[j]
    c.change_count = k + 1


def same_modes(c: ContactModes, k: int) -> bool:
    """Whether the modes are those of a record."""
    for i in range(c.contacts):
        if c.change_mode[k, i] != mode_of(c, i):
            return False
        for w in range(3):
            if c.change_entries[k, (MODE_ENTRIES - 2) * i + 6 + w] != c.mode[MODE_ENTRIES * i + 8 + w]:
                return False
        if slips_in_plane(c, i):  # it goes on, in the direction that it has
            continue
        for w in range(4):
            if c.change_entries[k, (MODE_ENTRIES - 2) * i + w] != c.mode[MODE_ENTRIES * i + 2 + w]:
                return False
    return True
