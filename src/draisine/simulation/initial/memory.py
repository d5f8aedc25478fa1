"""Records of the start solver: one level, positions or velocities, as a residual system in scaled changes; and what
fills them with values of constraints and outputs and their Jacobians.

The unknowns y are all coordinates, or all velocities. Some are prescribed by a target; the others are y = reference + scale ·
z, so that z = 0 is the reference and |z| the distance from it, with meters, radians and quaternions made comparable. Residuals
are constraints, outputs minus their targets, and rows that are linear in y.

The comments and `SHAPES` give the shapes: n unknowns, f of them free, m residuals of which the last l are linear, e structural
nonzeros of the Jacobian; g velocities and r rows with h derivatives that shall be at rest where possible; a points and b headings
on the ground.

Jacobians are evaluated all entries by one call, or column by column: where one is dense, as for long chains with n²/2 entries, a
program of all entries would be long. The directional derivative is a program of O(n) operations, which is evaluated for all unit
directions instead.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from draisine.codegen.jit.kernel import Kernel
from draisine.codegen.restricted.types import KERNEL, Integers, Matrix, Record, Vector
from draisine.program.program import Program, Slot

if TYPE_CHECKING:
    import casadi as ca

FULFILLED = 1e-12  # the largest relative residual that counts as zero

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


Reals = NDArray[np.float64]
Bools = NDArray[np.bool_]
Indices = NDArray[np.intp]
Variables = Literal["q", "v"]  # coordinates or velocities

MANY_ENTRIES = 1000
DENSE = 10  # entries per value and unknown


@dataclass(frozen=True, eq=False)
class Pattern:
    """The sparsity pattern of a Jacobian."""

    rows: Indices  # among all values
    columns: Indices

    def within(self, take: Indices) -> tuple[Indices, Indices, Indices]:
        """The entries of the rows `take`, and their rows and columns in the dense matrix of these rows."""
        order = np.full(int(max(self.rows.max(initial=-1), take.max(initial=-1))) + 1, -1, dtype=np.intp)
        order[take] = np.arange(len(take))
        source = np.flatnonzero(order[self.rows] >= 0)
        return source, order[self.rows[source]], self.columns[source]

    def entries(self, values: ca.SX, symbols: ca.SX) -> ca.SX:
        """The entries of the Jacobian in this pattern, as one column."""
        import casadi as ca

        rows, positions = np.unique(self.rows, return_inverse=True)
        pattern = ca.Sparsity.triplet(len(rows), symbols.numel(), positions.tolist(), self.columns.tolist())
        return ca.vec(ca.densify(ca.project(ca.jacobian(values[rows.tolist()], symbols), pattern).nz[:]))  # nz of a row is a row

    def crowded(self, values: int, unknowns: int) -> bool:
        """Whether a program of all entries would be long."""
        return len(self.rows) > max(MANY_ENTRIES, DENSE * (values + unknowns))


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Values of all constraints and outputs with the entries of their Jacobians, in memory used by one start at a time.

    Compiled code calls kernels by their address, and interpreted or column-wise evaluations by a callback.
    """

    arguments: Mapping[str, Reals]
    values: Reals
    entries: Mapping[Variables, Reals]
    kernel: Kernel | None  # of all results in one call
    run: Callable[[Variables], object]  # the same from Python; the other Jacobian may stay unchanged
    idle: dict[Hashable, System] = field(default_factory=dict)  # reusable memory of systems
    failures: list[BaseException] = field(default_factory=list)  # exceptions of callbacks
    _callbacks: dict[Variables, Any] = field(default_factory=dict)

    def give(self, t: float, u: Reals, p: Reals) -> Evaluation:
        """Set time, inputs and parameters."""
        self.arguments["t"][0] = t
        self.arguments["u"][:] = u
        self.arguments["p"][:] = p
        return self

    def __call__(self, q: Reals, v: Reals, of: Variables) -> tuple[Reals, Reals]:
        """Values, and the entries of one Jacobian; valid until the next call."""
        self.arguments["q"][:] = q
        self.arguments["v"][:] = v
        self.run(of)
        return self.values, self.entries[of]

    def motion(self, of: Variables) -> Motion:
        """The record with which the solver evaluates one of the Jacobians."""
        motion = Motion()
        for name, array in self.arguments.items():
            setattr(motion, name, array)
        motion.values, motion.by_q, motion.by_v = self.values, self.entries["q"], self.entries["v"]
        motion.kernel = self.kernel.address if self.kernel is not None else self._python(of)
        return motion

    def _python(self, of: Variables) -> int:
        """The address of a Python callback (arguments, results)."""

        def call(arguments: int, results: int) -> None:
            try:
                self.run(of)
            except BaseException as failure:
                self.failures.append(failure)
                self.values[:] = math.nan

        address = ctypes.cast(self._callbacks.setdefault(of, KERNEL(call)), ctypes.c_void_p).value
        assert address is not None
        return address

    @staticmethod
    def at_once(known: Mapping[str, Reals], inputs: Sequence[Slot], sizes: Sequence[int], code: Kernel | Program) -> Evaluation:
        """All entries by one call, with results of these sizes; `known` are the arguments."""
        arrays = {slot.name: np.array(known[slot.name], dtype=float) for slot in inputs}
        values, by_q, by_v = (np.zeros(size) for size in sizes)
        memory = list(arrays.values()), [values, by_q, by_v]
        if isinstance(code, Kernel):
            return Evaluation(arrays, values, {"q": by_q, "v": by_v}, code, _machine_code(code, *memory))
        return Evaluation(arrays, values, {"q": by_q, "v": by_v}, None, _tape(code, *memory))

    @staticmethod
    def by_columns(
        known: Mapping[str, Reals],
        inputs: Sequence[Slot],
        count: int,
        kernels: Callable[[Variables], Kernel],
        patterns: Mapping[Variables, Pattern],
    ) -> Evaluation:
        """Jacobians from directional derivatives; `kernels` give the `count` values and the derivatives."""
        arrays = {slot.name: np.array(known[slot.name], dtype=float) for slot in inputs}
        values, entries = np.zeros(count), {of: np.zeros(len(pattern.rows)) for of, pattern in patterns.items()}
        columns = {of: np.unique(pattern.columns, return_inverse=True) for of, pattern in patterns.items()}

        def run(of: Variables) -> None:
            used, which = columns[of]
            directions = np.zeros((max(len(used), 1), len(arrays[of])))  # a zero direction where only values are needed
            directions[np.arange(len(used)), used] = 1.0
            found, along = kernels(of).map(*arrays.values(), directions)
            values[:] = found[0]
            entries[of][:] = along[which, patterns[of].rows]

        return Evaluation(arrays, values, entries, None, run)


def along_program(motion: Program, of: Variables) -> Program:
    """The values of a program, and their directional derivative by coordinates or velocities."""
    import casadi as ca

    symbols, names = motion.symbols(), [slot.name for slot in motion.inputs]
    (values,) = motion.function.call(symbols)
    unknowns = symbols[names.index(of)]
    direction = ca.SX.sym("direction", unknowns.numel())
    inputs: dict[str, Any] = {slot.name: (symbol, slot.labels) for slot, symbol in zip(motion.inputs, symbols, strict=True)}
    return Program.build(
        f"{motion.name}_along_{of}",
        {**inputs, "direction": direction},
        {"values": values, "along": ca.densify(ca.jtimes(values, unknowns, direction))},
    )


def _machine_code(kernel: Kernel, arguments: Sequence[Reals], results: Sequence[Reals]) -> Callable[[Variables], object]:
    def run(of: Variables) -> None:
        for array, found in zip(results, kernel(*arguments), strict=True):
            array[:] = found

    return run


def _tape(program: Program, arguments: Sequence[Reals], results: Sequence[Reals]) -> Callable[[Variables], object]:
    buffer: Any  # CasADi's stubs describe the C interface, with a further argument
    buffer, call = program.function.buffer()
    for k, array in enumerate(arguments):
        if array.size:
            buffer.set_arg(k, array.data)
    for k, array in enumerate(results):
        if array.size:
            buffer.set_res(k, array.data)
    alive = (program, buffer, arguments, results)

    def run(of: Variables) -> object:
        call()
        return alive

    return run
