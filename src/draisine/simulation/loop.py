"""The stepping loop, one for all explicit methods: attempt, judge, notice events, sample, accept, project, watch.

It works on memory of the driver alone (`layout`) and can be left and entered again at any step, to the same bits. Numba
compiles it as it stands (`stored`); no Python runs between two steps, save a control function of the user's.
"""

from __future__ import annotations

import math
from typing import Any

from draisine.simulation.crossings import begin_watch, find_crossings, settle, watch
from draisine.simulation.layout import (
    ABORTED,
    CHANGED,
    FRESH,
    FULL,
    GO_ON,
    GRID,
    NOT_FINITE,
    PAUSED,
    REACHED,
    RUNNING,
    STEP_TOO_SMALL,
    STOPPED,
    SWITCH,
    TOO_MANY_STEPS,
)
from draisine.simulation.native import block_at, call_kernel, integers_at, reals_at, scheme_at
from draisine.simulation.stages import (
    attempt,
    blame,
    command,
    copy,
    error_size,
    evaluate,
    first_bad,
    interpolate,
    largest_error,
    prepare_cubic,
    prepare_dense,
    row_at,
)

EPSILON = 2.220446049250313e-16
# Step control (Hairer, Nørsett & Wanner I, section II.4, and II, section IV.2 for the proportional–integral form).
SAFETY, SHRINK, GROW, BETA = 0.9, 0.2, 6.0, 0.02


def advance(address: int) -> int:
    """Go on from where the block stands until something stops the loop; return why."""
    s = block_at(address)
    if s.phase != RUNNING:
        reason = begin(s)
        if reason != GO_ON:
            return reason
    for _ in range(s.budget):
        if s.t == s.end:
            return REACHED
        if s.accepted + s.rejected >= s.max_steps:
            return TOO_MANY_STEPS
        if s.stepped >= s.step_room or s.happened + GRID * s.events > s.event_room:
            return FULL
        reason = step(s)
        if reason != GO_ON:
            return reason
    return REACHED if s.t == s.end else PAUSED


# --------------------------------------------------------------------------------------------------------- beginning


def begin(s: Any) -> int:
    """The derivative at the start, the first step, the signs of events, what is asked for at the start itself."""
    bad = first_bad(s.x_at, s.states)
    if bad >= 0:
        s.culprit, s.culprit_is_state, s.bad_time = bad, 1, s.t
        return NOT_FINITE
    if not well_conditioned(s):
        return SWITCH
    copy(s.x_at, s.point_at, s.width)
    evaluate(s, s.t, 0)
    if s.aborted != 0:
        return ABORTED
    bad = first_bad(row_at(s, 0), s.states)
    if bad >= 0:
        s.culprit, s.culprit_is_state, s.bad_time = bad, 0, s.t
        return NOT_FINITE
    copy(row_at(s, 0), s.past_at, s.width)
    s.filled = 1
    if s.adaptive == 0:
        plan(s)
    elif s.h == 0.0:
        first_step(s)
    copy(s.x_at, s.point_at, s.width)
    if s.events > 0:
        if s.phase == FRESH:
            begin_watch(s)
        else:
            watch(s, s.t, s.grid_at)
    if s.phase == FRESH:
        if s.stepped >= s.step_room:
            return FULL
        record_step(s)
        sample_here(s)
    if s.aborted != 0:
        return ABORTED
    s.phase = RUNNING
    return GO_ON


def plan(s: Any) -> None:
    """Divide the time up to the end into equal steps, none longer than asked for."""
    span = s.end - s.t
    s.planned = max(1, math.ceil(abs(span) / s.step - 1e-9))
    s.index = 0
    s.origin = s.t
    s.h = span / s.planned


def first_step(s: Any) -> None:
    """An automatic first step: Hairer, Nørsett & Wanner I, section II.4, "Starting step size"."""
    n = s.states
    x, f, atol = reals_at(s.x_at, n), reals_at(row_at(s, 0), n), reals_at(s.atol_at, n)
    point, g = reals_at(s.point_at, n), reals_at(row_at(s, 1), n)
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
    bend = 0.0
    for i in range(n):
        bend += ((g[i] - f[i]) / (atol[i] + s.rtol * abs(x[i]))) ** 2
    bend = math.sqrt(bend / n) / trial if trial > 0.0 else 0.0
    steepest = max(rate, bend)
    if not math.isfinite(steepest):
        length = 1e-3 * trial
    elif steepest <= 1e-15:
        length = max(1e-6, 1e-3 * trial)
    else:
        length = (0.01 / steepest) ** (1.0 / scheme_at(s.scheme_at).order)
    s.h = direction * min(100.0 * trial, length, longest)


# -------------------------------------------------------------------------------------------------------------- steps


def step(s: Any) -> int:
    """One attempt, and all that follows if it is accepted."""
    m = scheme_at(s.scheme_at)
    if s.filled < m.history:
        m = scheme_at(s.starter_at)
    if m.history > 1:
        copy(s.past_at, s.k_at, m.history * s.width)
    h, new_time = next_step(s)
    attempt(s, m, h)
    if s.aborted != 0:
        return ABORTED
    if first_bad(s.new_at, s.states) >= 0:
        return retreat(s, m, h, m.stages - 1)
    size = 0.0
    if s.adaptive != 0:
        size = error_size(s, m, h)
        if not size <= 1.0:
            return reject(s, m, h, size)
    copy(s.new_at, s.point_at, s.width)
    evaluate(s, new_time, m.stages)
    if s.aborted != 0:
        return ABORTED
    if first_bad(row_at(s, m.stages), s.states) >= 0:
        return retreat(s, m, h, m.stages)
    return accept(s, m, h, new_time, size)


def next_step(s: Any) -> tuple[float, float]:
    """The length of the next step and the time it leads to, exactly the end if it is the last one."""
    if s.adaptive == 0:
        s.index += 1
        return s.h, (s.end if s.index >= s.planned else s.origin + s.index * s.h)
    left = s.end - s.t
    h = math.copysign(min(abs(s.h), s.max_step), left)
    if abs(h) * 1.01 >= abs(left):
        return left, s.end
    return h, s.t + h


def smallest_step(s: Any) -> float:
    return 16.0 * EPSILON * max(abs(s.t), 1e-3 * abs(s.end - s.t))


def retreat(s: Any, m: Any, h: float, last: int) -> int:
    """Something is not finite: half the step, unless that is hopeless."""
    s.rejected += 1
    s.rejecting = 1
    s.h = 0.5 * h
    if s.adaptive != 0 and abs(s.h) >= smallest_step(s):
        return GO_ON
    blame(s, m, h, last)
    return NOT_FINITE


def reject(s: Any, m: Any, h: float, size: float) -> int:
    """The error is too large: a shorter step, unless that is hopeless."""
    s.rejected += 1
    s.rejecting = 1
    shrink = SAFETY * size ** (-1.0 / m.order) if math.isfinite(size) else SHRINK
    s.h = h * max(SHRINK, shrink)
    if abs(s.h) >= smallest_step(s):
        return GO_ON
    s.culprit, s.culprit_is_state, s.bad_time = largest_error(s), 1, s.t
    return STEP_TOO_SMALL


def propose(s: Any, m: Any, h: float, size: float) -> None:
    """The length of the step after an accepted one."""
    if s.adaptive == 0:
        return
    floor = max(size, 1e-10)
    factor = SAFETY * floor ** (-(1.0 / m.order - 0.75 * BETA)) * s.last_error**BETA
    factor = min(GROW, max(SHRINK, factor))
    if s.rejecting != 0:
        factor = min(1.0, factor)
    s.rejecting = 0
    s.last_error = max(size, 1e-4)
    # A step cut short by the end says little about the next one: keep the longer proposal.
    s.h = max(abs(h) * factor, abs(s.h)) if abs(h) < abs(s.h) else abs(h) * factor


def accept(s: Any, m: Any, h: float, new_time: float, size: float) -> int:
    """Notice events, fill the samples, move on to the new state."""
    prepare_cubic(s, m, h)
    roots = 0
    if s.events > 0:
        roots = find_crossings(s, m, h, new_time)
    if s.ready == 0 and s.aborted == 0 and sample_before(s, new_time):
        prepare_dense(s, m, h)
    if s.aborted != 0:
        return ABORTED
    if s.ready != 0 and first_bad(s.dense_at, m.terms * s.width) >= 0:
        return retreat(s, m, h, m.rows - 1)
    if s.events > 0:
        settle(s)
    theta = record_events(s, m, h, roots)
    horizon = new_time if theta > 1.0 else s.t + theta * h
    sample_until(s, m, h, horizon)
    if theta <= 1.0:
        interpolate(s, m.terms, theta, s.new_at, s.states)
    copy(s.new_at, s.x_at, s.width)
    s.t = horizon
    s.accepted += 1
    propose(s, m, h, size)
    if theta <= 1.0:
        s.phase = CHANGED
        record_step(s)
        sample_here(s)
        return ABORTED if s.aborted != 0 else STOPPED
    return arrive(s, m)


def arrive(s: Any, m: Any) -> int:
    """At the new point: derivative, projection, history, records, condition."""
    copy(row_at(s, m.stages), row_at(s, 0), s.width)
    reason = GO_ON
    if s.project != 0:
        reason = project(s)
    depth = scheme_at(s.scheme_at).history
    for j in range(depth - 1, 0, -1):
        copy(s.past_at + 8 * s.width * (j - 1), s.past_at + 8 * s.width * j, s.width)
    copy(row_at(s, 0), s.past_at, s.width)
    s.filled = min(depth, s.filled + 1)
    record_step(s)
    sample_here(s)
    if s.aborted != 0:
        return ABORTED
    if reason == GO_ON and not well_conditioned(s):
        return SWITCH
    return reason


def project(s: Any) -> int:
    """Move the state onto its constraints if it has drifted off by more than the threshold."""
    results, moved = integers_at(s.results, 2), False
    reals_at(s.time_at, 1)[0] = s.t
    for _ in range(4):  # Newton steps; one does unless the drift was large
        copy(s.x_at, s.point_at, s.width)
        results[0], results[1] = s.new_at, s.scalar_at
        call_kernel(s.project, s.arguments, s.results)
        if reals_at(s.scalar_at, 1)[0] <= s.threshold:
            break
        bad = first_bad(s.new_at, s.states)
        if bad >= 0:
            s.culprit, s.culprit_is_state, s.bad_time = bad, 1, s.t
            return NOT_FINITE
        copy(s.new_at, s.x_at, s.states)
        moved = True
    if moved:
        copy(s.x_at, s.point_at, s.width)
        evaluate(s, s.t, 0)
        bad = first_bad(row_at(s, 0), s.states)
        if bad >= 0:
            s.culprit, s.culprit_is_state, s.bad_time = bad, 0, s.t
            return NOT_FINITE
    return GO_ON


def well_conditioned(s: Any) -> bool:
    """Whether the condition at (t, x) is below its limit."""
    if s.monitor == 0:
        return True
    copy(s.x_at, s.point_at, s.width)
    reals_at(s.time_at, 1)[0] = s.t
    integers_at(s.results, 2)[0] = s.scalar_at
    call_kernel(s.monitor, s.arguments, s.results)
    s.condition = reals_at(s.scalar_at, 1)[0]
    return s.condition <= s.limit


# ------------------------------------------------------------------------------------------------------------ records


def ahead(s: Any, a: float, b: float) -> bool:
    """Whether time a comes before time b in the direction of the run."""
    return a < b if s.end >= s.t else a > b


def sample_before(s: Any, time: float) -> bool:
    return s.sampled < s.samples and ahead(s, reals_at(s.sample_time_at, s.samples)[s.sampled], time)


def sample_until(s: Any, m: Any, h: float, time: float) -> None:
    """Fill the samples strictly before a time within the step."""
    times = reals_at(s.sample_time_at, s.samples)
    while sample_before(s, time):
        moment = times[s.sampled]
        theta = (moment - s.t) / h
        row = s.sample_x_at + 8 * s.states * s.sampled
        interpolate(s, m.terms, theta, row, s.states)
        record_inputs(s, moment, row, s.sample_u_at + 8 * s.inputs * s.sampled)
        if s.aborted != 0:
            return
        s.sampled += 1


def sample_here(s: Any) -> None:
    """Fill the sample at t, if one is asked for."""
    if s.sampled < s.samples and reals_at(s.sample_time_at, s.samples)[s.sampled] == s.t:
        row = s.sample_x_at + 8 * s.states * s.sampled
        copy(s.x_at, row, s.states)
        record_inputs(s, s.t, row, s.sample_u_at + 8 * s.inputs * s.sampled)
        s.sampled += 1


def record_step(s: Any) -> None:
    reals_at(s.step_time_at, s.step_room)[s.stepped] = s.t
    if s.keep_steps != 0:
        copy(s.x_at, s.step_x_at + 8 * s.states * s.stepped, s.states)
        record_inputs(s, s.t, s.x_at, s.step_u_at + 8 * s.inputs * s.stepped)
    s.stepped += 1


def record_inputs(s: Any, time: float, x_at: int, target_at: int) -> None:
    """Keep the inputs that belong to (time, x)."""
    if s.inputs > 0:
        if s.control != 0:
            copy(x_at, s.point_at, s.states)
            command(s, time)
        copy(s.inputs_at, target_at, s.inputs)


def record_events(s: Any, m: Any, h: float, roots: int) -> float:
    """Keep the events of the step; return the fraction at which one stops the run, or 2 if none does."""
    root, root_event = reals_at(s.root_at, GRID * s.events), integers_at(s.root_event_at, GRID * s.events)
    stops = integers_at(s.stops_at, s.events)
    times, index = reals_at(s.event_time_at, s.event_room), integers_at(s.event_index_at, s.event_room)
    for j in range(roots):
        theta = root[j]
        times[s.happened] = s.t + theta * h
        index[s.happened] = root_event[j]
        interpolate(s, m.terms, theta, s.event_x_at + 8 * s.states * s.happened, s.states)
        s.happened += 1
        if stops[root_event[j]] != 0:
            s.happening = root_event[j]
            return theta
    return 2.0
