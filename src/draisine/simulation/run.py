"""Integration from a consistent start (`integrate`): the driver around the stepping loop.

The loop is called for about 50 ms at a time, so that interruptions are handled between two calls, with all results so far in
place. The driver handles what is rare: it calls a sampled control, enlarges buffers, switches the independent velocities when
they become ill-conditioned, switches methods on stiffness, and determines the status at the end.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from draisine.codegen.restricted.types import KERNEL
from draisine.errors import ArgumentError
from draisine.program.arguments import numbers
from draisine.program.equations import Equations
from draisine.results.status import Ending, Progress, ProgressCallback, Status
from draisine.simulation.compiled_equations import CompiledEquations, VelocityChoices, prepare
from draisine.simulation.methods.selection import (
    MAX_UNKNOWNS,
    Auto,
    Method,
    MethodChanges,
    MethodChoice,
    NonstiffChecks,
    broken_threshold,
    check_atol,
    check_step,
    detects_stiffness,
    method_title,
    projection_threshold,
    select_method,
    spectral_radius,
)
from draisine.simulation.methods.tableau import Advance, ExternalMethod, SteppingMethod
from draisine.simulation.result import FinalState, Occurrence, Run, Segment, SwitchOccurrence, describe, time_text, undetermined
from draisine.simulation.sampled_control import Control, ControlCaller, EveryStage, Recorded, Sampled
from draisine.simulation.singular_passage import Motion, Passage, PassageStep, has_loops, set_limits
from draisine.simulation.stepper import layout
from draisine.simulation.stepper.contact_memory import contact_history, mode_parameters
from draisine.simulation.stepper.memory import Kernels, Memory, SwitchTables, no_switches, stepping_loop

if TYPE_CHECKING:
    from draisine.simulation.sliding_samples import SlidingSamples

__all__ = ["Occurrence", "Run", "Segment", "integrate"]

Reals = NDArray[np.float64]

CHUNK = 0.05  # seconds between two checks for interruptions and progress
FIRST_BUDGET = 256  # steps of the first call, when their duration is unknown
# Where no other choice of velocities is better, a run continues up to this multiple of the limit and is singular beyond it.
SINGULAR_FACTOR = 1e4
BRANCHES_MEET = 30.0  # multiple of the limit from which on the warning mentions other branches

# Warnings in short, without times and sizes, as ensembles count them.
STIFF_EQUATIONS = "the equations are stiff, and stability limits the steps of an explicit method"
PASSED_SINGULAR = "the motion passes a singular position, where it could also branch, and is continued smoothly"
NEARLY_SINGULAR = "the motion came close to a singular position, where errors grow"


def fast_event(name: str) -> str:
    return f"event {name!r} varies too fast for the steps, and some of its occurrences may be missing"


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
) -> Run:
    """Integrate from the state `x0` at time `start` to time `until`; an earlier `until` runs backwards.

    `samples` are the output times, in the order of the run; without them the accepted steps are kept. `inputs` are constant
    unless a `control` sets them. `progress` is called at intervals with a `Progress`. With `only_samples` the run may end after
    the last of the samples; with `steps_too` the accepted steps are kept beside them (`Segment.at_steps`).
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
    driver = _Driver(
        choices,
        x,
        (float(start), float(until)),
        numbers("parameter", root.parameters, parameters, root.dependent_parameters),
        numbers("input", root.inputs, inputs),
        chosen,
        isinstance(method, Auto),
        _check_samples(samples, start, until),
        control,
        progress,
        only_samples,
        steps_too and samples is not None and not isinstance(control, EveryStage),
    )
    return driver.run()


def _check_samples(samples: ArrayLike | None, start: float, until: float) -> Reals | None:
    if samples is None:
        return None
    times = np.asarray(samples, dtype=float).reshape(-1)
    sign = 1.0 if until >= start else -1.0
    order = "increase" if sign > 0 else "decrease, because the run goes backwards"
    gaps = np.flatnonzero(~(sign * np.diff(times) > 0.0))
    if gaps.size:
        raise ArgumentError(f"samples must {order}; after t = {times[gaps[0]]:g} comes t = {times[gaps[0] + 1]:g}")
    outside = times[~((sign * (times - start) >= 0.0) & (sign * (until - times) >= 0.0))]
    if outside.size:
        raise ArgumentError(f"samples must lie between start = {start:g} and until = {until:g}; t = {outside[0]:g} does not")
    return times


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
    ) -> None:
        self._only_samples, self._steps_too, self._only_steps = only_samples, steps_too, samples is None
        self._applied: list[tuple[float, Reals]] = []  # by a sampled control
        self._choices, self._control, self._progress = choices, control, progress
        self._chosen, self._report_choice = chosen, report_choice  # whether the status names the selected method
        self._method: SteppingMethod = chosen.method
        self._method_text = chosen.description
        self._stiff_since: float | None = None
        self._changes, self._nonstiff = MethodChanges(), NonstiffChecks()
        self._span, self._parameters = span, parameters
        self._failure: BaseException | None = None
        # external methods keep the kernels they are given
        external = self._method.scheme.external
        self._compiled = (choices.optimized if external else choices.compiled)(choices.root.choice)
        events = choices.root.event_list
        directions, stops = [e.direction for e in events], [e.action == "stop" for e in events]
        self._caller: ControlCaller | None = None
        self._callback = None
        if control is not None:
            self._caller = ControlCaller(control.function, [q.name for q in choices.root.inputs], parameters, inputs)
            self._caller.use_names_of(choices.root)
        if isinstance(control, EveryStage):
            self._callback = KERNEL(self._command)
        self._restarts: dict[float, str] = {}  # restart times → names of the switching functions
        self._all_restarts = True  # none is missing
        tables = self._switch_tables(span, x, inputs)
        self._memory = Memory(
            self._kernels(), self._method, x, inputs, parameters, span, samples, directions, stops, tables, steps_too
        )
        stepper = self._memory.stepper
        stepper.threshold = choices.root.limits.residual or projection_threshold(self._method)
        stepper.broken = broken_threshold(choices.root.limits, stepper.threshold)
        stepper.projections = choices.root.limits.projections
        set_limits(stepper, choices.root)
        stepper.budget = FIRST_BUDGET
        stepper.check_stiffness = int(detects_stiffness(self._method))
        self._advance = self._make_advance()
        self._last_progress = time.perf_counter()  # time of the last call of progress
        # Segments of the run: equations, and the number of samples, steps and events before them.
        self._segment_starts: list[tuple[CompiledEquations, int, int, int]] = [(self._compiled, 0, 0, 0)]
        self._worst_condition = (0.0, 0.0)  # largest condition number accepted, and its time
        self._passages: list[Passage] = []  # of singular positions
        self._interrupted: int | None = None  # why the loop ended within the last of them

    def _kernels(self) -> Kernels:
        address = 0 if self._callback is None else ctypes.cast(self._callback, ctypes.c_void_p).value or 0
        return self._compiled.kernels(address, self._method.implicit, self._choices.margins_of)

    def _switch_tables(self, span: tuple[float, float], x: Reals, inputs: Reals) -> SwitchTables | None:
        """The switching functions of the present equations over a span of time from a state."""
        switching = self._compiled.switching
        if switching is None:
            return no_switches() if self._compiled.equations.unilateral else None
        tables = switching.tables(span, x, inputs, self._parameters, self._method)
        self._restarts |= switching.names_of_restarts(tables)
        self._all_restarts = self._all_restarts and tables.guaranteed
        return tables

    def _renew_restarts(self, now: float) -> None:
        """After a change of the inputs: restart times that depend on them."""
        switching = self._compiled.switching
        if switching is not None and switching.depends_on_inputs:
            tables = self._switch_tables((now, self._span[1]), self._memory.state.copy(), self._memory.inputs.copy())
            assert tables is not None
            self._memory.renew_restarts(tables)

    def _make_advance(self) -> Advance:
        """What makes the steps: the stepping loop, or an external method that passes its steps to the loop."""
        unilateral = bool(self._compiled.equations.unilateral)
        loop = stepping_loop(self._method.implicit, self._compiled.switching is not None, unilateral=unilateral)
        if not self._method.scheme.external:
            return loop
        command = self._command_without_arguments if self._callback is not None else None
        return cast(ExternalMethod, self._method).stepper(self._memory, self._compiled, loop, command)

    # ----------------------------------------------------------------------------------------------------- driving

    def run(self) -> Run:
        started = time.perf_counter()
        try:
            reason = self._integrate()
            status = describe(self._situation(), reason)
        except KeyboardInterrupt:
            status = describe(self._situation(), None)
        return self._result(status, time.perf_counter() - started)

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
            self._renew_restarts(float(now))
            reason = self._advance_to(float(then))
            if reason != layout.REACHED or (self._only_samples and stepper.sample_count >= stepper.samples):
                return reason
        return layout.REACHED

    def _advance_to(self, end: float) -> int:
        """Call the loop until time `end` or until something stops it."""
        memory, stepper = self._memory, self._memory.stepper
        stepper.end = end
        while True:
            started, before = time.perf_counter(), stepper.accepted + stepper.rejected
            if stepper.phase != layout.RUNNING and self._method.implicit:
                self._compiled.prepare_implicit_start(memory, self._parameters)
            reason = self._advance(stepper)
            now = time.perf_counter()
            self._set_budget(stepper.accepted + stepper.rejected - before, now - started)
            if self._compiled.quick:
                self._optimize_after(now - started)
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
                return reason
            elif self._only_samples and stepper.sample_count >= stepper.samples:
                return layout.PAUSED

    def _optimize_after(self, seconds: float) -> None:
        """Continue with optimized kernels, which give the same bits, if quick ones have taken long."""
        made = self._choices.after_steps(self._compiled.equations.choice, seconds)
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

    def _command_without_arguments(self) -> None:
        self._command(0, 0)

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
            self._worst_condition = max(self._worst_condition, (condition, stepper.t))
            return condition <= SINGULAR_FACTOR * self._compiled.equations.limits.condition
        other, state, better = best
        external = self._method.scheme.external
        self._compiled = (self._choices.optimized if external else self._choices.compiled)(other)
        if self._caller is not None:
            self._caller.use_names_of(self._compiled.equations)
        tables = self._switch_tables((float(stepper.t), self._span[1]), state, memory.inputs.copy())
        if tables is not None:
            memory.set_switches(tables)
        memory.take(self._kernels(), self._method)
        self._advance = self._make_advance()
        memory.state[:] = state
        stepper.limit = max(self._compiled.equations.limits.condition, 2.0 * better)
        part = (self._compiled, stepper.sample_count, stepper.step_count, stepper.event_count)
        if part[1:] == self._segment_starts[-1][1:]:
            self._segment_starts.pop()  # nothing was recorded with the choice before
        self._segment_starts.append(part)
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
        motion = self._motion(compiled, stepper.parameters.copy(), memory.inputs.copy())
        found = motion.passage(float(stepper.t), memory.state.copy(), float(stepper.h), float(stepper.end))
        if found is None:
            return False
        step, limit = float(stepper.h), compiled.equations.limits.condition
        rtol, atol = (float(np.min(getattr(self._method, name, 1e-9))) for name in ("rtol", "atol"))
        memory.take(self._kernels(), PassageStep(rtol, atol, self._method.max_steps))
        memory.state[:] = found.first
        loop, stepper.limit = stepping_loop(False, compiled.switching is not None), np.inf
        stepper.h, stepper.budget = 1.0, 0
        reason = loop(stepper)  # derivative and event values at the beginning
        if reason == layout.PAUSED:
            n = stepper.states
            stepper.new[:n], stepper.dense[:], stepper.budget = found.last, 0.0, 1
            stepper.dense[: len(found.dense), :n] = found.dense
            stepper.h, stepper.external_time = found.end - found.begin, found.end
            reason = loop(stepper)
        self._passages.append(found)
        self._interrupted = reason if reason not in (layout.PAUSED, layout.REACHED) else None
        memory.take(self._kernels(), self._method)
        self._advance = self._make_advance()
        stepper.h, stepper.budget = step, FIRST_BUDGET
        stepper.limit = max(limit, 2.0 * motion.condition(float(stepper.t), memory.state.copy()))
        return True

    def _motion(self, compiled: CompiledEquations, extended: Reals, u: Reals) -> Motion:
        """The equations at a state, for the step across a singular position. Kernels read no further parameters than theirs."""
        dynamics, project, monitor = compiled.dynamics, compiled.project, compiled.monitor
        assert dynamics is not None and project is not None and monitor is not None
        stepper, p = self._memory.stepper, self._parameters

        def onto(t: float, x: Reals) -> tuple[Reals, float]:
            moved, residual = project(t, x, u, p)
            return moved, float(residual[0])

        def rates(t: float, x: Reals) -> Reals:
            stepper.evaluations += 1
            return dynamics.kernel(t, x, u, extended)[0]

        def condition(t: float, x: Reals) -> float:
            return float(monitor(t, x, u, p)[0][0])

        def weights(x: Reals) -> Reals:
            if not self._method.adaptive:
                return np.full(len(x), 1e-9)
            # rounding errors of accelerations near the singular position do not allow less
            return np.maximum(stepper.rtol * np.abs(x) + stepper.atol, 1e-10 * (1.0 + np.abs(x)))

        return Motion(rates, onto, condition, weights, 100.0 * float(stepper.threshold))

    def _handle_stiffness(self) -> None:
        """Stability limits the explicit steps: switch to the implicit method if allowed, else note it for a warning."""
        stepper = self._memory.stepper
        stepper.check_stiffness = 0
        self._stiff_since = float(stepper.t)
        if self._chosen.if_stiff is None:
            return
        self._changes.limited = float(stepper.h)
        if self._changes.intervals:
            self._nonstiff.left(stepper.accepted)
        self._switch_method(self._chosen.if_stiff.implicit)
        stepper.h *= 0.1  # the error estimate of the other method may be larger
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
        if status.kind != Ending.FINISHED:
            self._store_last_state()
        warnings = dict(self._warnings(elapsed))
        for warning in warnings.values():
            status = status.with_warning(warning)
        if self._report_choice or self._method_text != self._chosen.description:
            status = replace(status, message=f"{status.message}; {self._method_text}")
        return Run(
            segments=self._segments(),
            events=self._occurrences(),
            status=status,
            final_time=stepper.t,
            final_state=self._memory.state.copy(),
            evaluations=stepper.evaluations,
            accepted=stepper.accepted,
            rejected=stepper.rejected,
            method=self._method_text,
            jacobians=stepper.jacobians,
            factorizations=stepper.factorizations,
            seconds=seconds,
            failure=self._failure,
            switches=self._switch_occurrences(),
            modes=contact_history(stepper.modes, self._choices.root.unilateral, float(stepper.t)) if stepper.unilateral else None,
            contact_least=stepper.contact_least.copy(),
            residual_limit=self._residual_limit(),
            cautions=tuple(warnings),
            final_sliding=self._final_sliding(),
            applied=(np.array([t for t, _ in self._applied]), np.array([u for _, u in self._applied])) if self._applied else None,
        )

    def _residual_limit(self) -> float:
        """The residual at which a run with projections would end."""
        limits, threshold = self._choices.root.limits, float(self._memory.stepper.threshold)
        return broken_threshold(
            replace(limits, monitored=True), threshold if np.isfinite(threshold) else projection_threshold(self._method)
        )

    def _switch_occurrences(self) -> tuple[SwitchOccurrence, ...]:
        switching = self._compiled.switching
        return () if switching is None else switching.occurrences(self._memory.stepper, self._restarts)

    def _warnings(self, elapsed: float) -> Iterator[tuple[str, str]]:
        """What to note about the integration: in short, and with times and cures."""
        if isinstance(self._control, EveryStage) and self._caller is not None:
            share = self._caller.seconds / max(elapsed, 1e-9)
            yield (
                "the control was called in Python at every stage",
                f"the control was called in Python at every stage: {self._caller.calls} calls, {share:.0%} of the run's time; an "
                "expression is compiled, and Sampled calls the function less often",
            )
            switching = self._compiled.switching
            if switching is not None and switching.depends_on_inputs:
                yield (
                    "the time of a switch depends on an input that is set in Python",
                    f"{', '.join(switching.depends_on_inputs)} depends on time and on an input that is set in Python at every "
                    "stage: the time of the switch is not known, and was taken for the inputs at the start. Sampled solves it",
                )
        switching = self._compiled.switching
        one_sided = "" if switching is None else switching.one_sided(self._memory.stepper)
        if one_sided:
            yield "sensitivities are those of one side", one_sided
        yield from self._sliding_values()
        if self._stiff_since is not None and self._chosen.if_stiff is None:
            yield (
                STIFF_EQUATIONS,
                f"the equations are stiff from {time_text(self._stiff_since)} on: stability, not accuracy, limits the steps of "
                f"{method_title(self._method)}; Radau() makes longer ones, and Auto() switches to it",
            )
        stepper = self._memory.stepper
        if stepper.unresolved_event:
            name = self._choices.root.event_list[stepper.unresolved_event - 1].name
            cure = "max_step" if self._method.adaptive else "step"
            yield (
                fast_event(name),
                f"event {name!r} varies too fast for the step at {time_text(float(stepper.unresolved_time))}: some of its "
                f"occurrences may be missing; make shorter steps, {type(self._method).__name__}({cure}=…)",
            )
        if not self._all_restarts:
            yield (
                "switches of a function of time were found by sampling, and some may be missing",
                "a function of time switches so often that its switches were found by sampling; some may be missing: write it "
                "in simpler terms, or run shorter parts",
            )
        if self._passages:
            times = ", ".join(f"{passage.singular:.6g}" for passage in self._passages[:5])
            more = ", …" if len(self._passages) > 5 else ""
            yield (
                PASSED_SINGULAR,
                f"the motion passes a singular position at t = {times}{more} s, where it could also branch: it is continued "
                "smoothly, on the branch on which it arrives; forces of constraints are not determined there",
            )
        condition, t = self._worst_condition
        if condition > 0.0 and np.isfinite(condition):
            limit = self._compiled.equations.limits.condition
            meet = condition > BRANCHES_MEET * limit and has_loops(self._compiled.equations)
            branches = ", and where branches of motion meet the run may have changed to another one: compare drift=Minimal()"
            branches = branches if meet else ""
            yield (
                NEARLY_SINGULAR,
                f"the motion came close to a singular position, and no other choice of independent velocities was better: the "
                f"condition was {condition:.2g} at t = {t:.6g} s (limit {limit:g}); errors grow by about that factor{branches}",
            )

    def _sliding_values(self) -> Iterator[tuple[str, str]]:
        """Where forces and outputs of a sliding motion are not those of a mixed law."""
        stepper, root = self._memory.stepper, self._choices.root
        given = any(slot.name == "inputs" and slot.size for slot in root.report.outputs)
        if self._compiled.switching is None or not (root.outputs or root.multipliers or given):  # only states are reported
            return
        slid = [occurrence for occurrence in self._switch_occurrences() if occurrence.sliding == "begins"]
        names = ", ".join(dict.fromkeys(occurrence.name for occurrence in slid))
        if stepper.means:
            yield (
                "forces and accelerations while the motion slides are means of both sides",
                f"the motion slides on {names}, and from {time_text(float(stepper.means_time))} on no single value of this law "
                "gives the sliding motion: forces, accelerations and other channels are means of both sides over infinitely fast "
                "switching, and channels that are not linear in the law are not functions of the others",
            )
        if stepper.splits:
            switches = self._compiled.switching.switching.switches
            shared = " and ".join(switches[i].name for i in np.flatnonzero(stepper.split_named[: len(switches)])) or names
            lost = " (not found at some instants, where it is arbitrary)" if stepper.split_failures else ""
            yield (
                "the split of forces between laws that hold the motion together is not determined",
                f"from {time_text(float(stepper.split_time))} on the motion is held by {shared} together: rigid bodies determine "
                "the resultant of these laws, not the split between them (as with redundant constraints). Each is taken at an "
                f"equal fraction of its range where that gives the motion{lost}; these laws, the reactions between them and the "
                "contact forces follow from that choice. For a determined split, give bodies between them compliance",
            )
        if slid and stepper.variations:
            yield (
                "sensitivities of forces while the motion slides are those of the laws as written",
                f"the motion slides on {names} from {time_text(slid[0].time)}: sensitivities of forces, accelerations and other "
                "channels that depend on this law are those of the law as written, not of the sliding motion",
            )

    def _store_last_state(self) -> None:
        """Append the final state to the samples of a run that ended early."""
        stepper = self._memory.stepper
        k = stepper.sample_count
        if self._only_steps or (k > 0 and stepper.sample_time[k - 1] == stepper.t):
            return
        if isinstance(self._control, EveryStage) and self._failure is None and self._caller is not None:
            self._memory.inputs[:] = self._caller(stepper.t, self._memory.state)
        stepper.sample_time[k] = stepper.t
        stepper.sample_x[k] = self._memory.state
        stepper.sample_u[k] = self._memory.inputs
        if self._compiled.switching is not None:
            self._compiled.switching.record_mixture(self._memory, stepper.sample_mixture[k])
        stepper.sample_count = k + 1

    def _final_sliding(self) -> SlidingSamples | None:
        """How the law is mixed at the end, if the run slides there."""
        stepper, switching = self._memory.stepper, self._compiled.switching
        if switching is None or not stepper.sliding:
            return None
        last = stepper.sample_count - 1
        if last >= 0 and stepper.sample_time[last] == stepper.t:
            return switching.sliding_samples(stepper.sample_mixture[last : last + 1])
        row = np.zeros((1, 1 + len(stepper.branch)))
        switching.record_mixture(self._memory, row[0])
        return switching.sliding_samples(row)

    def _segments(self) -> tuple[Segment, ...]:
        stepper = self._memory.stepper
        ends = [*self._segment_starts[1:], (self._compiled, stepper.sample_count, stepper.step_count, stepper.event_count)]
        segments = []
        for (part, sample, step, _), (_, next_sample, next_step, _) in zip(self._segment_starts, ends, strict=True):
            steps = stepper.step_time[step:next_step]

            def kept(name: str, rows: slice, part: CompiledEquations = part, steps: Reals = steps) -> Segment:
                times, states, inputs = (getattr(stepper, f"{name}_{what}")[rows] for what in ("time", "x", "u"))
                switching = part.switching
                sliding = None if switching is None else switching.sliding_samples(getattr(stepper, f"{name}_mixture")[rows])
                return Segment(part.equations, times, states, inputs, steps, sliding)

            if self._only_steps:
                segments.append(kept("step", slice(step, next_step)))
                continue
            at_steps = kept("step", slice(step, next_step)) if self._steps_too else None
            segments.append(replace(kept("sample", slice(sample, next_sample)), at_steps=at_steps))
        if stepper.unilateral:
            return self._segments_of_modes(segments[0])
        return tuple(segments)

    def _segments_of_modes(self, whole: Segment) -> tuple[Segment, ...]:
        """A segment for every interval between two changes of modes, with the modes among the parameters."""
        modes = self._memory.stepper.modes
        before = modes.change_step if self._only_steps else modes.change_sample
        starts = before[: modes.change_count].tolist()
        if not starts:
            return (whole,)
        ends, found = [*starts[1:], len(whole.times)], []
        for k, (begin, end) in enumerate(zip(starts, ends, strict=True)):
            rows = slice(begin, end)
            parts = (whole.times[rows], whole.states[rows], whole.inputs[rows])
            found.append(
                Segment(whole.equations, *parts, whole.steps, parameters=mode_parameters(modes, k, self._parameters))
            )
        return tuple(found)

    def _occurrences(self) -> tuple[Occurrence, ...]:
        stepper = self._memory.stepper
        starts = [happened for _, _, _, happened in self._segment_starts]
        names = [e.name for e in self._choices.root.event_list]
        found = []
        for j in range(stepper.event_count):
            segment = int(np.searchsorted(starts, j, side="right")) - 1
            index, time_text = int(stepper.event_index[j]), float(stepper.event_time[j])
            found.append(Occurrence(names[index], time_text, stepper.event_x[j].copy(), segment))
        return tuple(found)
