"""CasADi's functions as tapes: the one place where CasADi's instructions are read.

A call node calls another SX function, or the scalar function of a table: a CasADi MX function of scalars, which beyond the
scalar operations has vectors of numbers (`Numbers`), the search for a cell (LOW) and the fetching of one number
(GETNONZEROS_PARAM).
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from types import MappingProxyType

import casadi as ca
import numpy as np

from draisine.errors import ExpressionError
from draisine.program import opcodes as op
from draisine.program.tape import Callee, Instruction, Numbers, Tape


@dataclass(frozen=True, eq=False)
class CasadiCode:
    """The code of a CasADi function of SX, or of scalars in MX."""

    function: ca.Function

    @cached_property
    def tape(self) -> Tape:
        function = self.function
        if function.class_name() == "SXFunction":
            return _sx_tape(function)
        if function.class_name() != "MXFunction":
            raise ExpressionError(
                f"the call of {function.name()!r} ({function.class_name()}) cannot be compiled: "
                "use a `Table` or an SX function instead"
            )
        return _scalar_tape(function)

    @cached_property
    def fingerprint(self) -> str:
        # CasADi's own serialisation is complete: tape, constants, callees and the numbers of tables; the same in every process.
        return hashlib.sha256(self.function.serialize().encode()).hexdigest()

    @cached_property
    def operations(self) -> int:
        f, plumbing = self.function, _plumbing()
        return sum(f.instruction_id(k) not in plumbing for k in range(f.n_instructions()))


@cache
def _numbers() -> Mapping[int, int]:
    """CasADi's numbers of operations → ours."""
    return MappingProxyType({getattr(ca, f"OP_{name}"): number for name, number in op.NUMBERS.items()})


@cache
def _plumbing() -> frozenset[int]:
    return frozenset(theirs for theirs, ours in _numbers().items() if ours in op.PLUMBING)


def callee_of(function: ca.Function) -> Callee:
    """A function as what a call node calls."""
    reads = tuple(function.nnz_in(i) for i in range(function.n_in()))
    gives = tuple(function.nnz_out(i) for i in range(function.n_out()))
    scalar = function.class_name() != "SXFunction"
    return Callee(function.name(), reads, gives, CasadiCode(function), function.__hash__(), scalar)


def _sx_tape(function: ca.Function) -> Tape:
    numbers = _numbers()
    symbols = None
    lines = []
    for k in range(function.n_instructions()):
        theirs = function.instruction_id(k)
        if theirs not in numbers:
            raise ExpressionError(f"{function.name()!r} uses CasADi's operation {_name(theirs)}, which has no scalar form")
        operation = numbers[theirs]
        constant = function.instruction_constant(k) if operation == op.CONST else None
        callee = None
        if operation == op.CALL:
            symbols = symbols if symbols is not None else function.instructions_sx()
            callee = callee_of(symbols[k].which_function())
        lines.append(
            Instruction(operation, tuple(function.instruction_input(k)), tuple(function.instruction_output(k)), constant, callee)
        )
    return tuple(lines)


def _scalar_tape(function: ca.Function) -> Tape:
    if (
        max(function.nnz_in(i) for i in range(function.n_in())) > 1
        or max(function.nnz_out(i) for i in range(function.n_out())) > 1
    ):
        raise ExpressionError(f"the call of {function.name()!r} cannot be compiled: it takes or gives vectors; {_cure(function)}")
    return tuple(_scalar_instruction(function, k) for k in range(function.n_instructions()))


def _scalar_instruction(function: ca.Function, k: int) -> Instruction:
    theirs = function.instruction_id(k)
    operation = _numbers().get(theirs)
    reads, writes = tuple(function.instruction_input(k)), tuple(function.instruction_output(k))
    if operation is None:
        raise ExpressionError(
            f"the call of {function.name()!r} cannot be compiled: it uses the operation {_name(theirs)}; {_cure(function)}"
        )
    if operation == op.CONST:
        numbers = np.array(function.instruction_MX(k).to_DM().full()).ravel(order="F")
        if numbers.size == 1:
            return Instruction(operation, reads, writes, float(numbers[0]))
        return Numbers(operation, reads, writes, numbers=numbers)
    if operation == op.CALL:
        # Here, unlike in SX, every slot has its place in the call, those without entries too.
        callee = callee_of(function.instruction_MX(k).which_function())
        reads = tuple(r for r, size in zip(reads, callee.reads, strict=True) if size)
        writes = tuple(w for w, size in zip(writes, callee.gives, strict=True) if size)
        return Instruction(operation, reads, writes, callee=callee)
    if operation == op.INPUT:
        return Instruction(operation, (reads[0], 0), writes)
    if operation == op.OUTPUT:
        return Instruction(operation, reads, (writes[0], 0))
    return Instruction(operation, reads, writes)


def _name(theirs: int) -> str:
    return next(n for n in dir(ca) if n.startswith("OP_") and getattr(ca, n) == theirs)[3:].lower()


def _cure(function: ca.Function) -> str:
    return f"expand it into scalar operations first ({function.name()}.expand())"
