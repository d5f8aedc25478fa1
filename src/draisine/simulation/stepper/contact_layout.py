"""The record of unilateral contacts for the stepping loop: c contacts with m rows in all, of a mechanism with n velocities."""

from __future__ import annotations

from draisine.codegen.restricted.types import IntegerMatrix, Integers, Matrix, Record, Vector

# Modes of a contact, as they are recorded.
OPEN = 0
SLIP = 1
STICK = 2
# Numbers that describe a mode among the parameters: closed, sticks, direction and offset of slip along both tangential rows,
# grown, still, preload along the normal and both tangential rows.
MODE_ENTRIES = 11
MONITORED = 5  # stages of a step at which margins are noted, at most
# Times a velocity: a slip that is zero within rounding errors.
SLIPPING = 1e-11
# Laws of impact.
ENERGETIC = 0
POISSON = 1
NEWTON = 2
# How a change of modes ended.
FOUND = 0
INCONSISTENT = 1  # no mode satisfies the laws
INDETERMINATE = 2  # several do, with different accelerations
SINGULAR_MASS = 3
ENDLESS = 4  # modes change without an advance of time
UNDECIDED = 5  # none was found, but directions of slips that begin were not found either
PENETRATED = 6  # an open contact with a part of a ground profile is inside the ground
UNENDED = 7  # the path of an impact has not ended after very many parts


class ContactModes(Record):
    """Contacts, their modes, and the memory of their changes."""

    contacts: int
    velocities: int
    rows: int
    first_velocity: int  # its index in the state
    work: int  # index of the work in the state
    first_margin: int  # of two margins for each contact
    terms: int  # kernels of (t, x, u, p): terms of the equations …
    margin_kernel: int  # … and margins
    length: float  # typical one
    tolerance: float  # relative, of the integration
    mode: Vector  # (11 c) part of the parameters
    normal: Integers  # (c) row of the normal; −1 where friction is a given force
    host: Integers  # (c) contact whose resistance to rolling or drilling it is; −1 for none
    pressing: Integers  # (c) row of the normal force to which friction is proportional; −1 where friction is a given force
    column: Integers  # (c) number of the normal row among those that are solved for
    tangential: Integers  # (c) first tangential row
    ways: Integers  # (c) their number: 0, 1, 2
    law: Integers  # (c) of impact
    permanent: Integers  # rows of other constraints
    share: Vector  # (m) compliance of a row, in the ratio of that of the equations; 0 where rows do not depend on each other
    stage_margin: Matrix  # (MONITORED, 2 c) margins at stages of an explicit step (`Scheme.monitored`)
    margins: Vector  # (2 c), and the condition of the independent velocities of the usual modes
    without_collision: int  # 1 if impacts without approach resolve Painlevé's paradox
    driven: int  # 1 if ground, stops or prescribed motions may move the rows
    sequential: int  # 1 if impacts of several contacts come one after the other
    bounded: Integers  # (c) 1 if a contact ends where it would not land: on a part of a ground profile
    below: Integers  # (c) 1 if an open contact has passed the other surface where it does not land, and is below it
    first_step: float  # length of the first step in the present modes
    touch: Vector  # (c) what is added to the gap of an open contact that touches: errors of integration are no approach
    # terms: M v̇ = F + Aᵀ λ, A v̇ + bias, A v = speed
    mass: Vector  # (n n)
    force: Vector  # (n)
    row: Vector  # (m n)
    bias: Vector  # (m)
    speed: Vector  # (m)
    gap: Vector  # (c)
    at_end: int  # 1 if these are the terms at the end of the step
    coefficient: Vector  # (3 c) static and kinetic friction, −1 for infinite, or forces without a normal row; restitution
    # (4 c) tangential restitution; what must be positive where an open contact closes; scale of the slip across; size of what may
    # be flown past, 0 for none
    landing: Vector
    # factors of the mass matrix, and the dynamics in the present modes (`contact_field`)
    system_kernel: int  # kernel of (t, x, u, p), 0 for none
    rates: Vector  # those of the coordinates, and the power of given forces
    lower: Vector  # (n n) L by columns, the last velocity first, and below in this order
    inverse: Vector  # (n) D⁻¹
    load: Vector  # (n) L⁻¹ F
    columns: Vector  # (m n) L⁻¹ Aᵀ
    row_side: Vector  # (m) A v̇ of closed contacts
    row_speed: Vector  # (m) A v, and its part that moving surfaces have
    drift: Vector  # (m)
    rubbing: Vector  # (m) forces of friction against the slip, per normal force where there is one
    gaps: Vector  # (c)
    forward: Vector  # (c) slip along its direction
    static_friction: Vector  # (c)
    compliance: Vector  # (m)
    multiplier: Vector  # (m)
    pull: Vector  # (n) L⁻¹ (F + Aᵀ λ)
    scaled: Vector  # (n)
    effect: Matrix  # (m + 4, n) of the forces that are solved for; behind them L⁻¹ F, and room for blocks of products
    weighted: Matrix  # (m + 1, n) D⁻¹ times their columns
    field_row: Integers  # (m) their rows
    field_matrix: Matrix  # (m + 1, m + 4)
    field_pivot: Integers  # (m)
    field_side: Vector  # (m)
    field_force: Vector  # (m)
    field_new: Vector  # (m)
    field_step: Vector  # (m) the last change of forces by iteration
    field_size: int  # number of the forces that are solved for
    # slips in two dimensions (`slow_slips`)
    slip_then: Vector  # (c) at the point of the Jacobian
    turn_column: Matrix  # (c, n) across the slip
    turn_effect: Matrix  # (c, n) what a turn of the friction changes
    # response to forces along the rows, under the other constraints
    system: Matrix
    system_pivot: Integers
    side: Vector
    free: Vector  # (n) accelerations without contact forces
    response: Matrix  # (m, n) velocity changes by a unit impulse along a row
    delassus: Matrix  # (m, m)
    offset: Vector  # (m) accelerations along the rows without contact forces
    # complementarity
    target: Vector  # (m) what is to be made zero by forces: accelerations or velocities
    reaction: Vector  # (m) forces or impulses
    result: Vector  # (m) accelerations or velocities along the rows
    direction: Matrix  # (c, 2) of slip
    trial: Matrix  # (c, 2)
    choice: Integers  # (c) the combination that is tried
    best: Integers  # (c) the first that is right
    best_reaction: Vector  # (m)
    best_result: Vector  # (m)
    best_direction: Matrix  # (c, 2)
    active: Integers  # (c) contacts that are closed or close
    group: Integers  # (c) 1 for contacts that take an impact together, −1 for other active ones meanwhile
    vanished: int  # the contact whose normal force has just vanished; −1 for none
    negligible: float  # acceleration that is rounding error beside those of the mechanism
    excluded: Integers  # (c) 1 + a mode that a contact leaves; 0 for none
    settled: Integers  # (c) 1 if the direction of its slip is known
    begun: Vector  # (c) the slip in two dimensions at the start of the step
    before_stop: Integers  # (c) the same before slips are tried to stop together
    # directions of slips that begin, all together
    turning: Matrix  # (3, 3) tangential accelerations and 1, per normal force, as affine functions of the direction of one
    angle: Vector  # (c)
    angle_contact: Integers  # (c)
    angle_matrix: Matrix  # (c, c)
    angle_pivot: Integers
    angle_side: Vector
    small: Matrix  # (m, m)
    small_copy: Matrix
    small_side: Vector  # (m)
    small_row: Integers  # (m) row of an unknown
    small_pivot: Integers
    unknown: Vector  # (m)
    # forces that are not determined (`contact_shares`)
    dependent: int  # 1 if rows may depend on each other
    shares: int  # 1 if forces that are not determined may be others than those of the smallest size
    is_shared: int  # 1 if the reactions are not those of the smallest size, but within the cones of friction …
    best_shared: int  # … and the same of the best ones
    small_place: Integers  # (m) place of a row among the unknowns, −1 for none
    shared_effect: Matrix  # (m, m)
    shared_column: Integers  # (m)
    shared_force: Matrix  # (m, m) forces without effect on the motion, by unknowns
    shared: Vector  # (m + 1) how much of them is added, and by how much forces are beyond the cones of friction
    shared_before: Vector  # (m + 1)
    shared_step: Vector  # (m + 1)
    shared_pivot: Integers  # (m + 1)
    shared_size: float
    shared_scale: float
    share_error: float
    cone_slope: Matrix  # (3, m + 1)
    cone_rate: Vector  # (m + 1)
    cone_force: Vector  # (2)
    barrier_slope: Vector  # (m + 1)
    barrier_matrix: Matrix  # (m + 1, m + 1)
    # an impact of one contact: normal velocity, slip, work of the normal impulse, normal and tangential impulse
    path: Vector  # (7)
    path_new: Vector
    path_point: Vector
    path_rate: Matrix  # (4, 7)
    path_force: Vector  # (2) tangential force per normal force
    # outcome
    outcome: int
    impulse: Vector  # (m) of an impact
    total: Vector  # (m) of all impacts of a change
    lost: float  # energy in it
    late: float  # time of the bounces that are left out
    # reduced equations of the usual modes (`usual_modes`)
    stands: Integers  # (c) 1 for contacts that usually stick; others are open
    usual: int  # whether their kernels are in use
    usual_dynamics: int  # kernels of (t, x, u, p), 0 for none; p with hoisted values of their own …
    usual_project: int
    usual_margins: int
    usual_parameters: Vector
    all_dynamics: int  # … and those of all modes
    all_project: int
    all_margins: int
    all_parameters: Vector
    condition: float  # at the end of the last step
    worst: float  # condition up to which they are used
    # records of changes, the first of them at the start
    change_room: int
    change_count: int
    change_time: Vector
    change_mode: IntegerMatrix  # (room, c)
    change_entries: Matrix  # (room, 9 c) what describes the modes further: directions, offsets, grown, still, preloads
    change_impulse: Matrix  # (room, m)
    change_lost: Vector
    change_sample: Integers  # samples before the change …
    change_step: Integers  # … and steps
    # derivatives of the state (`contact_saltation`)
    jump: int  # the driver's function
    ended_margin: int  # −1 for none
    state_before: Vector  # state and modes before the change
    mode_before: Vector  # (11 c)
