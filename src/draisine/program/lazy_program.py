"""A program that is made only when its machine code is not yet at hand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from draisine.errors import ArgumentError
from draisine.program.program import Program, Slot


@dataclass(frozen=True, eq=False)
class LazyProgram:
    """What `make` would give, known by the `digest` of what it is made from.

    Differentiating a program can take longer than loading the compiled derivative; whoever finds the code in the cache need not
    do so. The digest must change with everything that the made program depends on, its recipe included.
    """

    name: str
    inputs: tuple[Slot, ...]
    outputs: tuple[Slot, ...]
    digest: str
    make: Callable[[], Program]

    def made(self) -> Program:
        """The program itself, which must have the slots that were promised."""
        program = self.make()
        shapes = [slot.shape for slot in (*program.inputs, *program.outputs)]
        if shapes != [slot.shape for slot in (*self.inputs, *self.outputs)]:
            raise ArgumentError(f"recipe {self.name!r}: the program made has other slots than were promised")
        return program
