"""The stepping loop of all methods: attempt a step, estimate its error, locate events, record samples, accept, project.

The loop works on the driver's memory alone (`layout`) and can be left and entered again at any step with bitwise equal results.
It is restricted Python, compiled without change (`memory.stepping_loop`); no Python runs between two steps except a control
function of the user. Explicit and implicit methods differ in the attempt (`explicit_rk`, `implicit_rk`) and in the step size
(`step_size_control`).
"""

from __future__ import annotations

import math

from draisine.codegen.restricted.types import call_kernel
from draisine.simulation.stepper.accumulation import beyond_limit
from draisine.simulation.stepper.contact_layout import ENDLESS
from draisine.simulation.stepper.contact_modes import is_inside, is_torn, lies_on_constraints, note_contacts_below
from draisine.simulation.stepper.contact_monitor import begin_contacts, monitor_step
from draisine.simulation.stepper.contact_places import change_with_inertia, has_places
from draisine.simulation.stepper.contact_saltation import change_modes_varied
from draisine.simulation.stepper.contact_slip import (
    begins_to_slip,
    follow_slips,
    limit_to_begin,
    limit_to_stops,
    shorten_for_slips,
)
from draisine.simulation.stepper.event_isolation import find_crossings
from draisine.simulation.stepper.events_and_samples import (
    begin_events,
    evaluate_events,
    fill_samples_before,
    has_sample_before,
    record_events,
    record_step,
    sample_at_t,
    update_event_signs,
)
from draisine.simulation.stepper.explicit_rk import (
    QUIET,
    UNRESOLVED,
    attempt,
    copy,
    error_size,
    evaluate,
    first_nonfinite,
    interpolate,
    is_stiff,
    prepare_cubic,
    prepare_dense,
    stable_length,
)
from draisine.simulation.stepper.implicit_rk import attempt_implicit, implicit_error_size, prepare_polynomial
from draisine.simulation.stepper.implicit_systems import record_nonfinite_equation, solve_start
from draisine.simulation.stepper.layout import (
    ABORTED,
    BROKEN,
    CHANGED,
    CONTACT_UNSOLVED,
    CONTINUE,
    FRESH,
    FULL,
    MOST_SWITCHES,
    NONFINITE_VALUES,
    NOT_FINITE,
    PAUSED,
    REACHED,
    ROOTS,
    RUNNING,
    SOLVED,
    STIFF,
    STIFFENED,
    STIFFNESS_CHECK,
    STIFFNESS_CHECK_INTERVAL,
    STOPPED,
    SWITCH,
    TOO_MANY_STEPS,
    UNDETERMINED,
    UNSOLVED,
    Stepper,
    Tableau,
)
from draisine.simulation.stepper.method_change import may_be_explicit, take_explicit, take_implicit
from draisine.simulation.stepper.sliding import return_to_surfaces
from draisine.simulation.stepper.step_size_control import (
    first_implicit_step,
    first_step,
    halve_step,
    next_step,
    plan_fixed_steps,
    propose,
    propose_implicit,
    reject,
    reject_implicit,
    retry_implicit_step,
    shorten,
)
from draisine.simulation.stepper.switch_location import cut_step, find_switch, keep_margins, shorten_for_flights
from draisine.simulation.stepper.switching import (
    begin_branches,
    change_branches,
    start_margins,
)
from draisine.simulation.stepper.usual_modes import badly_conditioned, leave_usual_modes

BESIDE = 1e-8  # of a step: how far before and behind a switch constraints are compared
SHORT = 0.1  # steps at the end of a mode, relative to its first one, that are no guide to the next mode


def advance(s: Stepper) -> int:
    """Continue the run until something stops the loop; return the reason."""
    if s.phase != RUNNING:
        reason = continue_stiffened(s) if s.paired != 0 and s.phase == STIFFENED else begin(s)
        if reason != CONTINUE:
            return reason
    for _ in range(s.budget):
        if s.t == s.end:
            return REACHED
        if s.accepted + s.rejected >= s.max_steps:
            return TOO_MANY_STEPS
        if s.step_count >= s.step_room or s.event_count + ROOTS * s.events > s.event_room:
            return FULL
        if s.switching != 0 and s.switch_count + 2 * MOST_SWITCHES > s.switch_room:
            return FULL
        if s.unilateral != 0 and s.modes.change_count + 2 > s.modes.change_room:
            return FULL
        before, begun, slid = s.accepted, s.t, 0
        if s.switching != 0:
            slid = s.sliding
        reason = step(s)
        if s.contact_kernel != 0 and s.accepted != before:
            monitor_step(s, begun, slid)
        if reason != CONTINUE:
            return reason
    return REACHED if s.t == s.end else PAUSED


# --------------------------------------------------------------------------------------------------------- beginning


def begin(s: Stepper) -> int:
    """Initial derivative, first step size, event signs, and the sample at the start."""
    bad = first_nonfinite(s.x, s.states)
    if bad >= 0:
        s.failed_index, s.failed_kind, s.bad_time = bad, 1, s.t
        return NOT_FINITE
    if not well_conditioned(s):
        return SWITCH
    m = s.tableau
    if s.switching != 0:
        reason = begin_branches(s)
        if reason == CONTINUE and s.unilateral != 0:
            note_contacts_below(s)
            reason = change_modes_varied(s, -1)
        if reason != CONTINUE:
            return reason
        start_margins(s, False)
    reason = initial_rates(s, m)
    if reason != CONTINUE:
        return reason
    copy(s.k[0], s.past[0], s.width)
    s.history_filled = 1
    if s.adaptive == 0:
        plan_fixed_steps(s)
        s.off_grid = 0
    elif s.h == 0.0:
        if m.implicit != 0:
            first_implicit_step(s)
        else:
            first_step(s)
    copy(s.x, s.point, s.width)
    if s.events > 0:
        if s.phase == FRESH:
            begin_events(s)
        else:
            evaluate_events(s, s.t, s.grid[0])
    if s.phase == FRESH:
        if s.step_count >= s.step_room:
            return FULL
        record_step(s)
        sample_at_t(s)
        if s.contact_kernel != 0:
            begin_contacts(s)
    if s.aborted != 0:
        return ABORTED
    s.phase = RUNNING
    return CONTINUE


def initial_rates(s: Stepper, m: Tableau) -> int:
    """The derivative at (t, x). For implicit equations it is solved for together with the algebraic unknowns."""
    if m.implicit != 0:
        s.jacobian_fresh, s.jacobian_old, s.factorized, s.past_stage_valid = 0, 1, 0, 0
        s.newton_factor = 1.0
        # contacts begin on the motion that follows, and one that just opens would land by an error of the interpolant's slope
        s.smooth = 1 if (m.evaluates_end != 0 or s.unilateral != 0) and s.dynamics != 0 else 0
    if s.needs_start_solve != 0:
        outcome = solve_start(s)
        if s.aborted != 0:
            return ABORTED
        if outcome == UNDETERMINED:
            return UNDETERMINED
        if outcome == NONFINITE_VALUES:
            return NOT_FINITE
        if outcome != SOLVED:
            s.solver_failure, s.bad_time = outcome, s.t
            return UNSOLVED
    elif s.dynamics != 0:
        copy(s.x, s.point, s.width)
        evaluate(s, s.t, 0)
        if s.aborted != 0:
            return ABORTED
    bad = first_nonfinite(s.k[0], s.states)
    if bad >= 0:
        s.failed_index, s.failed_kind, s.bad_time = bad, 0, s.t
        return NOT_FINITE
    return CONTINUE


# -------------------------------------------------------------------------------------------------------------- steps


def step(s: Stepper) -> int:
    """One attempt of an explicit step, and its acceptance or rejection."""
    m = s.tableau
    if m.implicit != 0:
        return implicit_step(s, m)
    if m.external != 0:
        s.dense_ready = 1
        return accept(s, m, s.h, s.external_time, 0.0)
    if s.history_filled < m.history:
        m = s.starter
    if m.history > 1:
        for j in range(m.history):
            copy(s.past[j], s.k[j], s.width)
    h, new_time = next_step(s)
    attempt(s, m, h)
    if s.aborted != 0:
        return ABORTED
    if first_nonfinite(s.new, s.states) >= 0:
        return halve_step(s, m, h, m.stages - 1)
    size = 0.0
    if s.adaptive != 0:
        size = error_size(s, m, h)
        if not size <= 1.0:
            return reject(s, m, h, size)
    copy(s.new, s.point, s.width)
    evaluate(s, new_time, m.stages)
    if s.aborted != 0:
        return ABORTED
    if first_nonfinite(s.k[m.stages], s.states) >= 0:
        return halve_step(s, m, h, m.stages)
    stiff = s.check_stiffness != 0 and is_stiff(s, m, h)
    reason = accept(s, m, h, new_time, size)
    if stiff and reason == CONTINUE:
        return continue_implicitly(s, False) if s.paired != 0 else STIFF
    return reason


def implicit_step(s: Stepper, m: Tableau) -> int:
    """One attempt of an implicit step: its stages may have no solution, and its error may be estimated twice."""
    h, new_time = next_step(s)
    outcome = attempt_implicit(s, m, h)
    if s.aborted != 0:
        return ABORTED
    if outcome == SOLVED:
        bad = first_nonfinite(s.new, s.unknowns)
        if bad >= 0:
            outcome = record_nonfinite_equation(s, bad)
    if outcome != SOLVED:
        return retry_implicit_step(s, m, h, outcome)
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
        bad = first_nonfinite(s.k[m.stages], s.states)
        if bad >= 0:
            return retry_implicit_step(s, m, h, record_nonfinite_equation(s, bad))
    reason = accept(s, m, h, new_time, size)
    if s.check_stiffness != 0 and reason == CONTINUE:
        s.nonstiff_steps += 1
        if s.paired != 0:
            return continue_explicitly(s) if may_be_explicit(s) else CONTINUE
        if s.nonstiff_steps >= STIFFNESS_CHECK_INTERVAL:
            s.nonstiff_steps = 0
            return STIFFNESS_CHECK
    return reason


def accept(s: Stepper, m: Tableau, h: float, new_time: float, size: float) -> int:
    """Locate events, fill the samples, move to the new state."""
    if m.implicit != 0:
        prepare_polynomial(s, m, h)
    elif m.external == 0:
        prepare_cubic(s, m, h)
    full, row, longest = h, -1, math.inf
    if size < QUIET and s.adaptive != 0 and m.implicit == 0 and m.external == 0 and s.unilateral == 0:
        longest = stable_length(s, m, h)
    if s.switching != 0:
        cut = find_switch(s, m, h, new_time)
        if s.aborted != 0:
            return ABORTED
        if s.unilateral != 0:
            factor = min(shorten_for_slips(s, m, h, cut), shorten_for_flights(s, m, h))
            if factor < 1.0:
                return shorten(s, m, h, factor)
        if cut <= 1.0:
            row, s.step_length = s.switch_row, abs(h)
            s.beside_switch = 2 if row < s.branch_margins else 0
            if s.t + cut * h == s.t:
                return switch_at_once(s, m, row)
            if cut < 1.0:
                cut_step(s, m, cut)
                h, new_time = cut * h, s.t + cut * h
        note_grid(s, cut < 1.0)
    elif s.marks != 0:
        note_grid(s, False)
    roots = 0
    if s.events > 0:
        roots = find_crossings(s, m, h, new_time)
    if s.dense_ready == 0 and s.aborted == 0 and has_sample_before(s, new_time):
        prepare_dense(s, m, h)
    if s.aborted != 0:
        return ABORTED
    if s.dense_ready == UNRESOLVED or (s.dense_ready != 0 and not finite_dense(s, m)):
        s.shrink_factor = 0.5
        return retry_implicit_step(s, m, h, NONFINITE_VALUES) if m.implicit != 0 else halve_step(s, m, h, m.rows - 1)
    if s.events > 0:
        update_event_signs(s)
    theta = record_events(s, m, h, roots)
    horizon = new_time if theta > 1.0 else s.t + theta * h
    fill_samples_before(s, m, h, horizon)
    if theta <= 1.0:
        interpolate(s, m.terms, theta, s.new, s.unknowns)
    copy(s.new, s.x, s.width)
    s.t = horizon
    s.accepted += 1
    length = abs(s.h)
    if m.implicit != 0:
        propose_implicit(s, m, full, size)
    else:
        propose(s, m, full, size)
        s.h = min(s.h, longest)
    if s.marks != 0 and s.kink_limited != 0 and s.adaptive != 0:
        s.h = length  # the error of a step between two kinks says nothing about one across
    if theta <= 1.0:
        s.phase = CHANGED
        record_step(s)
        sample_at_t(s)
        return ABORTED if s.aborted != 0 else STOPPED
    reason = finish_step(s, m, h)
    if s.switching != 0 and reason == CONTINUE:
        reason = continue_branches(s, m, row, h)
    return reason


def note_grid(s: Stepper, cut: bool) -> None:
    """Fixed steps: whether the step ends at a multiple of the step; the history of a multistep method begins at one."""
    if s.adaptive == 0:
        if cut:
            s.index -= s.grid_step
            s.grid_step, s.irregular = 0, 1
        s.off_grid = 1 - s.grid_step


def switch_at_once(s: Stepper, m: Tableau, row: int) -> int:
    """A branch ends where it began: switch without a step."""
    s.rejected += 1
    note_grid(s, True)
    if s.beside_switch == 2 and s.project != 0 and not projects_behind_switches(s):
        s.leap_possible, s.beside_switch = jumps_here(s, s.step_length), 1
    reason = change_at(s, row)
    return restart(s, m) if reason == CONTINUE else reason


def change_at(s: Stepper, row: int) -> int:
    """Change branches, and modes of contacts, where the margin `row` has ended, or an interval of time."""
    if s.unilateral != 0 and row >= s.branch_margins:
        if s.switches_here > MOST_SWITCHES:
            s.modes.outcome = ENDLESS
            return CONTACT_UNSOLVED
        return change_modes_varied(s, row)
    reason, s.behind_switch = CONTINUE, 0
    if s.branch_margins > 0 or s.restarts > 0:
        reason = beyond_limit(s, change_branches(s, row))
    if s.unilateral != 0 and reason == CONTINUE:
        reason = change_modes_varied(s, -1)  # forces may have jumped
    s.behind_switch = 0
    return reason


def continue_branches(s: Stepper, m: Tableau, row: int, h: float) -> int:
    """After a step h: switch where a margin or an interval of time ended, else keep the branches."""
    if s.sliding > 0 and s.off_surface != 0 and row < 0:
        row = int(s.sliding_margin[0])
    if row < 0 and not at_restart(s):
        keep_margins(s)
        if s.unilateral != 0:
            if is_inside(s) or is_torn(s):
                return CONTACT_UNSOLVED
            row = follow_slips(s)
            if badly_conditioned(s):
                leave_usual_modes(s)
                copy(s.x, s.point, s.width)
                evaluate(s, s.t, 0)
        if row < 0:
            s.switches_here = 0
            if s.sliding > 0 and s.dynamics != 0 and m.external == 0:
                copy(s.x, s.point, s.width)
                evaluate(s, s.t, 0)
            return CONTINUE
    s.switches_here = 0
    reason = change_at(s, row)
    return restart(s, m) if reason == CONTINUE else reason


def at_restart(s: Stepper) -> bool:
    """Whether branches of time alone change now."""
    return s.restart_index < s.restarts and s.restart_time[s.restart_index] == s.t


def restart(s: Stepper, m: Tableau) -> int:
    """Derivative, history and event values after a change of branches; the step size is kept."""
    if m.implicit != 0 and s.dynamics == 0 and s.needs_start_solve == 0:
        s.phase = CHANGED  # the driver solves for the rates of equations of higher index
        return PAUSED
    reason = initial_rates(s, m)
    if reason != CONTINUE:
        return reason
    copy(s.k[0], s.past[0], s.width)
    s.history_filled = 1
    start_margins(s, s.needs_start_solve == 0 and s.dynamics != 0 and s.sliding == 0)
    if s.events > 0:
        copy(s.x, s.point, s.width)
        evaluate_events(s, s.t, s.grid[0])
    if s.unilateral != 0 and m.implicit == 0 and begins_to_slip(s.modes):
        if s.paired != 0:
            return continue_implicitly(s, True)
        return STIFF if s.check_stiffness != 0 else CONTINUE
    if s.unilateral != 0:
        if m.implicit != 0:
            s.nonstiff_steps, s.accepted_h, s.longest_step = 0, 0.0, 0.0
            limit_to_begin(s)
        lengthen(s, m)
        limit_to_stops(s)
    return CONTINUE


def continue_implicitly(s: Stepper, stable: bool) -> int:
    """Change to the implicit method of a pair."""
    take_implicit(s, stable)
    return begin_method(s)


def continue_stiffened(s: Stepper) -> int:
    """The first change to the implicit method of a pair, for which the driver has made the memory meanwhile: nothing else has
    changed, so that the run goes on as one that has had it from its start."""
    s.phase = RUNNING
    return continue_implicitly(s, begins_to_slip(s.modes))


def continue_explicitly(s: Stepper) -> int:
    """Change to the explicit method of a pair."""
    take_explicit(s)
    return begin_method(s)


def begin_method(s: Stepper) -> int:
    """The derivative at (t, x) after a change of methods."""
    reason = initial_rates(s, s.tableau)
    copy(s.k[0], s.past[0], s.width)
    s.history_filled = 1
    if reason == CONTINUE and s.tableau.implicit != 0:
        limit_to_begin(s)
    return reason


def lengthen(s: Stepper, m: Tableau) -> None:
    """After a change of modes: steps that became short before it need not be short behind it."""
    c, length = s.modes, abs(s.h)
    if m.implicit == 0 and m.external == 0 and s.adaptive != 0:
        if length < SHORT * c.first_step:
            first_step(s)
            s.h = max(length, abs(s.h))
        s.last_rejected = 0
        c.first_step = abs(s.h)


def finite_dense(s: Stepper, m: Tableau) -> bool:
    """Whether all coefficients of the interpolant are finite."""
    term = 0
    while term < m.terms and first_nonfinite(s.dense[term], s.width) < 0:
        term += 1
    return term == m.terms


def finish_step(s: Stepper, m: Tableau, h: float) -> int:
    """At the new state: derivative, projections onto constraints and sliding surfaces, history, records, condition number."""
    copy(s.k[m.stages], s.k[0], s.width)
    if m.implicit != 0:
        for j in range(m.solved):
            copy(s.stage[j], s.past_stage[j], s.width)
        s.past_h, s.past_stage_valid = h, 1
        if m.evaluates_end == 0:
            s.smooth = 1
    reason = CONTINUE
    if s.project != 0:
        if s.switching != 0 and (s.beside_switch == 2 or at_restart(s)):
            s.leap_possible = 1
            if not projects_behind_switches(s):
                s.leap_possible = jumps_here(s, s.step_length if s.beside_switch == 2 else abs(h))
        if s.switching != 0 and s.beside_switch == 2 and projects_behind_switches(s):
            s.beside_switch = 1
        else:
            reason = project(s, m)
    if s.switching != 0 and s.sliding > 0:  # before the state is recorded: its last sample is its end
        s.off_surface = 0 if return_to_surfaces(s, h) else 1
    depth = s.tableau.history
    for j in range(depth - 1, 0, -1):
        copy(s.past[j - 1], s.past[j], s.width)
    copy(s.k[0], s.past[0], s.width)
    s.history_filled = min(depth, s.history_filled + 1)
    if (s.switching != 0 or s.marks != 0) and (s.irregular != 0 or s.kink_limited != 0):
        s.history_filled = 1
    record_step(s)
    sample_at_t(s)
    if s.aborted != 0:
        return ABORTED
    if reason == CONTINUE and not well_conditioned(s):
        return SWITCH
    return reason


def project(s: Stepper, m: Tableau) -> int:
    """Project the state onto its constraints if the residual exceeds the threshold."""
    moved = False
    s.time[0] = s.t
    threshold = s.tight if s.condition > s.close else s.threshold
    s.unprojected = 0.0
    exact = s.projections > 0 and lies_on_constraints(s, threshold)
    if exact:
        s.unprojected = s.scalar[0]
    for i in range(0 if exact else s.projections):  # Newton steps
        copy(s.x, s.point, s.width)
        call_kernel(s.project, (s.time, s.point, s.u, s.parameters), (s.new, s.scalar))
        if i == 0:
            s.unprojected = s.scalar[0]
            if s.unilateral != 0 and s.scalar[0] > s.broken and has_places(s):
                s.unprojected = change_with_inertia(s)
        if s.scalar[0] <= threshold:
            break
        bad = first_nonfinite(s.new, s.states)
        if bad >= 0:
            s.failed_index, s.failed_kind, s.bad_time = bad, 1, s.t
            return NOT_FINITE
        copy(s.new, s.x, s.states)
        moved = True
    if s.unilateral != 0 and moved:
        s.modes.at_end = 0
    s.leaps = 0
    if s.switching != 0:
        if at_restart(s):
            s.beside_switch = 2
        if s.beside_switch > 0:
            s.beside_switch -= 1
            s.leaps = 1 if s.leap_possible != 0 and s.unprojected > s.broken else 0
    broken = s.scalar[0] > s.broken or s.leaps != 0
    # The rate of an implicit method is that of a smooth solution; a newly evaluated one need not be.
    if moved and m.external == 0 and (m.implicit == 0 or (m.evaluates_end != 0 and s.dynamics != 0)):
        copy(s.x, s.point, s.width)
        evaluate(s, s.t, 0)
        bad = first_nonfinite(s.k[0], s.states)
        if bad >= 0:
            s.failed_index, s.failed_kind, s.bad_time = bad, 0, s.t
            return NOT_FINITE
    return BROKEN if broken else CONTINUE


def projects_behind_switches(s: Stepper) -> bool:
    """Whether the step that ends at a switch is not projected there, but behind it (`contact_places`)."""
    return s.unilateral != 0 and has_places(s)


def jumps_here(s: Stepper, length: float) -> int:
    """Whether the residual of the constraints jumps at the switch where the state is: from just before it to just behind it. A
    residual behind a step does not tell, since errors within the tolerance make one, too."""
    away = BESIDE * (length if s.end >= s.t else -length)
    before = residual_beside(s, -away)
    return 1 if abs(residual_beside(s, away) - before) > s.broken else 0


def residual_beside(s: Stepper, away: float) -> float:
    """The residual of the constraints a little before or behind the state, along the motion."""
    copy(s.x, s.point, s.width)
    for i in range(s.states):
        s.point[i] += away * s.k[0, i]
    s.time[0] = s.t + away
    call_kernel(s.project, (s.time, s.point, s.u, s.parameters), (s.new, s.scalar))
    return s.scalar[0]


def well_conditioned(s: Stepper) -> bool:
    """Whether the condition number at (t, x) is below its limit."""
    if s.monitor == 0:
        return True
    copy(s.x, s.point, s.width)
    s.time[0] = s.t
    call_kernel(s.monitor, (s.time, s.point, s.u, s.parameters), (s.scalar,))
    s.condition = s.scalar[0]
    if s.limit > s.usual_limit and s.condition < 0.25 * s.limit:
        s.limit = max(s.usual_limit, 2.0 * s.condition)
    return s.condition <= s.limit
