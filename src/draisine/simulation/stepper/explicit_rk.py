"""One step of an explicit method: derivatives, stages, error estimate, stiffness detection, interpolant.

Like all of the stepping loop these functions are restricted Python (`codegen.restricted`): they are compiled without change,
and run in the interpreter as well.
"""

from __future__ import annotations

import math

from draisine.codegen.restricted.types import Matrix, Vector, call_kernel
from draisine.simulation.stepper.contact_field import contact_field, contact_margins, write_margins
from draisine.simulation.stepper.contact_layout import MODE_ENTRIES
from draisine.simulation.stepper.layout import TERMS, Stepper, Tableau
from draisine.simulation.stepper.sliding import sliding_field


def copy(source: Vector, target: Vector, length: int) -> None:
    """Copy the first numbers of an array to another."""
    for i in range(length):
        target[i] = source[i]


def first_nonfinite(numbers: Vector, length: int) -> int:
    """The index of the first number that is not finite, or −1."""
    for i in range(length):
        if not math.isfinite(numbers[i]):
            return i
    return -1


def apply_control(s: Stepper, time: float) -> None:
    """Have the control set the inputs for (time, point)."""
    s.time[0] = time
    if s.control != 0:
        call_kernel(s.control, (s.time, s.point, s.u, s.parameters), (s.command,))
        copy(s.command, s.u, s.inputs)


def evaluate(s: Stepper, time: float, row: int) -> None:
    """Write the derivative at (time, point) into a row. After an abort by the control the row is unchanged."""
    apply_control(s, time)
    if s.aborted == 0:
        if s.switching != 0 and s.sliding > 0:
            sliding_field(s, s.k[row])
            return
        s.evaluations += 1
        if s.unilateral != 0 and s.modes.system_kernel != 0 and s.modes.usual == 0:
            contact_field(s, s.k[row])
            return
        call_kernel(s.dynamics, (s.time, s.point, s.u, s.parameters), (s.k[row],))


def weighted_sum(k: Matrix, weights: Vector, count: int, target: Vector, width: int) -> None:
    """target = Σ_j weights[j] k_j over the first `count` rows."""
    for i in range(width):
        target[i] = 0.0
    for j in range(count):
        weight = weights[j]
        if weight != 0.0:
            for i in range(width):
                target[i] += weight * k[j, i]


def stage_point(s: Stepper, m: Tableau, row: int, h: float, target: Vector) -> None:
    """target = x + h Σ_j weights[row, j] k_j."""
    weighted_sum(s.k, m.weights[row], row, target, s.width)
    x = s.x
    for i in range(s.width):
        target[i] = x[i] + h * target[i]


def attempt(s: Stepper, m: Tableau, h: float) -> None:
    """Compute the stages and the new state of a step; the derivatives of its history are known."""
    monitored = len(m.monitored) if watches_contacts(s) else 0
    noted = 0
    for row in range(m.history, m.stages):
        stage_point(s, m, row, h, s.point)
        evaluate(s, s.t + m.nodes[row] * h, row)
        if s.aborted != 0:
            return
        if noted < monitored and m.monitored[noted] == row:
            contact_margins(s, True)
            write_margins(s.modes, s.modes.stage_margin[noted])
            noted += 1
    stage_point(s, m, m.stages, h, s.new)


def watches_contacts(s: Stepper) -> bool:
    """Whether margins of contacts follow from derivatives, and there are no others."""
    if s.unilateral == 0 or s.branch_margins != 0:
        return False
    return s.modes.system_kernel != 0 and s.modes.usual == 0


def scale(s: Stepper, i: int) -> float:
    """The error tolerance of state i."""
    return s.atol[i] + s.rtol * max(abs(s.x[i]), abs(s.new[i]))


def error_size(s: Stepper, m: Tableau, h: float) -> float:
    """The error of the step in units of the tolerance, root mean square over the states.

    Two estimates are combined as in Hairer, Nørsett & Wanner I, eq. (II.10.17); if the second is zero the first remains.
    """
    error = s.error
    weighted_sum(s.k, m.error[0], m.stages, error[0], s.width)
    weighted_sum(s.k, m.error[1], m.stages, error[1], s.width)
    main, other = 0.0, 0.0
    for i in range(s.states):
        unit = 1.0 / scale(s, i)
        main += (error[0, i] * unit) ** 2
        other += (error[1, i] * unit) ** 2
    if main == 0.0:
        return 0.0
    return abs(h) * main / math.sqrt((main + 0.01 * other) * s.states)


def largest_error(s: Stepper) -> int:
    """The state whose scaled error is the largest."""
    worst, size = 0, -1.0
    for i in range(s.states):
        scaled = abs(s.error[0, i]) / scale(s, i)
        if scaled > size:
            worst, size = i, scaled
    return worst


def record_nonfinite(s: Stepper, m: Tableau, h: float, last: int) -> None:
    """Record the first derivative that is not finite among the stages up to `last`, else the first such state."""
    for row in range(m.history, last + 1):
        bad = first_nonfinite(s.k[row], s.states)
        if bad >= 0:
            s.failed_index, s.failed_kind, s.bad_time = bad, 0, s.t + m.nodes[row] * h
            return
    s.failed_index, s.failed_kind, s.bad_time = max(0, first_nonfinite(s.new, s.states)), 1, s.t + h


# A run is stiff if stability limits its steps: h times the ratio of the differences of derivatives and states at two points of
# the step lies at the border of the stability region. Hairer & Wanner II, section IV.2, and the code DOP853.
STABILITY_BORDER = 6.1
STIFFNESS_TEST_INTERVAL = 10
STIFF_LIMIT, NONSTIFF_LIMIT = 15, 6
# The same with contacts after implicit steps: while a slip is slow, terms of high order in h times this ratio limit the error of
# explicit steps before stability does, and implicit steps are longer.
CONTACT_BORDER, CONTACT_STIFF_LIMIT, CONTACT_NONSTIFF_LIMIT = 3.5, 6, 3
SLOW = 0.1  # such a slip, relative to the largest velocity; friction that locks contacts as they slip is stiff, too


def is_stiff(s: Stepper, m: Tableau, h: float) -> bool:
    """Whether enough steps were at the border of stability; the derivative at the new point is known.

    The two points are the new state and the last stage, which belong to the same time.
    """
    if s.check_stiffness == 1 and s.stiff_steps == 0 and s.accepted % STIFFNESS_TEST_INTERVAL != 0:
        return False
    last = m.stages - 1
    stage_point(s, m, last, h, s.point)
    new, point, rate, other = s.new, s.point, s.k[m.stages], s.k[last]
    above, below = 0.0, 0.0
    for i in range(s.states):
        unit = 1.0 / scale(s, i)
        above += ((rate[i] - other[i]) * unit) ** 2
        below += ((new[i] - point[i]) * unit) ** 2
    contacts = s.check_stiffness == 2 and slips_slowly(s)
    if abs(h) * math.sqrt(above) > (CONTACT_BORDER if contacts else STABILITY_BORDER) * math.sqrt(below):
        s.nonstiff_steps = 0
        s.stiff_steps += 1
        return s.stiff_steps >= (CONTACT_STIFF_LIMIT if contacts else STIFF_LIMIT)
    s.nonstiff_steps += 1
    if s.nonstiff_steps >= (CONTACT_NONSTIFF_LIMIT if contacts else NONSTIFF_LIMIT):
        s.stiff_steps = 0
    return False


# Errors of steps below this say nothing about stability; such steps do not grow beyond a multiple of its border.
QUIET, BEYOND = 1e-4, 2.0
ROUNDING = 2e-14  # of states, with a margin


def stable_length(s: Stepper, m: Tableau, h: float) -> float:
    """The length of the next step, at most, behind one without an error to speak of.

    Beside a stiff equilibrium errors are zero and steps grow until they amplify rounding errors: as soon as the difference of two
    points of the step is above rounding, it shows by how much.
    """
    last = m.stages - 1
    stage_point(s, m, last, h, s.point)
    new, point, rate, other = s.new, s.point, s.k[m.stages], s.k[last]
    above, below, units = 0.0, 0.0, 0.0
    for i in range(s.states):
        unit = 1.0 / scale(s, i)
        above += ((rate[i] - other[i]) * unit) ** 2
        below += ((new[i] - point[i]) * unit) ** 2
        units += (ROUNDING * new[i] * unit) ** 2
    border = BEYOND * STABILITY_BORDER * math.sqrt(below)
    if below <= units or math.sqrt(above) <= 0.0:
        return math.inf
    return border / math.sqrt(above)


def slips_slowly(s: Stepper) -> bool:
    """Whether a contact slips in a plane, slowly at the start of the step."""
    if s.unilateral == 0 or s.modes.usual != 0:
        return False
    c, largest, found = s.modes, 0.0, False
    for j in range(c.velocities):
        largest = max(largest, abs(s.x[c.first_velocity + j]))
    for i in range(c.contacts):
        slips = c.ways[i] > 1 and c.mode[MODE_ENTRIES * i] != 0.0 and c.mode[MODE_ENTRIES * i + 1] == 0.0
        found = found or (slips and s.margin[0, c.first_margin + 2 * i + 1] < SLOW * largest)
    return found


def prepare_cubic(s: Stepper, m: Tableau, h: float) -> None:
    """F₀ … F₂ of the interpolant: the cubic Hermite polynomial."""
    x, new, f, old_rate, new_rate = s.x, s.new, s.dense, s.k[0], s.k[m.stages]
    for i in range(s.width):
        increment = new[i] - x[i]
        f[0, i] = increment
        f[1, i] = h * old_rate[i] - increment
        f[2, i] = 2.0 * increment - h * (old_rate[i] + new_rate[i])
    s.dense_ready = 0


# `dense_ready`: the interpolant and the point of its last stage disagree by more than `MOST_APART` tolerances. In motions that
# the method resolves they are 0.1 to 300 apart (Van der Pol, Kepler, Lorenz, bicycles; tolerances 1e-4 to 1e-11).
KNOWN, UNRESOLVED = 1, 2
MOST_APART = 1e3


def prepare_dense(s: Stepper, m: Tableau, h: float) -> None:
    """The further coefficients of the interpolant, with the stages that only they need.

    The error of a step says nothing about these stages. Beside a stiff equilibrium, where it is zero, steps grow beyond the limit
    of stability, and each stage amplifies rounding errors by more than the one before. Contacts that open are stiff where their
    slips stop, which has rules of its own (`contact_slip.py`).
    """
    for row in range(m.stages + 1, m.rows):
        stage_point(s, m, row, h, s.point)
        copy(s.point, s.error[0], s.states)
        evaluate(s, s.t + m.nodes[row] * h, row)
        if s.aborted != 0:
            return
    f = s.dense
    for term in range(3, m.terms):
        weighted_sum(s.k, m.dense[term - 3], m.rows, f[term], s.width)
        for i in range(s.width):
            f[term, i] *= h
    s.dense_ready = KNOWN
    if s.adaptive != 0 and s.unilateral == 0 and m.rows > m.stages + 1:
        interpolate(s, m.terms, m.nodes[m.rows - 1], s.error[1], s.states)
        apart = 0.0
        for i in range(s.states):
            apart += ((s.error[1, i] - s.error[0, i]) / scale(s, i)) ** 2
        if apart > s.states * MOST_APART**2:
            s.dense_ready = UNRESOLVED


def interpolate(s: Stepper, terms: int, theta: float, target: Vector, length: int) -> None:
    """target = the interpolant at the fraction θ of the step, with its first `terms` coefficients."""
    x, f, rest = s.x, s.dense, 1.0 - theta
    if terms == TERMS:  # of DOP853, in one sum: many points of every step that may end a margin
        a, b, c, d, e, g, h = f[0], f[1], f[2], f[3], f[4], f[5], f[6]
        for i in range(length):
            value = ((((h[i] * theta + g[i]) * rest + e[i]) * theta + d[i]) * rest + c[i]) * theta
            target[i] = x[i] + ((value + b[i]) * rest + a[i]) * theta
        return
    for i in range(length):
        value = 0.0
        for back in range(terms):
            term = terms - 1 - back
            value = (value + f[term, i]) * (theta if term % 2 == 0 else rest)
        target[i] = x[i] + value
