"""Switches within the stepping loop: margins of the present branches, and the branches that follow. Restricted Python.

The equations are evaluated with their branches fixed (`program.switching`), so stages of a step see one smooth field. A margin
is positive inside its branch. Where one becomes negative within a step, the step is cut there on its interpolant, the branch
changes and the run restarts. If the field on the other side points back, the run slides on the surface (`sliding`). Branches of
time alone change at restart times, which no step crosses.
"""

from __future__ import annotations

import math

from draisine.codegen.restricted.types import Vector, call_kernel
from draisine.simulation.stepper.contact_field import contact_margins, write_margins
from draisine.simulation.stepper.contact_places import has_places, pass_to_branch, vary_rates
from draisine.simulation.stepper.explicit_rk import copy
from draisine.simulation.stepper.layout import (
    AMBIGUOUS,
    AT_START,
    CONTINUE,
    ENTERED,
    FRESH,
    LEFT,
    MOST_SLIDING,
    MOST_SWITCHES,
    SWITCHED,
    Stepper,
)
from draisine.simulation.stepper.saltation import (
    NOTEWORTHY,
    approach_surfaces,
    coincides,
    differs,
    jump,
    jump_after_sliding,
    jump_at_margin,
    moves_off,
    note_one_sided,
    present_field,
)
from draisine.simulation.stepper.sliding import inward, rate_jump, solve_shares

HALF = 0.5  # the branch of a sign that starts on zero and stays there
ON_SURFACE = 1e-13  # a margin of a start on its surface
SLACK = 1e-13  # of a share beyond 0 and 1: rounding errors where one of both fields is tangential
IMPLIED = 1e-12  # rate of a margin, relative to its jump, that other surfaces keep at zero
ADDITIVE = 1e-7  # relative difference up to which the effects of two switches add up
AWAY, TICKS = 1e-10, 1e-12  # time to a surface, relative to the step and to the time itself, from which on it was not reached
STILL_ON = 1e-9  # value of a switching function, at rest, that is still zero


# ------------------------------------------------------------------------------------------------------------- margins


def evaluate_margins(s: Stepper, time: float, target: Vector, known: bool) -> None:
    """Write all margins at (time, point). That of a surface on which the run slides is the distance of its share from 0 and 1.
    Forces of contacts may be `known` from the derivative there."""
    if s.margins == 0:
        return
    s.time[0] = time
    if s.unilateral != 0:
        contacts = s.modes
        if contacts.system_kernel != 0 and contacts.usual == 0:
            contact_margins(s, known)
        else:
            call_kernel(contacts.margin_kernel, (s.time, s.point, s.u, s.parameters), (contacts.margins,))
        first = contacts.first_margin
        write_margins(contacts, target[first : first + 2 * contacts.contacts])
        contacts.condition = contacts.margins[2 * contacts.contacts]
        if s.branch_margins == 0:
            return
    if s.dynamics == 0:
        call_kernel(s.margin_kernel, (s.time, s.point, s.k[0], s.u, s.parameters), (target,))
    else:
        call_kernel(s.margin_kernel, (s.time, s.point, s.u, s.parameters), (target,))
    if s.sliding > 0:
        solve_shares(s)
        for i in range(s.sliding):
            target[int(s.sliding_margin[i])] = min(s.share[i], 1.0 - s.share[i]) + SLACK


def start_margins(s: Stepper, known: bool) -> None:
    """The margins at (t, x), where a step begins. Forces of contacts may be `known` from the derivative there."""
    copy(s.x, s.point, s.width)
    evaluate_margins(s, s.t, s.margin[0], known)
    for j in range(s.margins):
        if s.margin[0, j] > 0.0:
            s.armed[j] = 1


def arm_margins(s: Stepper) -> None:
    """At the end of a step: margins that have become positive in it have their sign, whatever happens next."""
    copy(s.x, s.point, s.width)
    evaluate_margins(s, s.t, s.margin_value, False)
    for j in range(s.margins):
        if s.margin_value[j] > 0.0:
            s.armed[j] = 1


# ------------------------------------------------------------------------------------------------------------- branches


def other_branch(s: Stepper, row: int) -> float:
    """The branch beyond the end of a margin."""
    present = s.branch[int(s.margin_branch[row])]
    if present == HALF:
        return 1.0
    return 1.0 - present if s.margin_step[row] == 0 else present + s.margin_step[row]


def take_branch(s: Stepper, row: int, value: float) -> None:
    """Set the branch of a margin; its margins have no sign until they are positive."""
    index = int(s.margin_branch[row])
    s.branch[index] = value
    for j in range(s.branch_margins):
        if s.margin_branch[j] == index:
            s.armed[j] = 0


def use_branches(s: Stepper) -> None:
    """After a change of branches: all values that depend on them."""
    update_hoisted(s)
    for i in range(s.sliding):
        index = int(s.margin_branch[int(s.sliding_margin[i])])
        present = s.branch[index]
        s.branch[index] = other_branch(s, int(s.sliding_margin[i]))
        update_hoisted(s)
        copy(s.parameters, s.sliding_parameters[i + 1], len(s.parameters))
        s.branch[index] = present
    if s.sliding > 0:
        update_hoisted(s)
        copy(s.parameters, s.sliding_parameters[0], len(s.parameters))
    s.restarted = 1


def update_hoisted(s: Stepper) -> None:
    if s.prologue != 0:
        call_kernel(s.prologue, (s.time, s.point, s.u, s.parameters), (s.hoisted,))


def record_switch(s: Stepper, row: int, kind: int) -> None:
    s.switch_time[s.switch_count], s.switch_margin[s.switch_count], s.switch_kind[s.switch_count] = s.t, row, kind
    s.switch_count += 1
    s.switches_here += 1


def is_sliding_on(s: Stepper, row: int) -> int:
    """The number of a surface among those on which the run slides, or −1."""
    for i in range(s.sliding):
        if s.sliding_margin[i] == row:
            return i
    return -1


def leave_surface(s: Stepper, place: int) -> None:
    """End the sliding on a surface, to the side whose share is larger."""
    row = int(s.sliding_margin[place])
    share = s.share[place]
    for i in range(place, s.sliding - 1):
        s.sliding_margin[i], s.share[i] = s.sliding_margin[i + 1], s.share[i + 1]
    s.sliding -= 1
    s.resting = 0
    take_branch(s, row, other_branch(s, row) if share > 0.5 else s.branch[int(s.margin_branch[row])])
    use_branches(s)
    record_switch(s, row, LEFT)


def leave_moved_surfaces(s: Stepper) -> None:
    """Leave the surfaces that a change of other branches, or of inputs, has moved away from the state: a set point that jumps."""
    place = 0
    while place < s.sliding:
        copy(s.x, s.point, s.width)
        s.time[0] = s.t
        solve_shares(s)
        call_kernel(s.margin_kernel, (s.time, s.point, s.u, s.sliding_parameters[0]), (s.margin_value,))
        value, speed = s.margin_value[int(s.sliding_margin[place])], 0.0
        for k in range(s.sliding):
            speed += abs(rate_jump(s, place, k))
        if abs(value) > (speed * short_distance(s) if speed > 0.0 else STILL_ON):
            if s.variations > 0:
                present_field(s, s.field_before)
            s.share[place] = 1.0 if value < 0.0 else 0.0
            leave_surface(s, place)
            if s.variations > 0:
                jump_after_sliding(s)
            place = 0
        else:
            place += 1


def short_distance(s: Stepper) -> float:
    """The time to a surface up to which the motion is on it."""
    return AWAY * abs(s.h) + TICKS * abs(s.t)


def moved_past(s: Stepper, row: int) -> bool:
    """Whether a margin that is zero or positive is positive by a jump: the motion has not come across its surface."""
    copy(s.x, s.point, s.width)
    evaluate_margins(s, s.t, s.margin_value, False)
    value = s.margin_value[row]
    call_kernel(s.switch_rate_kernel, (s.time, s.point, s.u, s.parameters), (s.switch_rate,))
    return value > abs(s.switch_rate[int(s.margin_branch[row])]) * short_distance(s)


def switch_branch(s: Stepper, row: int, located: bool) -> int:
    """A margin ended at (t, x): take the branch beyond it, or slide if the field there points back.

    `located`: the motion came across the surface. Else the surface may have moved across the state, and nothing slides on it.
    """
    place = is_sliding_on(s, row)
    if place >= 0:
        copy(s.x, s.point, s.width)
        s.time[0] = s.t
        if s.variations > 0:
            present_field(s, s.field_before)
        solve_shares(s)
        leave_surface(s, place)
        if s.variations > 0:
            jump_after_sliding(s)
        return CONTINUE
    single, beyond = 0, 0.0
    if s.variations > 0:
        approach_surfaces(s)
        call_kernel(s.margin_kernel, (s.time, s.point, s.u, s.parameters), (s.margin_value,))
        single, beyond = take_alone(s, row), abs(s.margin_value[row])
    undecided = s.branch[int(s.margin_branch[row])] == HALF
    take_branch(s, row, other_branch(s, row))
    use_branches(s)
    reason = CONTINUE
    behind, places = margin_behind(s, row), s.unilateral != 0 and has_places(s)
    passed = s.switch_rate_kernel == 0 or (not located and moved_past(s, behind))
    if passed or enters(s, behind) or (undecided and crosses_evenly(s, behind)):
        record_switch(s, row, SWITCHED)
    else:
        reason = enter_surface(s, behind)
    if places and reason == CONTINUE:
        reason = pass_to_branch(s)
    if s.variations > 0 and reason == CONTINUE:
        jump_at_margin(s, row, single, beyond)
        if places:
            vary_rates(s)
    return reason


def crosses_evenly(s: Stepper, row: int) -> bool:
    """For a margin that is zero and not entered: take its other branch if the motion goes there at the same rate, since the law
    does not jump at this point (friction μ|N| at N = 0); whether it does."""
    index = int(s.margin_branch[row])
    rate = s.switch_rate[index]
    present = s.branch[index]
    take_branch(s, row, other_branch(s, row))
    use_branches(s)
    if enters(s, row) and abs(s.switch_rate[index] - rate) <= IMPLIED * abs(rate):
        return True
    take_branch(s, row, present)
    use_branches(s)
    return False


def margin_behind(s: Stepper, row: int) -> int:
    """The margin of the branch behind the end of a margin that is zero on the same surface."""
    for j in range(s.branch_margins):
        if s.margin_branch[j] == s.margin_branch[row] and s.margin_step[j] == -s.margin_step[row]:
            return j
    return row


def enters(s: Stepper, row: int) -> bool:
    """Whether the field at (t, x) leads into the branch of a margin that is zero."""
    copy(s.x, s.point, s.width)
    s.time[0] = s.t
    call_kernel(s.switch_rate_kernel, (s.time, s.point, s.u, s.parameters), (s.switch_rate,))
    rate, room = s.switch_rate[int(s.margin_branch[row])], 0.0
    if s.sliding > 0:
        solve_shares(s)
        first = s.sliding_rate[0, int(s.margin_branch[row])]
        for i in range(s.sliding):
            change = s.sliding_rate[i + 1, int(s.margin_branch[row])] - first
            rate += s.share[i] * change
            room = max(room, IMPLIED * abs(change))
    return not rate * inward(s, row) * (1.0 if s.end >= s.t else -1.0) < -room


def enter_surface(s: Stepper, row: int) -> int:
    """Slide on a further surface; AMBIGUOUS if the motion on all of them is not unique."""
    if s.sliding >= MOST_SLIDING:
        return AMBIGUOUS
    s.sliding_margin[s.sliding] = row
    s.sliding += 1
    s.resting = 0
    s.armed[row] = 0
    use_branches(s)
    record_switch(s, row, ENTERED)
    if not adds_up(s):
        return AMBIGUOUS
    return CONTINUE


def adds_up(s: Stepper) -> bool:
    """Whether two switches have the same effect together as one by one, and the shares are determined."""
    copy(s.x, s.point, s.width)
    s.time[0] = s.t
    solve_shares(s)
    for i in range(s.sliding):
        if not math.isfinite(s.share[i]):
            return False
    for i in range(s.sliding):
        for k in range(i):
            if not pair_adds_up(s, i, k):
                return False
    return True


def pair_adds_up(s: Stepper, i: int, k: int) -> bool:
    """Whether f_ik − f_i − f_k + f₀ = 0; the fields f_i are known."""
    first, second = int(s.sliding_margin[i]), int(s.sliding_margin[k])
    a, b = int(s.margin_branch[first]), int(s.margin_branch[second])
    if a == b:
        return False
    old_a, old_b = s.branch[a], s.branch[b]
    s.branch[a], s.branch[b] = other_branch(s, first), other_branch(s, second)
    update_hoisted(s)
    both, field = s.new, s.sliding_field
    call_kernel(s.dynamics, (s.time, s.point, s.u, s.parameters), (both,))
    s.evaluations += 1
    s.branch[a], s.branch[b] = old_a, old_b
    update_hoisted(s)
    difference, size = 0.0, 0.0
    for l in range(s.plain_states):
        difference = max(difference, abs(both[l] - field[i + 1, l] - field[k + 1, l] + field[0, l]))
        size = max(size, max(abs(field[i + 1, l] - field[0, l]), abs(field[k + 1, l] - field[0, l])))
    return difference <= ADDITIVE * size


def settle_branches(s: Stepper) -> int:
    """Make all branches those of (t, x), after a start, a change of inputs or a switch; AMBIGUOUS if that does not end.

    A margin that was just taken may be negative by rounding.
    """
    while s.switches_here <= MOST_SWITCHES:
        if s.sliding > 0:
            leave_moved_surfaces(s)
        start_margins(s, False)
        row = -1
        for j in range(s.branch_margins):
            if row < 0 and s.margin[0, j] < 0.0 and (s.armed[j] != 0 or is_sliding_on(s, j) >= 0):
                row = j
        if row < 0:
            return CONTINUE
        reason = switch_branch(s, row, False)
        if reason != CONTINUE:
            return reason
    return AMBIGUOUS


def begin_branches(s: Stepper) -> int:
    """The branches at a start, where every margin has its sign; those that are zero are decided by the field."""
    if s.switch_count == 0 or s.switch_time[s.switch_count - 1] != s.t:  # the driver restarts some equations after a switch
        s.switches_here = 0
    use_branches(s)
    if s.branch_margins == 0:
        return CONTINUE
    if s.variations > 0 and s.phase == FRESH:
        check_start(s)
    for j in range(s.branch_margins):
        if is_sliding_on(s, j) < 0:
            s.armed[j] = 1
    reason = settle_branches(s)
    changes = s.switches_here
    for j in range(s.branch_margins):
        undecided = s.margin[0, j] == 0.0 and is_sliding_on(s, j) < 0 and s.switch_rate_kernel != 0
        if reason == CONTINUE and undecided and not remains(s, j):
            reason = switch_branch(s, j, True)
    if reason == CONTINUE:
        reason = settle_branches(s) if s.switches_here != changes else CONTINUE
    if reason == CONTINUE:
        start_margins(s, False)
    return reason


def remains(s: Stepper, row: int) -> bool:
    """Whether the motion keeps the branch of a margin that is zero: it goes into this side, or it stays on the surface."""
    if s.branch[int(s.margin_branch[row])] != HALF:
        return enters(s, row)
    copy(s.x, s.point, s.width)
    s.time[0] = s.t
    call_kernel(s.switch_rate_kernel, (s.time, s.point, s.u, s.parameters), (s.switch_rate,))
    return not abs(s.switch_rate[int(s.margin_branch[row])]) > 0.0


def check_start(s: Stepper) -> None:
    """Note where derivatives take a start off a surface, to a side with another field. Where the motion stays on the surface,
    they return to it."""
    approach_surfaces(s)
    call_kernel(s.margin_kernel, (s.time, s.point, s.u, s.parameters), (s.margin_value,))
    for j in range(s.branch_margins):
        index = int(s.margin_branch[j])
        if abs(s.margin_value[j]) <= ON_SURFACE and moves_off(s, index):
            present = s.branch[index]
            s.branch[index] = other_branch(s, j)
            update_hoisted(s)
            present_field(s, s.field_after)
            if differs(s, s.field_before, s.field_after, NOTEWORTHY):
                note_one_sided(s, AT_START, index, index)
                if present == HALF:
                    approach_surfaces(s)
                    s.branch[index] = present
                    update_hoisted(s)
                    jump(s, index, 0.0, 0)
            s.branch[index] = present
            update_hoisted(s)
            approach_surfaces(s)


def take_alone(s: Stepper, row: int) -> int:
    """Before a switch at the time of another one: its effect without that one; 1 if it is known."""
    index, last = int(s.margin_branch[row]), s.last_switch
    s.old_branch = s.branch[index]
    if not coincides(s) or last == index or s.sliding > 0:
        return 0
    now = s.branch[last]
    s.branch[index], s.branch[last] = other_branch(s, row), s.last_branch
    update_hoisted(s)
    present_field(s, s.field_single)
    s.branch[index], s.branch[last] = s.old_branch, now
    update_hoisted(s)
    return 1


def jump_at_restart(s: Stepper, begin: Vector) -> None:
    """Take the branches of time that begin at t one after the other, with the jumps of the derivatives."""
    approach_surfaces(s)
    copy(s.branch, s.branch_start, len(s.branch))
    changed = 0
    for b in range(len(s.branch)):
        if not math.isnan(begin[b]) and begin[b] != s.branch[b]:
            if changed > 0:  # its effect alone
                copy(s.branch, s.branch_now, len(s.branch))
                copy(s.branch_start, s.branch, len(s.branch))
                s.branch[b] = begin[b]
                use_branches(s)
                present_field(s, s.field_single)
                copy(s.branch_now, s.branch, len(s.branch))
            s.branch[b] = begin[b]
            use_branches(s)
            s.old_branch = s.branch_start[b]
            jump(s, b, 0.0, 2 if changed > 0 else 0)
            copy(s.field_after, s.field_before, s.width)
            changed += 1


def change_branches(s: Stepper, row: int) -> int:
    """At the end of a step: the branches of time that begin here, and the branch beyond the margin `row` if it is not −1."""
    reason = CONTINUE
    arm_margins(s)
    while s.restart_index < s.restarts and s.restart_time[s.restart_index] == s.t:
        begin = s.restart_branch[s.restart_index]
        if s.variations > 0:
            jump_at_restart(s, begin)
        for b in range(len(s.branch)):
            if not math.isnan(begin[b]):
                s.branch[b] = begin[b]
        s.restart_index += 1
        use_branches(s)
        record_switch(s, -1, SWITCHED)
    if row >= 0:
        reason = switch_branch(s, row, True)
    return settle_branches(s) if reason == CONTINUE else reason
