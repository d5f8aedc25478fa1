"""Passes over straight lists: the same results with less work.

Each takes a list and gives another; none changes a result by more than roundings. Long programs are left as they are, since
compiling them takes longer than they would gain.
"""

from __future__ import annotations

from dataclasses import dataclass

from draisine.kernels.passes.hoisting import Split, once_per_run, split
from draisine.kernels.passes.reciprocals import with_reciprocals
from draisine.kernels.passes.sharing import shared
from draisine.kernels.straight import Straight

LONGEST = 8000  # values


@dataclass(frozen=True)
class Passes:
    """Which passes run.

    - `sharing`: values that differ by sign or order of operands are one.
    - `reciprocals`: divisions by one number are products with its reciprocal.
    - `hoisting`: what depends on parameters alone is found once per run, where a run can do so.
    """

    sharing: bool = True
    reciprocals: bool = True
    hoisting: bool = True


ALL = Passes()
NONE = Passes(False, False, False)


def improved(unit: Straight, passes: Passes = ALL) -> Straight:
    """The list after the passes that keep it one list."""
    if len(unit.values) > LONGEST:
        return unit
    unit = shared(unit) if passes.sharing else unit
    return with_reciprocals(unit) if passes.reciprocals else unit


def improved_and_split(unit: Straight, slot: int | None, size: int, passes: Passes = ALL) -> Split:
    """The list in two, by what depends on one slot of its inputs alone; without hoisting, or a slot, the prologue is empty."""
    if slot is None or len(unit.values) > LONGEST or not passes.hoisting:
        return Split(Straight(), improved(unit, passes), 0)
    unit = shared(unit) if passes.sharing else unit
    unit = with_reciprocals(unit, once_per_run(unit, slot)) if passes.reciprocals else unit
    return split(unit, slot, size)
