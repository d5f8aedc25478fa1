"""Events: expressions that pass zero within a step, found in time order on the interpolant.

An event's sign is looked at on a grid of points of each step, so that a short touch between two step ends is not missed:
first on the cubic through both ends, which costs no derivative; only if a sign differs there, on the full interpolant. A
value of exactly zero has no sign: a run that starts at zero starts with no event. Inputs count as they were at the last
stage, so an event should watch states, not a control.
"""

from __future__ import annotations

from typing import Any

from draisine.simulation.stepper.explicit_rk import copy, interpolate, prepare_dense
from draisine.simulation.stepper.layout import GRID
from draisine.simulation.stepper.native import call_kernel, integers_at, matrix_at, reals_at


def watch(s: Any, time: float, target_at: int) -> None:
    """Write the values of all events at (time, point)."""
    reals_at(s.time_at, 1)[0] = time
    integers_at(s.results, 2)[0] = target_at
    call_kernel(s.watch, s.arguments, s.results)


def sign_of(value: float) -> int:
    if value > 0.0:
        return 1
    return -1 if value < 0.0 else 0


def begin_watch(s: Any) -> None:
    """The signs at the start of a run."""
    watch(s, s.t, s.grid_at)
    grid, sign = matrix_at(s.grid_at, GRID + 1, s.events), integers_at(s.sign_at, s.events)
    for e in range(s.events):
        sign[e] = sign_of(grid[0, e])


def value_at(s: Any, m: Any, h: float, event: int, theta: float) -> float:
    interpolate(s, m.terms, theta, s.point_at, s.states)
    watch(s, s.t + theta * h, s.values_at)
    return reals_at(s.values_at, s.events)[event]


def fill_grid(s: Any, terms: int, h: float) -> None:
    """Values of all events at the inner points of the grid."""
    for i in range(1, GRID):
        theta = i / GRID
        interpolate(s, terms, theta, s.point_at, s.states)
        watch(s, s.t + theta * h, s.grid_at + 8 * s.events * i)


def crosses(sign: int, value: float, direction: int) -> bool:
    """Whether a value has left the last known sign, in a direction that counts. NaN has left nothing."""
    return sign != 0 and value == value and sign_of(value) != sign and (direction == 0 or direction == -sign)


def moved(sign: int, value: float) -> int:
    """The last known sign after a value."""
    return sign_of(value) if value == value else sign


def any_crossing(s: Any) -> bool:
    grid, signs = matrix_at(s.grid_at, GRID + 1, s.events), integers_at(s.sign_at, s.events)
    direction = integers_at(s.direction_at, s.events)
    for e in range(s.events):
        sign = signs[e]
        for i in range(1, GRID + 1):
            if crosses(sign, grid[i, e], direction[e]):
                return True
            sign = moved(sign, grid[i, e])
    return False


def find_crossings(s: Any, m: Any, h: float, new_time: float) -> int:
    """Fill `root`, `root_event` in order of time with the events of the step from t to new_time; return their number."""
    copy(s.new_at, s.point_at, s.states)
    watch(s, new_time, s.grid_at + 8 * s.events * GRID)
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


def settle(s: Any) -> None:
    """The step is accepted: its end is the start of the next one."""
    grid, signs = matrix_at(s.grid_at, GRID + 1, s.events), integers_at(s.sign_at, s.events)
    for e in range(s.events):
        for i in range(1, GRID + 1):
            signs[e] = moved(signs[e], grid[i, e])
        grid[0, e] = grid[GRID, e]


def collect(s: Any, m: Any, h: float) -> int:
    """Roots of every event in every part of the grid, sorted by insertion."""
    grid, signs = matrix_at(s.grid_at, GRID + 1, s.events), integers_at(s.sign_at, s.events)
    direction = integers_at(s.direction_at, s.events)
    root, root_event = reals_at(s.root_at, GRID * s.events), integers_at(s.root_event_at, GRID * s.events)
    count = 0
    for e in range(s.events):
        sign = signs[e]
        for i in range(1, GRID + 1):
            if crosses(sign, grid[i, e], direction[e]):
                theta = solve(s, m, h, e, sign, i)
                place = count
                while place > 0 and root[place - 1] > theta:
                    root[place], root_event[place] = root[place - 1], root_event[place - 1]
                    place -= 1
                root[place], root_event[place] = theta, e
                count += 1
            sign = moved(sign, grid[i, e])
    return count


def solve(s: Any, m: Any, h: float, event: int, sign: int, part: int) -> float:
    """The fraction of the step at which an event passes zero in a part of the grid.

    T. R. Chandrupatla, "A new hybrid quadratic/bisection algorithm for finding the zero of a nonlinear function without using
    derivatives", Advances in Engineering Software 28 (1997) 145–149.
    """
    grid = matrix_at(s.grid_at, GRID + 1, s.events)
    a, b = part / GRID, (part - 1) / GRID  # a is the newest point, b the other end, c the one before
    value_a, value_b = grid[part, event], grid[part - 1, event]
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
