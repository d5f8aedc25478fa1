"""Long programs in parts: functions of some hundred values each, since compilers take more than twice as long for twice the code.

The parts share one array, `work`: the inputs that are read, the values that later parts read, and the results.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from draisine.codegen.jit.scheduling import cut_into_pieces
from draisine.program.ssa import CALL, CONSTANT, FREE, INPUT, NUMBERS, RESULT, SSA, live_values

LONGEST = 2000  # values of a function that is not cut
LENGTH = 150  # values of a part, about


class Parts(NamedTuple):
    """A long list of values in parts. Inputs and results (0, k) of a part are entries k of the work array."""

    parts: tuple[SSA, ...]
    size: int  # of the work array
    inputs: dict[tuple[int, int], int]  # inputs that are read → entries of the work array
    results: dict[int, int]  # values that are results → entries of the work array; others are inputs or constants


def in_parts(ssa: SSA, length: int = LENGTH) -> Parts:
    """The parts of a list of values.

    >>> from draisine.program import opcodes as op
    >>> ssa = SSA()
    >>> a = ssa.add(INPUT, (), (0, 0))
    >>> for _ in range(20):
    ...     a = ssa.add(op.SIN, (a,))
    >>> ssa.results = [(0, 0, a)]
    >>> made = in_parts(ssa, length=8)
    >>> [len(live_values(part)) for part in made.parts], made.size, made.inputs, made.results
    ([4, 4, 4, 8], 4, {(0, 0): 2}, {20: 3})
    """
    pieces, entries, size = cut_into_pieces(ssa, live_values(ssa), length, whole_calls=True)
    read = {o for piece in pieces for v in piece.values for o in ssa.values[v].operands if ssa.values[o].kind == INPUT}
    for value in sorted(read):
        entries[value], size = size, size + 1
    inputs = {ssa.values[value].detail: entries[value] for value in sorted(read)}
    results: dict[int, int] = {}
    for _, _, value in ssa.results:
        if value not in results and ssa.values[value].kind not in FREE:
            results[value], size = size, size + 1
    parts = []
    for piece in pieces:
        taken = [(entries[v], v) for v in piece.spilled] + [(results[v], v) for v in piece.values if v in results]
        if taken:
            parts.append(_part(ssa, piece.values, entries, taken))
    return Parts(tuple(parts), size, inputs, results)


def _part(ssa: SSA, values: Sequence[int], entries: dict[int, int], taken: Sequence[tuple[int, int]]) -> SSA:
    part = SSA(numbers=ssa.numbers, callees=ssa.callees)
    known: dict[int, int] = {}

    def in_part(value: int) -> int:
        if value not in known:
            kind, operands, detail = ssa.values[value]
            is_given = kind not in (CONSTANT, NUMBERS)
            known[value] = part.add(INPUT, (), (0, entries[value])) if is_given else part.add(kind, operands, detail)
        return known[value]

    for value in values:
        kind, operands, detail = ssa.values[value]
        known[value] = part.add(kind, tuple(in_part(o) for o in operands), detail)
        following = value + 1
        while kind == CALL and following < len(ssa.values) and ssa.values[following][:2] == (RESULT, (value,)):
            part.add(
                RESULT, (known[value],), ssa.values[following].detail
            )  # those that nothing reads too: they have their places
            following += 1
    part.results = [(0, entry, known[value]) for entry, value in taken]
    return part
