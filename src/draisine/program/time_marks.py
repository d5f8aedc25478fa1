"""Marks of functions of time: kinks, knots of tables and points between them, with the values of the functions there.

No step crosses a stop, where a condition of time alone changes: a pulse that is written with conditions may be zero on both
sides, with zero slope, so that nothing but its ends tells of it.

Where the state derivative depends on tables of time, a step of an integration method may pass over what happens between the
points at which it evaluates them. Marks tell the stepping loop (`simulation/stepper/time_limits.py`) what is there. A function
with kinks, such as a linear table, is known from its values at the kinks and halfway between them; one that is curved, such as a
spline, is sampled at its knots and between them until straight lines between the samples are as exact as asked for. So is a
smooth function that varies suddenly, such as a Gaussian pulse, at the ends of the intervals that `sharp_functions` finds.
"""

from __future__ import annotations

from collections.abc import Set
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from draisine.program.branch_graph import BranchGraph
from draisine.program.sharp_functions import Cells, find_cells, sudden_sets
from draisine.program.switch_times import Search, SwitchTimes, evaluated, merged

Reals = NDArray[np.float64]

FINENESS = 0.05  # of straight lines between the samples of a curved function, relative to the deviation that matters
MOST_MARKS = 200_000
_ROUGH = 2.0  # deviation of a smooth function, relative to the one that matters, up to which an interval is not divided
_SEPARATE = 4  # smooth functions that are marked one by one; more of them as one sum
_GOLDEN = 0.6180339887498949
_TOGETHER = 64  # rows whose intervals are looked at together: memory
_PARTS = 4  # of a cell, before it is divided further: a cubic may be zero in its middle
_NO_SWITCHES = SwitchTimes(np.zeros(0), np.zeros((1, 0)), (), np.zeros(0, dtype=bool))


class Marks(NamedTuple):
    """Marks of functions of time in the order of the run: `times` (c), from one end of the interval to the other, with the
    `values` (c, functions) there.

    `is_kink` tells the kinks (`find_switching` with `free_kinks`) and stops, `is_stop` the latter (`BranchGraph.stops`), and
    `curved` the functions that are curved between them.
    """

    times: Reals
    is_kink: NDArray[np.bool_]
    is_stop: NDArray[np.bool_]
    values: Reals
    curved: NDArray[np.bool_]

    @property
    def ranges(self) -> Reals:
        """Largest minus smallest value of each function."""
        return np.asarray(np.ptp(self.values, axis=0)) if self.times.size else np.zeros(0)


NO_MARKS = Marks(np.zeros(0), np.zeros(0, dtype=bool), np.zeros(0, dtype=bool), np.zeros((0, 0)), np.zeros(0, dtype=bool))


def marks_of_time(
    fixed: BranchGraph, span: tuple[float, float], u: ArrayLike, p: ArrayLike, share: float, timed: SwitchTimes = _NO_SWITCHES
) -> Marks:
    """The marks in a span of time, which may go backwards.

    `u` are constant inputs, `p` the parameters of the original equations, `timed` the branches of switches of time
    (`switch_times`) in the same span. Deviations beyond this `share` of the range of a function matter.
    """
    low, high = min(span), max(span)
    search = Search(fixed, low, high, np.asarray(u, dtype=float), np.asarray(p, dtype=float))
    stops = merged([search.changes(k)[0] for k in fixed.stops], search.resolution)
    stops_and_kinks = [stops, *(search.changes(k)[0] for k in fixed.kinks)]
    kinks = merged(stops_and_kinks, search.resolution)
    stops = kinks[np.searchsorted(kinks, stops - search.resolution)]  # as merged with kinks
    knots = merged([search.changes(k)[0] for k in fixed.knots], search.resolution)
    nodes = fixed.functions_of_time() if (fixed.kinks and kinks.size) or fixed.knots else {}
    given = _Given(fixed, np.atleast_2d(u), np.atleast_2d(p), timed, span)
    sharp = _sudden_functions(given, kinks, share)
    known = {node: cells for node, cells in sharp.items() if cells.known}
    weighted = _weights(given, known) if len(known) > _SEPARATE else {}
    nodes |= dict.fromkeys(() if weighted else known, True)
    unknown = [cells.unknown_ends for cells in sharp.values() if not cells.known]
    stops, kinks = (merged([some, *unknown], search.resolution) for some in (stops, kinks))
    functions = _Functions(given, list(nodes), weighted)
    edges = np.concatenate([[low], kinks, [high]])
    times = np.unique(np.concatenate([edges, 0.5 * (edges[1:] + edges[:-1])]))
    curved = np.array([*nodes.values(), *([True] if weighted else [])], dtype=bool)
    if curved.any():
        ends = [cells.low for cells in known.values()]
        times = np.unique(np.concatenate([times, _parted(merged([edges, knots, *ends], search.resolution))]))
        if ends:  # sin(x)/x has no value at zero
            times = times[np.isfinite(functions(times)).all(axis=1) | np.isin(times, edges)]
        times = _refined(functions, times, curved, share, search.resolution)
    values = functions(times)
    usable = np.isfinite(values).all(axis=0) | ~curved
    if not usable.any() and not stops.size:
        return NO_MARKS
    order = slice(None) if span[1] >= span[0] else slice(None, None, -1)
    is_kink, is_stop = (np.isin(times, some)[order] for some in (kinks, stops))
    return Marks(times[order], is_kink, is_stop, values[order][:, usable], curved[usable])


def varies_suddenly(fixed: BranchGraph, spans: ArrayLike, u: ArrayLike, p: ArrayLike, share: float) -> NDArray[np.bool_]:
    """For each row of the inputs `u` and parameters `p` whether the equations have marks in a span of time, the same for all or
    one for each row, all in the same direction. Those that have others than `sharp_functions` have."""
    inputs, parameters = np.atleast_2d(u), np.atleast_2d(p)
    count = max(len(inputs), len(parameters))
    if fixed.stops or fixed.kinks or fixed.knots or fixed.chosen:
        return np.ones(count, dtype=bool)
    ends = np.broadcast_to(np.asarray(spans, dtype=float), (count, 2))
    backwards, found = bool((ends[:, 1] < ends[:, 0]).any()), np.zeros(count, dtype=bool)
    for first in range(0, count, _TOGETHER):
        some = slice(first, first + _TOGETHER)
        given = _Given(fixed, _rows(inputs, some), _rows(parameters, some), _NO_SWITCHES, (0.0, 0.0))
        for node in fixed.sharp_functions:
            cells = find_cells(fixed.graph, node, np.sort(ends[some]), _ROUGH * share, given)
            found[some] |= sudden_sets(cells, len(ends[some]), backwards)
    return found


def _rows(values: Reals, some: slice) -> Reals:
    """Some rows of inputs or parameters; one row alone is that of all runs."""
    return values if len(values) == 1 else values[some]


def _sudden_functions(given: _Given, kinks: Reals, share: float) -> dict[int, Cells]:
    """The functions of time that vary suddenly, with their intervals; those do not cross kinks and switches."""
    fixed, span = given.fixed, given.span
    if not fixed.sharp_functions:
        return {}
    edges = np.unique(np.concatenate([span, kinks, given.switches]))
    found = {node: find_cells(fixed.graph, node, edges[None], _ROUGH * share, given) for node in fixed.sharp_functions}
    return {node: cells for node, cells in found.items() if sudden_sets(cells, backwards=span[1] < span[0])[0]}


class _Given:
    """What functions of time depend on but time: inputs and parameters, one row for each run, and branches of switches."""

    def __init__(self, fixed: BranchGraph, u: Reals, p: Reals, timed: SwitchTimes, span: tuple[float, float]) -> None:
        self.fixed, self.span = fixed, span
        self._inputs, self._parameters = np.asarray(u, dtype=float), np.asarray(p, dtype=float)
        self.switches, self._numbers = np.sort(timed.times), timed.numbers
        self._branches = timed.branches if span[1] >= span[0] else timed.branches[::-1]

    def __call__(self, times: Reals, row: NDArray[np.int64] | int = 0, wanted: Set[int] | None = None) -> dict[int, Reals]:
        """The values by node, at times of the runs with these rows; those that are `wanted`, by default all."""
        g, count = self.fixed.graph, self._parameters.shape[1]
        given: dict[int, Reals] = {}
        for slot, table in (("u", self._inputs), ("p", self._parameters)):
            columns = ((g.input(slot, k), values) for k, values in enumerate(table.T))
            given |= {
                n: np.asarray(values[row if len(table) > 1 else 0]) for n, values in columns if wanted is None or n in wanted
            }
        given |= {g.input("p", count + i): np.asarray(1.0) for i in range(len(self.fixed.switches))}
        if not self._numbers:
            return given
        rows = np.searchsorted(self.switches, times, side="right")
        return given | {g.input("p", count + i): self._branches[rows, column] for column, i in enumerate(self._numbers)}


def _weights(given: _Given, sharp: dict[int, Cells]) -> dict[int, float]:
    """Weights with which many functions are one: each by its range, and all different, so that no two functions cancel."""
    found = {}
    for number, (node, cells) in enumerate(sharp.items()):
        values = _Functions(given, [node], {})(np.unique(np.append(cells.low, cells.high)))
        range_of = float(np.ptp(values[np.isfinite(values)])) if np.isfinite(values).any() else 0.0
        found[node] = (0.5 + 0.5 * (_GOLDEN * number % 1.0)) / range_of if range_of else 0.0
    return found


class _Functions:
    """Functions of time of one run at arrays of times; the last one is a sum of some with weights, if there are such."""

    def __init__(self, given: _Given, nodes: list[int], weighted: dict[int, float]) -> None:
        self._given, self._nodes, self._weighted = given, nodes, weighted

    def __call__(self, times: Reals) -> Reals:
        """The values (times, functions)."""
        g = self._given.fixed.graph
        given = self._given(times) | {g.input("t", 0): times}
        columns = [np.broadcast_to(evaluated(g, node, given), times.shape) for node in self._nodes]
        if self._weighted:
            parts = [weight * evaluated(g, node, given) for node, weight in self._weighted.items()]
            columns.append(np.broadcast_to(sum(parts), times.shape))
        return np.column_stack(columns) if columns else np.zeros((times.size, 0))


def _parted(edges: Reals) -> Reals:
    """Points that divide the cells between the edges into parts."""
    parts = _PARTS if edges.size * _PARTS < MOST_MARKS else 1
    fractions = np.arange(parts) / parts
    return np.append((edges[:-1, None] + fractions * np.diff(edges)[:, None]).ravel(), edges[-1])


def _refined(functions: _Functions, times: Reals, curved: NDArray[np.bool_], share: float, resolution: float) -> Reals:
    """Times at which straight lines between the values of curved functions are exact enough."""
    values = functions(times)[:, curved]
    left = np.arange(times.size - 1)  # intervals that are not known to be exact, by the number of their left end
    while left.size and times.size < MOST_MARKS:
        allowed = FINENESS * share * np.ptp(values, axis=0)
        left = left[np.diff(times)[left] > 4.0 * resolution]
        middles = 0.5 * (times[left] + times[left + 1])
        between = functions(middles)[:, curved]
        with np.errstate(invalid="ignore"):
            coarse = (np.abs(between - 0.5 * (values[left] + values[left + 1])) > allowed).any(axis=1)
        left, middles, between = left[coarse], middles[coarse], between[coarse]
        times, values = np.insert(times, left + 1, middles), np.insert(values, left + 1, between, axis=0)
        first = left + np.arange(left.size)  # numbers of the left ends after the insertion
        left = np.concatenate([first, first + 1])
        left.sort()
    return times


def followed_length(marks: Marks, share: float, gap: float) -> float:
    """A length of steps that pass over nothing in curved functions, for a method that evaluates them at points with gaps up to
    this part of a step.

    With points at this distance, cubics through four of them are exact enough everywhere, and with all smaller distances, too.
    """
    if not marks.curved.any():
        return float("inf")
    order = slice(None) if marks.times[0] < marks.times[-1] else slice(None, None, -1)
    times, columns = marks.times[order], marks.values[order][:, marks.curved].T
    span = float(times[-1] - times[0])
    found, distance = 0.0, span * 2.0**-14
    while distance < span:
        for values in columns:
            outer, inner = (
                np.interp(times - part * distance, times, values) + np.interp(times + part * distance, times, values)
                for part in (1.5, 0.5)
            )
            if (np.abs(values - (9.0 * inner - outer) / 16.0) > 0.5 * share * np.ptp(values)).any():
                return found / gap
        found, distance = distance, 2.0**0.5 * distance
    return found / gap
