"""Inside one step: derivatives, stages, the error estimate and the interpolant.

These functions are compiled by Numba as they stand (see `stored`), and run in the interpreter as well. `s` is
the block of `layout`, `m` the block of the scheme in use.
"""

from __future__ import annotations

import math
from typing import Any

from draisine.simulation.stepper.layout import TERMS
from draisine.simulation.stepper.native import call_kernel, integers_at, matrix_at, reals_at


def copy(source: int, target: int, length: int) -> None:
    """Copy doubles from one address to another."""
    a, b = reals_at(source, length), reals_at(target, length)
    for i in range(length):
        b[i] = a[i]


def first_bad(address: int, length: int) -> int:
    """The position of the first number that is infinite or not a number, or −1."""
    a = reals_at(address, length)
    for i in range(length):
        if not math.isfinite(a[i]):
            return i
    return -1


def row_at(s: Any, row: int) -> int:
    """The address of a row of derivatives."""
    return s.k_at + 8 * s.width * row


def command(s: Any, time: float) -> None:
    """Let the control set the inputs for (time, point)."""
    reals_at(s.time_at, 1)[0] = time
    if s.control != 0:
        integers_at(s.results, 2)[0] = s.command_at
        call_kernel(s.control, s.arguments, s.results)
        copy(s.command_at, s.inputs_at, s.inputs)


def evaluate(s: Any, time: float, row: int) -> None:
    """Write the derivative at (time, point) into a row. After an abort by the control the row is left as it is."""
    command(s, time)
    if s.aborted == 0:
        integers_at(s.results, 2)[0] = row_at(s, row)
        call_kernel(s.dynamics, s.arguments, s.results)
        s.evaluations += 1


def weigh(s: Any, weights_at: int, count: int, target_at: int) -> None:
    """target = Σ_j weights[j] k_j over the first `count` rows."""
    width = s.width
    weights, target, k = reals_at(weights_at, count), reals_at(target_at, width), matrix_at(s.k_at, count, width)
    for i in range(width):
        target[i] = 0.0
    for j in range(count):
        weight = weights[j]
        if weight != 0.0:
            for i in range(width):
                target[i] += weight * k[j, i]


def place(s: Any, m: Any, row: int, h: float, target_at: int) -> None:
    """target = x + h Σ_j weights[row, j] k_j."""
    weigh(s, m.weights_at + 8 * m.rows * row, row, target_at)
    x, target = reals_at(s.x_at, s.width), reals_at(target_at, s.width)
    for i in range(s.width):
        target[i] = x[i] + h * target[i]


def attempt(s: Any, m: Any, h: float) -> None:
    """Compute the stages and the new state of a step; the derivatives of its history are there."""
    nodes = reals_at(m.nodes_at, m.rows)
    for row in range(m.history, m.stages):
        place(s, m, row, h, s.point_at)
        evaluate(s, s.t + nodes[row] * h, row)
        if s.aborted != 0:
            return
    place(s, m, m.stages, h, s.new_at)


def scale(s: Any, i: int) -> float:
    """The error allowed to state i."""
    x, new, atol = reals_at(s.x_at, s.width), reals_at(s.new_at, s.width), reals_at(s.atol_at, s.states)
    return atol[i] + s.rtol * max(abs(x[i]), abs(new[i]))


def error_size(s: Any, m: Any, h: float) -> float:
    """The error of the step in units of the tolerance, root mean square over the states.

    Two estimates are combined as in Hairer, Nørsett & Wanner I, eq. (II.10.17); with the second zero the first remains.
    """
    width = s.width
    weigh(s, m.error_at, m.stages, s.error_at)
    weigh(s, m.error_at + 8 * m.rows, m.stages, s.error_at + 8 * width)
    error = matrix_at(s.error_at, 2, width)
    main, other = 0.0, 0.0
    for i in range(s.states):
        unit = 1.0 / scale(s, i)
        main += (error[0, i] * unit) ** 2
        other += (error[1, i] * unit) ** 2
    if main == 0.0:
        return 0.0
    return abs(h) * main / math.sqrt((main + 0.01 * other) * s.states)


def largest_error(s: Any) -> int:
    """The state whose scaled error is the largest."""
    error = matrix_at(s.error_at, 2, s.width)
    worst, size = 0, -1.0
    for i in range(s.states):
        scaled = abs(error[0, i]) / scale(s, i)
        if scaled > size:
            worst, size = i, scaled
    return worst


def blame(s: Any, m: Any, h: float, last: int) -> None:
    """Note the first derivative that is not finite among the stages up to `last`, else the first such state."""
    nodes = reals_at(m.nodes_at, m.rows)
    for row in range(m.history, last + 1):
        bad = first_bad(row_at(s, row), s.states)
        if bad >= 0:
            s.culprit, s.culprit_is_state, s.bad_time = bad, 0, s.t + nodes[row] * h
            return
    s.culprit, s.culprit_is_state, s.bad_time = max(0, first_bad(s.new_at, s.states)), 1, s.t + h


# A run is stiff if stability limits its steps: the stretch of a derivative over a difference of two points of the step, times h,
# lies at the border of the stability region. Hairer, Nørsett & Wanner II, section IV.2, and the code DOP853.
STABILITY_BORDER = 6.1
LOOK_EVERY = 10
SEEN, UNSEEN = 15, 6


def looks_stiff(s: Any, m: Any, h: float) -> bool:
    """Whether steps at the border of stability were seen often enough; the derivative at the new point is there.

    The two points are the new one and that of the last stage, which lie at the same time.
    """
    if s.suspect == 1 and s.stiff_steps == 0 and s.accepted % LOOK_EVERY != 0:
        return False
    last = m.stages - 1
    place(s, m, last, h, s.point_at)
    new, point = reals_at(s.new_at, s.states), reals_at(s.point_at, s.states)
    rate, other = reals_at(row_at(s, m.stages), s.states), reals_at(row_at(s, last), s.states)
    above, below = 0.0, 0.0
    for i in range(s.states):
        unit = 1.0 / scale(s, i)
        above += ((rate[i] - other[i]) * unit) ** 2
        below += ((new[i] - point[i]) * unit) ** 2
    if abs(h) * math.sqrt(above) > STABILITY_BORDER * math.sqrt(below):
        s.calm_steps = 0
        s.stiff_steps += 1
        return s.stiff_steps >= SEEN
    s.calm_steps += 1
    if s.calm_steps >= UNSEEN:
        s.stiff_steps = 0
    return False


def prepare_cubic(s: Any, m: Any, h: float) -> None:
    """F₀ … F₂ of the interpolant: the cubic Hermite polynomial."""
    width = s.width
    x, new, f = reals_at(s.x_at, width), reals_at(s.new_at, width), matrix_at(s.dense_at, TERMS, width)
    old_rate, new_rate = reals_at(row_at(s, 0), width), reals_at(row_at(s, m.stages), width)
    for i in range(width):
        increment = new[i] - x[i]
        f[0, i] = increment
        f[1, i] = h * old_rate[i] - increment
        f[2, i] = 2.0 * increment - h * (old_rate[i] + new_rate[i])
    s.ready = 0


def prepare_dense(s: Any, m: Any, h: float) -> None:
    """The further coefficients of the interpolant, with the stages that serve them alone."""
    width = s.width
    nodes = reals_at(m.nodes_at, m.rows)
    for row in range(m.stages + 1, m.rows):
        place(s, m, row, h, s.point_at)
        evaluate(s, s.t + nodes[row] * h, row)
        if s.aborted != 0:
            return
    f = matrix_at(s.dense_at, TERMS, width)
    for term in range(3, m.terms):
        weigh(s, m.dense_at + 8 * m.rows * (term - 3), m.rows, s.dense_at + 8 * width * term)
        for i in range(width):
            f[term, i] *= h
    s.ready = 1


def interpolate(s: Any, terms: int, theta: float, target_at: int, length: int) -> None:
    """target = the interpolant at the fraction θ of the step, using its first `terms` coefficients."""
    x, target, f = reals_at(s.x_at, length), reals_at(target_at, length), matrix_at(s.dense_at, TERMS, s.width)
    rest = 1.0 - theta
    for i in range(length):
        value = 0.0
        for back in range(terms):
            term = terms - 1 - back
            value = (value + f[term, i]) * (theta if term % 2 == 0 else rest)
        target[i] = x[i] + value
