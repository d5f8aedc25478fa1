"""Position and velocity level of a start as residual systems: their memory is filled and read here and solved by `search`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property

import numpy as np

from draisine.codegen.restricted.entry import Code, Entry
from draisine.simulation.initial import memory
from draisine.simulation.initial.evaluation import Bools, Evaluation, Indices, Reals, Variables
from draisine.simulation.initial.interpreted import interpreted
from draisine.simulation.initial.memory import FULFILLED, SHAPES, Factors, Point, System, Task
from draisine.simulation.initial.problem import NO_ASSEMBLIES, Assemblies, Layout, StartProblem, Targets
from draisine.simulation.initial.rest_groups import NO_REST, RestRows

MAX_RESTED = 200  # with more free velocities than this, none are set to rest
MAX_IDLE = 32  # idle memories kept for later starts


class Way(StrEnum):
    """How a start was found, in the order of `memory.NEWTON` and following."""

    NEWTON = "Newton from the defaults"
    DIFFERENCE = "Newton from perturbed defaults"
    CONTINUATION = "continuation in the targets"
    DESCENT = "descent towards the targets"
    RESTART = "Newton from random points"


@dataclass(frozen=True, eq=False)
class Solution:
    """The end of a search. If it failed, the residuals are the smallest found."""

    system: ResidualSystem
    z: Reals
    y: Reals
    residual: Reals
    weight: Reals
    relative_residual: float
    rank: int  # number of independent rows
    way: Way

    @property
    def fulfilled(self) -> bool:
        return self.relative_residual <= FULFILLED

    @cached_property
    def _basis(self) -> Reals:
        """Orthonormal basis of the row space of the Jacobian by z."""
        self.system.at(self.z)
        factors = self.system.memory.factors
        return factors.basis[factors.order[: factors.rank]]  # a copy

    def along(self, direction: Reals) -> Reals:
        """The projection of a direction onto the null space of the Jacobian."""
        return direction - self._basis.T @ (self._basis @ direction)


@dataclass(frozen=True, eq=False)
class ResidualSystem:
    """Residuals of one level: constraints, outputs minus their targets, and linear rows."""

    labels: tuple[str, ...]  # of the rows
    names: tuple[str, ...]  # of the unknowns
    of: Variables
    evaluation: Evaluation
    layout: Layout
    target: Reals
    default: Reals
    reference: Reals  # the same with targets of prescribed unknowns
    free: Bools
    scale: Reals
    max_step: Reals
    rest: RestRows | None  # what is set to rest
    length: float
    ground: Assemblies
    linear: tuple[Reals, Reals] | None = None  # matrix · y = offset

    @cached_property
    def columns(self) -> Indices:
        """The free unknowns."""
        return np.flatnonzero(self.free)

    @cached_property
    def memory(self) -> System:
        """The memory of the solver; reused from an earlier start with the same target names."""
        s = self.evaluation.idle.pop(self._key, None) or self._new_memory()
        s.scale[:], s.max_step[:], s.reference[:], s.default[:] = self.scale, self.max_step, self.reference, self.default
        s.target[: len(self.target)], s.length = self.target, self.length
        if self.linear is not None:
            s.matrix[:], s.target[len(self.target) :] = self.linear
        return s

    def release(self) -> None:
        """Release the memory for later starts."""
        idle, own = self.evaluation.idle, vars(self).pop("memory", None)
        if len(idle) > MAX_IDLE:
            idle.clear()
        if own is not None:
            idle[self._key] = own

    @property
    def _key(self) -> tuple[Hashable, ...]:
        return self.layout, self.free.tobytes(), self.linear is None, self.rest

    def _new_memory(self) -> System:
        layout, columns = self.layout, self.columns
        n, f, e = len(self.reference), len(columns), len(layout.source)
        linear = 0 if self.linear is None else len(self.linear[1])
        m = len(layout.take) + linear
        rest = self.rest_rows()
        entries = layout.entries(rest.value)
        g = f if len(rest.group) else 0
        s = System()
        s.unknowns, s.free, s.rows, s.linear, s.entries = n, f, m, linear, e
        s.rest, s.groups = len(rest.group), int(rest.group.max(initial=0))
        s.homogeneous = 1 if self.of == "v" else 0
        s.current, s.trial, s.factors = Point(), Point(), Factors()
        ground = self.ground if self.of == "q" else NO_ASSEMBLIES
        s.assemblies = ground.count
        for record in (s, s.current, s.trial, s.factors):
            _allocate(
                record, n=n, f=f, m=m, l=linear, g=g, a=len(ground.points), b=len(ground.turns), r=s.rest, h=len(entries[0])
            )
        if ground.count:
            s.point_x[:], s.point_y[:], s.point_assembly[:] = ground.points.T
            s.turn[:], s.turn_kind[:], s.turn_assembly[:] = ground.turns.T
        s.motion = self.evaluation.motion(self.of)
        s.argument, s.derivatives = self.evaluation.arguments[self.of], self.evaluation.entries[self.of]
        s.take, s.source, s.row, s.column, s.columns = layout.take, layout.source, layout.row, layout.column, columns
        s.prescribed[:] = ~self.free
        s.rest_group[:], s.rest_value[:], s.rest_meters[:] = rest.group, rest.value, rest.in_meters
        s.rest_free[:] = np.searchsorted(columns, rest.unknown) * (rest.unknown >= 0) - (rest.unknown < 0)
        s.rest_source[:], s.rest_row[:], s.rest_column[:] = entries
        s.targeted[: len(layout.is_output)] = layout.is_output
        s.period[: len(layout.period)] = layout.period
        return s

    def rest_rows(self) -> RestRows:
        """What is set to rest of free unknowns; nothing where there are too many of them."""
        if self.rest is None or len(self.columns) > MAX_RESTED:
            return NO_REST
        return self.rest.within(self.free)

    def _run(self, what: int, other: System | None = None, thorough: bool = False) -> int:
        task = Task()
        task.what, task.system, task.other = what, self.memory, self.memory if other is None else other
        task.thorough = int(thorough)
        return run(task, self.evaluation)

    def _end(self) -> Solution:
        s, h = self.memory, self.memory.current
        copies = h.z.copy(), h.y.copy(), h.residual.copy(), h.weight.copy()
        return Solution(self, *copies, h.relative_residual, s.factors.rank, tuple(Way)[max(s.way - 1, 0)])

    def find(self, base: Callable[[], ResidualSystem] | None = None, thorough: bool = True) -> Solution:
        """The solution closest to the reference, or if there is none, a point of small residuals.

        `base` makes the system without targets, only if it is needed; `thorough` allows restarts.
        """
        if not self._run(memory.FIND):
            if base is None:
                self._run(memory.FIND_ALONE, thorough=thorough)
            else:
                self._run(memory.FIND_FAR, base().memory, thorough)
        return self._end()

    def at(self, z: Reals) -> Solution:
        """Residuals and rank at the changes z."""
        self.memory.current.z[:] = z
        self._run(memory.EVALUATE)
        return self._end()

    def at_unknowns(self, y: Reals) -> Solution:
        """The same at given unknowns."""
        return self.at((y - self.memory.reference)[self.columns] / self.scale[self.columns])

    def restore(self, z: Reals) -> Solution:
        """Solve by Newton's method from the changes z."""
        self.memory.current.z[:] = z
        self._run(memory.RESTORE)
        return self._end()

    def rest_velocities(self) -> Solution:
        """The last solution with the velocities that are not given at rest, group by group."""
        self._run(memory.REST)
        return self._end()

    def aligned_reference(self) -> Reals:
        """The reference, turned and shifted towards the targets."""
        self.memory.current.z[:] = 0.0
        self._run(memory.ALIGN)
        return self.memory.reference.copy()

    def continued(self, begin: Reals) -> Reals:
        """The end of a continuation of the targets from their values at `begin` to the required values."""
        self.memory.begin[:] = begin
        self._run(memory.CONTINUE)
        return self.memory.last_y.copy()

    def descend(self, begin: Solution, aim: ResidualSystem) -> Solution:
        """From a solution to one with the smallest error of the targets of `aim`."""
        self.memory.current.z[:] = begin.z
        self._run(memory.EVALUATE)
        self._run(memory.DESCEND, aim.memory)
        return self._end()

    def jacobian_at(self, y: Reals) -> Reals:
        """The Jacobian of the rows by all unknowns."""
        self.at_unknowns(y)
        return self.memory.current.jacobian.copy()

    @property
    def least_size(self) -> Reals:
        """Smallest sizes of the unknowns in weights, after a search."""
        return self.memory.least_size


def _allocate(record: System | Point | Factors, **sizes: int) -> None:
    """Allocate the arrays of a record."""
    shapes = SHAPES[type(record).__name__]
    record.allocate({name: tuple(sizes[letter] for letter in shape) for name, shape in shapes.items()})


_SOURCES = ("memory", "residual_system", "ground_pose", "newton", "descent", "rest_velocities")
SOLVER = Entry("draisine.simulation.initial.search", "run", tuple(f"draisine.simulation.initial.{name}" for name in _SOURCES))


def solver_code(at_once: bool = True) -> Code:
    """The solver as machine code, compiled once per machine; `at_once`: see `Entry.load`."""
    return SOLVER.load(at_once)


def run(task: Task, evaluation: Evaluation) -> int:
    """Run a task, in the interpreter while nothing is compiled; exceptions of Python callbacks are raised here."""
    output = interpreted(SOLVER, task)
    if output is None:
        output = solver_code()(task)
    if evaluation.failures:
        raise evaluation.failures.pop()
    return output


@dataclass(frozen=True, eq=False)
class Level:
    """One stage: its unknowns with references and scales, and the targets that belong to it.

    `prescribed` are targets of unknowns themselves, `output_targets` targets of outputs. `implied_rows` are linear rows that
    the equations imply without having them among their constraints.
    """

    name: str  # "position" or "velocity"
    problem: StartProblem
    evaluation: Evaluation
    unknowns: tuple[str, ...]
    reference: Reals
    scale: Reals
    max_step: Reals
    rest: RestRows | None  # what is set to rest
    length: float  # typical length of the system
    prescribed: Mapping[str, float]
    output_targets: Mapping[str, float]
    implied_rows: tuple[Reals, Reals] | None = None

    @property
    def constraints(self) -> tuple[int, ...]:
        """The constraints of this level, by their number."""
        return self.problem.constraints[self.name]

    @cached_property
    def targets(self) -> dict[str, float]:
        return {**self.prescribed, **self.output_targets}

    @cached_property
    def full_system(self) -> ResidualSystem:
        """All constraints and all targets."""
        return self.system(self.targets)

    def without_targets(self) -> ResidualSystem:
        """The constraints alone."""
        return self.system(())

    def target_system(self, target: str, perturb: ResidualSystem) -> ResidualSystem:
        """One target without constraints, with the references of another system in which it is free."""
        return replace(replace(self, implied_rows=None).system((target,), without=self.constraints), reference=perturb.reference)

    def system(
        self, targets: Collection[str], without: Collection[int] = (), loose: Collection[str] = (), frozen: Bools | None = None
    ) -> ResidualSystem:
        """The constraints but those `without`, and the named targets.

        `loose` are unknowns that begin at their target without being held at it; `frozen` are unknowns that stay at their
        references although no target requires it.
        """
        reference, free = self.reference.copy(), np.ones(len(self.unknowns), dtype=bool)
        for name, value in self.prescribed.items():
            if name in targets or name in loose:
                place = self.unknowns.index(name)
                reference[place] = value
                free[place] = name in loose
        if frozen is not None:
            free &= ~frozen
        constraints = tuple(i for i in self.constraints if i not in without) if without else self.constraints
        outputs = tuple(name for name in self.output_targets if name in targets)
        layout = self.problem.layout(self.name, constraints, outputs)
        target = np.array([0.0] * len(constraints) + [self.output_targets[name] for name in outputs])
        implied_rows = () if self.implied_rows is None else tuple(f"dependence of {name}" for name in self.unknowns)
        return ResidualSystem(
            labels=layout.labels + implied_rows,
            names=self.unknowns,
            of="q" if self.name == "position" else "v",
            evaluation=self.evaluation,
            layout=layout,
            target=target,
            default=self.reference,
            reference=reference,
            free=free,
            scale=self.scale,
            max_step=self.max_step,
            rest=self.rest,
            length=self.length,
            ground=self.problem.assemblies,
            linear=self.implied_rows,
        )


def position_level(
    problem: StartProblem, targets: Targets, evaluation: Evaluation, q: Reals, v: Reals, scale: Reals, max_step: Reals
) -> Level:
    """The position level: coordinates and values that depend on them alone. `q` and `v` are references."""
    evaluation.arguments["v"][:] = v
    names = problem.unknowns[0]
    output_targets = {n: a for n, a in targets.outputs.items() if not problem.velocity_dependent[problem.output_rows[n]]}
    return Level("position", problem, evaluation, names, q, scale, max_step, None, 1.0, targets.coordinates, output_targets)


def velocity_level(
    problem: StartProblem, targets: Targets, evaluation: Evaluation, q: Reals, v: Reals, scale: Reals, length: float
) -> Level:
    """The velocity level at given coordinates; what is not given is set to rest where possible."""
    evaluation.arguments["q"][:] = q
    names = problem.unknowns[1]
    output_targets = {n: a for n, a in targets.outputs.items() if problem.velocity_dependent[problem.output_rows[n]]}
    max_step = np.full(len(names), np.inf)
    rest = problem.rest_rows(frozenset((*targets.velocities, *output_targets)))
    return Level("velocity", problem, evaluation, names, v, scale, max_step, rest, length, targets.velocities, output_targets)


def ordered_level(level: Level, orders: Indices, length: float) -> Level:
    """The level of a mechanism's unknowns of these orders in 0 = F(t, x, ẋ): velocities have their scale and come to rest."""
    problem = level.problem
    speeds = np.array([c.unit == "m/s" for c in problem.equations.coordinates], dtype=bool)
    moving = {name for name, order in zip(level.unknowns, orders, strict=True) if order == 1 and name in level.prescribed}
    order_of = problem.orders(orders)
    moving |= {name for name in level.output_targets if order_of[problem.output_rows[name]] == 1}
    scale = np.where(orders == 1, np.where(speeds, length, 1.0), level.scale)
    return replace(level, scale=scale, length=length, rest=problem.rest_rows(frozenset(moving)))


def ordered_system(level: Level, orders: Indices, order: int, targeted: bool = True) -> ResidualSystem:
    """Positions (order 0), velocities (1) or forces (2) of such a level; all others stay at their references."""
    order_of = level.problem.orders(orders)
    others = [i for i in level.constraints if order_of[i] != order]
    outputs = [name for name in level.output_targets if order_of[level.problem.output_rows[name]] == order]
    own = replace(level, rest=level.rest if order == 1 else None)
    return own.system([*level.prescribed, *outputs] if targeted else (), without=others, frozen=orders != order)
