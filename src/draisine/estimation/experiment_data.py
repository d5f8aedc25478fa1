"""Experiments as seen by the model: measured channels, recorded inputs, consistent starts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from draisine.estimation.data import Experiment
from draisine.estimation.inputs import Interpolation, coefficients, sample_positions
from draisine.estimation.sensors import Calibration
from draisine.program.equations import Equations
from draisine.program.piecewise_inputs import with_piecewise_inputs
from draisine.simulation.compiled_equations import best_choice_for
from draisine.simulation.initial.consistent_start import consistent_start
from draisine.simulation.initial.problem import StartProblem
from draisine.simulation.initial.result import Start
from draisine.simulation.sampled_control import Recorded

Reals = NDArray[np.float64]


@dataclass(frozen=True)
class Channel:
    """A column and the quantity it measures; `sigma` is the standard deviation of the noise, None if it is to be estimated."""

    column: str
    quantity: str
    unit: str
    sigma: float | None
    calibration: Calibration = field(default_factory=Calibration)


@dataclass(frozen=True)
class RecordedInput:
    """A column that is an input of the model, the standard deviation of its noise, and its interpolation."""

    column: str
    sigma: float | None
    interpolation: Interpolation


@dataclass(frozen=True, eq=False)
class Samples:
    """Samples of all noisy inputs, input by input: times, indices of inputs, values, standard deviations."""

    times: Reals
    inputs: NDArray[np.intp]
    values: Reals
    sigmas: Reals


@dataclass(frozen=True, eq=False)
class Recording:
    """Samples of channels, (times, channels), NaN where missing; inputs by name, recorded in columns or constant."""

    name: str
    equations: Equations
    channels: tuple[Channel, ...]
    times: Reals
    values: Reals
    experiment: Experiment
    recorded: Mapping[str, RecordedInput]
    constants: Mapping[str, float]
    targets: Mapping[str, Any]
    begin: float = 0.0  # time at which the start holds, by the clock of the data
    moving: NDArray[np.intp] | None = None  # for each row the channel whose unknown offset or delay moves it, or −1
    dropped: tuple[int, ...] = ()  # samples of each channel that a delay or an offset moves before the start

    @cached_property
    def end(self) -> float:
        """The latest time of a measurement, whatever unknown offsets and delays are."""
        latest = self.times
        if self.moving is not None:
            room = np.array([c.calibration.shifts[1] - c.calibration.shift for c in self.channels])
            latest = latest + np.where(self.moving >= 0, room[self.moving], 0.0)
        return float(latest.max())

    def moved(self, shift: Reals) -> Recording:
        """With the rows of some channels moved in time; rows keep their order."""
        if self.moving is None or not shift.any():
            return self
        return replace(self, times=self.times + np.where(self.moving >= 0, shift[self.moving], 0.0))

    @property
    def controls(self) -> tuple[str, ...]:
        return tuple(self.recorded)

    def with_recorded_inputs(self, equations: Equations) -> Equations:
        """The equations with polynomial inputs, whose coefficients are given by `rows`."""
        return with_piecewise_inputs(equations, self.controls, self.degree) if self.recorded else equations

    @property
    def degree(self) -> int:
        """Degree of inputs between knots."""
        return max((d.interpolation.degree for d in self.recorded.values()), default=0)

    @cached_property
    def knots(self) -> Reals:
        """The start, and later times at which any input was recorded."""
        e = self.experiment
        known = np.any([np.isfinite(e.columns[d.column]) for d in self.recorded.values()], axis=0)
        times = e.time[known]
        return np.concatenate([[self.begin], times[times > self.begin]])

    def input_values(self, name: str, t: Reals) -> Reals:
        """A recorded input at given times, constant before its first and after its last sample."""
        drive = self.recorded[name]
        column = self.experiment.columns[drive.column]
        known = np.isfinite(column)
        return drive.interpolation.values(t, self.experiment.time[known], column[known])

    @cached_property
    def warnings(self) -> tuple[str, ...]:
        """Warnings about the data: samples that are no numbers, or before the start; inputs needed beyond their record."""
        used = dict.fromkeys([*(c.column for c in self.channels), *(drive.column for drive in self.recorded.values())])
        texts = [text for column in used for text in self.experiment.not_numbers(column)]
        left = [f"{n} of {c.column}" for n, c in zip(self.dropped, self.channels, strict=False) if n]
        if left:
            texts.append(f"{self.name}: samples that offsets or delays move before the start are not used: {', '.join(left)}")
        return (*texts, *self._beyond_record)

    @property
    def _beyond_record(self) -> tuple[str, ...]:
        """Warnings about inputs that the run needs for longer than an interval of their samples before or after their record."""
        found = []
        for name, drive in self.recorded.items():
            column = self.experiment.columns[drive.column]
            known = np.isfinite(column)
            times, values = self.experiment.time[known], column[known]
            usual = float(np.median(np.diff(times))) * (1.0 + 1e-6)
            head = f"{self.name}: the input {name!r} is recorded from t = {times[0]:.6g} s to {times[-1]:.6g} s"
            if times[0] - self.begin > usual:
                found.append(
                    f"{head}, but the start holds at t = {self.begin:.6g} s; before its record it is taken as constant, "
                    f"{values[0]:.6g}; say when the start holds, start_time={times[0]:.9g}, or record it from the start"
                )
            if self.end - times[-1] > usual:
                found.append(
                    f"{head}, the measurements until t = {self.end:.6g} s; after its record it is taken as constant, "
                    f"{values[-1]:.6g}; leave out the later measurements, or record it until the end"
                )
        return tuple(found)

    def inputs_at(self, t: Reals) -> Reals:
        """All inputs of the model at given times, (times, inputs)."""
        found = np.zeros((len(t), len(self.equations.inputs)))
        for i, q in enumerate(self.equations.inputs):
            found[:, i] = self.input_values(q.name, t) if q.name in self.recorded else self.constants.get(q.name, 0.0)
        return found

    @cached_property
    def lengths(self) -> Reals:
        """Lengths of the intervals between knots; the last one is unbounded."""
        return np.append(np.diff(self.knots), 1.0)

    @cached_property
    def rows(self) -> Reals:
        """Polynomial inputs of the equations, one row per knot."""
        constant = [self.constants.get(q.name, 0.0) for q in self.equations.inputs if q.name not in self.recorded]
        points = self.knots[:, None] + self.lengths[:, None] * sample_positions(self.degree)
        reported = [coefficients(self.input_values(name, points.ravel()).reshape(points.shape)) for name in self.controls]
        return np.column_stack([np.tile(constant, (len(points), 1)), *reported, self.knots, self.lengths])

    @cached_property
    def control(self) -> Recorded | None:
        return Recorded.of(self.knots, self.rows) if self.recorded else None

    # ------------------------------------------------------------ noise of inputs

    @cached_property
    def noisy(self) -> tuple[tuple[str, RecordedInput], ...]:
        """Inputs with noise."""
        return tuple((name, drive) for name, drive in self.recorded.items() if drive.sigma is not None)

    @cached_property
    def samples(self) -> Samples:
        times, inputs, values, sigmas = [np.zeros(0)], [np.zeros(0, dtype=np.intp)], [np.zeros(0)], [np.zeros(0)]
        for i, (_, drive) in enumerate(self.noisy):
            column = self.experiment.columns[drive.column]
            known = np.isfinite(column)
            times.append(self.experiment.time[known])
            inputs.append(np.full(int(known.sum()), i, dtype=np.intp))
            values.append(column[known])
            sigmas.append(np.full(int(known.sum()), float(drive.sigma or 0.0)))
        return Samples(np.concatenate(times), np.concatenate(inputs), np.concatenate(values), np.concatenate(sigmas))

    def with_input_noise(self, factor: float) -> Recording:
        """The same recording with the noise of its inputs multiplied."""
        recorded = {n: d if d.sigma is None else replace(d, sigma=factor * d.sigma) for n, d in self.recorded.items()}
        return replace(self, recorded=recorded)

    def with_samples(self, values: Reals) -> Recording:
        """The same recording with other values of noisy inputs, in the order of `samples`."""
        s, columns = self.samples, {}
        for i, (_, drive) in enumerate(self.noisy):
            new = self.experiment.columns[drive.column].copy()
            new[np.isfinite(new)] = values[s.inputs == i]
            columns[drive.column] = new
        return replace(self, experiment=self.experiment.with_columns(columns))

    def constant_inputs(self) -> Reals:
        """Initial inputs of a run; the `control` updates them."""
        return self.rows[0] if self.recorded else self.first_inputs

    def largest(self, names: Sequence[str]) -> Reals:
        """The largest measured size of each of these quantities; NaN if it is not measured."""
        found = {c.quantity: float(np.nanmax(np.abs(column))) for c, column in zip(self.channels, self.values.T, strict=True)}
        return np.array([found.get(name, np.nan) for name in names])

    @cached_property
    def first_inputs(self) -> Reals:
        """Inputs of the model at the start."""
        return self.inputs_at(np.array([self.begin]))[0]


# ------------------------------------------------------------ consistent starts


@lru_cache(maxsize=32)
def start_problem(equations: Equations) -> StartProblem:
    """The start problem of these equations, compiled once."""
    return StartProblem(equations)


def initial_state(
    problem: StartProblem, targets: Mapping[str, Any], u: Reals, p: Reals, time: float
) -> tuple[Start, Equations, Reals]:
    """The consistent start for targets, the equations with suitable velocity coordinates, and their state."""
    e = problem.equations
    begin = consistent_start(problem, targets, parameters=p, inputs=u, time=time)
    extra = begin.x[len(begin.x) - len(e.extra_states) :]
    return begin, *best_choice_for(e, begin.q, begin.v, extra, (time, u, p))
