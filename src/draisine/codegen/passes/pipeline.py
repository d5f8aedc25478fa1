"""The passes that are switched on, applied.

Long programs are left as they are, since compiling them takes longer than they would gain.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from draisine.codegen.jit.ssa import Straight
from draisine.codegen.passes import ALL, Passes
from draisine.codegen.passes.cse import shared
from draisine.codegen.passes.pipeline import Known, Stage, levels, staged
from draisine.codegen.passes.reassociation import regrouped, with_reciprocals

LONGEST = 8000  # values
LONGEST_REGROUPED = 4000

ONCE_PER_RUN, EACH_TIME, EACH_ROUND = range(3)  # how often stages run


def improved(unit: Straight, passes: Passes = ALL, known: Known | None = None, often: Sequence[int] = ()) -> Straight:
    """The list after the passes that keep it one list. Where it will be cut into stages, that run so `often`, `known` says from
    which of them on an input is known."""
    if len(unit.values) > LONGEST:
        return unit

    def rates(unit: Straight) -> list[int]:
        return [] if known is None else [often[level] for level in levels(unit, known)]

    unit = shared(unit) if passes.sharing else unit
    if passes.regrouping and len(unit.values) <= LONGEST_REGROUPED:
        unit = regrouped(unit, rates(unit))
        unit = shared(unit) if passes.sharing else unit
    return with_reciprocals(unit, rates(unit)) if passes.reciprocals else unit


@dataclass(frozen=True, eq=False)
class Split:
    """`prologue` reads one slot alone and gives `count` numbers, in slot 0; `evaluation` finds them behind those of the slot."""

    prologue: Straight
    evaluation: Straight
    count: int


def split(unit: Straight, slot: int | None, size: int, passes: Passes = ALL) -> Split:
    """A list in two, by a slot of `size` numbers; without hoisting, or a slot, the prologue is empty."""
    if slot is None or len(unit.values) > LONGEST or not passes.hoisting:
        return Split(Straight(), improved(unit, passes), 0)

    def known(of: int, entry: int) -> int:
        return int(of != slot)

    unit = improved(unit, passes, known, (ONCE_PER_RUN, EACH_TIME))
    stages = Stage(ONCE_PER_RUN, 0, (slot, size)), Stage(EACH_TIME, -1, (-1, 0), unit.results)
    prologue, evaluation = staged(unit, stages, known)
    return Split(prologue.unit, evaluation.unit, prologue.count)
