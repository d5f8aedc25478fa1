"""Switches within the stepping loop: where the present branches end, and which ones follow. Restricted Python.

The equations are evaluated with their branches fixed (`program.switching`), so stages of a step see one smooth field. A margin
is positive inside its branch. Where one becomes negative within a step, the step is cut there on its interpolant, the branch
changes and the run restarts. If the field on the other side points back, the run slides on the surface (`sliding`). Branches of
time alone change at restart times, which no step crosses.
"""

from __future__ import annotations

import math

from draisine.codegen.restricted.record import call_kernel
from draisine.codegen.restricted.types import Vector
from draisine.simulation.stepper.events_and_samples import inverse_quadratic, sign_of
from draisine.simulation.stepper.explicit_rk import copy, interpolate, prepare_dense
from draisine.simulation.stepper.layout import (
    AMBIGUOUS,
    AT_START,
    CONTINUE,
    ENTERED,
    FRESH,
    GRID,
    LEFT,
    MARGIN_GRID,
    MOST_SLIDING,
    MOST_SWITCHES,
    SWITCHED,
    Stepper,
    Tableau,
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
from draisine.simulation.stepper.sliding import inward, solve_shares

NEVER = 2.0  # a fraction beyond the step
HALF = 0.5  # the branch of a sign that starts on zero and stays there
ON_SURFACE = 1e-13  # a margin of a start on its surface
SLACK = 1e-13  # of a share beyond 0 and 1: rounding errors where one of both fields is tangential
ADDITIVE = 1e-7  # relative difference up to which the effects of two switches add up


# ------------------------------------------------------------------------------------------------------------- margins


def evaluate_margins(s: Stepper, time: float, target: Vector) -> None:
    """Write all margins at (time, point). That of a surface on which the run slides is the distance of its share from 0 and 1."""
    if s.margins == 0:
        return
    s.time[0] = time
    if s.dynamics == 0:
        call_kernel(s.margin_kernel, (s.time, s.point, s.k[0], s.u, s.parameters), (target,))
    else:
        call_kernel(s.margin_kernel, (s.time, s.point, s.u, s.parameters), (target,))
    if s.sliding > 0:
        solve_shares(s)
        for i in range(s.sliding):
            target[int(s.sliding_margin[i])] = min(s.share[i], 1.0 - s.share[i]) + SLACK


def margins_at(s: Stepper, m: Tableau, h: float, theta: float, target: Vector) -> None:
    """All margins at a fraction of the step."""
    interpolate(s, m.terms if s.dense_ready != 0 else 3, theta, s.point, s.states)
    evaluate_margins(s, s.t + theta * h, target)


def start_margins(s: Stepper) -> None:
    """The margins at (t, x), where a step begins."""
    copy(s.x, s.point, s.width)
    evaluate_margins(s, s.t, s.margin[0])
    for j in range(s.margins):
        if s.margin[0, j] > 0.0:
            s.armed[j] = 1


def find_switch(s: Stepper, m: Tableau, h: float, new_time: float) -> float:
    """The fraction of the step at which the first margin ends, in `switch_row`; NEVER if none does.

    If all margins are, on a few points of the step, farther from zero than they vary, none ends. Else they are evaluated on more
    points of the full interpolant, and near their minima.
    """
    if s.margins == 0:
        return NEVER
    copy(s.new, s.point, s.states)
    evaluate_margins(s, new_time, s.margin[MARGIN_GRID])
    fill_margins(s, m, h, MARGIN_GRID // GRID)
    if stay_away(s):
        return NEVER
    if s.dense_ready == 0:
        prepare_dense(s, m, h)
        if s.aborted != 0:
            return NEVER
    fill_margins(s, m, h, 1)
    first = NEVER
    for j in range(s.margins):
        theta = first_end(s, m, h, j)
        if theta < first:
            first, s.switch_row = theta, j
    return first


def fill_margins(s: Stepper, m: Tableau, h: float, stride: int) -> None:
    """The margins at inner points of the step, every `stride`-th of the grid."""
    for part in range(1, MARGIN_GRID // stride):
        i = part * stride
        margins_at(s, m, h, i / MARGIN_GRID, s.margin[i])


def stay_away(s: Stepper) -> bool:
    """Whether the margins on a few points are positive and farther from zero than they vary."""
    for j in range(s.margins):
        lowest = s.margin[0, j]
        highest = lowest
        for part in range(1, GRID + 1):
            value = s.margin[part * (MARGIN_GRID // GRID), j]
            lowest, highest = min(lowest, value), max(highest, value)
        if not lowest > highest - lowest:
            return False
    return True


def keep_margins(s: Stepper) -> None:
    """After an accepted step without a switch."""
    for j in range(s.margins):
        s.margin[0, j] = s.margin[MARGIN_GRID, j]
        if s.margin[0, j] > 0.0:
            s.armed[j] = 1


def dips(s: Stepper, j: int, i: int) -> bool:
    """Whether the parabola through three neighbors comes close to zero between them."""
    a, b, c = s.margin[i - 1, j], s.margin[i, j], s.margin[i + 1, j]
    bend = a - 2.0 * b + c
    if not bend > 0.0:
        return False
    place = 0.5 * (a - c) / bend  # of the minimum, from b, in parts of the grid
    return abs(place) < 1.0 and b - 0.5 * bend * place * place < 0.1 * min(a, b, c)


def first_end(s: Stepper, m: Tableau, h: float, j: int) -> float:
    """The fraction at which a margin first ends."""
    inside = 0.0  # the last point at which it is known to be positive, or −1
    if s.armed[j] == 0 and not s.margin[0, j] > 0.0:
        inside = -1.0
    for i in range(1, MARGIN_GRID + 1):
        value, theta = s.margin[i, j], i / MARGIN_GRID
        if value < 0.0:
            return located_end(s, m, h, j, inside, theta)
        if i < MARGIN_GRID and inside >= 0.0 and dips(s, j, i):
            low = lowest_point(s, m, h, j, i)
            if low < NEVER:
                return bracketed_end(s, m, h, j, (i - 1) / MARGIN_GRID, low)
        if value > 0.0:
            inside = theta
    return NEVER


def located_end(s: Stepper, m: Tableau, h: float, j: int, inside: float, outside: float) -> float:
    """The end of a margin that is negative at `outside`; 0 if it was never positive before."""
    if inside < 0.0:
        # it was just taken: look for a positive value soon after the start
        theta = 0.5 * outside
        for _ in range(30):
            margins_at(s, m, h, theta, s.margin_value)
            if s.margin_value[j] > 0.0:
                return bracketed_end(s, m, h, j, theta, outside)
            theta *= 0.5
        return 0.0
    if inside == 0.0 and not s.margin[0, j] > 0.0:
        return 0.0
    return bracketed_end(s, m, h, j, inside, outside)


def lowest_point(s: Stepper, m: Tableau, h: float, j: int, i: int) -> float:
    """A fraction next to grid point i at which the margin is negative; NEVER if its minimum there is positive."""
    left, middle, right = (i - 1) / MARGIN_GRID, i / MARGIN_GRID, (i + 1) / MARGIN_GRID
    a, b, c = s.margin[i - 1, j], s.margin[i, j], s.margin[i + 1, j]
    for _ in range(12):  # parabolic steps
        p, q = (middle - left) * (b - c), (middle - right) * (b - a)
        if p == q:
            return NEVER
        theta = middle - 0.5 * ((middle - left) * p - (middle - right) * q) / (p - q)
        if not left < theta < right or abs(theta - middle) < 1e-9:
            return NEVER
        margins_at(s, m, h, theta, s.margin_value)
        value = s.margin_value[j]
        if value < 0.0:
            return theta
        if theta < middle:
            if value < b:
                right, c, middle, b = middle, b, theta, value
            else:
                left, a = theta, value
        elif value < b:
            left, a, middle, b = middle, b, theta, value
        else:
            right, c = theta, value
    return NEVER


def bracketed_end(s: Stepper, m: Tableau, h: float, j: int, inside: float, outside: float) -> float:
    """The root of a margin between a point inside its branch and one outside, to rounding; not inside the branch.

    Chandrupatla's method, as for events.
    """
    a, b = outside, inside
    margins_at(s, m, h, b, s.margin_value)
    value_b = s.margin_value[j]
    margins_at(s, m, h, a, s.margin_value)
    value_a = s.margin_value[j]
    c, value_c, fraction = b, value_b, 0.5
    tolerance = max(1e-15, 2.3e-16 * abs(s.t / h))
    for _ in range(100):
        room = tolerance / abs(b - a) if b != a else 1.0
        if room > 0.5 or value_a == 0.0:
            break
        theta = a + min(max(fraction, room), 1.0 - room) * (b - a)
        margins_at(s, m, h, theta, s.margin_value)
        value = s.margin_value[j]
        if sign_of(value) == sign_of(value_a):
            c, value_c = a, value_a
        else:
            c, value_c, b, value_b = b, value_b, a, value_a
        a, value_a = theta, value
        fraction = inverse_quadratic(a, b, c, value_a, value_b, value_c)
    return b if value_a > 0.0 else a


# -------------------------------------------------------------------------------------------------------- cutting a step


def cut_step(s: Stepper, m: Tableau, theta: float) -> None:
    """Shorten the step to a fraction of it: its end, and its interpolant."""
    interpolate(s, m.terms, theta, s.new, s.unknowns)
    shortened_coefficients(s, m.terms, theta)
    weights, f, work = s.shorten, s.dense, s.cut_work
    for l in range(s.width):
        for i in range(m.terms):
            work[i] = 0.0
            for j in range(m.terms):
                work[i] += weights[i, j] * f[j, l]
        for i in range(m.terms):
            f[i, l] = work[i]


def shortened_coefficients(s: Stepper, terms: int, theta: float) -> None:
    """Column j of `shorten`: the coefficients of the nested basis function j of θ x, x from 0 to 1."""
    p = s.cut_work
    for j in range(terms):
        for k in range(terms + 1):
            p[k] = 0.0
        p[0] = 1.0
        for term in range(j + 1):  # multiply by θ x or by 1 − θ x
            for back in range(term + 1):
                k = term - back
                if term % 2 == 0:
                    p[k + 1] = theta * p[k]
                    p[k] = 0.0
                else:
                    p[k + 1] -= theta * p[k]
        divide_by_basis(s, terms, j)


def divide_by_basis(s: Stepper, terms: int, column: int) -> None:
    """The coefficients of a polynomial without constant term in the nested basis, by division by x and 1 − x in turn."""
    p = s.cut_work
    for k in range(terms):  # divide by x
        p[k] = p[k + 1]
    p[terms] = 0.0
    for term in range(terms):
        if term % 2 == 0:
            # value at 1; the rest is divided by 1 − x
            value = 0.0
            for k in range(terms + 1):
                value += p[k]
            rest = 0.0
            p[0] -= value
            for k in range(terms + 1):
                rest += p[k]
                p[k] = rest
        else:
            value = p[0]
            for k in range(terms):
                p[k] = p[k + 1]
            p[terms] = 0.0
        s.shorten[term, column] = value


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
    for j in range(s.margins):
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


def switch_branch(s: Stepper, row: int) -> int:
    """A margin ended at (t, x): take the branch beyond it, or slide if the field there points back."""
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
    take_branch(s, row, other_branch(s, row))
    use_branches(s)
    reason = CONTINUE
    behind = margin_behind(s, row)
    if s.switch_rate_kernel == 0 or enters(s, behind):
        record_switch(s, row, SWITCHED)
    else:
        reason = enter_surface(s, behind)
    if s.variations > 0 and reason == CONTINUE:
        jump_at_margin(s, row, single, beyond)
    return reason


def margin_behind(s: Stepper, row: int) -> int:
    """The margin of the branch behind the end of a margin that is zero on the same surface."""
    for j in range(s.margins):
        if s.margin_branch[j] == s.margin_branch[row] and s.margin_step[j] == -s.margin_step[row]:
            return j
    return row


def enters(s: Stepper, row: int) -> bool:
    """Whether the field at (t, x) leads into the branch of a margin that is zero."""
    copy(s.x, s.point, s.width)
    s.time[0] = s.t
    call_kernel(s.switch_rate_kernel, (s.time, s.point, s.u, s.parameters), (s.switch_rate,))
    rate = s.switch_rate[int(s.margin_branch[row])]
    if s.sliding > 0:
        solve_shares(s)
        first = s.sliding_rate[0, int(s.margin_branch[row])]
        for i in range(s.sliding):
            rate += s.share[i] * (s.sliding_rate[i + 1, int(s.margin_branch[row])] - first)
    return not rate * inward(s, row) * (1.0 if s.end >= s.t else -1.0) < 0.0


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
        start_margins(s)
        row = -1
        for j in range(s.margins):
            if row < 0 and s.margin[0, j] < 0.0 and (s.armed[j] != 0 or is_sliding_on(s, j) >= 0):
                row = j
        if row < 0:
            return CONTINUE
        reason = switch_branch(s, row)
        if reason != CONTINUE:
            return reason
    return AMBIGUOUS


def begin_branches(s: Stepper) -> int:
    """The branches at a start, where every margin has its sign; those that are zero are decided by the field."""
    if s.switch_count == 0 or s.switch_time[s.switch_count - 1] != s.t:  # the driver restarts some equations after a switch
        s.switches_here = 0
    use_branches(s)
    if s.variations > 0 and s.margins > 0 and s.phase == FRESH:
        check_start(s)
    for j in range(s.margins):
        if is_sliding_on(s, j) < 0:
            s.armed[j] = 1
    reason = settle_branches(s)
    changes = s.switches_here
    for j in range(s.margins):
        undecided = s.margin[0, j] == 0.0 and is_sliding_on(s, j) < 0 and s.switch_rate_kernel != 0
        if reason == CONTINUE and undecided and not remains(s, j):
            reason = switch_branch(s, j)
    if reason == CONTINUE:
        reason = settle_branches(s) if s.switches_here != changes else CONTINUE
    if reason == CONTINUE:
        start_margins(s)
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
    for j in range(s.margins):
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
        reason = switch_branch(s, row)
    return settle_branches(s) if reason == CONTINUE else reason
