"""Driver of compiled fixed steps (`fixed_steps`): a batch of states that is advanced again and again, each time by new inputs."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from draisine.codegen.jit.kernel import Kernel, compile
from draisine.codegen.restricted.entry import Entry
from draisine.codegen.simd import VectorKernel, compile_vector
from draisine.numerics.parallel import split_rows
from draisine.program.equations import Equations
from draisine.program.program import Program
from draisine.results.status import Ending, Status
from draisine.simulation.compiled_equations import CompiledEquations, prepared
from draisine.simulation.ensemble.fixed_steps import FixedSteps
from draisine.simulation.event_polynomials import bernstein_basis
from draisine.simulation.methods.rk4 import RK4
from draisine.simulation.methods.selection import projection_threshold
from draisine.simulation.run import integrate
from draisine.simulation.singular_passage import has_loops

Reals = NDArray[np.float64]
Integers = NDArray[np.int64]

LEAST_PER_THREAD = 128  # members; for fewer a thread takes longer to wake than to step them
PATH_DEGREE = 4  # of the polynomials by which stopping events are bounded in a step
_SOURCES = ("draisine.simulation.ensemble.fixed_steps", "draisine.simulation.stepper.explicit_rk")
_MORE_SOURCES = tuple(f"draisine.simulation.stepper.{name}" for name in ("layout", "sliding"))


@dataclass(frozen=True, eq=False)
class StepProblem:
    """What is the same for all members of a batch: equations, step, the actions among the inputs, and reported values."""

    equations: Equations
    step: float  # from one action to the next
    substeps: int
    values: ca.SX  # as expressions of `symbols`
    symbols: Sequence[ca.SX]  # t, x, u, p
    acts: Integers  # indices of the inputs that actions set
    low: Reals
    high: Reals
    conditions: Integers = field(default_factory=lambda: np.zeros(0, dtype=np.int64))  # values that flag members, see `examine`
    crossings: Integers = field(default_factory=lambda: np.zeros(0, dtype=np.int64))  # values of stopping events …
    directions: Integers = field(default_factory=lambda: np.zeros(0, dtype=np.int64))  # … and directions in which they stop

    @property
    def method(self) -> RK4:
        return RK4(self.step / self.substeps)

    @property
    def compiled(self) -> CompiledEquations:
        return prepared(self.equations).choices.compiled(self.equations.choice)

    @property
    def in_batches(self) -> bool:
        """Whether steps are made side by side. Equations that switch, solve linear systems at run time, or close loops have steps
        of their own, and so have tables of time."""
        e, compiled = self.equations, self.compiled
        plain = all(isinstance(what, Program) for what in (e.dynamics, e.project or e.dynamics))
        return plain and compiled.switching is None and compiled.time_marks is None and not has_loops(e)

    def guarded(self, more: ca.SX) -> Program:
        """The program of residual, condition number and `more` values."""
        e, given = self.equations, list(self.symbols)
        error, condition = ca.SX(0), ca.SX(1)
        if isinstance(e.project, Program):
            error = e.project.function.call(given)[1]
        if e.monitor is not None:
            condition = e.monitor.function.call(given)[0]
        assert isinstance(e.dynamics, Program)
        slots = {slot.name: (s, slot.labels) for slot, s in zip(e.dynamics.inputs, given, strict=True)}
        return Program.build(f"{e.name}_after_step", slots, {"found": ca.vertcat(error, condition, more)}, shared=True)

    @property
    def isolates(self) -> bool:
        """Whether events are looked for within steps, as in single runs: required conditions alone are judged at their ends."""
        return any(event.action == "stop" and event.ending == Ending.EVENT for event in self.equations.event_list)

    def event_states(self) -> Integers:
        """The states on which stopping events depend."""
        values = self.values[self.crossings.tolist()]
        return np.array([i for i, s in enumerate(ca.vertsplit(self.symbols[1])) if ca.depends_on(values, s)], dtype=np.int64)

    def stopping(self) -> Program:
        """The program of the functions of stopping events."""
        slots = dict(zip(("t", "x", "u", "p"), self.symbols, strict=True))
        return Program.build(f"{self.equations.name}_stopping", slots, {"found": self.values[self.crossings.tolist()]})

    def reported(self) -> Kernel:
        """The kernel of the values alone."""
        names = ("t", "x", "u", "p")
        program = Program.build(
            f"{self.equations.name}_values", dict(zip(names, self.symbols, strict=True)), {"found": self.values}
        )
        return compile(program, vectorized=True)


class FixedStepBatch:
    """States of `members`, advanced together. `x` and `parameters` of members are set by `place`."""

    def __init__(self, problem: StepProblem, members: int, threads: int | None = None) -> None:
        self._problem, self.members = problem, members
        e = problem.equations
        self._vector = _Kernels.of(problem) if problem.in_batches else None
        self.lanes = lanes = 1 if self._vector is None else self._vector.dynamics.lanes
        groups = -(-members // lanes)
        whole = groups * lanes
        hoisted = problem.compiled.dynamics
        assert hoisted is not None
        self._extended = np.asarray if self._vector is None else hoisted.extended
        extended = self._extended(e.default_parameters[None]).shape[1]
        self._x = np.zeros((groups, len(e.states) * lanes))
        self._u = np.zeros((groups, len(e.inputs) * lanes))
        self._p = np.zeros((groups, extended * lanes))
        self.parameters = np.tile(e.default_parameters, (members, 1))
        self.time = np.zeros(whole)
        self.values = np.zeros((whole, problem.values.numel()))
        self.rare = np.zeros(whole, dtype=np.int64)
        self.flags = np.zeros(whole, dtype=np.int64)  # members that the last step has flagged
        self.before, self.after = (np.zeros((whole, len(problem.crossings))) for _ in range(2))  # values of crossings
        self._actions = np.zeros((whole, len(problem.acts)))
        self._report = problem.reported()
        self._each = groups
        self._memories: list[FixedSteps] = []
        if self._vector is not None:
            count = max(1, min(threads or os.cpu_count() or 1, members // LEAST_PER_THREAD))
            self._each = -(-groups // count)
            self._memories = [self._memory(first, min(first + self._each, groups)) for first in range(0, groups, self._each)]
            self._code = fixed_step_entry(lanes).load()
        self._groups = np.arange(groups, dtype=float)  # rows that threads share

    # ---------------------------------------------------------------- members

    def place(self, which: Integers, x: Reals, inputs: Reals, parameters: Reals) -> None:
        """Put members at states, at time zero, with inputs and parameters."""
        for target, rows in ((self._x, x), (self._u, inputs), (self._p, self._extended(parameters))):
            self._set(target, which, rows)
        self.parameters[which] = parameters
        self.time[which] = 0.0
        self.values[which] = self.report(which)
        self.after[which] = self.values[which][:, self._problem.crossings]

    def states(self, which: Integers) -> Reals:
        """The states of members, as a copy."""
        return self._rows(self._x, which)

    def inputs(self, which: Integers) -> Reals:
        """The inputs of members, as a copy."""
        return self._rows(self._u, which)

    def report(self, which: Integers) -> Reals:
        """The values at the present states of members."""
        found = self._report.map(self.time[which][:, None], self.states(which), self.inputs(which), self.parameters[which])
        return np.asarray(found[0]).reshape(len(which), -1)

    def _rows(self, blocks: Reals, which: Integers) -> Reals:
        sorted_by_lane = blocks.reshape(len(blocks), -1, self.lanes)
        return np.asarray(sorted_by_lane[which // self.lanes, :, which % self.lanes])

    def _set(self, blocks: Reals, which: Integers, rows: Reals) -> None:
        blocks.reshape(len(blocks), -1, self.lanes)[which // self.lanes, :, which % self.lanes] = rows

    # ---------------------------------------------------------------- steps

    def advance(self, actions: Reals) -> dict[int, Status]:
        """One step of all members under their actions; the values are those after it.

        Returned are the members whose run ended, or that did not reach the end of the step, with their status.
        """
        self._actions[: self.members] = actions
        if self._vector is None:
            self._apply(self._actions[: self.members])
            rare = np.arange(self.members)
        else:
            split_rows(self._advance_part, [self._groups], self._each)
            rare = np.flatnonzero(self.rare[: self.members])
        ended = {int(member): status for member in rare if (status := self._single(int(member))) is not None}
        self.time += self._problem.step
        return ended

    def _advance_part(self, rows: list[Reals]) -> None:
        memory = self._memories[int(rows[0][0]) // self._each]
        self._code(memory)

    def _apply(self, actions: Reals) -> None:
        everyone = np.arange(self.members)
        inputs = self.inputs(everyone)
        inputs[:, self._problem.acts] = np.clip(actions, self._problem.low, self._problem.high)
        self._set(self._u, everyone, inputs)

    def _single(self, member: int) -> Status | None:
        """The step of one member by the driver of single runs; its status if it ended there."""
        e, which = self._problem.equations, np.array([member])
        x, u, p, t = self.states(which)[0], self.inputs(which)[0], self.parameters[member], float(self.time[member])
        run = integrate(
            prepared(e).choices, x, t + self._problem.step, start=t, parameters=p, inputs=u, method=self._problem.method
        )
        last = run.segments[-1].equations
        end = run.final_state if last.choice == e.choice else last.translated(e, run.final_time, run.final_state, u, p)
        finite = bool(np.isfinite(end).all())
        if finite:
            self._set(self._x, which, end[None])
        self.values[member] = self._report(run.final_time, end if finite else x, u, p)[0].reshape(-1)
        self.before[member], self.after[member] = self.after[member], self.values[member, self._problem.crossings]
        self.rare[member], self.flags[member] = 0, 1
        if run.status.kind == Ending.FINISHED and finite:
            return None
        return run.status

    def _memory(self, first: int, last: int) -> FixedSteps:
        """The record of one thread: the groups from `first` to before `last`."""
        problem, kernels, made = self._problem, self._vector, FixedSteps()
        assert kernels is not None
        e, scheme, lanes = problem.equations, problem.method.scheme, self.lanes
        made.lanes, made.first, made.last, made.substeps = lanes, first, last, problem.substeps
        made.reported = self.values.shape[1]
        made.states, made.step = len(e.states), problem.step / problem.substeps
        made.projections, made.limit = e.limits.projections, e.limits.condition if e.monitor is not None else math.inf
        made.threshold = e.limits.residual or projection_threshold(problem.method)
        made.dynamics, made.report = kernels.dynamics.address, kernels.report.address
        made.project = 0 if kernels.project is None else kernels.project.address
        made.guard = 0 if kernels.guard is None else kernels.guard.address
        made.events = 0 if kernels.events is None else kernels.events.address
        basis = bernstein_basis(PATH_DEGREE)
        arrays: Mapping[str, NDArray[np.generic]] = {
            **{"weights": np.ascontiguousarray(scheme.weights), "nodes": np.ascontiguousarray(scheme.nodes)},
            **{"acts": problem.acts, "low": problem.low, "high": problem.high, "actions": self._actions, "time": self.time},
            **{"conditions": problem.conditions, "crossings": problem.crossings, "flags": self.flags},
            **{"directions": problem.directions, "event_states": problem.event_states(), "node": basis.nodes},
            **{"bernstein": basis.coefficients, "tail": np.ascontiguousarray(basis.tail[-2:])},
            **{
                "before": self.before,
                "after": self.after,
                "x": self._x,
                "u": self._u,
                "p": self._p,
                "values": self.values,
                "rare": self.rare,
            },
        }
        for name, array in arrays.items():
            setattr(made, name, array)
        width = len(e.states) * lanes
        shapes: dict[str, tuple[int, ...]] = dict.fromkeys(("now", "stage_time", "error", "check", "near"), (lanes,))
        shapes |= dict.fromkeys(("old", "new", "point"), (width,))
        shapes |= {"path": (len(basis.nodes), len(problem.crossings) * lanes), "part": (len(basis.nodes),)}
        made.allocate({**shapes, "rates": (scheme.stages, width), "found": ((2 + self.values.shape[1]) * lanes,)})
        return made


@dataclass(frozen=True, eq=False)
class _Kernels:
    """Vector kernels of a problem."""

    dynamics: VectorKernel
    project: VectorKernel | None
    guard: VectorKernel | None
    report: VectorKernel
    events: VectorKernel | None

    @staticmethod
    def of(problem: StepProblem) -> _Kernels:
        e = problem.equations
        assert isinstance(e.dynamics, Program)
        project = compile_vector(e.project, hoisted=False) if isinstance(e.project, Program) else None
        guarded = problem.substeps > 1 and (e.project is not None or e.monitor is not None)
        guard = compile_vector(problem.guarded(ca.SX(0, 1)), hoisted=False) if guarded else None
        report = compile_vector(problem.guarded(problem.values), hoisted=False)
        events = compile_vector(problem.stopping(), hoisted=False) if len(problem.crossings) and problem.isolates else None
        return _Kernels(compile_vector(e.dynamics), project, guard, report, events)


@cache
def fixed_step_entry(lanes: int) -> Entry:
    """The entry of the loop for groups of so many members."""
    fixed = {(FixedSteps, "lanes"): lanes}
    return Entry("draisine.simulation.ensemble.fixed_steps", "advance_fixed", (*_SOURCES, *_MORE_SOURCES), fixed, passes=2)
