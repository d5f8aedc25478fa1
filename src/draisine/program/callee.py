"""What stands behind a call node: another SX function, or the scalar function of a table.

Interpreter, machine code and exporters read callees through `callee_tape`, in the form of `Program.tape`. A table's callee is a
CasADi MX function of scalars; beyond the scalar operations it has vectors of numbers (`Numbers`), the search for a cell
(`OP_LOW`) and the fetching of one number (`OP_GETNONZEROS_PARAM`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import accumulate

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from draisine.program.arithmetic import real_operations
from draisine.program.program import Instruction, Program

_PLUMBING = frozenset({ca.OP_INPUT, ca.OP_OUTPUT, ca.OP_CONST, ca.OP_CALL})


class CalleeError(ValueError):
    """A program calls something that has no scalar form."""


@dataclass(frozen=True)
class Numbers(Instruction):
    """A constant vector: `work[outputs[0]]` is the whole of it."""

    numbers: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))


def callee_tape(function: ca.Function) -> tuple[Instruction, ...]:
    """The instructions of a callee; inputs and outputs are addressed by (slot, nonzero) as in `Program.tape`."""
    kind = function.class_name()
    if kind == "SXFunction":
        return Program(function.name(), (), (), function).tape
    if kind != "MXFunction":
        raise CalleeError(f"the call of {function.name()!r} ({kind}) cannot be compiled: use a `Table` or an SX function instead")
    if (
        max(function.nnz_in(i) for i in range(function.n_in())) > 1
        or max(function.nnz_out(i) for i in range(function.n_out())) > 1
    ):
        raise CalleeError(f"the call of {function.name()!r} cannot be compiled: it takes or gives vectors; {_cure(function)}")
    return tuple(_scalar_instruction(function, k) for k in range(function.n_instructions()))


def offsets(function: ca.Function, inputs: bool) -> list[int]:
    """Where the nonzeros of each input (or output) begin when all are laid end to end, as in the arguments of a call node."""
    sizes = (
        [function.nnz_in(i) for i in range(function.n_in())] if inputs else [function.nnz_out(i) for i in range(function.n_out())]
    )
    return [0, *accumulate(sizes)]


def _scalar_instruction(function: ca.Function, k: int) -> Instruction:
    operation = function.instruction_id(k)
    reads, writes = tuple(function.instruction_input(k)), tuple(function.instruction_output(k))
    if operation == ca.OP_CONST:
        numbers = np.array(function.instruction_MX(k).to_DM().full()).ravel(order="F")
        if numbers.size == 1:
            return Instruction(operation, reads, writes, float(numbers[0]))
        return Numbers(operation, reads, writes, numbers=numbers)
    if operation == ca.OP_CALL:
        # Here, unlike in SX, every slot has its place in the call, those without entries too.
        callee = function.instruction_MX(k).which_function()
        reads = tuple(r for i, r in enumerate(reads) if callee.nnz_in(i))
        writes = tuple(w for i, w in enumerate(writes) if callee.nnz_out(i))
        return Instruction(operation, reads, writes, callee=callee)
    if operation == ca.OP_INPUT:
        return Instruction(operation, (reads[0], 0), writes)
    if operation == ca.OP_OUTPUT:
        return Instruction(operation, reads, (writes[0], 0))
    if operation not in real_operations() and operation not in _PLUMBING:
        name = next(n for n in dir(ca) if n.startswith("OP_") and getattr(ca, n) == operation)
        raise CalleeError(
            f"the call of {function.name()!r} cannot be compiled: it uses the operation {name[3:].lower()}; {_cure(function)}"
        )
    return Instruction(operation, reads, writes)


def _cure(function: ca.Function) -> str:
    return f"expand it into scalar operations first ({function.name()}.expand())"
