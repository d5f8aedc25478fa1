"""Results of an integration: the run, its segments and events, made of what the stepping loop has recorded."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from draisine.errors import ArgumentError
from draisine.program.equations import Equations
from draisine.results.contact_modes import NO_MODES, ContactHistory
from draisine.results.status import Status
from draisine.simulation.stepper.contact_memory import mode_parameters
from draisine.simulation.stepper.memory import Memory

if TYPE_CHECKING:
    from draisine.simulation.compiled_equations import CompiledEquations
    from draisine.simulation.methods.selection import Auto
    from draisine.simulation.sliding_samples import SlidingSamples

Reals = NDArray[np.float64]


class Occurrence(NamedTuple):
    """An event of a run."""

    name: str
    time: float
    state: Reals
    segment: int  # whose velocities the state has


class SwitchOccurrence(NamedTuple):
    """A switch of a run: the switching functions by name, and whether the run begins or ends to slide on the surface."""

    name: str
    time: float
    sliding: str = ""  # "begins", "ends" or ""

    def __str__(self) -> str:
        return f"{self.name} (sliding {self.sliding})" if self.sliding else self.name


class Segment(NamedTuple):
    """A part of a run with one choice of independent velocities."""

    equations: Equations
    times: Reals  # (n)
    states: Reals  # (n, states)
    inputs: Reals  # (n, inputs)
    steps: Reals  # times of accepted steps
    sliding: SlidingSamples | None = None  # how the law is mixed where the run slides
    parameters: Reals | None = None  # with the modes of unilateral contacts
    at_steps: Segment | None = None  # the same at the accepted steps, where these are kept beside the samples


@dataclass(frozen=True, eq=False)
class Run:
    """The result of `integrate`. `failure` is an exception raised by the user's control."""

    segments: tuple[Segment, ...]
    events: tuple[Occurrence, ...]
    status: Status
    final_time: float
    final_state: Reals  # in the velocities of the last segment
    evaluations: int  # of derivatives or residuals
    accepted: int
    rejected: int
    method: str = ""  # which method, and why
    jacobians: int = 0
    factorizations: int = 0
    seconds: Mapping[str, float] = field(default_factory=dict)
    failure: BaseException | None = None
    switches: tuple[SwitchOccurrence, ...] = ()
    modes: ContactHistory = NO_MODES  # of unilateral contacts
    contact_least: Reals = field(default_factory=lambda: np.zeros(0))  # least margins of contacts, if monitored
    cautions: tuple[str, ...] = ()  # warnings of the integration without times and sizes, for ensembles
    residual_limit: float = math.inf  # of constraints, beyond which the motion is not that of the model
    final_sliding: SlidingSamples | None = None  # the same at the end
    tolerance: float | None = None  # relative, of the method; None with fixed steps
    scaled: Auto | None = None  # the method of a run at small scale, with an absolute tolerance relative to its states
    applied: tuple[Reals, Reals] | None = None  # instants of a sampled control, and the inputs that it set there

    @property
    def times(self) -> Reals:
        return np.concatenate([s.times for s in self.segments])

    @property
    def steps(self) -> Reals:
        return np.concatenate([s.steps for s in self.segments])

    @property
    def states(self) -> Reals:
        """States at `times`, if the choice of velocities did not change."""
        for a, b in pairwise(self.segments):
            if a.equations.independent != b.equations.independent:
                raise ArgumentError(
                    f"the run changed its independent velocities from ({', '.join(a.equations.independent)}) to "
                    f"({', '.join(b.equations.independent)}), so its states have different components; read each of run.segments"
                )
        return np.concatenate([s.states for s in self.segments])


class Recording:
    """What the loop has recorded in its memory, as segments and occurrences."""

    def __init__(self, memory: Memory, only_steps: bool, steps_too: bool) -> None:
        self._memory, self._only_steps, self._steps_too = memory, only_steps, steps_too
        # equations of each segment, and the number of samples, steps and events before it
        self._starts: list[tuple[CompiledEquations, int, int, int]] = []

    def begin_segment(self, compiled: CompiledEquations) -> None:
        """From here on the states are those of these equations."""
        stepper = self._memory.stepper
        part = (compiled, stepper.sample_count, stepper.step_count, stepper.event_count)
        if self._starts and part[1:] == self._starts[-1][1:]:
            self._starts.pop()  # nothing was recorded with the choice before
        self._starts.append(part)

    @property
    def lacks_last_state(self) -> bool:
        """Whether the present state is not among the samples."""
        stepper = self._memory.stepper
        return not self._only_steps and not (stepper.sample_count and stepper.sample_time[stepper.sample_count - 1] == stepper.t)

    def store_last_state(self, compiled: CompiledEquations) -> None:
        """Append the present state to the samples."""
        stepper = self._memory.stepper
        k = stepper.sample_count
        stepper.sample_time[k] = stepper.t
        stepper.sample_x[k] = self._memory.state
        stepper.sample_u[k] = self._memory.inputs
        if compiled.switching is not None:
            compiled.switching.record_mixture(self._memory, stepper.sample_mixture[k])
        stepper.sample_count = k + 1

    def final_sliding(self, compiled: CompiledEquations) -> SlidingSamples | None:
        """How the law is mixed at the end, if the run slides there."""
        stepper, switching = self._memory.stepper, compiled.switching
        if switching is None or not stepper.sliding:
            return None
        last = stepper.sample_count - 1
        if last >= 0 and stepper.sample_time[last] == stepper.t:
            return switching.sliding_samples(stepper.sample_mixture[last : last + 1])
        row = np.zeros((1, 1 + len(stepper.branch)))
        switching.record_mixture(self._memory, row[0])
        return switching.sliding_samples(row)

    def segments(self, compiled: CompiledEquations) -> tuple[Segment, ...]:
        stepper = self._memory.stepper
        ends = [*self._starts[1:], (compiled, stepper.sample_count, stepper.step_count, stepper.event_count)]
        segments = []
        for (part, sample, step, _), (_, next_sample, next_step, _) in zip(self._starts, ends, strict=True):
            steps = slice(step, next_step)
            if self._only_steps:
                segments.append(self._segment(part, "step", steps, steps))
                continue
            at_steps = self._segment(part, "step", steps, steps) if self._steps_too else None
            at_samples = self._segment(part, "sample", slice(sample, next_sample), steps)
            segments.append(at_samples._replace(at_steps=at_steps))
        return self._segments_of_modes(segments[0]) if stepper.unilateral else tuple(segments)

    def _segments_of_modes(self, whole: Segment) -> tuple[Segment, ...]:
        """A segment for every interval between two changes of modes, with the modes among the parameters."""
        modes = self._memory.stepper.modes
        before = modes.change_step if self._only_steps else modes.change_sample
        starts = before[: modes.change_count].tolist()
        if not starts:
            return (whole,)
        ends, found = [*starts[1:], len(whole.times)], list[Segment]()
        for k, (begin, end) in enumerate(zip(starts, ends, strict=True)):
            if found and begin == end and k < len(starts) - 1:  # the last one has the modes of the final state
                continue
            rows = slice(begin, end)
            parts = (whole.times[rows], whole.states[rows], whole.inputs[rows])
            p = mode_parameters(modes, k, self._memory.parameters)
            found.append(Segment(whole.equations, *parts, whole.steps, parameters=p))
        return tuple(found)

    def _segment(self, part: CompiledEquations, at: str, rows: slice, steps: slice) -> Segment:
        stepper, switching = self._memory.stepper, part.switching
        times, states, inputs = (getattr(stepper, f"{at}_{what}")[rows] for what in ("time", "x", "u"))
        sliding = None if switching is None else switching.sliding_samples(getattr(stepper, f"{at}_mixture")[rows])
        return Segment(part.equations, times, states, inputs, stepper.step_time[steps], sliding)

    def occurrences(self, names: Sequence[str]) -> tuple[Occurrence, ...]:
        """The events, whose names are given."""
        stepper, found = self._memory.stepper, []
        starts = [happened for _, _, _, happened in self._starts]
        for j in range(stepper.event_count):
            segment = int(np.searchsorted(starts, j, side="right")) - 1
            name, time_of = names[int(stepper.event_index[j])], float(stepper.event_time[j])
            found.append(Occurrence(name, time_of, stepper.event_x[j].copy(), segment))
        return tuple(found)


class Clock:
    """Wall-clock seconds by stage."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._last = time.perf_counter()

    def lap(self, stage: str) -> None:
        at_time = time.perf_counter()
        self.seconds[stage] = at_time - self._last
        self._last = at_time
