"""Values and their Jacobians for one start: all entries by one call, or column by column where they are too many.

How every blade of a train depends on all velocities before it has n²/2 entries, and so has the program of all of them. The
derivative along one direction is a program of n operations, which is run over the unit directions instead.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from draisine.codegen.jit.kernel import Kernel
from draisine.program.program import Program, Slot
from draisine.simulation.initial.residual_system import Places, Reals

if TYPE_CHECKING:
    import casadi as ca

Of = Literal["q", "v"]  # by coordinates, by velocities

MANY_ENTRIES = 1000
DENSE = 10  # entries for each value and each unknown

_FLAT = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


@dataclass(frozen=True, eq=False)
class Pattern:
    """Where the entries of a sparse Jacobian stand."""

    rows: Places  # among all values
    columns: Places

    def within(self, take: Places, width: int) -> tuple[Places, Places]:
        """Of the rows `take`: which entries, and their places in the dense matrix of these rows, row by row."""
        order = np.full(int(max(self.rows.max(initial=-1), take.max(initial=-1))) + 1, -1, dtype=np.intp)
        order[take] = np.arange(len(take))
        source = np.flatnonzero(order[self.rows] >= 0)
        return source, order[self.rows[source]] * width + self.columns[source]

    def entries(self, values: ca.SX, symbols: ca.SX) -> ca.SX:
        """The Jacobian's entries at these places, as one column."""
        import casadi as ca

        rows, places = np.unique(self.rows, return_inverse=True)
        pattern = ca.Sparsity.triplet(len(rows), symbols.numel(), places.tolist(), self.columns.tolist())
        return ca.vec(ca.densify(ca.project(ca.jacobian(values[rows.tolist()], symbols), pattern).nz[:]))  # nz of a row is a row

    def crowded(self, values: int, unknowns: int) -> bool:
        """Whether there are so many entries that a program of all of them would be long."""
        return len(self.rows) > max(MANY_ENTRIES, DENSE * (values + unknowns))


class Evaluator(Protocol):
    """Values, and the entries of one of their Jacobians; valid until the next call."""

    def __call__(self, q: Reals, v: Reals, of: Of) -> tuple[Reals, Reals]: ...


@dataclass(frozen=True, eq=False)
class AtOnce:
    """Values and the entries of both Jacobians by one call, through memory that one start has for itself."""

    _places: Mapping[str, Reals]
    _results: Sequence[Reals]
    _run: Callable[[], object]

    def __call__(self, q: Reals, v: Reals, of: Of) -> tuple[Reals, Reals]:
        self._places["q"][:] = q
        self._places["v"][:] = v
        self._run()
        values, by_q, by_v = self._results
        return values, by_q if of == "q" else by_v

    @staticmethod
    def of(known: Mapping[str, Reals], inputs: Sequence[Slot], sizes: Sequence[int], code: Kernel | Program) -> AtOnce:
        """With results of these sizes; `known` are the arguments."""
        lengths = [*(len(known[slot.name]) for slot in inputs), *sizes]
        memory = np.zeros(max(sum(lengths), 1))  # as kernels want it: all arguments, then all results
        parts = [memory[a:b] for a, b in pairwise(accumulate(lengths, initial=0))]
        places = dict(zip((slot.name for slot in inputs), parts, strict=False))
        for name, part in places.items():
            part[:] = known[name]
        results = parts[len(inputs) :]
        run = _machine_code(code, memory) if isinstance(code, Kernel) else _tape(code, parts[: len(inputs)], results)
        return AtOnce(places, results, run)


@dataclass(frozen=True, eq=False)
class ByColumns:
    """Jacobians from derivatives along the unit directions; `kernels` gives values and such derivatives."""

    known: Mapping[str, Reals]
    inputs: Sequence[Slot]
    kernels: Callable[[Of], Kernel]
    patterns: Mapping[Of, Pattern]

    def __call__(self, q: Reals, v: Reals, of: Of) -> tuple[Reals, Reals]:
        at = {**self.known, "q": q, "v": v}
        pattern, width = self.patterns[of], len(at[of])
        columns: NDArray[np.intp]
        columns, which = np.unique(pattern.columns, return_inverse=True)
        directions = np.zeros((max(len(columns), 1), width))  # a direction of zeros where only the values are wanted
        directions[np.arange(len(columns)), columns] = 1.0
        values, along = self.kernels(of).map(*(at[slot.name] for slot in self.inputs), directions)
        return values[0], along[which, pattern.rows]


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


def _machine_code(kernel: Kernel, memory: Reals) -> Callable[[], object]:
    function, address = _FLAT(kernel.code.address_of("kernel_flat")), memory.ctypes.data
    alive = (kernel, memory)  # what the pointers point to

    def run() -> object:
        function(address)
        return alive

    return run


def _tape(program: Program, arguments: Sequence[Reals], results: Sequence[Reals]) -> Callable[[], object]:
    buffer: Any  # CasADi's stubs speak of the C interface, which wants a size besides
    buffer, call = program.function.buffer()
    for k, array in enumerate(arguments):
        if array.size:
            buffer.set_arg(k, array.data)
    for k, array in enumerate(results):
        if array.size:
            buffer.set_res(k, array.data)
    alive = (program, buffer, arguments, results)

    def run() -> object:
        call()
        return alive

    return run
