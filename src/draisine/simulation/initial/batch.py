"""Consistent starts of a batch: the solver of single starts, member by member in compiled code."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from draisine.errors import StartError
from draisine.program.dae_residual import DaeResidual
from draisine.program.equations import Equations
from draisine.simulation.initial.consistent_start import consistent_start, reference_of
from draisine.simulation.initial.evaluation import Bools, Reals
from draisine.simulation.initial.memory import BATCH, Batch, Task
from draisine.simulation.initial.problem import InitialGuess, StartProblem, Targets
from draisine.simulation.initial.solver import Stage, run, stage_of_positions, stage_of_velocities


@dataclass(frozen=True, eq=False)
class Asked:
    """What is asked of a batch: targets by name, and the inputs and parameters of each member."""

    targets: Mapping[str, Reals]  # (members) each
    near: Mapping[str, float]
    inputs: Reals  # (members, m)
    parameters: Reals  # (members, p)

    def __len__(self) -> int:
        return len(self.parameters)

    def rows(self, which: NDArray[np.intp]) -> Asked:
        """Some of the members."""
        targets = {name: column[which] for name, column in self.targets.items()}
        return Asked(targets, self.near, self.inputs[which], self.parameters[which])

    def of(self, member: int) -> dict[str, float | InitialGuess]:
        """What is asked of one member, as `consistent_start` takes it."""
        near: dict[str, float | InitialGuess] = {name: InitialGuess(value) for name, value in self.near.items()}
        return near | {name: float(column[member]) for name, column in self.targets.items()}


@dataclass(frozen=True, eq=False)
class Begun:
    """Coordinates, all velocities and further states at the start; where not `settled` they mean nothing.

    Members that are `refused` have no start; those that are neither are left to `consistent_start`, since their equations have
    rows that only a report knows, or differential and algebraic unknowns.
    """

    q: Reals  # (members, coordinates)
    v: Reals  # (members, velocities)
    extra: Reals  # (members, further states)
    settled: Bools  # (members)
    refused: Bools  # (members)

    def states(self, equations: Equations) -> Reals:
        """The states in terms of a choice of independent velocities."""
        place = {velocity.name: i for i, velocity in enumerate(equations.velocities)}
        return np.column_stack([self.q, self.v[:, [place[name] for name in equations.independent]], self.extra])


def begin_all(problem: StartProblem, asked: Asked) -> Begun:
    """Starts of all members."""
    e, count = problem.equations, len(asked)
    extra = np.array([asked.targets.get(s.name, np.full(count, s.default)) for s in e.extra_states]).reshape(-1, count).T
    none = np.zeros(count, dtype=bool)
    if isinstance(e.dynamics, DaeResidual):
        q, v = (np.zeros((count, len(names))) for names in problem.unknowns)
        return Begun(q, v, extra, none, none)
    q, found = _positions(problem, asked)
    v, left = np.zeros((count, len(e.velocities))), none
    if e.velocities:
        v, moving, decided = _solve(problem, asked, "velocity", q)
        found = found & moving
        dependent = len(e.velocities) - len(e.independent)
        if dependent:  # rows that only the report knows are sought where constraints do not decide all dependent velocities
            left = found & ~decided if len(problem.constraints["velocity"]) >= dependent else found
    return Begun(q, v, extra, found & ~left, ~found)


def refusal(problem: StartProblem, asked: Asked, member: int) -> StartError:
    """Why a member that was refused has no start."""
    try:
        consistent_start(problem, asked.of(member), asked.parameters[member], inputs=asked.inputs[member])
    except StartError as why:
        return why
    raise ValueError(f"member {member} has a start")


def _positions(problem: StartProblem, asked: Asked) -> tuple[Reals, Bools]:
    """Coordinates; solved once where members do not differ in what they depend on."""
    count = len(asked)
    mine = [n for n in asked.targets if problem.kinds[n] == "coordinates"]
    mine += [n for n in asked.targets if problem.kinds[n] == "outputs" and not problem.moving[problem.places[n]]]
    what = [asked.inputs, asked.parameters, *(asked.targets[n] for n in mine)]
    same = count > 1 and all((numbers == numbers[0]).all() for numbers in what)
    one = asked.rows(np.array([0])) if same else asked
    q, found, _ = _solve(problem, one, "position", np.zeros(0))
    return (np.repeat(q, count, axis=0), np.repeat(found, count)) if same else (q, found)


def _solve(problem: StartProblem, asked: Asked, name: str, q: Reals) -> tuple[Reals, Bools, Bools]:
    """Unknowns of a stage, whether they were found, and whether their rows are independent; velocities at coordinates `q`."""
    members = len(asked)
    evaluation = problem.take_evaluation((0.0, asked.inputs[0], asked.parameters[0]))
    q0, v0 = (reference_of(d, names, asked.near) for d, names in zip(problem.defaults, problem.unknowns, strict=True))
    length = problem.scales.typical_lengths(asked.parameters, q0)[:, None]
    first: dict[str, dict[str, float]] = {"coordinates": {}, "velocities": {}, "outputs": {}, "states": {}}
    for target, column in asked.targets.items():
        first[problem.kinds[target]][target] = float(column[0])
    if name == "position":
        scale = problem.scales.coordinates(q0, length)
        stage = stage_of_positions(problem, Targets(**first), evaluation, q0, v0, scale[0], problem.scales.leaps)
        q = np.tile(q0, (members, 1))
    else:
        scale = problem.scales.velocities(length)
        stage = stage_of_velocities(problem, Targets(**first), evaluation, q[0], v0, scale[0])
    batch, task = _batch(stage, asked, scale), Task()
    batch.q, batch.v = np.ascontiguousarray(q), np.tile(v0, (members, 1))
    task.what, task.system, task.other, task.batch = BATCH, stage.whole.memory, stage.without_targets().memory, batch
    run(task, evaluation)
    stage.whole.release()
    problem.give_back(evaluation)
    return batch.found, batch.way > 0, batch.full_rank == 1


def _batch(stage: Stage, asked: Asked, scale: Reals) -> Batch:
    """What differs from member to member."""
    members, whole, batch = len(asked), stage.whole, Batch()
    batch.members = members
    batch.scale = np.ascontiguousarray(np.broadcast_to(scale, (members, len(stage.unknowns))), dtype=float)
    batch.reference = np.tile(whole.reference, (members, 1))
    batch.target = np.zeros((members, len(whole.target)))
    for name in stage.held:
        batch.reference[:, stage.unknowns.index(name)] = asked.targets[name]
    for k, name in enumerate(stage.aims):
        batch.target[:, len(stage.constraints) + k] = asked.targets[name]
    batch.u, batch.p = (np.ascontiguousarray(numbers, dtype=float) for numbers in (asked.inputs, asked.parameters))
    batch.found = np.empty_like(batch.reference)
    batch.way, batch.full_rank = np.zeros(members, dtype=np.int64), np.zeros(members, dtype=np.int64)
    return batch
