"""Memory of the solver of starts: one stage, positions or velocities, as a system of residuals in scaled changes.

The unknowns y are all coordinates, or all velocities. Some have a target of their own and are held at it, bit by bit; the others
are y = reference + scale · z, so that z = 0 is the reference itself and |z| says how far a start is from it, with meters, radians
and quaternions made comparable. Residuals are constraints, which must vanish, outputs less their targets, and rows that are
linear in y.

The comments and `SHAPES` give the shapes: n unknowns, f of them free, m residuals of which the last l are linear, e entries of
the Jacobian that can differ from zero, g velocities that shall be at rest where they can.
"""

from __future__ import annotations

from draisine.codegen.restricted.record import Record
from draisine.codegen.restricted.types import Integers, Matrix, Vector

FULFILLED = 1e-12  # the largest share of a residual that counts as zero

# how a start was found; 0 if it was not
NEWTON = 1  # from the references
NUDGED = 2  # from beside them
CONTINUATION = 3  # in the targets
DESCENT = 4  # towards the targets
RESTARTED = 5  # Newton from elsewhere

# tasks
FIND = 1  # a solution near the references; the answer is 1 if nothing remains to be tried
FIND_FAR = 2  # what remains, with the system without targets as `other`
FIND_ALONE = 3  # what remains, without it
REST = 4  # put velocities to rest
RESTORE = 5  # solve from the changes of `here`
WALK = 6  # towards the targets from the unknowns `begin`
DESCEND = 7  # to where the targets of `other` are missed least
EVALUATE = 8  # all that is known at the changes of `here`, and its factors
BATCH = 9  # find and put to rest, member by member


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
    """Changes z, with the residuals there. A residual counts as zero by its share |r| / weight."""

    z: Vector  # (f)
    y: Vector  # (n)
    residual: Vector  # (m)
    jacobian: Matrix  # (m, n) by all unknowns
    weight: Vector  # (m) |target| + Σ |∂r/∂y| max(|y|, least): neither units nor sizes matter
    share: float  # the largest; infinite where a residual is not a number
    strict_share: float  # the same where targets are compared with themselves alone: a slow turn beside a great speed, say


class Factors(Record):
    """The Jacobian by z, its rows brought to length one, as L Q with orthonormal rows Q; see `least_norm`."""

    fresh: int  # whether they are those of the Jacobian at `here`
    rank: int  # rows that are independent: r
    lengths: Vector  # (m) of the rows
    rest: Vector  # (m) what is new of a row beyond the basis so far
    order: Integers  # (m) the rows in the order in which the basis was made
    basis: Matrix  # (m, f) Q; the k-th vector stands in row order[k]
    lower: Matrix  # (m, m) L; U where rows are redundant
    upper: Matrix  # (m, m) R of L = U R, where rows are redundant
    part: Vector  # (m)


class System(Record):
    """One stage of a start: what is asked, where the search is, and room to work in."""

    # sizes
    unknowns: int
    free: int
    rows: int
    linear: int
    entries: int
    groups: int

    motion: Motion
    argument: Vector  # (n) where its kernel reads the unknowns
    derivatives: Vector  # where it writes the entries of the Jacobian

    # what is asked
    columns: Integers  # (f) the free unknowns
    held: Integers  # (n) whether an unknown is held
    take: Integers  # (m − l) the rows among the values
    source: Integers  # (e) among the derivatives
    row: Integers  # (e) in the Jacobian
    column: Integers  # (e)
    targeted: Integers  # (m) whether a row is an output with a target
    group: Integers  # (f) when a velocity is put to rest: 1 first, 0 never
    target: Vector  # (m)
    matrix: Matrix  # (l, n) linear rows: matrix · y = target
    reference: Vector  # (n) held unknowns have their targets
    scale: Vector  # (n)
    leap: Vector  # (n) steps of the unknowns beyond this are not believed
    homogeneous: int  # 1: velocities, whose size is that of what is asked for, not of the scale

    # what follows from it
    least: Vector  # (n) unknowns count as at least this large
    furthest: Vector  # (f) the largest believable change in one step

    # where the search is
    here: Point
    trial: Point
    factors: Factors
    fixed: Integers  # (f) whether a free unknown is kept at its reference for the moment
    damped: int  # whether full steps did not lead here, so that another solution may be closer
    curved: int  # whether the Jacobian changed on the way; else no solution is closer to where it began
    best: Vector  # (f) the best end of all tries
    best_share: float
    best_size: float
    way: int  # how it was found

    # continuation
    begin: Vector  # (n) the unknowns without any target
    last_y: Vector  # (n) as far as one has come
    values_there: Vector  # (m) of the rows
    last_target: Vector  # (m)
    last_reference: Vector  # (n)

    # room
    step: Vector  # (f)
    kept: Vector  # (f)
    gradient: Vector  # (f)
    new_gradient: Vector  # (f)
    slope: Vector  # (f)
    bent: Vector  # (f)
    left: Vector  # (f)
    direction: Vector  # (f)
    turned: Vector  # (f)
    multipliers: Vector  # (m)
    side: Vector  # (m)
    products: Matrix  # (m, m)
    damping: Matrix  # (m, m)
    aim_weight: Vector  # (m) of targets that are missed
    held_weight: Vector  # (n) the same of unknowns that are held
    chosen: Integers  # (g) velocities that shall be at rest, among the free unknowns
    sequence: Integers  # (g) those of them put to rest, in this order
    allowed: Matrix  # (g, f) how a change of one moves all, so that the rows stay fulfilled
    rests: Matrix  # (g, f) the changes with one more at rest


class Batch(Record):
    """Many starts that differ in numbers, not in structure: (members, …) each."""

    members: int
    reference: Matrix
    scale: Matrix
    target: Matrix
    q: Matrix  # as given for velocities, and v for coordinates
    v: Matrix
    u: Matrix
    p: Matrix
    found: Matrix  # (members, n) the results
    way: Integers  # how each was found; 0: it was not
    full_rank: Integers  # whether its rows are independent


class Task(Record):
    """What is to be done."""

    what: int
    system: System
    other: System  # the system without targets, or the one whose targets are missed
    thorough: int
    batch: Batch


SHAPES: dict[str, dict[str, str]] = {
    "Point": {"z": "f", "y": "n", "residual": "m", "jacobian": "mn", "weight": "m"},
    "Factors": {**dict.fromkeys(("lengths", "rest", "order", "part"), "m"), "basis": "mf", "lower": "mm", "upper": "mm"},
    "System": {
        **dict.fromkeys(("held", "reference", "scale", "leap", "least", "held_weight"), "n"),
        **dict.fromkeys(("begin", "last_y", "last_reference"), "n"),
        **dict.fromkeys(("group", "furthest", "fixed", "best", "step", "kept", "gradient", "new_gradient"), "f"),
        **dict.fromkeys(("slope", "bent", "left", "direction", "turned"), "f"),
        **dict.fromkeys(("targeted", "target", "values_there", "last_target", "multipliers", "side", "aim_weight"), "m"),
        **{"matrix": "ln", "products": "mm", "damping": "mm"},
        **{"chosen": "g", "sequence": "g", "allowed": "gf", "rests": "gf"},
    },
}
