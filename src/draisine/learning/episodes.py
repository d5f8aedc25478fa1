"""Episodes of many environments side by side: steps, rewards, ends and resets, independent of Gymnasium.

An episode is *terminated* where a condition of `terminate` holds, where a stopping event of the model occurs, and where the
motion cannot be continued (a singular position, constraints that cannot be kept, values that are not finite); the status says
which. It is *truncated* where it reaches its time limit, and both where it terminates in its last step.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from draisine.errors import ArgumentError
from draisine.learning.quantities import Actions, Expressions, Law, Observe, Part, observed_texts
from draisine.learning.starts import BLOCK, EpisodeStarts, Reset
from draisine.model.model import Model
from draisine.model.system import System
from draisine.program.equations import Equations, Event, Quantity
from draisine.results.status import Ending
from draisine.simulation.ensemble.fixed_step_batch import FixedStepBatch, StepProblem
from draisine.simulation.ensemble.statistics import SEPARATOR
from draisine.simulation.run_warnings import passed_at_start, starts_beyond

Reals = NDArray[np.float64]
Bools = NDArray[np.bool_]
Random = np.random.Generator | Sequence[np.random.Generator]  # of all members together, or of each
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
        observed: tuple[Quantity, ...] = ()
        if callable(observe):
            seen = expressions.function(observe, "observe")
        else:
            texts, observed = observed_texts(equations, observe)
            seen = expressions.part(list(texts.values()), "observe")
        paid = expressions.any_part(reward, "reward")
        ends, names = _terminations(expressions, terminate)
        stops = tuple((k, event) for k, event in enumerate(equations.event_list) if event.action == "stop")
        events = expressions.events(equations.events) if stops and equations.events is not None else None
        problem = StepProblem(
            equations,
            step,
            substeps,
            expressions.stacked,
            expressions.symbols,
            actions.indices,
            actions.low,
            actions.high,
            np.arange(0 if ends.function else ends.columns.stop)[ends.columns].astype(np.int64),
            np.array([events.columns.start + k for k, _ in stops] if events is not None else [], dtype=np.int64),
            np.array([event.direction for _, event in stops] if events is not None else [], dtype=np.int64),
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
    status: dict[int, str]  # of the members whose episode ended: how


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

    def restart(self, which: NDArray[np.intp], random: Random, targets: Mapping[str, Any] | None = None) -> None:
        """Begin new episodes; `targets` replace those of the reset. `random` is one generator, or one for each member."""
        if not len(which):
            return
        if isinstance(random, np.random.Generator) and not targets:
            x, p = self.starts.take(random, len(which))
        else:
            own = [random if isinstance(random, np.random.Generator) else random[k] for k in which]
            parts = [self.starts.given(targets, one) if targets else self.starts.of_one(one) for one in own]
            x, p = (np.concatenate([part[k] for part in parts]) for k in range(2))
        self.batch.place(which, x, np.tile(self.starts.inputs, (len(which), 1)), p)
        self.steps[which] = 0

    def beyond(self, which: NDArray[np.intp]) -> dict[int, str]:
        """Members that have just begun beyond stopping events of one direction, such as limits of joints, with their words."""
        if self.task.events is None:
            return {}
        events = [event for _, event in self.task.stops]
        passed = passed_at_start(events, self.batch.after[which])
        return {
            int(which[row]): SEPARATOR.join(starts_beyond(events[k].name) for k in np.flatnonzero(passed[row]))
            for row in np.flatnonzero(passed.any(axis=1))
        }

    def observation(self) -> Reals:
        """What all members see now, as a copy."""
        return np.array(self.task.observe(self.batch.values[: self.members]), dtype=float, order="C")

    def step(self, actions: Reals) -> Outcome:
        """One step of all members. The reward is that of the state after the step and of the action that led there."""
        task, status = self.task, dict[int, str]()
        ended = self.batch.advance(actions)
        self.steps += 1
        values = self.batch.values[: self.members]
        reward = np.array(task.reward(values)[:, 0], dtype=float)
        flagged = bool(self.batch.flags[: self.members].any())
        if task.terminations and (flagged or task.terminate.function is not None):
            self._conditions(task.terminate(values) != 0.0, status)  # NaN is not zero
        if task.events is not None and flagged:
            self._stopping_events(status)
        status |= {member: str(why) for member, why in ended.items()}
        if not np.isfinite(reward).all():
            for member in np.flatnonzero(~np.isfinite(reward)).tolist():
                status.setdefault(member, f"{Ending.NOT_FINITE}: the reward is not finite at t = {self._time(member):g} s")
                reward[member] = 0.0
        terminated, truncated = np.zeros(self.members, dtype=bool), np.zeros(self.members, dtype=bool)
        terminated[list(status)] = True
        if task.limit is not None:
            truncated = self.steps >= task.limit  # also where it terminates in its last step, as with TimeLimit
            last = np.flatnonzero(truncated & ~terminated).tolist()
            status |= {k: f"{Ending.FINISHED}: reached t = {self._time(k):g} s" for k in last}
        return Outcome(self.observation(), reward, terminated, truncated, status)

    def _time(self, member: int) -> float:
        return float(self.steps[member]) * self.task.problem.step

    def _conditions(self, holds: Bools, status: dict[int, str]) -> None:
        if holds.any():
            members, first = np.flatnonzero(holds.any(axis=1)).tolist(), holds.argmax(axis=1)
            for member in members:
                name = self.task.terminations[min(int(first[member]), len(self.task.terminations) - 1)]
                status[member] = f"{Ending.EVENT}: {name} at t = {self._time(member):g} s"

    def _stopping_events(self, status: dict[int, str]) -> None:
        """Events whose function changed its sign since the last step, in the direction of the event."""
        for k, (_, event) in enumerate(self.task.stops):
            before, after = self.batch.before[: self.members, k], self.batch.after[: self.members, k]
            crossed = np.zeros(self.members, dtype=bool)
            if event.direction >= 0:
                crossed |= (before < 0.0) & (after >= 0.0)
            if event.direction <= 0:
                crossed |= (before > 0.0) & (after <= 0.0)
            for member in np.flatnonzero(crossed).tolist():
                text = event.description or event.name
                status[member] = f"{Ending.EVENT}: {event.name}: {text} before t = {self._time(member):g} s"


def checked_step(step: float, substeps: int, until: float | None) -> None:
    """Refuse steps and durations that are not positive, and durations that no number of steps has."""
    if isinstance(step, bool) or not isinstance(step, int | float) or not (math.isfinite(step) and step > 0.0):
        raise ArgumentError(f"environment: step is the time between two actions in seconds, positive and finite, got {step!r}")
    if isinstance(substeps, bool) or not isinstance(substeps, int) or substeps < 1:
        raise ArgumentError(
            f"environment: substeps is the number of integration steps from one action to the next, got {substeps!r}"
        )
    if until is None:
        return
    if isinstance(until, bool) or not isinstance(until, int | float) or not step <= until < math.inf:
        raise ArgumentError(f"environment: until is the duration of an episode in seconds, at least one step, got {until!r}")
    if abs(until / step - round(until / step)) > 1e-6:
        fewer, more = (f"{count * step:g}" for count in (math.floor(until / step), math.ceil(until / step)))
        raise ArgumentError(
            f"environment: until={until!r} is no multiple of the step of {step:g} s; an episode ends with a step, at {fewer} or "
            f"{more} s"
        )
