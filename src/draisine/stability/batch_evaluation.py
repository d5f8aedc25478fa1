"""Batch evaluation of programs: interpreted for few points, compiled for many, on all cores for very many."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from draisine.codegen.jit.kernel import Kernel, compile
from draisine.numerics.parallel import split_rows
from draisine.program.casadi_functions import CasadiCode, evaluate
from draisine.program.program import Program, Slot
from draisine.program.shared_expressions import shared

Array = NDArray[np.float64]

# compiling takes about as long as interpreting this many points, and at least as long as this many operations
POINTS_WORTH_COMPILING = 5_000
LEAST_WORK_WORTH_COMPILING = 4_000_000
POINTS_PER_THREAD = 4096  # with fewer, a second thread costs more than it saves


def program_without_cse(name: str, inputs: Mapping[str, ca.SX], outputs: Mapping[str, ca.SX]) -> Program:
    """A program without common-subexpression elimination, which takes longer than interpreting a few hundred points;
    `BatchProgram` performs it when it compiles. Only where tables or paths are called it is done, since each differentiation
    repeats their calls several times."""
    dense = {slot: ca.densify(ca.SX(e)) for slot, e in outputs.items()}
    dense = dict(zip(dense, shared(dense.values(), only_calls=True), strict=True))
    function = ca.Function(name, list(inputs.values()), list(dense.values()), list(inputs), list(dense))
    ins, outs = (tuple(Slot(slot, e.shape) for slot, e in table.items()) for table in (inputs, dense))
    return Program(name, ins, outs, CasadiCode(function))


class BatchProgram:
    """A program evaluated at many points: arguments (points, size), results (points, rows, columns)."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self._kernel: Kernel | None = None
        self._evaluated = 0
        self._compile_after = max(POINTS_WORTH_COMPILING, LEAST_WORK_WORTH_COMPILING // max(program.function.n_instructions(), 1))
        self._mapped: dict[int, ca.Function] = {}

    def __call__(self, *arguments: Array) -> list[Array]:
        count = len(arguments[0])
        self._evaluated += count
        if self._kernel is None and self._evaluated < self._compile_after:
            return self._interpreted(count, arguments)
        if self._kernel is None:
            self._kernel = self._compile()
        threads = min(os.cpu_count() or 1, count // POINTS_PER_THREAD)
        if threads < 2:
            return self._compiled(arguments)
        parts = split_rows(self._compiled, arguments, -(-count // threads))
        return [np.concatenate(results) for results in zip(*parts, strict=True)]

    def _compile(self) -> Kernel:
        symbols = self.program.symbols()
        slots = {slot.name: symbol for slot, symbol in zip(self.program.inputs, symbols, strict=True)}
        results = self.program.function.call(symbols)
        return compile(
            Program.build(self.program.name, slots, dict(zip((o.name for o in self.program.outputs), results, strict=True)))
        )

    def _compiled(self, arguments: Sequence[Array]) -> list[Array]:
        assert self._kernel is not None
        shaped = [
            a.reshape(len(a), -1) if slot.shape[1] == 1 else a.reshape(len(a), *slot.shape)
            for slot, a in zip(self.program.inputs, arguments, strict=True)
        ]
        results = self._kernel.map(*shaped)
        return [r.reshape(len(r), *slot.shape) for slot, r in zip(self.program.outputs, results, strict=True)]

    def _interpreted(self, count: int, arguments: tuple[Array, ...]) -> list[Array]:
        if count not in self._mapped:
            self._mapped[count] = self.program.function.map(count)
        given = [  # samples side by side; columns of numbers are so already
            a.reshape(count, -1).T if slot.shape[1] == 1 else np.hstack(list(a.reshape(count, *slot.shape)))
            for slot, a in zip(self.program.inputs, arguments, strict=True)
        ]
        shapes = [(rows, count * columns) for rows, columns in (slot.shape for slot in self.program.outputs)]
        results = evaluate(self._mapped[count], given, shapes)
        found = []
        for slot, result in zip(self.program.outputs, results, strict=True):
            rows, columns = slot.shape
            found.append(result.reshape(rows, count, columns).transpose(1, 0, 2))
        return found
