"""Tapes: straight-line code as plain data, independent of CasADi.

Makers build CasADi functions, which `casadi_tape` reads; interpreter, machine code and exporters know only what is here. Where
the code of a program comes from is told by its `Code`: a CasADi function that is read when somebody asks for the tape, or stored
bytes from which tape and function are made when somebody asks (`portable`).
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import casadi as ca


@dataclass(frozen=True)
class Instruction:
    """One line of a tape: `work[outputs] = operation(work[inputs])`.

    An input reads `inputs = (slot, entry)`, an output writes `outputs = (slot, entry)`. Operations are numbered in `operation`.
    """

    operation: int
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    constant: float | None = None
    callee: Callee | None = None


@dataclass(frozen=True)
class Numbers(Instruction):
    """A constant vector: `work[outputs[0]]` is the whole of it."""

    numbers: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))


Tape = tuple[Instruction, ...]


class Code(Protocol):
    """Where a program's code comes from."""

    @property
    def tape(self) -> Tape: ...

    @property
    def function(self) -> ca.Function:
        """The CasADi function; imports CasADi."""

    @property
    def fingerprint(self) -> str:
        """What tells this code from any other."""

    @property
    def operations(self) -> int:
        """Instructions other than input, output and constant."""


@dataclass(frozen=True, eq=False)
class Callee:
    """What stands behind a call node: another straight line, or the scalar function of a table.

    `reads` and `gives` are the sizes of its slots; in a call node all numbers stand end to end. Callees of equal `key` are one.
    """

    name: str
    reads: tuple[int, ...]
    gives: tuple[int, ...]
    code: Code
    key: Hashable
    scalar: bool = False  # the function of a table, which is always opened in place

    @property
    def tape(self) -> Tape:
        return self.code.tape

    @cached_property
    def begins(self) -> tuple[int, ...]:
        """Where each input slot begins when all are laid end to end."""
        return (0, *accumulate(self.reads))

    @cached_property
    def ends(self) -> tuple[int, ...]:
        """Where each output slot begins when all are laid end to end."""
        return (0, *accumulate(self.gives))
