"""Integration from a consistent start (`integrate`): the driver around the stepping loop.

The loop is called for about 50 ms at a time, so that interruptions are handled between two calls, with all results so far in
place. The driver handles what is rare: it calls a sampled control, enlarges buffers, switches the independent velocities when
they become ill-conditioned, switches methods on stiffness, and determines the status at the end.
"""

from __future__ import annotations

import ctypes
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Protocol, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from draisine.codegen.restricted.types import KERNEL
from draisine.errors import ArgumentError
from draisine.program.arguments import numbers, parameter_values
from draisine.program.equations import Equations
from draisine.program.program import DaeResidual
from draisine.results.contact_modes import NO_MODES
from draisine.results.status import Ending, Progress, ProgressCallback, Status
from draisine.simulation.compiled_equations import CompiledEquations, VelocityChoices, compile_form, prepare
from draisine.simulation.ending import FinalState, describe, indeterminate_rates, undetermined
from draisine.simulation.methods.selection import (
    MAX_UNKNOWNS,
    Auto,
    Method,
    MethodChanges,
    MethodChoice,
    NonstiffChecks,
    broken_threshold,
    check_atol,
    check_samples,
    check_step,
    detects_stiffness,
    projection_threshold,
    residual_limit,
    select_method,
    spectral_radius,
)
from draisine.simulation.methods.tableau import Advance, ExternalMethod, SteppingMethod
from draisine.simulation.result import Occurrence, Recording, Run, Segment
from draisine.simulation.run_warnings import Notes, Observations, run_warnings
from draisine.simulation.sampled_control import Control, ControlCaller, EveryStage, Recorded, Sampled
from draisine.simulation.singular_passage import Motion, PassageStep, has_loops, set_limits
from draisine.simulation.singular_position import singular_interval
from draisine.simulation.stepper import layout
from draisine.simulation.stepper.contact_memory import contact_history
from draisine.simulation.stepper.layout import Stepper
from draisine.simulation.stepper.memory import Kernels, Memory, SwitchTables, event_stops, no_switches, stepping_loop

__all__ = ["Occurrence", "Run", "Segment", "integrate"]

Reals = NDArray[np.float64]

PENETRATION = 1e-10  # of contacts, relative to the typical length, that is removed by projection
CHUNK = 0.05  # seconds between two checks for interruptions and progress
FIRST_BUDGET = 256  # steps of the first call, when their duration is unknown
# Where no other choice of velocities is better, a run continues up to this multiple of the limit and is singular beyond it.
SINGULAR_FACTOR = 1e4

SMALL_STATES = "all states are so small that the absolute tolerance decides on the accuracy"
LEAST_ATOL = 1e-290
REST = 1e-13  # states that begin at zero and stay below this are at rest, up to rounding of forces
NOISE = 1e-6  # size of states that begin at zero, relative to another tolerance, below which they are rounding errors
MOST_GROWTH = 1e-6  # size of a start, relative to the run, below which it does not matter
UNRESOLVED = 1e3  # states below this multiple of a given absolute tolerance are not resolved
SMALL_STEPS, LEAST_SMALL_STEPS = 50, 2000  # of a repeated run, relative to the first one, and in addition: noise is not resolved


def pairs(compiled: CompiledEquations, implicit: SteppingMethod) -> bool:
    """Whether the loop can change between an explicit method of these equations with contacts and an implicit one."""
    return implicit.implicit and compiled.form.explicit and compiled.form.form.size == len(compiled.equations.states)


def limit_memory(stepper: Stepper, root: Equations, method: SteppingMethod) -> None:
    """Limits of residuals and conditions."""
    stepper.threshold = root.limits.residual or projection_threshold(method)
    stepper.broken = broken_threshold(root.limits, stepper.threshold)
    if root.unilateral:  # bodies do not penetrate each other
        stepper.threshold = min(stepper.threshold, PENETRATION * root.limits.length)
    stepper.projections = root.limits.projections
    set_limits(stepper, root)


class ContactJumps(Protocol):
    """Jumps of derivatives where contacts change their modes: called by the loop, with what they note for the status."""

    failure: BaseException | None
    notes: list[str]


Jumps = Callable[[Memory], ContactJumps]


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
    progress: ProgressCallback | None = None,
    only_samples: bool = False,
    steps_too: bool = False,
    jumps: Jumps | None = None,
) -> Run:
    """Integrate from the state `x0` at time `start` to time `until`; an earlier `until` runs backwards.

    `samples` are the output times, in the order of the run; without them the accepted steps are kept. `inputs` are constant
    unless a `control` sets them. `progress` is called at intervals with a `Progress`. With `only_samples` the run may end after
    the last of the samples; with `steps_too` the accepted steps are kept beside them (`Segment.at_steps`).
    `jumps` makes what computes jumps of derivatives where contacts change their modes.
    Events, projection and the choice of velocities are those of the equations. Without a `method` one is selected
    (`Auto`); the run's `method` says which, and why.
    The run's `status` says how it ended; no exception is raised for a run that ends early.
    """
    choices = equations if isinstance(equations, VelocityChoices) else prepare(equations)
    root = choices.root
    chosen = select_method(method, root)
    x = np.asarray(x0, dtype=float).reshape(-1)
    if x.size != len(root.states):
        raise ArgumentError(
            f"{root.name}: x0 needs {len(root.states)} numbers ({', '.join(q.name for q in root.states)}), got {x.size}"
        )
    if not (np.isfinite(start) and np.isfinite(until)):
        raise ArgumentError(f"start and until must be finite times, got {start!r} and {until!r}")
    check_atol(chosen.method, root)
    check_step(chosen.method, float(start), float(until))
    p = parameter_values(root, parameters)
    u = numbers("input", root.inputs, inputs)
    times = check_samples(samples, start, until)

    def run(chosen: MethodChoice) -> Run:
        driver = _Driver(
            choices,
            x,
            (float(start), float(until)),
            p,
            u,
            chosen,
            isinstance(method, Auto),
            times,
            control,
            progress,
            only_samples,
            steps_too and samples is not None and not isinstance(control, EveryStage),
            jumps,
        )
        return driver.run()

    found = run(chosen)
    return _at_small_scale(found, x, chosen.method, method, control, lambda auto: run(select_method(auto, root)))


def _at_small_scale(
    found: Run,
    x: Reals,
    used: SteppingMethod,
    given: Method | None,
    control: Control | None,
    again: Callable[[Auto], Run],
) -> Run:
    """A run whose states all stay so small that the absolute tolerance decides: repeated with one relative to their size, if no
    method was given; else, or if that does not succeed, with a warning."""
    largest = largest_state(found, x)
    atol = small_scale_atol(used, largest, x)
    if atol is None or found.failure is not None or found.status.kind == Ending.INTERRUPTED:
        return found
    if given is None and (control is None or isinstance(control, Recorded)):
        steps = found.accepted + found.rejected
        scaled = Auto(atol=atol, max_steps=LEAST_SMALL_STEPS + SMALL_STEPS * steps)
        better = again(scaled)
        if largest_state(better, x) < NOISE * largest and not x.any():
            return found  # at rest, up to rounding of forces
        if better.status.kind == found.status.kind:
            return replace(better, evaluations=found.evaluations + better.evaluations, scaled=scaled)
    elif given is not None and largest > UNRESOLVED * float(np.max(getattr(used, "atol", 0.0))):
        return found  # as requested
    if largest < REST and not x.any():
        return found
    decisive = float(np.max(getattr(used, "atol", 0.0)))
    note = (
        f"no state exceeds {largest:.2g}, where the absolute tolerance {decisive:g} decides on the accuracy; "
        f"give method=DOP853(atol={atol:.0e}) or another method with an absolute tolerance far below the states"
    )
    return replace(found, status=found.status.with_warning(note), cautions=(*found.cautions, SMALL_STATES))


def largest_state(run: Run, x: Reals) -> float:
    """The largest magnitude of a state at the start, the samples and the end of a run."""
    parts = [x, run.final_state, *(segment.states for segment in run.segments)]
    return max(float(np.abs(part).max(initial=0.0)) for part in parts)


def small_scale_atol(method: SteppingMethod, largest: float, x: Reals) -> float | None:
    """An absolute tolerance relative to the states of a run, where that of the method exceeds the relative tolerance of every
    state; None where it does not. It is relative to the start x, because motions may grow, unless that is nearly zero."""
    rtol, atol = float(getattr(method, "rtol", 0.0)), np.asarray(getattr(method, "atol", 0.0), dtype=float)
    if not method.adaptive or not 0.0 < largest < np.inf or not float(atol.min()) > rtol * largest:
        return None
    first = float(np.abs(x).max(initial=0.0))
    size = first if first > MOST_GROWTH * largest else largest
    return max(float(atol.min()) * 10.0 ** math.ceil(math.log10(size)), LEAST_ATOL)


class _Driver:
    """One run. Its state is in the memory of the loop."""

    def __init__(
        self,
        choices: VelocityChoices,
        x: Reals,
        span: tuple[float, float],
        parameters: Reals,
        inputs: Reals,
        chosen: MethodChoice,
        report_choice: bool,
        samples: Reals | None,
        control: Control | None,
        progress: ProgressCallback | None,
        only_samples: bool,
        steps_too: bool,
        jumps: Jumps | None,
    ) -> None:
        self._only_samples = only_samples
        self._applied: list[tuple[float, Reals]] = []  # by a sampled control
        self._choices, self._control, self._progress = choices, control, progress
        self._chosen, self._report_choice = chosen, report_choice  # whether the status names the selected method
        self._method: SteppingMethod = chosen.method
        self._method_text = chosen.description
        self._changes, self._nonstiff = MethodChanges(), NonstiffChecks()
        self._paired: tuple[SteppingMethod, ...] = ()  # explicit and implicit method, if the loop changes between them …
        self._paired_changes = 0  # … and the changes that are noted
        self._span, self._parameters = span, parameters
        self._failure: BaseException | None = None
        # external methods keep the kernels they are given
        external = self._method.scheme.external
        self._compiled = (choices.optimized if external else choices.for_steps)(choices.root.choice)
        self._implicit = isinstance(choices.root.dynamics, DaeResidual)
        events = choices.root.event_list
        directions, stops = [e.direction for e in events], [event_stops(e) for e in events]
        self._caller: ControlCaller | None = None
        self._callback = None
        if control is not None:
            self._caller = ControlCaller(control.function, [q.name for q in choices.root.inputs], parameters, inputs)
            self._caller.use_names_of(choices.root)
        if isinstance(control, EveryStage):
            self._callback = KERNEL(self._command)
        self._notes = Notes()
        self._restarts: dict[float, str] = {}  # restart times → names of the switching functions
        tables = self._switch_tables(span, x, inputs)
        self._memory = Memory(
            self._kernels(),
            self._method,
            x,
            inputs,
            parameters,
            span,
            samples,
            directions,
            stops,
            tables,
            steps_too or self._implicit,
        )
        self._set_marks(span)
        self._jumps = None if jumps is None or not choices.root.unilateral else jumps(self._memory)
        stepper = self._memory.stepper
        limit_memory(stepper, choices.root, self._method)
        stepper.budget = FIRST_BUDGET
        stepper.check_stiffness = int(detects_stiffness(self._method))
        self._advance = self._make_advance()
        self._last_progress = time.perf_counter()  # time of the last call of progress
        self._recording = Recording(self._memory, samples is None, steps_too)
        self._recording.begin_segment(self._compiled)
        self._interrupted: int | None = None  # why the loop ended within the last passage of a singular position

    def _kernels(self) -> Kernels:
        address = 0 if self._callback is None else ctypes.cast(self._callback, ctypes.c_void_p).value or 0
        implicit = self._method.implicit or bool(self._paired)
        return self._compiled.kernels(address, implicit, self._choices.margins_of)

    def _switch_tables(self, span: tuple[float, float], x: Reals, inputs: Reals) -> SwitchTables | None:
        """The switching functions of the present equations over a span of time from a state."""
        switching = self._compiled.switching
        if switching is None:
            return no_switches() if self._compiled.equations.unilateral else None
        tables = switching.tables(span, x, inputs, self._parameters)
        self._restarts |= switching.names_of_restarts(tables)
        self._notes.all_restarts &= tables.guaranteed
        return tables

    def _set_marks(self, span: tuple[float, float]) -> None:
        """The marks of functions of time of the present equations over a span of time, by the present method."""
        marks, memory = self._compiled.time_marks, self._memory
        memory.set_marks(None if marks is None else marks.tables(span, memory.inputs.copy(), self._parameters, self._method))

    def _renew_restarts(self, now: float, then: float) -> None:
        """After a change of the inputs: restart times, and marks until their next change, that depend on them."""
        switching, marks = self._compiled.switching, self._compiled.time_marks
        if marks is not None and marks.determining[0]:
            self._set_marks((now, then))
        if switching is not None and switching.depends_on_inputs:
            tables = self._switch_tables((now, self._span[1]), self._memory.state.copy(), self._memory.inputs.copy())
            assert tables is not None
            self._memory.renew_restarts(tables)

    def _make_advance(self) -> Advance:
        """What makes the steps: the stepping loop, or an external method that passes its steps to the loop."""
        unilateral = bool(self._compiled.equations.unilateral)
        implicit = self._method.implicit or bool(self._paired)
        loop = stepping_loop(implicit, self._compiled.switching is not None, unilateral=unilateral)
        if not self._method.scheme.external:
            return loop
        command = (lambda: self._command(0, 0)) if self._callback is not None else None
        return cast(ExternalMethod, self._method).stepper(self._memory, self._compiled, loop, command)

    def run(self) -> Run:
        started = time.perf_counter()
        try:
            reason = self._integrate()
            status = self._without_singular_rates(describe(self._situation(), reason))
        except KeyboardInterrupt:
            status = describe(self._situation(), None)
        return self._result(status, time.perf_counter() - started)

    def _without_singular_rates(self, status: Status) -> Status:
        """The status of implicit equations, which may have passed a state that does not determine their rates."""
        if not self._implicit or status.kind not in (Ending.FINISHED, Ending.EVENT) or self._callback is not None:
            return status
        s, compiled = self._memory.stepper, self._compiled
        form = compiled.form if compiled.switching is None else compile_form(compiled.equations.dynamics)
        steps = slice(0, s.step_count)
        found = singular_interval(
            form.form, form.jacobian, s.step_time[steps], s.step_x[steps], s.step_u[steps], self._parameters
        )
        return status if found is None else indeterminate_rates(found)

    def _integrate(self) -> int:
        """Run to the end, with calls of a sampled control; return the loop's reason."""
        stepper = self._memory.stepper
        start, until = self._span
        if not isinstance(self._control, Sampled):
            return self._advance_to(until)
        instants = self._control.instants(start, until)
        for now, then in pairwise([*instants, until]):
            if not self._sample_control(float(now)):
                return layout.ABORTED
            if now != start:
                stepper.phase = layout.CHANGED
            self._renew_restarts(float(now), float(then))
            reason = self._advance_to(float(then))
            if reason != layout.REACHED or (self._only_samples and stepper.sample_count >= stepper.samples):
                return reason
        return layout.REACHED

    def _advance_to(self, end: float) -> int:
        """Call the loop until time `end` or until something stops it."""
        memory, stepper = self._memory, self._memory.stepper
        stepper.end = end
        while True:
            if self._compiled.quick:
                self._optimize_if_due()
            started, before = time.perf_counter(), stepper.accepted + stepper.rejected
            worked = time.thread_time()  # time in which other processes have the processor is not lost by quick kernels
            if stepper.phase != layout.RUNNING and self._method.implicit:
                self._compiled.prepare_implicit_start(memory, self._parameters)
            reason = self._advance(stepper)
            self._note_changes()
            now = time.perf_counter()
            self._set_budget(stepper.accepted + stepper.rejected - before, now - started)
            if self._compiled.quick:
                self._choices.note_steps(self._compiled.equations.choice, time.thread_time() - worked)
            if self._progress is not None and now - self._last_progress >= CHUNK:
                self._last_progress = now
                self._progress(Progress("simulating", self._fraction()))
            if reason == layout.FULL:
                memory.grow()
            elif reason == layout.SWITCH:
                if not self._switch_velocities():
                    return reason
                if self._interrupted is not None and self._interrupted != layout.SWITCH:
                    return self._interrupted
            elif reason == layout.STIFF:
                self._handle_stiffness()
            elif reason == layout.STIFFNESS_CHECK:
                self._check_stiffness()
            elif reason == layout.UNDETERMINED and stepper.accepted == 0:
                raise undetermined(self._situation())
            elif reason != layout.PAUSED:
                if self._jumps is not None and self._jumps.failure is not None:
                    raise self._jumps.failure
                if self._failure is not None and not isinstance(self._failure, Exception | KeyboardInterrupt):
                    raise self._failure  # as `sys.exit` in a control
                return reason
            elif self._only_samples and stepper.sample_count >= stepper.samples:
                return layout.PAUSED

    def _optimize_if_due(self) -> None:
        """Continue with optimized kernels, which give the same bits, if quick ones have taken long."""
        made = self._choices.for_steps(self._compiled.equations.choice)
        if made is not self._compiled:
            self._compiled = made
            self._memory.use(self._kernels())

    def _set_budget(self, steps: int, elapsed: float) -> None:
        """Set the number of steps of the next call so that it takes about CHUNK seconds."""
        fitting = steps * CHUNK / max(elapsed, 1e-9)
        self._memory.stepper.budget = int(max(1.0, min(fitting, 4.0 * max(steps, FIRST_BUDGET))))

    def _fraction(self) -> float:
        start, until = self._span
        return 1.0 if until == start else float((self._memory.stepper.t - start) / (until - start))

    # ------------------------------------------------------------------------------------------------------ control

    def _sample_control(self, t: float) -> bool:
        """Set the inputs by a sampled control."""
        if isinstance(self._control, Recorded):
            self._memory.inputs[:] = self._control.row(t)
            return True
        assert self._caller is not None
        try:
            self._memory.inputs[:] = self._caller(t, self._memory.state)
        except Exception as error:
            self._failure = error
            return False
        self._applied.append((t, self._memory.inputs.copy()))
        return True

    def _command(self, arguments: int, results: int) -> None:
        """Set the inputs at a stage; arguments and results are in the memory of the loop."""
        stepper = self._memory.stepper
        assert self._caller is not None
        try:
            stepper.command[:] = self._caller(float(stepper.time[0]), stepper.point[: stepper.states])
        except BaseException as error:  # an exception cannot pass through compiled code
            self._failure = error
            stepper.aborted = 1

    # -------------------------------------------------------------------------------------------------- switching

    def _switch_velocities(self) -> bool:
        """Switch to a better choice of velocities, or keep the present one; False if it is singular."""
        memory, stepper = self._memory, self._memory.stepper
        condition = stepper.condition if np.isfinite(stepper.condition) else np.inf
        choice = self._compiled.equations.choice
        best = self._choices.best_other(choice, stepper.t, memory.state.copy(), memory.inputs, self._parameters)
        if best is None or not best[2] < condition:
            if self._pass_singular_position():
                return True
            stepper.limit = 2.0 * condition
            self._notes.worst_condition = max(self._notes.worst_condition, (condition, stepper.t))
            return condition <= SINGULAR_FACTOR * self._compiled.equations.limits.condition
        other, state, better = best
        external = self._method.scheme.external
        self._compiled = (self._choices.optimized if external else self._choices.for_steps)(other)
        if self._caller is not None:
            self._caller.use_names_of(self._compiled.equations)
        tables = self._switch_tables((float(stepper.t), self._span[1]), state, memory.inputs.copy())
        if tables is not None or memory.has_switches:
            memory.set_switches(tables or no_switches())
        memory.take(self._kernels(), self._method)
        self._set_marks((float(stepper.t), self._span[1]))
        self._advance = self._make_advance()
        memory.state[:] = state
        stepper.limit = max(self._compiled.equations.limits.condition, 2.0 * better)
        self._recording.begin_segment(self._compiled)
        return True

    def _pass_singular_position(self) -> bool:
        """Make one step across a singular position ahead, on the branch of the motion; False where there is none."""
        memory, stepper, compiled = self._memory, self._memory.stepper, self._compiled
        if compiled.dynamics is None or compiled.project is None or compiled.monitor is None or stepper.accepted == 0:
            return False
        if not has_loops(compiled.equations):
            return False
        if self._callback is not None or stepper.sliding:  # inputs that depend on the state at a stage, two vector fields
            return False
        fixed = (stepper.parameters.copy(), memory.inputs.copy(), self._parameters)
        motion = Motion.of(compiled, stepper, fixed, self._method.adaptive)
        found = motion.passage(float(stepper.t), memory.state.copy(), float(stepper.h), float(stepper.end))
        if found is None:
            return False
        step, limit = float(stepper.h), compiled.equations.limits.condition
        rtol, atol = (float(np.min(getattr(self._method, name, 1e-9))) for name in ("rtol", "atol"))
        memory.take(self._kernels(), PassageStep(rtol, atol, self._method.max_steps))
        reason = found.record(memory, stepping_loop(False, compiled.switching is not None))
        self._notes.passages.append(found)
        self._interrupted = reason if reason not in (layout.PAUSED, layout.REACHED) else None
        memory.take(self._kernels(), self._method)
        self._advance = self._make_advance()
        stepper.h, stepper.budget = step, FIRST_BUDGET
        stepper.limit = max(limit, 2.0 * motion.condition(float(stepper.t), memory.state.copy()))
        return True

    def _handle_stiffness(self) -> None:
        """Stability limits the explicit steps: switch to the implicit method if allowed, else note it for a warning."""
        stepper = self._memory.stepper
        stepper.check_stiffness = 0
        if self._jumps is not None:  # slips that begin, with derivatives
            return
        if self._chosen.if_stiff is None:
            self._notes.stiff_since = float(stepper.t)
            return
        self._changes.limited = float(stepper.h)
        if self._changes.intervals:
            self._nonstiff.left(stepper.accepted)
        if self._pairs(self._chosen.if_stiff.implicit):
            self._pair_methods(self._chosen.if_stiff.implicit)
            return
        self._switch_method(self._chosen.if_stiff.implicit)
        stepper.h *= layout.FIRST_PART  # the error estimate of the other method may be larger
        stepper.check_stiffness = int(self._compiled.form.explicit and self._compiled.form.form.size <= MAX_UNKNOWNS)

    def _check_stiffness(self) -> None:
        """Return to the explicit method if stability would not have limited it at several checks."""
        memory, stepper = self._memory, self._memory.stepper
        point = stepper.x[: stepper.unknowns].copy()
        rate = spectral_radius(self._compiled.form, float(stepper.t), point, memory.inputs, memory.with_branches)
        if not self._nonstiff.check(float(stepper.h), rate):
            return
        self._nonstiff.returned(stepper.accepted)
        self._switch_method(self._chosen.method)
        stepper.check_stiffness = 2  # the equations may become stiff again soon

    def _note_changes(self) -> None:
        """Note the changes of methods that the loop has made."""
        stepper = self._memory.stepper
        if not self._paired or self._paired_changes == stepper.method_changes:
            return
        for k in range(self._paired_changes, stepper.method_changes):
            self._changes.add(self._method, float(stepper.method_time[min(k, layout.METHOD_TIMES - 1)]))
            self._method = self._paired[0] if self._method.implicit else self._paired[1]
        self._paired_changes = stepper.method_changes
        if stepper.limited_step:
            self._changes.limited = float(stepper.limited_step)
        self._method_text = self._changes.description(self._method)

    def _pairs(self, implicit: SteppingMethod) -> bool:
        """Whether the loop can change to this method and back by itself: where slips of contacts begin, equations are stiff for a
        short time, again and again."""
        stepper = self._memory.stepper
        return bool(stepper.unilateral) and pairs(self._compiled, implicit)

    def _pair_methods(self, implicit: SteppingMethod) -> None:
        """Go on with memory for both methods; the loop changes between them from now on, at first to the implicit one."""
        self._paired, self._paired_changes = (self._method, implicit), 0
        self._memory.take_pair(self._kernels(), *self._paired)
        self._memory.stepper.phase = layout.STIFFENED
        self._advance = self._make_advance()

    def _switch_method(self, method: SteppingMethod) -> None:
        """Continue with another method."""
        stepper = self._memory.stepper
        self._changes.add(self._method, float(stepper.t))
        self._method = method
        self._method_text = self._changes.description(method)
        self._memory.take(self._kernels(), method)
        stepper.stiff_steps, stepper.nonstiff_steps = 0, 0
        self._advance = self._make_advance()

    # ------------------------------------------------------------------------------------------------------- result

    def _situation(self) -> FinalState:
        switching = self._compiled.switching
        surfaces = () if switching is None else switching.names
        return FinalState(self._memory, self._compiled.equations, self._method, self._span, self._failure, surfaces)

    def _result(self, status: Status, elapsed: float) -> Run:
        stepper = self._memory.stepper
        seconds = {"compile": self._choices.seconds, "integrate": elapsed}
        if self._caller is not None:
            seconds["control"] = self._caller.seconds
        if status.kind != Ending.FINISHED and self._recording.lacks_last_state:
            if isinstance(self._control, EveryStage) and self._failure is None and self._caller is not None:
                self._memory.inputs[:] = self._caller(stepper.t, self._memory.state)
            self._recording.store_last_state(self._compiled)
        switching = self._compiled.switching
        switches = () if switching is None else switching.occurrences(stepper, self._restarts)
        self._notes.one_sided = () if self._jumps is None else tuple(self._jumps.notes)
        observed = Observations(
            stepper,
            self._choices.root,
            self._compiled,
            self._method,
            switches,
            self._caller if isinstance(self._control, EveryStage) else None,
            elapsed,
            self._notes,
        )
        warnings = dict(run_warnings(observed))
        for warning in warnings.values():
            status = status.with_warning(warning)
        if self._report_choice or self._method_text != self._chosen.description:
            status = replace(status, message=f"{status.message}; {self._method_text}")
        return Run(
            segments=self._recording.segments(self._compiled),
            events=self._recording.occurrences([e.name for e in self._choices.root.event_list]),
            status=status,
            final_time=stepper.t,
            final_state=self._memory.state.copy(),
            evaluations=stepper.evaluations,
            accepted=stepper.accepted,
            rejected=stepper.rejected,
            method=self._method_text,
            tolerance=None if (rtol := getattr(self._method, "rtol", None)) is None else float(np.max(rtol)),
            jacobians=stepper.jacobians,
            factorizations=stepper.factorizations,
            seconds=seconds,
            failure=self._failure,
            switches=switches,
            modes=contact_history(stepper.modes, self._choices.root, float(stepper.t)) if stepper.unilateral else NO_MODES,
            contact_least=stepper.contact_least.copy(),
            residual_limit=residual_limit(self._choices.root.limits, float(stepper.threshold), self._method),
            cautions=tuple(warnings),
            final_sliding=self._recording.final_sliding(self._compiled),
            applied=(np.array([t for t, _ in self._applied]), np.array([u for _, u in self._applied])) if self._applied else None,
        )
