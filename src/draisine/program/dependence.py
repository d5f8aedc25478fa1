"""What depends on what in a program, found on its tape."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from draisine.program import opcodes as op
from draisine.program.program import Program
from draisine.program.tape import Callee, Tape

Indices = NDArray[np.int64]


def dependence(program: Program, results: Sequence[str], wrt: str) -> tuple[Indices, Indices]:
    """Rows and columns, by columns, of the entries in which ∂(results, one below the other)/∂wrt can differ from zero.

    >>> import casadi as ca
    >>> x = ca.SX.sym("x", 2)
    >>> p = Program.build("p", {"x": x}, {"y": ca.vertcat(x[1], x[0] * x[1], 3)})
    >>> [places.tolist() for places in dependence(p, ["y"], "x")]
    [[1, 0, 1], [0, 1, 1]]
    """
    slot = [s.name for s in program.inputs].index(program.input(wrt).name)
    # a value is known by the set of entries that it depends on, kept as the bits of a whole number
    inputs = [[(1 << k) if i == slot else 0 for k in range(s.size)] for i, s in enumerate(program.inputs)]
    sets = _run(program.tape, inputs, [s.size for s in program.outputs])
    order = [s.name for s in program.outputs]
    rows = [one for name in results for one in sets[order.index(program.output(name).name)]]
    size = program.inputs[slot].size
    filled = np.array([[one >> k & 1 for one in rows] for k in range(size)], dtype=bool).reshape(size, len(rows))
    columns, found = np.nonzero(filled)
    return found.astype(np.int64), columns.astype(np.int64)


def _run(tape: Tape, inputs: Sequence[Sequence[int]], outputs: Sequence[int]) -> list[list[int]]:
    work: dict[int, int] = {}
    results = [[0] * size for size in outputs]
    for line in tape:
        if line.operation == op.INPUT:
            work[line.outputs[0]] = inputs[line.inputs[0]][line.inputs[1]]
        elif line.operation == op.OUTPUT:
            results[line.outputs[0]][line.outputs[1]] = work[line.inputs[0]]
        elif line.callee is not None:
            made = _called(line.callee, [work[i] for i in line.inputs])
            work |= {target: one for target, one in zip(line.outputs, made, strict=True) if target >= 0}
        else:
            one = 0
            for i in line.inputs:
                one |= work[i]
            work[line.outputs[0]] = one
    return results


def _called(callee: Callee, arguments: Sequence[int]) -> list[int]:
    given = [arguments[a:b] for a, b in pairwise(callee.input_offsets)]
    return [one for column in _run(callee.tape, given, callee.gives) for one in column]
