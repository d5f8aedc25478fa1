"""The order of computing: where one result waits for another, the longest chain of waiting goes first.

A processor looks some two hundred instructions ahead. A tape that follows one result to its end before it begins the next leaves
the processor waiting for long chains of divisions and roots while work that could fill the time is still out of sight.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence

from draisine.codegen.jit.emitter import INTRINSICS, LIBRARY
from draisine.codegen.jit.ssa import CALL, RESULT, Straight
from draisine.program import opcodes as op

# Cycles until a result is there, on processors of today; it matters only that they are in proportion.
_CYCLES = {
    **dict.fromkeys((*INTRINSICS, *LIBRARY), 40),
    **dict.fromkeys((op.FABS, op.COPYSIGN, op.NEG), 1),
    **dict.fromkeys((op.FMIN, op.FMAX, op.FLOOR, op.CEIL), 6),
    **{op.DIV: 13, op.INV: 13, op.SQRT: 20, CALL: 100, RESULT: 4},
}
_ORDINARY = 3
_PER_CYCLE = 4  # operations begun in one cycle

# Waiting matters when the longest chain has this many cycles per value or more: then the tape's own order loses 5 to 10 %.
# With fewer, the tape's order is the better one, because it keeps fewer values alive.
_WAITING = 0.15


def in_good_order(unit: Straight, values: Sequence[int]) -> list[int]:
    """The values in an order of computing that respects their dependence."""
    readers: dict[int, list[int]] = {v: [] for v in values}
    unmet = dict.fromkeys(values, 0)
    for v in values:
        for operand in set(unit.values[v].operands) & readers.keys():
            readers[operand].append(v)
            unmet[v] += 1
    ahead: dict[int, int] = {}  # cycles from the start of this value to the end of everything that waits for it
    for v in reversed(values):
        ahead[v] = _cycles(unit, v) + max((ahead[r] for r in readers[v]), default=0)
    if max(ahead.values(), default=0) < _WAITING * len(values):
        return list(values)
    return _longest_chain_first(unit, readers, unmet, ahead)


def _longest_chain_first(
    unit: Straight, readers: dict[int, list[int]], unmet: dict[int, int], ahead: dict[int, int]
) -> list[int]:
    """List scheduling on an idle machine: in every cycle begin those ready values that have most ahead of them."""
    ready = [(-ahead[v], v) for v, count in unmet.items() if count == 0]
    heapq.heapify(ready)
    pending: list[tuple[int, int]] = []  # (cycle in which its operands are there, value)
    order: list[int] = []
    cycle = 0
    while len(order) < len(readers):
        while pending and pending[0][0] <= cycle:
            v = heapq.heappop(pending)[1]
            heapq.heappush(ready, (-ahead[v], v))
        for _ in range(min(_PER_CYCLE, len(ready))):
            v = heapq.heappop(ready)[1]
            order.append(v)
            for reader in readers[v]:
                unmet[reader] -= 1
                if unmet[reader] == 0:
                    heapq.heappush(pending, (cycle + _cycles(unit, v), reader))
        cycle += 1
    return order


def _cycles(unit: Straight, value: int) -> int:
    return _CYCLES.get(unit.values[value].kind, _ORDINARY)
