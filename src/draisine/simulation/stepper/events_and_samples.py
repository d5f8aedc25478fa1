"""Event location on the interpolant of a step, and recording of samples, steps and events. Restricted Python.

The sign of each event function is evaluated on a grid of points of each step, so that a short excursion between two step ends
is not missed: first on the cubic through both ends, which needs no derivative; if a sign differs there, on the full
interpolant. A value of exactly zero has no sign: a run that starts at zero starts without an event. Inputs have the values of
the last stage, so an event should be a function of states, not of a control.
"""

from __future__ import annotations

from draisine.codegen.restricted.record import call_kernel
from draisine.codegen.restricted.types import Vector
from draisine.simulation.stepper.explicit_rk import apply_control, copy, interpolate, prepare_dense
from draisine.simulation.stepper.layout import GRID, Stepper, Tableau


def evaluate_events(s: Stepper, time: float, target: Vector) -> None:
    """Write the values of all event functions at (time, point)."""
    s.time[0] = time
    call_kernel(s.event_kernel, (s.time, s.point, s.u, s.parameters), (target,))


def sign_of(value: float) -> int:
    if value > 0.0:
        return 1
    return -1 if value < 0.0 else 0


def begin_events(s: Stepper) -> None:
    """The signs at the start of a run."""
    evaluate_events(s, s.t, s.grid[0])
    for e in range(s.events):
        s.sign[e] = sign_of(s.grid[0, e])


def event_value(s: Stepper, m: Tableau, h: float, event: int, theta: float) -> float:
    interpolate(s, m.terms, theta, s.point, s.states)
    evaluate_events(s, s.t + theta * h, s.values)
    return s.values[event]


def fill_grid(s: Stepper, terms: int, h: float) -> None:
    """Values of all event functions at the inner points of the grid."""
    for i in range(1, GRID):
        theta = i / GRID
        interpolate(s, terms, theta, s.point, s.states)
        evaluate_events(s, s.t + theta * h, s.grid[i])


def crosses(sign: int, value: float, direction: int) -> bool:
    """Whether a value has another sign than the last known one, in the event's direction. NaN has no sign."""
    return sign != 0 and value == value and sign_of(value) != sign and (direction == 0 or direction == -sign)


def updated_sign(sign: int, value: float) -> int:
    """The last known sign after a value."""
    return sign_of(value) if value == value else sign


def any_crossing(s: Stepper) -> bool:
    grid, direction = s.grid, s.direction
    for e in range(s.events):
        sign = int(s.sign[e])
        for i in range(1, GRID + 1):
            if crosses(sign, grid[i, e], int(direction[e])):
                return True
            sign = updated_sign(sign, grid[i, e])
    return False


def find_crossings(s: Stepper, m: Tableau, h: float, new_time: float) -> int:
    """Fill `root` and `root_event` in order of time with the events of the step from t to new_time; return their number."""
    copy(s.new, s.point, s.states)
    evaluate_events(s, new_time, s.grid[GRID])
    fill_grid(s, 3 if s.dense_ready == 0 else m.terms, h)
    count = 0
    if any_crossing(s):
        if s.dense_ready == 0:
            prepare_dense(s, m, h)
            if s.aborted != 0:
                return 0
            fill_grid(s, m.terms, h)
        count = locate_crossings(s, m, h)
    return count


def update_event_signs(s: Stepper) -> None:
    """Update the signs after an accepted step."""
    grid, signs = s.grid, s.sign
    for e in range(s.events):
        for i in range(1, GRID + 1):
            signs[e] = updated_sign(int(signs[e]), grid[i, e])
        grid[0, e] = grid[GRID, e]


def locate_crossings(s: Stepper, m: Tableau, h: float) -> int:
    """Roots of every event function in every interval of the grid, sorted by time."""
    grid, direction, root, root_event = s.grid, s.direction, s.root, s.root_event
    count = 0
    for e in range(s.events):
        sign = int(s.sign[e])
        for i in range(1, GRID + 1):
            if crosses(sign, grid[i, e], int(direction[e])):
                theta = locate_root(s, m, h, e, sign, i)
                position = count
                while position > 0 and root[position - 1] > theta:
                    root[position], root_event[position] = root[position - 1], root_event[position - 1]
                    position -= 1
                root[position], root_event[position] = theta, e
                count += 1
            sign = updated_sign(sign, grid[i, e])
    return count


def locate_root(s: Stepper, m: Tableau, h: float, event: int, sign: int, part: int) -> float:
    """The fraction of the step at which an event function passes zero in an interval of the grid.

    T. R. Chandrupatla, "A new hybrid quadratic/bisection algorithm for finding the zero of a nonlinear function without using
    derivatives", Advances in Engineering Software 28 (1997) 145–149.
    """
    a, b = part / GRID, (part - 1) / GRID  # a is the newest point, b the other end, c the one before
    value_a, value_b = s.grid[part, event], s.grid[part - 1, event]
    if value_a == 0.0:
        return a
    if sign_of(value_b) != sign:
        return b  # it jumped already at the start, when the inputs changed
    c, value_c = b, value_b
    fraction = 0.5
    tolerance = max(1e-15, 2.3e-16 * abs(s.t / h))
    for _ in range(100):
        best = a if abs(value_a) < abs(value_b) else b
        room = tolerance / abs(b - a) if b != a else 1.0
        if room > 0.5 or value_a == 0.0:
            return best
        theta = a + min(max(fraction, room), 1.0 - room) * (b - a)
        value = event_value(s, m, h, event, theta)
        if sign_of(value) == sign_of(value_a):
            c, value_c = a, value_a
        else:
            c, value_c, b, value_b = b, value_b, a, value_a
        a, value_a = theta, value
        fraction = inverse_quadratic(a, b, c, value_a, value_b, value_c)
    return a


def inverse_quadratic(a: float, b: float, c: float, value_a: float, value_b: float, value_c: float) -> float:
    """The next fraction between a (0) and b (1): by inverse quadratic interpolation if that is safe, else the midpoint."""
    xi = (a - b) / (c - b)
    phi = (value_a - value_b) / (value_c - value_b)
    if not (phi * phi < xi and (1.0 - phi) * (1.0 - phi) < 1.0 - xi):
        return 0.5
    return value_a / (value_b - value_a) * value_c / (value_b - value_c) + (c - a) / (b - a) * value_a / (
        value_c - value_a
    ) * value_b / (value_c - value_b)


def precedes(s: Stepper, a: float, b: float) -> bool:
    """Whether time a precedes time b in the direction of the run."""
    return a < b if s.end >= s.t else a > b


def has_sample_before(s: Stepper, time: float) -> bool:
    return s.sample_count < s.samples and precedes(s, s.sample_time[s.sample_count], time)


def fill_samples_before(s: Stepper, m: Tableau, h: float, time: float) -> None:
    """Record the samples strictly before a time within the step."""
    while has_sample_before(s, time):
        moment, row = s.sample_time[s.sample_count], s.sample_x[s.sample_count]
        interpolate(s, m.terms, (moment - s.t) / h, row, s.states)
        record_inputs(s, moment, row, s.sample_u[s.sample_count])
        if s.aborted != 0:
            return
        s.sample_count += 1


def sample_at_t(s: Stepper) -> None:
    """Record the sample at t, if t is a sample time."""
    if s.sample_count < s.samples and s.sample_time[s.sample_count] == s.t:
        row = s.sample_x[s.sample_count]
        copy(s.x, row, s.states)
        record_inputs(s, s.t, row, s.sample_u[s.sample_count])
        s.sample_count += 1


def record_step(s: Stepper) -> None:
    s.step_time[s.step_count] = s.t
    if s.keep_steps != 0:
        copy(s.x, s.step_x[s.step_count], s.states)
        record_inputs(s, s.t, s.x, s.step_u[s.step_count])
    s.step_count += 1


def record_inputs(s: Stepper, time: float, x: Vector, target: Vector) -> None:
    """Record the inputs that belong to (time, x)."""
    if s.inputs > 0:
        if s.control != 0:
            copy(x, s.point, s.states)
            apply_control(s, time)
        copy(s.u, target, s.inputs)


def record_events(s: Stepper, m: Tableau, h: float, roots: int) -> float:
    """Record the events of the step; return the fraction at which one stops the run, or 2 if none does."""
    for j in range(roots):
        theta, event = s.root[j], int(s.root_event[j])
        s.event_time[s.event_count] = s.t + theta * h
        s.event_index[s.event_count] = event
        interpolate(s, m.terms, theta, s.event_x[s.event_count], s.states)
        s.event_count += 1
        if s.stops[event] != 0:
            s.stopping_event = event
            return theta
    return 2.0
