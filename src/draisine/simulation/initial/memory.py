"""Records of the start solver: one level, positions or velocities, as a residual system in scaled changes.

The unknowns y are all coordinates, or all velocities. Some are prescribed by a target; the others are y = reference + scale ·
z, so that z = 0 is the reference and |z| the distance from it, with meters, radians and quaternions made comparable. Residuals
are constraints, outputs minus their targets, and rows that are linear in y.

The comments and `SHAPES` give the shapes: n unknowns, f of them free, m residuals of which the last l are linear, e structural
nonzeros of the Jacobian; g velocities and r rows with h derivatives that shall be at rest where possible; a points and b headings
on the ground.
"""

from __future__ import annotations

from draisine.codegen.restricted.types import Integers, Matrix, Record, Vector

FULFILLED = 1e-12  # the largest relative residual that counts as zero
RANK = 1e-10  # rows of length one with a smaller remainder are redundant

# how a start was found; 0: not found
NEWTON = 1  # from the references
PERTURBED = 2  # from a perturbation of them
CONTINUATION = 3  # in the targets
DESCENT = 4  # towards the targets
RESTARTED = 5  # Newton from random points

# tasks
FIND = 1  # a solution near the references; returns 1 if the search is finished
FIND_FAR = 2  # the rest of the search, with the system without targets as `other`
FIND_ALONE = 3  # the rest of the search, without it
REST = 4  # set velocities to rest
RESTORE = 5  # solve from the changes of `current`
CONTINUE = 6  # continuation towards the targets from the unknowns `begin`
DESCEND = 7  # to the smallest error of the targets of `other`
EVALUATE = 8  # residuals and factors at the changes of `current`
BATCH = 9  # find and set to rest, for all members
ALIGN = 10  # turn and shift the references towards the targets


class Motion(Record):
    """A kernel (t, q, v, u, p) → values of all constraints and outputs, and the entries of their Jacobians by q and v."""

    kernel: int
    t: Vector
    q: Vector
    v: Vector
    u: Vector
    p: Vector
    values: Vector
    by_q: Vector
    by_v: Vector


class Point(Record):
    """Changes z and the residuals there. A residual counts as zero by its relative size |r| / weight."""

    z: Vector  # (f)
    y: Vector  # (n)
    residual: Vector  # (m)
    jacobian: Matrix  # (m, n) by all unknowns
    weight: Vector  # (m) |target| + Σ |∂r/∂y| max(|y|, least_size): independent of units and sizes
    relative_residual: float  # the largest; infinite where a residual is NaN
    strict_relative_residual: float  # the same relative to the targets alone, for small targets beside large unknowns


class Factors(Record):
    """The Jacobian by z, with rows of length one, as L Q with orthonormal rows Q; see `newton`."""

    valid: int  # whether they belong to the Jacobian at `current`
    rank: int  # independent rows
    lengths: Vector  # (m) of the rows
    rounding: Integers  # (m) whether the derivatives of a row are rounding error
    remainder: Vector  # (m) norm of a row outside the basis
    order: Integers  # (m) the rows in the order of the basis
    basis: Matrix  # (m, f) Q; the k-th vector is row order[k]
    lower: Matrix  # (m, m) L; U where rows are redundant
    upper: Matrix  # (m, m) R of L = U R, where rows are redundant
    part: Vector  # (m)


class System(Record):
    """One level of a start: the problem, the state of the search, and work arrays."""

    # sizes
    unknowns: int
    free: int
    rows: int
    linear: int
    entries: int
    rest: int
    groups: int  # of rows that are zero at rest

    motion: Motion
    argument: Vector  # (n) argument of its kernel
    derivatives: Vector  # result of its kernel: entries of the Jacobian

    # problem
    columns: Integers  # (f) the free unknowns
    prescribed: Integers  # (n) whether an unknown is prescribed
    take: Integers  # (m − l) the rows among the values
    source: Integers  # (e) among the derivatives
    row: Integers  # (e) in the Jacobian
    column: Integers  # (e)
    targeted: Integers  # (m) whether a row is an output with a target
    target: Vector  # (m)
    period: Vector  # (m) of rows that are angles, 0 for others: their residuals are at most half of it
    matrix: Matrix  # (l, n) linear rows: matrix · y = target
    reference: Vector  # (n) targets of prescribed unknowns
    scale: Vector  # (n)
    max_step: Vector  # (n) largest step of an unknown in one iteration
    default: Vector  # (n) the references before targets
    length: float  # typical length of the system
    homogeneous: int  # 1: velocities, whose size follows from the targets, not from the scale

    # coordinates on the ground, by the assembly that they shift or turn
    assemblies: int
    point_x: Integers  # (a) coordinates of points along x; −1 for none
    point_y: Integers  # (a)
    point_assembly: Integers  # (a)
    turn: Integers  # (b) headings: an angle, or the first component of a quaternion
    turn_kind: Integers  # (b) the number of components: 1 or 4
    turn_assembly: Integers  # (b)

    # rows that are zero at rest, by group: a free velocity, or a value and its derivatives
    rest_group: Integers  # (r) in ascending order
    rest_free: Integers  # (r) among the free unknowns; −1 for a value
    rest_value: Integers  # (r) among the values; −1 for a velocity
    rest_meters: Integers  # (r) whether a value is in m/s
    rest_source: Integers  # (h) among the derivatives
    rest_row: Integers  # (h)
    rest_column: Integers  # (h) among all unknowns

    # derived from it
    least_size: Vector  # (n) smallest size of the unknowns in weights
    max_change: Vector  # (f) largest change z in one step

    # search
    current: Point
    trial: Point
    factors: Factors
    fixed: Integers  # (f) whether a free unknown is temporarily kept at its reference
    damped: int  # whether damped steps were needed, so that another solution may be closer
    curved: int  # whether the Jacobian changed; else no solution is closer
    best: Vector  # (f) the best point of all attempts
    best_share: float
    best_size: float
    way: int  # how it was found

    # continuation
    begin: Vector  # (n) the unknowns without targets
    last_y: Vector  # (n) the last point of the continuation
    values_at_begin: Vector  # (m) of the rows
    last_target: Vector  # (m)
    last_reference: Vector  # (n)

    # work arrays
    step: Vector  # (f)
    saved: Vector  # (f)
    gradient: Vector  # (f)
    new_gradient: Vector  # (f)
    projected_gradient: Vector  # (f)
    hessian_step: Vector  # (f)
    cg_residual: Vector  # (f)
    direction: Vector  # (f)
    hessian_direction: Vector  # (f)
    multipliers: Vector  # (m)
    rhs: Vector  # (m)
    products: Matrix  # (m, m)
    damping: Matrix  # (m, m)
    aim_weight: Vector  # (m) of targets
    prescribed_weight: Vector  # (n) of prescribed unknowns
    rest_matrix: Matrix  # (r, f) rows by z
    rest_offset: Vector  # (r) their values at z = 0
    rest_size: Vector  # (r) norms of the rows
    remainder: Matrix  # (r, f) what is not decided of the rows
    rest_lower: Matrix  # (r, f) L
    rest_unit: Matrix  # (r, f) orthonormal columns of L
    rest_upper: Matrix  # (g, g)
    rest_part: Vector  # (g) y
    decided: Matrix  # (g, f) orthonormal directions that are decided
    place_of: Integers  # (n) place of an unknown among the free ones, or −1


class Batch(Record):
    """Starts that differ in numbers, not in structure: (members, …) each."""

    members: int
    reference: Matrix
    scale: Matrix
    length: Vector
    target: Matrix
    q: Matrix  # given for the velocity level, and v for the position level
    v: Matrix
    u: Matrix
    p: Matrix
    found: Matrix  # (members, n) the results
    way: Integers  # how each was found; 0: not found
    full_rank: Integers  # whether its rows are independent


class Task(Record):
    """A task of the solver."""

    what: int
    system: System
    other: System  # the system without targets, or the one whose targets are approached
    thorough: int
    batch: Batch


SHAPES: dict[str, dict[str, str]] = {
    "Point": {"z": "f", "y": "n", "residual": "m", "jacobian": "mn", "weight": "m"},
    "Factors": {
        **dict.fromkeys(("lengths", "rounding", "remainder", "order", "part"), "m"),
        **{"basis": "mf", "lower": "mm", "upper": "mm"},
    },
    "System": {
        **dict.fromkeys(("prescribed", "reference", "scale", "max_step", "least_size", "prescribed_weight"), "n"),
        **dict.fromkeys(("begin", "last_y", "last_reference", "default"), "n"),
        **dict.fromkeys(("max_change", "fixed", "best", "step", "saved", "gradient", "new_gradient"), "f"),
        **dict.fromkeys(("projected_gradient", "hessian_step", "cg_residual", "direction", "hessian_direction"), "f"),
        **dict.fromkeys(
            ("targeted", "target", "period", "values_at_begin", "last_target", "multipliers", "rhs", "aim_weight"), "m"
        ),
        **{"matrix": "ln", "products": "mm", "damping": "mm"},
        **dict.fromkeys(("point_x", "point_y", "point_assembly"), "a"),
        **dict.fromkeys(("turn", "turn_kind", "turn_assembly"), "b"),
        **dict.fromkeys(("rest_group", "rest_free", "rest_value", "rest_meters", "rest_offset", "rest_size"), "r"),
        **dict.fromkeys(("rest_source", "rest_row", "rest_column"), "h"),
        **dict.fromkeys(("rest_matrix", "remainder", "rest_lower", "rest_unit"), "rf"),
        **{"rest_upper": "gg", "rest_part": "g", "decided": "gf", "place_of": "n"},
    },
}
