"""Times at which steps end: the end of the run, restart times, and kinks and pulses of functions of time. Restricted Python.

No step crosses a restart time, where the equations jump, nor a stop, where a condition of time changes although nothing jumps. A
kink of a table, where only a derivative jumps, may be crossed: the error control
sees it. Logged tables have a kink at every row, and steps may be much longer. Two rules decide. A step that crossed
kinks and was rejected is followed by steps that end at the next kink, the more of them the more often that happens. And no step
crosses where a function of time has, between the points at which the method evaluates the equations, other values than these
points suggest: a pulse between two of them would be lost. Of a linear table, two neighboring points suggest a straight line; of a
function that is curved, such as a spline, four of them a cubic, so that steps through smooth ones are as long as without marks.
"""

from __future__ import annotations

from draisine.simulation.stepper.events_and_samples import precedes
from draisine.simulation.stepper.layout import Stepper, Tableau

MOST_HITS = 32  # steps to the next kink before a crossing is tried again
WORTHWHILE = 1.4  # length of a crossing step relative to that of one to the next kink


def horizon(s: Stepper) -> float:
    """The time that the next step must not pass."""
    if s.restart_index < s.restarts:
        time = s.restart_time[s.restart_index]
        if precedes(s, time, s.end):
            return time
    return s.end


def next_stop(s: Stepper, limit: float) -> float:
    """The first stop after t if it comes before a limit, else the limit."""
    pass_marks(s)
    stop = int(s.mark_stop[s.mark_index])
    return s.mark_time[stop] if stop >= 0 and precedes(s, s.mark_time[stop], limit) else limit


def limit_to_kinks(s: Stepper, m: Tableau, new_time: float) -> float:
    """The end of a step that would end at `new_time`: a kink, or an earlier time, where it must not cross what lies between."""
    pass_marks(s)
    kink = next_kink(s)
    s.kink_limited = 1 if kink >= 0 and s.mark_time[kink] == new_time else 0
    reaches = kink >= 0 and precedes(s, s.mark_time[kink], new_time)
    if s.kink_crossing != 0:
        if s.last_rejected == 0:
            s.kink_patience = 1
        elif not reaches or abs(new_time - s.t) < WORTHWHILE * abs(s.mark_time[kink] - s.t):
            s.kink_hits = s.kink_patience
            s.kink_patience = min(MOST_HITS, 2 * s.kink_patience)
        s.kink_crossing = 0
    if reaches and (s.kink_hits > 0 or s.hits_kinks != 0):
        s.kink_hits -= 1
        s.kink_limited = 1
        new_time, reaches = s.mark_time[kink], False
    h = new_time - s.t
    while not is_resolved(s, m, h, reaches):
        h *= 0.5
        if reaches and not precedes(s, s.mark_time[kink], s.t + h):
            new_time, reaches = s.mark_time[kink], False
            h = new_time - s.t
    if reaches:
        s.kink_crossing = 1
    if h == new_time - s.t:
        return new_time
    s.kink_limited = 0
    return s.t + h


def resolved_end(s: Stepper, m: Tableau, new_time: float) -> float:
    """The end of a step that was made by another library to `new_time`: the next kink, or an earlier time, if the step has passed
    over something."""
    pass_marks(s)
    kink = next_kink(s)
    reaches = kink >= 0 and precedes(s, s.mark_time[kink], new_time)
    if reaches and not is_resolved(s, m, new_time - s.t, True):
        new_time = float(s.mark_time[kink])
    h = new_time - s.t
    while not is_resolved(s, m, h, False):
        h *= 0.5
    return new_time if h == new_time - s.t else s.t + h


def pass_marks(s: Stepper) -> None:
    """Go on to the first mark after t."""
    while s.mark_index < s.marks - 1 and not precedes(s, s.t, s.mark_time[s.mark_index]):
        s.mark_index += 1


def next_kink(s: Stepper) -> int:
    """The first kink after t, or −1."""
    return int(s.mark_kink[s.mark_index])


def is_resolved(s: Stepper, m: Tableau, h: float, crossing: bool) -> bool:
    """Whether the functions of time are, between the points of the method, where these points suggest. Those with kinks alone
    count if the step crosses a kink."""
    if abs(h) > s.mark_safe:
        for function in range(len(s.mark_tolerance)):
            if s.mark_curved[function] != 0 and not is_followed(s, m, h, function):
                return False
    return not crossing or is_straight(s, m, h)


def is_straight(s: Stepper, m: Tableau, h: float) -> bool:
    """Whether functions with kinks are, between the points of the method, on the straight lines between these."""
    begin, end, i = s.t, s.t, s.mark_index
    for point in range(1, len(m.points)):
        begin, end = end, s.t + m.points[point] * h
        first = i
        while i < s.marks - 1 and precedes(s, s.mark_time[i], end):
            i += 1
        for function in range(len(s.mark_tolerance)):
            if s.mark_curved[function] != 0:
                continue
            a, b = value_at(s, first, begin, function), value_at(s, i, end, function)
            for j in range(first, i):
                straight = a + (b - a) * (s.mark_time[j] - begin) / (end - begin)
                if not abs(s.mark_value[j, function] - straight) <= s.mark_tolerance[function]:
                    return False
    return True


def is_followed(s: Stepper, m: Tableau, h: float, function: int) -> bool:
    """Whether a curved function is, between the points of the method, on the cubics through four of them."""
    count, i = len(m.points), s.mark_index
    degree, tolerance = min(3, count - 1), s.mark_tolerance[function]
    known, following, point, first = 0, i, 1, -1
    while i < s.marks - 1 and precedes(s, s.mark_time[i], s.t + h):
        theta = (s.mark_time[i] - s.t) / h
        while point < count - 1 and m.points[point] < theta:
            point += 1
        window = max(0, min(point - 2, count - 1 - degree))
        if window != first:
            first = window
            while known <= first + degree:
                time = s.t + m.points[known] * h
                while following < s.marks - 1 and precedes(s, s.mark_time[following], time):
                    following += 1
                s.mark_known[known] = value_at(s, following, time, function)
                known += 1
            set_cubic(s, m, first, degree)
        suggested = s.mark_cubic[degree]
        for k in range(degree - 1, -1, -1):
            suggested = s.mark_cubic[k] + (theta - m.points[first + k]) * suggested
        if not abs(s.mark_value[i, function] - suggested) <= tolerance:
            return False
        i += 1
    return True


def set_cubic(s: Stepper, m: Tableau, first: int, degree: int) -> None:
    """The polynomial through the values at `degree` + 1 points of the method, by divided differences."""
    c, points = s.mark_cubic, m.points
    for k in range(degree + 1):
        c[k] = s.mark_known[first + k]
    for order in range(1, degree + 1):
        for k in range(degree, order - 1, -1):
            c[k] = (c[k] - c[k - 1]) / (points[first + k] - points[first + k - order])


def value_at(s: Stepper, following: int, time: float, function: int) -> float:
    """A function of time by linear interpolation between two marks, the latter being the first one not before the time."""
    j = max(1, following)
    values, span = s.mark_value, s.mark_time[j] - s.mark_time[j - 1]
    return values[j - 1, function] + (values[j, function] - values[j - 1, function]) * (time - s.mark_time[j - 1]) / span
