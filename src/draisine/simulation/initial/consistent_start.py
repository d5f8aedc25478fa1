"""Consistent starts from partial targets (Delebecque & Nikoukhah 1992, section 3.2.1).

First the position level: among the coordinates that satisfy all constraints and targets that do not depend on velocities, those
closest to the defaults. A coordinate with a target has exactly this value. Then, at these coordinates, the velocity level in
the same way. Accelerations and multipliers follow from the report of the equations.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from draisine.codegen.equation_cache import derive_cached
from draisine.model.model import Model
from draisine.model.system import System
from draisine.program.arguments import checked_argument, numbers, parameter_values
from draisine.program.equations import NO_STRUCTURE, Equations
from draisine.program.program import DaeResidual
from draisine.results.channel import HasState, named_start
from draisine.simulation.initial.conflict import explain, refuse_degenerate
from draisine.simulation.initial.contact_start import Solving, contact_start, inactive_rows
from draisine.simulation.initial.evaluation import Bools, Indices, Reals
from draisine.simulation.initial.given_digits import refusal, within_digits
from draisine.simulation.initial.problem import Given, InitialGuess, StartProblem, Targets, sorted_targets
from draisine.simulation.initial.rest_groups import driven_rates, rest_in_words
from draisine.simulation.initial.resting_position import coordinate_of, resting_position
from draisine.simulation.initial.result import ConstraintResidual, Moved, Start, StartReport, Target
from draisine.simulation.initial.solver import (
    Level,
    ResidualSystem,
    Solution,
    Way,
    ordered_level,
    ordered_system,
    position_level,
    velocity_level,
)

CONDITION_FACTOR = 1e3  # multiple of the limit of the condition number above which the report's velocities are not used
EXCESSIVE = 1e6  # velocity, in scales, relative to what is given
KEPT = 1e-9  # relative residual up to which a computed state is kept as it is
NOTICEABLE = 1e-10  # relative changes of an unknown below this are errors of the iteration (`descent.CHANGE_TOLERANCE`)


def consistent_start(
    model: Model | System | Equations | StartProblem,
    start: Mapping[str, float | InitialGuess] | HasState | None = None,
    *,
    parameters: Mapping[str, float] | ArrayLike | None = None,
    inputs: Mapping[str, float] | ArrayLike | None = None,
    time: float = 0.0,
) -> Start:
    """Solve for a start from partial targets.

    - `start`: targets by name, as in `simulate`. Coordinates, velocities and further states with a target have exactly the given
      value; targets of outputs are equations, solved to rounding error. All other unknowns change as little as possible from
      their defaults, or from the `InitialGuess(value)` given for them. Results are starts, too: a run (its end), a row of it
      (`run.at(t)`), a steady motion, a special point, a periodic motion, a solution. Their states are kept exactly; in
      `{**run.final, "lean": 0.1}` all but the lean change as little as possible.
    - `parameters`, `inputs`: values by name, the others have their defaults; `time`: of the start.

    If there is no start, `draisine.errors.StartError` names the conflicting targets, the constraints involved and feasible
    values. For many starts, pass a `StartProblem` instead of the equations: its programs are compiled once.

    >>> import draisine as dr
    >>> start = consistent_start(dr.gallery.bicycle(), {"lean": 0.1, "steer": 0.2})
    >>> [moved.name for moved in start.report.moved]
    ['frame_z', 'frame_qw', 'frame_qx', 'frame_qy']
    >>> start.coordinates["steer"]
    0.2
    """
    start, time = (checked_argument("consistent_start", name, value) for name, value in (("start", start), ("time", time)))
    if not isinstance(model, StartProblem):
        checked_argument("consistent_start", "model", model)
    if isinstance(model, Model | System):
        model = derive_cached(model.freeze() if isinstance(model, Model) else model)
    problem = model if isinstance(model, StartProblem) else StartProblem(model, compiled=False)
    e = problem.equations
    p, u, targets = (
        parameter_values(e, parameters),
        numbers("input", e.inputs, inputs),
        sorted_targets(e, problem.kinds, named_start(start)),
    )

    def solver(p: np.ndarray, at: Reals | None = None) -> _Solver:
        return _Solver(problem, targets, (float(time), u, p), at)

    if not e.unilateral:
        return solver(p).solve()
    solving = Solving(
        (lambda p: solver(p).kept()) if targets.state else None,
        lambda p: solver(p).positions(),
        lambda p, at=None: solver(p, at).solve(),
    )
    return contact_start(e, solving, p, {*targets.velocities})


class _SolvedLevel(NamedTuple):
    """A level, how it was solved, and its final point."""

    level: Level
    way: Way
    point: Solution


class _Solver:
    """One start: the position level, then the velocity level."""

    def __init__(self, problem: StartProblem, targets: Targets, given: Given, at: Reals | None = None) -> None:
        self._problem, self._targets, self._given, self._at = problem, targets, given, at  # `at`: coordinates, if known
        self._evaluation = problem.take_evaluation(given)
        self._q0, self._v0 = (
            reference_of(defaults, names, targets.near)
            for defaults, names in zip(problem.defaults, problem.unknowns, strict=True)
        )
        self._length = problem.scales.typical_length(given[2], self._q0)

    def solve(self) -> Start:
        return self._start((self._kept() if self._targets.state and self._at is None else None) or self._found())

    def positions(self) -> Reals:
        """The coordinates alone."""
        found = self._positions()
        found.level.full_system.release()
        found.point.system.release()
        self._problem.give_back(self._evaluation)
        return found.point.y.copy()

    def kept(self) -> Start | None:
        """The given state itself, if one is given and satisfies the constraints."""
        found = self._kept() if self._targets.state else None
        return None if found is None else self._start(found)

    def _start(self, found: list[_SolvedLevel]) -> Start:
        e = self._problem.equations
        q, v = found[0].point.y, found[1].point.y if e.velocities else self._v0
        for one in found:
            one.level.full_system.release()
            one.point.system.release()
        self._problem.give_back(self._evaluation)
        return Start(q, v, self._state(q, v), e, self._given, lambda: self._report(found, q, v))

    def _found(self) -> list[_SolvedLevel]:
        found = [self._positions()]
        return [*found, self._velocities(found[0].point.y)] if self._problem.equations.velocities else found

    def _kept(self) -> list[_SolvedLevel] | None:
        """A computed state as it is, if it satisfies the constraints."""
        q, v, scales = self._q0, self._v0, self._problem.scales
        scale = scales.coordinates(q, self._length)
        levels = [position_level(self._problem, self._targets, self._evaluation, q, v, scale, scales.max_steps)]
        if len(v):
            scale = scales.velocities(self._length)
            levels.append(velocity_level(self._problem, self._targets, self._evaluation, q, v, scale, self._length))
        found = [_SolvedLevel(level, Way.NEWTON, level.full_system.at_unknowns(level.reference)) for level in levels]
        if any(not one.point.relative_residual <= KEPT for one in found):
            return None
        implied_rows = self._implied_rows(levels[1], q, found[1].point) if len(v) else None
        if implied_rows is not None:
            matrix, offset = implied_rows
            if not np.abs(matrix @ v - offset).max() <= KEPT * max(np.abs(v).max(), np.abs(offset).max()):
                return None
        return found

    def velocities_at(self, q: Reals) -> tuple[Level, Reals]:
        """The velocity level at given coordinates, and the velocities."""
        found = self._velocities(q)
        found.level.full_system.release()
        self._problem.give_back(self._evaluation)
        return found.level, found.point.y

    # ---------------------------------------------------------------- positions

    def _positions(self) -> _SolvedLevel:
        e, scales = self._problem.equations, self._problem.scales
        scale = scales.coordinates(self._q0, self._length)
        level = position_level(self._problem, self._targets, self._evaluation, self._q0, self._v0, scale, scales.max_steps)
        if self._at is not None:
            return _SolvedLevel(level, Way.NEWTON, level.full_system.at_unknowns(self._at))
        if isinstance(e.dynamics, DaeResidual):
            settled = self._by_order(level, np.array(e.dynamics.orders)) if e.dynamics.orders else None
            if settled is not None:
                return settled
            # differential unknowns stay fixed if the algebraic ones alone can satisfy the equations
            found = level.system(level.targets, frozen=np.array(e.dynamics.differential)).find(thorough=False)
            if found.fulfilled:
                return _SolvedLevel(level, found.way, found)
            if not e.dynamics.orders:
                return self._as_given(level, np.array(e.dynamics.differential))
        found = self._search(level)
        return _SolvedLevel(level, found.way, found)

    def _as_given(self, level: Level, differential: Bools) -> _SolvedLevel:
        """Values given to 0 = F, kept where their digits explain the residuals, and refused otherwise.

        Given are targets; without any, and with the parameters of the definition, its start of differential unknowns.
        """
        e, values = self._problem.equations, level.full_system.reference
        given = np.array([name in level.prescribed for name in level.unknowns], dtype=bool)
        if not (level.targets or self._targets.near) and np.array_equal(self._given[2], e.default_parameters):
            given = differential & (values != 0.0)
        found = level.full_system.find(level.without_targets)
        if found.fulfilled and np.array_equal(found.y[given], values[given]):
            return _SolvedLevel(level, found.way, found)
        loose = replace(level, prescribed={}, reference=values)
        nearest = loose.full_system.find(loose.without_targets) if level.prescribed else found
        if not nearest.fulfilled:
            raise explain(level, found)
        kept = within_digits(level, given, values, differential)
        if kept is None:
            conflict = explain(level, found) if level.prescribed else None
            raise conflict if conflict is not None and conflict.nearest else refusal(loose, given, values, nearest, differential)
        return _SolvedLevel(loose, nearest.way, kept)

    def _by_order(self, level: Level, orders: Indices) -> _SolvedLevel | None:
        """Positions, then velocities, then forces of a mechanism, as in starts of its equations of motion.

        None if that has no solution, because a target may depend on all of them.
        """
        level, ways = ordered_level(level, orders, self._length), list[Way]()
        solved = level
        for order in range(int(orders.max(initial=0)) + 1):
            system = partial(ordered_system, solved, orders, order)
            full_system = system()
            found = full_system.find(partial(system, False))
            if not found.fulfilled:
                return None
            ways.append(found.way)
            if order == 1 and self._problem.rests(self._targets.near):
                found = full_system.rest_velocities()
            solved = replace(solved, reference=found.y)
        point = level.full_system.at_unknowns(solved.reference)
        return _SolvedLevel(level, ways[0], point) if point.fulfilled else None

    def _search(self, level: Level) -> Solution:
        found = level.full_system.find(level.without_targets)
        if not found.fulfilled:
            raise explain(level, found)
        refuse_degenerate(level, found)
        return found

    # ---------------------------------------------------------------- velocities

    def _velocities(self, q: Reals) -> _SolvedLevel:
        scale = self._problem.scales.velocities(self._length)
        level = velocity_level(self._problem, self._targets, self._evaluation, q, self._v0, scale, self._length)
        found = self._search(level)
        implied_rows = self._implied_rows(level, q, found)
        if implied_rows is not None:
            level = replace(level, implied_rows=implied_rows)
            found = self._search(level)
        return _SolvedLevel(level, found.way, level.full_system.rest_velocities())

    def _implied_rows(self, level: Level, q: Reals, point: Solution) -> tuple[Reals, Reals] | None:
        """Rows that relate the dependent velocities to the independent ones, if the constraints do not.

        The rate of a position constraint may have no row among the residuals; the report contains it.
        """
        e = self._problem.equations
        dependent = len(e.velocities) - len(e.independent)
        if not dependent or self._determined_count(level, point) >= dependent:
            return None
        t, u, p = self._given
        if (
            e.monitor is not None
            and not e.monitor([t], self._state(q, point.y), u, p)[0][0] <= CONDITION_FACTOR * e.limits.condition
        ):
            return None  # the independent velocities do not determine the others here
        slot = [s.name for s in e.report.outputs].index("v")

        def full(speeds: Reals) -> Reals:
            return e.report([t], self._state(q, speeds), u, p)[slot]

        offset = full(np.zeros(len(e.velocities)))
        columns = [full(unit) - offset for unit in np.eye(len(offset))]  # linear; dependent velocities do not enter
        matrix = np.eye(len(offset)) - np.column_stack(columns)
        return (matrix, offset) if np.isfinite(matrix).all() else None

    @staticmethod
    def _determined_count(level: Level, point: Solution) -> int:
        """Number of velocities that the constraints determine."""
        if point.rank == len(point.residual):  # then the constraints among its rows are independent as well
            return len(level.constraints)
        return level.without_targets().at_unknowns(point.y).rank

    # ---------------------------------------------------------------- result

    def _state(self, q: Reals, v: Reals) -> Reals:
        e = self._problem.equations
        index = {velocity.name: i for i, velocity in enumerate(e.velocities)}
        speeds = [v[index[name]] for name in e.independent]
        return np.concatenate([q, speeds, [self._targets.states.get(s.name, s.default) for s in e.extra_states]])

    def _report(self, found: Sequence[_SolvedLevel], q: Reals, v: Reals) -> StartReport:
        w, places = self._targets, self._problem.output_rows
        evaluation = self._problem.take_evaluation(self._given)
        values = evaluation(q, v, "v" if len(v) else "q")[0].copy()
        order = self._problem.unknowns[0]
        targets = [Target(n, x, float(q[order.index(n)]), "coordinate") for n, x in w.coordinates.items()]  # prescribed
        targets += [Target(n, x, x, "velocity") for n, x in w.velocities.items()]
        targets += [Target(n, x, float(values[places[n]]), "output") for n, x in w.outputs.items()]
        targets += [Target(n, x, x, "state") for n, x in w.states.items()]
        moved: list[Moved] = []
        left: list[tuple[int, ConstraintResidual]] = []
        ranks, sizes, excess = list[int](), list[tuple[int, int]](), ""
        for one in found:
            full_system = replace(one.level, evaluation=evaluation).full_system
            ranks.append(full_system.at_unknowns(one.point.y).rank)
            sizes.append((len(full_system.columns), len(one.point.residual)))
            moved += self._moved(one, full_system.least_size)
            left += _constraint_residuals(one)
            excess = _excess(full_system, self._problem.unknowns[1], one.point.y) if one.level.name == "velocity" else ""
            full_system.release()
        self._problem.give_back(evaluation)
        names = [one.level.name for one in found]
        rest, moving = self._rest(found[-1], values)
        inactive = partial(inactive_rows, self._problem.equations, self._given[2])
        return StartReport(
            tuple(targets),
            tuple(moved),
            tuple(leftover for _, leftover in sorted(left, key=lambda pair: pair[0])),
            tuple((name, one.way) for name, one in zip(names, found, strict=True)),
            tuple((name, free - rank) for name, (free, _), rank in zip(names, sizes, ranks, strict=True)),
            tuple((name, rows - rank - inactive(name)) for name, (_, rows), rank in zip(names, sizes, ranks, strict=True)),
            rest,
            excess,
            moving,
        )

    def _rest(self, one: _SolvedLevel, values: Reals) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """What rests at the start, in words; and joints that would rest in another position."""
        if one.level.rest is None or self._problem.equations.structure == NO_STRUCTURE:
            return (), ()
        rows = one.level.rest.within(one.level.full_system.free)
        moving = np.zeros(len(one.point.y), dtype=bool)
        moving[self._problem.moving] = True
        velocities = np.where(moving, one.point.y, 0.0)
        instead = self._resting_positions(driven_rates(rows, one.level.unknowns, velocities))
        words = {name: f"; it is zero with {c} = {value:.6g}" for name, (c, value) in instead.items()}
        still = [
            f"the run starts with {name} = {velocities[one.level.unknowns.index(name)]:.6g}: {c} is not given, and stays as it "
            f"is by default; with {c} = {value:.6g} in the start the rate is zero"
            for name, (c, value) in instead.items()
        ]
        return rest_in_words(rows, one.level.unknowns, self._problem.names, velocities, values, words), tuple(still)

    def _resting_positions(self, rates: Mapping[str, float]) -> dict[str, tuple[str, float]]:
        """Positions of joints, by their rates, in which these would be zero, where outputs are given."""
        problem, w = self._problem, self._targets
        if not rates or not w.outputs or w.near:
            return {}
        e, places = problem.equations, problem.unknowns[0]

        def solve(without: str, coordinates: Mapping[str, float]) -> Start:
            outputs = {name: value for name, value in w.outputs.items() if name != without}
            targets = replace(w, coordinates={**w.coordinates, **coordinates}, outputs=outputs)
            return _Solver(problem, targets, self._given).solve()

        found = {}
        for name, rate in rates.items():
            coordinate = coordinate_of(e, name)
            if coordinate is None or coordinate in w.coordinates or coordinate in w.outputs:
                continue
            c = e.coordinates[places.index(coordinate)]
            size = self._length if c.unit == "m" else 1.0
            position = resting_position(name, rate, coordinate, c.default, w.outputs, solve, size)
            if position is not None:
                found[name] = (coordinate, position)
        return found

    def _moved(self, one: _SolvedLevel, least: Reals) -> list[Moved]:
        """Free unknowns that differ from their references by more than rounding errors."""
        e = self._problem.equations
        reference = one.level.reference
        quantities = e.coordinates if one.level.name == "position" else e.velocities
        changed = np.abs(one.point.y - reference) > NOTICEABLE * np.maximum(np.abs(one.point.y), least)
        return [
            Moved(c.name, before, after, c.unit)
            for c, before, after, moved in zip(
                quantities, reference.tolist(), one.point.y.tolist(), changed.tolist(), strict=True
            )
            if moved and c.name not in one.level.prescribed
        ]


def velocities_at(problem: StartProblem, targets: Targets, given: Given, q: Reals) -> tuple[Level, Reals]:
    """The velocity level of a start at given coordinates, and the velocities."""
    return _Solver(problem, targets, given).velocities_at(q)


def reference_of(defaults: Reals, names: Sequence[str], near: Mapping[str, float]) -> Reals:
    """The references of the unknowns: their defaults, or the values they shall be near."""
    return np.array([near.get(name, x) for name, x in zip(names, defaults, strict=True)]) if near else defaults


def _excess(system: ResidualSystem, names: Sequence[str], v: Reals) -> str:
    """A sentence if a velocity is many orders above what the targets and moving constraints give, else nothing."""
    missed = np.abs(system.at(np.zeros(len(system.columns))).residual)
    lengths = np.linalg.norm(system.jacobian_at(v) * system.scale, axis=1)
    given = float((missed[lengths > 0.0] / lengths[lengths > 0.0]).max(initial=0.0))
    given = max(given, float((np.abs(system.reference) / system.scale).max(initial=0.0)))
    sizes = np.where(system.free, np.abs(v) / system.scale, 0.0)
    k = int(np.argmax(sizes)) if len(sizes) else 0
    if not len(sizes) or not sizes[k] > EXCESSIVE * given > 0.0:
        return ""
    return (
        f"{names[k]} = {v[k]:.3g} is {sizes[k] / given:.0e} times what is given: the targets nearly contradict each other at "
        "these coordinates; leave one of them out, or start elsewhere"
    )


def _constraint_residuals(one: _SolvedLevel) -> list[tuple[int, ConstraintResidual]]:
    """Residuals of the constraints of a level, by their number."""
    point, name = one.point, one.level.name
    count = len(one.level.constraints)  # they come first
    values, weights, labels = point.residual[:count].tolist(), point.weight[:count].tolist(), one.level.full_system.labels[:count]
    return [
        (number, ConstraintResidual(label, name, value, abs(value) / weight))
        for number, label, value, weight in zip(one.level.constraints, labels, values, weights, strict=True)
    ]
