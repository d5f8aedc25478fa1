"""Whether results of a program jump where a switching function is zero: their limits from both sides, at random crossings.

`switch_effect.py` compares branches one by one and assumes a jump where switches are nested, since more switches than necessary
do no harm in a run. A refusal needs more: here the program is evaluated as written, on both sides of the places where a random
line crosses the surface. A difference that remains at small distances, and is large compared with the changes on each side, is a
jump.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from draisine.program.arithmetic import real_operations
from draisine.program.graph import Graph
from draisine.program.ssa import CONSTANT, INPUT, NUMBERS

Reals = NDArray[np.float64]

_LINES = 96
_POINTS = 32  # of a line, between which signs may change
_CROSSINGS = 256  # of a surface, at most
_HALVINGS = 90
_CLOSER = 8  # times at which a surface that is not crossed is looked for between two points
_DISTANCES = (1e-8, 3e-10)  # from the surface, relative
_MULTIPLES = np.array([1.0, 1.3, 1.7, 2.0])  # of a distance, which show how a result changes on one side
_LARGE = 50.0  # times these changes: a jump (a power of 0.03 is none)
_ROUNDING = 1e-11  # relative to the result
_MOVING = frozenset({"t", "x"})
_MOST = 20_000  # nodes; beyond it nothing is found out


def jumps_of_results(graph: Graph, roots: Sequence[int], surfaces: Sequence[Sequence[int]]) -> list[bool | None]:
    """Whether a root jumps at each switch, given by the nodes that change their sign there; None if that is not known."""
    lines = _Lines(graph, [*roots, *(node for nodes in surfaces for node in nodes)])
    if lines.size > _MOST:
        return [None] * len(surfaces)
    with np.errstate(all="ignore"):
        return [_any([lines.jump(roots, node) for node in nodes]) for nodes in surfaces]


def _any(found: Sequence[bool | None]) -> bool | None:
    return True if any(found) else None if None in found else False


def _closer(places: Reals, values: Reals) -> Reals:
    """Places on each line between the neighbors of that where the value is smallest: a narrow range may be hidden there."""
    least = np.argmin(np.where(np.isfinite(values), np.abs(values), np.inf), axis=1)
    each, last = np.arange(len(places)), places.shape[1] - 1
    low, high = places[each, np.maximum(least - 1, 0)], places[each, np.minimum(least + 1, last)]
    return low[:, None] + (high - low)[:, None] * np.linspace(0.0, 1.0, places.shape[1])


class _Lines:
    """Random lines through the space of the inputs that change in a run; the other inputs are constant on each of them."""

    def __init__(self, graph: Graph, nodes: Sequence[int]) -> None:
        self._graph, self._random = graph, np.random.default_rng(0)
        reached = sorted(graph.reached(nodes))
        self.size = len(reached)
        self._inputs = [n for n in reached if graph.values[n].kind == INPUT]
        moves = np.array([graph.values[n].detail[0] in _MOVING for n in self._inputs], dtype=bool)
        shape = _LINES, len(self._inputs)
        self._start = np.where(moves, self._positions(reached, shape), self._random.uniform(0.3, 2.0, shape))
        directions = self._random.standard_normal(shape) * moves
        alone = np.arange(_LINES) % 2 == 0  # every second line changes one input only
        if moves.any():
            chosen = self._random.choice(np.flatnonzero(moves), _LINES)
            directions[alone] = 0.0
            directions[alone, chosen[alone]] = 1.0
        self._direction = directions * 10.0 ** self._random.uniform(-1.0, 8.0, (_LINES, 1))

    def _positions(self, reached: Sequence[int], shape: tuple[int, int]) -> Reals:
        """Numbers of all sizes, and such beside the constants of the program."""
        random, graph = self._random, self._graph
        near = [0.0, *(float.fromhex(graph.values[n].detail) for n in reached if graph.values[n].kind == CONSTANT)]
        for n in reached:
            if graph.values[n].kind == NUMBERS:
                near += [float(number) for number in graph.numbers[graph.values[n].detail]]
        centers = np.array([c for c in near if 1e-6 < abs(c) < 1e30 or c == 0.0])
        beside = random.choice(np.concatenate([centers, -centers]), shape) + random.standard_normal(shape)
        anywhere = random.standard_normal(shape) * 10.0 ** random.uniform(-1.0, 3.0, shape)
        return np.where(random.uniform(size=shape) < 0.7, beside, anywhere)

    def jump(self, roots: Sequence[int], surface: int) -> bool | None:
        """Whether a root jumps where a line crosses the surface; None if none does."""
        places = np.sort(self._random.uniform(-1.0, 1.0, (_LINES, _POINTS)), axis=1)
        values = self._along(surface, places)
        for _ in range(_CLOSER):
            if ((values[:, :-1] < 0.0) & (values[:, 1:] > 0.0)).any() or ((values[:, :-1] > 0.0) & (values[:, 1:] < 0.0)).any():
                break
            places = _closer(places, values)
            values = self._along(surface, places)
        signs = np.sign(values)
        rows, columns = np.nonzero(signs[:, :-1] * signs[:, 1:] < 0.0)
        if not rows.size:
            return None
        if rows.size > _CROSSINGS:
            kept = self._random.choice(rows.size, _CROSSINGS, replace=False)
            rows, columns = rows[kept], columns[kept]
        direction = self._direction[rows]
        ends = [self._start[rows] + direction * places[rows, columns + k][:, None] for k in (0, 1)]
        at = self._crossing(surface, ends[0], ends[1], signs[rows, columns])
        size = 1.0 + np.max(np.abs(at) * (direction != 0.0), axis=1, initial=0.0)
        step = direction * (size / np.max(np.abs(direction), axis=1))[:, None]
        return bool(np.logical_and(*(self._differ(roots, at, distance * step) for distance in _DISTANCES)).any())

    def _along(self, surface: int, places: Reals) -> Reals:
        line = np.repeat(np.arange(_LINES), places.shape[1])
        (values,) = self._values([surface], self._start[line] + self._direction[line] * places.reshape(-1, 1))
        return values.reshape(places.shape)

    def _crossing(self, surface: int, low: Reals, high: Reals, sign: Reals) -> Reals:
        """Points of the surface between others, by bisection."""
        for _ in range(_HALVINGS):
            middle = 0.5 * (low + high)
            (values,) = self._values([surface], middle)
            before = (np.sign(values) == sign)[:, None]
            low, high = np.where(before, middle, low), np.where(before, high, middle)
        return high

    def _differ(self, roots: Sequence[int], at: Reals, step: Reals) -> NDArray[np.bool_]:
        """Of each crossing, whether a root has different limits on both sides, judged at some distance."""
        multiples = np.concatenate([_MULTIPLES, -_MULTIPLES])
        points = at[:, None, :] + multiples[:, None] * step[:, None, :]
        found = np.zeros(len(at), dtype=bool)
        for values in self._values(roots, points.reshape(-1, at.shape[1])):
            after, before = np.split(values.reshape(len(at), -1), 2, axis=1)
            gap, changes = np.abs(after[:, 0] - before[:, 0]), np.ptp(after, axis=1) + np.ptp(before, axis=1)
            found |= gap > _LARGE * changes + _ROUNDING * (np.abs(after[:, 0]) + np.abs(before[:, 0]))
        return found

    def _values(self, nodes: Sequence[int], points: Reals) -> list[Reals]:
        """The values of nodes at points, one in a row."""
        graph, table = self._graph, real_operations()
        known: dict[int, Any] = {node: points[:, k] for k, node in enumerate(self._inputs)}
        for n in sorted(graph.reached(nodes)):
            kind, operands, detail = graph.values[n]
            if kind == CONSTANT:
                known[n] = np.full(len(points), float.fromhex(detail))
            elif kind == NUMBERS:
                known[n] = graph.numbers[detail]
            elif n not in known:
                known[n] = graph.value(n, [known[o] for o in operands], table)
        return [np.broadcast_to(known[node], (len(points),)) for node in nodes]
