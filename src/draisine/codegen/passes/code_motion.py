"""Code motion: a list of values in stages, each of which runs as seldom as its inputs allow.

An input is known from some stage on: parameters before a run, the state before an evaluation, an estimate of the solution before
an iteration of Newton's method. A value is computed in a stage where all its inputs are known; later stages that need it read it
among their inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from draisine.codegen.jit.ssa import CALL, INPUT, RESULT, SSA, live_values, rewrite

Known = Callable[[int, int], int]  # slot and entry of an input → the stage from which on it is known
Result = tuple[int, int, int]  # slot, entry, value


@dataclass(frozen=True)
class Stage:
    """`rate`: how often the stage runs, compared with the others. Values for later stages are its results in `output_slot`; later
    stages read them among their inputs from `input_start` (slot, entry) on, after those of earlier stages in the same slot.
    `results` are its other results."""

    rate: int
    output_slot: int
    input_start: tuple[int, int]
    results: Sequence[Result] = ()


@dataclass(frozen=True, eq=False)
class StageCode:
    """The list of one stage, and how many values it passes on, from which entry on."""

    ssa: SSA
    first: int
    count: int


def earliest_stages(ssa: SSA, known: Known) -> list[int]:
    """The first stage in which each value can be computed."""
    found: list[int] = []
    for kind, operands, detail in ssa.values:
        found.append(known(*detail) if kind == INPUT else max((found[o] for o in operands), default=0))
    return found


def split_into_stages(ssa: SSA, stages: Sequence[Stage], known: Known) -> list[StageCode]:
    """A list in stages. The results are those of the stages, not those of the list."""
    whole = SSA(ssa.values, [r for stage in stages for r in stage.results], ssa.numbers, ssa.callees)
    home, needed = _homes(whole, stages, earliest_stages(ssa, known))
    places: dict[int, tuple[int, int]] = {}
    free: dict[int, int] = {}  # the first entry of a slot that nothing was put into
    new = []
    for k, stage in enumerate(stages):
        before = dict(places)
        kept = [v for v in sorted(needed) if home[v] == k and needed[v] > k]
        slot = stage.input_start[0]
        first = free.get(slot, stage.input_start[1])
        free[slot] = first + len(kept)
        places |= {v: (slot, first + j) for j, v in enumerate(kept)}
        results = [*stage.results, *((stage.output_slot, j, v) for j, v in enumerate(kept))]
        new.append(StageCode(_reading(whole, results, before), first, len(kept)))
    return new


def _homes(ssa: SSA, stages: Sequence[Stage], level: Sequence[int]) -> tuple[dict[int, int], dict[int, int]]:
    """The stage in which each value is computed, and the last one that reads it."""
    first: dict[int, int] = {}  # the earliest stage that reads a value
    last: dict[int, int] = {}
    for k, stage in enumerate(stages):
        for _, _, v in stage.results:
            first[v], last[v] = min(first.get(v, k), k), max(last.get(v, k), k)
    home: dict[int, int] = {}
    for v in reversed(live_values(ssa)):
        kind, operands, _ = ssa.values[v]
        # the stage that runs least, the latest of several, so that few values are passed on; a call stays with its results
        home[v] = first[v] if kind == RESULT else min(range(level[v], first[v] + 1), key=lambda k: (stages[k].rate, -k))
        for o in operands:
            first[o], last[o] = min(first.get(o, home[v]), home[v]), max(last.get(o, home[v]), home[v])
    for v in home:
        kind, operands, _ = ssa.values[v]
        if kind == RESULT:
            home[v] = home[operands[0]]
    return home, {v: last[v] for v in home if ssa.values[v].kind != CALL}


def _reading(ssa: SSA, results: list[Result], places: dict[int, tuple[int, int]]) -> SSA:
    """The list with other results, in which some values are read from inputs."""

    def read(new: SSA, value: int, operands: tuple[int, ...]) -> int | None:
        return new.add(INPUT, (), places[value]) if value in places else None

    asked = SSA(ssa.values, results, ssa.numbers, ssa.callees)
    return rewrite(asked, dict.fromkeys({ssa.values[v].kind for v in places}, read)) if places else asked
