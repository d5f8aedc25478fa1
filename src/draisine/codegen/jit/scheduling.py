"""List scheduling, and cutting of long lists into pieces.

A processor looks about two hundred instructions ahead. A tape that computes one result after the other stalls the processor in
long chains of divisions and roots while independent work is still out of its window. Values on the longest dependence chain are
therefore computed first.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

from draisine.codegen.jit.emitter import INTRINSICS, LIBRARY
from draisine.program import opcodes as op
from draisine.program.ssa import CALL, FREE, RESULT, SSA

# Latencies in cycles on current processors; only their proportions matter.
_CYCLES = {
    **dict.fromkeys((*INTRINSICS, *LIBRARY), 40),
    **dict.fromkeys((op.FABS, op.COPYSIGN, op.NEG), 1),
    **dict.fromkeys((op.FMIN, op.FMAX, op.FLOOR, op.CEIL), 6),
    **{op.DIV: 13, op.INV: 13, op.SQRT: 20, CALL: 100, RESULT: 4},
}
_ORDINARY = 3
_PER_CYCLE = 4  # operations begun in one cycle

# Scheduling pays when the longest chain has this many cycles per value or more: then the tape's own order loses 5 to 10 %.
# With fewer, the tape's order is better, because it keeps fewer values alive.
_LATENCY_BOUND = 0.15


def list_schedule(ssa: SSA, values: Sequence[int]) -> list[int]:
    """The values in an order that respects their dependence, the longest chains first."""
    readers: dict[int, list[int]] = {v: [] for v in values}
    unmet = dict.fromkeys(values, 0)
    for v in values:
        for operand in set(ssa.values[v].operands):
            if operand in readers:
                readers[operand].append(v)
                unmet[v] += 1
    ahead: dict[int, int] = {}  # critical path: cycles from the start of a value to the end of all that depend on it
    for v in reversed(values):
        ahead[v] = _CYCLES.get(ssa.values[v].kind, _ORDINARY) + max([ahead[r] for r in readers[v]], default=0)
    if max(ahead.values(), default=0) < _LATENCY_BOUND * len(values):
        return list(values)
    return _longest_chain_first(ssa, readers, unmet, ahead)


def _longest_chain_first(ssa: SSA, readers: dict[int, list[int]], unmet: dict[int, int], ahead: dict[int, int]) -> list[int]:
    """List scheduling: in every cycle start the ready values with the longest critical path."""
    ready = [(-ahead[v], v) for v, count in unmet.items() if count == 0]
    heapq.heapify(ready)
    pending: list[tuple[int, int]] = []  # (cycle in which its operands are available, value)
    order: list[int] = []
    cycle = 0
    while len(order) < len(readers):
        while pending and pending[0][0] <= cycle:
            v = heapq.heappop(pending)[1]
            heapq.heappush(ready, (-ahead[v], v))
        for _ in range(min(_PER_CYCLE, len(ready))):
            v = heapq.heappop(ready)[1]
            order.append(v)
            finished = cycle + _CYCLES.get(ssa.values[v].kind, _ORDINARY)
            for reader in readers[v]:
                unmet[reader] -= 1
                if unmet[reader] == 0:
                    heapq.heappush(pending, (finished, reader))
        cycle += 1
    return order


# ------------------------------------------------------------------------------------------------------------ pieces


class Piece(NamedTuple):
    """Values computed together, in order; those that later pieces read; results stored here."""

    values: tuple[int, ...]
    spilled: tuple[int, ...] = ()
    results: tuple[tuple[int, int, int], ...] = ()


def cut_into_pieces(
    ssa: SSA, values: Sequence[int], length: int, whole_calls: bool = False
) -> tuple[list[Piece], dict[int, int], int]:
    """Pieces of about the given length, the indices of spilled values in the work array, and the size of that array.

    With `whole_calls` all results of a call are in its piece, also where they are more than a piece is long.
    """
    last_reader = _last_readers(ssa, values)
    ends = _ends(ssa, values, last_reader, length, whole_calls)
    piece_of = {v: k for k, (begin, end) in enumerate(zip([0, *ends], ends, strict=False)) for v in values[begin:end]}
    expires: list[list[int]] = [[] for _ in range(len(ends) + 1)]
    spill_slots: dict[int, int] = {}
    vacant: list[int] = []
    size = 0
    pieces = []
    given: dict[int, list[tuple[int, int, int]]] = {}
    for result in ssa.results:
        given.setdefault(piece_of.get(result[2], -1), []).append(result)
    copied = given.pop(-1, [])  # inputs and constants that are results themselves
    for k, (begin, end) in enumerate(zip([0, *ends], ends, strict=False)):
        vacant += expires[k]
        spilled = [v for v in values[begin:end] if v in last_reader and piece_of[last_reader[v]] > k]
        for v in spilled:
            if vacant:
                spill_slots[v] = vacant.pop()
            else:
                spill_slots[v], size = size, size + 1
            expires[piece_of[last_reader[v]] + 1].append(spill_slots[v])
        pieces.append(Piece(tuple(values[begin:end]), tuple(spilled), tuple(given.get(k, ()))))
    pieces += [Piece((), (), tuple(copied[k : k + length])) for k in range(0, len(copied), length)]
    return pieces, spill_slots, size


def _last_readers(ssa: SSA, values: Sequence[int]) -> dict[int, int]:
    last = {}
    for v in values:
        for operand in ssa.values[v].operands:
            if ssa.values[operand].kind not in FREE:
                last[operand] = v
    return last


def _ends(ssa: SSA, values: Sequence[int], last_reader: dict[int, int], length: int, whole_calls: bool) -> list[int]:
    """The ends of pieces: between 0.6 and 1.4 times the length, where the fewest values are live."""
    position = {v: k for k, v in enumerate(values)}
    changes = [0] * (len(values) + 2)
    for v, reader in last_reader.items():
        changes[position[v] + 1] += 1
        changes[position[reader] + 1] -= 1
    crossing = list(accumulate(changes))
    for k in range(1, len(values)):  # a call and its results are not separated
        if ssa.values[values[k]].kind == RESULT:
            crossing[k] += len(values)
    ends, begin = [], 0
    while len(values) - begin > 1.4 * length:
        nearest, farthest = begin + int(0.6 * length), begin + int(1.4 * length)
        begin = min(range(nearest, farthest + 1), key=crossing.__getitem__)
        while whole_calls and begin < len(values) and ssa.values[values[begin]].kind == RESULT:
            begin += 1
        ends.append(begin)
    return [*ends, len(values)] if ends[-1:] != [len(values)] else ends
