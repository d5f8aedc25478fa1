"""Programs some of whose results are wanted only under conditions: their operations in groups, each for a set of conditions.

A condition is an entry of an input that is not zero: a contact is closed. An operation belongs to the conditions under which one
of the results that need it is wanted; what all of them need, or results without a condition, is computed always. Groups of larger
sets come first. Small groups join those of larger sets, since every group reads and writes values that others share.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from draisine.codegen.passes import ALL, Entry, Guards, Passes
from draisine.codegen.passes.pipeline import Result, reading, run_passes
from draisine.program import opcodes as op
from draisine.program.program import Program
from draisine.program.ssa import CALL, RESULT, SSA, live_values, to_ssa

SMALLEST = 10  # values of a group of several conditions


class Group(NamedTuple):
    """Values that are wanted where one of the `conditions` holds; always, if there are none."""

    conditions: tuple[Entry, ...]
    ssa: SSA


@dataclass(frozen=True, eq=False)
class GuardedParts:
    """The groups in the order in which they run. `passed` values are read by later groups: results after the last slot, and
    inputs after the last slot."""

    groups: tuple[Group, ...]
    passed: int


def guarded_parts(program: Program, guards: Guards, passes: Passes = ALL) -> GuardedParts:
    """The operations of a program by the conditions under which they are needed."""
    ssa = run_passes(to_ssa(program.tape), passes)
    conditions = sorted(set(guards.of_result.values()))
    wanted = _wanted(ssa, guards, conditions)
    always, shared = 1 << len(conditions), _shared(ssa, wanted)
    results: dict[int, list[Result]] = {always: []}
    for result in ssa.results:
        results.setdefault(wanted.get(result[2], _of_result(result, guards, conditions)), []).append(result)
    for k, v in enumerate(shared):
        results.setdefault(wanted[v], []).append((len(program.outputs), k, v))
    groups = []
    for one in sorted(results, key=lambda one: (one != always, -one.bit_count(), one)):
        others = {v: (len(program.inputs), k) for k, v in enumerate(shared) if wanted[v] != one}
        satisfied = () if one == always else tuple(c for k, c in enumerate(conditions) if one >> k & 1)
        groups.append(Group(satisfied, reading(ssa, results[one], others)))
    return GuardedParts(tuple(groups), len(shared))


def _of_result(result: Result, guards: Guards, conditions: list[Entry]) -> int:
    """The set of a result, as bits; the highest one stands for always."""
    condition = guards.of_result.get(result[:2])
    return 1 << (len(conditions) if condition is None else conditions.index(condition))


def _wanted(ssa: SSA, guards: Guards, conditions: list[Entry]) -> dict[int, int]:
    """The set under which each value is computed."""
    found = _closed(ssa, guards, conditions, None)
    sizes = Counter(found.values())
    single = [1 << k for k in range(len(conditions) + 1)]
    kept = [*single, *(one for one, size in sizes.items() if size >= SMALLEST and one not in single)]
    return _closed(ssa, guards, conditions, sorted(kept, key=lambda one: (one.bit_count(), one)))


def _closed(ssa: SSA, guards: Guards, conditions: list[Entry], kept: list[int] | None) -> dict[int, int]:
    """Sets of values, each contained in those of its operands: any set, or the smallest of those that are kept."""
    always = 1 << len(conditions)
    found: dict[int, int] = {}
    for result in ssa.results:
        found[result[2]] = found.get(result[2], 0) | _of_result(result, guards, conditions)
    together = _together(ssa)
    for v in reversed(live_values(ssa)):
        many = together.get(v, (v,))
        if v != many[0]:
            continue  # with the first of them, when all that needs one of them is known
        one = 0
        for other in many:
            one |= found.get(other, 0)
        if one & always or one == always - 1:
            one = always
        elif kept is not None:
            one = next((k for k in kept if k & one == one), always)
        found |= dict.fromkeys(many, one)
        for o in ssa.values[v].operands:
            found[o] = found.get(o, 0) | one
    return {v: found[v] for v in live_values(ssa)}


def _together(ssa: SSA) -> dict[int, tuple[int, ...]]:
    """Values that are computed by one call, the first one first: sine and cosine of an angle, the results of a function."""
    calls: dict[tuple[object, ...], list[int]] = {}
    for v, (kind, operands, _) in enumerate(ssa.values):
        if kind in (op.SIN, op.COS):
            calls.setdefault((op.SIN, operands), []).append(v)
        elif kind == RESULT:
            calls.setdefault((CALL, operands), []).append(v)
    return {v: tuple(many) for many in calls.values() for v in many}


def _shared(ssa: SSA, wanted: Mapping[int, int]) -> list[int]:
    """The values that are read in another group than their own."""
    found = set()
    for v, one in wanted.items():
        for o in ssa.values[v].operands:
            if o in wanted and wanted[o] != one and ssa.values[o].kind != CALL:
                found.add(o)
    return sorted(found)
