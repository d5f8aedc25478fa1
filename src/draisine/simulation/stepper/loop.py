"""The stepping loop, one for all methods: attempt, judge, notice events, sample, accept, project, watch.

It works on memory of the driver alone (`layout`) and can be left and entered again at any step, to the same bits. It is
restricted Python, compiled as it stands (`stored`); no Python runs between two steps, save a control function of the user's.
Explicit and implicit methods differ in how a step is attempted (`stages`, `newton`) and how long the next one is (`lengths`).
"""

from __future__ import annotations

from draisine.codegen.restricted.record import call_kernel
from draisine.simulation.stepper.events_and_samples import (
    begin_watch,
    find_crossings,
    record_events,
    record_step,
    sample_before,
    sample_here,
    sample_until,
    settle,
    watch,
)
from draisine.simulation.stepper.explicit_rk import (
    attempt,
    copy,
    error_size,
    evaluate,
    first_bad,
    interpolate,
    looks_stiff,
    prepare_cubic,
    prepare_dense,
)
from draisine.simulation.stepper.implicit_rk import attempt_implicit, implicit_error_size, prepare_polynomial
from draisine.simulation.stepper.implicit_systems import blame_equation, settle_start
from draisine.simulation.stepper.layout import (
    ABORTED,
    BAD_NUMBERS,
    CHANGED,
    FRESH,
    FULL,
    GO_ON,
    GRID,
    LOOK,
    LOOK_AFTER,
    NOT_FINITE,
    PAUSED,
    REACHED,
    RUNNING,
    SOLVED,
    STIFF,
    STOPPED,
    SWITCH,
    TOO_MANY_STEPS,
    UNDETERMINED,
    UNSOLVED,
    Stepper,
    Tableau,
)
from draisine.simulation.stepper.step_size_control import (
    first_implicit_step,
    first_step,
    give_way,
    next_step,
    plan,
    propose,
    propose_implicit,
    reject,
    reject_implicit,
    retreat,
)


def advance(s: Stepper) -> int:
    """Go on from where the run stands until something stops the loop; return why."""
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


def begin(s: Stepper) -> int:
    """The derivative at the start, the first step, the signs of events, what is asked for at the start itself."""
    bad = first_bad(s.x, s.states)
    if bad >= 0:
        s.culprit, s.culprit_is_state, s.bad_time = bad, 1, s.t
        return NOT_FINITE
    if not well_conditioned(s):
        return SWITCH
    m = s.tableau
    reason = begin_rates(s, m)
    if reason != GO_ON:
        return reason
    copy(s.k[0], s.past[0], s.width)
    s.filled = 1
    if s.adaptive == 0:
        plan(s)
    elif s.h == 0.0:
        if m.implicit != 0:
            first_implicit_step(s)
        else:
            first_step(s)
    copy(s.x, s.point, s.width)
    if s.events > 0:
        if s.phase == FRESH:
            begin_watch(s)
        else:
            watch(s, s.t, s.grid[0])
    if s.phase == FRESH:
        if s.stepped >= s.step_room:
            return FULL
        record_step(s)
        sample_here(s)
    if s.aborted != 0:
        return ABORTED
    s.phase = RUNNING
    return GO_ON


def begin_rates(s: Stepper, m: Tableau) -> int:
    """The derivative at (t, x). Where the equations are implicit, it is solved for together with the algebraic unknowns."""
    if m.implicit != 0:
        s.fresh, s.old, s.factorized, s.predicts = 0, 1, 0, 0
        s.carried = 1.0
        s.smooth = 1 if m.evaluates_end != 0 and s.dynamics != 0 else 0
    if s.settles != 0:
        outcome = settle_start(s)
        if s.aborted != 0:
            return ABORTED
        if outcome == UNDETERMINED:
            return UNDETERMINED
        if outcome == BAD_NUMBERS:
            return NOT_FINITE
        if outcome != SOLVED:
            s.trouble, s.bad_time = outcome, s.t
            return UNSOLVED
    elif s.dynamics != 0:
        copy(s.x, s.point, s.width)
        evaluate(s, s.t, 0)
        if s.aborted != 0:
            return ABORTED
    bad = first_bad(s.k[0], s.states)
    if bad >= 0:
        s.culprit, s.culprit_is_state, s.bad_time = bad, 0, s.t
        return NOT_FINITE
    return GO_ON


# -------------------------------------------------------------------------------------------------------------- steps


def step(s: Stepper) -> int:
    """One attempt, and all that follows if it is accepted."""
    m = s.tableau
    if m.implicit != 0:
        return implicit_step(s, m)
    if m.foreign != 0:
        s.ready = 1
        return accept(s, m, s.h, s.given_time, 0.0)
    if s.filled < m.history:
        m = s.starter
    if m.history > 1:
        for j in range(m.history):
            copy(s.past[j], s.k[j], s.width)
    h, new_time = next_step(s)
    attempt(s, m, h)
    if s.aborted != 0:
        return ABORTED
    if first_bad(s.new, s.states) >= 0:
        return retreat(s, m, h, m.stages - 1)
    size = 0.0
    if s.adaptive != 0:
        size = error_size(s, m, h)
        if not size <= 1.0:
            return reject(s, m, h, size)
    copy(s.new, s.point, s.width)
    evaluate(s, new_time, m.stages)
    if s.aborted != 0:
        return ABORTED
    if first_bad(s.k[m.stages], s.states) >= 0:
        return retreat(s, m, h, m.stages)
    stiff = s.suspect != 0 and looks_stiff(s, m, h)
    reason = accept(s, m, h, new_time, size)
    return STIFF if stiff and reason == GO_ON else reason


def implicit_step(s: Stepper, m: Tableau) -> int:
    """The same for an implicit method: its stages may not be solvable, and its error estimate may need a second look."""
    h, new_time = next_step(s)
    outcome = attempt_implicit(s, m, h)
    if s.aborted != 0:
        return ABORTED
    if outcome == SOLVED:
        bad = first_bad(s.new, s.unknowns)
        if bad >= 0:
            outcome = blame_equation(s, bad)
    if outcome != SOLVED:
        return give_way(s, m, h, outcome)
    size = 0.0
    if s.adaptive != 0:
        size = implicit_error_size(s, m, h)
        if s.aborted != 0:
            return ABORTED
        if not size < 1.0:
            return reject_implicit(s, m, h, size)
    if m.evaluates_end != 0 and s.dynamics != 0:
        copy(s.new, s.point, s.width)
        evaluate(s, new_time, m.stages)
        if s.aborted != 0:
            return ABORTED
        bad = first_bad(s.k[m.stages], s.states)
        if bad >= 0:
            return give_way(s, m, h, blame_equation(s, bad))
    reason = accept(s, m, h, new_time, size)
    if s.suspect != 0 and reason == GO_ON:
        s.calm_steps += 1
        if s.calm_steps >= LOOK_AFTER:
            s.calm_steps = 0
            return LOOK
    return reason


def accept(s: Stepper, m: Tableau, h: float, new_time: float, size: float) -> int:
    """Notice events, fill the samples, move on to the new state."""
    if m.implicit != 0:
        prepare_polynomial(s, m, h)
    elif m.foreign == 0:
        prepare_cubic(s, m, h)
    roots = 0
    if s.events > 0:
        roots = find_crossings(s, m, h, new_time)
    if s.ready == 0 and s.aborted == 0 and sample_before(s, new_time):
        prepare_dense(s, m, h)
    if s.aborted != 0:
        return ABORTED
    if s.ready != 0 and not finite_dense(s, m):
        s.relief = 0.5
        return give_way(s, m, h, BAD_NUMBERS) if m.implicit != 0 else retreat(s, m, h, m.rows - 1)
    if s.events > 0:
        settle(s)
    theta = record_events(s, m, h, roots)
    horizon = new_time if theta > 1.0 else s.t + theta * h
    sample_until(s, m, h, horizon)
    if theta <= 1.0:
        interpolate(s, m.terms, theta, s.new, s.unknowns)
    copy(s.new, s.x, s.width)
    s.t = horizon
    s.accepted += 1
    if m.implicit != 0:
        propose_implicit(s, m, h, size)
    else:
        propose(s, m, h, size)
    if theta <= 1.0:
        s.phase = CHANGED
        record_step(s)
        sample_here(s)
        return ABORTED if s.aborted != 0 else STOPPED
    return arrive(s, m, h)


def finite_dense(s: Stepper, m: Tableau) -> bool:
    """Whether all coefficients of the interpolant are finite."""
    term = 0
    while term < m.terms and first_bad(s.dense[term], s.width) < 0:
        term += 1
    return term == m.terms


def arrive(s: Stepper, m: Tableau, h: float) -> int:
    """At the new point: derivative, projection, history, records, condition."""
    copy(s.k[m.stages], s.k[0], s.width)
    if m.implicit != 0:
        for j in range(m.solved):
            copy(s.stage[j], s.past_stage[j], s.width)
        s.past_h, s.predicts = h, 1
        if m.evaluates_end == 0:
            s.smooth = 1
    reason = GO_ON
    if s.project != 0:
        reason = project(s, m)
    depth = s.tableau.history
    for j in range(depth - 1, 0, -1):
        copy(s.past[j - 1], s.past[j], s.width)
    copy(s.k[0], s.past[0], s.width)
    s.filled = min(depth, s.filled + 1)
    record_step(s)
    sample_here(s)
    if s.aborted != 0:
        return ABORTED
    if reason == GO_ON and not well_conditioned(s):
        return SWITCH
    return reason


def project(s: Stepper, m: Tableau) -> int:
    """Move the state onto its constraints if it has drifted off by more than the threshold."""
    moved = False
    s.time[0] = s.t
    for _ in range(s.projections):  # Newton steps
        copy(s.x, s.point, s.width)
        call_kernel(s.project, (s.time, s.point, s.u, s.parameters), (s.new, s.scalar))
        if s.scalar[0] <= s.threshold:
            break
        bad = first_bad(s.new, s.states)
        if bad >= 0:
            s.culprit, s.culprit_is_state, s.bad_time = bad, 1, s.t
            return NOT_FINITE
        copy(s.new, s.x, s.states)
        moved = True
    # The rate that an implicit method leaves behind is that of a smooth solution; one evaluated anew need not be.
    if moved and m.foreign == 0 and (m.implicit == 0 or (m.evaluates_end != 0 and s.dynamics != 0)):
        copy(s.x, s.point, s.width)
        evaluate(s, s.t, 0)
        bad = first_bad(s.k[0], s.states)
        if bad >= 0:
            s.culprit, s.culprit_is_state, s.bad_time = bad, 0, s.t
            return NOT_FINITE
    return GO_ON


def well_conditioned(s: Stepper) -> bool:
    """Whether the condition at (t, x) is below its limit."""
    if s.monitor == 0:
        return True
    copy(s.x, s.point, s.width)
    s.time[0] = s.t
    call_kernel(s.monitor, (s.time, s.point, s.u, s.parameters), (s.scalar,))
    s.condition = s.scalar[0]
    return s.condition <= s.limit
