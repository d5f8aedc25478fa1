"""Long programs in stages, for compilers that take long over long lists: rows of independent arithmetic, to be looped over, and
groups of one other operation.

Mechanisms are wide: thousands of values depend on each other over some dozens of steps.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from typing import NamedTuple

from draisine.program.ssa import SSA

Row = tuple[int, ...]


class Loop(NamedTuple):
    """Rows of values, one row after the other. Values of a row do not depend on each other."""

    rows: tuple[Row, ...]


class Group(NamedTuple):
    """Values of one operation that do not depend on each other."""

    key: Hashable
    values: Row


def in_stages(ssa: SSA, values: Sequence[int], key: Callable[[int], Hashable | None]) -> list[Loop | Group]:
    """Values of a list, without inputs and constants, whose other operands are known; `key` says of a value which others it can
    be grouped with, or None where it is for loops.

    Groups are taken as soon as they can be, loops as long as they can be, which makes the fewest loops.

    >>> from draisine.program import opcodes as op
    >>> from draisine.program.ssa import INPUT, live_values
    >>> ssa = SSA()
    >>> a, b = (ssa.add(INPUT, (), (0, k)) for k in range(2))
    >>> s, t = (ssa.add(op.SIN, (x,)) for x in (a, b))
    >>> u, v = ssa.add(op.MUL, (s, t)), ssa.add(op.ADD, (s, t))
    >>> ssa.results = [(0, 0, ssa.add(op.ADD, (u, v)))]
    >>> kind = lambda v: None if ssa.values[v].kind in (op.ADD, op.MUL) else ssa.values[v].kind
    >>> in_stages(ssa, live_values(ssa), kind)  # doctest: +ELLIPSIS
    [Group(key=..., values=(2, 3)), Loop(rows=((4, 5), (6,)))]
    """
    left, made = list(values), list[Loop | Group]()
    pending = set(left)
    while left:
        groups = defaultdict[Hashable, list[int]](list)
        for v in left:
            of_loops = key(v) is None
            if not of_loops and pending.isdisjoint(ssa.values[v].operands):
                groups[key(v)].append(v)
        made += [Group(which, tuple(values)) for which, values in groups.items()]
        taken = {v for values in groups.values() for v in values}
        if not groups:
            taken = _reached(ssa, left, pending, key)
            made.append(Loop(_rows(ssa, sorted(taken))))
        pending -= taken
        left = [v for v in left if v in pending]
    return made


def _reached(ssa: SSA, left: Sequence[int], pending: set[int], key: Callable[[int], Hashable | None]) -> set[int]:
    """The values that loops can compute from what is done."""
    taken = set[int]()
    for v in left:
        if key(v) is None and all(o in taken or o not in pending for o in ssa.values[v].operands):
            taken.add(v)
    return taken


def _rows(ssa: SSA, values: Sequence[int]) -> tuple[Row, ...]:
    """Rows as wide as the list is on average; what the longest chain of others waits for comes first."""
    inside, users, wanted = set(values), defaultdict[int, list[int]](list), dict[int, int]()
    for v in values:
        operands = inside.intersection(ssa.values[v].operands)
        wanted[v] = len(operands)
        for o in operands:
            users[o].append(v)
    height = dict[int, int]()
    for v in reversed(values):
        height[v] = 1 + max((height[u] for u in users[v]), default=0)
    width = -(-len(values) // max(height.values()))
    ready = [(-height[v], v) for v in values if not wanted[v]]
    heapq.heapify(ready)
    rows = []
    while ready:
        row = tuple(heapq.heappop(ready)[1] for _ in range(min(width, len(ready))))
        rows.append(row)
        for u in (u for v in row for u in users[v]):
            wanted[u] -= 1
            if not wanted[u]:
                heapq.heappush(ready, (-height[u], u))
    return tuple(rows)
