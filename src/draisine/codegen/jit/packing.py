"""Independent calls of one function in one block, packed into vectors: two or four arctangents, or sines and cosines, at a time.

The two tires of a motorcycle have a dozen arctangents, its joints a dozen angles. A call on a vector takes about as long as one
on a double, and each lane has the same bits. Calls are packed where none can depend on another: the level of a value is the
largest number of calls on a path to it, and those on one level are independent, whatever else they depend on.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from draisine.program import opcodes as op
from draisine.program.ssa import SSA

_TURNED = frozenset({op.SIN, op.COS})
WIDEST = 4  # lanes of all registers but the smallest


class Pack(NamedTuple):
    """Calls made together: values of one kind with as many operands as lanes; sines and cosines with as many angles."""

    kind: int  # ATAN, ATAN2, or SIN for sines and cosines
    values: tuple[int, ...]
    operands: tuple[tuple[int, ...], ...]  # of every lane
    lanes: int


def packs_of(ssa: SSA, values: Sequence[int], sincos: bool) -> list[Pack]:
    """The packs of a block with these values. Without `sincos`, sines and cosines are calls of the C library."""
    kinds = {op.ATAN: op.ATAN, op.ATAN2: op.ATAN2} | (dict.fromkeys(_TURNED, op.SIN) if sincos else {})
    if sum(ssa.values[v].kind in kinds for v in values) < 2:
        return []
    level: dict[int, int] = {}
    listed: dict[tuple[int, int], dict[tuple[int, ...], list[int]]] = {}  # kind and level → operands → values
    for v in values:
        kind, operands, _ = ssa.values[v]
        level[v] = max([level.get(o, 0) + (ssa.values[o].kind in kinds) for o in operands], default=0)
        if kind in kinds:
            listed.setdefault((kinds[kind], level[v]), {}).setdefault(tuple(operands), []).append(v)
    found = []
    for (kind, _), calls in listed.items():
        waiting = list(calls)
        while len(waiting) > 1:
            lanes = WIDEST if len(waiting) > 2 else 2
            taken, waiting = waiting[:lanes], waiting[lanes:]
            found.append(Pack(kind, tuple(v for operands in taken for v in calls[operands]), tuple(taken), lanes))
    return found


def packed_order(ssa: SSA, values: Sequence[int], packs: Sequence[Pack]) -> list[int]:
    """The values in an order that has those of each pack side by side, behind all operands; otherwise as it was."""
    pack_of = {v: pack for pack in packs for v in pack.values}
    inside, done, order = set(values), set[int](), list[int]()
    waiting = list(reversed(values))
    while waiting:
        v = waiting[-1]
        if v in done:
            waiting.pop()
            continue
        together = pack_of[v].values if v in pack_of else (v,)
        missing = [o for w in together for o in ssa.values[w].operands if o in inside and o not in done]
        if missing:
            waiting += reversed(missing)
        else:
            waiting.pop()
            order += together
            done.update(together)
    return order
