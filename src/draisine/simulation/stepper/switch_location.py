"""Location of switches within a step: the first margin that becomes negative on the interpolant, where the step is cut.

Restricted Python.
"""

from __future__ import annotations

from draisine.codegen.restricted.types import Vector
from draisine.simulation.stepper.contact_layout import MODE_ENTRIES
from draisine.simulation.stepper.event_isolation import CLEAR, GOLDEN, OPEN, SEARCH_STEPS, SINGLE
from draisine.simulation.stepper.events_and_samples import inverse_quadratic, sign_of
from draisine.simulation.stepper.explicit_rk import copy, interpolate, prepare_dense, watches_contacts
from draisine.simulation.stepper.layout import GRID, MARGIN_GRID, Stepper, Tableau
from draisine.simulation.stepper.switching import evaluate_margins

# Times the variation of the margins of contacts at both ends of a step, or also in its middle: their distance from zero where no
# more points are examined.
VERY_FAR, FAR = 16.0, 4.0
NEVER = 2.0  # a fraction beyond the step
STEEPER = 1.5  # slopes of a margin between grid points, relative to the largest one that these suggest
PASSED = 1.0  # of its size, by which a body may move relative to a sphere or an edge in a quarter of a step, near it
NEAR_ZERO = 0.02  # of the variation of a margin, up to which it may end between two points
POLYNOMIAL_STEPS = 10  # of false position
AT_ZERO = 0.05  # a margin below this part of the next one has just begun, and rises


def margins_at(s: Stepper, m: Tableau, h: float, theta: float, target: Vector) -> None:
    """All margins at a fraction of the step."""
    interpolate(s, m.terms if s.dense_ready != 0 else 3, theta, s.point, s.width)
    evaluate_margins(s, s.t + theta * h, target, False)


def find_switch(s: Stepper, m: Tableau, h: float, new_time: float) -> float:
    """The fraction of the step at which the first margin ends, in `switch_row`; NEVER if none does.

    If all margins are, on a few points of the step, farther from zero than they vary, none ends; those of contacts are smooth,
    and fewer points may suffice. Else they are evaluated on more points of the full interpolant, and near their minima. Those
    with corners, such as |z| − w, have minima that no parabola suggests: they are searched for wherever the slope would allow
    one.
    """
    if s.margins == 0:
        return NEVER
    copy(s.new, s.point, s.states)
    evaluate_margins(s, new_time, s.margin[MARGIN_GRID], m.implicit == 0 and m.external == 0 and s.sliding == 0)
    if s.branch_margins == 0 and stay_far_away(s, MARGIN_GRID, VERY_FAR):
        return NEVER
    if m.implicit == 0 and len(m.monitored) > 0 and watches_contacts(s) and stay_inside_at_stages(s, m):
        return NEVER
    ends = s.branch_margins == 0 and is_negative(s, MARGIN_GRID)  # whatever the cubic has
    if not ends:
        margins_at(s, m, h, 0.5, s.margin[MARGIN_GRID // 2])
        if s.branch_margins == 0 and stay_far_away(s, MARGIN_GRID // 2, FAR):
            return NEVER
        for part in range(1, GRID):
            if part != GRID // 2:
                margins_at(s, m, h, part / GRID, s.margin[part * (MARGIN_GRID // GRID)])
        if stay_inside(s, MARGIN_GRID // GRID):
            return NEVER
    if s.dense_ready == 0:
        prepare_dense(s, m, h)
        if s.aborted != 0:
            return NEVER
    if s.branch_margins == 0:
        for part in range(1, GRID):
            margins_at(s, m, h, part / GRID, s.margin[part * (MARGIN_GRID // GRID)])
        if end_once(s):
            return first_single_end(s, m, h)
    last = first_negative(s)
    for i in range(1, MARGIN_GRID):
        if i <= last:
            margins_at(s, m, h, i / MARGIN_GRID, s.margin[i])
            if i == last and not is_negative(s, last):  # only the cubic was
                last = MARGIN_GRID
    first = NEVER
    for j in range(s.margins):
        theta = first_end(s, m, h, j, last)
        if theta < first:
            first, s.switch_row = theta, j
    return first


def shorten_for_flights(s: Stepper, m: Tableau, h: float) -> float:
    """The factor by which a step is to be shortened, 1 for none: in a part of it a body may fly past a sphere or an edge, from
    one side to the other, which margins at a few points do not show."""
    c, factor, filled = s.modes, 1.0, False
    stride = MARGIN_GRID // GRID
    for i in range(c.contacts if s.adaptive != 0 else 0):
        size, row = c.landing[4 * i + 3], c.first_margin + 2 * i
        if not size > 0.0 or c.mode[MODE_ENTRIES * i] != 0.0:
            continue
        if not filled:
            for part in range(1, GRID):
                margins_at(s, m, h, part / GRID, s.margin[part * stride])
            filled = True
        moved = 0.0
        for part in range(GRID):
            moved = max(moved, abs(s.margin[(part + 1) * stride, row] - s.margin[part * stride, row]))
        for part in range(GRID):
            ends = abs(s.margin[(part + 1) * stride, row]) + abs(s.margin[part * stride, row])
            if moved > PASSED * size and ends < 1.5 * moved:
                factor = min(factor, max(0.1, 0.8 * PASSED * size / moved))
    return factor


def stay_far_away(s: Stepper, stride: int, far: float) -> bool:
    """Whether the margins at every `stride`-th point are positive and `far` times as far from zero as they vary."""
    far_away = True
    for j in range(s.margins):
        far_away = far_away and stays_far_away(s, j, stride, far)
    return far_away


def stays_far_away(s: Stepper, j: int, stride: int, far: float) -> bool:
    """The same of one margin."""
    lowest = s.margin[0, j]
    highest = lowest
    for part in range(1, MARGIN_GRID // stride + 1):
        value = s.margin[part * stride, j]
        lowest, highest = min(lowest, value), max(highest, value)
    return lowest > far * (highest - lowest)


def stay_inside(s: Stepper, stride: int) -> bool:
    """Whether no margin ends: each is farther from zero than it varies, or is smooth and farther from zero than it bends."""
    for j in range(s.margins):
        if not stays_far_away(s, j, stride, 1.0) and (j < s.branch_margins or not stays_straight(s, j, stride)):
            return False
    return True


def stays_straight(s: Stepper, j: int, stride: int) -> bool:
    """Whether the margin of a contact is at every `stride`-th point positive and farther from zero than eight times the
    deviation of its parabolas from straight lines; it may begin at zero, and rise."""
    return is_smooth(s, j) and begins_straight(s, j, stride, MARGIN_GRID // stride)


def stay_inside_at_stages(s: Stepper, m: Tableau) -> bool:
    """`stay_inside` by the margins at both ends and at the stages between them, which are known."""
    for j in range(s.margins):  # noqa: SIM110 -- restricted Python has no generators
        if not stays_inside_at_stages(s, m, j):
            return False
    return True


def stays_inside_at_stages(s: Stepper, m: Tableau, j: int) -> bool:
    """The same of one margin: `stays_far_away` or `stays_straight`, with second derivatives over the longest part of the step."""
    count, noted, nodes = len(m.monitored), s.modes.stage_margin, m.nodes
    first, last = s.margin[0, j], s.margin[MARGIN_GRID, j]
    lowest, highest = last, max(first, last)
    before, middle, time_before, time = first, noted[0, j], 0.0, nodes[m.monitored[0]]
    longest, curvature = time, 0.0
    for part in range(count):
        lowest, highest = min(lowest, middle), max(highest, middle)
        after, time_after = last, 1.0
        if part + 1 < count:
            after, time_after = noted[part + 1, j], nodes[m.monitored[part + 1]]
        change = (after - middle) / (time_after - time) - (middle - before) / (time - time_before)
        curvature = max(curvature, abs(2.0 * change / (time_after - time_before)))
        longest = max(longest, time_after - time)
        before, middle, time_before, time = middle, after, time, time_after
    least = min(first, lowest)
    if least > highest - least:
        return True
    if not is_smooth(s, j):
        return False
    room = max(curvature * longest * longest, NEAR_ZERO * (highest - least))
    rises = noted[0, j] > 4.0 * room and (first >= 0.0 or s.armed[j] == 0)
    return lowest > room and (first > room or rises)


def is_smooth(s: Stepper, j: int) -> bool:
    """Whether the margin of a contact is not the lesser of two."""
    c = s.modes
    return (j - c.first_margin) % 2 != 0 or c.bounded[(j - c.first_margin) // 2] == 0


def begins_straight(s: Stepper, j: int, stride: int, parts: int) -> bool:
    """The same up to a point that is a multiple of `stride`."""
    first, lowest = s.margin[0, j], s.margin[stride, j]
    highest = max(first, lowest)
    for part in range(2, parts + 1):
        value = s.margin[part * stride, j]
        lowest, highest = min(lowest, value), max(highest, value)
    room = max(bend(s, j, stride), NEAR_ZERO * (highest - min(first, lowest)))
    rises = s.margin[stride, j] > 4.0 * room and (first >= 0.0 or s.armed[j] == 0)
    return lowest > room and (first > room or rises)


def bend(s: Stepper, j: int, stride: int) -> float:
    """The largest second difference of a margin."""
    largest = 0.0
    for part in range(1, MARGIN_GRID // stride):
        before, value, after = s.margin[(part - 1) * stride, j], s.margin[part * stride, j], s.margin[(part + 1) * stride, j]
        largest = max(largest, abs(before - 2.0 * value + after))
    return largest


def end_once(s: Stepper) -> bool:
    """Whether few points show which margins end: polynomials through them stay positive, or fall through zero once."""
    for j in range(s.margins):
        if not stays_far_away(s, j, MARGIN_GRID // GRID, 1.0) and kind_of_margin(s, j) == OPEN:
            return False
    return True


def first_coefficient(s: Stepper, j: int) -> float:
    """The second of the five Bernstein coefficients of the polynomial through a margin at few points; the first and the last one
    are its values at both ends."""
    stride = MARGIN_GRID // GRID
    near = -13.0 * s.margin[0, j] + 48.0 * s.margin[stride, j] - 36.0 * s.margin[2 * stride, j]
    return (near + 16.0 * s.margin[3 * stride, j] - 3.0 * s.margin[4 * stride, j]) / 12.0


def middle_coefficient(s: Stepper, j: int) -> float:
    """The third of them."""
    stride = MARGIN_GRID // GRID
    ends, beside = s.margin[0, j] + s.margin[4 * stride, j], s.margin[stride, j] + s.margin[3 * stride, j]
    return (13.0 * ends - 64.0 * beside + 120.0 * s.margin[2 * stride, j]) / 18.0


def last_coefficient(s: Stepper, j: int) -> float:
    """The fourth of them."""
    stride = MARGIN_GRID // GRID
    near = 48.0 * s.margin[3 * stride, j] - 36.0 * s.margin[2 * stride, j] - 13.0 * s.margin[4 * stride, j]
    return (near + 16.0 * s.margin[stride, j] - 3.0 * s.margin[0, j]) / 12.0


def kind_of_margin(s: Stepper, j: int) -> int:
    """What this polynomial says of a smooth margin: CLEAR if it does not end, SINGLE if it falls through zero once, else OPEN.

    Its coefficients are right to the fourth difference of the margin. It may begin at zero, and rise."""
    stride = MARGIN_GRID // GRID
    begin, end, middle = s.margin[0, j], s.margin[MARGIN_GRID, j], s.margin[2 * stride, j]
    error = abs(begin + end - 4.0 * (s.margin[stride, j] + s.margin[3 * stride, j]) + 6.0 * middle)
    first, second, third = first_coefficient(s, j), middle_coefficient(s, j), last_coefficient(s, j)
    error = max(error, NEAR_ZERO * max(abs(begin), abs(end), abs(middle)))
    if not is_smooth(s, j) or not max(begin, first) > error or (begin < 0.0 and s.armed[j] != 0):
        return OPEN
    if min(first, second, third, end) > error:
        return CLEAR
    falls = begin > error or s.margin[stride, j] > 0.0
    a, b, d = sign_beyond(first, error), sign_beyond(second, error), sign_beyond(third, error)
    sure = abs(a) + abs(b) + abs(d) >= 2  # one sign that is not known leaves their changes as they are
    return SINGLE if a >= b >= d and sure and end < -error and falls else OPEN


def sign_beyond(value: float, error: float) -> int:
    """The sign of a number that is right to an error, 0 if that leaves it open."""
    return sign_of(value) if abs(value) > error else 0


def part_of_end(s: Stepper, j: int) -> int:
    """The first of the parts of a step at whose end a margin is not positive; the last one if there is none."""
    part = 1
    while part < GRID and s.margin[part * (MARGIN_GRID // GRID), j] > 0.0:
        part += 1
    return part


def first_single_end(s: Stepper, m: Tableau, h: float) -> float:
    """The fraction at which the first margin ends, in `switch_row`, where `end_once`; NEVER if none does."""
    stride, first = MARGIN_GRID // GRID, NEVER
    for j in range(s.margins):
        part = part_of_end(s, j)
        inside, outside = s.margin[(part - 1) * stride, j], s.margin[part * stride, j]
        if inside > 0.0 > outside and (part - 1) / GRID < first:
            theta = end_near(s, m, h, j, part, polynomial_end(s, j, part))
            if theta < first:
                first, s.switch_row = theta, j
    return first


def polynomial_end(s: Stepper, j: int, part: int) -> float:
    """Where the polynomial through few points falls through zero, in a part of the step, by false position (Illinois)."""
    stride = MARGIN_GRID // GRID
    first, second, third = first_coefficient(s, j), middle_coefficient(s, j), last_coefficient(s, j)
    begin, end = s.margin[0, j], s.margin[MARGIN_GRID, j]
    low, high = (part - 1) / GRID, part / GRID
    above, below = s.margin[(part - 1) * stride, j], s.margin[part * stride, j]
    theta, before = high, 0.0
    for _ in range(POLYNOMIAL_STEPS):
        theta = low + above / (above - below) * (high - low)
        rest = 1.0 - theta
        value = begin * rest + 4.0 * first * theta
        value = (value * rest + 6.0 * second * theta * theta) * rest + 4.0 * third * theta * theta * theta
        value = value * rest + end * theta * theta * theta * theta
        again = before * value > 0.0  # the same end of the interval moves: the other one counts less
        if value > 0.0:
            low, above, below = theta, value, 0.5 * below if again else below
        else:
            high, below, above = theta, value, 0.5 * above if again else above
        before = value
    return theta


def end_near(s: Stepper, m: Tableau, h: float, j: int, part: int, near: float) -> float:
    """The end of a margin in a part of the step, near a point inside it."""
    stride, low, high = MARGIN_GRID // GRID, (part - 1) / GRID, part / GRID
    above, below = s.margin[(part - 1) * stride, j], s.margin[part * stride, j]
    margins_at(s, m, h, near, s.margin_value)
    value = s.margin_value[j]
    if value > 0.0:
        return end_between(s, m, h, j, near, high, value, below, low, above)
    return end_between(s, m, h, j, low, near, above, value, high, below)


def first_negative(s: Stepper) -> int:
    """The first of a few points at which a margin has ended; the end if there is none. Nothing behind it matters."""
    for part in range(1, GRID):
        if is_negative(s, part * (MARGIN_GRID // GRID)):
            return part * (MARGIN_GRID // GRID)
    return MARGIN_GRID


def is_negative(s: Stepper, i: int) -> bool:
    """Whether a margin that was positive at the start is negative at a point of the grid."""
    found = False
    for j in range(s.margins):
        found = found or (s.margin[i, j] < 0.0 and s.margin[0, j] > 0.0)
    return found


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


def first_end(s: Stepper, m: Tableau, h: float, j: int, last: int) -> float:
    """The fraction at which a margin first ends, up to a point of the grid."""
    inside = 0.0  # the last point at which it is known to be positive, or −1
    if s.armed[j] == 0 and not s.margin[0, j] > 0.0:
        inside = -1.0
    slope = 0.0
    if j < s.branch_margins and s.margin_corners[j] != 0:
        slope = STEEPER * steepest(s, j, last)
    for i in range(1, last + 1):
        value, theta = s.margin[i, j], i / MARGIN_GRID
        if slope > 0.0 and inside >= 0.0 and s.margin[i - 1, j] > 0.0 and value >= 0.0:
            low = corner(s, m, h, j, i, slope)
            if low < NEVER:
                return bracketed_end(s, m, h, j, (i - 1) / MARGIN_GRID, low)
        if value < 0.0 and inside == (i - 1) / MARGIN_GRID and s.margin[i - 1, j] > 0.0:
            third = i - 2 if i > 1 else i - 1
            return end_between(s, m, h, j, inside, theta, s.margin[i - 1, j], value, third / MARGIN_GRID, s.margin[third, j])
        if value < 0.0:
            return located_end(s, m, h, j, inside, theta)
        if i < last and inside >= 0.0 and dips(s, j, i):
            low = lowest_point(s, m, h, j, i)
            if low < NEVER:
                return bracketed_end(s, m, h, j, (i - 1) / MARGIN_GRID, low)
        if value > 0.0:
            inside = theta
    return NEVER


def steepest(s: Stepper, j: int, last: int) -> float:
    """The largest slope of a margin between two points of the grid."""
    largest = 0.0
    for i in range(last):
        largest = max(largest, abs(s.margin[i + 1, j] - s.margin[i, j]))
    return largest * MARGIN_GRID


def corner(s: Stepper, m: Tableau, h: float, j: int, i: int, slope: float) -> float:
    """A fraction in the part of the grid that ends at point i at which the margin is negative, by golden sections towards its
    minimum; NEVER if it cannot be with this slope."""
    low, high = (i - 1) / MARGIN_GRID, i / MARGIN_GRID
    before, after = s.margin[i - 1, j], s.margin[i, j]
    if before + after > slope * (high - low) or (i == 1 and before < AT_ZERO * after):
        return NEVER
    a, b = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
    margins_at(s, m, h, a, s.margin_value)
    value_a = s.margin_value[j]
    margins_at(s, m, h, b, s.margin_value)
    value_b = s.margin_value[j]
    for _ in range(SEARCH_STEPS):
        if value_a < 0.0:
            return a
        if value_b < 0.0:
            return b
        if not high - low > 4e-16 or min(value_a, value_b) > slope * (high - low):
            return NEVER
        if value_a < value_b:
            high, b, value_b = b, a, value_a
            a = high - GOLDEN * (high - low)
            margins_at(s, m, h, a, s.margin_value)
            value_a = s.margin_value[j]
        else:
            low, a, value_a = a, b, value_b
            b = low + GOLDEN * (high - low)
            margins_at(s, m, h, b, s.margin_value)
            value_b = s.margin_value[j]
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
    margins_at(s, m, h, inside, s.margin_value)
    value_inside = s.margin_value[j]
    margins_at(s, m, h, outside, s.margin_value)
    return end_between(s, m, h, j, inside, outside, value_inside, s.margin_value[j], inside, value_inside)


def end_between(
    s: Stepper,
    m: Tableau,
    h: float,
    j: int,
    inside: float,
    outside: float,
    value_inside: float,
    value_outside: float,
    third: float,
    value_third: float,
) -> float:
    """The same with the margins at both points, and at a third one beside them or, for none, at one of them again."""
    a, value_a, b, value_b = outside, value_outside, inside, value_inside
    if third < inside:
        a, value_a, b, value_b = inside, value_inside, outside, value_outside
    c, value_c, fraction = third, value_third, 0.5
    if c != b:
        fraction = inverse_quadratic(a, b, c, value_a, value_b, value_c)
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
    weights, f = s.shorten, s.dense
    for i in range(m.terms):  # in place: a coefficient depends on later ones only
        for l in range(s.width):
            f[i, l] *= weights[i, i]
        for j in range(i + 1, m.terms):
            weight = weights[i, j]
            for l in range(s.width):
                f[i, l] += weight * f[j, l]


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
