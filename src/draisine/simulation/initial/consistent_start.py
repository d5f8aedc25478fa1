"""Consistent starts: fix these, solve those (Delebecque & Nikoukhah 1992, section 3.2.1).

Positions first. The coordinates closest to their defaults are sought among those that fulfil every constraint and wish that does
not depend on velocities; a coordinate wished for by name is held, bit by bit. Then, at these coordinates, velocities in the same
way. Accelerations and multipliers follow from the report of the equations.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from draisine.program.dae_residual import DaeResidual
from draisine.program.equations import Equations
from draisine.simulation.initial.conflict import explain
from draisine.simulation.initial.evaluation import Indices, Reals
from draisine.simulation.initial.problem import Given, InitialGuess, StartProblem, Targets, sorted_targets
from draisine.simulation.initial.result import Leftover, Moved, Start, StartReport, Target
from draisine.simulation.initial.solver import Solution, Stage, Way, stage_of_positions, stage_of_velocities
from draisine.simulation.named_values import numbers

TRUSTED = 1e3  # times the limit of the condition: beyond, the report's velocities are not used
UNMOVED = 1e-12  # changes below this part of an unknown's size are rounding


def consistent_start(
    equations: Equations | StartProblem,
    targets: Mapping[str, float | InitialGuess] | None = None,
    parameters: Mapping[str, float] | ArrayLike | None = None,
    *,
    inputs: Mapping[str, float] | ArrayLike | None = None,
    time: float = 0.0,
) -> Start:
    """Solve for a start from partial wishes.

    - Coordinates, velocities and further states wished for by name are kept exactly as they are given.
    - Outputs wished for are equations, solved to rounding.
    - All else moves as little as possible from its default, or from the `Near(value)` given for it.

    Where there is no start, `draisine.errors.StartError` says which wishes conflict, with what, and which values would do. A
    `StartProblem` in place of the equations is worth keeping: its programs are compiled once.

    >>> import draisine as dr
    >>> start = consistent_start(dr.derive(dr.gallery.bicycle()), {"lean": 0.1, "steer": 0.2})
    >>> [moved.name for moved in start.report.moved]
    ['frame_z', 'frame_qw', 'frame_qx', 'frame_qy']
    >>> start.coordinates["steer"]
    0.2
    """
    problem = equations if isinstance(equations, StartProblem) else StartProblem(equations, compiled=False)
    e = problem.equations
    given = float(time), numbers("input", e.inputs, inputs), numbers("parameter", e.parameters, parameters)
    return _Solver(problem, sorted_targets(e, problem.kinds, targets or {}), given).solve()


@dataclass(frozen=True, eq=False)
class _Solved:
    """A stage, how it was solved, and what was taken in the end."""

    stage: Stage
    way: Way
    point: Solution


class _Solver:
    """One start: positions, then velocities."""

    def __init__(self, problem: StartProblem, targets: Targets, given: Given) -> None:
        self._problem, self._targets, self._given = problem, targets, given
        self._evaluation = problem.take_evaluation(given)
        self._q0, self._v0 = (
            reference_of(defaults, names, targets.near)
            for defaults, names in zip(problem.defaults, problem.unknowns, strict=True)
        )
        self._length = problem.scales.typical_length(given[2], self._q0)

    def solve(self) -> Start:
        e = self._problem.equations
        found = [self._positions()]
        q, v = found[0].point.y, self._v0
        if e.velocities:
            found.append(self._velocities(q))
            v = found[1].point.y
        for one in found:
            one.stage.whole.release()
            one.point.system.release()
        self._problem.give_back(self._evaluation)
        return Start(q, v, self._state(q, v), e, self._given, lambda: self._report(found, q, v))

    # ---------------------------------------------------------------- positions

    def _positions(self) -> _Solved:
        e, scales = self._problem.equations, self._problem.scales
        scale = scales.coordinates(self._q0, self._length)
        stage = stage_of_positions(self._problem, self._targets, self._evaluation, self._q0, self._v0, scale, scales.leaps)
        if isinstance(e.dynamics, DaeResidual):
            settled = self._one_order_after_the_other(stage, np.array(e.dynamics.orders)) if e.dynamics.orders else None
            if settled is not None:
                return settled
            # differential unknowns stay where they are if the algebraic ones alone can do it
            found = stage.system(stage.targets, still=np.array(e.dynamics.differential)).find(thorough=False)
            if found.fulfilled:
                return _Solved(stage, found.way, found)
        found = self._searched(stage)
        return _Solved(stage, found.way, found)

    def _one_order_after_the_other(self, stage: Stage, orders: Indices) -> _Solved | None:
        """Positions, velocities and forces of a mechanism, each at what is settled before, as starts of its equations of motion
        have them; None where that leads nowhere, since a wish may ask for all of them together."""
        order_of = self._problem.orders(orders)
        speeds = np.array([c.unit == "m/s" for c in self._problem.equations.coordinates])
        stage = replace(stage, scale=np.where(orders == 1, np.where(speeds, self._length, 1.0), stage.scale))
        there, ways = stage, list[Way]()
        for order in range(int(orders.max(initial=0)) + 1):
            others = [i for i in stage.constraints if order_of[i] != order]
            aims = [name for name in stage.aims if order_of[self._problem.places[name]] == order]
            system = partial(there.system, without=others, still=orders != order)
            found = system([*there.held, *aims]).find(partial(system, ()))
            if not found.fulfilled:
                return None
            ways.append(found.way)
            there = replace(there, reference=found.y)
        point = stage.whole.at_unknowns(there.reference)
        return _Solved(stage, ways[0], point) if point.fulfilled else None

    def _searched(self, stage: Stage) -> Solution:
        found = stage.whole.find(stage.without_targets)
        if not found.fulfilled:
            raise explain(stage, found)
        return found

    # ---------------------------------------------------------------- velocities

    def _velocities(self, q: Reals) -> _Solved:
        scale = self._problem.scales.velocities(self._length)
        stage = stage_of_velocities(self._problem, self._targets, self._evaluation, q, self._v0, scale)
        found = self._searched(stage)
        hidden = self._hidden(stage, q, found)
        if hidden is not None:
            stage = replace(stage, hidden=hidden)
            found = self._searched(stage)
        return _Solved(stage, found.way, stage.whole.put_to_rest())

    def _hidden(self, stage: Stage, q: Reals, point: Solution) -> tuple[Reals, Reals] | None:
        """Rows that tie the dependent velocities to the independent ones, if the constraints do not.

        The rate of a position constraint may have no row of its own among the residuals; the report knows it.
        """
        e = self._problem.equations
        dependent = len(e.velocities) - len(e.independent)
        if not dependent or self._decided(stage, point) >= dependent:
            return None
        t, u, p = self._given
        if e.monitor is not None and not e.monitor([t], self._state(q, point.y), u, p)[0][0] <= TRUSTED * e.limits.condition:
            return None  # the independent velocities say nothing about the others here
        slot = [s.name for s in e.report.outputs].index("v")

        def full(speeds: Reals) -> Reals:
            return e.report([t], self._state(q, speeds), u, p)[slot]

        offset = full(np.zeros(len(e.velocities)))
        columns = [full(unit) - offset for unit in np.eye(len(offset))]  # linear; dependent velocities do not enter
        matrix = np.eye(len(offset)) - np.column_stack(columns)
        return (matrix, offset) if np.isfinite(matrix).all() else None

    @staticmethod
    def _decided(stage: Stage, point: Solution) -> int:
        """How many velocities the constraints decide."""
        if point.rank == len(point.residual):  # then the constraints among its rows are independent too
            return len(stage.constraints)
        return stage.without_targets().at_unknowns(point.y).rank

    # ---------------------------------------------------------------- what came out

    def _state(self, q: Reals, v: Reals) -> Reals:
        e = self._problem.equations
        place = {velocity.name: i for i, velocity in enumerate(e.velocities)}
        speeds = [v[place[name]] for name in e.independent]
        return np.concatenate([q, speeds, [self._targets.states.get(s.name, s.default) for s in e.extra_states]])

    def _report(self, found: Sequence[_Solved], q: Reals, v: Reals) -> StartReport:
        w, places = self._targets, self._problem.places
        evaluation = self._problem.take_evaluation(self._given)
        values = evaluation(q, v, "v" if len(v) else "q")[0].copy()
        targets = [Target(n, x, x, "coordinate") for n, x in w.coordinates.items()]  # they are held
        targets += [Target(n, x, x, "velocity") for n, x in w.velocities.items()]
        targets += [Target(n, x, float(values[places[n]]), "output") for n, x in w.outputs.items()]
        targets += [Target(n, x, x, "state") for n, x in w.states.items()]
        moved: list[Moved] = []
        left: list[tuple[int, Leftover]] = []
        ranks, sizes = list[int](), list[tuple[int, int]]()
        for one in found:
            whole = replace(one.stage, evaluation=evaluation).whole
            ranks.append(whole.at_unknowns(one.point.y).rank)
            sizes.append((len(whole.columns), len(one.point.residual)))
            moved += self._moved(one, whole.least)
            left += _leftovers(one)
            whole.release()
        self._problem.give_back(evaluation)
        names = [one.stage.name for one in found]
        return StartReport(
            tuple(targets),
            tuple(moved),
            tuple(leftover for _, leftover in sorted(left, key=lambda pair: pair[0])),
            tuple((name, one.way) for name, one in zip(names, found, strict=True)),
            tuple((name, free - rank) for name, (free, _), rank in zip(names, sizes, ranks, strict=True)),
            tuple((name, rows - rank) for name, (_, rows), rank in zip(names, sizes, ranks, strict=True)),
        )

    def _moved(self, one: _Solved, least: Reals) -> list[Moved]:
        """Free unknowns that are not at their references, but for rounding."""
        e = self._problem.equations
        reference = one.stage.reference
        quantities = e.coordinates if one.stage.name == "position" else e.velocities
        changed = np.abs(one.point.y - reference) > UNMOVED * np.maximum(np.abs(one.point.y), least)
        return [
            Moved(c.name, before, after, c.unit)
            for c, before, after, moved in zip(
                quantities, reference.tolist(), one.point.y.tolist(), changed.tolist(), strict=True
            )
            if moved and c.name not in one.stage.held
        ]


def reference_of(defaults: Reals, names: Sequence[str], near: Mapping[str, float]) -> Reals:
    """Where unknowns would stay if nothing moved them."""
    return np.array([near.get(name, x) for name, x in zip(names, defaults, strict=True)]) if near else defaults


def _leftovers(one: _Solved) -> list[tuple[int, Leftover]]:
    """What is left of the constraints of a stage, by their number."""
    point, name = one.point, one.stage.name
    count = len(one.stage.constraints)  # they come first
    values, weights, labels = point.residual[:count].tolist(), point.weight[:count].tolist(), one.stage.whole.labels[:count]
    return [
        (number, Leftover(label, name, value, abs(value) / weight))
        for number, label, value, weight in zip(one.stage.constraints, labels, values, weights, strict=True)
    ]
