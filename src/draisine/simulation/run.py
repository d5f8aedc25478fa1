"""From a consistent start to a run: the driver around the stepping loop.

The loop is called for some 50 ms at a time, so that an interruption is noticed between two calls, with everything computed
so far in place. The driver does what is rare: it asks a sampled control, enlarges buffers, changes the independent
velocities when they lose conditioning, and says in the end what happened.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from draisine.codegen.restricted.record import KERNEL
from draisine.errors import ArgumentError
from draisine.program.equations import Equations
from draisine.results.status import Ending, Status
from draisine.simulation.compiled_equations import CompiledEquations, VelocityChoices, prepare
from draisine.simulation.methods.selection import (
    MOST_UNKNOWNS,
    Auto,
    Calm,
    Changes,
    Chosen,
    Method,
    check_tolerance,
    choose,
    fastest_rate,
    projection_threshold,
    title,
    watches_stiffness,
)
from draisine.simulation.methods.sundials import CVODE, IDA
from draisine.simulation.methods.tableau import SteppingMethod
from draisine.simulation.named_values import numbers
from draisine.simulation.result import Occurrence, Run, Segment, Situation, describe, moment, undetermined
from draisine.simulation.sampled_control import Asker, Control, EveryStage, Recorded, Sampled
from draisine.simulation.stepper import layout
from draisine.simulation.stepper.layout import Stepper
from draisine.simulation.stepper.memory import Kernels, Memory, stepping_loop
from draisine.simulation.symplectic import RATTLE, RattleStepper

__all__ = ["Occurrence", "Run", "Segment", "integrate"]

Reals = NDArray[np.float64]

CHUNK = 0.05  # seconds between two looks at the outside world
FIRST_BUDGET = 256  # steps of the first call, when nobody knows how long they take
# Where no other choice of velocities is better a run carries on to this multiple of the limit, and is singular beyond.
HOPELESS = 1e4


def integrate(
    equations: Equations | VelocityChoices,
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
    the choice of velocities are those of the equations. Without a `method` one is chosen (`Auto`); the run's `method` tells
    which, and why. The run's `status` says how it ended; nothing is raised for what may happen to a motion.
    """
    choices = equations if isinstance(equations, VelocityChoices) else prepare(equations)
    root = choices.root
    chosen = choose(method, root)
    x = np.asarray(x0, dtype=float).reshape(-1)
    if x.size != len(root.states):
        raise ArgumentError(
            f"{root.name}: x0 needs {len(root.states)} numbers ({', '.join(q.name for q in root.states)}), got {x.size}"
        )
    if not (np.isfinite(start) and np.isfinite(until)):
        raise ArgumentError(f"start and until must be finite times, got {start!r} and {until!r}")
    check_tolerance(chosen.method, root)
    driver = _Driver(
        choices,
        x,
        (float(start), float(until)),
        numbers("parameter", root.parameters, parameters),
        numbers("input", root.inputs, inputs),
        chosen,
        isinstance(method, Auto),
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
        raise ArgumentError(f"samples must {order}; after t = {times[gaps[0]]:g} comes t = {times[gaps[0] + 1]:g}")
    outside = times[~((sign * (times - start) >= 0.0) & (sign * (until - times) >= 0.0))]
    if outside.size:
        raise ArgumentError(f"samples must lie between start = {start:g} and until = {until:g}; t = {outside[0]:g} does not")
    return times


class _Driver:
    """One run. The loop's memory is the truth at every moment; this object only steers."""

    def __init__(
        self,
        choices: VelocityChoices,
        x: Reals,
        span: tuple[float, float],
        parameters: Reals,
        inputs: Reals,
        chosen: Chosen,
        identifiability: bool,
        samples: Reals | None,
        control: Control | None,
        progress: Callable[[float], None] | None,
    ) -> None:
        self._choices, self._control, self._progress = choices, control, progress
        self._chosen, self._identifiability = chosen, identifiability  # whether the status tells what was chosen
        self._method: SteppingMethod = chosen.method
        self._account = chosen.account
        self._stiff_since: float | None = None
        self._changes, self._calm = Changes(), Calm()
        self._span, self._parameters = span, parameters
        self._failure: BaseException | None = None
        self._now = choices.compiled(choices.root.independent)
        events = choices.root.event_list
        directions, stops = [e.direction for e in events], [e.action == "stop" for e in events]
        self._asker: Asker | None = None
        self._callback = None
        if control is not None:
            self._asker = Asker(control.function, [q.name for q in choices.root.inputs], parameters, inputs)
            self._asker.speak_of(choices.root)
        if isinstance(control, EveryStage):
            self._callback = KERNEL(self._command)
        self._memory = Memory(self._kernels(), self._method, x, inputs, parameters, span, samples, directions, stops)
        stepper = self._memory.stepper
        stepper.threshold = choices.root.limits.residual or projection_threshold(self._method)
        stepper.projections = choices.root.limits.projections
        stepper.limit = choices.root.limits.condition
        stepper.budget = FIRST_BUDGET
        stepper.suspect = int(watches_stiffness(self._method))
        self._advance = self._advancer()
        self._reported = time.perf_counter()  # when progress was last spoken of
        # Parts of the run: equations and how many samples, steps and events came before them.
        self._parts: list[tuple[CompiledEquations, int, int, int]] = [(self._now, 0, 0, 0)]
        self._borne = (0.0, 0.0)  # the worst condition carried on with, and when

    def _kernels(self) -> Kernels:
        address = 0 if self._callback is None else ctypes.cast(self._callback, ctypes.c_void_p).value or 0
        return self._now.kernels(address, self._method.implicit)

    def _advancer(self) -> Callable[[Stepper], int]:
        """What makes the steps: the stepping loop, or SUNDIALS with the loop behind it."""
        loop = stepping_loop(self._method.implicit)
        if isinstance(self._method, CVODE | IDA):
            from draisine.simulation.methods.sundials import SundialsStepper

            ask = self._command_here if self._callback is not None else None
            return SundialsStepper(self._memory, self._method, self._now, loop, ask)
        return RattleStepper(self._method, self._memory, loop) if isinstance(self._method, RATTLE) else loop

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
        stepper = self._memory.stepper
        start, until = self._span
        if not isinstance(self._control, Sampled):
            return self._up_to(until)
        instants = self._control.instants(start, until)
        for now, then in pairwise([*instants, until]):
            if not self._ask(float(now)):
                return layout.ABORTED
            if now != start:
                stepper.phase = layout.CHANGED
            reason = self._up_to(float(then))
            if reason != layout.REACHED:
                return reason
        return layout.REACHED

    def _up_to(self, end: float) -> int:
        """Call the loop until the end or until something stops it."""
        memory, stepper = self._memory, self._memory.stepper
        stepper.end = end
        while True:
            began, before = time.perf_counter(), stepper.accepted + stepper.rejected
            if stepper.phase != layout.RUNNING:
                self._differentiate()
            reason = self._advance(stepper)
            now = time.perf_counter()
            self._pace(stepper.accepted + stepper.rejected - before, now - began)
            if self._progress is not None and now - self._reported >= CHUNK:
                self._reported = now
                self._progress(self._fraction())
            if reason == layout.FULL:
                memory.grow()
            elif reason == layout.SWITCH:
                if not self._switch():
                    return reason
            elif reason == layout.STIFF:
                self._meet_stiffness()
            elif reason == layout.LOOK:
                self._look_whether_still_stiff()
            elif reason == layout.UNDETERMINED and stepper.accepted == 0:
                raise undetermined(self._situation())
            elif reason != layout.PAUSED:
                return reason

    def _pace(self, steps: int, elapsed: float) -> None:
        """Fit the number of steps of the next call to the time they take, growing with care."""
        fitting = steps * CHUNK / max(elapsed, 1e-9)
        self._memory.stepper.budget = int(max(1.0, min(fitting, 4.0 * max(steps, FIRST_BUDGET))))

    def _fraction(self) -> float:
        start, until = self._span
        return 1.0 if until == start else float((self._memory.stepper.t - start) / (until - start))

    # ------------------------------------------------------------------------------------------------------ control

    def _ask(self, t: float) -> bool:
        """Set the inputs by a sampled control."""
        if isinstance(self._control, Recorded):
            self._memory.inputs[:] = self._control.row(t)
            return True
        assert self._asker is not None
        try:
            self._memory.inputs[:] = self._asker(t, self._memory.state)
        except Exception as error:
            self._failure = error
            return False
        return True

    def _command(self, arguments: int, results: int) -> None:
        """Set the inputs at a stage. The loop gives and takes them in its own memory, whose arrays are known here."""
        stepper = self._memory.stepper
        assert self._asker is not None
        try:
            stepper.command[:] = self._asker(float(stepper.time[0]), stepper.point[: stepper.states])
        except BaseException as error:  # an exception cannot pass through compiled code
            self._failure = error
            stepper.aborted = 1

    def _command_here(self) -> None:
        self._command(0, 0)

    # -------------------------------------------------------------------------------------------------- switching

    def _switch(self) -> bool:
        """Take a better choice of velocities, or bear with the present one; False if it is beyond use."""
        memory, stepper = self._memory, self._memory.stepper
        condition = stepper.condition if np.isfinite(stepper.condition) else np.inf
        choice = self._now.equations.independent
        best = self._choices.best_other(choice, stepper.t, memory.state.copy(), memory.inputs, self._parameters)
        if best is None or not best[2] < condition:
            stepper.limit = 2.0 * condition
            self._borne = max(self._borne, (condition, stepper.t))
            return condition <= HOPELESS * self._now.equations.limits.condition
        other, state, better = best
        self._now = self._choices.compiled(other)
        if self._asker is not None:
            self._asker.speak_of(self._now.equations)
        memory.take(self._kernels(), self._method)
        self._advance = self._advancer()
        memory.state[:] = state
        stepper.limit = max(self._now.equations.limits.condition, 2.0 * better)
        part = (self._now, stepper.sampled, stepper.stepped, stepper.happened)
        if part[1:] == self._parts[-1][1:]:
            self._parts.pop()  # nothing happened with the choice before
        self._parts.append(part)
        return True

    def _meet_stiffness(self) -> None:
        """Stability limits the steps of an explicit method: take the implicit one if that is left to us, else remember it."""
        stepper = self._memory.stepper
        stepper.suspect = 0
        self._stiff_since = float(stepper.t)
        if self._chosen.if_stiff is None:
            return
        self._changes.limited = float(stepper.h)
        if self._changes.legs:
            self._calm.left(stepper.accepted)
        self._change_to(self._chosen.if_stiff)
        stepper.h *= 0.1  # the error estimate of another method may be less pleased with it
        stepper.suspect = int(self._now.form.explicit and self._now.form.form.size <= MOST_UNKNOWNS)

    def _look_whether_still_stiff(self) -> None:
        """Take the explicit method again if stability would not have limited it for a while."""
        memory, stepper = self._memory, self._memory.stepper
        point = stepper.x[: stepper.unknowns].copy()
        rate = fastest_rate(self._now.form, float(stepper.t), point, memory.inputs, self._parameters)
        if not self._calm.look(float(stepper.h), rate):
            return
        self._calm.returned(stepper.accepted)
        self._change_to(self._chosen.method)
        stepper.suspect = 2  # what was stiff may be so again soon

    def _change_to(self, method: SteppingMethod) -> None:
        """Go on from here with another method."""
        stepper = self._memory.stepper
        self._changes.add(self._method, float(stepper.t))
        self._method = method
        self._account = self._changes.account(method)
        self._memory.take(self._kernels(), method)
        stepper.stiff_steps, stepper.calm_steps = 0, 0
        self._advance = self._advancer()

    def _differentiate(self) -> None:
        """Before a start or restart of equations of higher index: multipliers and rates by the derivatives of the constraints."""
        if not self._method.implicit or self._now.form.explicit or self._now.form.settles:
            return
        array = self._now.derivatives
        if not array.solvable:
            return
        stepper = self._memory.stepper
        x, rates = array.solve(float(stepper.t), self._memory.state.copy(), self._memory.inputs, self._parameters)
        self._memory.state[:] = x
        stepper.k[0, : len(x)] = rates

    # ------------------------------------------------------------------------------------------------------- result

    def _situation(self) -> Situation:
        return Situation(self._memory, self._now.equations, self._method, self._span, self._failure)

    def _result(self, status: Status, elapsed: float) -> Run:
        stepper = self._memory.stepper
        seconds = {"compile": self._choices.seconds, "integrate": elapsed}
        if self._asker is not None:
            seconds["control"] = self._asker.seconds
        if status.kind != Ending.FINISHED:
            self._keep_last_state()
        for warning in self._warnings(elapsed):
            status = status.with_warning(warning)
        if self._identifiability or self._account != self._chosen.account:
            status = replace(status, message=f"{status.message}; {self._account}")
        return Run(
            segments=self._segments(),
            events=self._occurrences(),
            status=status,
            final_time=stepper.t,
            final_state=self._memory.state.copy(),
            evaluations=stepper.evaluations,
            accepted=stepper.accepted,
            rejected=stepper.rejected,
            method=self._account,
            jacobians=stepper.jacobians,
            factorisations=stepper.factorisations,
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
        if self._stiff_since is not None and self._chosen.if_stiff is None:
            yield (
                f"the equations are stiff from {moment(self._stiff_since)} on: stability, not accuracy, limits the steps of "
                f"{title(self._method)}; Radau() would make longer ones, and Auto() would have changed over to it"
            )
        condition, t = self._borne
        if condition > 0.0 and np.isfinite(condition):
            limit = self._now.equations.limits.condition
            yield (
                f"the motion came near a singular position, and no other choice of independent velocities helped: the condition "
                f"was {condition:.2g} at t = {t:.6g} s (limit {limit:g}); accuracy suffers by about that factor"
            )

    def _keep_last_state(self) -> None:
        """A run that ended early ends its samples with the state it reached."""
        stepper = self._memory.stepper
        k = stepper.sampled
        if stepper.keep_steps or (k > 0 and stepper.sample_time[k - 1] == stepper.t):
            return
        if isinstance(self._control, EveryStage) and self._failure is None and self._asker is not None:
            self._memory.inputs[:] = self._asker(stepper.t, self._memory.state)
        stepper.sample_time[k] = stepper.t
        stepper.sample_x[k] = self._memory.state
        stepper.sample_u[k] = self._memory.inputs
        stepper.sampled = k + 1

    def _segments(self) -> tuple[Segment, ...]:
        stepper = self._memory.stepper
        ends = [*self._parts[1:], (self._now, stepper.sampled, stepper.stepped, stepper.happened)]
        made = []
        for (part, sample, step, _), (_, next_sample, next_step, _) in zip(self._parts, ends, strict=True):
            steps = stepper.step_time[step:next_step]
            name, rows = ("step", slice(step, next_step)) if stepper.keep_steps else ("sample", slice(sample, next_sample))
            times, states, inputs = (getattr(stepper, f"{name}_{what}")[rows] for what in ("time", "x", "u"))
            made.append(Segment(part.equations, times, states, inputs, steps))
        return tuple(made)

    def _occurrences(self) -> tuple[Occurrence, ...]:
        stepper = self._memory.stepper
        starts = [happened for _, _, _, happened in self._parts]
        names = [e.name for e in self._choices.root.event_list]
        made = []
        for j in range(stepper.happened):
            segment = int(np.searchsorted(starts, j, side="right")) - 1
            index, moment = int(stepper.event_index[j]), float(stepper.event_time[j])
            made.append(Occurrence(names[index], moment, stepper.event_x[j].copy(), segment))
        return tuple(made)
