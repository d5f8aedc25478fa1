"""Optimization passes over lists of values: the same results with fewer operations.

Each pass maps a list to another one; none changes a result by more than rounding. `pipeline` runs those that are switched on.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from draisine.program.linear_solve import LinearSolveProgram
from draisine.program.program import Program, Slot

PARAMETERS = "p"  # the slot whose values are known before a run
PROLOGUE, PROLOGUE_MAP, COUNT = "prologue", "prologue_map", "hoisted_count"  # symbols of hoisted kernels


class Passes(NamedTuple):
    """Which passes run when a program is compiled; all of them, unless one is switched off.

    - `cse`: common subexpressions, also up to sign and order of operands, are computed once.
    - `reassociation`: sums and products are regrouped: common factors are factored out, values known earlier are combined, pairs
      of operands are shared.
    - `reciprocals`: divisions by one number are products with its reciprocal.
    - `hoisting`: what depends on parameters alone is computed once per run; where a system is solved, what does not depend on the
      solution is computed once, for all iterations and for what follows.
    - `sincos`: sine and cosine of an angle are computed by one call.
    - `packing`: independent arctangents, sines and cosines are computed by calls on vectors of them.
    - `scheduling`: values on the longest dependence chains are computed first.
    - `fusion`: a product and the sum that reads it are one operation. Without it, LLVM compiles code in a third of the time.

    >>> Passes(hoisting=False).off
    ('hoisting',)
    """

    cse: bool = True
    reassociation: bool = True
    reciprocals: bool = True
    hoisting: bool = True
    sincos: bool = True
    packing: bool = True
    scheduling: bool = True
    fusion: bool = True

    @property
    def off(self) -> tuple[str, ...]:
        """The names of those that are switched off."""
        return tuple(name for name in names() if not getattr(self, name))

    def without(self, name: str) -> Passes:
        """A copy with one more pass switched off."""
        return self._replace(**{name: False})

    @property
    def key(self) -> str:
        """The part of a key of the cache of machine code."""
        return f"without {', '.join(self.off)}" if self.off else "all passes"


def names() -> tuple[str, ...]:
    """The switches, in the order in which passes run."""
    return Passes._fields


ALL = Passes()
NONE = Passes(*[False] * len(Passes._fields))
BRIEF = Passes(
    cse=False, reassociation=False, reciprocals=False, packing=False, scheduling=False, fusion=False
)  # for code that runs briefly


def parameter_slot(program: Program | LinearSolveProgram) -> int | None:
    """The index of the parameters among a program's arguments."""
    names = [slot.name for slot in program.inputs]
    return names.index(PARAMETERS) if PARAMETERS in names else None


def extended_inputs(program: Program | LinearSolveProgram, count: int) -> tuple[Slot, ...]:
    """The input slots of a program whose parameters are followed by `count` hoisted values."""
    slot = parameter_slot(program)
    return tuple(Slot(s.name, (s.size + count, 1)) if k == slot and count else s for k, s in enumerate(program.inputs))


Entry = tuple[int, int]  # slot and entry of an input or a result


class Guards(NamedTuple):
    """The conditions of results: entries of results, and the entry of an input that is zero where they are not wanted."""

    conditions: tuple[tuple[Entry, Entry], ...]

    @property
    def key(self) -> str:
        """The part of a key of the cache of machine code."""
        return repr(self.conditions)

    @property
    def of_result(self) -> Mapping[Entry, Entry]:
        return dict(self.conditions)
