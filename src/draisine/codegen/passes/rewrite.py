"""A straight list copied value by value, some of them by rules."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from draisine.codegen.jit.ssa import Straight

# (the new list, the old value, its operands in the new list) → the new value, or None for the same again
Rule = Callable[[Straight, int, tuple[int, ...]], int | None]


def copied(unit: Straight, rules: Mapping[int, Rule]) -> Straight:
    """A copy with the values of some kinds made by rules."""
    made = Straight(numbers=unit.numbers, callees=unit.callees)
    known: list[int] = []
    for value, (kind, operands, detail) in enumerate(unit.values):
        there = tuple([known[o] for o in operands])
        rule = rules.get(kind)
        new = None if rule is None else rule(made, value, there)
        known.append(made.add(kind, there, detail) if new is None else new)
    made.results = [(slot, entry, known[value]) for slot, entry, value in unit.results]
    return made
