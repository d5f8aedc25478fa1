"""The degree of a program's results as polynomials of some of its arguments, read from its tape."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from draisine.program import opcodes as op
from draisine.program.linear_solve import LinearSolveProgram
from draisine.program.program import Program
from draisine.program.tape import Numbers

NOT_POLYNOMIAL = -1


def polynomial_degrees(program: Program | LinearSolveProgram, arguments: Iterable[str]) -> tuple[int, ...]:
    """The degree of every entry of the first result in the named arguments together; the other arguments are constants.

    Entries that are no polynomials, or are not seen to be, have `NOT_POLYNOMIAL`: calls of sub-programs and linear solves are
    not followed.

    >>> import casadi as ca
    >>> x, p = ca.SX.sym("x", 2), ca.SX.sym("p")
    >>> circle = Program.build("g", {"x": x, "p": p}, {"y": ca.vertcat(x[0] ** 2 + x[1] ** 2 - ca.sqrt(p), ca.sin(x[0]), p)})
    >>> polynomial_degrees(circle, ["x"])
    (2, -1, 0)
    """
    if isinstance(program, LinearSolveProgram):
        return (NOT_POLYNOMIAL,) * program.outputs[0].size
    names = set(arguments)
    varying = [slot.name in names for slot in program.inputs]
    work: dict[int, int] = {}
    constants: dict[int, float] = {}
    found = [0] * program.outputs[0].size
    for line in program.tape:
        if line.operation == op.INPUT:
            work[line.outputs[0]] = int(varying[line.inputs[0]])
        elif line.operation == op.OUTPUT:
            if line.outputs[0] == 0:
                found[line.outputs[1]] = work[line.inputs[0]]
        elif line.operation == op.CONST and not isinstance(line, Numbers):
            work[line.outputs[0]] = 0
            constants[line.outputs[0]] = float(line.constant or 0.0)
            continue
        else:
            degree = _degree(line.operation, [work.get(i, NOT_POLYNOMIAL) for i in line.inputs], line.inputs, constants)
            for place in line.outputs:
                work[place] = degree
        for place in line.outputs if line.operation != op.OUTPUT else ():
            constants.pop(place, None)
    return tuple(found)


def _degree(operation: int, degrees: Sequence[int], inputs: Sequence[int], constants: dict[int, float]) -> int:
    """The degree of an operation's result."""
    if all(degree == 0 for degree in degrees):
        return 0
    if NOT_POLYNOMIAL in degrees:
        return NOT_POLYNOMIAL
    if operation in (op.ASSIGN, op.NEG, op.TWICE, op.LIFT):
        return degrees[0]
    if operation in (op.ADD, op.SUB):
        return max(degrees)
    if operation == op.MUL:
        return sum(degrees)
    if operation == op.SQ:
        return 2 * degrees[0]
    if operation == op.DIV and degrees[1] == 0:
        return degrees[0]
    if operation in (op.POW, op.CONSTPOW):
        power = constants.get(inputs[1], -1.0)
        if power >= 0.0 and power == int(power):
            return int(power) * degrees[0]
    return NOT_POLYNOMIAL
