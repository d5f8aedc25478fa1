"""What changes at a switch: the value of the results, only their first derivative, or neither.

On the surface of a switch both branches are evaluated at random values of everything else, with a complex step across the surface.
Where both sides meet again with equal value and slope, as in where(x < 3, 0, (x - 3)**2) or abs(x)*x, the switch has no effect that
counts. Slopes that are infinite at the surface, as of sqrt(max(x, 0)), show beside it: the difference of both branches, divided by
the distance, does not decrease with the distance. Equality at random values is no proof, but fails with a probability of rounding size.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from heapq import heappop, heappush
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from draisine.program import opcodes as op
from draisine.program.arithmetic import complex_operations
from draisine.program.graph import NUMBERS, RESULT, Graph

_STEP = 1e-150
_ROUNDING = 1e-13  # relative to the operands
_DRAWS = 12
_OFFSETS = np.array([0.0, 1e-4, -1e-4, 1e-8, -1e-8])  # from the surface, relative
_COUNT = _DRAWS * _OFFSETS.size
_MOST = 2_000  # nodes that differ between both sides; beyond it an effect is assumed

Column = NDArray[np.complex128]


class Effect(NamedTuple):
    """Whether the value of a result jumps at a switch, and whether its first derivative does."""

    value: bool
    slope: bool


class Effects:
    """Effects of switches with two branches on given roots; `branches` are the inputs of all branches."""

    def __init__(self, graph: Graph, roots: Iterable[int], branches: Collection[int]) -> None:
        self._roots, self._values = frozenset(roots), _RandomValues(graph, frozenset(branches))
        self._users: dict[int, list[int]] = {}
        for node in graph.reached(self._roots):
            for operand in set(graph.nodes[node].operands):
                self._users.setdefault(operand, []).append(node)

    def of(self, argument: int, branch: int) -> Effect:
        """The effect of a switch, by its argument and the input of its branch."""
        return _Surface(self._values, argument, branch).effect(self._roots, self._users)


class _RandomValues:
    """Values of nodes at random inputs, the same for all distances from a surface. Where a function is not defined there, its
    value is random."""

    def __init__(self, graph: Graph, branches: frozenset[int]) -> None:
        self.graph, self._branches = graph, branches
        self._random = np.random.default_rng(0)
        self._known: dict[int, Any] = {}

    def of(self, node: int) -> Any:
        for k in sorted(self.graph.reached([node], lambda n: n in self._known)):
            if k not in self._known:
                self._known[k] = self._value(k)
        return self._known[node]

    def _value(self, node: int) -> Any:
        operation, operands, detail = self.graph.nodes[node]
        if operation == NUMBERS:
            return self.graph.numbers[detail]
        if operation == op.CONST:
            return np.full(_COUNT, complex(float.fromhex(detail)))
        if node in self._branches:
            return self._drawn(self._random.integers(0, 2, _DRAWS))
        if operands and operation not in (op.CALL, RESULT):
            with np.errstate(all="ignore"):
                found = applied(self.graph, node, [self._known[o] for o in operands])
            if np.isfinite(found).all():
                return found
        return self._drawn(self._random.uniform(0.3, 2.0, _DRAWS))

    def _drawn(self, numbers: Any) -> Column:
        return np.repeat(numbers, _OFFSETS.size).astype(complex)


def applied(graph: Graph, node: int, operands: list[Any]) -> Column:
    """The value of an operation, for all draws and offsets."""
    found = np.asarray(graph.value(node, operands, complex_operations()), dtype=complex)
    return np.broadcast_to(found, (_COUNT,))


class _Surface:
    def __init__(self, values: _RandomValues, argument: int, branch: int) -> None:
        graph = values.graph
        self._graph, self._branch, self._random = graph, branch, values
        self._known: dict[int, Any] = {}
        self._moved: dict[int, bool] = {}
        operation, operands, _ = graph.nodes[argument]
        # z = a − b is zero where a = b; otherwise z itself is the variable across the surface
        if operation in (op.SUB, op.ADD) and graph.nodes[operands[0]].operation != op.CONST:
            self._base = operands[0]
            other = self._value(operands[1])
            self._known[self._base] = self._beside(other if operation == op.SUB else -other)
        elif operation == op.SUB:
            self._base = operands[1]
            self._known[self._base] = self._beside(self._value(operands[0]))
        else:
            self._base = argument
            self._known[self._base] = self._beside(np.zeros(_COUNT))
        self._moved = {self._base: True}

    def _beside(self, surface: Any) -> Column:
        """The variable across the surface, on it and beside it, with a complex step."""
        self._offsets = np.tile(_OFFSETS, _DRAWS) * (1.0 + np.abs(surface))
        return np.asarray(np.real(surface) + self._offsets + 1j * _STEP)

    def effect(self, roots: frozenset[int], users: Mapping[int, Sequence[int]]) -> Effect:
        sides = {self._branch: (np.zeros(_COUNT, complex), np.ones(_COUNT, complex))}
        graph, value, slope = self._graph, False, False
        heap = sorted(users.get(self._branch, ()))  # in the order of the graph: the operands of a node are done before it
        seen = set(heap)
        while heap:
            node = heappop(heap)
            if len(sides) > _MOST:
                return Effect(True, True)
            operation, operands, _ = graph.nodes[node]
            if operation in (op.CALL, RESULT):
                return Effect(True, True)
            pairs = [sides.get(o) for o in operands]
            if node == self._base or all(pair is None for pair in pairs):
                continue
            given = [(self._value(o),) * 2 if pair is None else pair for o, pair in zip(operands, pairs, strict=True)]
            with np.errstate(all="ignore"):
                results = [applied(graph, node, [one[side] for one in given]) for side in (0, 1)]
            size = np.max([np.abs(np.real(g)) for pair in given for g in pair if g.dtype.kind == "c"], axis=0)
            steep = np.max([np.abs(np.imag(g)) / _STEP for pair in given for g in pair if g.dtype.kind == "c"], axis=0)
            on = self._offsets == 0.0
            left, right = results[0][on], results[1][on]
            apart = np.real(results[0]) - np.real(results[1])
            if np.isfinite(apart[on]).any():
                jump = _differ(np.real(left), np.real(right), size[on], 1e-10)
            else:  # not defined on the surface itself
                jump = self._stays(apart, size, 0)
            kink = _differ(np.imag(left) / _STEP, np.imag(right) / _STEP, steep[on], 1e-8) or self._stays(apart, size, 1)
            if not (jump or kink):
                self._known[node], self._moved[node] = results[0], True
                continue
            sides[node] = results[0], results[1]
            if node in roots:
                value, slope = value or jump, True
                if value:
                    return Effect(True, True)
            for user in users.get(node, ()):
                if user not in seen:
                    heappush(heap, user)
                    seen.add(user)
        return Effect(value, slope)

    def _stays(self, apart: Any, size: Any, order: int) -> bool:
        """Whether the difference of both branches, divided by a power of the distance, does not decrease towards the surface."""
        with np.errstate(all="ignore"):
            distance = np.abs(self._offsets) ** order
            ratios, noise = ((amount / distance).reshape(_DRAWS, -1) for amount in (np.abs(apart), _ROUNDING * size))
        for far, near in ((1, 3), (2, 4)):
            finite = np.isfinite(ratios[:, near]) & np.isfinite(ratios[:, far])
            if (finite & (ratios[:, near] > 0.5 * ratios[:, far] + noise[:, near])).any():
                return True
        return False

    def _value(self, node: int) -> Any:
        """The value of a node beside the surface."""
        if node not in self._known:
            if not self._is_moved(node):
                return self._random.of(node)
            operation, operands, _ = self._graph.nodes[node]
            if operation in (op.CALL, RESULT):
                return self._random.of(node)
            with np.errstate(all="ignore"):
                self._known[node] = applied(self._graph, node, [self._value(o) for o in operands])
        return self._known[node]

    def _is_moved(self, node: int) -> bool:
        """Whether a node depends on the variable across the surface."""
        moved = self._moved
        for k in sorted(self._graph.reached([node], lambda n: n in moved)):
            if k not in moved:
                moved[k] = any(moved[o] for o in self._graph.nodes[k].operands)
        return moved[node]


def _differ(left: Any, right: Any, size: Any, tolerance: float) -> bool:
    """Whether numbers differ; draws outside the domain of a function say nothing, unless all are."""
    finite = np.isfinite(left) & np.isfinite(right)
    if not finite.any():
        return True
    with np.errstate(all="ignore"):
        apart = np.abs(left - right) > tolerance * (np.abs(left) + np.abs(right)) + _ROUNDING * size + _STEP
    return bool((apart & finite).any())
