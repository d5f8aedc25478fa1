"""What changes at a switch: the value of the results, only their first derivative, or neither.

On the surface of a switch both branches are evaluated at random values of everything else, with a complex step across the
surface. Where both sides meet again with equal value and slope, as in where(x < 3, 0, (x - 3)**2) or abs(x)*x, the switch has
no effect that counts. Slopes that are infinite at the surface, as of sqrt(max(x, 0)), show beside it: the difference of both
branches, divided by the distance, does not decrease with the distance. Equality at random values is no proof, but fails with a
probability of rounding size.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from heapq import heappop, heappush
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from draisine.program import opcodes as op
from draisine.program.arithmetic import complex_operations
from draisine.program.graph import Graph
from draisine.program.ssa import CALL, CONSTANT, INPUT, NUMBERS, RESULT

_STEP = 1e-150
_ROUNDING = 1e-13  # relative to the operands
_NEGLIGIBLE = 1e-9  # relative to the difference of both branches beside the surface
_DRAWS = 32
_OFFSETS = np.array([0.0, 1e-4, -1e-4, 1e-8, -1e-8])  # from the surface, relative
_COUNT = _DRAWS * _OFFSETS.size
_MOVING = frozenset({"t", "x", "xdot", "z"})  # slots that change within a step
_CONDITIONS = frozenset({op.LT, op.LE, op.EQ, op.NE})
_TRIED = 8  # inputs for which the argument is solved
_ITERATIONS = 20  # of Newton's method
_MOST = 2_000  # nodes that differ between both sides; beyond it an effect is assumed

Column = NDArray[np.complex128]


class Effect(NamedTuple):
    """Whether the value of a result jumps at a switch, and whether its first derivative does."""

    value: bool
    slope: bool


class Effects:
    """Effects of switches with two branches on given roots; `branches` are the inputs of all branches, with the highest of
    each."""

    def __init__(self, graph: Graph, roots: Iterable[int], branches: Mapping[int, int]) -> None:
        self._roots, self._values = frozenset(roots), _RandomValues(graph, branches)
        self._users: dict[int, list[int]] = {}
        for node in graph.reached(self._roots):
            for operand in set(graph.values[node].operands):
                self._users.setdefault(operand, []).append(node)

    def of(self, argument: int, branch: int) -> Effect:
        """The effect of a switch, by its argument and the input of its branch.

        A product is zero where one of its factors is: k(q) v, the rate of a joint in a loop, at rest and in dead positions, where
        a force along it has no effect. Each variable is tried until the value of a result jumps.
        """
        slope = False
        for surface in _surfaces(self._values, argument, branch):
            own = surface.effect(self._roots, self._users)
            if own.value:
                return own
            slope |= own.slope
        return Effect(False, slope)


class _RandomValues:
    """Values of nodes at random inputs, the same for all distances from a surface. Where a function is not defined there, its
    value is random."""

    def __init__(self, graph: Graph, branches: Mapping[int, int]) -> None:
        self.graph, self._branches = graph, branches
        self._random = np.random.default_rng(0)
        self._known: dict[int, Any] = {}

    def of(self, node: int) -> Any:
        """The values of a node."""
        if node in self._known:
            return self._known[node]
        for k in sorted(self.graph.reached([node], lambda n: n in self._known)):
            if k not in self._known:
                self._known[k] = self._value(k)
        return self._known[node]

    def _value(self, node: int) -> Any:
        operation, operands, detail = self.graph.values[node]
        if operation == NUMBERS:
            return self.graph.numbers[detail]
        if operation == CONSTANT:
            return np.full(_COUNT, complex(float.fromhex(detail)))
        if node in self._branches:
            return self._drawn(self._random.integers(0, self._branches[node] + 1, _DRAWS))
        if operation in _CONDITIONS:  # of parameters: either way, since the numbers drawn may all lie on one side
            return self._drawn(self._random.integers(0, 2, _DRAWS))
        if operation in (op.FMIN, op.FMAX):
            either = self._drawn(self._random.integers(0, 2, _DRAWS)) == 1.0
            return np.where(either, self._known[operands[0]], self._known[operands[1]])
        if operation == op.LOW:
            cells = self._known[operands[0]].size - 1
            return self._drawn(self._random.integers(0, cells, _DRAWS))
        if operation in (op.FLOOR, op.CEIL):
            return self._drawn(self._random.integers(1, 4, _DRAWS))
        if operands and operation not in (CALL, RESULT):
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
    return found if found.size == _COUNT else np.broadcast_to(found, (_COUNT,))


def _surfaces(values: _RandomValues, argument: int, branch: int) -> Iterator[_Surface]:
    """The surface of a switch with each of the inputs that change within a step as the variable across it, where the argument is
    zero at some value of this; if there is none, with an operand."""
    graph, found = values.graph, False
    inputs = [n for n in sorted(graph.reached([argument])) if graph.values[n].kind == INPUT]
    moving = [n for n in inputs if graph.values[n].detail[0] in _MOVING]
    # coordinates come before velocities: some of both
    for node in moving if len(moving) <= _TRIED else [*moving[: _TRIED // 2], *moving[-_TRIED // 2 :]]:
        surface = _Surface(values, branch)
        if surface.starts_at_root(argument, node):
            found = True
            yield surface
    if not found:
        surface = _Surface(values, branch)
        surface.starts_at_operand(argument)
        yield surface


class _Surface:
    def __init__(self, values: _RandomValues, branch: int) -> None:
        self._graph, self._branch, self._random = values.graph, branch, values
        self._known: dict[int, Any] = {}
        self._moved: set[int] = set()

    def starts_at_root(self, argument: int, node: int) -> bool:
        """Take an input as the variable across the surface, with the value at which the argument is zero, if there is one."""
        for sign in (1.0, -1.0):
            value = self._root(argument, node, sign * np.real(self._random.of(node)))
            if np.isfinite(value).reshape(_DRAWS, -1)[:, 0].sum() >= _DRAWS // 3:
                self._move(node, value)
                return True
        return False

    def _root(self, argument: int, node: int, value: Any) -> Any:
        """A zero of the argument by Newton's method, in each draw; NaN where there is none."""
        moved = {node}
        for k in sorted(self._graph.reached([argument])):
            if not moved.isdisjoint(self._graph.values[k].operands) and self._graph.values[k].kind not in (CALL, RESULT):
                moved.add(k)
        if argument not in moved:  # depends on the input by a call only
            return np.full(_COUNT, np.nan)
        order = sorted(moved - {node})
        with np.errstate(all="ignore"):
            for _ in range(_ITERATIONS):
                known = {node: value + 1j * _STEP}
                for k in order:
                    operands = self._graph.values[k].operands
                    known[k] = applied(self._graph, k, [known[o] if o in known else self._random.of(o) for o in operands])
                found = known[argument]
                change = np.real(found) / (np.imag(found) / _STEP)
                value = value - change
                small = np.abs(change) <= 1e-12 * (1.0 + np.abs(value))
                if (small | ~np.isfinite(value)).all():
                    break
            return np.where(small, value, np.nan)

    def starts_at_operand(self, argument: int) -> None:
        """z = a − b is zero where a = b; otherwise z itself is the variable across the surface."""
        operation, operands, _ = self._graph.values[argument]
        if operation in (op.SUB, op.ADD) and self._graph.values[operands[0]].kind != CONSTANT:
            other = self._random.of(operands[1])
            self._move(operands[0], np.real(other if operation == op.SUB else -other))
        elif operation == op.SUB:
            self._move(operands[1], np.real(self._random.of(operands[0])))
        else:
            self._move(argument, np.zeros(_COUNT))

    def _move(self, node: int, surface: Any) -> None:
        """Take a node as the variable across the surface, and note which nodes depend on it."""
        self._base, self._known = node, {node: self._beside(surface)}
        self._moved = {node}
        for k, (_, operands, _) in enumerate(self._graph.values):
            if not self._moved.isdisjoint(operands):
                self._moved.add(k)

    def _beside(self, surface: Any) -> Column:
        """The variable across the surface, on it and beside it, with a complex step."""
        self._offsets = np.tile(_OFFSETS, _DRAWS) * np.where(np.isfinite(surface), 1.0 + np.abs(surface), 1.0)
        return np.asarray(np.real(surface) + self._offsets + 1j * _STEP)

    def effect(self, roots: frozenset[int], users: Mapping[int, Sequence[int]]) -> Effect:
        sides = {self._branch: (np.zeros(_COUNT, complex), np.ones(_COUNT, complex))}
        flags = {self._branch: (True, False)}
        graph, value, slope = self._graph, False, False
        heap = sorted(users.get(self._branch, ()))  # in the order of the graph: the operands of a node are done before it
        seen = set(heap)
        while heap:
            node = heappop(heap)
            if len(sides) > _MOST:
                return Effect(True, True)
            operation, operands, _ = graph.values[node]
            if operation in (CALL, RESULT):
                return Effect(True, True)
            pairs = [sides.get(o) for o in operands]
            if node == self._base or all(pair is None for pair in pairs):
                continue
            given = [(self._value(o),) * 2 if pair is None else pair for o, pair in zip(operands, pairs, strict=True)]
            with np.errstate(all="ignore"):
                results = [applied(graph, node, [one[side] for one in given]) for side in (0, 1)]
            size = np.max([np.abs(np.real(g)) for pair in given for g in pair if g.dtype.kind == "c"], axis=0)
            steep = np.max([np.abs(np.imag(g)) / _STEP for pair in given for g in pair if g.dtype.kind == "c"], axis=0)
            with np.errstate(all="ignore"):
                size = size + steep * (1.0 + np.abs(self._known[self._base]))  # of the rounding of the variable too
            inherited = self._inherited(operation, operands, flags)
            jump, kink = inherited if inherited is not None else self._compared(results, size, steep)
            if not (jump or kink):
                self._known[node] = results[0]
                self._moved.add(node)
                continue
            sides[node] = results[0], results[1]
            flags[node] = jump, kink
            if node in roots:
                value, slope = value or jump, True
                if value:
                    return Effect(True, True)
            for user in users.get(node, ()):
                if user not in seen:
                    heappush(heap, user)
                    seen.add(user)
        return Effect(value, slope)

    def _inherited(
        self, operation: int, operands: tuple[int, ...], flags: Mapping[int, tuple[bool, bool]]
    ) -> tuple[bool, bool] | None:
        """What differs where nothing can hide a difference, however small beside the other operand; None if it must be
        compared."""
        different = [o for o in operands if o in flags]
        if len(different) == 2 and operation == op.ADD and self._are_alternatives(operands[0], operands[1], flags):
            return flags[operands[0]][0] or flags[operands[1]][0], flags[operands[0]][1] or flags[operands[1]][1]
        if len(different) != 1:
            return None
        others = [o for o in operands if o not in flags]
        if operation in (op.ADD, op.SUB, op.NEG, op.TWICE, op.NOT):
            return flags[different[0]]
        if operation in (op.AND, op.OR, op.IF_ELSE_ZERO) and operands[0] != different[0] and others[0] not in self._moved:
            return flags[different[0]]  # a condition of other things: it may hold
        if operation in (op.AND, op.OR) and others[0] not in self._moved:
            return flags[different[0]]
        scaled = operation == op.MUL or (operation == op.DIV and operands[0] == different[0])
        if scaled and not any(o in self._moved for o in others):
            factors = [np.real(self._random.of(o)) for o in others]
            return flags[different[0]] if all(np.isfinite(f).all() and f.any() for f in factors) else None
        return None

    def _are_alternatives(self, first: int, second: int, flags: Mapping[int, object]) -> bool:
        """Whether two terms are those of if_else(c, a, b), with a condition of other things."""
        terms = [self._graph.values[n] for n in (first, second)]
        if any(term.kind != op.IF_ELSE_ZERO for term in terms):
            return False
        c, d = (term.operands[0] for term in terms)
        if any(n in self._moved or n in flags for n in (c, d)):
            return False
        opposite = [self._graph.values[n] for n in (c, d)]
        return any(node.kind == op.NOT and node.operands[0] == n for node, n in zip(opposite, (d, c), strict=True))

    def _compared(self, results: list[Column], size: Any, steep: Any) -> tuple[bool, bool]:
        """Whether value and slope differ on the surface."""
        on = self._offsets == 0.0
        with np.errstate(all="ignore"):
            apart = np.real(results[0]) - np.real(results[1])
            derivatives = (np.imag(results[0]) - np.imag(results[1])) / _STEP
        jump = _differ(np.real(results[0])[on], np.real(results[1])[on], self._noise(apart, size), 1e-10)
        if jump and not np.isfinite(apart[on]).any():  # not defined on the surface itself
            jump = False
        jump = jump or self._stays(apart, size, 0)  # an operation that is zero on the surface alone
        steps = [np.imag(side)[on] / _STEP for side in results]
        kink = _differ(steps[0], steps[1], self._noise(derivatives, steep), 1e-8)
        return jump, kink or self._stays(apart, size, 1)

    def _noise(self, apart: Any, size: Any) -> Any:
        """Differences on the surface that are rounding: of the operands, or small compared with those beside it."""
        beside = np.where(np.isfinite(apart), np.abs(apart), 0.0).reshape(_DRAWS, -1).max(axis=1)
        return _ROUNDING * size[self._offsets == 0.0] + _NEGLIGIBLE * beside * (np.abs(apart[self._offsets == 0.0]) < beside)

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
            if node not in self._moved:
                return self._random.of(node)
            operation, operands, _ = self._graph.values[node]
            if operation in (CALL, RESULT):
                return self._random.of(node)
            with np.errstate(all="ignore"):
                self._known[node] = applied(self._graph, node, [self._value(o) for o in operands])
        return self._known[node]


def _differ(left: Any, right: Any, noise: Any, tolerance: float) -> bool:
    """Whether numbers differ; draws outside the domain of a function say nothing, unless all are."""
    finite = np.isfinite(left) & np.isfinite(right)
    if not finite.any():
        return True
    with np.errstate(all="ignore"):
        apart = np.abs(left - right) > tolerance * (np.abs(left) + np.abs(right)) + noise + _STEP
    return bool((apart & finite).any())
