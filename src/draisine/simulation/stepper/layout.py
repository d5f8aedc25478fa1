"""The memory of a run: the records that the driver and the stepping loop share. The loop keeps nothing between two calls.

The comments give the shapes: n states, w the number of unknowns padded for vector instructions, m inputs, e events; for implicit
methods N unknowns (the states first, then those that only the equations know), s stages, c complex systems, z entries of the
Jacobians.
"""

from __future__ import annotations

from draisine.codegen.restricted.record import Record
from draisine.codegen.restricted.types import ComplexCube, ComplexMatrix, ComplexVector, IntegerMatrix, Integers, Matrix, Vector

# Why the loop came back.
GO_ON = 0
PAUSED = 1  # the budget of steps of this call is used up
FULL = 2  # the buffers of steps or events need more room
REACHED = 3  # the end
STOPPED = 4  # by the event `happening`
SWITCH = 5  # the condition passed its limit
NOT_FINITE = 6
STEP_TOO_SMALL = 7
TOO_MANY_STEPS = 8
ABORTED = 9  # a control callback asked for it
UNSOLVED = 10  # Newton's iteration did not converge, see `trouble`
STIFF = 11  # an explicit method makes steps that stability limits
LOOK = 13  # an implicit method asks, now and then, whether it is still needed
UNDETERMINED = 12  # the equations do not give the rate or value of the unknown `culprit` at the start

# How a system of equations came out; also the `trouble` of a run that ended for it.
SOLVED = 0
DIVERGED = 1  # or converges too slowly
SINGULAR_MATRIX = 2
BAD_NUMBERS = 3

# Phases of a run.
FRESH = 0  # nothing is known but t and x
CHANGED = 1  # inputs, state or kernels were changed by the driver: derivatives anew, step and event signs kept
RUNNING = 2

# Accepted steps of an implicit method between two looks at whether it is still needed.
LOOK_AFTER = 10
# Events are looked for at these fractions of a step, besides its start.
GRID = 4
# Coefficients of the interpolant: three of the cubic and at most four more.
TERMS = 7


class Tableau(Record):
    """The numbers of a method, see `methods.scheme` and `methods.implicit_scheme`; r rows."""

    order: int
    history: int
    stages: int
    rows: int
    terms: int
    foreign: int
    weights: Matrix  # (r, r)
    nodes: Vector  # (r)
    dense: Matrix  # (terms − 3, r)
    error: Matrix  # (2, r)
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


class Stepper(Record):
    """Everything that the stepping loop reads and writes."""

    # sizes
    states: int
    width: int
    inputs: int
    events: int
    samples: int
    step_room: int
    event_room: int
    # addresses of kernels of (t, x, u, p), 0 for none
    dynamics: int
    project: int
    monitor: int
    watch: int
    control: int
    # what the kernels are given and give
    time: Vector  # (1)
    point: Vector  # (w) the state a kernel is asked about
    u: Vector  # (m) inputs
    parameters: Vector
    scalar: Vector  # (1) a kernel's scalar result
    command: Vector  # (m) inputs as a control kernel gives them
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
    starter: Tableau  # of the one that makes its first steps
    # events
    grid: Matrix  # (GRID + 1, e) values over the step
    sign: Integers  # (e) last sign other than zero, 0 before there is one
    direction: Integers  # (e)
    stops: Integers  # (e) 1 if the event stops the run
    root: Vector  # (GRID e) fractions of the step
    root_event: Integers  # (GRID e)
    # what is kept
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
    threshold: float  # of the error above which the state is projected
    limit: float  # of the condition
    # where the run stands
    phase: int
    filled: int  # rows of `past` that are known
    index: int  # fixed steps: done …
    planned: int  # … and to do
    rejecting: int  # the last attempt was rejected
    ready: int  # all coefficients of the interpolant are known
    aborted: int  # set by a control callback
    t: float
    end: float
    h: float
    origin: float  # fixed steps are counted from here
    last_error: float
    condition: float
    given_time: float  # where the step leads to that a foreign method has made
    # what it did
    evaluations: int
    accepted: int
    rejected: int
    sampled: int
    stepped: int
    happened: int
    # what stopped it
    happening: int  # the event
    culprit: int
    culprit_is_state: int  # whether the culprit is a state (1), its derivative (0) or an equation (2)
    trouble: int
    bad_time: float
    # stiffness as an explicit method sees it
    suspect: int  # whether to look (2: at every step)
    stiff_steps: int  # how often it was seen
    calm_steps: int  # how often not; of implicit methods, steps since a look
    # ---- implicit methods
    unknowns: int  # N
    entries: int  # z
    residual: int  # kernels of (t, x, ẋ, u, p)
    jacobian: int
    rate: Vector  # (w)
    dae_index: Integers  # (N)
    differential: Integers  # (N)
    entry_row: Integers  # (z) places of the entries of the Jacobians, by columns
    entry_column: Integers  # (z)
    by_state: Vector  # (z) their values
    by_rate: Vector  # (z)
    weight: Vector  # (w) one over the error allowed to an unknown, 0 for those nobody asks about
    stage: Matrix  # (s, w) increments of the stages …
    past_stage: Matrix  # (s, w) … and those of the step before
    load: Matrix  # (s, w) residuals of the stages
    change: Matrix  # (s, w) corrections of the stages
    side: Vector  # (w) right side of a real system …
    complex_side: ComplexVector  # (w) … and of a complex one
    # factors of λ/h ∂F/∂ẋ + ∂F/∂x, one real and c complex: dense …
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
    # where an implicit run stands
    settles: int  # rates and algebraic unknowns are to be solved for at the start
    fresh: int  # the Jacobians belong to (t, x)
    old: int  # they should be made anew before the next step
    factorized: int  # the factors belong to the Jacobians and to `factor_h`
    predicts: int  # `past_stage` is that of the step before
    smooth: int  # the rate at t is that of a smooth solution
    iterations: int
    jacobians: int
    factorisations: int
    newton_tolerance: float  # 0: to rounding error
    convergence: float  # rate of Newton's iteration …
    carried: float  # … and rate/(1 − rate), carried from step to step
    relief: float  # by what to shorten a step whose iteration failed
    factor_h: float
    past_h: float
    accepted_h: float
    accepted_error: float
