"""Consistent starts of a batch: the solver of single starts for each member in compiled code."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from draisine.errors import ArgumentError, StartError
from draisine.program.equations import Equations
from draisine.program.program import DaeResidual
from draisine.results.channel import StateValue
from draisine.simulation.initial.consistent_start import consistent_start, reference_of
from draisine.simulation.initial.contact_start import TOUCHES, landing_gaps, preferred_modes
from draisine.simulation.initial.evaluation import Bools, Reals
from draisine.simulation.initial.memory import BATCH, Batch, Task
from draisine.simulation.initial.problem import InitialGuess, StartProblem, Targets
from draisine.simulation.initial.solver import Level, position_level, run, solver_code, velocity_level

MANY = 1000  # members for which optimized code is compiled first


@dataclass(frozen=True, eq=False)
class BatchTargets:
    """Targets by name, inputs and parameters of each member of a batch."""

    targets: Mapping[str, Reals]  # (members) each
    near: Mapping[str, float]
    inputs: Reals  # (members, m)
    parameters: Reals  # (members, p)

    def __len__(self) -> int:
        return len(self.parameters)

    @property
    def state(self) -> bool:
        """Whether all members have the same computed state, perhaps with targets beside it."""
        return any(isinstance(value, StateValue) for value in self.near.values())

    def rows(self, which: NDArray[np.intp]) -> BatchTargets:
        """A selection of members."""
        targets = {name: column[which] for name, column in self.targets.items()}
        return BatchTargets(targets, self.near, self.inputs[which], self.parameters[which])

    def of(self, member: int) -> dict[str, float | InitialGuess]:
        """The targets of one member, as `consistent_start` takes them."""
        near: dict[str, float | InitialGuess] = {
            name: value if isinstance(value, StateValue) else InitialGuess(value) for name, value in self.near.items()
        }
        return near | {name: float(column[member]) for name, column in self.targets.items()}


@dataclass(frozen=True, eq=False)
class BatchStart:
    """Coordinates, all velocities and further states at the start, valid where `solved`.

    Members that are `refused` have no start. Those that are neither must be solved by `consistent_start`, because their equations
    have rows that only the report contains, differential and algebraic unknowns, or contacts whose modes are to be found.
    """

    q: Reals  # (members, coordinates)
    v: Reals  # (members, velocities)
    extra: Reals  # (members, further states)
    solved: Bools  # (members)
    refused: Bools  # (members)
    parameters: Reals  # (members, p) as requested; of those that are solved with the modes of their contacts

    def states(self, equations: Equations) -> Reals:
        """The states in terms of a choice of independent velocities."""
        index = {velocity.name: i for i, velocity in enumerate(equations.velocities)}
        return np.column_stack([self.q, self.v[:, [index[name] for name in equations.independent]], self.extra])


def consistent_starts(problem: StartProblem, requested: BatchTargets) -> BatchStart:
    """Starts of all members."""
    e, count = problem.equations, len(requested)
    extra = np.array([requested.targets.get(s.name, np.full(count, s.default)) for s in e.extra_states]).reshape(-1, count).T
    none = np.zeros(count, dtype=bool)
    if e.unilateral and requested.state:  # every member has modes of its own
        q, v = (np.full((count, len(names)), np.nan) for names in problem.unknowns)
        return BatchStart(q, v, extra, none, none, requested.parameters)
    if e.unilateral:
        return _with_preferred_modes(problem, requested, extra)
    if requested.state and not isinstance(e.dynamics, DaeResidual):
        return _from_state(problem, requested)
    if isinstance(e.dynamics, DaeResidual):
        q, v = (np.zeros((count, len(names))) for names in problem.unknowns)
        return BatchStart(q, v, extra, none, none, requested.parameters)
    q, found = _positions(problem, requested)
    v, left = np.zeros((count, len(e.velocities))), none
    if e.velocities:
        v, moving, determined = _solve(problem, requested, "velocity", q)
        found = found & moving
        dependent = len(e.velocities) - len(e.independent)
        if dependent:  # rows from the report are needed where constraints do not determine all dependent velocities
            left = found & ~determined if len(problem.constraints["velocity"]) >= dependent else found
    return BatchStart(q, v, extra, found & ~left, ~found, requested.parameters)


def _with_preferred_modes(problem: StartProblem, requested: BatchTargets, extra: Reals) -> BatchStart:
    """Starts of contacts that may be open: solved where wheels roll and no other contact touches, as `contact_start` tries first;
    other members have modes of their own."""
    e = problem.equations
    p = np.array([preferred_modes(e, row) for row in requested.parameters])
    rolling = replace(requested, parameters=p)
    q, found = _positions(problem, rolling)
    v, moving, _ = _solve(problem, rolling, "velocity", q)
    t, at_rest = np.zeros((len(q), 1)), np.column_stack([q, np.zeros((len(q), len(e.states) - q.shape[1]))])
    terms = dict(
        zip(
            (s.name for s in problem.contact_terms.outputs),
            problem.contact_terms.map(t, at_rest, requested.inputs, p),
            strict=True,
        )
    )
    gaps, limit = landing_gaps(e, terms["gap"], terms["landing"]), TOUCHES * e.limits.length
    stands = np.array([c.stands or c.normal < 0 for c in e.unilateral])
    clear = (gaps >= -limit).all(axis=1) & (stands | (gaps > limit)).all(axis=1)
    solved = found & moving & clear
    parameters = np.where(solved[:, None], p, requested.parameters)
    return BatchStart(q, v, extra, solved, np.zeros(len(q), dtype=bool), parameters)


def _from_state(problem: StartProblem, requested: BatchTargets) -> BatchStart:
    """Starts from a computed state, which a member keeps where its parameters and targets allow it."""
    e, count = problem.equations, len(requested)
    q, v = (np.zeros((count, len(names))) for names in problem.unknowns)
    extra, solved = np.zeros((count, len(e.extra_states))), np.ones(count, dtype=bool)
    for i in range(count):
        try:
            found = consistent_start(problem, requested.of(i), parameters=requested.parameters[i], inputs=requested.inputs[i])
        except StartError:
            solved[i] = False
        else:
            q[i], v[i], extra[i] = found.q, found.v, found.x[len(found.x) - len(e.extra_states) :]
    return BatchStart(q, v, extra, solved, ~solved, requested.parameters)


def refusal(problem: StartProblem, requested: BatchTargets, member: int) -> StartError:
    """The error that explains why a refused member has no start."""
    try:
        consistent_start(problem, requested.of(member), parameters=requested.parameters[member], inputs=requested.inputs[member])
    except StartError as why:
        return why
    raise ArgumentError(f"member {member} has a start")


def _positions(problem: StartProblem, requested: BatchTargets) -> tuple[Reals, Bools]:
    """Coordinates; solved once where all members have the same data."""
    count = len(requested)
    mine = [n for n in requested.targets if problem.kinds[n] == "coordinates"]
    mine += [
        n for n in requested.targets if problem.kinds[n] == "outputs" and not problem.velocity_dependent[problem.output_rows[n]]
    ]
    what = [requested.inputs, requested.parameters, *(requested.targets[n] for n in mine)]
    same = count > 1 and all((numbers == numbers[0]).all() for numbers in what)
    one = requested.rows(np.array([0])) if same else requested
    q, found, _ = _solve(problem, one, "position", np.zeros(0))
    return (np.repeat(q, count, axis=0), np.repeat(found, count)) if same else (q, found)


def _solve(problem: StartProblem, requested: BatchTargets, name: str, q: Reals) -> tuple[Reals, Bools, Bools]:
    """Unknowns of a level, whether they were found, and whether their rows are independent; velocities at coordinates `q`."""
    members = len(requested)
    evaluation = problem.take_evaluation((0.0, requested.inputs[0], requested.parameters[0]))
    q0, v0 = (reference_of(d, names, requested.near) for d, names in zip(problem.defaults, problem.unknowns, strict=True))
    length = problem.scales.typical_lengths(requested.parameters, q0)[:, None]
    first: dict[str, dict[str, float]] = {"coordinates": {}, "velocities": {}, "outputs": {}, "states": {}}
    for target, column in requested.targets.items():
        first[problem.kinds[target]][target] = float(column[0])
    if name == "position":
        scale = problem.scales.coordinates(q0, length)
        level = position_level(problem, Targets(**first), evaluation, q0, v0, scale[0], problem.scales.max_steps)
        q = np.tile(q0, (members, 1))
    else:
        scale = problem.scales.velocities(length)
        level = velocity_level(problem, Targets(**first), evaluation, q[0], v0, scale[0], float(length[0, 0]))
    batch, task = _batch(level, requested, scale), Task()
    batch.length = np.ascontiguousarray(length[:, 0])
    batch.q, batch.v = np.ascontiguousarray(q), np.tile(v0, (members, 1))
    task.what, task.system, task.other, task.batch = BATCH, level.full_system.memory, level.without_targets().memory, batch
    solver_code(at_once=members < MANY)
    run(task, evaluation)
    level.full_system.release()
    problem.give_back(evaluation)
    return batch.found, batch.way > 0, batch.full_rank == 1


def _batch(level: Level, requested: BatchTargets, scale: Reals) -> Batch:
    """The data that differ from member to member."""
    members, full_system, batch = len(requested), level.full_system, Batch()
    batch.members = members
    batch.scale = np.ascontiguousarray(np.broadcast_to(scale, (members, len(level.unknowns))), dtype=float)
    batch.reference = np.tile(full_system.reference, (members, 1))
    batch.target = np.zeros((members, len(full_system.target)))
    for name in level.prescribed:
        batch.reference[:, level.unknowns.index(name)] = requested.targets[name]
    for k, name in enumerate(level.output_targets):
        batch.target[:, len(level.constraints) + k] = requested.targets[name]
    batch.u, batch.p = (np.ascontiguousarray(numbers, dtype=float) for numbers in (requested.inputs, requested.parameters))
    batch.found = np.empty_like(batch.reference)
    batch.way, batch.full_rank = np.zeros(members, dtype=np.int64), np.zeros(members, dtype=np.int64)
    return batch
