"""Episodes of many environments side by side: steps, rewards, ends and resets, independent of Gymnasium.

An episode is *terminated* where a condition of `terminate` holds, where a stopping event of the model occurs, and where the motion
cannot be continued (a singular position, constraints that cannot be kept, values that are not finite); the status says which. It is
*truncated* where it reaches its time limit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from draisine.errors import ArgumentError
from draisine.learning.quantities import Actions, Expressions, Law, Observe, Part, observed_texts
from draisine.learning.starts import BLOCK, EpisodeStarts, Reset
from draisine.model.items import System
from draisine.model.model import Model
from draisine.program.equations import Equations, Event, Quantity
from draisine.results.status import Ending, Status
from draisine.simulation.ensemble.fixed_step_batch import FixedStepBatch, StepProblem

Reals = NDArray[np.float64]
Bools = NDArray[np.bool_]
Terminate = Law | Mapping[str, Law] | Callable[..., Any] | None


@dataclass(frozen=True, eq=False)
class Task:
    """What is learned: equations, what is observed, done and rewarded, and when an episode ends."""

    equations: Equations
    problem: StepProblem
    actions: Actions
    observe: Part
    observed: tuple[Quantity, ...]
    reward: Part
    terminate: Part
    terminations: tuple[str, ...]  # names of the conditions
    events: Part | None
    stops: tuple[tuple[int, Event], ...]  # stopping events by their place
    limit: int | None  # steps of an episode

    @staticmethod
    def of(
        equations: Equations,
        observe: Observe,
        act: Mapping[str, Any],
        reward: Law | Callable[..., Any],
        terminate: Terminate,
        step: float,
        substeps: int,
        until: float | None,
    ) -> Task:
        """Compile what is given as texts; functions are called with columns of the quantities that their parameters name."""
        actions = Actions.of(equations, act)
        expressions = Expressions(equations, actions.names)
        if callable(observe):
            seen, observed = expressions.function(observe, "observe"), ()
        else:
            texts, observed = observed_texts(equations, observe)
            seen = expressions.part(list(texts.values()), "observe")
        paid = expressions.any_part(reward, "reward")
        ends, names = _terminations(expressions, terminate)
        stops = tuple((k, event) for k, event in enumerate(equations.event_list) if event.action == "stop")
        events = expressions.events(equations.events) if stops and equations.events is not None else None
        problem = StepProblem(
            equations, step, substeps, expressions.stacked, expressions.symbols, actions.indices, actions.low, actions.high
        )
        limit = None if until is None else max(1, round(until / step))
        return Task(equations, problem, actions, seen, observed, paid, ends, names, events, stops, limit)


def _terminations(expressions: Expressions, given: Terminate) -> tuple[Part, tuple[str, ...]]:
    if given is None:
        return expressions.part([], "terminate"), ()
    if isinstance(given, Mapping):
        return expressions.part(list(given.values()), "terminate"), tuple(given)
    return expressions.any_part(given, "terminate"), (str(given) if isinstance(given, str) else "condition",)


class Outcome(NamedTuple):
    """The results of a step."""

    observation: Reals  # (members, entries)
    reward: Reals  # (members)
    terminated: Bools
    truncated: Bools
    status: dict[int, Status]  # of the members whose episode ended


class Episodes:
    """The episodes of all members, and their present states."""

    def __init__(
        self,
        task: Task,
        members: int,
        reset: Reset,
        parameters: Mapping[str, Any],
        inputs: Mapping[str, float],
        threads: int | None,
        model: Model | System | Equations,
    ) -> None:
        self.task, self.members = task, members
        block = 1 if members == 1 else max(BLOCK, members)
        self.starts = EpisodeStarts.of(model, task.equations, reset, parameters, inputs, block)
        self.batch = FixedStepBatch(task.problem, members, threads)
        self.steps = np.zeros(members, dtype=np.int64)
        self._before = np.zeros((members, 0 if task.events is None else len(task.equations.event_list)))

    def restart(self, which: NDArray[np.intp], random: np.random.Generator, targets: Mapping[str, Any] | None = None) -> None:
        """Begin new episodes; `targets` replace those of the reset."""
        if targets:
            parts = [self.starts.given(targets, random) for _ in which]
            x, p = (np.concatenate([part[k] for part in parts]) for k in range(2))
        else:
            x, p = self.starts.take(random, len(which))
        self.batch.place(which, x, np.tile(self.starts.inputs, (len(which), 1)), p)
        self.steps[which] = 0
        if self.task.events is not None:
            self._before[which] = self.task.events(self.batch.values[which])

    def observation(self) -> Reals:
        """What all members see now, as a copy."""
        return np.array(self.task.observe(self.batch.values[: self.members]), dtype=float, order="C")

    def step(self, actions: Reals) -> Outcome:
        """One step of all members. The reward is that of the state after the step and of the action that led there."""
        task = self.task
        ended = self.batch.advance(actions)
        self.steps += 1
        values = self.batch.values[: self.members]
        reward = np.array(task.reward(values)[:, 0], dtype=float)
        terminated = np.zeros(self.members, dtype=bool)
        status: dict[int, Status] = {}
        if task.terminations:
            self._conditions(np.nan_to_num(task.terminate(values), nan=1.0) != 0.0, terminated, status)
        if task.events is not None:
            self._stopping_events(task.events(values), terminated, status)
        for member, why in ended.items():
            terminated[member], status[member] = True, why
        if not np.isfinite(reward).all():
            for member in np.flatnonzero(~np.isfinite(reward)):
                terminated[member] = True
                status.setdefault(int(member), Status(Ending.NOT_FINITE, f"the reward is not finite at t = {self._time(member):g} s"))
                reward[member] = 0.0
        truncated = np.zeros(self.members, dtype=bool) if task.limit is None else (self.steps >= task.limit) & ~terminated
        for member in np.flatnonzero(truncated):
            status[int(member)] = Status(Ending.FINISHED, f"reached t = {self._time(member):g} s")
        return Outcome(self.observation(), reward, terminated, truncated, status)

    def _time(self, member: int) -> float:
        return float(self.steps[member] * self.task.problem.step)

    def _conditions(self, holds: Bools, terminated: Bools, status: dict[int, Status]) -> None:
        for member in np.flatnonzero(holds.any(axis=1)):
            which = int(np.argmax(holds[member]))
            name = self.task.terminations[min(which, len(self.task.terminations) - 1)]
            terminated[member] = True
            status[int(member)] = Status(Ending.EVENT, f"{name} at t = {self._time(member):g} s")

    def _stopping_events(self, now: Reals, terminated: Bools, status: dict[int, Status]) -> None:
        """Events whose function changed its sign since the last step, in the direction of the event."""
        before = self._before
        for k, event in self.task.stops:
            rose = (before[:, k] < 0.0) & (now[:, k] >= 0.0) & (event.direction >= 0)
            fell = (before[:, k] > 0.0) & (now[:, k] <= 0.0) & (event.direction <= 0)
            for member in np.flatnonzero(rose | fell):
                terminated[member] = True
                text = event.description or event.name
                status[int(member)] = Status(Ending.EVENT, f"{event.name}: {text} before t = {self._time(member):g} s")
        self._before = np.array(now)


def checked_step(step: float, substeps: int, until: float | None) -> None:
    """Refuse steps and durations that are not positive."""
    if isinstance(step, bool) or not isinstance(step, int | float) or not (math.isfinite(step) and step > 0.0):
        raise ArgumentError(f"environment: step is the time between two actions in seconds, positive and finite, got {step!r}")
    if isinstance(substeps, bool) or not isinstance(substeps, int) or substeps < 1:
        raise ArgumentError(f"environment: substeps is the number of integration steps from one action to the next, got {substeps!r}")
    if until is not None and (isinstance(until, bool) or not isinstance(until, int | float) or not until >= step):
        raise ArgumentError(f"environment: until is the duration of an episode in seconds, at least one step, got {until!r}")
