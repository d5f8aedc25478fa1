"""A block of lanes from start to end, on one thread: runs, changes of velocities, and the lanes that must be run alone."""

from __future__ import annotations

from dataclasses import dataclass, field
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from draisine.codegen.jit.kernel import Kernel
from draisine.codegen.simd import VectorKernel
from draisine.errors import StartError
from draisine.program.equations import Equations
from draisine.results.status import Ending
from draisine.simulation.compiled_equations import VelocityChoices, best_choice_for
from draisine.simulation.ensemble.batch import BEGINS, GOES_ON, LEFT_OUT
from draisine.simulation.ensemble.batch_stepper import (
    ENDINGS,
    BatchStepper,
    Integers,
    Moved,
    Reals,
    lane_code,
    steps_in_lanes,
    wide_dynamics,
)
from draisine.simulation.ensemble.outputs import Reporter
from draisine.simulation.ensemble.problem import BAD_VALUES
from draisine.simulation.initial.batch import Asked, Begun, begin_all
from draisine.simulation.initial.consistent_start import consistent_start
from draisine.simulation.initial.problem import StartProblem
from draisine.simulation.methods.selection import Chosen, Method
from draisine.simulation.run import HOPELESS, integrate
from draisine.simulation.stepper import layout

NO_START = "NO_START"  # the wishes of a lane contradict each other or the constraints
Choice = tuple[str, ...]
Indices = NDArray[np.intp]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Shared:
    """What all blocks and threads share."""

    choices: VelocityChoices
    starts: StartProblem
    method: Method | None
    chosen: Chosen
    until: float
    samples: Reals
    reporter: Reporter
    stop: Integers  # one word, not 0 when the work is to be left
    velocities: dict[Choice, Kernel] = field(default_factory=dict)  # (t, x, u, p) → all velocities
    monitors: dict[Choice, Kernel | None] = field(default_factory=dict)
    wide: dict[Choice, VectorKernel | None] = field(default_factory=dict)  # the dynamics of several lanes
    side_by_side: bool = True
    lock: Lock = field(default_factory=Lock)  # single runs may compile and interpret, which is for one thread at a time

    @property
    def equations(self) -> Equations:
        return self.choices.root

    def ready(self, first: Asked) -> None:
        """Compile all that blocks will call, before threads begin: they then only read. `first` is one lane, tried."""
        root, in_lanes = self.equations, steps_in_lanes(self.equations, self.chosen)
        for choice in (root.independent, *self.choices.others(root.independent)):
            compiled = self.choices.compiled(choice)
            self.monitors[choice] = compiled.monitor
            if in_lanes:
                self.wide[choice] = wide_dynamics(compiled.equations, self.chosen) if self.side_by_side else None
                lane_code(self.wide[choice] is not None)
            self.velocities[choice] = self.reporter.all_velocities(compiled.equations)
            self.reporter.prepare(compiled.equations)
        begin_all(self.starts, first)


@dataclass(frozen=True, eq=False)
class Finished:
    """A block of lanes at its end."""

    values: Reals  # (lanes, samples + 1, outputs): at the samples, and at the end; NaN where a lane did not come
    status: NDArray[np.object_]
    event: NDArray[np.object_]  # that stopped it, or ""
    first: Reals  # (lanes, e)
    count: Integers
    ended: Reals
    steps: Integers
    evaluations: Integers


class Worker:
    """Runs blocks on one thread."""

    def __init__(self, shared: Shared) -> None:
        self._shared = shared
        self._steppers: dict[Choice, BatchStepper] = {}
        root = shared.equations.independent
        self._choices = (root, *shared.choices.others(root))  # lanes have the numbers of theirs

    def __call__(self, asked: Asked, sensible: Bools) -> Finished | None:
        """Run those lanes of a block that are sensible; None if it was told to stop."""
        s = self._shared
        begun = begin_all(s.starts, asked)
        lanes = np.arange(len(asked))
        x, choice_of = self._choices_to_begin(begun, asked)
        moved = Moved.of(x, asked.inputs, asked.parameters, len(s.samples), len(s.equations.event_list))
        values = np.full((len(asked), len(s.samples) + 1, len(s.reporter.names)), np.nan)
        alone = ~begun.refused if not steps_in_lanes(s.equations, s.chosen) else ~(begun.settled | begun.refused)
        wanted = np.where(alone | begun.refused | ~sensible, LEFT_OUT, BEGINS).astype(np.int64)
        while wanted.any():
            reported = moved.sampled.copy()
            for k in np.unique(choice_of[wanted != LEFT_OUT]):
                own = np.where(choice_of == k, wanted, LEFT_OUT).astype(np.int64)
                self._stepper(self._choices[k])(moved, own)
            if s.stop[0]:
                return None
            self._report(moved, values, choice_of, reported, lanes[wanted != LEFT_OUT])
            wanted = self._onwards(moved, choice_of, wanted)
        status, event = self._ends(moved)
        status[begun.refused], moved.ended[begun.refused] = NO_START, 0.0
        alone = (alone | (status == "")) & sensible
        status[~sensible], moved.ended[~sensible] = BAD_VALUES, 0.0
        finished = Finished(
            values, status, event, moved.first, moved.count, moved.ended, moved.accepted + moved.rejected, moved.evaluations
        )
        for lane in np.flatnonzero(alone):
            if s.stop[0]:
                return None
            with s.lock:
                self._alone(asked, int(lane), finished)
        return finished

    def _stepper(self, choice: Choice) -> BatchStepper:
        if choice not in self._steppers:
            s = self._shared
            compiled = s.choices.compiled(choice)
            self._steppers[choice] = BatchStepper(compiled, s.chosen, s.until, s.samples, s.stop, s.wide[choice])
        return self._steppers[choice]

    # --------------------------------------------------------------------------------------------------- choices

    def _condition(self, choice: Choice, t: Reals, x: Reals, u: Reals, p: Reals) -> Reals:
        monitor = self._shared.monitors[choice]
        if monitor is None:
            return np.ones(len(x))
        found = monitor.map(t[:, None], x, u, p)[0][:, 0]
        return np.where(np.isfinite(found), found, np.inf)

    def _choices_to_begin(self, begun: Begun, asked: Asked) -> tuple[Reals, Indices]:
        """The equations' own choice, or a better one where that is ill conditioned: `best_choice_for` over lanes."""
        s = self._shared
        root, t = s.equations, np.zeros(len(asked))
        x = begun.states(root)
        choice_of = np.zeros(len(asked), dtype=np.intp)
        lowest = self._condition(root.independent, t, x, asked.inputs, asked.parameters)
        poor = begun.settled & (lowest > root.limits.condition)
        for k, other in enumerate(self._choices[1:] if poor.any() else (), 1):
            there = begun.states(s.choices.equations(other))
            condition = self._condition(other, t, there, asked.inputs, asked.parameters)
            better = np.flatnonzero(poor & (condition < lowest))
            x[better], lowest[better], choice_of[better] = there[better], condition[better], k
        return x, choice_of

    def _onwards(self, moved: Moved, choice_of: Indices, wanted: Integers) -> Integers:
        """Give lanes that lost their conditioning another choice of velocities, or let them bear with the present one."""
        s = self._shared
        asking = np.flatnonzero((wanted != LEFT_OUT) & (moved.reason == layout.SWITCH))
        again = np.full(len(wanted), LEFT_OUT, dtype=np.int64)
        condition = np.where(np.isfinite(moved.condition), moved.condition, np.inf)
        old = choice_of[asking]
        for present in np.unique(old):
            own = asking[old == present]
            best, state, lowest = self._best_other(self._choices[present], moved, own)
            better = (best >= 0) & (lowest < condition[own])
            changing = own[better]
            choice_of[changing], moved.x[changing] = best[better], state[better]
            moved.reals[changing, 2] = np.maximum(s.equations.limits.condition, 2.0 * lowest[better])
            moved.reals[changing, 3] = 1e-4
            bearing = own[~better & (condition[own] <= HOPELESS * s.equations.limits.condition)]
            moved.x[bearing] = moved.states[bearing, -1]
            moved.reals[bearing, 2] = 2.0 * condition[bearing]
            again[changing] = again[bearing] = GOES_ON
        return again

    def _best_other(self, choice: Choice, moved: Moved, own: Indices) -> tuple[Indices, Reals, Reals]:
        """Of each lane the choice with the lowest condition where it stands (−1: none), and its state in terms of that."""
        s = self._shared
        e = s.choices.equations(choice)
        t, x, u, p = moved.ended[own], moved.states[own, -1], moved.inputs[own], moved.parameters[own]
        v = s.velocities[choice].map(t[:, None], x, u, p)[0]
        place = {velocity.name: i for i, velocity in enumerate(e.velocities)}
        q, r = len(e.coordinates), len(e.independent)
        best, state, lowest = np.full(len(own), -1, dtype=np.intp), x.copy(), np.full(len(own), np.inf)
        for number, other in enumerate(self._choices):
            if other == choice:
                continue
            there = np.column_stack([x[:, :q], v[:, [place[name] for name in other]], x[:, q + r :]])
            condition = self._condition(other, t, there, u, p)
            better = np.flatnonzero((condition < lowest) & np.isfinite(there).all(axis=1))
            state[better], lowest[better], best[better] = there[better], condition[better], number
        return best, state, lowest

    # ---------------------------------------------------------------------------------------------------- results

    def _report(self, moved: Moved, values: Reals, choice_of: Indices, reported: Integers, lanes: Indices) -> None:
        """Outputs at the samples reached since `told`, and where the lanes stand."""
        s = self._shared
        count = len(s.samples)
        rows = np.arange(count)
        fresh = (rows >= reported[lanes, None]) & (rows < moved.sampled[lanes, None])
        times = np.broadcast_to(s.samples, fresh.shape)
        for k in np.unique(choice_of[lanes]):
            own = choice_of[lanes] == k
            e = s.choices.equations(self._choices[k])
            lane, sample = np.nonzero(fresh & own[:, None])
            at = lanes[lane]
            if at.size:
                values[at, sample] = s.reporter(
                    e, times[lane, sample], moved.states[at, sample], moved.inputs[at], moved.parameters[at]
                )
            last = lanes[own]
            values[last, count] = s.reporter(
                e, moved.ended[last], moved.states[last, count], moved.inputs[last], moved.parameters[last]
            )

    def _ends(self, moved: Moved) -> tuple[NDArray[np.object_], NDArray[np.object_]]:
        """How lanes ended; "" for those that are left to the driver of single runs."""
        events = np.array([*(event.name for event in self._shared.equations.event_list), ""], dtype=object)
        status = np.full(len(moved.reason), "", dtype=object)
        for reason, ending in ((layout.SWITCH, Ending.SINGULAR), *ENDINGS.items()):
            status[moved.reason == reason] = str(ending)
        return status, events[np.where(moved.reason == layout.STOPPED, moved.happening, -1)]

    # ----------------------------------------------------------------------------------------------- single lanes

    def _alone(self, asked: Asked, lane: int, into: Finished) -> None:
        """One lane as `simulate` would run it."""
        s = self._shared
        e, u, p = s.equations, asked.inputs[lane], asked.parameters[lane]
        into.values[lane] = np.nan
        try:
            begin = consistent_start(s.starts, asked.of(lane), p, inputs=u)
        except StartError:
            into.status[lane], into.ended[lane] = NO_START, 0.0
            return
        extra = begin.x[len(begin.x) - len(e.extra_states) :]
        fitting, x0 = best_choice_for(e, begin.q, begin.v, extra, (0.0, u, p))
        choices = s.choices if fitting is e else VelocityChoices(fitting)
        run = integrate(choices, x0, s.until, parameters=p, inputs=u, method=s.method, samples=s.samples)
        names = [event.name for event in e.event_list]
        into.first[lane], into.count[lane] = np.nan, 0
        for occurrence in run.events:
            k = names.index(occurrence.name)
            into.first[lane, k] = np.fmin(into.first[lane, k], occurrence.time)
            into.count[lane, k] += 1
        stopped = run.status.kind == Ending.EVENT
        into.status[lane], into.event[lane] = str(run.status.kind), run.events[-1].name if stopped else ""
        into.ended[lane], into.steps[lane] = run.final_time, run.accepted + run.rejected
        into.evaluations[lane] = run.evaluations
        done = 0
        for segment in run.segments:
            known = np.isin(segment.times, s.samples)
            count = int(np.count_nonzero(known))
            reported = s.reporter(segment.equations, segment.times, segment.states, segment.inputs, np.tile(p, (len(known), 1)))
            into.values[lane, done : done + count] = reported[known]
            done += count
        last = run.segments[-1].equations
        one = np.array([run.final_time]), run.final_state[None, :], u[None, :], p[None, :]
        into.values[lane, -1] = s.reporter(last, *one)[0]
