"""Isolation of the zeros of event functions within a step: no event is missed because it goes there and back. Restricted Python.

On a step the states are polynomials of the fraction θ (the interpolant), and an event that is a polynomial of states and time is
one too: its Bernstein coefficients bound it, and subdivision leaves intervals with one sign change or none
(`event_polynomials`). Any other event function is represented by the polynomial through its values at Chebyshev–Lobatto nodes,
on parts of the step that are halved until its last Chebyshev coefficients are small; what the bounds of this polynomial leave
open is decided by a search for the extremum of the function itself. Where it is not smooth down to the smallest part, the
extrema between the nodes are searched for. Required conditions, which end a run, are the least of many values with kinks
everywhere: where there are no other events, they are judged at the ends of steps.

Most steps need none of this. An event function stays away from zero if, on a few points of the cubic through both ends, it is
farther from zero than it varies. If it does not, and the full interpolant needs further derivatives, a polynomial of degree five
through the stages of the step comes first; its distance to the cubic is the margin by which bounds must miss zero.
"""

from __future__ import annotations

import math

from draisine.codegen.restricted.types import Vector
from draisine.simulation.stepper.events_and_samples import (
    crosses,
    evaluate_events,
    event_value,
    insert_root,
    locate_root,
    sign_of,
    updated_sign,
)
from draisine.simulation.stepper.explicit_rk import copy, interpolate, prepare_dense, weighted_sum
from draisine.simulation.stepper.layout import GRID, HALVINGS, REQUIRED, ROOTS, Stepper, Tableau

SMALLEST_PART = 1.0 / 64.0  # of a step, for event functions that are not polynomials
MANY_PARTS = 16  # so many smallest parts that are not smooth are no kinks: the function is too fast for the step …
NOISE = 1e-13  # … unless it varies less than this, which is rounding error
RESOLVED = 1e-5  # last Chebyshev coefficients at which a part is fine enough, relative to the variation on it
GOLDEN = 0.6180339887498949
CONTINUOUS = 0.1  # change of a function at a zero, within rounding error of time, relative to its values in the step
ROUNDED = 1e-7  # rounding error of time, relative to a step, beyond which jumps are not distinguished from zeros
SEARCH_STEPS = 70  # golden sections from a whole step to rounding error
# Kinds of intervals: the function has no zero there, at most one, is within rounding error of zero, or has to be divided.
CLEAR, SINGLE, FLAT, OPEN = 0, 1, 2, 3


def find_crossings(s: Stepper, m: Tableau, h: float, new_time: float) -> int:
    """Fill `root` and `root_event` in order of time with the events of the step from t to new_time; return their number."""
    copy(s.new, s.point, s.states)
    evaluate_events(s, new_time, s.grid[GRID])
    if s.only_required != 0 and all_positive(s):
        for e in range(s.events):
            s.next_sign[e] = 1
        return 0
    if s.dense_ready == 0 and m.rows <= m.stages + 1:
        prepare_dense(s, m, h)  # no derivatives are needed
    fill_grid(s, 3 if s.dense_ready == 0 else m.terms, h)
    near = 0
    for e in range(s.events):
        s.near[e] = 0 if stays_away(s, e) else 1
        near += int(s.near[e])
    if near > 0 and s.dense_ready == 0:
        near = check_by_stages(s, m, h)
        if near > 0:
            prepare_dense(s, m, h)
            if s.aborted != 0:
                return 0
    if near > 0:
        fill_nodes(s, m.terms, h)
    count = 0
    for e in range(s.events):
        s.check_count = 0
        if s.near[e] != 0:
            isolate_zeros(s, m, h, e)
        count = locate_between_checks(s, m, h, e, count)
    return count


# ------------------------------------------------------------------------------------------------- steps without events


def all_positive(s: Stepper) -> bool:
    """Whether all event functions are positive at both ends of the step."""
    lowest = 1.0
    for e in range(s.events):
        if not (s.grid[0, e] > 0.0 and s.grid[GRID, e] > 0.0):  # NaN is not
            lowest = -1.0
    return lowest > 0.0


def fill_grid(s: Stepper, terms: int, h: float) -> None:
    """Values of all event functions at the inner points of the grid."""
    for i in range(1, GRID):
        theta = i / GRID
        interpolate(s, terms, theta, s.point, s.states)
        evaluate_events(s, s.t + theta * h, s.grid[i])


def stays_away(s: Stepper, event: int) -> bool:
    """Whether the values on the grid have one sign, the last known one, and are farther from zero than they vary; or all are
    zero, as before."""
    lowest = s.grid[0, event]
    highest = lowest
    for i in range(1, GRID + 1):
        value = s.grid[i, event]
        if value != value:
            return False
        lowest, highest = min(lowest, value), max(highest, value)
    sign = int(s.sign[event])
    if lowest == 0.0 and highest == 0.0:
        return sign == 0
    if lowest > 0.0:
        return sign >= 0 and lowest > highest - lowest
    return highest < 0.0 and sign <= 0 and -highest > highest - lowest


def fill_nodes(s: Stepper, terms: int, h: float) -> None:
    """Values of all event functions at the nodes of the step."""
    last = len(s.node) - 1
    copy(s.grid[0], s.fine[0], s.events)
    copy(s.grid[GRID], s.fine[last], s.events)
    for i in range(1, last):
        interpolate(s, terms, s.node[i], s.point, s.states)
        evaluate_events(s, s.t + s.node[i] * h, s.fine[i])


def check_by_stages(s: Stepper, m: Tableau, h: float) -> int:
    """Clear the events that a polynomial through the stages of the step keeps away from zero; return the number of others."""
    fill_nodes(s, 3, h)
    count = len(s.node)
    for i in range(count):
        copy(s.fine[i], s.cubic[i], s.events)
    for term in range(3, 5):
        weighted_sum(s.k, m.by_stages[term - 3], m.stages + 1, s.dense[term], s.width)
        for i in range(s.width):
            s.dense[term, i] *= h
    fill_nodes(s, 5, h)
    near = 0
    for e in range(s.events):
        if s.near[e] != 0:
            margin = 0.0
            for i in range(count):
                margin = max(margin, abs(s.fine[i, e] - s.cubic[i, e]))
                s.part[i] = s.fine[i, e]
            if misses_zero(s, e, margin):
                s.near[e] = 0
            else:
                near += 1
    return near


def misses_zero(s: Stepper, event: int, margin: float) -> bool:
    """Whether bounds of the polynomial through the values `part` miss zero by a margin, with the last known sign."""
    largest = largest_value(s)
    if not math.isfinite(largest):
        return False
    tail = chebyshev_tail(s)
    if s.polynomial[event] == 0:
        if tail > RESOLVED * variation(s):
            return False
        margin += 4.0 * tail
    margin += s.noise * largest
    set_coefficients(s)
    lowest, highest = bounds(s.coefficient[0])
    sign = int(s.sign[event])
    return (lowest > margin and sign >= 0) or (highest < -margin and sign <= 0)


# --------------------------------------------------------------------------------------------------- values of one part


def largest_value(s: Stepper) -> float:
    """The largest absolute value on the part; NaN or infinity if one is."""
    total, largest = 0.0, 0.0
    for i in range(len(s.node)):
        largest = max(largest, abs(s.part[i]))
        total += s.part[i]
    return largest if math.isfinite(total) else total


def variation(s: Stepper) -> float:
    """The largest minus the smallest value on the part."""
    lowest, highest = bounds(s.part)
    return highest - lowest


def bounds(numbers: Vector) -> tuple[float, float]:
    """The smallest and the largest number."""
    lowest, highest = numbers[0], numbers[0]
    for i in range(len(numbers)):
        lowest, highest = min(lowest, numbers[i]), max(highest, numbers[i])
    return lowest, highest


def chebyshev_tail(s: Stepper) -> float:
    """The largest of the last three Chebyshev coefficients of the part."""
    largest = 0.0
    for row in range(len(s.tail)):
        total = 0.0
        for i in range(len(s.node)):
            total += s.tail[row, i] * s.part[i]
        largest = max(largest, abs(total))
    return largest


def set_coefficients(s: Stepper) -> None:
    """Bernstein coefficients of the part, into the first row of `coefficient`."""
    for i in range(len(s.node)):
        total = 0.0
        for j in range(len(s.node)):
            total += s.bernstein[i, j] * s.part[j]
        s.coefficient[0, i] = total


# ---------------------------------------------------------------------------------------------------------- isolation


def isolate_zeros(s: Stepper, m: Tableau, h: float, event: int) -> None:
    """Fill `check` with points of the step between which the event function changes its sign once at most."""
    for i in range(len(s.node)):
        s.part[i] = s.fine[i, event]
    if s.polynomial[event] != 0:
        isolate_in_part(s, m, h, event, 0.0, 1.0, 0.0)
        return
    begin, width, rough = 0.0, 1.0, 0
    while begin < 1.0:
        if width < 1.0:
            for i in range(len(s.node)):
                s.part[i] = event_value(s, m, h, event, begin + width * s.node[i])
        tail = chebyshev_tail(s)
        resolved = tail <= RESOLVED * variation(s)
        if not resolved and width > SMALLEST_PART:
            width *= 0.5
        else:
            if resolved:
                isolate_in_part(s, m, h, event, begin, width, 4.0 * tail)
            else:
                search_between_nodes(s, m, h, event, begin, width)
                if variation(s) > NOISE:
                    rough += 1
            begin += width
            while width < 1.0 and int(begin / width) % 2 == 0:
                width *= 2.0
    if rough > MANY_PARTS and s.stops[event] != REQUIRED:
        s.unresolved_event, s.unresolved_time = event + 1, s.t


def isolate_in_part(s: Stepper, m: Tableau, h: float, event: int, begin: float, width: float, error: float) -> None:
    """Isolate the zeros of the polynomial through the values `part`, which differs from the event function by an `error`."""
    largest = largest_value(s)
    if not math.isfinite(largest):
        search_between_nodes(s, m, h, event, begin, width)
        return
    tolerance = error + s.noise * largest
    set_coefficients(s)
    s.low[0], s.high[0] = begin, begin + width
    top = 0
    while top >= 0:
        low, high = s.low[top], s.high[top]
        kind = kind_of_interval(s.coefficient[top], tolerance)
        if kind == OPEN and top < HALVINGS - 1:
            halve_interval(s, top)
            top += 1
        else:
            if kind == SINGLE:
                add_check(s, m, h, event, low)
                add_check(s, m, h, event, high)
            elif kind != CLEAR:
                search_extremum(s, m, h, event, low, high)
            top -= 1


def kind_of_interval(coefficient: Vector, tolerance: float) -> int:
    """What Bernstein coefficients, each right to a tolerance, say about the zeros in an interval."""
    lowest, highest = bounds(coefficient)
    if lowest > tolerance or highest < -tolerance:
        return CLEAR
    if max(highest, -lowest) <= 4.0 * tolerance:
        return FLAT
    rises, falls, changes, unsure = False, False, 0, False
    sign = sign_of(coefficient[0])
    for i in range(len(coefficient)):
        value = coefficient[i]
        if abs(value) <= tolerance:
            unsure = True
        if sign_of(value) != sign:
            changes += 1
            sign = sign_of(value)
        if i > 0:
            rises = rises or value > coefficient[i - 1]
            falls = falls or value < coefficient[i - 1]
    monotone = not (rises and falls)
    return SINGLE if monotone or (changes == 1 and not unsure) else OPEN


def halve_interval(s: Stepper, top: int) -> None:
    """Replace an interval by its right half, and put the left one on top of it (de Casteljau's algorithm)."""
    right, left, count = s.coefficient[top], s.coefficient[top + 1], len(s.node)
    middle = 0.5 * (s.low[top] + s.high[top])
    s.low[top + 1], s.high[top + 1], s.low[top] = s.low[top], middle, middle
    left[0] = right[0]
    for k in range(1, count):
        for i in range(count - k):
            right[i] = 0.5 * (right[i] + right[i + 1])
        left[k] = right[0]


def add_check(s: Stepper, m: Tableau, h: float, event: int, theta: float) -> float:
    """Add a point inside the step to `check`, in order, and return the value there."""
    value = event_value(s, m, h, event, theta)
    position = s.check_count
    while position > 0 and s.check[position - 1] > theta:
        position -= 1
    known = position > 0 and s.check[position - 1] == theta
    if theta > 0.0 and theta < 1.0 and not known:
        if s.check_count >= ROOTS - 1:
            s.unresolved_event, s.unresolved_time = event + 1, s.t
            return value
        for i in range(s.check_count, position, -1):
            s.check[i], s.check_value[i] = s.check[i - 1], s.check_value[i - 1]
        s.check[position], s.check_value[position] = theta, value
        s.check_count += 1
    return value


def search_extremum(s: Stepper, m: Tableau, h: float, event: int, low: float, high: float) -> None:
    """Search for another sign inside an interval by golden sections towards the extremum, and add what was found."""
    side = sign_of(add_check(s, m, h, event, low))
    if sign_of(add_check(s, m, h, event, high)) != side or side == 0:
        return
    a, b = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
    value_a, value_b = side * event_value(s, m, h, event, a), side * event_value(s, m, h, event, b)
    for _ in range(SEARCH_STEPS):
        if value_a < 0.0 or value_b < 0.0:
            add_check(s, m, h, event, a if value_a < value_b else b)
            return
        if not high - low > 4e-16:
            return
        if value_a < value_b:
            high, b, value_b = b, a, value_a
            a = high - GOLDEN * (high - low)
            value_a = side * event_value(s, m, h, event, a)
        else:
            low, a, value_a = a, b, value_b
            b = low + GOLDEN * (high - low)
            value_b = side * event_value(s, m, h, event, b)


def search_between_nodes(s: Stepper, m: Tableau, h: float, event: int, begin: float, width: float) -> None:
    """Add the nodes of a part where the function is not smooth, and search for the extrema between them."""
    last = len(s.node) - 1
    for i in range(last + 1):
        add_check(s, m, h, event, begin + width * s.node[i])
        near = abs(s.part[i])
        if (i == 0 or near <= abs(s.part[i - 1])) and (i == last or near <= abs(s.part[i + 1])):
            low, high = begin + width * s.node[max(0, i - 1)], begin + width * s.node[min(last, i + 1)]
            search_extremum(s, m, h, event, low, high)


def is_zero(s: Stepper, m: Tableau, h: float, event: int, root: float) -> bool:
    """Whether an event function passes zero at a change of its sign, and has no pole or cut there. In steps in which rounding
    errors of time are not small, it is taken to pass."""
    width = max(4e-15, 1e-15 * abs(s.t / h))
    if s.polynomial[event] != 0 or width > ROUNDED:
        return True
    size = 0.0
    for i in range(GRID + 1):
        if math.isfinite(s.grid[i, event]):
            size = max(size, abs(s.grid[i, event]))
    before = event_value(s, m, h, event, max(0.0, root - width))
    after = event_value(s, m, h, event, min(1.0, root + width))
    return abs(after - before) <= CONTINUOUS * size or sign_of(before) * sign_of(after) >= 0


def locate_between_checks(s: Stepper, m: Tableau, h: float, event: int, count: int) -> int:
    """Locate the zeros of an event function between its checks and add them to the `count` found before.

    Its value may have jumped before the step, at an impact or when the inputs changed, and may return within the step.
    """
    sign, before, value_before = int(s.sign[event]), 0.0, s.grid[0, event]
    if sign != 0 and sign_of(value_before) == -sign and s.check_count < ROOTS - 1:
        if crosses(sign, value_before, int(s.direction[event])):
            insert_root(s, 0.0, event, count)
            count += 1
        sign = -sign
    for i in range(s.check_count + 1):
        inside = i < s.check_count
        theta = s.check[i] if inside else 1.0
        value = s.check_value[i] if inside else s.grid[GRID, event]
        if crosses(sign, value, int(s.direction[event])):
            root = locate_root(s, m, h, event, sign, before, value_before, theta, value)
            if s.jumps[event] != 0 or is_zero(s, m, h, event, root):
                insert_root(s, root, event, count)
                count += 1
        sign = updated_sign(sign, value)
        if value == value:
            before, value_before = theta, value
    s.next_sign[event] = sign
    return count
