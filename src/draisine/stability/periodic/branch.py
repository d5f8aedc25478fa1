"""Continuation of periodic motions over a parameter by pseudo-arclength: the parameter is one of the unknowns, so that the branch
passes folds, where a stable and an unstable motion meet, and reaches Hopf points, where a cycle shrinks to an equilibrium.

All derivatives, including that by the parameter, are exact: tangents are null vectors of the shooting equations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from draisine.errors import ArgumentError, ModelError, SolverError
from draisine.expr.expression import did_you_mean
from draisine.numerics.continuation import CurveTracer, Rejected, StepLengths, least_slope
from draisine.numerics.root_finding import bracketed_root
from draisine.program.arguments import refuse_dependent
from draisine.results.base import Result, figure
from draisine.stability.periodic.branch_points import Arc, arcs_of, at_length, crossed_minimum, tangent_at, value_of, weights_of
from draisine.stability.periodic.cycle import Cycle, cycle_of
from draisine.stability.periodic.floquet import NEUTRAL
from draisine.stability.periodic.shooting import Shot, close_orbit, shoot

Array = NDArray[np.float64]
Complex = NDArray[np.complex128]

GROWTH = 1.5  # of the step length after a successful step
SHORTEST = 1e-3  # smallest step, relative to the first
ROUNDS = 8
CLOSE = 0.05  # of the first step: two folds within less are not distinguished
LEAST_SHARE = 1e-3  # of the way to a value of the parameter, in one step
LEAST_COSINE = 0.8  # between the tangents before and after a step

PERIOD_DOUBLING, BRANCH_POINT, FOLD, TORUS = "period doubling", "branch point", "fold", "torus"

EQUAL = 1e-5  # relative difference of multipliers that count as one, of several equal parts
OFF_CIRCLE = 1e-6  # logarithm of a modulus, or imaginary part, that is not zero
BESIDE = 1e-3  # of the way to the neighbor: where the multiplier that leaves the circle is looked at
LOOKS = 12  # at a test function between two neighbors
SHOWN = 2  # quantities plotted besides the period, if none are named


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
class CycleBranch(Result):
    """Periodic motions along a branch over a parameter, in order."""

    parameter: str
    cycles: tuple[Cycle, ...]
    ending: str  # why the branch ends

    @property
    def values(self) -> Array:
        """Values of the parameter."""
        return np.array([cycle.parameters[self.parameter] for cycle in self.cycles])

    @property
    def periods(self) -> Array:
        return np.array([cycle.period for cycle in self.cycles])

    @property
    def stable(self) -> tuple[bool | None, ...]:
        return tuple(cycle.stable for cycle in self.cycles)

    def amplitudes(self, name: str) -> Array:
        """Half of the range of a quantity over a period, along the branch."""
        return np.array([cycle.amplitude(name) for cycle in self.cycles])

    @cached_property
    def _arcs(self) -> list[Arc]:
        return arcs_of([cycle.shot for cycle in self.cycles])

    @cached_property
    def _turns(self) -> dict[int, float]:
        """Values at which the parameter turns back, by the number of the motion before."""
        return {i: arc.fold for i, arc in enumerate(self._arcs) if arc.turns}

    @property
    def folds(self) -> tuple[float, ...]:
        """Values at which the branch turns back, solved for along it."""
        return tuple(self._turns.values())

    @cached_property
    def special(self) -> tuple[CyclePoint, ...]:
        """Where the stability of the motions changes between neighbors, by kind: "period doubling" where a real multiplier
        passes −1, "fold" or "branch point" where one passes +1, "torus" where a pair passes the unit circle; solved for along
        the branch."""
        found = []
        for i, (before, after) in enumerate(pairwise(self.cycles)):
            one, other = self._of_one_part(before), self._of_one_part(after)
            passing = [kind for kind in _TESTS if self._passes(kind, before, after)]
            counted = self._copies * sum(_change(kind, one, other) for kind in passing)
            if i not in self._turns and _outside(after) - _outside(before) != counted:
                found += self._together(i)
                continue
            for kind in _TESTS:
                if kind in passing:
                    found += [self._solved(kind, i)] * self._copies
                else:
                    found += [point for point in self._hidden(kind, i) for _ in range(self._copies)]
        return tuple(found)

    @cached_property
    def _copies(self) -> int:
        """The number of equal parts of the system, whose multipliers are equal along the whole branch."""
        return int(np.gcd.reduce([len(g) for cycle in self.cycles for g in _groups(cycle.multipliers)] or [1]))

    def _of_one_part(self, cycle: Cycle) -> Complex:
        """The multipliers of one of the equal parts: products of all have no sign."""
        if self._copies == 1:
            return cycle.multipliers
        groups = _groups(cycle.multipliers)
        if any(len(g) % self._copies for g in groups):  # next to a double one, where rounding separates them
            return cycle.multipliers[:: self._copies]
        return np.concatenate([g.reshape(-1, self._copies).mean(axis=1) for g in groups])

    def _test(self, kind: str, cycle: Cycle) -> float:
        return _TESTS[kind](self._of_one_part(cycle))

    def _together(self, i: int) -> list[CyclePoint]:
        """Points between two neighbors at which several multipliers pass the unit circle, maybe at once, as those of equal parts
        do: products of all multipliers keep their sign there, but the k-th largest modulus passes one."""
        before, after = self.cycles[i : i + 2]
        few, many = sorted((before, after), key=_outside)
        low, high = (cycle.parameters[self.parameter] for cycle in (few, many))
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
        return sorted(found, key=lambda point: abs(point.value - before.parameters[self.parameter]))

    def _twice(self, kind: str, three: Sequence[Cycle], least_inside: bool = True) -> list[CyclePoint]:
        """Two points of one kind between motions on one side of the unit circle: the test function is closest to zero at the
        middle one, or may be beside it, and is looked at between them."""
        signs = np.sign([self._test(kind, cycle) for cycle in three])
        pairs = {int((cycle.multipliers.imag > 0).sum()) for cycle in three}
        one_sided = signs.min() == signs.max() != 0.0 and not (kind == TORUS and len(pairs) > 1)
        if not one_sided or (least_inside and not self._is_nearest(kind, three)):
            return []
        low, middle, high = sorted(cycle.parameters[self.parameter] for cycle in three)
        side = float(signs[1])

        def value(parameter: float) -> float:
            return side * self._test(kind, self._at(parameter, three))

        least = crossed_minimum(value, (low, middle, high), LOOKS)
        if least is None or _beyond(kind, self._at(least, three).multipliers) == _beyond(kind, three[1].multipliers):
            return []
        order = (low, high) if three[0].parameters[self.parameter] == low else (high, low)
        roots = [bracketed_root(value, min(end, least), max(end, least), rtol=1e-10) for end in order]
        return [CyclePoint(kind, self.parameter, root) for root in roots]

    def _is_nearest(self, kind: str, three: Sequence[Cycle]) -> bool:
        """Whether the test function is closest to zero at the middle one."""
        sizes = [abs(self._test(kind, cycle)) for cycle in three]
        return len(sizes) == 3 and sizes[1] < min(sizes[0], sizes[2])

    def _hidden(self, kind: str, i: int) -> list[CyclePoint]:
        """Two points of one kind about motion number i, or in the first and the last interval, beside their ends."""
        if i in self._turns:
            return []
        found = self._twice(kind, self.cycles[i - 1 : i + 2]) if i and i - 1 not in self._turns else []
        follows = i == 0 and self._is_nearest(kind, self.cycles[:3])  # looked at about the next motion
        if not found and not follows and i in (0, len(self.cycles) - 2):
            before, after = self.cycles[i : i + 2]
            middle = self._at(0.5 * (before.parameters[self.parameter] + after.parameters[self.parameter]), (before, after))
            found = self._twice(kind, (before, middle, after), least_inside=False)
        return found

    def _at(self, parameter: float, near: Sequence[Cycle]) -> Cycle:
        """The motion at a value of the parameter, from the nearest of some others."""
        closest = min(near, key=lambda cycle: abs(cycle.parameters[self.parameter] - parameter))
        return cycle_of(at_value(closest.shot, parameter), closest.ignorable)

    def _passes(self, kind: str, before: Cycle, after: Cycle) -> bool:
        """Whether a multiplier of one kind passes the unit circle."""
        changed = _beyond(kind, before.multipliers) != _beyond(kind, after.multipliers)
        return changed and self._test(kind, before) * self._test(kind, after) < 0.0

    def _fold_at(self, i: int) -> float | None:
        """The fold after motion number i, or next to it, where rounding decides between which motions a multiplier is one."""
        for near in (i, i - 1, i + 1):
            if near in self._turns and (near == i or not self._passes(BRANCH_POINT, *self.cycles[near : near + 2])):
                return self._turns[near]
        return None

    def _solved(self, kind: str, i: int) -> CyclePoint:
        before, after = self.cycles[i : i + 2]
        low, high = (cycle.parameters[self.parameter] for cycle in (before, after))
        if kind == BRANCH_POINT and (fold := self._fold_at(i)) is not None:
            return CyclePoint(FOLD, self.parameter, fold)
        if i in self._turns:  # not a function of the parameter there
            found = self._arcs[i].solve(lambda shot: self._test(kind, cycle_of(shot, before.ignorable)))
            if found is not None:
                return CyclePoint(kind, self.parameter, found)
            a, b = (abs(self._test(kind, cycle)) for cycle in (before, after))
            return CyclePoint(kind, self.parameter, (b * low + a * high) / (a + b))

        def value(parameter: float) -> float:
            return self._test(kind, self._at(parameter, (before, after)))

        return CyclePoint(kind, self.parameter, bracketed_root(value, min(low, high), max(low, high), rtol=1e-10))

    @property
    def units(self) -> dict[str, str]:
        """Units by column of the table."""
        own = next((q.unit for q in self.cycles[0].equations.parameters if q.name == self.parameter), "")
        return {self.parameter: own, "period": "s"}

    def _table(self) -> Mapping[str, Any]:
        return {self.parameter: self.values, "period": self.periods, "stable": list(self.stable)}

    def plot(self, *names: str, **options: Any) -> Any:
        """Period and amplitudes along the parameter; see `draisine.view.plots.periodic`."""
        e, ignorable = self.cycles[0].equations, self.cycles[0].ignorable
        units = {q.name: q.unit for q in (*e.states, *e.outputs, *e.parameters)}
        chosen = names or [c.name for c in e.coordinates if c.name not in ignorable][:SHOWN]
        columns = {"period": ("s", self.periods)}
        columns |= {f"amplitude of {name}": (units.get(name, ""), self.amplitudes(name)) for name in chosen}
        over = (self.parameter, units.get(self.parameter, ""))
        return figure("plots.periodic.family_figure", over, self.values, self.stable, columns, **options)

    def __str__(self) -> str:
        first, last = self.values[0], self.values[-1]
        lines = [f"{len(self.cycles)} periodic motions over {self.parameter} from {first:.6g} to {last:.6g}: {self.ending}"]
        lines += [f"  turns back at {self.parameter} = {fold:.6g}" for fold in self.folds]
        lines += [f"  {point.kind} at {self.parameter} = {point.value:.6g}" for point in self.special if point.kind != FOLD]
        return "\n".join(lines)


def follow_cycle(
    cycle: Cycle, parameter: str, to: float, *, first: float = 0.02, largest: float = 0.2, most: int = 60, least: float = 0.02
) -> CycleBranch:
    """Follow the periodic motion `cycle` over a parameter until this reaches `to`, or the motion shrinks to `least` of its size.

    `first` and `largest` are step lengths along the branch, relative to the size of the motion and to the change of the
    parameter; `most` is the largest number of steps. Folds are passed, and `to` may be reached after turning back. Forced motions
    do not shrink to equilibria: they may be at rest, and pass it.
    """
    known = [q.name for q in cycle.equations.parameters]
    if parameter not in known:
        refuse_dependent(parameter, cycle.equations.dependent_parameters)
        raise ArgumentError(f"{cycle.equations.name} has no parameter {parameter!r} to follow{did_you_mean(parameter, known)}")
    size = abs(to - cycle.parameters[parameter])
    if size == 0.0:
        raise ArgumentError(f"{cycle.equations.name}: {parameter} = {to:g} already; give another value")
    flow = replace(cycle.shot.flow, parameter=parameter, size=size)
    begun = cycle.shot
    nodes = [flow.node(begun.time(i), node.x, node.p) for i, node in enumerate(begun.nodes)]
    walk = _FamilyWalk(shoot(flow, begun.conditions, nodes, begun.period, begun.p), to, first, largest)
    shots = [walk.now]
    whole, shrinks = _size(walk.now), begun.conditions.autonomous
    ending = f"{most} steps were made"
    for now in walk.steps(most):
        if shrinks and shots[-1].nodes[0].rates @ now.nodes[0].rates < 0.0:  # beyond the equilibrium
            ending = "the cycle shrinks to an equilibrium"
            break
        shots.append(now)
        if shrinks and _size(now) < least * whole:
            ending = "the cycle shrinks to an equilibrium"
            break
    else:
        ending = walk.ending or ending
    return CycleBranch(parameter, tuple(cycle_of(s, cycle.ignorable) for s in shots), ending)


def _size(now: Shot) -> float:
    """Size of the motion, by its initial rate and its period."""
    return float(np.linalg.norm(now.nodes[0].rates / now.flow.scales)) * now.period


class _FamilyWalk:
    """Steps along a family."""

    def __init__(self, begin: Shot, to: float, first: float, largest: float) -> None:
        self.now, self._to, self._first, self._largest = begin, to, first, largest
        self.ending = ""
        towards = np.zeros(begin.unknowns)
        towards[-1] = np.sign(to - value_of(begin)) or 1.0
        self._side = float(towards[-1])
        self._weights = weights_of(begin)
        self._tangent = tangent_at(begin, self._weights, towards)

    def steps(self, most: int) -> Iterator[Shot]:
        lengths = StepLengths(self._first, SHORTEST * self._first, self._largest)
        walker = CurveTracer((self.now, self._tangent), self._advance, lengths, lambda at: GROWTH, self._limit)
        for now, _ in islice(walker, most):
            before, self.now = self.now, now
            if self._side * (value_of(now) - self._to) >= 0.0:
                self.ending = f"{now.flow.parameter} reached {self._to:g}"
                yield at_value(min(before, now, key=lambda shot: abs(value_of(shot) - self._to)), self._to)
                return
            yield now
        if walker.ended:
            self.ending = "the step length became too small: the family ends, branches or is not smooth there"

    @staticmethod
    def _limit(at: tuple[Shot, Array]) -> float:
        """Do not step over the point where a cycle shrinks to an equilibrium; a forced motion may be at rest."""
        return 0.5 * _size(at[0]) / (2 * np.pi) if at[0].conditions.autonomous else np.inf

    def _advance(self, at: tuple[Shot, Array], length: float) -> tuple[Shot, Array] | Rejected:
        """A step along the tangent; rejected if shooting fails, or the tangent turns too much."""
        now, tangent = at
        try:
            found = at_length(now, tangent, self._weights, length, 1e-8, ROUNDS)
            ahead = tangent_at(found, self._weights, tangent)
        except (ModelError, SolverError):
            return Rejected()
        # a shorter step, where the parameter might turn back twice within this one
        change = (value_of(found) - value_of(now)) / now.flow.size
        twice = tangent[-1] * ahead[-1] > 0.0 and least_slope(length * tangent[-1], length * ahead[-1], change) is not None
        if twice and length > CLOSE * self._first:
            return Rejected()
        return (found, ahead) if float((self._weights**2 * ahead) @ tangent) >= LEAST_COSINE else Rejected()


def at_value(near: Shot, value: float) -> Shot:
    """The motion of a family with a value of the parameter, from one nearby; in several steps where one fails."""
    now = near
    share = 1.0
    while (left := value - value_of(now)) != 0.0:
        try:
            found = _moved(now, share * left if share < 1.0 else left)
        except (ModelError, SolverError):
            share *= 0.5
            if share < LEAST_SHARE:
                raise
            continue
        if share == 1.0:
            p = found.p.copy()
            p[found.flow.parameter_index] = value  # without the rounding of sums
            return shoot(found.flow, found.conditions, list(found.nodes), found.period, p)
        now, share = found, min(1.0, 2.0 * share)
    return now


def _moved(now: Shot, change: float) -> Shot:
    """The motion with the parameter changed by an amount."""
    row = np.zeros((1, now.unknowns))
    row[0, -1] = 1.0
    begun = now.stepped(now.step(row, np.array([change / now.flow.size])))
    return close_orbit(begun, 1e-8, ROUNDS, row, np.zeros(1))
