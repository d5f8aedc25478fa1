"""From a consistent start to a run: the driver around the stepping loop.

The loop is called for some 50 ms at a time, so that an interruption is noticed between two calls, with everything computed
so far in place. The driver does what is rare: it asks a sampled control, enlarges buffers, changes the independent
velocities when they lose conditioning, and says in the end what happened.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from draisine.program.equations import Equations
from draisine.results.status import Ending, Status
from draisine.simulation import layout
from draisine.simulation.choices import Choices, CompiledEquations, prepare
from draisine.simulation.control import Asker, Control, EveryStage, Sampled
from draisine.simulation.ending import Situation, describe
from draisine.simulation.memory import Memory
from draisine.simulation.methods import DOP853, Method
from draisine.simulation.names import numbers
from draisine.simulation.native import KERNEL
from draisine.simulation.stored import stepping_loop

Reals = NDArray[np.float64]

CHUNK = 0.05  # seconds between two looks at the outside world
FIRST_BUDGET = 256  # steps of the first call, when nobody knows how long they take
# Where no other choice of velocities is better a run carries on to this multiple of the limit, and is singular beyond.
HOPELESS = 1e4


@dataclass(frozen=True)
class Occurrence:
    """An event that happened."""

    name: str
    time: float
    state: Reals
    segment: int  # in whose terms the state is


@dataclass(frozen=True, eq=False)
class Segment:
    """A part of a run with one choice of independent velocities."""

    equations: Equations
    times: Reals  # (n)
    states: Reals  # (n, states)
    inputs: Reals  # (n, inputs)
    steps: Reals  # times of accepted steps


@dataclass(frozen=True, eq=False)
class Run:
    """What `integrate` computed. `failure` holds an exception that the user's control raised."""

    segments: tuple[Segment, ...]
    events: tuple[Occurrence, ...]
    status: Status
    final_time: float
    final_state: Reals  # in terms of the last segment
    evaluations: int
    accepted: int
    rejected: int
    seconds: Mapping[str, float] = field(default_factory=dict)
    failure: BaseException | None = None

    @property
    def times(self) -> Reals:
        return np.concatenate([s.times for s in self.segments])

    @property
    def steps(self) -> Reals:
        return np.concatenate([s.steps for s in self.segments])

    @property
    def states(self) -> Reals:
        """States at `times`, if one choice of velocities served throughout."""
        for a, b in pairwise(self.segments):
            if a.equations.independent != b.equations.independent:
                raise ValueError(
                    f"the run changed its independent velocities from ({', '.join(a.equations.independent)}) to "
                    f"({', '.join(b.equations.independent)}), so its states have no common meaning; read each of run.segments"
                )
        return np.concatenate([s.states for s in self.segments])


def integrate(
    equations: Equations | Choices,
    x0: ArrayLike,
    until: float,
    *,
    start: float = 0.0,
    parameters: Mapping[str, float] | ArrayLike | None = None,
    inputs: Mapping[str, float] | ArrayLike | None = None,
    method: Method | None = None,
    samples: ArrayLike | None = None,
    control: Control | None = None,
    progress: Callable[[float], None] | None = None,
) -> Run:
    """Integrate from the state `x0` at time `start` to time `until`; an earlier `until` runs backwards.

    `samples` are the times wanted, in the order of the run; without them the accepted steps are kept. `inputs` are constant
    unless a `control` sets them. `progress` is called now and then with the fraction done. Events, projection and
    the choice of velocities are those of the equations. The run's `status` says how it ended; nothing is raised
    for what may happen to a motion.
    """
    choices = equations if isinstance(equations, Choices) else prepare(equations)
    root = choices.root
    method = method if method is not None else DOP853()
    x = np.asarray(x0, dtype=float).reshape(-1)
    if x.size != len(root.states):
        raise ValueError(
            f"{root.name}: x0 needs {len(root.states)} numbers ({', '.join(q.name for q in root.states)}), got {x.size}"
        )
    if not (np.isfinite(start) and np.isfinite(until)):
        raise ValueError(f"start and until must be finite times, got {start!r} and {until!r}")
    _check_tolerance(method, root)
    driver = _Driver(
        choices,
        x,
        (float(start), float(until)),
        numbers("parameter", root.parameters, parameters),
        numbers("input", root.inputs, inputs),
        method,
        _check_samples(samples, start, until),
        control,
        progress,
    )
    return driver.run()


def _check_samples(samples: ArrayLike | None, start: float, until: float) -> Reals | None:
    if samples is None:
        return None
    times = np.asarray(samples, dtype=float).reshape(-1)
    sign = 1.0 if until >= start else -1.0
    order = "increase" if sign > 0 else "decrease, for the run goes backwards"
    gaps = np.flatnonzero(~(sign * np.diff(times) > 0.0))
    if gaps.size:
        raise ValueError(f"samples must {order}; after t = {times[gaps[0]]:g} comes t = {times[gaps[0] + 1]:g}")
    outside = times[~((sign * (times - start) >= 0.0) & (sign * (until - times) >= 0.0))]
    if outside.size:
        raise ValueError(f"samples must lie between start = {start:g} and until = {until:g}; t = {outside[0]:g} does not")
    return times


def _check_tolerance(method: Method, equations: Equations) -> None:
    count = np.asarray(getattr(method, "atol", 0.0)).size
    if count not in (1, len(equations.states)):
        names = ", ".join(q.name for q in equations.states)
        raise ValueError(f"{equations.name}: atol has {count} numbers; give one, or one for each of {names}")


class _Driver:
    """One run. The loop's memory is the truth at every moment; this object only steers."""

    def __init__(
        self,
        choices: Choices,
        x: Reals,
        span: tuple[float, float],
        parameters: Reals,
        inputs: Reals,
        method: Method,
        samples: Reals | None,
        control: Control | None,
        progress: Callable[[float], None] | None,
    ) -> None:
        self._choices, self._control, self._method, self._progress = choices, control, method, progress
        self._span, self._parameters = span, parameters
        self._failure: BaseException | None = None
        self._loop = stepping_loop().function
        self._now = choices.compiled(choices.root.independent)
        events = choices.root.event_list
        directions, stops = [e.direction for e in events], [e.action == "stop" for e in events]
        self._memory = Memory(self._now.kernels(), method, x, inputs, parameters, span, samples, directions, stops)
        self._memory.block.threshold = _projection_threshold(method)
        self._memory.block.limit = choices.root.condition_limit
        self._memory.block.budget = FIRST_BUDGET
        self._told = time.perf_counter()  # when progress was last spoken of
        # Parts of the run: equations and how many samples, steps and events came before them.
        self._parts: list[tuple[CompiledEquations, int, int, int]] = [(self._now, 0, 0, 0)]
        self._borne = (0.0, 0.0)  # the worst condition carried on with, and when
        self._asker: Asker | None = None
        self._callback = None
        if control is not None:
            self._asker = Asker(control.function, [q.name for q in choices.root.inputs], parameters, inputs)
            self._asker.speak_of(choices.root)
        if isinstance(control, EveryStage):
            self._callback = KERNEL(self._command)
            self._memory.use(self._now.kernels(self._callback_address()))

    # ----------------------------------------------------------------------------------------------------- steering

    def run(self) -> Run:
        began = time.perf_counter()
        try:
            reason = self._whole()
            status = describe(self._situation(), reason)
        except KeyboardInterrupt:
            status = describe(self._situation(), None)
        return self._result(status, time.perf_counter() - began)

    def _whole(self) -> int:
        """Run to the end, asking a sampled control on the way; return the loop's reason."""
        block = self._memory.block
        start, until = self._span
        if not isinstance(self._control, Sampled):
            return self._up_to(until)
        instants = self._control.instants(start, until)
        for now, then in pairwise([*instants, until]):
            if not self._ask(float(now)):
                return layout.ABORTED
            if now != start:
                block.phase = layout.CHANGED
            reason = self._up_to(float(then))
            if reason != layout.REACHED:
                return reason
        return layout.REACHED

    def _up_to(self, end: float) -> int:
        """Call the loop until the end or until something stops it."""
        memory, block = self._memory, self._memory.block
        block.end = end
        while True:
            began, before = time.perf_counter(), block.accepted + block.rejected
            reason = self._loop(memory.address)
            now = time.perf_counter()
            self._pace(block.accepted + block.rejected - before, now - began)
            if self._progress is not None and now - self._told >= CHUNK:
                self._told = now
                self._progress(self._fraction())
            if reason == layout.FULL:
                memory.grow()
            elif reason == layout.SWITCH:
                if not self._switch():
                    return reason
            elif reason != layout.PAUSED:
                return reason

    def _pace(self, steps: int, elapsed: float) -> None:
        """Fit the number of steps of the next call to the time they take, growing with care."""
        fitting = steps * CHUNK / max(elapsed, 1e-9)
        self._memory.block.budget = int(max(1.0, min(fitting, 4.0 * max(steps, FIRST_BUDGET))))

    def _fraction(self) -> float:
        start, until = self._span
        return 1.0 if until == start else float((self._memory.block.t - start) / (until - start))

    # ------------------------------------------------------------------------------------------------------ control

    def _ask(self, t: float) -> bool:
        """Set the inputs by a sampled control."""
        assert self._asker is not None
        try:
            self._memory.inputs[:] = self._asker(t, self._memory.state)
        except Exception as error:
            self._failure = error
            return False
        return True

    def _command(self, arguments: int, results: int) -> None:
        """Set the inputs at a stage. The loop gives and takes them in its own memory, whose arrays are known here."""
        arrays = self._memory.arrays
        assert self._asker is not None
        try:
            arrays["command_at"][:] = self._asker(float(arrays["time_at"][0]), arrays["point_at"][: self._memory.block.states])
        except BaseException as error:  # an exception cannot pass through compiled code
            self._failure = error
            self._memory.block.aborted = 1

    def _callback_address(self) -> int:
        if self._callback is None:
            return 0
        return ctypes.cast(self._callback, ctypes.c_void_p).value or 0

    # -------------------------------------------------------------------------------------------------- switching

    def _switch(self) -> bool:
        """Take a better choice of velocities, or bear with the present one; False if it is beyond use."""
        memory, block = self._memory, self._memory.block
        condition = block.condition if np.isfinite(block.condition) else np.inf
        choice = self._now.equations.independent
        best = self._choices.best_other(choice, block.t, memory.state.copy(), memory.inputs, self._parameters)
        if best is None or not best[2] < condition:
            block.limit = 2.0 * condition
            self._borne = max(self._borne, (condition, block.t))
            return condition <= HOPELESS * self._now.equations.condition_limit
        other, state, better = best
        self._now = self._choices.compiled(other)
        if self._asker is not None:
            self._asker.speak_of(self._now.equations)
        memory.use(self._now.kernels(self._callback_address()))
        memory.state[:] = state
        block.limit = max(self._now.equations.condition_limit, 2.0 * better)
        if block.phase == layout.RUNNING:
            block.phase = layout.CHANGED
        part = (self._now, block.sampled, block.stepped, block.happened)
        if part[1:] == self._parts[-1][1:]:
            self._parts.pop()  # nothing happened with the choice before
        self._parts.append(part)
        return True

    # ------------------------------------------------------------------------------------------------------- result

    def _situation(self) -> Situation:
        return Situation(self._memory, self._now.equations, self._method, self._span, self._failure)

    def _result(self, status: Status, elapsed: float) -> Run:
        block = self._memory.block
        seconds = {"compile": self._choices.seconds, "integrate": elapsed}
        if self._asker is not None:
            seconds["control"] = self._asker.seconds
        if status.kind != Ending.FINISHED:
            self._keep_last_state()
        for warning in self._warnings(elapsed):
            status = status.with_warning(warning)
        return Run(
            segments=self._segments(),
            events=self._occurrences(),
            status=status,
            final_time=block.t,
            final_state=self._memory.state.copy(),
            evaluations=block.evaluations,
            accepted=block.accepted,
            rejected=block.rejected,
            seconds=seconds,
            failure=self._failure,
        )

    def _warnings(self, elapsed: float) -> Iterator[str]:
        if isinstance(self._control, EveryStage) and self._asker is not None:
            share = self._asker.seconds / max(elapsed, 1e-9)
            yield (
                f"the control was called in Python at every stage: {self._asker.calls} calls, {share:.0%} of the run's time; an "
                "expression would be compiled, Sampled would call it less often"
            )
        condition, t = self._borne
        if condition > 0.0 and np.isfinite(condition):
            limit = self._now.equations.condition_limit
            yield (
                f"the motion came near a singular position, and no other choice of independent velocities helped: the condition "
                f"was {condition:.2g} at t = {t:.6g} s (limit {limit:g}); accuracy suffers by about that factor"
            )

    def _keep_last_state(self) -> None:
        """A run that ended early ends its samples with the state it reached."""
        block, arrays = self._memory.block, self._memory.arrays
        k = block.sampled
        if block.keep_steps or (k > 0 and arrays["sample_time_at"][k - 1] == block.t):
            return
        if isinstance(self._control, EveryStage) and self._failure is None and self._asker is not None:
            self._memory.inputs[:] = self._asker(block.t, self._memory.state)
        arrays["sample_time_at"][k] = block.t
        arrays["sample_x_at"][k] = self._memory.state
        arrays["sample_u_at"][k] = self._memory.inputs
        block.sampled = k + 1

    def _segments(self) -> tuple[Segment, ...]:
        block, arrays = self._memory.block, self._memory.arrays
        ends = [*self._parts[1:], (self._now, block.sampled, block.stepped, block.happened)]
        made = []
        for (part, sample, step, _), (_, next_sample, next_step, _) in zip(self._parts, ends, strict=True):
            steps = arrays["step_time_at"][step:next_step]
            name, rows = ("step", slice(step, next_step)) if block.keep_steps else ("sample", slice(sample, next_sample))
            times, states, inputs = (arrays[f"{name}_{what}_at"][rows] for what in ("time", "x", "u"))
            made.append(Segment(part.equations, times, states, inputs, steps))
        return tuple(made)

    def _occurrences(self) -> tuple[Occurrence, ...]:
        block, arrays = self._memory.block, self._memory.arrays
        starts = [happened for _, _, _, happened in self._parts]
        names = [e.name for e in self._choices.root.event_list]
        made = []
        for j in range(block.happened):
            segment = int(np.searchsorted(starts, j, side="right")) - 1
            index, moment = int(arrays["event_index_at"][j]), float(arrays["event_time_at"][j])
            made.append(Occurrence(names[index], moment, arrays["event_x_at"][j].copy(), segment))
        return tuple(made)


def _projection_threshold(method: Method) -> float:
    """Residuals are let grow to a tenth of the tolerance before the state is moved back onto the constraints."""
    if not method.adaptive:
        return 1e-11
    return 0.1 * (float(getattr(method, "rtol", 0.0)) + float(np.min(getattr(method, "atol", 0.0))))
