"""One experiment in the model's words: what was measured when, and the inputs that drove it, linear between their samples."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from draisine.estimation.data import Experiment
from draisine.program.driven import driven
from draisine.program.equations import Equations
from draisine.simulation.control import Recorded

Reals = NDArray[np.float64]


@dataclass(frozen=True)
class Channel:
    """A column and the quantity that it measures; `sigma` is the noise's standard deviation, None where it is to be estimated."""

    column: str
    quantity: str
    unit: str
    sigma: float | None


@dataclass(frozen=True, eq=False)
class Recording:
    """Samples of channels, (instants, channels), NaN where missing; inputs by name: columns with their noise, or constants."""

    name: str
    equations: Equations
    channels: tuple[Channel, ...]
    times: Reals
    values: Reals
    experiment: Experiment
    recorded: Mapping[str, tuple[str, float | None]]
    constants: Mapping[str, float]
    wishes: Mapping[str, Any]

    @property
    def controls(self) -> tuple[str, ...]:
        return tuple(self.recorded)

    def moved_by(self, equations: Equations) -> Equations:
        """Equations of any choice of velocities, taking what `rows` gives for inputs."""
        return driven(equations, self.controls, 1) if self.recorded else equations

    @cached_property
    def knots(self) -> Reals:
        """Instants at which some input was recorded."""
        e = self.experiment
        known = np.any([np.isfinite(e.columns[column]) for column, _ in self.recorded.values()], axis=0)
        times = e.time[known]
        return times if times[0] <= 0.0 else np.concatenate([[0.0], times])

    def given(self, t: Reals) -> Reals:
        """All inputs of the model at instants, (instants, inputs); those of columns are held before their first and after their
        last sample."""
        e = self.experiment
        found = np.zeros((len(t), len(self.equations.inputs)))
        for i, q in enumerate(self.equations.inputs):
            if q.name in self.recorded:
                column = e.columns[self.recorded[q.name][0]]
                known = np.isfinite(column)
                found[:, i] = np.interp(t, e.time[known], column[known])
            else:
                found[:, i] = self.constants.get(q.name, 0.0)
        return found

    @cached_property
    def rows(self) -> Reals:
        """Inputs of the driven equations from every knot on."""
        names = [q.name for q in self.equations.inputs]
        u = self.given(self.knots)
        held = [i for i, n in enumerate(names) if n not in self.recorded]
        places = [names.index(n) for n in self.controls]
        rise = np.vstack([np.diff(u, axis=0), np.zeros((1, u.shape[1]))])
        length = np.append(np.diff(self.knots), 1.0)
        coefficients = np.stack([u[:, places], rise[:, places]], axis=2).reshape(len(u), -1)
        return np.column_stack([u[:, held], coefficients, self.knots, length])

    @cached_property
    def control(self) -> Recorded | None:
        return Recorded.of(self.knots, self.rows) if self.recorded else None

    def constant_inputs(self) -> Reals:
        """What is passed for inputs besides the control."""
        return self.rows[0] if self.recorded else self.given(np.zeros(1))[0]
