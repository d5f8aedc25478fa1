"""Marks of functions of time for a run by a method: what steps must not pass over (`program/time_marks.py`)."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from draisine.program.branch_graph import BranchGraph
from draisine.program.ssa import INPUT
from draisine.program.switch_times import SwitchTimes
from draisine.program.time_marks import NO_MARKS, followed_length, marks_of_time, varies_suddenly
from draisine.simulation.methods.tableau import SteppingMethod
from draisine.simulation.stepper.memory import MarkTables

Reals = NDArray[np.float64]

# A step may cross where a function of time deviates, between the points of the method, by no more than this share of its range;
# with error control the root of the tolerance if that is less.
LARGEST_SHARE = 1e-2
MOST_KNOWN = 64  # times that are kept for other runs


@dataclass(frozen=True, eq=False)
class TimeMarks:
    """Functions of time of equations. `switch_times` gives the branches of their switches of time, if they have some."""

    graph: BranchGraph
    switch_times: Callable[[tuple[float, float], Reals, Reals], SwitchTimes] | None = None
    _known: dict[Hashable, MarkTables] = field(default_factory=dict, init=False, repr=False)
    _smooth: set[Hashable] = field(default_factory=set, init=False, repr=False)

    @cached_property
    def determining(self) -> tuple[list[int], list[int]]:
        """The inputs and parameters on which the functions depend."""
        arguments = [self.graph.every[k].argument for k in (*self.graph.kinks, *self.graph.knots, *self.graph.stops)]
        every = [self.graph.every[k].argument for k in self.graph.chosen] if self.switch_times is not None else []
        return inputs_of(self.graph, [*arguments, *self.graph.functions_of_time(), *self.graph.sharp_functions, *every])

    def varies_suddenly(self, spans: ArrayLike, u: Reals, p: Reals, method: SteppingMethod) -> NDArray[np.bool_]:
        """For each row of inputs and parameters whether a run has marks in a span of time, the same for all or one for each."""
        return varies_suddenly(self.graph, spans, u, p, _crossing_share(method))

    def foresee(self, spans: Reals, u: Reals, p: Reals, method: SteppingMethod) -> None:
        """Note which of many runs, each with its span and inputs, have no marks: a look at all of them takes as long as one
        at a few of them alone. What was noted before is forgotten."""
        if self.graph.sharp_functions:
            smooth = np.flatnonzero(~self.varies_suddenly(spans, u, p, method))
            self._smooth.clear()
            self._smooth.update(self._key((spans[k, 0], spans[k, 1]), u[k], p, method) for k in smooth)

    def _key(self, span: tuple[float, float], u: Reals, p: Reals, method: SteppingMethod) -> Hashable:
        inputs, parameters = self.determining
        return span, u[inputs].tobytes(), p[parameters].tobytes(), _crossing_share(method), largest_gap(method)

    def tables(self, span: tuple[float, float], u: Reals, p: Reals, method: SteppingMethod) -> MarkTables | None:
        """The marks of a run over a span of time, with constant inputs, by a method; many runs share them."""
        if span[0] == span[1]:
            return None
        share, key = _crossing_share(method), self._key(span, u, p, method)
        if key not in self._known:
            timed = () if self.switch_times is None else (self.switch_times(span, u, p),)
            marks = NO_MARKS if key in self._smooth else marks_of_time(self.graph, span, u, p, share, *timed)
            if len(self._known) >= MOST_KNOWN:
                self._known.clear()
            self._known[key] = MarkTables(
                np.ascontiguousarray(marks.times),
                _following(marks.is_kink),
                _following(marks.is_stop),
                np.ascontiguousarray(marks.values),
                share * marks.ranges,
                marks.curved.astype(np.int64),
                followed_length(marks, share, largest_gap(method)),
            )
        return self._known[key]


def inputs_of(graph: BranchGraph, nodes: Sequence[int]) -> tuple[list[int], list[int]]:
    """The inputs and the parameters, without branches, on which nodes depend."""
    values = graph.graph.values
    entries = [values[node].detail for node in graph.graph.reached(nodes) if values[node].kind == INPUT]
    u, p = (sorted(entry for slot, entry in entries if slot == name) for name in ("u", "p"))
    return u, [entry for entry in p if entry < graph.parameters]


def largest_gap(method: SteppingMethod) -> float:
    """The largest distance between neighboring points of a step at which a method evaluates the equations."""
    nodes = np.clip(method.scheme.nodes[: method.scheme.stages], 0.0, 1.0).tolist()
    return float(np.diff(sorted({0.0, 1.0, *nodes})).max())


def _following(chosen: NDArray[np.bool_]) -> NDArray[np.int64]:
    """For each mark the first of some from there on, −1 for none."""
    numbers = np.flatnonzero(chosen)
    return np.append(numbers, -1)[np.searchsorted(numbers, np.arange(chosen.size))].astype(np.int64)


def _crossing_share(method: SteppingMethod) -> float:
    """The share of the range of a function of time by which it may deviate where a step of a method crosses."""
    if method.scheme.external:
        return 5.0 * LARGEST_SHARE  # only the ends of a step are known
    return min(LARGEST_SHARE, getattr(method, "rtol", 1.0) ** 0.5)
