"""A plain interpreter of programs: the oracle for machine code, and the way to derivatives by complex step.

It runs over floats, over complex numbers, whose imaginary part carries a derivative, and over objects (mpmath's numbers of any
precision). What each operation means is in `arithmetic`.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from draisine.program.arithmetic import Operations, complex_operations, operations_for
from draisine.program.callee import Numbers, callee_tape, offsets
from draisine.program.program import Instruction, Program

_STEP = 1e-200  # its square is zero: nothing but the first order is left, however small the arguments


def interpret(program: Program, *arguments: ArrayLike) -> tuple[NDArray[Any], ...]:
    """Run a program. Results are float, complex or object arrays, as the arguments are; shapes as in `Program.__call__`.

    >>> x = ca.SX.sym("x")
    >>> cube = Program.build("cube", {"x": x}, {"y": x**3})
    >>> complex(interpret(cube, 2.0 + 1j * 2**-60)[0][0]) == 8.0 + 12j * 2**-60
    True
    """
    inputs: list[Any] = _columns(program, arguments)
    kind = np.result_type(float, *inputs)
    results = _run(program.tape, inputs, [slot.size for slot in program.outputs], operations_for(kind))
    columns = [np.array(column, dtype=kind) for column in results]
    return tuple(
        c.reshape(slot.shape, order="F") if slot.shape[1] != 1 else c for slot, c in zip(program.outputs, columns, strict=True)
    )


def complex_step(program: Program, of: str, wrt: str, arguments: Sequence[ArrayLike]) -> NDArray[np.float64]:
    """∂of/∂wrt by an imaginary step in each entry of `wrt`: exact to rounding, and independent of CasADi's differentiation."""
    row = [s.name for s in program.outputs].index(program.output(of).name)
    column = [s.name for s in program.inputs].index(program.input(wrt).name)
    points: list[Any] = [c.astype(complex) for c in _columns(program, arguments)]
    directions = np.eye(len(points[column])) * 1j * _STEP
    points[column] = [entry + direction for entry, direction in zip(points[column], directions, strict=True)]
    results = _run(program.tape, points, [slot.size for slot in program.outputs], complex_operations())[row]
    return np.array([np.broadcast_to(np.imag(r) / _STEP, len(directions)) for r in results])


def _columns(program: Program, arguments: Sequence[ArrayLike]) -> list[NDArray[Any]]:
    if len(arguments) != len(program.inputs):
        names = ", ".join(s.name for s in program.inputs)
        raise TypeError(f"program {program.name!r} takes {len(program.inputs)} arguments ({names}), got {len(arguments)}")
    columns = []
    for slot, argument in zip(program.inputs, arguments, strict=True):
        array = np.asarray(argument)
        array = array if array.dtype.kind in "cO" else array.astype(float)
        if array.size != slot.size:
            raise ValueError(f"program {program.name!r}: argument {slot.name!r} needs {slot.size} numbers, got {array.size}")
        columns.append(array.ravel(order="F"))
    return columns


def _run(
    tape: Sequence[Instruction], inputs: Sequence[Sequence[Any]], outputs: Sequence[int], table: Operations
) -> list[list[Any]]:
    """Values may themselves be arrays: every operation works entry by entry."""
    work: dict[int, Any] = {}
    results: list[list[Any]] = [[0.0] * size for size in outputs]
    with np.errstate(all="ignore"):
        for line in tape:
            operation = line.operation
            if operation == ca.OP_INPUT:
                work[line.outputs[0]] = inputs[line.inputs[0]][line.inputs[1]]
            elif operation == ca.OP_OUTPUT:
                results[line.outputs[0]][line.outputs[1]] = work[line.inputs[0]]
            elif operation == ca.OP_CONST:
                work[line.outputs[0]] = line.numbers if isinstance(line, Numbers) else line.constant
            elif operation == ca.OP_CALL:
                values = _call(line.callee, [work[i] for i in line.inputs], table)
                work |= {target: value for target, value in zip(line.outputs, values, strict=True) if target >= 0}
            else:
                work[line.outputs[0]] = table[operation](*(work[i] for i in line.inputs))
    return results


def _call(callee: Any, arguments: Sequence[Any], table: Operations) -> list[Any]:
    begins = offsets(callee, inputs=True)
    if begins[-1] != len(arguments):
        raise ValueError(f"the call of {callee.name()!r} needs {begins[-1]} numbers, got {len(arguments)}")
    inputs = [arguments[a:b] for a, b in pairwise(begins)]
    sizes = [callee.nnz_out(i) for i in range(callee.n_out())]
    return [value for column in _run(callee_tape(callee), inputs, sizes, table) for value in column]
