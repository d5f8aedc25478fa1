"""Values and their Jacobians for one start: all entries by one call, or column by column where they are too many.

How every blade of a train depends on all velocities before it has n²/2 entries, and so has the program of all of them. The
derivative along one direction is a program of n operations, which is run over the unit directions instead.
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
from draisine.codegen.restricted.record import KERNEL
from draisine.program.program import Program, Slot
from draisine.simulation.initial.memory import Motion, System

if TYPE_CHECKING:
    import casadi as ca

Reals = NDArray[np.float64]
Bools = NDArray[np.bool_]
Indices = NDArray[np.intp]
Of = Literal["q", "v"]  # by coordinates, by velocities

MANY_ENTRIES = 1000
DENSE = 10  # entries for each value and each unknown


@dataclass(frozen=True, eq=False)
class Pattern:
    """Where the entries of a sparse Jacobian stand."""

    rows: Indices  # among all values
    columns: Indices

    def within(self, take: Indices) -> tuple[Indices, Indices, Indices]:
        """Of the rows `take`: which entries, and their rows and columns in the dense matrix of these rows."""
        order = np.full(int(max(self.rows.max(initial=-1), take.max(initial=-1))) + 1, -1, dtype=np.intp)
        order[take] = np.arange(len(take))
        source = np.flatnonzero(order[self.rows] >= 0)
        return source, order[self.rows[source]], self.columns[source]

    def entries(self, values: ca.SX, symbols: ca.SX) -> ca.SX:
        """The Jacobian's entries at these places, as one column."""
        import casadi as ca

        rows, places = np.unique(self.rows, return_inverse=True)
        pattern = ca.Sparsity.triplet(len(rows), symbols.numel(), places.tolist(), self.columns.tolist())
        return ca.vec(ca.densify(ca.project(ca.jacobian(values[rows.tolist()], symbols), pattern).nz[:]))  # nz of a row is a row

    def crowded(self, values: int, unknowns: int) -> bool:
        """Whether there are so many entries that a program of all of them would be long."""
        return len(self.rows) > max(MANY_ENTRIES, DENSE * (values + unknowns))


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Values of all constraints and outputs with the entries of their Jacobians, through memory that one start has for itself.

    Compiled code calls a kernel by its address; one that is interpreted, or goes by columns, is called back.
    """

    arguments: Mapping[str, Reals]
    values: Reals
    entries: Mapping[Of, Reals]
    kernel: Kernel | None  # that writes everything by one call
    run: Callable[[Of], object]  # the same from Python; it may leave the other Jacobian alone
    idle: dict[Hashable, System] = field(default_factory=dict)  # memory of systems that were solved on it
    failures: list[BaseException] = field(default_factory=list)  # of calls back, which cannot raise
    _called_back: dict[Of, Any] = field(default_factory=dict)

    def give(self, t: float, u: Reals, p: Reals) -> Evaluation:
        """Evaluate at this time, with these inputs and parameters from now on."""
        self.arguments["t"][0] = t
        self.arguments["u"][:] = u
        self.arguments["p"][:] = p
        return self

    def __call__(self, q: Reals, v: Reals, of: Of) -> tuple[Reals, Reals]:
        """Values, and the entries of one Jacobian; valid until the next call."""
        self.arguments["q"][:] = q
        self.arguments["v"][:] = v
        self.run(of)
        return self.values, self.entries[of]

    def motion(self, of: Of) -> Motion:
        """What the solver calls for one of the Jacobians."""
        made = Motion()
        for name, array in self.arguments.items():
            setattr(made, name, array)
        made.values, made.by_q, made.by_v = self.values, self.entries["q"], self.entries["v"]
        made.kernel = self.kernel.address if self.kernel is not None else self._python(of)
        return made

    def _python(self, of: Of) -> int:
        """The address of a function (arguments, results) that runs in Python."""

        def call(arguments: int, results: int) -> None:
            try:
                self.run(of)
            except BaseException as failure:
                self.failures.append(failure)
                self.values[:] = math.nan

        address = ctypes.cast(self._called_back.setdefault(of, KERNEL(call)), ctypes.c_void_p).value
        assert address is not None
        return address

    @staticmethod
    def at_once(known: Mapping[str, Reals], inputs: Sequence[Slot], sizes: Sequence[int], code: Kernel | Program) -> Evaluation:
        """All entries by one call, with results of these sizes; `known` are the arguments."""
        places = {slot.name: np.array(known[slot.name], dtype=float) for slot in inputs}
        values, by_q, by_v = (np.zeros(size) for size in sizes)
        memory = list(places.values()), [values, by_q, by_v]
        if isinstance(code, Kernel):
            return Evaluation(places, values, {"q": by_q, "v": by_v}, code, _machine_code(code, *memory))
        return Evaluation(places, values, {"q": by_q, "v": by_v}, None, _tape(code, *memory))

    @staticmethod
    def by_columns(
        known: Mapping[str, Reals],
        inputs: Sequence[Slot],
        count: int,
        kernels: Callable[[Of], Kernel],
        patterns: Mapping[Of, Pattern],
    ) -> Evaluation:
        """Jacobians from derivatives along the unit directions; `kernels` gives the `count` values and such derivatives."""
        places = {slot.name: np.array(known[slot.name], dtype=float) for slot in inputs}
        values, entries = np.zeros(count), {of: np.zeros(len(pattern.rows)) for of, pattern in patterns.items()}
        columns = {of: np.unique(pattern.columns, return_inverse=True) for of, pattern in patterns.items()}

        def run(of: Of) -> None:
            used, which = columns[of]
            directions = np.zeros((max(len(used), 1), len(places[of])))  # a direction of zeros where only values are wanted
            directions[np.arange(len(used)), used] = 1.0
            found, along = kernels(of).map(*places.values(), directions)
            values[:] = found[0]
            entries[of][:] = along[which, patterns[of].rows]

        return Evaluation(places, values, entries, None, run)


def along_program(motion: Program, of: Of) -> Program:
    """The values of a motion, and their derivative along a direction of its coordinates or velocities."""
    import casadi as ca

    symbols, names = motion.symbols(), [slot.name for slot in motion.inputs]
    results = dict(zip((slot.name for slot in motion.outputs), motion.function.call(symbols), strict=True))
    values = ca.vertcat(results["residuals"], results["outputs"])
    unknowns = symbols[names.index(of)]
    direction = ca.SX.sym("direction", unknowns.numel())
    inputs: dict[str, Any] = {slot.name: (symbol, slot.labels) for slot, symbol in zip(motion.inputs, symbols, strict=True)}
    return Program.build(
        f"{motion.name}_along_{of}",
        {**inputs, "direction": direction},
        {"values": values, "along": ca.densify(ca.jtimes(values, unknowns, direction))},
    )


def _machine_code(kernel: Kernel, arguments: Sequence[Reals], results: Sequence[Reals]) -> Callable[[Of], object]:
    def run(of: Of) -> None:
        for array, found in zip(results, kernel(*arguments), strict=True):
            array[:] = found

    return run


def _tape(program: Program, arguments: Sequence[Reals], results: Sequence[Reals]) -> Callable[[Of], object]:
    buffer: Any  # CasADi's stubs speak of the C interface, which wants a size besides
    buffer, call = program.function.buffer()
    for k, array in enumerate(arguments):
        if array.size:
            buffer.set_arg(k, array.data)
    for k, array in enumerate(results):
        if array.size:
            buffer.set_res(k, array.data)
    alive = (program, buffer, arguments, results)

    def run(of: Of) -> object:
        call()
        return alive

    return run
