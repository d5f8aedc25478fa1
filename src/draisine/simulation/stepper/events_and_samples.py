"""Events: expressions that pass zero within a step, found in time order on the interpolant.

An event's sign is looked at on a grid of points of each step, so that a short touch between two step ends is not missed:
first on the cubic through both ends, which costs no derivative; only if a sign differs there, on the full interpolant. A
value of exactly zero has no sign: a run that starts at zero starts with no event. Inputs count as they were at the last
stage, so an event should watch states, not a control.
"""

from __future__ import annotations

from draisine.codegen.restricted.record import call_kernel
from draisine.codegen.restricted.types import Vector
from draisine.simulation.stepper.explicit_rk import copy, interpolate, prepare_dense
from draisine.simulation.stepper.layout import GRID, Stepper, Tableau


def watch(s: Stepper, time: float, target: Vector) -> None:
    """Write the values of all events at (time, point)."""
    s.time[0] = time
    call_kernel(s.watch, (s.time, s.point, s.u, s.parameters), (target,))


def sign_of(value: float) -> int:
    if value > 0.0:
        return 1
    return -1 if value < 0.0 else 0


def begin_watch(s: Stepper) -> None:
    """The signs at the start of a run."""
    watch(s, s.t, s.grid[0])
    for e in range(s.events):
        s.sign[e] = sign_of(s.grid[0, e])


def value_at(s: Stepper, m: Tableau, h: float, event: int, theta: float) -> float:
    interpolate(s, m.terms, theta, s.point, s.states)
    watch(s, s.t + theta * h, s.values)
    return s.values[event]


def fill_grid(s: Stepper, terms: int, h: float) -> None:
    """Values of all events at the inner points of the grid."""
    for i in range(1, GRID):
        theta = i / GRID
        interpolate(s, terms, theta, s.point, s.states)
        watch(s, s.t + theta * h, s.grid[i])


def crosses(sign: int, value: float, direction: int) -> bool:
    """Whether a value has left the last known sign, in a direction that counts. NaN has left nothing."""
    return sign != 0 and value == value and sign_of(value) != sign and (direction == 0 or direction == -sign)


def moved(sign: int, value: float) -> int:
    """The last known sign after a value."""
    return sign_of(value) if value == value else sign


def any_crossing(s: Stepper) -> bool:
    grid, direction = s.grid, s.direction
    for e in range(s.events):
        sign = int(s.sign[e])
        for i in range(1, GRID + 1):
            if crosses(sign, grid[i, e], int(direction[e])):
                return True
            sign = moved(sign, grid[i, e])
    return False


def find_crossings(s: Stepper, m: Tableau, h: float, new_time: float) -> int:
    """Fill `root`, `root_event` in order of time with the events of the step from t to new_time; return their number."""
    copy(s.new, s.point, s.states)
    watch(s, new_time, s.grid[GRID])
    fill_grid(s, 3 if s.ready == 0 else m.terms, h)
    count = 0
    if any_crossing(s):
        if s.ready == 0:
            prepare_dense(s, m, h)
            if s.aborted != 0:
                return 0
            fill_grid(s, m.terms, h)
        count = collect(s, m, h)
    return count


def settle(s: Stepper) -> None:
    """The step is accepted: its end is the start of the next one."""
    grid, signs = s.grid, s.sign
    for e in range(s.events):
        for i in range(1, GRID + 1):
            signs[e] = moved(int(signs[e]), grid[i, e])
        grid[0, e] = grid[GRID, e]


def collect(s: Stepper, m: Tableau, h: float) -> int:
    """Roots of every event in every part of the grid, sorted by insertion."""
    grid, direction, root, root_event = s.grid, s.direction, s.root, s.root_event
    count = 0
    for e in range(s.events):
        sign = int(s.sign[e])
        for i in range(1, GRID + 1):
            if crosses(sign, grid[i, e], int(direction[e])):
                theta = solve(s, m, h, e, sign, i)
                place = count
                while place > 0 and root[place - 1] > theta:
                    root[place], root_event[place] = root[place - 1], root_event[place - 1]
                    place -= 1
                root[place], root_event[place] = theta, e
                count += 1
            sign = moved(sign, grid[i, e])
    return count


def solve(s: Stepper, m: Tableau, h: float, event: int, sign: int, part: int) -> float:
    """The fraction of the step at which an event passes zero in a part of the grid.

    T. R. Chandrupatla, "A new hybrid quadratic/bisection algorithm for finding the zero of a nonlinear function without using
    derivatives", Advances in Engineering Software 28 (1997) 145–149.
    """
    a, b = part / GRID, (part - 1) / GRID  # a is the newest point, b the other end, c the one before
    value_a, value_b = s.grid[part, event], s.grid[part - 1, event]
    if value_a == 0.0:
        return a
    if sign_of(value_b) != sign:
        return b  # it jumped here already, when the inputs changed
    c, value_c = b, value_b
    fraction = 0.5
    tolerance = max(1e-15, 2.3e-16 * abs(s.t / h))
    for _ in range(100):
        best = a if abs(value_a) < abs(value_b) else b
        room = tolerance / abs(b - a) if b != a else 1.0
        if room > 0.5 or value_a == 0.0:
            return best
        theta = a + min(max(fraction, room), 1.0 - room) * (b - a)
        value = value_at(s, m, h, event, theta)
        if sign_of(value) == sign_of(value_a):
            c, value_c = a, value_a
        else:
            c, value_c, b, value_b = b, value_b, a, value_a
        a, value_a = theta, value
        fraction = inverse_quadratic(a, b, c, value_a, value_b, value_c)
    return a


def inverse_quadratic(a: float, b: float, c: float, value_a: float, value_b: float, value_c: float) -> float:
    """Where between a (0) and b (1) to look next: by inverse quadratic interpolation if that is safe, else the middle."""
    xi = (a - b) / (c - b)
    phi = (value_a - value_b) / (value_c - value_b)
    if not (phi * phi < xi and (1.0 - phi) * (1.0 - phi) < 1.0 - xi):
        return 0.5
    return value_a / (value_b - value_a) * value_c / (value_b - value_c) + (c - a) / (b - a) * value_a / (
        value_c - value_a
    ) * value_b / (value_c - value_b)
