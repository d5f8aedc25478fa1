"""Tapes: straight-line code as plain data, independent of CasADi.

Derivations build CasADi functions, which `casadi_functions` converts to tapes; interpreter, compiler and exporters use tapes. A
`Code` is the source of a tape: a CasADi function, or stored bytes from which tape and function are restored when first needed
(`serialization`).
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from draisine.program import opcodes as op

if TYPE_CHECKING:
    import casadi as ca


@dataclass(frozen=True)
class Instruction:
    """One line of a tape: `work[outputs] = operation(work[inputs])`.

    An input reads `inputs = (slot, entry)`, an output writes `outputs = (slot, entry)`. Operations are those of `opcodes`.
    """

    operation: int
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    constant: float | None = None
    callee: Callee | None = None


@dataclass(frozen=True)
class Numbers(Instruction):
    """A constant vector, stored in `work[outputs[0]]`."""

    numbers: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))


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
    return any(line.operation in op.SWITCHING or (line.callee is not None and line.callee.code.can_switch) for line in tape)
