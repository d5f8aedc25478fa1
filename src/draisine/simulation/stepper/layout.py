"""Records shared by the driver and the stepping loop. The loop keeps no other state between two calls.

The comments give the shapes: n states, w the number of unknowns padded for vector instructions, m inputs, e events; for implicit
methods N unknowns (the states first, then further unknowns of the implicit form), s stages, c complex systems, z entries of the
Jacobians.
"""

from __future__ import annotations

from draisine.codegen.restricted.types import (
    ComplexCube,
    ComplexMatrix,
    ComplexVector,
    IntegerMatrix,
    Integers,
    Matrix,
    Record,
    Vector,
)
from draisine.simulation.stepper.contact_layout import ContactModes

# Reasons why the loop returned.
CONTINUE = 0
PAUSED = 1  # the budget of steps of this call is used up
FULL = 2  # the buffers of steps or events must grow
REACHED = 3  # the end
STOPPED = 4  # by the event `stopping_event`
SWITCH = 5  # the condition passed its limit
NOT_FINITE = 6
STEP_TOO_SMALL = 7
TOO_MANY_STEPS = 8
ABORTED = 9  # by a control callback
UNSOLVED = 10  # Newton's iteration did not converge, see `solver_failure`
STIFF = 11  # stability limits the steps of an explicit method
STIFFNESS_CHECK = 13  # periodic check whether an implicit method is still needed
UNDETERMINED = 12  # the equations do not determine the rate or value of the unknown `failed_index` at the start
BROKEN = 14  # a constraint is violated by more than `broken` although the state was projected, or before that beside a switch
ACCUMULATED = 16  # infinitely many switches before t, and the motion behind them is not known
CONTACT_UNSOLVED = 17  # no mode of the contacts was found, see `modes.outcome`
AMBIGUOUS = 15  # the sliding motion on the surfaces `sliding_margin` is not unique

# Outcome of the solution of a system of equations; also the `solver_failure` of a run.
SOLVED = 0
DIVERGED = 1  # or converges too slowly
SINGULAR_MATRIX = 2
NONFINITE_VALUES = 3

# Phases of a run.
FRESH = 0  # only t and x are known
CHANGED = 1  # the driver changed inputs, state or kernels: recompute derivatives, keep step and event signs
RUNNING = 2
STIFFENED = 3  # an explicit run has got memory for an implicit method, too, which takes the next step

# Accepted steps of an implicit method between two checks whether it is still needed.
STIFFNESS_CHECK_INTERVAL = 10
# Step times spectral radius up to which two steps of the explicit method take no longer than one of the implicit one.
CLOSE_TO_BORDER = 12.0
# Explicit steps after which a return from the implicit method was worthwhile.
WORTHWHILE_STEPS = 60
# Part of the last explicit step that an implicit method begins with: its error estimate may be larger.
FIRST_PART = 0.1
# Least margin of a contact before the first step.
NEVER_YET = 1e300
# Kind of a stopping event whose function must be positive from the start on.
REQUIRED = 2
# Number of equidistant points of a step, besides its start, at which event functions are evaluated first.
GRID = 4
# Room for zeros of one event function in a step, and for halvings of an interval in which they are isolated.
ROOTS = 512
HALVINGS = 54
# Highest degree of event functions on a step that are treated as polynomials, and degree used for the others.
MAX_DEGREE = 16
OTHER_DEGREE = 8
# Kinds of switches.
SWITCHED = 0  # the branch changed
ENTERED = 1  # sliding began
LEFT = 2  # sliding ended
# Values of forces and outputs at a record.
ONE_SIDED = 0  # as written: the run does not slide
MIXED = 1  # with the mixed law of a sliding motion
MEANS = 2  # means of both sides
# Why derivatives are those of one side.
COINCIDENT = 1  # two switches at one time, whose order matters
TANGENTIAL = 2  # the motion touches a surface
AT_START = 3  # the run starts on a surface
LEAPING = 4  # the switching function itself jumps
# Surfaces on which a run can slide at the same time.
MOST_SLIDING = 16
MOST_SPLIT = 16  # laws between which forces are split
# Switches in a short time that are taken for those before a limit (`accumulation`).
RECENT = 24
# Switches without an advance of time.
MOST_SWITCHES = 64
# The same for margins of switching functions that may end in the step.
MARGIN_GRID = 16
METHOD_TIMES = 8  # changes of methods whose times are kept
# Coefficients of the interpolant: three of the cubic and at most four more.
TERMS = 7


class Tableau(Record):
    """The coefficients of a method, see `methods.tableau`; r rows."""

    order: int
    history: int
    stages: int
    rows: int
    terms: int
    external: int
    weights: Matrix  # (r, r)
    nodes: Vector  # (r)
    dense: Matrix  # (terms − 3, r)
    error: Matrix  # (2, r)
    by_stages: Matrix  # (0 or 2, r)
    monitored: Integers  # stages at which margins of contacts are noted, in the order of time
    # of implicit methods, which solve for s stages
    implicit: int
    coupled: int
    solved: int
    power: int
    evaluates_end: int
    real_systems: int
    pair_systems: int
    update: Vector  # (s)
    end_rate: Vector  # (s)
    estimate: Vector  # (s) or (s + 1)
    rough: Matrix  # (terms, s + 2), and so is `dense`
    mismatch: Vector  # (s + 2)
    real: Matrix  # (0 or 1, 1 + 2 s)
    pairs: ComplexMatrix  # (c, 1 + 2 s)
    filter: float
    points: Vector  # fractions of a step at which the equations are evaluated, in order, 0 and 1 included


class Stepper(Record):
    """All data that the stepping loop reads and writes."""

    # sizes
    states: int
    width: int
    inputs: int
    events: int
    contacts: int
    samples: int
    step_room: int
    event_room: int
    # addresses of kernels of (t, x, u, p), 0 for none
    dynamics: int
    project: int
    deviation: int  # the error of the projection alone, where that takes far less time
    monitor: int
    event_kernel: int
    contact_kernel: int  # of contact margins, where they are monitored
    control: int
    # arguments and results of the kernels
    time: Vector  # (1)
    point: Vector  # (w) state argument of kernels
    u: Vector  # (m) inputs
    parameters: Vector
    scalar: Vector  # (1) a kernel's scalar result
    command: Vector  # (m) inputs set by a control kernel
    values: Vector  # (e) events
    # the step
    x: Vector  # (w) state at t
    new: Vector  # (w) state at t + h
    k: Matrix  # (rows, w) derivatives
    past: Matrix  # (history, w) derivatives at t, t − h, …
    dense: Matrix  # (TERMS, w) coefficients of the interpolant
    error: Matrix  # (2, w) error estimates
    atol: Vector  # (n)
    tableau: Tableau  # of the method
    starter: Tableau  # of the method of the first steps
    # events
    grid: Matrix  # (GRID + 1, e) values over the step
    sign: Integers  # (e) last nonzero sign, or 0
    direction: Integers  # (e)
    stops: Integers  # (e) 1 if the event stops the run, or REQUIRED
    only_required: int  # 1 if all are: they are judged at the ends of steps
    next_sign: Integers  # (e) at the end of the step
    polynomial: Integers  # (e) 1 if it is a polynomial of θ, of a degree below the number of nodes
    jumps: Integers  # (e) 1 for event functions that jump by themselves: a change of sign is an event without a zero
    near: Integers  # (e) 1 if it may have zeros in the step
    root: Vector  # (ROOTS e) fractions of the step
    root_event: Integers  # (ROOTS e)
    # isolation of their zeros, see `event_polynomials`; c nodes
    node: Vector  # (c)
    bernstein: Matrix  # (c, c)
    tail: Matrix  # (3, c)
    noise: float
    fine: Matrix  # (c, e) values at the nodes of the step …
    cubic: Matrix  # (c, e) … and those on the cubic through its ends
    part: Vector  # (c) values at the nodes of a part of the step
    coefficient: Matrix  # (HALVINGS, c) intervals of this part, as Bernstein coefficients …
    low: Vector  # (HALVINGS) … and their ends
    high: Vector  # (HALVINGS)
    check: Vector  # (ROOTS) between these fractions of the step a function changes its sign once at most
    check_value: Vector  # (ROOTS)
    check_count: int
    unresolved_event: int  # 1 + an event that varies too fast for a step, or has more zeros in it than there is room for, …
    unresolved_time: float  # … and the start of this step
    # contact margins (`contact_monitor`), c of them
    contact: Vector  # (c) values
    contact_least: Vector  # (c) least over the accepted steps
    contact_spacing: float  # longest time between two evaluations where forces depend on time, else 0
    # records
    sample_time: Vector  # (samples + 1)
    sample_x: Matrix  # (samples + 1, n)
    sample_u: Matrix  # (samples + 1, m)
    step_time: Vector  # (step_room)
    step_x: Matrix  # (step_room, n) if keep_steps
    step_u: Matrix  # (step_room, m) if keep_steps
    event_time: Vector  # (event_room)
    event_x: Matrix  # (event_room, n)
    event_index: Integers  # (event_room)
    # settings
    adaptive: int
    keep_steps: int
    max_steps: int
    budget: int
    projections: int
    rtol: float
    max_step: float
    step: float  # of fixed-step methods
    threshold: float  # of the residual above which the state is projected
    broken: float  # of the residual after projection at which the run ends
    limit: float  # of the condition
    usual_limit: float  # to which it returns when the condition is low again
    close: float  # condition from which on states are projected to the threshold `tight`
    tight: float
    # progress of the run
    unprojected: float  # residual of the last step before its projection …
    leaps: int  # … and whether a constraint, or its slope, jumps at the switch beside it
    phase: int
    history_filled: int  # rows of `past` that are known
    index: int  # fixed steps: completed …
    planned_steps: int  # … and total
    last_rejected: int  # the last attempt was rejected
    dense_ready: int  # all coefficients of the interpolant are known (1), but disagree with its stages (2)
    aborted: int  # set by a control callback
    t: float
    end: float
    h: float
    origin: float  # fixed steps are counted from here
    last_error: float
    condition: float
    external_time: float  # end of the step of an external method
    # counters
    evaluations: int
    accepted: int
    rejected: int
    sample_count: int
    step_count: int
    event_count: int
    # cause of the end
    stopping_event: int  # the event
    failed_index: int
    failed_kind: int  # of what `failed_index` is: a state (1), its derivative (0) or an equation (2)
    solver_failure: int
    bad_time: float
    # stiffness detection
    check_stiffness: int  # whether to test for it (2: at every step)
    stiff_steps: int  # steps at the stability limit
    nonstiff_steps: int  # steps below it; for implicit methods, steps since the last check
    # ---- changes of methods within the loop (`method_change`)
    paired: int  # 1 if there is memory for both methods
    uses_implicit: int  # 1 while the implicit one is in use
    explicit_tableau: Tableau
    implicit_tableau: Tableau
    explicit_rtol: float
    implicit_rtol: float
    explicit_atol: Vector  # (n)
    implicit_atol: Vector  # (n)
    nonstiff_limit: float  # h ρ below which the explicit method is used
    limited_step: float  # the last explicit step that stability limited
    returned_at: int  # accepted steps at the last return to the explicit method
    method_changes: int
    method_time: Vector  # (METHOD_TIMES) of the first changes, and of the last one
    # ---- implicit methods
    unknowns: int  # N
    entries: int  # z
    residual: int  # kernels of (t, x, ẋ, u, p)
    jacobian: int
    rate: Vector  # (w)
    dae_index: Integers  # (N)
    differential: Integers  # (N)
    entry_row: Integers  # (z) positions of the entries of the Jacobians, by columns
    entry_column: Integers  # (z)
    core: int  # number of unknowns that enter other equations than their own; the others follow from these
    core_unknown: Integers  # (N) these, then the others
    core_place: Integers  # (N) place of an unknown among these, −1 for the others
    outer: Integers  # (z) entries of the equations of the others: beside the diagonal, then on it …
    outer_count: int  # … and the number of the first
    by_state: Vector  # (z) their values
    by_rate: Vector  # (z)
    weight: Vector  # (w) one over the error tolerance of an unknown, 0 for those without error control
    stage: Matrix  # (s, w) increments of the stages …
    past_stage: Matrix  # (s, w) … and those of the step before
    stage_residual: Matrix  # (s, w) residuals of the stages
    change: Matrix  # (s, w) corrections of the stages
    rhs: Vector  # (w) right-hand side of a real system …
    complex_rhs: ComplexVector  # (w) … and of a complex one
    core_side: Vector  # (w) the same of the unknowns that are solved for together
    complex_core_side: ComplexVector  # (w)
    # factors of λ/h ∂F/∂ẋ + ∂F/∂x, one real and c complex: dense, of the unknowns that are solved for together …
    lu: Matrix  # (N, N)
    complex_lu: ComplexCube  # (c, N, N)
    pivot: Integers  # (N)
    complex_pivot: IntegerMatrix  # (c, N)
    # … or by a plan
    sparse: int
    plan: Integers
    entry: Vector  # (z) the matrix before it is factorized
    complex_entry: ComplexVector  # (z)
    factor: Vector
    complex_factor: ComplexMatrix  # (c, as many)
    work: Vector  # (N)
    complex_work: ComplexVector  # (N)
    # progress of an implicit run
    residual_form: int  # given as 0 = F(t, x, ẋ), not as ẋ = f
    needs_start_solve: int  # rates and algebraic unknowns are solved for at the start
    jacobian_fresh: int  # the Jacobians belong to (t, x)
    jacobian_old: int  # they must be recomputed before the next step
    factorized: int  # the factors belong to the Jacobians and to `factor_h`
    past_stage_valid: int  # `past_stage` is that of the step before
    smooth: int  # the rate at t is that of a smooth solution
    iterations: int
    jacobians: int
    factorizations: int
    newton_tolerance: float  # 0: to rounding error
    convergence: float  # rate of Newton's iteration …
    newton_factor: float  # … and rate/(1 − rate), kept from step to step
    shrink_factor: float  # factor on a step whose iteration failed
    longest_step: float  # since stages were not solved; 0 for any
    factor_h: float
    past_h: float
    accepted_h: float
    accepted_error: float
    # ---- switching functions: g margins of b branches, at most m surfaces at a time
    switching: int  # whether there are any
    margins: int  # g, those of unilateral contacts included
    branch_margins: int  # without them
    unilateral: int  # whether there are unilateral contacts
    modes: ContactModes
    margin_kernel: int  # (t, x, u, p) → margins, positive inside the present branches
    switch_rate_kernel: int  # (t, x, u, p) → rates of the switching functions along the motion; 0 if they are not known
    prologue: int  # (t, x, u, p) → hoisted values
    branch: Vector  # (b) the present branches: part of `parameters`
    hoisted: Vector  # hoisted values: part of `parameters`
    margin: Matrix  # (MARGIN_GRID + 1, g) margins over the step
    margin_value: Vector  # (g)
    switch_rate: Vector  # (b, and their derivatives in k directions)
    armed: Integers  # (g) 1 if the margin was positive since its branch was taken
    margin_branch: Integers  # (g) the branch of a margin
    margin_corners: Integers  # (g) 1 if the margin may have corners within a branch: `abs`, `min`, `max`, roots
    margin_step: Integers  # (g) change of the branch where the margin ends; 0 for the other one of two
    shorten: Matrix  # (TERMS, TERMS) coefficients of a shortened interpolant
    cut_work: Vector  # (TERMS + 1)
    switch_row: int  # the margin that ends first in the step
    switches_here: int  # switches since time advanced
    # restart times, at which branches of time alone change
    restarts: int
    restart_index: int  # the next one
    restart_time: Vector  # (restarts + 1)
    restart_branch: Matrix  # (restarts + 1, b) from then on; NaN for branches of the state
    off_grid: int  # fixed steps: t is not a multiple of the step
    grid_step: int  # fixed steps: the attempt ends at a multiple …
    irregular: int  # … or is shorter than others
    leap_possible: int  # the residual of the constraints jumps at the last switch
    beside_switch: int  # steps beside a switch: the one that ends there, and the next
    behind_switch: int  # the state has been moved into new branches, where a projection would not leave it (`contact_places`)
    restarted: int  # branches changed; read and cleared by external methods and batches
    # functions of time: steps may cross where nothing happens between the points of the method
    marks: int  # c
    mark_index: int  # the first one after t
    mark_time: Vector  # (c) kinks and knots, points between them, and both ends of the run
    mark_kink: Integers  # (c) the first kink from here on, −1 for none
    mark_stop: Integers  # (c) the first stop from here on, −1 for none
    mark_value: Matrix  # (c, functions of time)
    mark_tolerance: Vector  # (functions of time) deviation up to which a step may cross
    mark_curved: Integers  # (functions of time) 1 if it is smooth between kinks, not straight
    mark_safe: float  # length of steps that pass over nothing in curved functions
    mark_known: Vector  # values of a function at the points of the method
    mark_cubic: Vector  # (4) a polynomial through some of these values, by divided differences
    kink_crossing: int  # the last attempt crossed a kink
    hits_kinks: int  # no kink is crossed
    kink_limited: int  # the attempt ends at a kink
    kink_hits: int  # attempts that end at the next kink before a crossing is tried again
    kink_patience: int
    # sliding on surfaces
    sliding: int  # their number
    sliding_margin: Integers  # (m) their margins
    sliding_parameters: Matrix  # (m + 1, parameters) of the present branches, and with the branch of one surface switched
    sliding_field: Matrix  # (m + 1, w) the fields with these parameters
    sliding_rate: Matrix  # (m + 1, b and their derivatives) rates of the switching functions along these fields
    sliding_motion: Vector  # (w) their combination …
    sliding_start: Vector  # (w) … and that at the start of a step
    share: Vector  # (m) of the switched fields
    sliding_matrix: Matrix  # (m, m)
    sliding_pivot: Integers  # (m)
    resting: int  # whether all states rest on these surfaces, behind a limit of switches
    sliding_row: int  # 1 + the surface that determines all shares, of laws that act along one line; 0 if each does, −1 if none
    off_surface: int  # 1 if the step left its surfaces farther than rounding and drift explain
    # the law while sliding (`mixture`)
    mixed_dynamics: int  # kernels of (t, x, u, p) that take branches between those of two sides, 0 for none: derivative, …
    mixed_rates: int  # … rates of the switching functions, …
    mixed_events: int  # … events, if they depend on the law, …
    mixed_contact: int  # … and contact margins
    first_branch: int  # entry of the parameters at which the branches begin
    mixture_kind: int  # MIXED or MEANS
    mixed_parameters: Vector  # (parameters)
    mixed_field: Vector  # (w)
    mixed_rate: Vector  # (b, and their derivatives)
    mixed_value: Matrix  # (2, events or contacts)
    sample_mixture: Matrix  # (samples + 1, 1 + b) kind and branches at the samples …
    step_mixture: Matrix  # (step_room, 1 + b) … and at the steps, if keep_steps
    means: int  # number of records of means …
    means_time: float  # … and the first one
    # the split of forces between laws that share a surface (`force_split`), m of them at most
    split_law: Integers  # (m) their branches
    split_named: Integers  # (b) 1 for laws whose part of the forces was not determined
    splits: int  # number of such splits …
    split_time: float  # … and the first one
    split_failures: int  # not 0 if a split is arbitrary, since equal fractions were not found
    split_margin: Matrix  # (3, g) margins, those beside the surfaces, and the largest changes
    split_point: Vector  # (w)
    split_scale: Vector  # (w) of the components of the effects
    split_effect: Matrix  # (m, w) on the field
    split_basis: Matrix  # (m + 1, w) of the effects
    split_part: Matrix  # (m, m) components of the effects
    split_matrix: Matrix  # (m, m)
    split_pivot: Integers  # (m)
    split_fixed: Integers  # (m) 1 for laws at the end of their range
    split_weight: Vector  # (m)
    split_deviation: Vector  # (m) of the laws from the middle of their ranges
    split_sum: Vector  # (m)
    split_need: Vector  # (m) the components that the motion determines
    split_before: Vector  # (b) branches before the split
    # derivatives of the state in k directions, after the state itself (`saltation`)
    variations: int  # k
    plain_states: int  # n without them
    saltation_kernel: int  # (t, (x, S, ẋ), u, p) → switching functions, their derivatives in all directions, and rates
    surface_point: Vector  # (n (k + 2)) (x, S, ẋ)
    surface_change: Vector  # (b (k + 2)) its results
    shift: Vector  # (k) derivatives of the time of a switch …
    shift_known: int  # … whether there was one …
    shift_time: float  # … that time …
    last_shift: Vector  # (k) … and the derivatives of that of `last_switch`
    share_change: Vector  # (m) derivatives of the shares of sliding fields
    field_before: Vector  # (w) fields before a switch …
    field_after: Vector  # (w) … and after it
    field_start: Vector  # (w) before all switches of a restart time …
    field_single: Vector  # (w) … and with one of them alone
    branch_start: Vector  # (b) branches of these
    branch_now: Vector  # (b)
    step_length: float  # of the step in which a margin ended
    switch_jumps: Integers  # (b) 1 if the field may jump
    last_switch: int  # the switching function of the last switch that may jump …
    last_switch_known: int
    last_switch_time: float  # … its time …
    last_switch_effect: int  # … whether it did …
    last_branch: float  # … and its branch before
    old_branch: float  # that of the present switch
    one_sided: int  # number of times at which derivatives are those of one side; the first one:
    one_sided_time: float
    one_sided_kind: int  # of COINCIDENT, TANGENTIAL, AT_START, LEAPING
    one_sided_switch: int  # the switching function …
    other_switch: int  # … and the one that switches with it
    # records of switches
    switch_time: Vector  # (switch_room)
    switch_margin: Integers  # (switch_room) the margin; −1 for a restart time
    switch_kind: Integers  # (switch_room) of SWITCHED, ENTERED, LEFT
    switch_count: int
    switch_room: int
