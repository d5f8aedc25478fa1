"""Times at which switches of time alone change their branch, found before a run.

The argument z(t) of such a switch is smooth between the times of the switches inside it. There, bounds of z and dz/dt over an
interval (`enclosures`) show that it crosses no limit, or that it is monotone and crosses each limit between its values at the
ends once; any other interval is halved. No crossing is missed, except those between which less than the resolution of time
passes. Affine arguments and tables of time need no search.

The search is not guaranteed where bounds do not become tight: beyond `MAX_INTERVALS` halvings (an argument such as sin(1/t)
near 0, or a called function) crossings are found by sampling, and the result says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from draisine.numerics.root_finding import bracketed_roots
from draisine.program.arithmetic import real_operations
from draisine.program.branch_graph import BranchGraph
from draisine.program.enclosures import Enclosure, enclose
from draisine.program.graph import Graph
from draisine.program.ssa import CONSTANT, INPUT, NUMBERS
from draisine.program.switch import Switch, SwitchKind
from draisine.program.switching import Switching

Reals = NDArray[np.float64]

MAX_INTERVALS = 200_000
_RESOLUTION = 4.0 * float(np.finfo(float).eps)  # of time, relative to the times of the run
_SAMPLES = 16  # in an interval whose bounds did not become tight


@dataclass(frozen=True, eq=False)
class SwitchTimes:
    """The changes of the switches of time alone, in the order of the run.

    `branches` has a row for every interval between two of the `times`, before the first and after the last: the branches of the
    switches `numbers`. `jumps` tells of each time whether the state derivative may jump; otherwise only its first derivative
    does. `guaranteed` is False where crossings were found by sampling.
    """

    times: Reals
    branches: Reals
    numbers: tuple[int, ...]
    jumps: NDArray[np.bool_]
    guaranteed: bool = True


def switch_times(switching: Switching, t0: float, t1: float, u: ArrayLike, p: ArrayLike) -> SwitchTimes:
    """All times strictly between `t0` and `t1` at which a switch of time alone changes its branch; the run may go backwards.

    `u` are the inputs, constant in this interval, and `p` the parameters of the original equations.
    """
    numbers = switching.time_only
    search = Search(switching.graph, min(t0, t1), max(t0, t1), np.asarray(u, dtype=float), np.asarray(p, dtype=float))
    found = {i: search.changes(switching.graph.chosen[i]) for i in numbers}
    times = merged([times for times, _ in found.values()], search.resolution)
    middles = search.middles(times)
    branches = (
        np.array([search.branch(switching.graph.chosen[i], middles) for i in numbers]).reshape(len(numbers), middles.size).T
    )
    changed = branches[1:] != branches[:-1]
    jumps = (changed & np.array([switching.switches[i].jump for i in numbers], dtype=bool)).any(axis=1)
    if t1 < t0:
        times, branches, jumps = times[::-1], branches[::-1], jumps[::-1]
    return SwitchTimes(times, branches, numbers, jumps, search.guaranteed)


def merged(groups: Sequence[Reals], resolution: float) -> Reals:
    """All times, those closer together than the resolution once."""
    times = np.unique(np.concatenate([np.zeros(0), *groups]))
    return times[np.concatenate([[True], np.diff(times) > resolution])] if times.size else times


class Search:
    """Changes of switches in one interval of time, for given numbers."""

    def __init__(self, fixed: BranchGraph, low: float, high: float, u: Reals, p: Reals) -> None:
        self._fixed, self._graph = fixed, fixed.graph
        self._low, self._high = low, high
        self._values = {("u", k): value for k, value in enumerate(u)} | {("p", k): value for k, value in enumerate(p)}
        self._changes: dict[int, tuple[Reals, Reals]] = {}
        self.resolution = _RESOLUTION * max(abs(low), abs(high), high - low)
        self.guaranteed = True

    def middles(self, times: Reals) -> Reals:
        """Times inside the intervals between the given ones."""
        edges = np.concatenate([[self._low], times, [self._high]])
        return 0.5 * (edges[1:] + edges[:-1])

    def branch(self, k: int, times: Reals) -> Reals:
        """The branch of a switch at given times."""
        changes, values = self.changes(k)
        return values[np.searchsorted(changes, times)]

    def changes(self, k: int) -> tuple[Reals, Reals]:
        """The times at which a switch changes its branch, and the branches between them."""
        if k not in self._changes:
            inner = merged([self.changes(b)[0] for b in self._inner(k)], self.resolution)
            candidates = merged([inner, self._crossings(k, inner)], self.resolution)
            candidates = candidates[(candidates > self._low) & (candidates < self._high)]
            middles = self.middles(candidates)
            switch = self._fixed.timed(k)
            values = np.array([switch.branch(z) for z in self._argument(k, middles)])
            changed = values[1:] != values[:-1]
            self._changes[k] = candidates[changed], values[np.concatenate([[True], changed])]
        return self._changes[k]

    def _inner(self, k: int) -> list[int]:
        return [b for b in range(k) if self._fixed.every[b].branch in self._reached(k)]

    def _reached(self, k: int) -> set[int]:
        return self._graph.reached([self._fixed.every[k].argument])

    # ---------------------------------------------------------------- arguments

    def _given(self, k: int, at: Reals) -> dict[int, Reals]:
        """The inputs other than time, with branches as at the given times."""
        given: dict[int, Reals] = {}
        branches = {self._fixed.every[b].branch: b for b in range(k)}
        for node in self._reached(k):
            operation, _, detail = self._graph.values[node]
            if node in branches:
                given[node] = self.branch(branches[node], at)
            elif operation == INPUT and detail in self._values:
                given[node] = np.asarray(self._values[detail])
        return given

    def _argument(self, k: int, times: Reals, at: Reals | None = None) -> Reals:
        """The argument of a switch at given times, with inner branches as at the times `at`."""
        argument = self._fixed.every[k].argument
        given = self._given(k, times if at is None else at)
        given[self._graph.input("t", 0)] = times
        return np.asarray(np.broadcast_to(evaluated(self._graph, argument, given), times.shape), dtype=float)

    # ---------------------------------------------------------------- search

    def _crossings(self, k: int, inner: Reals) -> Reals:
        edges = np.concatenate([[self._low], inner, [self._high]])
        low, high = edges[:-1], edges[1:]
        middle = 0.5 * (low + high)
        switch, argument, t = self._fixed.timed(k), self._fixed.every[k].argument, self._graph.input("t", 0)
        found: list[Reals] = []
        spent = 0
        while low.size:
            spent += low.size
            given: dict[int, Enclosure] = {n: ((v, v), None) for n, v in self._given(k, middle).items()}
            given[t] = (low, high), (np.ones_like(low), np.ones_like(low))
            value, slope = enclose(self._graph, [argument], given)[argument]
            down, up = (np.broadcast_to(side, low.shape) for side in value)
            falling, rising = (np.broadcast_to(side, low.shape) for side in (slope or (np.zeros(1), np.zeros(1))))
            possible = _has_limit(switch, down, up)
            monotone = (falling >= 0.0) | (rising <= 0.0)
            narrow = high - low <= self.resolution
            solved = possible & (monotone | narrow)
            found.append(self._solved(k, switch, low[solved], high[solved], middle[solved], (falling == rising)[solved]))
            rest = possible & ~solved
            if spent + 2 * int(rest.sum()) > MAX_INTERVALS:
                self.guaranteed = False
                found.append(self._sampled(k, switch, low[rest], high[rest], middle[rest]))
                break
            halves = 0.5 * (low[rest] + high[rest])
            low, high = np.concatenate([low[rest], halves]), np.concatenate([halves, high[rest]])
            middle = np.concatenate([middle[rest], middle[rest]])
        return np.concatenate([np.zeros(0), *found])

    def _solved(self, k: int, switch: Switch, low: Reals, high: Reals, at: Reals, affine: NDArray[np.bool_]) -> Reals:
        """The crossings in intervals in which the argument is monotone."""
        if not low.size:
            return low
        ends = self._argument(k, low, at), self._argument(k, high, at)
        wheres, limits = _limits_between(switch, *ends)
        a, b, za, zb, inside = low[wheres], high[wheres], ends[0][wheres], ends[1][wheres], at[wheres]
        straight = affine[wheres]
        with np.errstate(all="ignore"):
            slope = (zb - za) / (b - a)
            guess = a + (limits - za) / slope
            guess = np.clip(guess - (self._argument(k, guess, inside) - limits) / slope, a, b)  # again, for the last digit
        curved = ~straight
        if curved.any():
            guess[curved] = bracketed_roots(
                lambda times: self._argument(k, times, inside[curved]) - limits[curved], a[curved], b[curved]
            )
        return guess

    def _sampled(self, k: int, switch: Switch, low: Reals, high: Reals, at: Reals) -> Reals:
        fractions = np.linspace(0.0, 1.0, _SAMPLES + 1)
        edges = low[:, None] + fractions * (high - low)[:, None]
        inside = np.repeat(at, _SAMPLES)
        begin, end = edges[:, :-1].ravel(), edges[:, 1:].ravel()
        return self._solved(k, switch, begin, end, inside, np.zeros(begin.size, dtype=bool))


def evaluated(graph: Graph, wanted: int, given: dict[int, Reals]) -> Reals:
    """A node as an array."""
    table = real_operations()
    known: dict[int, Reals] = dict(given)
    with np.errstate(all="ignore"):
        for k in sorted(graph.reached([wanted], lambda node: node in given)):
            operation, operands, detail = graph.values[k]
            if k in known:
                continue
            if operation == CONSTANT:
                known[k] = np.asarray(float.fromhex(detail))
            elif operation == NUMBERS:
                known[k] = graph.numbers[detail]
            else:
                known[k] = graph.value(k, [known[o] for o in operands], table)
    return known[wanted]


def _has_limit(switch: Switch, low: Reals, high: Reals) -> NDArray[np.bool_]:
    """Whether a limit of the switch lies between two values."""
    if switch.kind == SwitchKind.SIDES:
        return np.asarray((low <= 0.0) & (high >= 0.0))
    if switch.kind == SwitchKind.TABLE:
        breaks = np.array(switch.breaks)
        return np.asarray(np.searchsorted(breaks, high, "right") > np.searchsorted(breaks, low, "left"))
    return np.asarray(np.floor(high) >= np.ceil(low))


def _limits_between(switch: Switch, one: Reals, other: Reals) -> tuple[NDArray[np.int64], Reals]:
    """All limits between pairs of values: the number of the pair, and the limit."""
    low, high = np.minimum(one, other), np.maximum(one, other)
    good = np.isfinite(low) & np.isfinite(high) & (low < high)
    if switch.kind == SwitchKind.SIDES:
        wheres = np.flatnonzero(good & (low <= 0.0) & (high >= 0.0))
        return wheres, np.zeros(wheres.size)
    if switch.kind == SwitchKind.TABLE:
        levels = np.array(switch.breaks)
        first, last = np.searchsorted(levels, low, "left"), np.searchsorted(levels, high, "right")
    else:
        first, last = (np.where(good, side, 0.0).astype(np.int64) for side in (np.ceil(low), np.floor(high) + 1.0))
    counts = np.where(good, np.maximum(last - first, 0), 0)
    wheres = np.repeat(np.arange(low.size), counts)
    steps = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts) + first[wheres]
    return wheres, levels[steps] if switch.kind == SwitchKind.TABLE else steps.astype(float)
