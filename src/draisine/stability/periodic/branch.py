"""Continuation of periodic motions over a parameter by pseudo-arclength: the parameter is one of the unknowns, so that the branch
passes folds, where a stable and an unstable motion meet, and reaches Hopf points, where a cycle shrinks to an equilibrium.

All derivatives, including that by the parameter, are exact: tangents are null vectors of the shooting equations.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from draisine.errors import ArgumentError, ModelError, SolverError
from draisine.expr.expression import did_you_mean
from draisine.numerics.continuation import CurveTracer, Rejected, StepLengths, least_slope
from draisine.program.arguments import refuse_dependent
from draisine.results.base import Result, figure
from draisine.stability.periodic.branch_points import at_length, at_value, tangent_at, value_of, weights_of
from draisine.stability.periodic.cycle import Cycle, cycle_of
from draisine.stability.periodic.shooting import Shot, shoot
from draisine.stability.periodic.special_points import FOLD, CyclePoint, SpecialPoints

Array = NDArray[np.float64]

GROWTH = 1.5  # of the step length after a successful step
SHORTEST = 1e-3  # smallest step, relative to the first
ROUNDS = 8
CLOSE = 0.05  # of the first step: two folds within less are not distinguished
SAME = 1e-9  # change of the monodromy matrix that is error of the integration
LEAST_COSINE = 0.8  # between the tangents before and after a step

SHOWN = 2  # quantities plotted besides the period, if none are named


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
    def _points(self) -> SpecialPoints:
        return SpecialPoints(self.parameter, self.cycles)

    @property
    def folds(self) -> tuple[float, ...]:
        """Values at which the branch turns back, solved for along it."""
        return tuple(self._points.turns.values())

    @property
    def special(self) -> tuple[CyclePoint, ...]:
        """Where the stability of the motions changes between neighbors, by kind: "period doubling" where a real multiplier
        passes −1, "fold" or "branch point" where one passes +1, "torus" where a pair passes the unit circle; solved for along
        the branch."""
        return self._points.special

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
    if not any(s.jacobian[:, -1].any() for s in shots) and np.ptp([s.monodromy for s in shots], axis=0).max() <= SAME:
        warnings.warn(f"{cycle.equations.name}: {parameter} has no effect on these motions and their multipliers", stacklevel=2)
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
