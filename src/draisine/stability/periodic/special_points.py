"""Special points of a branch of periodic motions: folds, and values of the parameter at which multipliers pass the unit circle.

Between neighbors that differ in the numbers of multipliers outside the circle, products of all multipliers (μ + 1, μ − 1) or
moduli are solved for zeros; several that pass together are distinguished by their shapes (`multiplier_shapes`) or moduli. Between
neighbors that do not differ, these products are looked at for windows in which multipliers leave the circle and return.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from draisine.numerics.root_finding import bracketed_root
from draisine.stability.periodic.branch_points import Arc, arcs_of, at_value, crossed_minimum
from draisine.stability.periodic.cycle import Cycle, cycle_of
from draisine.stability.periodic.floquet import NEUTRAL
from draisine.stability.periodic.multiplier_shapes import (
    BRANCH_POINT,
    OFF_CIRCLE,
    PERIOD_DOUBLING,
    TORUS,
    Follower,
    crossing_multipliers,
)

Complex = NDArray[np.complex128]

FOLD = "fold"

EQUAL = 1e-3  # relative difference of multipliers that count as one, of several equal parts
JUMP = 1e-4  # growth of a multiplier that passes the unit circle, relative to that at the ends of the interval
BESIDE = 1e-3  # of the way to the neighbor: where the multiplier that leaves the circle is looked at
LOOKS = 12  # at a test function between two neighbors
WINDOWS = 4  # between neighbors, in which multipliers leave the unit circle and return, at most


@dataclass(frozen=True)
class CyclePoint:
    """A special point of a branch of periodic motions: its kind and the value of the parameter."""

    kind: str
    parameter: str
    value: float


def _product(values: Complex) -> float:
    return float(np.prod(values).real)


def _pairs(multipliers: Complex) -> float:
    """Product of |μ|² − 1 over the pairs."""
    upper = multipliers[multipliers.imag > 0]
    return float(np.prod(np.abs(upper) ** 2 - 1.0)) if len(upper) else 0.0


_TESTS: dict[str, Callable[[Complex], float]] = {
    PERIOD_DOUBLING: lambda multipliers: _product(multipliers + 1.0),
    BRANCH_POINT: lambda multipliers: _product(multipliers - 1.0),
    TORUS: _pairs,
}


def _beyond(kind: str, z: Complex) -> int:
    """Number of multipliers beyond the unit circle, of one kind."""
    real = np.abs(z.imag) <= NEUTRAL
    chosen = {PERIOD_DOUBLING: real & (z.real < -1.0), BRANCH_POINT: real & (z.real > 1.0), TORUS: ~real & (np.abs(z) > 1.0)}
    return int(chosen[kind].sum())


def _outside(cycle: Cycle) -> int:
    """Number of multipliers outside the unit circle, as far as is known."""
    return int((np.abs(cycle.multipliers) > 1.0 + cycle.floquet.margin).sum())


def _groups(multipliers: Complex) -> list[Complex]:
    """Multipliers in groups of equal ones; those of conjugate pairs are not mixed."""
    made = []
    for side in (-1.0, 0.0, 1.0):
        own = multipliers[np.sign(np.where(np.abs(multipliers.imag) <= NEUTRAL, 0.0, multipliers.imag)) == side]
        own = own[np.argsort(own.real)]
        apart = np.flatnonzero(np.abs(np.diff(own)) > EQUAL * np.maximum(np.abs(own[1:]), 1.0)) + 1
        made += [group for group in np.split(own, apart) if len(group)]
    return made


def _change(kind: str, before: Complex, after: Complex) -> int:
    """By how many the multipliers outside the unit circle change where one, or a pair, of a kind passes it."""
    return (2 if kind == TORUS else 1) * int(np.sign(_beyond(kind, after) - _beyond(kind, before)))


@dataclass(frozen=True, eq=False)
class SpecialPoints:
    """The special points of a branch over a parameter."""

    parameter: str
    cycles: tuple[Cycle, ...]

    @cached_property
    def _arcs(self) -> list[Arc]:
        return arcs_of([cycle.shot for cycle in self.cycles])

    @cached_property
    def turns(self) -> dict[int, float]:
        """Values at which the parameter turns back, by the number of the motion before."""
        return {i: arc.fold for i, arc in enumerate(self._arcs) if arc.turns}

    @cached_property
    def special(self) -> tuple[CyclePoint, ...]:
        """The points in the order of the branch."""
        found: list[CyclePoint] = []
        for i, (before, after) in enumerate(pairwise(self.cycles)):
            if i in self.turns:
                found += [self._solved(kind, i) for kind in _TESTS if self._passes(kind, before, after)]
                continue
            inside = sorted(self._inside.get(i, []), key=lambda c: abs(self._value(c) - self._value(before)))
            for one, other in pairwise([before, *inside, after]):
                found += self._between(one, other, i)
        return tuple(found)

    def _value(self, cycle: Cycle) -> float:
        return cycle.parameters[self.parameter]

    def _between(self, one: Cycle, other: Cycle, i: int) -> list[CyclePoint]:
        """The points between two motions of interval number i, in the direction of the branch."""
        passing = [kind for kind in _TESTS if self._passes(kind, one, other)]
        more = _outside(other) - _outside(one)
        shaped = crossing_multipliers(one, other)
        if len(shaped) > len(passing) and sum(change for *_, change in shaped) == more:
            found = [self._of_shape(one, other, mean, kind) for mean, kind, _ in shaped]
            if all(found):
                return sorted((point for point in found if point), key=lambda point: abs(point.value - self._value(one)))
        if more != sum(_change(kind, one.multipliers, other.multipliers) for kind in passing):
            return self._together(one, other)
        return [self._solved(kind, i, (one, other)) for kind in passing]

    def _of_shape(self, one: Cycle, other: Cycle, mean: Follower, kind: str) -> CyclePoint | None:
        """Where the multiplier with a shape passes the unit circle; None where it only jumps past it."""
        low, high = sorted((self._value(one), self._value(other)))

        def growth(parameter: float) -> float:
            return mean(self._at(parameter, (one, other))).real

        root = bracketed_root(growth, low, high, rtol=1e-10)
        passes = np.isfinite(root) and abs(growth(root)) <= JUMP * max(abs(growth(s)) for s in (low, high))
        return CyclePoint(kind, self.parameter, root) if passes else None

    @cached_property
    def _copies(self) -> int:
        """The number of equal, or nearly equal, parts of the system, whose multipliers are close along the whole branch."""
        return int(np.gcd.reduce([len(g) for cycle in self.cycles for g in _groups(cycle.multipliers)] or [1]))

    def _together(self, before: Cycle, after: Cycle) -> list[CyclePoint]:
        """Points between two motions at which several multipliers pass the unit circle, maybe at once, as those of equal parts
        do: products of all multipliers keep their sign there, but the k-th largest modulus passes one."""
        few, many = sorted((before, after), key=_outside)
        low, high = (self._value(cycle) for cycle in (few, many))
        found: list[CyclePoint] = []
        pairs = 0.0
        for k in range(_outside(few), _outside(many)):
            # multipliers of conservative motions are on the circle until they leave it
            least = OFF_CIRCLE if abs(np.log(abs(few.multipliers[k]))) < OFF_CIRCLE else 0.0

            def value(parameter: float, k: int = k, least: float = least) -> float:
                return float(np.log(abs(self._at(parameter, (few, many)).multipliers[k]))) - least

            root = bracketed_root(value, min(low, high), max(low, high), rtol=1e-10)
            leaving = self._at(root + BESIDE * (high - root), (few, many)).multipliers[k]
            kind = TORUS if abs(leaving.imag) > OFF_CIRCLE else BRANCH_POINT if leaving.real > 0.0 else PERIOD_DOUBLING
            pairs += 0.5 * (kind == TORUS)
            if kind != TORUS or pairs == int(pairs):  # one point for two conjugates
                found.append(CyclePoint(kind, self.parameter, root))
        return sorted(found, key=lambda point: abs(point.value - self._value(before)))

    @cached_property
    def _inside(self) -> dict[int, list[Cycle]]:
        """Motions between neighbors, by the number of the interval, with more or fewer multipliers beyond the unit circle than
        both: there are two points of one kind about them."""
        found: dict[int, list[Cycle]] = {}
        for i in range(len(self.cycles) - 1):
            for kind in _TESTS if i not in self.turns else ():
                for near, cycle in self._hidden(kind, i):
                    found.setdefault(near, []).append(cycle)
        return found

    def _windows(self, kind: str, three: Sequence[Cycle], i: int, least_inside: bool = True) -> list[Cycle]:
        """Motions between two points of one kind, where all three given ones are on one side of the unit circle: the test
        function is closest to zero at the middle one, or may be beside it, and is looked at between them. Divided by the
        distances from the points found, it shows further ones."""
        signs = np.sign([_TESTS[kind](cycle.multipliers) for cycle in three])
        beyond = {_beyond(kind, cycle.multipliers) for cycle in three}
        pairs = {int((cycle.multipliers.imag > 0).sum()) for cycle in three}
        one_sided = signs.min() == signs.max() != 0.0 and len(beyond) == 1 and not (kind == TORUS and len(pairs) > 1)
        if not one_sided or (least_inside and not self._is_nearest(kind, three)):
            return []
        known = sorted(three, key=self._value)
        low, middle, high = (self._value(cycle) for cycle in known)
        found: list[Cycle] = []
        while len(found) < WINDOWS:
            points = [p.value for one, other in pairwise(known) for p in self._between(one, other, i) if p.kind == kind]
            value = self._unexplained(kind, known, points, high - low)
            least = crossed_minimum(value, (low, middle, high), LOOKS)
            if least is None:
                break
            found.append(self._at(least, known))
            known = sorted([*known, found[-1]], key=self._value)
        return found

    def _unexplained(self, kind: str, known: list[Cycle], points: list[float], span: float) -> Callable[[float], float]:
        """The test function without its zeros at points; negative where more or fewer multipliers are beyond the unit circle than
        at the known motions between the same points."""

        def below(parameter: float) -> int:
            return sum(point < parameter for point in points)

        def value(parameter: float) -> float:
            z = self._at(parameter, known).multipliers
            distances = [max(abs(parameter - point) / span, OFF_CIRCLE) for point in points]
            size = abs(_TESTS[kind](z)) / float(np.prod(distances))
            expected = {_beyond(kind, c.multipliers) for c in known if below(self._value(c)) == below(parameter)}
            size **= 1.0 / self._copies  # products of multipliers of equal parts are powers
            return float(size if not expected or _beyond(kind, z) in expected else -size)

        return value

    def _is_nearest(self, kind: str, three: Sequence[Cycle]) -> bool:
        """Whether the test function is closest to zero at the middle one."""
        sizes = [abs(_TESTS[kind](cycle.multipliers)) for cycle in three]
        return len(sizes) == 3 and sizes[1] < min(sizes[0], sizes[2])

    def _hidden(self, kind: str, i: int) -> list[tuple[int, Cycle]]:
        """Motions between two points of one kind, about motion number i, or in the first and the last interval, beside their
        ends, each with the number of its interval."""
        if i and i - 1 not in self.turns and (found := self._windows(kind, self.cycles[i - 1 : i + 2], i)):
            first, here = (self._value(c) for c in self.cycles[i - 1 : i + 1])
            return [(i - 1 if (self._value(c) - here) * (first - here) > 0.0 else i, c) for c in found]
        follows = i == 0 and self._is_nearest(kind, self.cycles[:3])  # looked at about the next motion
        if not follows and i in (0, len(self.cycles) - 2):
            before, after = self.cycles[i : i + 2]
            middle = self._at(0.5 * (self._value(before) + self._value(after)), (before, after))
            return [(i, c) for c in self._windows(kind, (before, middle, after), i, least_inside=False)]
        return []

    def _at(self, parameter: float, near: Sequence[Cycle]) -> Cycle:
        """The motion at a value of the parameter, from the nearest of some others."""
        closest = min(near, key=lambda cycle: abs(cycle.parameters[self.parameter] - parameter))
        return cycle_of(at_value(closest.shot, parameter), closest.ignorable)

    def _passes(self, kind: str, before: Cycle, after: Cycle) -> bool:
        """Whether a multiplier of one kind passes the unit circle."""
        changed = _beyond(kind, before.multipliers) != _beyond(kind, after.multipliers)
        return changed and _TESTS[kind](before.multipliers) * _TESTS[kind](after.multipliers) < 0.0

    def _fold_at(self, i: int) -> float | None:
        """The fold after motion number i, or next to it, where rounding decides between which motions a multiplier is one."""
        for near in (i, i - 1, i + 1):
            if near in self.turns and (near == i or not self._passes(BRANCH_POINT, *self.cycles[near : near + 2])):
                return self.turns[near]
        return None

    def _solved(self, kind: str, i: int, ends: tuple[Cycle, Cycle] | None = None) -> CyclePoint:
        """The point of a kind between neighbors, or two motions between them."""
        before, after = ends or self.cycles[i : i + 2]
        low, high = (self._value(cycle) for cycle in (before, after))
        if kind == BRANCH_POINT and (fold := self._fold_at(i)) is not None:
            return CyclePoint(FOLD, self.parameter, fold)
        if i in self.turns:  # not a function of the parameter there
            found = self._arcs[i].solve(lambda shot: _TESTS[kind](cycle_of(shot, before.ignorable).multipliers))
            if found is not None:
                return CyclePoint(kind, self.parameter, found)
            a, b = (abs(_TESTS[kind](cycle.multipliers)) for cycle in (before, after))
            return CyclePoint(kind, self.parameter, (b * low + a * high) / (a + b))

        def value(parameter: float) -> float:
            return _TESTS[kind](self._at(parameter, (before, after)).multipliers)

        return CyclePoint(kind, self.parameter, bracketed_root(value, min(low, high), max(low, high), rtol=1e-10))
