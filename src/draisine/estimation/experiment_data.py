"""One experiment in the model's words: what was measured when, and the inputs that drove it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from draisine.estimation.data import Experiment
from draisine.estimation.inputs import Between, coefficients, places
from draisine.program.equations import Equations
from draisine.program.piecewise_inputs import with_piecewise_inputs
from draisine.simulation.sampled_control import Recorded

Reals = NDArray[np.float64]


@dataclass(frozen=True)
class Channel:
    """A column and the quantity that it measures; `sigma` is the noise's standard deviation, None where it is to be estimated."""

    column: str
    quantity: str
    unit: str
    sigma: float | None


@dataclass(frozen=True)
class Drive:
    """A column that drives an input, the standard deviation of its noise, and what it does between samples."""

    column: str
    sigma: float | None
    between: Between


@dataclass(frozen=True, eq=False)
class Samples:
    """What was recorded of noisy inputs, one input after the other: instants, which of them, values, standard deviations."""

    times: Reals
    inputs: NDArray[np.intp]
    values: Reals
    sigmas: Reals


@dataclass(frozen=True, eq=False)
class Recording:
    """Samples of channels, (instants, channels), NaN where missing; inputs by name: recorded in columns, or constants."""

    name: str
    equations: Equations
    channels: tuple[Channel, ...]
    times: Reals
    values: Reals
    experiment: Experiment
    recorded: Mapping[str, Drive]
    constants: Mapping[str, float]
    targets: Mapping[str, Any]

    @property
    def controls(self) -> tuple[str, ...]:
        return tuple(self.recorded)

    def moved_by(self, equations: Equations) -> Equations:
        """Equations of any choice of velocities, taking what `rows` gives for inputs."""
        return with_piecewise_inputs(equations, self.controls, self.degree) if self.recorded else equations

    @property
    def degree(self) -> int:
        """Of inputs between knots."""
        return max((d.between.degree for d in self.recorded.values()), default=0)

    @cached_property
    def knots(self) -> Reals:
        """Instants at which some input was recorded."""
        e = self.experiment
        known = np.any([np.isfinite(e.columns[d.column]) for d in self.recorded.values()], axis=0)
        times = e.time[known]
        return times if times[0] <= 0.0 else np.concatenate([[0.0], times])

    def driving(self, name: str, t: Reals) -> Reals:
        """What a recorded input was at instants; it is held before its first and after its last sample."""
        drive = self.recorded[name]
        column = self.experiment.columns[drive.column]
        known = np.isfinite(column)
        return drive.between.values(t, self.experiment.time[known], column[known])

    def given(self, t: Reals) -> Reals:
        """All inputs of the model at instants, (instants, inputs)."""
        found = np.zeros((len(t), len(self.equations.inputs)))
        for i, q in enumerate(self.equations.inputs):
            found[:, i] = self.driving(q.name, t) if q.name in self.recorded else self.constants.get(q.name, 0.0)
        return found

    @cached_property
    def lengths(self) -> Reals:
        """Of the intervals that begin at knots; the last one does not end."""
        return np.append(np.diff(self.knots), 1.0)

    @cached_property
    def rows(self) -> Reals:
        """Inputs of the driven equations from every knot on."""
        held = [self.constants.get(q.name, 0.0) for q in self.equations.inputs if q.name not in self.recorded]
        looks = self.knots[:, None] + self.lengths[:, None] * places(self.degree)
        reported = [coefficients(self.driving(name, looks.ravel()).reshape(looks.shape)) for name in self.controls]
        return np.column_stack([np.tile(held, (len(looks), 1)), *reported, self.knots, self.lengths])

    @cached_property
    def control(self) -> Recorded | None:
        return Recorded.of(self.knots, self.rows) if self.recorded else None

    # ------------------------------------------------------------ noise of inputs

    @cached_property
    def noisy(self) -> tuple[tuple[str, Drive], ...]:
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

    def with_samples(self, values: Reals) -> Recording:
        """The same with other values of noisy inputs, in the order of `samples`."""
        s, columns = self.samples, {}
        for i, (_, drive) in enumerate(self.noisy):
            new = self.experiment.columns[drive.column].copy()
            new[np.isfinite(new)] = values[s.inputs == i]
            columns[drive.column] = new
        return replace(self, experiment=self.experiment.with_columns(columns))

    def constant_inputs(self) -> Reals:
        """What is passed for inputs besides the control."""
        return self.rows[0] if self.recorded else self.given(np.zeros(1))[0]
