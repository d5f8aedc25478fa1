"""Tapes: straight-line code as plain data, independent of CasADi.

Derivations build CasADi functions, which `casadi_functions` converts to tapes; interpreter, compiler and exporters use tapes. A
`Code` is the source of a tape: a CasADi function, or stored bytes from which tape and function are restored when first needed
(`serialization`).
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from draisine.program import opcodes as op

if TYPE_CHECKING:
    import casadi as ca


class Instruction(NamedTuple):
    """One line of a tape: `work[outputs] = operation(work[inputs])`.

    An input reads `inputs = (slot, entry)`, an output writes `outputs = (slot, entry)`. A constant is a number or, stored in
    `work[outputs[0]]`, a vector of `numbers`. Operations are those of `opcodes`.
    """

    operation: int
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    constant: float | None = None
    callee: Callee | None = None
    numbers: NDArray[np.float64] | None = None


Tape = tuple[Instruction, ...]


class Code(Protocol):
    """The source of a program's code."""

    @property
    def tape(self) -> Tape: ...

    @property
    def function(self) -> ca.Function:
        """The CasADi function; imports CasADi."""

    @property
    def fingerprint(self) -> str:
        """A hash of the code."""

    @property
    def operations(self) -> int:
        """Instructions other than input, output and constant."""

    @property
    def can_switch(self) -> bool:
        """Whether there are operations of which value or slope can jump."""


@dataclass(frozen=True, eq=False)
class Callee:
    """The function called by a call node: another straight-line program, or the scalar function of a table.

    `input_sizes` and `output_sizes` are those of its slots; a call node has all entries of all slots in a row. Callees with equal
    `key` are the same.
    """

    name: str
    input_sizes: tuple[int, ...]
    output_sizes: tuple[int, ...]
    code: Code
    key: Hashable
    scalar: bool = False  # the function of a table, which is always inlined

    @property
    def tape(self) -> Tape:
        return self.code.tape

    @property
    def is_nearest_point(self) -> bool:
        """Whether it finds the nearest point of a curve (`expr/path_functions.py` names it): a smooth function, although it
        searches in tables, and long, so that it remains a call."""
        return self.name.endswith("_foot")

    @cached_property
    def input_offsets(self) -> tuple[int, ...]:
        """Offset of each input slot among all input entries, and their number."""
        return (0, *accumulate(self.input_sizes))

    @cached_property
    def output_offsets(self) -> tuple[int, ...]:
        """Offset of each output slot among all output entries, and their number."""
        return (0, *accumulate(self.output_sizes))


def has_switching_operations(tape: Tape) -> bool:
    """Whether a tape or a function it calls has operations of which value or slope can jump."""
    return any(line.operation in op.SWITCHING or (line.callee is not None and _can_switch(line.callee)) for line in tape)


def _can_switch(callee: Callee) -> bool:
    return callee.code.can_switch and not callee.is_nearest_point


# ------------------------------------------------------------------------------------------------------- functions of time

CONSTANT, SHARP, OF_STATE = 0.0, math.inf, math.nan  # orders that are no degree
_SLOW = 8.0  # degree up to which products of sinusoids and powers of time are no pulses
_SWEEP = 4.0  # degree of the phase of a sinusoid up to which it is a sweep
_LARGER = frozenset({op.ADD, op.SUB, op.FMIN, op.FMAX, op.NEG, op.TWICE, op.FABS, *op.COPIES})
_PIECEWISE = frozenset(
    {op.LT, op.LE, op.EQ, op.NE, op.NOT, op.AND, op.OR, op.FLOOR, op.CEIL, op.SIGN, op.LOW, op.GETNONZEROS_PARAM}
)


def order_of(operation: int, orders: Sequence[float], exponent: float | None = None) -> float:
    """The order of a result from those of the operands: `CONSTANT`, a degree in time and its sinusoids, `SHARP`, or `OF_STATE`.

    `exponent` is that of a power, if it is a number.
    """
    if any(math.isnan(order) for order in orders):
        return OF_STATE
    largest = max(orders, default=CONSTANT)
    if largest in (CONSTANT, SHARP):
        return largest
    if operation in _LARGER or operation == op.IF_ELSE_ZERO:
        return largest
    if operation in _PIECEWISE:
        return 1.0
    if operation in (op.SIN, op.COS):
        return 1.0 if largest <= _SWEEP else SHARP
    degree = SHARP
    if operation == op.MUL:
        degree = sum(orders)
    elif operation == op.SQ:
        degree = 2.0 * largest
    elif operation == op.DIV and orders[1] == CONSTANT:
        degree = orders[0]
    elif operation in (op.POW, op.CONSTPOW) and exponent is not None and exponent >= 1.0 and exponent.is_integer():
        degree = exponent * orders[0]
    return degree if degree <= _SLOW else SHARP


def tape_is_sharp(tape: Tape, slots: Sequence[str]) -> bool:
    """Whether a tape has functions of time alone that may be sharp; `slots` are the names of its inputs."""
    if "t" not in slots:
        return False
    time, constant = slots.index("t"), [slots.index(name) for name in ("u", "p") if name in slots]
    if not any(line.operation == op.INPUT and line.inputs[0] == time for line in tape):
        return False
    work: dict[int, float] = {}
    numbers: dict[int, float] = {}
    for line in tape:
        if line.operation == op.OUTPUT:
            continue
        if line.operation == op.INPUT:
            order = 1.0 if line.inputs[0] == time else CONSTANT if line.inputs[0] in constant else OF_STATE
        elif line.operation == op.CONST:
            order = CONSTANT
            if line.constant is not None:
                numbers[line.outputs[0]] = line.constant
        elif line.operation == op.CALL:
            order = OF_STATE
        else:
            order = order_of(line.operation, [work[i] for i in line.inputs], _exponent(line.operation, line.inputs, numbers))
        if order == SHARP:
            return True
        for place in line.outputs:
            work[place] = order
            if line.operation != op.CONST:
                numbers.pop(place, None)
    return False


def _exponent(operation: int, operands: Sequence[int], numbers: Mapping[int, float]) -> float | None:
    return numbers.get(operands[1]) if operation in (op.POW, op.CONSTPOW) else None
