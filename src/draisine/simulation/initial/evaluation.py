"""Values of constraints and outputs with their Jacobians: all entries by one call, or column by column.

Where the Jacobian is dense, as for long chains with n²/2 entries, a program of all entries would be long. The directional
derivative is a program of O(n) operations, which is evaluated for all unit directions instead.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from draisine.codegen.jit.kernel import Kernel
from draisine.codegen.restricted.types import KERNEL
from draisine.program.program import Program, Slot
from draisine.simulation.initial.memory import Motion, System

if TYPE_CHECKING:
    import casadi as ca

Reals = NDArray[np.float64]
Bools = NDArray[np.bool_]
Indices = NDArray[np.intp]
Variables = Literal["q", "v"]  # coordinates or velocities

MANY_ENTRIES = 1000
DENSE = 10  # entries per value and unknown


class Pattern(NamedTuple):
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
