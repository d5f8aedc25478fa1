"""An interpreter of programs: the reference for compiled code, complex-step derivatives, and structural dependence.

It works on floats, on complex numbers, whose imaginary part is a derivative, and on objects (mpmath numbers of any precision).
`draisine.program.arithmetic` defines the operations.
"""

from __future__ import annotations

import math
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
from draisine.program.tape import Callee, Instruction, Tape

Indices = NDArray[np.int64]

_STEP = 1e-200  # its square underflows to zero: only the first order is left, however small the arguments


def interpret(program: Program, *arguments: ArrayLike) -> tuple[NDArray[Any], ...]:
    """Evaluate a program. Results are float, complex or object arrays, like the arguments; shapes as in `Program.__call__`.

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
    """∂of/∂wrt by complex steps in each entry of `wrt`: exact to rounding, and independent of CasADi's differentiation."""
    return complex_step_derivatives(program, arguments, {wrt: np.eye(program.input(wrt).size)})[program.output(of).name]


def complex_step_derivatives(
    program: Program | LinearSolveProgram, arguments: Sequence[ArrayLike], along: Mapping[str, ArrayLike]
) -> dict[str, NDArray[np.float64]]:
    """Directional derivatives of all results by complex steps: result → (entries, directions).

    `along` has a matrix (entries, directions) for each argument that varies; linear systems are solved in complex numbers.

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
        slot, count = names.index(program.input(name).name), steps.shape[1]
        points[slot] = [entry + step for entry, step in zip(points[slot], steps, strict=True)]
    if isinstance(program, LinearSolveProgram):
        points.append(_complex_solution(program, points, count))
        program = program.after
    results = run_tape(program.tape, points, [slot.size for slot in program.outputs], complex_operations())
    return {
        slot.name: np.array([np.broadcast_to(np.imag(entry) / _STEP, count) for entry in column]).reshape(slot.size, count)
        for slot, column in zip(program.outputs, results, strict=True)
    }


def _complex_solution(solved: LinearSolveProgram, points: Sequence[Any], count: int) -> list[Any]:
    """z of K z = r: for each entry an array over the directions."""
    if solved.further is not None:
        raise ArgumentError(f"{solved.name!r} is a derivative already; take the complex step of the original program")
    if solved.start is None:
        return _complex_newton_step(solved, points, count)
    # from the real solution; the imaginary part needs one iteration
    z = list(solved.solution(*[[np.real(np.ravel(entry)[0]) for entry in column] for column in points]))
    for _ in range(2):
        z = _complex_newton_step(solved, [*points, z], count)
    return z


def _complex_newton_step(solved: LinearSolveProgram, points: Sequence[Any], count: int) -> list[Any]:
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
    """Execute a tape. Values may be arrays: every operation is elementwise."""
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
                work[line.outputs[0]] = line.constant if line.numbers is None else line.numbers
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
    return [value for column in run_tape(callee.tape, inputs, callee.output_sizes, table) for value in column]


# -------------------------------------------------------------------- dependence of results on arguments


def dependence(program: Program, results: Sequence[str], wrt: str) -> tuple[Indices, Indices]:
    """Sparsity of ∂(results, stacked)/∂wrt: rows and columns of structurally nonzero entries, in column-major order.

    >>> import casadi as ca
    >>> x = ca.SX.sym("x", 2)
    >>> p = Program.build("p", {"x": x}, {"y": ca.vertcat(x[1], x[0] * x[1], 3)})
    >>> [indices.tolist() for indices in dependence(p, ["y"], "x")]
    [[1, 0, 1], [0, 1, 1]]
    """
    slot = [s.name for s in program.inputs].index(program.input(wrt).name)
    # a value is represented by the set of entries it depends on, as bits of an integer
    inputs = [[(1 << k) if i == slot else 0 for k in range(s.size)] for i, s in enumerate(program.inputs)]
    sets = _propagate(program.tape, inputs, [s.size for s in program.outputs])
    order = [s.name for s in program.outputs]
    rows = [one for name in results for one in sets[order.index(program.output(name).name)]]
    size = program.inputs[slot].size
    filled = np.array([[one >> k & 1 for one in rows] for k in range(size)], dtype=bool).reshape(size, len(rows))
    columns, found = np.nonzero(filled)
    return found.astype(np.int64), columns.astype(np.int64)


def _propagate(tape: Tape, inputs: Sequence[Sequence[int]], outputs: Sequence[int]) -> list[list[int]]:
    work: dict[int, int] = {}
    results = [[0] * size for size in outputs]
    for line in tape:
        if line.operation == op.INPUT:
            work[line.outputs[0]] = inputs[line.inputs[0]][line.inputs[1]]
        elif line.operation == op.OUTPUT:
            results[line.outputs[0]][line.outputs[1]] = work[line.inputs[0]]
        elif line.callee is not None:
            values = _propagate_call(line.callee, [work[i] for i in line.inputs])
            work |= {target: one for target, one in zip(line.outputs, values, strict=True) if target >= 0}
        else:
            one = 0
            for i in line.inputs:
                one |= work[i]
            work[line.outputs[0]] = one
    return results


def _propagate_call(callee: Callee, arguments: Sequence[int]) -> list[int]:
    given = [arguments[a:b] for a, b in pairwise(callee.input_offsets)]
    return [one for column in _propagate(callee.tape, given, callee.output_sizes) for one in column]


FULL_TURN = 2 * math.pi


def periods(program: Program, result: str) -> list[float]:
    """Of each entry of a result the period with which it repeats as an angle from `atan2`, also shifted or in another unit; 0
    where it is none. A target of such an entry is reached by any value that differs from it by full turns.

    >>> import casadi as ca
    >>> x = ca.SX.sym("x", 2)
    >>> turn = ca.atan2(x[1], x[0])
    >>> p = Program.build("p", {"x": x}, {"y": ca.vertcat(turn, 1 - turn * 180 / ca.pi, x[0] - turn, ca.cos(turn))})
    >>> [round(one, 9) for one in periods(p, "y")]
    [6.283185307, 360.0, 0.0, 0.0]
    """
    place = [s.name for s in program.outputs].index(program.output(result).name)
    found = [0.0] * program.outputs[place].size
    numbers: dict[int, float] = {}  # constants
    turns: dict[int, float] = {}  # periods
    for line in program.tape:
        operation, given = line.operation, line.inputs
        if operation == op.OUTPUT:
            if line.outputs[0] == place:
                found[line.outputs[1]] = turns.get(given[0], 0.0)
            continue
        constant, period = None, 0.0
        if operation == op.CONST:
            constant = line.constant
        elif operation == op.ATAN2:
            period = FULL_TURN
        elif operation in (op.ASSIGN, op.NEG, op.TWICE):
            period = turns.get(given[0], 0.0) * (2 if operation == op.TWICE else 1)
        elif operation in (op.ADD, op.SUB):
            period = max((turns.get(a, 0.0) for a, b in (given, given[::-1]) if b in numbers), default=0.0)
        elif operation == op.MUL:
            period = max((turns.get(a, 0.0) * abs(numbers[b]) for a, b in (given, given[::-1]) if b in numbers), default=0.0)
        elif operation == op.DIV and numbers.get(given[1]):
            period = turns.get(given[0], 0.0) / abs(numbers[given[1]])
        for target in line.outputs:  # work entries are used again
            numbers.pop(target, None)
            turns.pop(target, None)
        if constant is not None:
            numbers[line.outputs[0]] = constant
        if period:
            turns[line.outputs[0]] = period
    return found
