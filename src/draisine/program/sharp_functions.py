"""Smooth functions of time alone that vary suddenly, such as exp(−((t − 7)/0.01)²) or tanh((t − 2)/0.001).

Nothing but its own formula tells of such a pulse: an integration method whose steps have grown before it passes over it.
Operations that can make one are recognized on the tape (`tape.order_of`): exponentials, quotients, high powers. Sinusoids,
polynomials, sweeps and products of a few of them cannot. Where a function may be sharp, bounds of its value and slope
(`enclosures`) over intervals that are halved show where it varies: an interval is settled if the function leaves the straight
line between its ends by no more than a share of its range. The function varies suddenly if short intervals follow within reach
of a long one, in the direction of the run. A decay such as exp(−t) has its short intervals first, and a sweep changes their
length slowly: step size control follows both.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence, Set
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from draisine.program import opcodes as op
from draisine.program.enclosures import Enclosure, enclose
from draisine.program.graph import Graph
from draisine.program.ssa import FREE, INPUT
from draisine.program.tape import CONSTANT, OF_STATE, SHARP, order_of

Reals = NDArray[np.float64]
Bools = NDArray[np.bool_]

_FINER = 16.0  # ratio of lengths from which on a function varies suddenly
_REACH = 4.0  # lengths of an interval within which a step that fits it may end
MOST_CELLS = 20_000  # of one function
_LEVELS = 48


def sharp_nodes(graph: Graph, roots: Sequence[int], input_order: Callable[[tuple[str, int]], float]) -> list[int]:
    """The outermost functions of time alone in the roots that may be sharp, without constant factors, and the terms of sums one
    by one: a small pulse beside a large function counts by its own range. `input_order` is the order of an input, by slot and
    entry."""
    reached = sorted(graph.reached(roots))
    orders: dict[int, float] = {}
    for node in reached:
        kind, operands, detail = graph.values[node]
        if kind < 0:  # inputs, numbers and calls
            orders[node] = input_order(detail) if kind == INPUT else CONSTANT if kind in FREE else OF_STATE
        else:
            exponent = graph.number(operands[1]) if kind in (op.POW, op.CONSTPOW) else None
            orders[node] = order_of(kind, [orders[o] for o in operands], exponent)
    used = {o for node in reached if math.isnan(orders[node]) for o in graph.values[node].operands}
    waiting = [node for node in {*used, *roots} if orders[node] == SHARP]
    found: set[int] = set()
    seen: set[int] = set()
    while waiting:
        node = waiting.pop()
        if node in seen:
            continue
        seen.add(node)
        kind, operands, _ = graph.values[node]
        linear = kind in (op.ADD, op.SUB, op.NEG, op.TWICE) or (
            kind in (op.MUL, op.DIV) and CONSTANT in [orders[o] for o in (operands if kind == op.MUL else operands[1:])]
        )
        if linear:
            waiting += [o for o in operands if orders[o] == SHARP]
        else:
            found.add(node)
    return sorted(found)


# ------------------------------------------------------------------------------------------------------- where they vary


class Cells(NamedTuple):
    """Intervals of time between `low` and `high` for many sets of numbers, which `owner` counts; `settled` are those in which a
    function is known to be close to a straight line, or that cannot be divided, `divided` those that are parts of others."""

    low: Reals
    high: Reals
    owner: NDArray[np.int64]
    settled: Bools
    divided: Bools

    @property
    def known(self) -> bool:
        """Whether the function is known everywhere."""
        return bool(self.settled.all())

    @property
    def unknown_ends(self) -> Reals:
        """The ends of the parts of time in which the function is not known, of one set of numbers."""
        low, high = np.sort(self.low[~self.settled]), np.sort(self.high[~self.settled])
        return np.concatenate([np.setdiff1d(low, high), np.setdiff1d(high, low)])


def find_cells(
    graph: Graph,
    node: int,
    edges: Reals,
    share: float,
    given: Callable[[Reals, NDArray[np.int64], Set[int]], Mapping[int, Reals]],
) -> Cells:
    """The intervals in which a function of time is straight but for a `share` of its range, for many sets of numbers.

    `edges` (sets, ends) are the ends of the first intervals of each set. `given` are the values of some inputs other than time,
    at times inside the intervals of the sets with given numbers. Where bounds do not become tight, some intervals are not
    settled.
    """
    t = graph.input("t", 0)
    inputs = {n for n in graph.reached([node]) if graph.values[n].kind == INPUT} - {t}
    resolution = 64.0 * float(np.finfo(float).eps) * float(np.abs(edges).max())

    def bounded(low: Reals, high: Reals, owner: NDArray[np.int64]) -> Reals:
        """Lowest and highest value, and the deviation from a straight line."""
        one = np.ones_like(low)
        known: dict[int, Enclosure] = {n: ((v, v), None) for n, v in given(0.5 * (low + high), owner, inputs).items()}
        value, slope = enclose(graph, [node], known | {t: ((low, high), (one, one))})[node]
        down, up = (np.broadcast_to(side, low.shape) for side in value)
        with np.errstate(invalid="ignore"):
            off = np.minimum(up - down, 0.25 * (high - low) * (slope[1] - slope[0]) if slope is not None else 0.0)
        return np.array([down, up, np.where(np.isnan(off), np.inf, off)])

    count, first = len(edges), edges.shape[1] - 1
    low, high = edges[:, :-1].ravel(), edges[:, 1:].ravel()
    owner, level = np.repeat(np.arange(count), first), np.zeros(first * count, dtype=np.int64)
    found = bounded(low, high, owner)
    while True:
        finite = np.isfinite(found[:2]).all(axis=0)
        bottom, top = np.full(count, np.inf), np.full(count, -np.inf)
        np.minimum.at(bottom, owner[finite], found[0, finite])
        np.maximum.at(top, owner[finite], found[1, finite])
        allowed = share * np.maximum(top - bottom, 0.0)
        rough = ~(found[2] <= allowed[owner])
        split = rough & (high - low > resolution) & (level < _LEVELS)
        if not split.any() or low.size + int(split.sum()) > MOST_CELLS * count:
            tiny = (high - low <= resolution) | (level >= _LEVELS)
            return Cells(low, high, owner, ~rough | tiny, level > 0)
        middle = 0.5 * (low[split] + high[split])
        kept = ~split
        begin, end = np.concatenate([low[split], middle]), np.concatenate([middle, high[split]])
        owners = np.tile(owner[split], 2)
        found = np.hstack([found[:, kept], bounded(begin, end, owners)])
        low, high = np.concatenate([low[kept], begin]), np.concatenate([high[kept], end])
        owner = np.concatenate([owner[kept], owners])
        level = np.concatenate([level[kept], np.tile(level[split] + 1, 2)])


def sudden_sets(cells: Cells, count: int = 1, backwards: bool = False) -> Bools:
    """For each set of numbers whether the function varies suddenly."""
    begin, end = (-cells.high, -cells.low) if backwards else (cells.low, cells.high)
    length = end - begin
    fine = np.where(cells.settled, length, length / _FINER**2)
    shift = cells.owner * (2.0 + 2.0 * _REACH) * float(np.ptp(np.concatenate([begin, end])))  # the sets one after the other
    order = np.argsort(begin + shift, kind="stable")
    begin, length, fine, shift = begin[order] + shift[order], length[order], fine[order], shift[order]
    long, reach = cells.settled[order], begin + (1.0 + _REACH) * length
    needed = np.ceil(np.log2(fine * _FINER)).astype(np.int64)  # of the logarithm of a length
    found = np.zeros(begin.size, dtype=bool)
    for size in np.unique(needed[cells.divided[order]]):
        reached = np.maximum.accumulate(np.where(long & (length >= 2.0 ** float(size)), reach, -np.inf))
        found |= (needed == size) & cells.divided[order] & (reached > begin)
    return np.bincount(cells.owner[order][found], minlength=count) > 0
