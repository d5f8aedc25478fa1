"""Step size control: the first step, the step after an accepted or rejected attempt, and the smallest step.

Explicit methods: Hairer, Nørsett & Wanner I, section II.4, and II, section IV.2 for the proportional–integral form. Implicit
methods: the predictive controller of K. Gustafsson, as in the code RADAU5 (II, section IV.8), which also decides how long
Jacobians and their factors are kept.
"""

from __future__ import annotations

import math

from draisine.simulation.stepper.events_and_samples import precedes
from draisine.simulation.stepper.explicit_rk import evaluate, largest_error, record_nonfinite
from draisine.simulation.stepper.implicit_rk import max_iterations
from draisine.simulation.stepper.layout import (
    CONTINUE,
    NONFINITE_VALUES,
    NOT_FINITE,
    SOLVED,
    STEP_TOO_SMALL,
    UNSOLVED,
    Stepper,
    Tableau,
)
from draisine.simulation.stepper.time_limits import horizon, limit_to_kinks, next_stop

EPSILON = 2.220446049250313e-16
SAFETY, SHRINK, GROW, BETA = 0.9, 0.2, 6.0, 0.02
# Of implicit methods.
MOST_GROWTH, MOST_SHRINKING = 8.0, 0.2
FIRST_SHRINK, AGAIN_SHRINK = 0.1, 0.4  # where stages were not solved: of a first step, and of one that was shortened before
UNSOLVED_PART, REGROWTH = 0.7, 1.3  # of a step whose stages were not solved up to which the next are, and its growth with each
KEEP_UP_TO = 1.2  # a step that could grow by less is not changed, so that its factors can be reused
GOOD_CONVERGENCE = 1e-3  # convergence rate up to which Jacobians are kept; new ones are cheap …
GOOD_WITH_CONTACTS = 0.05  # … but those of contacts, one of which takes as long as ten iterations
GOOD_EXACT_CONVERGENCE = 1e-2  # the same where iterations continue to rounding error


def plan_fixed_steps(s: Stepper) -> None:
    """Divide the time to the end into equal steps, none longer than `step`."""
    span = s.end - s.t
    s.planned_steps = max(1, math.ceil(abs(span) / s.step - 1e-9))
    s.index = 0
    s.origin = s.t
    s.h = span / s.planned_steps
    if s.switching != 0:
        # Fixed steps have no error control that sees a kink: they end at kinks where that costs little.
        kinks = 0
        for i in range(s.marks):
            kinks += 1 if s.mark_kink[i] == i else 0
        s.hits_kinks = 1 if kinks <= 0.2 * s.planned_steps else 0


def first_step(s: Stepper) -> None:
    """An automatic first step: Hairer, Nørsett & Wanner I, section II.4, "Starting step size"."""
    n, x, f, atol, point, g = s.states, s.x, s.k[0], s.atol, s.point, s.k[1]
    size, rate = 0.0, 0.0
    for i in range(n):
        unit = 1.0 / (atol[i] + s.rtol * abs(x[i]))
        size += (x[i] * unit) ** 2
        rate += (f[i] * unit) ** 2
    size, rate = math.sqrt(size / n), math.sqrt(rate / n)
    longest = min(abs(s.end - s.t), s.max_step)
    trial = 0.01 * size / rate if size > 1e-5 and rate > 1e-5 else 1e-6
    trial = min(trial, longest)
    direction = 1.0 if s.end >= s.t else -1.0
    for i in range(n):
        point[i] = x[i] + direction * trial * f[i]
    evaluate(s, s.t + direction * trial, 1)
    curvature = 0.0
    for i in range(n):
        curvature += ((g[i] - f[i]) / (atol[i] + s.rtol * abs(x[i]))) ** 2
    curvature = math.sqrt(curvature / n) / trial if trial > 0.0 else 0.0
    largest_rate = max(rate, curvature)
    if not math.isfinite(largest_rate):
        length = 1e-3 * trial
    elif largest_rate <= 1e-15:
        length = max(1e-6, 1e-3 * trial)
    else:
        length = (0.01 / largest_rate) ** (1.0 / s.tableau.order)
    s.h = direction * min(100.0 * trial, length, longest)


def next_step(s: Stepper) -> tuple[float, float]:
    """The length of the next step and its end time, exactly the end of the run if it is the last step."""
    if s.switching != 0 or s.marks != 0:
        return next_limited_step(s)
    if s.adaptive == 0:
        s.index += 1
        return s.h, (s.end if s.index >= s.planned_steps else s.origin + s.index * s.h)
    left = s.end - s.t
    h = math.copysign(min(abs(s.h), s.max_step), left)
    if abs(h) * 1.01 >= abs(left):
        return left, s.end
    return h, s.t + h


def next_limited_step(s: Stepper) -> tuple[float, float]:
    """The same where steps end at restart times and stops. A fixed step to one is followed by one to the next multiple."""
    limit = horizon(s) if s.switching != 0 else s.end
    if s.marks > 0:
        limit = next_stop(s, limit)
    grid, planned, h = limit, limit, limit - s.t
    if s.adaptive == 0:
        grid = s.end if s.index + 1 >= s.planned_steps else s.origin + (s.index + 1) * s.h
        end = limit if precedes(s, limit, grid) else grid
    else:
        whole = math.copysign(min(abs(s.h), s.max_step), h)
        if abs(whole) * 1.01 < abs(h):
            planned, h = s.t + whole, whole
        end = planned
    if s.marks > 0:
        end = limit_to_kinks(s, s.tableau, end)
    if s.adaptive == 0:
        s.grid_step = 1 if end == grid else 0
        s.index += s.grid_step
        s.irregular = 1 - s.grid_step if s.off_grid == 0 else 1
        if s.irregular == 0:
            return s.h, end
    elif end == planned:
        return h, end  # not the difference of rounded times: a step that is not shortened may propose a shorter one
    return end - s.t, end


def smallest_step(s: Stepper) -> float:
    return 16.0 * EPSILON * max(abs(s.t), 1e-3 * abs(s.end - s.t))


def halve_step(s: Stepper, m: Tableau, h: float, last: int) -> int:
    """A value is not finite: halve the step, unless it is too small."""
    s.rejected += 1
    s.last_rejected = 1
    s.h = 0.5 * h
    if s.adaptive != 0 and abs(s.h) >= smallest_step(s):
        return CONTINUE
    record_nonfinite(s, m, h, last)
    return NOT_FINITE


def reject(s: Stepper, m: Tableau, h: float, size: float) -> int:
    """The error is too large: shorten the step, unless it is too small."""
    s.rejected += 1
    s.last_rejected = 1
    shrink = SAFETY * size ** (-1.0 / m.order) if math.isfinite(size) else SHRINK
    s.h = h * max(SHRINK, shrink)
    if abs(s.h) >= smallest_step(s):
        return CONTINUE
    s.failed_index, s.failed_kind, s.bad_time = largest_error(s), 1, s.t
    return STEP_TOO_SMALL


def propose(s: Stepper, m: Tableau, h: float, size: float) -> None:
    """The step size after an accepted step."""
    if s.adaptive == 0:
        return
    floor = max(size, 1e-10)
    factor = SAFETY * floor ** (-(1.0 / m.order - 0.75 * BETA)) * s.last_error**BETA
    factor = min(GROW, max(SHRINK, factor))
    if s.last_rejected != 0:
        factor = min(1.0, factor)
    s.last_rejected = 0
    s.last_error = max(size, 1e-4)
    # A step shortened by the end of the run says little about the next one: keep the longer proposal.
    s.h = max(abs(h) * factor, abs(s.h)) if abs(h) < abs(s.h) else abs(h) * factor


def shorten(s: Stepper, m: Tableau, h: float, factor: float) -> int:
    """A step has missed something that error control does not see: shorten it, unless it is too small."""
    s.rejected += 1
    s.last_rejected = 1
    s.h = factor * h
    if m.implicit != 0 and s.jacobian_fresh == 0:
        s.jacobian_old = 1
    if abs(s.h) >= 16.0 * EPSILON * abs(s.t):
        return CONTINUE
    s.failed_index, s.failed_kind, s.bad_time = largest_error(s), 1, s.t
    return STEP_TOO_SMALL


# ---------------------------------------------------------------------------------------------------- implicit methods


def first_implicit_step(s: Stepper) -> None:
    """A hundredth of the time in which the states change by their own size, as far as rates are known."""
    x, rate, atol, index = s.x, s.k[0], s.atol, s.dae_index
    size, speed = 0.0, 0.0
    for i in range(s.states):
        if index[i] <= 1:
            unit = 1.0 / (atol[i] + s.rtol * abs(x[i]))
            size += (x[i] * unit) ** 2
            speed += (rate[i] * unit) ** 2
    size, speed = math.sqrt(size), math.sqrt(speed)
    longest = min(abs(s.end - s.t), s.max_step)
    trial = 0.01 * size / speed if size > 1e-5 and speed > 1e-5 else 1e-6
    s.h = math.copysign(min(trial, longest), s.end - s.t)


def retry_implicit_step(s: Stepper, m: Tableau, h: float, outcome: int) -> int:
    """The stages were not solved: recompute Jacobians of an earlier point, else shorten the step."""
    s.past_stage_valid = 0
    if s.adaptive == 0:
        s.index -= 1 if s.switching == 0 and s.marks == 0 else s.grid_step
    if s.jacobian_fresh == 0:
        s.jacobian_old = 1
        return CONTINUE
    s.rejected += 1
    most = FIRST_SHRINK if s.accepted_h == 0.0 else (AGAIN_SHRINK if s.last_rejected != 0 else 1.0)
    s.last_rejected = 1
    if s.solver_failure != NONFINITE_VALUES:
        s.solver_failure = outcome
    if s.adaptive != 0:
        s.h, s.longest_step = h * min(s.shrink_factor, most), UNSOLVED_PART * abs(h)
        if abs(s.h) >= smallest_implicit_step(s):
            return CONTINUE
    return NOT_FINITE if s.solver_failure == NONFINITE_VALUES else UNSOLVED


def smallest_implicit_step(s: Stepper) -> float:
    """Stiff runs span many orders of magnitude in time: the first step may be below the rounding error of the end time."""
    return 16.0 * EPSILON * max(abs(s.t), 1e-10 * abs(s.end - s.t))


def step_divisor(s: Stepper, m: Tableau, size: float) -> float:
    """The divisor of the step for an error of this size; it is larger after many iterations."""
    iterations = max_iterations(s, m)
    caution = min(SAFETY, SAFETY * (1.0 + 2.0 * iterations) / (s.iterations + 2.0 * iterations))
    quotient = size ** (1.0 / m.power) / caution if size > 0.0 else 0.0
    return max(1.0 / MOST_GROWTH, min(1.0 / MOST_SHRINKING, quotient))


def reject_implicit(s: Stepper, m: Tableau, h: float, size: float) -> int:
    """The error is too large: shorten the step, unless it is too small."""
    s.rejected += 1
    s.last_rejected = 1
    if s.accepted == 0:
        s.h = 0.1 * h
    else:
        s.h = h / step_divisor(s, m, size) if math.isfinite(size) else h * MOST_SHRINKING
    if s.jacobian_fresh == 0:
        s.jacobian_old = 1
    if abs(s.h) >= smallest_implicit_step(s):
        return CONTINUE
    s.failed_index, s.failed_kind, s.bad_time = largest_error(s), 1, s.t
    return STEP_TOO_SMALL


def propose_implicit(s: Stepper, m: Tableau, h: float, size: float) -> None:
    """The step size after an accepted step, and whether it needs new Jacobians."""
    s.jacobian_fresh, s.solver_failure = 0, SOLVED
    if s.adaptive == 0:
        s.jacobian_old = 1 if s.convergence > GOOD_EXACT_CONVERGENCE else 0
        return
    s.jacobian_old = 1 if s.convergence > (GOOD_CONVERGENCE if s.unilateral == 0 else GOOD_WITH_CONTACTS) else 0
    quotient = step_divisor(s, m, size)
    if s.accepted_h != 0.0:  # predicted from the last two steps (Gustafsson 1994)
        predicted = s.accepted_h / abs(h) * (max(size, 1e-10) ** 2 / s.accepted_error) ** (1.0 / m.power) / SAFETY
        quotient = max(quotient, max(1.0 / MOST_GROWTH, min(1.0 / MOST_SHRINKING, predicted)))
    s.accepted_h, s.accepted_error = abs(h), max(1e-2, size)
    if s.last_rejected != 0:
        quotient = max(1.0, quotient)
    s.last_rejected = 0
    if s.jacobian_old == 0 and 1.0 <= 1.0 / quotient <= KEEP_UP_TO:
        quotient = 1.0
    # A step shortened by the end of the run says little about the next one: keep the longer proposal.
    s.h = max(abs(h) / quotient, abs(s.h)) if abs(h) < abs(s.h) else abs(h) / quotient
    if s.longest_step > 0.0:
        s.longest_step *= REGROWTH
        s.h = min(s.h, s.longest_step)
