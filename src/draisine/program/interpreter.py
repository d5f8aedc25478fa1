"""A plain interpreter of programs: the oracle for machine code, and the way to derivatives by complex step.

It runs over floats, over complex numbers, whose imaginary part carries a derivative, and over objects (mpmath's numbers of any
precision). What each operation means is in `arithmetic`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from draisine.errors import ArgumentError
from draisine.program import opcodes as op
from draisine.program.arithmetic import Operations, complex_operations, operations_for
from draisine.program.linear_solve import LinearSolveProgram
from draisine.program.program import Program
from draisine.program.tape import Callee, Instruction, Numbers

_STEP = 1e-200  # its square is zero: nothing but the first order is left, however small the arguments


def interpret(program: Program, *arguments: ArrayLike) -> tuple[NDArray[Any], ...]:
    """Run a program. Results are float, complex or object arrays, as the arguments are; shapes as in `Program.__call__`.

    >>> import casadi as ca
    >>> x = ca.SX.sym("x")
    >>> cube = Program.build("cube", {"x": x}, {"y": x**3})
    >>> complex(interpret(cube, 2.0 + 1j * 2**-60)[0][0]) == 8.0 + 12j * 2**-60
    True
    """
    inputs: list[Any] = _columns(program, arguments)
    kind = np.result_type(float, *inputs)
    results = run_tape(program.tape, inputs, [slot.size for slot in program.outputs], operations_for(kind))
    columns = [np.array(column, dtype=kind) for column in results]
    return tuple(
        c.reshape(slot.shape, order="F") if slot.shape[1] != 1 else c for slot, c in zip(program.outputs, columns, strict=True)
    )


def complex_step(program: Program | LinearSolveProgram, of: str, wrt: str, arguments: Sequence[ArrayLike]) -> NDArray[np.float64]:
    """∂of/∂wrt by an imaginary step in each entry of `wrt`: exact to rounding, and independent of CasADi's differentiation."""
    return complex_step_derivatives(program, arguments, {wrt: np.eye(program.input(wrt).size)})[program.output(of).name]


def complex_step_derivatives(
    program: Program | LinearSolveProgram, arguments: Sequence[ArrayLike], along: Mapping[str, ArrayLike]
) -> dict[str, NDArray[np.float64]]:
    """Derivatives of all results along directions, by imaginary steps: result → its entries × the directions.

    `along` has a matrix for each argument that moves, its entries × the directions; a linear system on the way is solved in
    complex numbers.

    >>> import casadi as ca
    >>> x = ca.SX.sym("x", 2)
    >>> product = Program.build("product", {"x": x}, {"y": x[0] * x[1]})
    >>> complex_step_derivatives(product, [[2.0, 3.0]], {"x": [[1.0, 0.0], [0.0, 1.0]]})["y"].tolist()
    [[3.0, 2.0]]
    """
    points: list[Any] = [c.astype(complex) for c in _columns(program, arguments)]
    names, count = [slot.name for slot in program.inputs], 0
    for name, directions in along.items():
        steps = np.asarray(directions, dtype=float) * 1j * _STEP
        place, count = names.index(program.input(name).name), steps.shape[1]
        points[place] = [entry + step for entry, step in zip(points[place], steps, strict=True)]
    if isinstance(program, LinearSolveProgram):
        points.append(_complex_solution(program, points, count))
        program = program.after
    results = run_tape(program.tape, points, [slot.size for slot in program.outputs], complex_operations())
    return {
        slot.name: np.array([np.broadcast_to(np.imag(entry) / _STEP, count) for entry in column]).reshape(slot.size, count)
        for slot, column in zip(program.outputs, results, strict=True)
    }


def _complex_solution(solved: LinearSolveProgram, points: Sequence[Any], count: int) -> list[Any]:
    """z of K z = r, one array over the directions for each entry."""
    if solved.further is not None:
        raise ArgumentError(f"{solved.name!r} is a derivative already; take the complex step of what it is the derivative of")
    if solved.start is None:
        return _complex_round(solved, points, count)
    # from the real solution a few rounds bring the imaginary part, which follows in one
    z = list(solved.solution(*[[np.real(np.ravel(entry)[0]) for entry in column] for column in points]))
    for _ in range(2):
        z = _complex_round(solved, [*points, z], count)
    return z


def _complex_round(solved: LinearSolveProgram, points: Sequence[Any], count: int) -> list[Any]:
    slots = solved.system.outputs
    entries, side = run_tape(solved.system.tape, points, [slot.size for slot in slots], complex_operations())
    rows, columns = solved.entry_pattern.rows, solved.entry_pattern.columns
    matrices = np.zeros((count, solved.size, solved.size), dtype=complex)
    for row, column, entry in zip(rows, columns, entries, strict=True):
        matrices[:, row, column] = entry
    sides = np.array([np.broadcast_to(entry, count) for entry in side]).reshape(solved.size, count).T
    return list(np.linalg.solve(matrices, sides[:, :, None])[:, :, 0].T)


def _columns(program: Program | LinearSolveProgram, arguments: Sequence[ArrayLike]) -> list[NDArray[Any]]:
    if len(arguments) != len(program.inputs):
        names = ", ".join(s.name for s in program.inputs)
        raise ArgumentError(f"program {program.name!r} takes {len(program.inputs)} arguments ({names}), got {len(arguments)}")
    columns = []
    for slot, argument in zip(program.inputs, arguments, strict=True):
        array = np.asarray(argument)
        array = array if array.dtype.kind in "cO" else array.astype(float)
        if array.size != slot.size:
            raise ArgumentError(f"program {program.name!r}: argument {slot.name!r} needs {slot.size} numbers, got {array.size}")
        columns.append(array.ravel(order="F"))
    return columns


def run_tape(
    tape: Sequence[Instruction], inputs: Sequence[Sequence[Any]], outputs: Sequence[int], table: Operations
) -> list[list[Any]]:
    """Values may themselves be arrays: every operation works entry by entry."""
    work: dict[int, Any] = {}
    results: list[list[Any]] = [[0.0] * size for size in outputs]
    with np.errstate(all="ignore"):
        for line in tape:
            operation = line.operation
            if operation == op.INPUT:
                work[line.outputs[0]] = inputs[line.inputs[0]][line.inputs[1]]
            elif operation == op.OUTPUT:
                results[line.outputs[0]][line.outputs[1]] = work[line.inputs[0]]
            elif operation == op.CONST:
                work[line.outputs[0]] = line.numbers if isinstance(line, Numbers) else line.constant
            elif operation == op.CALL:
                assert line.callee is not None
                values = _call(line.callee, [work[i] for i in line.inputs], table)
                work |= {target: value for target, value in zip(line.outputs, values, strict=True) if target >= 0}
            else:
                work[line.outputs[0]] = table[operation](*(work[i] for i in line.inputs))
    return results


def _call(callee: Callee, arguments: Sequence[Any], table: Operations) -> list[Any]:
    if callee.input_offsets[-1] != len(arguments):
        raise ArgumentError(f"the call of {callee.name!r} needs {callee.input_offsets[-1]} numbers, got {len(arguments)}")
    inputs = [arguments[a:b] for a, b in pairwise(callee.input_offsets)]
    return [value for column in run_tape(callee.tape, inputs, callee.gives, table) for value in column]
