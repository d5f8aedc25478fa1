"""Programs called many times, at one point after the other or at many at once, and what they say by name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from draisine.program.equations import Equations
from draisine.program.program import Program
from draisine.stability.batch_evaluation import BatchProgram

Array = NDArray[np.float64]


class Evaluation:
    """A program with places for its arguments and results, interpreted in place: nothing is copied but numbers."""

    def __init__(self, program: Program) -> None:
        self._shapes = [slot.shape for slot in program.outputs]
        self.arguments = [np.zeros(slot.size) for slot in program.inputs]
        self._results = [np.zeros(max(slot.size, 1)) for slot in program.outputs]
        buffer: Any
        buffer, self._run = program.function.buffer()
        self._buffer = buffer  # keeps the memory that `_run` uses
        for i, place in enumerate(self.arguments):
            buffer.set_arg(i, place.data)
        for i, place in enumerate(self._results):
            buffer.set_res(i, place.data)

    def __call__(self, *given: Array | Sequence[float]) -> list[Array]:
        """Results as matrices (CasADi's columns stand one after the other)."""
        for place, values in zip(self.arguments, given, strict=True):
            place[:] = values
        self._run()
        return [
            place[: rows * columns].reshape((rows, columns), order="F").copy()
            for place, (rows, columns) in zip(self._results, self._shapes, strict=True)
        ]


def reported(equations: Equations, x: Array, u: Array, p: Array) -> dict[str, Array]:
    """Every named number at points (rows of x, u and p)."""
    report = equations.report
    if isinstance(report, Program):
        reported = [r.reshape(len(x), -1) for r in BatchProgram(report)(np.zeros((len(x), 1)), x, u, p)]
    else:
        each = [[np.ravel(r) for r in report([0.0], *point)] for point in zip(x, u, p, strict=True)]
        reported = [np.array(column) for column in zip(*each, strict=True)]
    return columns_of(equations, x, u, reported)


def columns_of(equations: Equations, x: Array, u: Array, reported: Sequence[Array]) -> dict[str, Array]:
    """States, all velocities, multipliers, outputs, energies and inputs by name, from what the report told at each point."""
    columns = {q.name: x[:, k] for k, q in enumerate(equations.states)}
    for slot, values in zip(equations.report.outputs, reported, strict=True):
        if slot.name in ("v", "multipliers", "outputs", "energy"):
            columns |= {label: values[:, k] for k, label in enumerate(slot.labels)}
    return columns | {i.name: u[:, k] for k, i in enumerate(equations.inputs)}
