"""What is known early is found early: a list in stages, each run as seldom as what it depends on allows.

An input is known from some stage on: parameters before a run, the state before an evaluation, an estimate of what is solved for
before a round of Newton's method. A value is found in a stage where all it depends on is known; later stages that need it read it
among their inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from draisine.codegen.jit.ssa import CALL, INPUT, RESULT, Straight, copied, live_values

Known = Callable[[int, int], int]  # slot and entry of an input → the stage from which on it is known
Result = tuple[int, int, int]  # slot, entry, value


@dataclass(frozen=True)
class Stage:
    """`often`: how often it runs, compared with the others. What it hands on are its results of slot `gives`; later stages find
    these among their inputs from a `place` (slot, entry) on, after those that an earlier stage put into the same slot. `results`
    are what it is asked for besides."""

    often: int
    gives: int
    place: tuple[int, int]
    results: Sequence[Result] = ()


@dataclass(frozen=True, eq=False)
class Staged:
    """One stage's list, and how many numbers it hands on, from which entry on."""

    unit: Straight
    first: int
    count: int


def levels(unit: Straight, known: Known) -> list[int]:
    """The first stage in which each value can be found."""
    found: list[int] = []
    for kind, operands, detail in unit.values:
        found.append(known(*detail) if kind == INPUT else max((found[o] for o in operands), default=0))
    return found


def staged(unit: Straight, stages: Sequence[Stage], known: Known) -> list[Staged]:
    """A list in stages. Its own results are not asked for, but those that the stages name."""
    whole = Straight(unit.values, [r for stage in stages for r in stage.results], unit.numbers, unit.callees)
    home, needed = _homes(whole, stages, levels(unit, known))
    places: dict[int, tuple[int, int]] = {}
    free: dict[int, int] = {}  # the first entry of a slot that nothing was put into
    made = []
    for k, stage in enumerate(stages):
        before = dict(places)
        kept = [v for v in sorted(needed) if home[v] == k and needed[v] > k]
        slot = stage.place[0]
        first = free.get(slot, stage.place[1])
        free[slot] = first + len(kept)
        places |= {v: (slot, first + j) for j, v in enumerate(kept)}
        results = [*stage.results, *((stage.gives, j, v) for j, v in enumerate(kept))]
        made.append(Staged(_reading(whole, results, before), first, len(kept)))
    return made


def _homes(unit: Straight, stages: Sequence[Stage], level: Sequence[int]) -> tuple[dict[int, int], dict[int, int]]:
    """The stage in which each value is found, and the last one that reads it."""
    first: dict[int, int] = {}  # the earliest stage that reads a value
    last: dict[int, int] = {}
    for k, stage in enumerate(stages):
        for _, _, v in stage.results:
            first[v], last[v] = min(first.get(v, k), k), max(last.get(v, k), k)
    home: dict[int, int] = {}
    for v in reversed(live_values(unit)):
        kind, operands, _ = unit.values[v]
        # where it is run least; of those the latest, so that little is handed on; what is called stays with its results
        home[v] = first[v] if kind == RESULT else min(range(level[v], first[v] + 1), key=lambda k: (stages[k].often, -k))
        for o in operands:
            first[o], last[o] = min(first.get(o, home[v]), home[v]), max(last.get(o, home[v]), home[v])
    for v in home:
        kind, operands, _ = unit.values[v]
        if kind == RESULT:
            home[v] = home[operands[0]]
    return home, {v: last[v] for v in home if unit.values[v].kind != CALL}


def _reading(unit: Straight, results: list[Result], places: dict[int, tuple[int, int]]) -> Straight:
    """The list with other results, some values of which are read from places among the inputs."""

    def read(made: Straight, value: int, operands: tuple[int, ...]) -> int | None:
        return made.add(INPUT, (), places[value]) if value in places else None

    asked = Straight(unit.values, results, unit.numbers, unit.callees)
    return copied(asked, dict.fromkeys({unit.values[v].kind for v in places}, read)) if places else asked
