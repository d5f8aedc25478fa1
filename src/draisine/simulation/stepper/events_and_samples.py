"""Event location on the interpolant of a step, and recording of samples, steps and events. Restricted Python.

`event_isolation` finds the intervals in which an event function changes its sign; its zeros are located here. A value of exactly
zero has no sign: a run that starts at zero starts without an event. Inputs have the values of the last stage, so an event should
be a function of states, not of a control.
"""

from __future__ import annotations

from draisine.codegen.restricted.types import Vector, call_kernel
from draisine.simulation.stepper.explicit_rk import apply_control, copy, first_nonfinite, interpolate
from draisine.simulation.stepper.layout import GRID, REQUIRED, Stepper, Tableau
from draisine.simulation.stepper.mixture import mixed_values, record_mixture


def evaluate_events(s: Stepper, time: float, target: Vector) -> None:
    """Write the values of all event functions at (time, point)."""
    s.time[0] = time
    if s.switching != 0 and s.sliding > 0 and s.mixed_events != 0:
        mixed_values(s, s.mixed_events, target, s.events)
    else:
        call_kernel(s.event_kernel, (s.time, s.point, s.u, s.parameters), (target,))


def sign_of(value: float) -> int:
    if value > 0.0:
        return 1
    return -1 if value < 0.0 else 0


def begin_events(s: Stepper) -> None:
    """The signs at the start of a run; of what must be positive, the sign it should have."""
    evaluate_events(s, s.t, s.grid[0])
    for e in range(s.events):
        s.sign[e] = 1 if s.stops[e] == REQUIRED else sign_of(s.grid[0, e])


def event_value(s: Stepper, m: Tableau, h: float, event: int, theta: float) -> float:
    interpolate(s, m.terms, theta, s.point, s.states)
    evaluate_events(s, s.t + theta * h, s.values)
    return s.values[event]


def crosses(sign: int, value: float, direction: int) -> bool:
    """Whether a value has another sign than the last known one, in the event's direction. NaN has no sign."""
    return sign != 0 and value == value and sign_of(value) != sign and (direction == 0 or direction == -sign)


def updated_sign(sign: int, value: float) -> int:
    """The last known sign after a value."""
    return sign_of(value) if value == value else sign


def update_event_signs(s: Stepper) -> None:
    """Update the signs after an accepted step."""
    for e in range(s.events):
        s.sign[e] = s.next_sign[e]
        s.grid[0, e] = s.grid[GRID, e]


def insert_root(s: Stepper, theta: float, event: int, count: int) -> None:
    """Insert a zero of an event function into the `count` known ones, sorted by time."""
    root, root_event, position = s.root, s.root_event, count
    while position > 0 and root[position - 1] > theta:
        root[position], root_event[position] = root[position - 1], root_event[position - 1]
        position -= 1
    root[position], root_event[position] = theta, event


def locate_root(
    s: Stepper, m: Tableau, h: float, event: int, sign: int, before: float, value_before: float, after: float, value_after: float
) -> float:
    """The fraction of the step at which an event function passes zero between two fractions, with its values there.

    T. R. Chandrupatla, "A new hybrid quadratic/bisection algorithm for finding the zero of a nonlinear function without using
    derivatives", Advances in Engineering Software 28 (1997) 145–149.
    """
    a, b = after, before  # a is the newest point, b the other end, c the one before
    value_a, value_b = value_after, value_before
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
        if s.unilateral != 0 and s.project != 0:
            close_contacts(s, moment, row)
        record_inputs(s, moment, row, s.sample_u[s.sample_count])
        if s.aborted != 0:
            return
        if s.switching != 0 and s.mixed_dynamics != 0:
            record_mixture(s, moment, row, s.sample_mixture[s.sample_count])
        s.sample_count += 1


def close_contacts(s: Stepper, time: float, row: Vector) -> None:
    """Project a sample onto the constraints: between steps, errors of the interpolant would be gaps or penetrations."""
    copy(row, s.point, s.states)
    s.time[0] = time
    call_kernel(s.project, (s.time, s.point, s.u, s.parameters), (s.error[0], s.scalar))
    if first_nonfinite(s.error[0], s.states) < 0:
        copy(s.error[0], row, s.states)


def sample_at_t(s: Stepper) -> None:
    """Record the sample at t, if t is a sample time."""
    if s.sample_count < s.samples and s.sample_time[s.sample_count] == s.t:
        row = s.sample_x[s.sample_count]
        copy(s.x, row, s.states)
        record_inputs(s, s.t, row, s.sample_u[s.sample_count])
        if s.switching != 0 and s.mixed_dynamics != 0:
            record_mixture(s, s.t, row, s.sample_mixture[s.sample_count])
        s.sample_count += 1


def record_step(s: Stepper) -> None:
    s.step_time[s.step_count] = s.t
    if s.keep_steps != 0:
        copy(s.x, s.step_x[s.step_count], s.states)
        record_inputs(s, s.t, s.x, s.step_u[s.step_count])
        if s.switching != 0 and s.mixed_dynamics != 0:
            record_mixture(s, s.t, s.x, s.step_mixture[s.step_count])
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
