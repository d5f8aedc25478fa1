"""Results of a filter: estimates by name with their uncertainty, innovations, and a consistency test."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from draisine.errors import ArgumentError, DataError
from draisine.estimation.data import Experiment
from draisine.estimation.filters.consistency import LEVEL, Consistency, Squares, assess
from draisine.estimation.filters.methods import Belief
from draisine.estimation.measurement import measurable, measurement_function
from draisine.expr.expression import did_you_mean
from draisine.program.equations import Equations
from draisine.results.assembly import assemble
from draisine.results.base import Result, figure
from draisine.results.status import Ending, Status
from draisine.results.trajectory import Trajectory
from draisine.simulation.result import Segment
from draisine.simulation.trajectory_from_run import report_segment

Reals = NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class Estimates:
    """States at the samples and the covariance of their errors: `estimates["lean"]`, `estimates.deviation("lean")`."""

    equations: Equations
    time: Reals
    beliefs: tuple[Belief, ...]
    inputs: Reals  # (samples, inputs)
    kind: str  # "filtered" or "smoothed"
    warnings: tuple[str, ...] = ()

    @cached_property
    def states(self) -> Reals:
        return np.array([b.chart.x for b in self.beliefs])

    @cached_property
    def parameters(self) -> Reals:
        """Parameters at the samples, with the modes of contacts that open."""
        return np.array([b.chart.p for b in self.beliefs])

    @cached_property
    def run(self) -> Trajectory:
        """The estimates as a trajectory: coordinates, velocities, outputs, forces, residuals of constraints."""
        e, p = self.equations, self.parameters
        changes = np.flatnonzero((p[1:] != p[:-1]).any(axis=1)) + 1
        pieces = []
        for rows in np.split(np.arange(len(self.time)), changes):
            given = self.time[rows], self.states[rows], self.inputs[rows], self.time[rows]
            pieces.append(report_segment(Segment(e, *given, parameters=p[rows[0]]), p[0]))
        status = Status(Ending.FINISHED, f"{self.kind} estimates at {len(self.time)} samples", self.warnings)
        named = dict(zip((q.name for q in e.parameters), p[0].tolist(), strict=False))  # without modes
        return assemble(e.name, pieces, status=status, parameters=named)

    def __getitem__(self, name: str) -> Reals:
        """The estimates of a quantity."""
        return self.run[name]

    @cached_property
    def _roots(self) -> Reals:
        """Square root of the covariance of the state, (samples, states, coordinates); closed contacts have fewer coordinates."""
        found = np.zeros((*self.states.shape, max(len(b.covariance) for b in self.beliefs)))
        for root, belief in zip(found, self.beliefs, strict=True):
            values, vectors = np.linalg.eigh(belief.covariance)
            root[:, : len(values)] = belief.chart.tangent @ (vectors * np.sqrt(np.clip(values, 0.0, None)))
        return found

    def _spread(self, names: Sequence[str]) -> Reals:
        known = measurable(self.equations)
        for name in names:
            if name not in known:
                raise ArgumentError(f"{self.equations.name} has no quantity {name!r}{did_you_mean(name, list(known))}")
        measure = measurement_function(self.equations, tuple(names), ())
        _, by_state, _ = measure(self.time, self.states, self.inputs, self.parameters)
        return by_state @ self._roots

    def covariance(self, names: Sequence[str]) -> Reals:
        """Of the errors of some quantities, (samples, names, names)."""
        spread = self._spread(names)
        return np.asarray(spread @ np.swapaxes(spread, 1, 2))

    def deviation(self, name: str) -> Reals:
        """Standard deviation of the error of a quantity."""
        return np.sqrt(self.covariance([name])[:, 0, 0])

    def errors(self, truth: Any, names: Sequence[str]) -> Reals:
        """Estimate − truth, (samples, names); truth is a trajectory or a table, with linear interpolation."""
        if isinstance(truth, Trajectory):
            time, columns = truth.time, {n: truth[n] for n in names}
        else:
            table = Experiment.of(truth, "truth")
            time, columns = table.time, {n: table.column(n) for n in names}
        if time[0] > self.time[0] + 1e-9 or time[-1] < self.time[-1] - 1e-9:
            raise DataError(
                f"the truth covers {time[0]:g} s to {time[-1]:g} s, the estimates {self.time[0]:g} s to {self.time[-1]:g} s"
            )
        return np.column_stack([self.run[n] - np.interp(self.time, time, columns[n]) for n in names])

    def nees(self, truth: Any, names: Sequence[str]) -> Reals:
        """Normalized estimation error squared, eᵀP⁻¹e of these quantities at every sample: χ² with as many degrees of freedom."""
        errors, covariance = self.errors(truth, names), self.covariance(names)
        weak = np.linalg.cond(_correlations(covariance)) > 1e12
        if weak.any():
            k = int(np.argmax(weak))
            raise ArgumentError(
                f"nees: at t = {self.time[k]:g} s {', '.join(names)} have a singular covariance; name fewer quantities"
            )
        return np.asarray(np.einsum("ki,ki->k", errors, np.linalg.solve(covariance, errors[..., None])[..., 0]))

    def __repr__(self) -> str:
        return f"<{self.kind} estimates of {self.equations.name} at {len(self.time)} samples>"


def _correlations(covariance: Reals) -> Reals:
    sizes = np.sqrt(np.diagonal(covariance, axis1=1, axis2=2))
    scale = np.where(sizes > 0.0, sizes, 1.0)
    return np.asarray(covariance / (scale[:, :, None] * scale[:, None, :]))


@dataclass(frozen=True, eq=False, repr=False)
class FilterResult(Result):
    """The result of `filter`.

    `filtered` uses samples up to each time, `smoothed` all of them (None if not requested); `result["lean"]` and
    `result.deviation("lean")` are smoothed if available. Innovations are measured − predicted values.
    """

    filtered: Estimates
    smoothed: Estimates | None
    channels: tuple[str, ...]  # columns measured
    quantities: tuple[str, ...]  # measured quantities
    measured: Reals  # (samples, channels), NaN where missing
    innovations: Reals  # (samples, channels), likewise
    innovation_covariances: Reals  # (samples, channels, channels), likewise
    warnings: tuple[str, ...] = ()

    @property
    def time(self) -> Reals:
        return self.filtered.time

    @property
    def best(self) -> Estimates:
        return self.smoothed or self.filtered

    def __getitem__(self, name: str) -> Reals:
        return self.best[name]

    def deviation(self, name: str) -> Reals:
        """Standard deviation of the error of a quantity."""
        return self.best.deviation(name)

    def covariance(self, names: Sequence[str]) -> Reals:
        """Of the errors of some quantities, (samples, names, names)."""
        return self.best.covariance(names)

    @cached_property
    def nis(self) -> Reals:
        """Normalized innovation squared at every sample."""
        found = np.zeros(len(self.time))
        for k, (innovation, covariance) in enumerate(zip(self.innovations, self.innovation_covariances, strict=True)):
            present = np.isfinite(innovation)
            v = innovation[present]
            found[k] = v @ np.linalg.solve(covariance[np.ix_(present, present)], v)
        return found

    @cached_property
    def consistency(self) -> Consistency:
        """Consistency of the innovations with their covariance, and their whiteness."""
        sizes = np.sqrt(np.diagonal(self.innovation_covariances, axis1=1, axis2=2))
        return assess(self.channels, self.innovations / sizes, self.nis)

    def accuracy(self, truth: Any, names: Sequence[str], level: float = LEVEL) -> Squares:
        """Normalized squared errors of these quantities against a known truth, over all samples.

        Errors at neighboring samples are correlated, so that the interval for their mean is too narrow; for a test, compare
        means over independent runs.
        """
        squares = self.best.nees(truth, names)
        return Squares.of(squares, np.full(len(squares), len(names)), level)

    @property
    def units(self) -> dict[str, str]:
        """Units by column of the table."""
        known = measurable(self.filtered.equations)
        named = {name: known[name].unit for name in self.quantities if name in known}
        return {"time": "s", **named, **{f"{name}.deviation": unit for name, unit in named.items()}}

    def _table(self) -> Mapping[str, Any]:
        columns = {"time": self.time}
        for name in self.quantities:
            columns |= {name: self[name], f"{name}.deviation": self.deviation(name)}
        return columns

    def plot(self, *names: str, truth: Trajectory | None = None, **options: Any) -> Any:
        """Plot estimates with 95 % bands, filtered and smoothed; see `draisine.view.plots.estimation`."""
        known = measurable(self.filtered.equations)
        kinds = [e for e in (self.filtered, self.smoothed) if e is not None]
        columns = dict(zip(self.quantities, self.measured.T, strict=True))
        panels = []
        for name in names or self.quantities:
            true = None if truth is None else (truth.time, truth[name])
            unit = known[name].unit if name in known else ""
            panels.append([(name, unit, e.time, e[name], e.deviation(name), e.kind, columns.get(name), true) for e in kinds])
        return figure("plots.estimation.bands", panels, **options)

    def to_dict(self) -> Mapping[str, Any]:
        """The consistency test as plain data for JSON."""
        c = self.consistency
        return {
            "model": self.filtered.equations.name,
            "samples": len(self.time),
            "verdict": str(c.verdict),
            "white": c.white,
            "squared innovation": {"all": c.together.mean, **{n: s.mean for n, s in c.channels.items()}},
            "warnings": list(self.warnings),
        }

    def summary(self) -> str:
        """The consistency test as text."""
        kind = "filtered and smoothed" if self.smoothed is not None else "filtered"
        head = f"{self.filtered.equations.name}: {kind} at {len(self.time)} samples"
        return "\n".join([head, str(self.consistency), *(f"warning: {text}" for text in self.warnings)])

    __repr__ = summary
