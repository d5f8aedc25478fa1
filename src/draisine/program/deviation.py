"""How far a state is from its constraints: the error of a projection, without the projection.

A run looks at the error after every step and projects its state only where that is too large. The projection solves a linear
system; its error is a short function of the state, which is taken out of its tape.
"""

from __future__ import annotations

from draisine.program import opcodes as op
from draisine.program.casadi_functions import TapeCode
from draisine.program.linear_solve import LinearSolveProgram
from draisine.program.program import Program
from draisine.program.tape import Instruction, Tape

ERROR = "error"


def deviation_program(project: Program | LinearSolveProgram | None) -> Program | None:
    """The error of a projection by a linear system, as a function of its arguments; None where there is none, or it depends on
    the solution.

    >>> import casadi as ca
    >>> x, z = ca.SX.sym("x", 2), ca.SX.sym("z")
    >>> results = {"x_new": x - z, "error": ca.norm_inf(x)}
    >>> project = LinearSolveProgram.build("project", {"x": x}, ca.SX(2), ca.sumsqr(x), z, results)
    >>> deviation = deviation_program(project)
    >>> deviation.operations < project.after.operations, deviation([3.0, -4.0])[0].tolist()
    (True, [4.0])
    """
    if not isinstance(project, LinearSolveProgram) or project.iterates:
        return None
    after, count = project.after, len(project.inputs)
    names = [slot.name for slot in after.outputs]
    if ERROR not in names:
        return None
    tape = needed(after.tape, names.index(ERROR))
    if any(line.operation == op.INPUT and line.inputs[0] >= count for line in tape):
        return None
    name, slot = f"{project.name}_{ERROR}", after.outputs[names.index(ERROR)]
    shapes = tuple(one.shape for one in project.inputs)
    return Program(name, project.inputs, (slot,), TapeCode(name, tape, shapes, (slot.shape,)))


def needed(tape: Tape, result: int) -> Tape:
    """The lines of a tape on which one of its results depends, which becomes the only one."""
    kept, live = list[Instruction](), set[int]()
    for line in reversed(tape):
        if line.operation == op.OUTPUT:
            if line.outputs[0] == result:
                live.update(line.inputs)
                kept.append(line._replace(outputs=(0, *line.outputs[1:])))
        elif live.intersection(line.outputs):
            live.difference_update(line.outputs)
            if line.operation != op.INPUT:
                live.update(line.inputs)
            kept.append(line)
    return tuple(reversed(kept))
