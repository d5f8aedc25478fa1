"""What depends on parameters alone is found once per run.

A program of (t, x, u, p) is split in two: a prologue, which finds the values that depend on p alone and are needed further on,
and the evaluation, which reads them behind the parameters: its p has these numbers after its own.
"""

from __future__ import annotations

from dataclasses import dataclass

from draisine.kernels.passes.copying import copied
from draisine.kernels.pieces import live_values
from draisine.kernels.straight import CALL, CONSTANT, INPUT, NUMBERS, RESULT, Straight


@dataclass(frozen=True, eq=False)
class Split:
    """`prologue` reads the slot alone and gives `count` numbers, in slot 0; `evaluation` finds them behind those of the slot."""

    prologue: Straight
    evaluation: Straight
    count: int


def once_per_run(unit: Straight, slot: int) -> frozenset[int]:
    """The values that depend on nothing but one slot of the inputs, constants among them."""
    found: set[int] = set()
    for value, (kind, operands, detail) in enumerate(unit.values):
        if kind == INPUT:
            own = detail[0] == slot
        elif kind in (CALL, RESULT):  # stay together, where they are
            own = False
        else:
            own = found.issuperset(operands)
        if own:
            found.add(value)
    return frozenset(found)


def split(unit: Straight, slot: int, size: int) -> Split:
    """A list in two, by a slot of its inputs that has `size` numbers."""
    early = once_per_run(unit, slot)
    free = {value for value in early if unit.values[value].kind in (INPUT, CONSTANT, NUMBERS)}
    needed = {value for _, _, value in unit.results} | {
        o for value in live_values(unit) if value not in early for o in unit.values[value].operands
    }
    kept = sorted((needed & early) - free)
    prologue = Straight(unit.values, [(0, k, value) for k, value in enumerate(kept)], unit.numbers, unit.callees)
    places = {value: (slot, size + k) for k, value in enumerate(kept)}

    def read(made: Straight, value: int, operands: tuple[int, ...]) -> int | None:
        return made.add(INPUT, (), places[value]) if value in places else None

    kinds = {unit.values[value].kind for value in kept}
    return Split(prologue, copied(unit, dict.fromkeys(kinds, read)), len(kept))
