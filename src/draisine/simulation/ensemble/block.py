"""A block of runs on one thread: starts, batch stepping, changes of velocities, and runs that need the single-run driver."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from draisine.codegen.jit.kernel import Kernel
from draisine.codegen.simd import VectorKernel
from draisine.errors import StartError
from draisine.program.equations import Equations
from draisine.results.contact_modes import ContactHistory, RecordedChanges
from draisine.results.status import Ending
from draisine.simulation.compiled_equations import VelocityChoices, best_choice_for
from draisine.simulation.contact_margins import contact_kernel, contact_margins
from draisine.simulation.ensemble.batch import BEGIN, RESUME, SKIP
from draisine.simulation.ensemble.batch_stepper import (
    ENDINGS,
    BatchState,
    BatchStepper,
    Integers,
    Reals,
    batch_code,
    steps_in_batches,
    wide_dynamics,
    wide_margins,
)
from draisine.simulation.ensemble.contact_runs import ContactRun, ContactRuns, runs_in_one_memory
from draisine.simulation.ensemble.outputs import Reporter
from draisine.simulation.ensemble.problem import BAD_VALUES
from draisine.simulation.ensemble.residuals import OFF, broken_samples, checked_rows, residual_kernel
from draisine.simulation.ensemble.statistics import SEPARATOR
from draisine.simulation.initial.batch import BatchStart, BatchTargets, consistent_starts
from draisine.simulation.initial.consistent_start import consistent_start
from draisine.simulation.initial.problem import StartProblem
from draisine.simulation.methods.selection import (
    Method,
    MethodChoice,
    broken_threshold,
    detects_stiffness,
    projection_threshold,
)
from draisine.simulation.run import SINGULAR_FACTOR, UNRESOLVED, integrate, small_scale_atol
from draisine.simulation.run_warnings import NEARLY_SINGULAR, STIFF_EQUATIONS, fast_event, passed_at_start, starts_beyond
from draisine.simulation.singular_passage import has_loops
from draisine.simulation.stepper import layout
from draisine.simulation.stepper.memory import stepping_loop

NO_START = "NO_START"  # the targets of a run contradict each other or the constraints
Choice = tuple[str, ...]
Indices = NDArray[np.intp]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Shared:
    """Data shared by all blocks and threads."""

    choices: VelocityChoices
    starts: StartProblem
    method: Method | None
    chosen: MethodChoice
    until: float
    samples: Reals
    reporter: Reporter
    stop: Integers  # (1) nonzero to stop
    velocities: dict[Choice, Kernel] = field(default_factory=dict)  # (t, x, u, p) → all velocities
    monitors: dict[Choice, Kernel | None] = field(default_factory=dict)
    wide: dict[Choice, VectorKernel | None] = field(default_factory=dict)  # vector kernels of the dynamics …
    margins: dict[Choice, VectorKernel | None] = field(default_factory=dict)  # … and of contact margins
    side_by_side: bool = True
    prepared: set[Choice] = field(default_factory=set)
    lock: Lock = field(default_factory=Lock)  # deriving, compiling and interpreting are not thread-safe

    @property
    def equations(self) -> Equations:
        return self.choices.root

    @property
    def in_batches(self) -> bool:
        """Whether runs are stepped in batches. With switching functions they are single runs, each with its restart times, and
        so they are with contacts that open, each with its modes."""
        return not self.steps_singly and steps_in_batches(self.equations, self.chosen)

    @property
    def steps_singly(self) -> bool:
        """Whether the equations have switching functions or contacts that open."""
        return bool(self.equations.unilateral) or self.choices.compiled(self.equations.choice).switching is not None

    @cached_property
    def side_by_side_singles(self) -> bool:
        """Whether single runs neither derive, compile nor interpret anything: those of contacts that open."""
        return bool(self.equations.unilateral) and self.choices.compiled(self.equations.choice).switching is None

    @cached_property
    def in_one_memory(self) -> bool:
        """Whether single runs of contacts that open are made one after the other in one memory."""
        return self.side_by_side_singles and runs_in_one_memory(self.choices.compiled(self.equations.choice), self.chosen)

    def ready(self, first: BatchTargets) -> None:
        """Compile what every block needs before threads start. `first` is one sample as a trial."""
        self.prepare(self.equations.choice)
        consistent_starts(self.starts, first)
        if self.side_by_side_singles:
            stepping_loop(unilateral=True)
            residual_kernel(self.equations)
            _ = self.in_one_memory
            if self.chosen.if_stiff is not None:
                stepping_loop(implicit=True, unilateral=True)
                _ = self.choices.compiled(self.equations.choice).form

    def prepare(self, choice: Choice) -> None:
        """Derive and compile a choice of velocities, at its first use: few ensembles need another than that of the equations."""
        if choice in self.prepared:
            return
        with self.lock:
            if choice in self.prepared:
                return
            compiled = self.choices.compiled(choice)
            self.monitors[choice] = compiled.monitor
            contact_kernel(compiled.equations)
            if self.in_batches:
                wide = self.wide[choice] = wide_dynamics(compiled.equations, self.chosen) if self.side_by_side else None
                self.margins[choice] = None if wide is None else wide_margins(compiled.equations)
                batch_code(wide)
            self.velocities[choice] = self.reporter.all_velocities(compiled.equations)
            self.reporter.prepare(compiled.equations)
            self.prepared.add(choice)


@dataclass(frozen=True, eq=False)
class Finished:
    """The results of a block."""

    values: Reals  # (batch, samples + 1, outputs): at the output times and at the end; NaN if not reached
    status: NDArray[np.object_]
    event: NDArray[np.object_]  # the event that stopped a run, or ""
    first: Reals  # (batch, e)
    count: Integers
    ended: Reals
    steps: Integers
    evaluations: Integers
    contact_least: Reals  # (batch, c) least contact margins, NaN if not run
    warnings: NDArray[np.object_]  # what single runs warn of, in short; "" if nothing
    contact_names: tuple[str, ...] = ()  # of contacts that open
    contacts: Reals = field(default_factory=lambda: np.zeros((0, 1)))  # (batch, 1 + 2 c): energy lost; mode at the end, impacts


def contact_names(equations: Equations) -> tuple[str, ...]:
    return tuple(contact.name for contact in equations.unilateral)


def contact_counts(modes: ContactHistory, names: Sequence[str]) -> list[float]:
    """Energy lost in impacts, then the mode at the end and the number of impacts of every contact."""
    found = modes.changes
    assert isinstance(found, RecordedChanges) and tuple(names) == found.contacts
    each = zip(found.mode[-1].tolist(), found.struck.sum(axis=0).tolist(), strict=True)
    return [modes.lost, *(float(number) for pair in each for number in pair)]


def add_text(texts: NDArray[np.object_], where: Bools, text: str) -> None:
    """Add a text to some of the texts."""
    for index in np.flatnonzero(where):
        texts[index] = f"{texts[index]}{SEPARATOR}{text}" if texts[index] else text


class Worker:
    """Runs blocks on one thread."""

    def __init__(self, shared: Shared) -> None:
        self._shared = shared
        self._steppers: dict[Choice, BatchStepper] = {}
        root = shared.equations.choice
        self._choices = (root, *shared.choices.others(root))  # samples refer to them by index

    def __call__(self, requested: BatchTargets, valid: Bools) -> Finished | None:
        """Run the valid samples of a block; None if it was stopped."""
        s = self._shared
        starts = consistent_starts(s.starts, requested)
        requested = replace(requested, parameters=starts.parameters)
        indices = np.arange(len(requested))
        x, choice_of = self._initial_choices(starts, requested)
        margins = contact_margins(s.equations)
        contacts = 0 if margins is None else margins.size
        events = len(s.equations.event_list)
        state = BatchState.of(x, requested.inputs, requested.parameters, len(s.samples), events, contacts)
        values = np.full((len(requested), len(s.samples) + 1, len(s.reporter.names)), np.nan)
        residuals = self._residuals_at_start(x, choice_of, requested)
        single = ~starts.refused if not s.in_batches else ~(starts.solved | starts.refused) | self._marked_otherwise(requested)
        action = np.where(single | starts.refused | ~valid, SKIP, BEGIN).astype(np.int64)
        at_start = self._passed_at_start(x, choice_of, requested, action != SKIP)
        while action.any():
            reported = state.sample_count.copy()
            for k in np.unique(choice_of[action != SKIP]):
                own = np.where(choice_of == k, action, SKIP).astype(np.int64)
                self._stepper(self._choices[k], requested)(state, own)
            if s.stop[0]:
                return None
            self._report(state, values, choice_of, reported, indices[action != SKIP], residuals)
            action = self._switch_choices(state, choice_of, action)
        status, event = self._ends(state)
        status[starts.refused], state.ended[starts.refused] = NO_START, 0.0
        single = (single | (status == "")) & valid
        single |= self._small(state, x) & valid & ~starts.refused
        status[~valid], state.ended[~valid] = BAD_VALUES, 0.0
        finished = Finished(
            values,
            status,
            event,
            state.first,
            state.count,
            state.ended,
            state.accepted + state.rejected,
            state.evaluations,
            state.contact_least,
            self._cautions(state, at_start),
            contact_names(s.equations),
            np.full((len(requested), 1 + 2 * len(s.equations.unilateral)), np.nan),
        )
        if s.in_one_memory:
            single &= ~self._run_contacts(requested, single & starts.solved & (choice_of == 0), x, finished, residuals)
        for index in np.flatnonzero(single):
            if s.stop[0]:
                return None
            known = starts.solved[index] and s.steps_singly
            start = (x[index], self._choices[choice_of[index]]) if known else None
            with nullcontext() if known and s.side_by_side_singles else s.lock:
                self._run_single(requested, int(index), finished, start, residuals)
        self._check_residuals(finished, residuals)
        self._note_nonfinite(finished)
        return finished

    def _marked_otherwise(self, requested: BatchTargets) -> Bools:
        """Samples whose functions of time are not those of the first one, whose marks all batches have: their runs are single."""
        marks = self._shared.choices.compiled(self._shared.equations.choice).time_marks
        if marks is None or not len(requested):
            return np.zeros(len(requested), dtype=bool)
        with self._shared.lock:
            inputs, parameters = marks.determining
            numbers = np.hstack([requested.inputs[:, inputs], requested.parameters[:, parameters]])
            others = np.asarray((numbers != numbers[:1]).any(axis=1))
            if others.any():  # those without marks are no others if the first one has none
                span, method = (0.0, self._shared.until), self._shared.chosen.method
                sudden = marks.varies_suddenly(span, requested.inputs, requested.parameters, method)
                others &= sudden | sudden[0]
        return others

    def _small(self, state: BatchState, x: Reals) -> Bools:
        """Samples whose states are so small that the absolute tolerance decides on their accuracy, see `integrate`."""
        s = self._shared
        both = (np.nan_to_num(x), np.nan_to_num(state.states.reshape(len(x), -1)))
        largest = np.maximum(*(np.abs(part).max(axis=1, initial=0.0) for part in both))
        if s.method is not None and float(largest.min(initial=np.inf)) > UNRESOLVED * float(
            np.max(getattr(s.method, "atol", 0.0))
        ):
            return np.zeros(len(x), dtype=bool)
        pairs = zip(largest.tolist(), x, strict=True)
        return np.array([small_scale_atol(s.chosen.method, size, begin) is not None for size, begin in pairs], dtype=bool)

    # ------------------------------------------------------------------------------------------------- residuals

    def _residuals_at_start(self, x: Reals, choice_of: Indices, requested: BatchTargets) -> Reals:
        """Residuals of constraints (runs × times × rows): at the start, at the output times and at the end; NaN where they are
        not known yet."""
        s = self._shared
        found = np.full((len(x), len(s.samples) + 2, len(checked_rows(s.equations))), np.nan)
        for k in np.unique(choice_of):
            kernel, own = residual_kernel(s.choices.equations(self._choices[k])), np.flatnonzero(choice_of == k)
            if kernel is not None:
                found[own, 0] = kernel.map(np.zeros((len(own), 1)), x[own], requested.inputs[own], requested.parameters[own])[0]
        return found

    def _check_residuals(self, finished: Finished, residuals: Reals) -> None:
        """Runs whose residuals exceed the limit, as `simulate` reports them."""
        s = self._shared
        if not residuals.shape[2]:
            return
        limits, usual = s.equations.limits, projection_threshold(s.chosen.method)
        threshold = limits.residual or usual
        limit = broken_threshold(limits._replace(monitored=True), threshold if np.isfinite(threshold) else usual)
        ran = np.isin(finished.status, [str(Ending.FINISHED), str(Ending.EVENT)])
        broken, inexact = broken_samples(residuals, limit, s.equations, ran)
        finished.status[broken] = str(Ending.CONSTRAINTS_BROKEN)
        add_text(finished.warnings, inexact & ran, OFF)

    def _stepper(self, choice: Choice, requested: BatchTargets) -> BatchStepper:
        if choice not in self._steppers:
            s = self._shared
            s.prepare(choice)
            compiled = s.choices.compiled(choice)
            self._steppers[choice] = BatchStepper(
                compiled, s.chosen, s.until, s.samples, s.stop, s.wide[choice], s.margins[choice]
            )
        marks = self._shared.choices.compiled(choice).time_marks
        if marks is not None:  # those of the first sample
            span, method = (0.0, self._shared.until), self._shared.chosen.method
            with self._shared.lock:
                tables = marks.tables(span, requested.inputs[0], requested.parameters[0], method)
            self._steppers[choice].set_marks(tables)
        return self._steppers[choice]

    # --------------------------------------------------------------------------------------------------- choices

    def _condition(self, choice: Choice, t: Reals, x: Reals, u: Reals, p: Reals) -> Reals:
        self._shared.prepare(choice)
        monitor = self._shared.monitors[choice]
        if monitor is None:
            return np.ones(len(x))
        found = monitor.map(t[:, None], x, u, p)[0][:, 0]
        return np.where(np.isfinite(found), found, np.inf)

    def _initial_choices(self, starts: BatchStart, requested: BatchTargets) -> tuple[Reals, Indices]:
        """The equations' own choice, or a better one where it is ill-conditioned: `best_choice_for` for a batch."""
        s = self._shared
        root, t = s.equations, np.zeros(len(requested))
        x = starts.states(root)
        choice_of = np.zeros(len(requested), dtype=np.intp)
        lowest = self._condition(root.choice, t, x, requested.inputs, requested.parameters)
        poor = starts.solved & (lowest > root.limits.condition)
        for k, other in enumerate(self._choices[1:] if poor.any() else (), 1):
            s.prepare(other)
            mapped = starts.states(s.choices.equations(other))
            condition = self._condition(other, t, mapped, requested.inputs, requested.parameters)
            better = np.flatnonzero(poor & (condition < lowest))
            x[better], lowest[better], choice_of[better] = mapped[better], condition[better], k
        return x, choice_of

    def _switch_choices(self, state: BatchState, choice_of: Indices, action: Integers) -> Integers:
        """Switch ill-conditioned samples to another choice of velocities, or let them continue with the present one."""
        s = self._shared
        asking = np.flatnonzero((action != SKIP) & (state.reason == layout.SWITCH))
        again = np.full(len(action), SKIP, dtype=np.int64)
        condition = np.where(np.isfinite(state.condition), state.condition, np.inf)
        old = choice_of[asking]
        for present in np.unique(old):
            own = asking[old == present]
            best, best_state, lowest = self._best_other(self._choices[present], state, own)
            better = (best >= 0) & (lowest < condition[own])
            changing = own[better]
            choice_of[changing], state.x[changing] = best[better], best_state[better]
            state.reals[changing, 2] = np.maximum(s.equations.limits.condition, 2.0 * lowest[better])
            state.reals[changing, 3] = 1e-4
            bearing = own[~better & (condition[own] <= SINGULAR_FACTOR * s.equations.limits.condition)]
            bearing = bearing[:0] if has_loops(s.equations) else bearing  # a single run passes singular positions
            state.x[bearing] = state.states[bearing, -1]
            state.reals[bearing, 2] = 2.0 * condition[bearing]
            state.nearly_singular[bearing] = True
            again[changing] = again[bearing] = RESUME
        return again

    def _best_other(self, choice: Choice, state: BatchState, own: Indices) -> tuple[Indices, Reals, Reals]:
        """The other choice with the lowest condition number for each sample (−1: none), and the state in its velocities."""
        s = self._shared
        e = s.choices.equations(choice)
        t, x, u, p = state.ended[own], state.states[own, -1], state.inputs[own], state.parameters[own]
        v = s.velocities[choice].map(t[:, None], x, u, p)[0]
        index = {velocity.name: i for i, velocity in enumerate(e.velocities)}
        q, r = len(e.coordinates), len(e.independent)
        best, best_state, lowest = np.full(len(own), -1, dtype=np.intp), x.copy(), np.full(len(own), np.inf)
        for number, other in enumerate(self._choices):
            if other == choice:
                continue
            s.prepare(other)
            mapped = np.column_stack(
                [x[:, :q], v[:, [index[name] for name in s.choices.equations(other).independent]], x[:, q + r :]]
            )
            condition = self._condition(other, t, mapped, u, p)
            better = np.flatnonzero((condition < lowest) & np.isfinite(mapped).all(axis=1))
            best_state[better], lowest[better], best[better] = mapped[better], condition[better], number
        return best, best_state, lowest

    # ---------------------------------------------------------------------------------------------------- results

    def _report(
        self, state: BatchState, values: Reals, choice_of: Indices, reported: Integers, indices: Indices, residuals: Reals
    ) -> None:
        """Outputs and residuals at the output times reached since `reported`, and at the last states."""
        s = self._shared
        count = len(s.samples)
        rows = np.arange(count)
        fresh = (rows >= reported[indices, None]) & (rows < state.sample_count[indices, None])
        times = np.broadcast_to(s.samples, fresh.shape)
        for k in np.unique(choice_of[indices]):
            own = choice_of[indices] == k
            e = s.choices.equations(self._choices[k])
            index, sample = np.nonzero(fresh & own[:, None])
            at = indices[index]
            if at.size:
                values[at, sample] = s.reporter(
                    e, times[index, sample], state.states[at, sample], state.inputs[at], state.parameters[at]
                )
            last = indices[own]
            values[last, count] = s.reporter(
                e, state.ended[last], state.states[last, count], state.inputs[last], state.parameters[last]
            )
            kernel = residual_kernel(e)
            if kernel is not None:
                runs, at_sample = np.concatenate([at, last]), np.concatenate([sample, np.full(len(last), count)])
                when = np.concatenate([times[index, sample], state.ended[last]])[:, None]
                given = state.states[runs, at_sample], state.inputs[runs], state.parameters[runs]
                residuals[runs, at_sample + 1] = kernel.map(when, *given)[0]

    def _ends(self, state: BatchState) -> tuple[NDArray[np.object_], NDArray[np.object_]]:
        """How samples ended; "" for those that need the driver of single runs."""
        events = np.array([*(event.name for event in self._shared.equations.event_list), ""], dtype=object)
        status = np.full(len(state.reason), "", dtype=object)
        for reason, ending in ((layout.SWITCH, Ending.SINGULAR), *ENDINGS.items()):
            status[state.reason == reason] = str(ending)
        for number, event in enumerate(self._shared.equations.event_list):
            status[(state.reason == layout.STOPPED) & (state.stopping_event == number)] = event.ending
        if self._shared.equations.rows or has_loops(self._shared.equations):  # a single run can choose rows at its state
            status[state.reason == layout.SWITCH] = ""
        if any(c.level == "position" for c in self._shared.equations.constraints):  # a start may be a singular position
            status[(state.reason == layout.NOT_FINITE) & (state.accepted == 0)] = ""
        return status, events[np.where(state.reason == layout.STOPPED, state.stopping_event, -1)]

    def _passed_at_start(self, x: Reals, choice_of: Indices, requested: BatchTargets, which: Bools) -> Bools:
        """Events (samples × events) beyond which some of the samples start."""
        s, events = self._shared, self._shared.equations.event_list
        found = np.zeros((len(requested), len(events)), dtype=bool)
        if not any(event.action == "stop" and event.direction for event in events):
            return found
        for k in np.unique(choice_of[which]):
            kernel, own = s.choices.compiled(self._choices[k]).events, np.flatnonzero(which & (choice_of == k))
            if kernel is not None:
                values = kernel.map(np.zeros((len(own), 1)), x[own], requested.inputs[own], requested.parameters[own])[0]
                found[own] = passed_at_start(events, values.reshape(len(own), -1))
        return found

    def _cautions(self, state: BatchState, at_start: Bools) -> NDArray[np.object_]:
        """What the samples of a batch are to be warned of, as single runs are; `at_start` are events beyond which they start."""
        s = self._shared
        found = np.full(len(state.reason), "", dtype=object)
        for number, event in enumerate(s.equations.event_list):
            add_text(found, at_start[:, number], starts_beyond(event.name))
        if s.chosen.if_stiff is None and detects_stiffness(s.chosen.method):
            add_text(found, (state.counters[:, 1] == 0) & (state.accepted > 0), STIFF_EQUATIONS)
        for number, event in enumerate(s.equations.event_list, 1):
            add_text(found, state.unresolved == number, fast_event(event.name))
        add_text(found, state.nearly_singular, NEARLY_SINGULAR)
        return found

    def _note_nonfinite(self, finished: Finished) -> None:
        """Outputs that are not finite at an output time that was reached."""
        s = self._shared
        ran = np.isin(finished.status, [str(Ending.FINISHED), str(Ending.EVENT)])
        reached = np.column_stack([s.samples[None, :] <= finished.ended[:, None], np.ones(len(ran), dtype=bool)]) & ran[:, None]
        for i, name in enumerate(s.reporter.names):
            bad = (reached & ~np.isfinite(finished.values[:, :, i])).any(axis=1)
            add_text(finished.warnings, np.asarray(bad), f"{name} is not finite")

    # ----------------------------------------------------------------------------------------------- single runs

    def _run_contacts(self, requested: BatchTargets, which: Bools, x: Reals, into: Finished, residuals: Reals) -> Bools:
        """Runs of contacts that open, in one memory; return which of them are not left to the driver of single runs."""
        s, made = self._shared, dict[int, ContactRun]()
        for index in np.flatnonzero(which).tolist():
            run = None if s.stop[0] else self._contact_runs(x[index], requested.inputs[index], requested.parameters[index])
            if run is None:
                continue
            largest = max(float(np.abs(x[index]).max(initial=0.0)), float(np.abs(run.states).max()))
            if small_scale_atol(s.chosen.method, largest, x[index]) is None:
                made[index] = run
                self._store_contacts(requested, index, x[index], run, into)
        if made:
            self._report_contacts(requested, made, into, residuals)
        done = np.zeros(len(which), dtype=bool)
        done[list(made)] = True
        return done

    @cached_property
    def _contact_runs(self) -> ContactRuns:
        s = self._shared
        compiled = s.choices.compiled(s.equations.choice)
        return ContactRuns(compiled, s.choices.margins_of, s.chosen, s.until, s.samples, s.stop)

    def _store_contacts(self, requested: BatchTargets, index: int, x: Reals, run: ContactRun, into: Finished) -> None:
        """What is kept of one of these runs besides its outputs."""
        s, events = self._shared, self._shared.equations.event_list
        into.first[index], into.count[index] = np.nan, 0
        for k, time in zip(run.event_index.tolist(), run.event_time.tolist(), strict=True):
            into.first[index, k] = np.fmin(into.first[index, k], time)
            into.count[index, k] += 1
        into.status[index] = str(Ending.FINISHED) if run.stopped < 0 else str(events[run.stopped].ending)
        into.event[index] = "" if run.stopped < 0 else events[run.stopped].name
        into.ended[index], into.steps[index] = run.ended, run.accepted + run.rejected
        into.evaluations[index], into.contact_least[index] = run.evaluations, run.contact_least
        beyond = self._beyond(s.equations, x, requested.inputs[index], requested.parameters[index])
        into.warnings[index] = SEPARATOR.join(beyond)
        if run.modes.changes:
            into.contacts[index] = contact_counts(run.modes, into.contact_names)

    def _report_contacts(self, requested: BatchTargets, made: Mapping[int, ContactRun], into: Finished, residuals: Reals) -> None:
        """Outputs and residuals of these runs, all at once."""
        s = self._shared
        runs = np.concatenate([np.full(run.samples + 1, index) for index, run in made.items()])
        places = np.concatenate([[*range(run.samples), len(s.samples)] for run in made.values()])
        times = np.concatenate([[*s.samples[: run.samples], run.ended] for run in made.values()])
        points = times, np.vstack([run.states for run in made.values()]), requested.inputs[runs]
        p = np.vstack([run.parameters for run in made.values()])
        into.values[list(made)] = np.nan
        into.values[runs, places] = s.reporter(s.equations, *points, p)
        kernel = residual_kernel(s.equations)
        if kernel is not None:
            residuals[runs, 1 + places] = kernel.map(times[:, None], *points[1:], p)[0]

    def _beyond(self, e: Equations, x: Reals, u: Reals, p: Reals) -> list[str]:
        """Texts of the events beyond which a run starts."""
        kernel, events = self._shared.choices.compiled(e.choice).events, e.event_list
        if kernel is None:
            return []
        return [
            starts_beyond(events[k].name) for k in np.flatnonzero(passed_at_start(events, np.ravel(kernel([0.0], x, u, p)[0])))
        ]

    def _run_single(
        self, requested: BatchTargets, index: int, into: Finished, start: tuple[Reals, Choice] | None, residuals: Reals
    ) -> None:
        """One run by the driver of single runs, as in `simulate`; from a start in a choice of velocities if it is known."""
        s = self._shared
        e, u, p = s.equations, requested.inputs[index], requested.parameters[index]
        into.values[index] = np.nan
        if start is not None:
            x0, fitting = start[0], s.choices.equations(start[1])
        else:
            try:
                begin = consistent_start(s.starts, requested.of(index), parameters=p, inputs=u)
            except StartError:
                into.status[index], into.ended[index] = NO_START, 0.0
                return
            extra, p = begin.x[len(begin.x) - len(e.extra_states) :], begin.given[2]
            fitting, x0 = best_choice_for(e, begin.q, begin.v, extra, (0.0, u, p))
        choices = s.choices if fitting is e else VelocityChoices(fitting, s.choices.margins_of)
        run = integrate(choices, x0, s.until, parameters=p, inputs=u, method=s.method, samples=s.samples)
        names = [event.name for event in e.event_list]
        into.first[index], into.count[index] = np.nan, 0
        for occurrence in run.events:
            k = names.index(occurrence.name)
            into.first[index, k] = np.fmin(into.first[index, k], occurrence.time)
            into.count[index, k] += 1
        stopped = run.status.kind in (Ending.EVENT, Ending.GROUND_TOO_SHARP, Ending.OFF_PATH)
        into.status[index], into.event[index] = str(run.status.kind), run.events[-1].name if stopped else ""
        into.ended[index], into.steps[index] = run.final_time, run.accepted + run.rejected
        into.evaluations[index] = run.evaluations
        into.contact_least[index] = run.contact_least
        into.warnings[index] = SEPARATOR.join([*self._beyond(fitting, x0, u, p), *run.cautions])
        if run.modes.changes:
            into.contacts[index] = contact_counts(run.modes, into.contact_names)
        done = 0
        for segment in run.segments:
            known = np.isin(segment.times, s.samples)
            count = int(np.count_nonzero(known))
            values = np.tile(p if segment.parameters is None else segment.parameters, (len(known), 1))
            points = segment.times, segment.states, segment.inputs, values
            reported = s.reporter(segment.equations, *points, segment.sliding)
            into.values[index, done : done + count] = reported[known]
            kernel = residual_kernel(segment.equations)
            if kernel is not None and len(known):
                off = kernel.map(segment.times[:, None], segment.states, segment.inputs, values)[0]
                residuals[index, 1 + done : 1 + done + count], residuals[index, -1] = off[known], off[-1]
            done += count
        last = run.segments[-1]
        p = p if last.parameters is None else last.parameters
        one = np.array([run.final_time]), run.final_state[None, :], u[None, :], p[None, :]
        into.values[index, -1] = s.reporter(last.equations, *one, run.final_sliding)[0]
