"""`Fit`: parameters found in data, how sure they are, and whether the model fits at all."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from draisine.errors import ArgumentError, UnknownNameError
from draisine.estimation.bootstrap import Bootstrap, bootstrap
from draisine.estimation.identifiability import Identifiability
from draisine.estimation.losses import Loss
from draisine.estimation.measurement import Whiteness, whiteness
from draisine.estimation.problem import Posed
from draisine.estimation.profiles import Profile, profile
from draisine.estimation.solve import MultipleShooting, Outcome
from draisine.expr.expression import did_you_mean
from draisine.results.base import Result, figure

Reals = NDArray[np.float64]

UNLIKELY = 1e-3  # probability below which a model is said not to fit
FAR = 5.0  # standard deviations from which on a sample is told as an outlier


@dataclass(frozen=True)
class Trial:
    """One start of several: where it began, where it ended, and its sum of squares."""

    begin: tuple[float, ...]
    end: tuple[float, ...]
    squares: float


@dataclass(frozen=True, eq=False)
class Fit(Result):
    """Parameters found in data: `fit["trail"]`, `fit.interval("trail")`, `print(fit)`.

    - `parameters`: all parameters of the model, for `simulate(…, parameters=fit.parameters)`.
    - `noise`: standard deviation of every measured column, given or estimated.
    - `before`: what the data were said to tell at the guess; `telling`: the same at the estimate.
    """

    posed: Posed
    method: MultipleShooting
    outcome: Outcome
    sigmas: Reals
    loss: Loss | None
    before: Identifiability
    trials: tuple[Trial, ...] = ()

    # ------------------------------------------------------------ values

    @property
    def names(self) -> tuple[str, ...]:
        return self.posed.names

    @cached_property
    def values(self) -> dict[str, float]:
        return dict(zip(self.names, self.outcome.unknowns.tolist(), strict=True))

    @cached_property
    def parameters(self) -> dict[str, float]:
        p, _ = self.posed.parameters(self.outcome.unknowns)
        return {q.name: float(v) for q, v in zip(self.posed.equations.parameters, p, strict=True)}

    def _index(self, name: str) -> int:
        if name not in self.names:
            raise UnknownNameError(f"{name!r} was not looked for{did_you_mean(name, self.names)}")
        return self.names.index(name)

    def __getitem__(self, name: str) -> float:
        return float(self.outcome.unknowns[self._index(name)])

    # ------------------------------------------------------------ uncertainty

    @cached_property
    def identifiability(self) -> Identifiability:
        """Which unknowns and combinations of them the data tell, at the estimate."""
        sizes = np.where(self.outcome.unknowns != 0.0, np.abs(self.outcome.unknowns), self.posed.sizes)
        first = len(self.posed.unknowns)  # a start may be zero and well told
        sizes[first:] = np.maximum(sizes[first:], self.posed.sizes[first:])
        return Identifiability(self.names, self.outcome.root, sizes)

    @cached_property
    def covariance(self) -> Reals:
        """Of the unknowns, by linearization at the estimate."""
        return self.identifiability.covariance * self.outcome.widening

    @cached_property
    def deviations(self) -> dict[str, float]:
        """Standard deviations of the unknowns."""
        return dict(zip(self.names, np.sqrt(np.diag(self.covariance)).tolist(), strict=True))

    @property
    def correlation(self) -> Reals:
        d = np.sqrt(np.diag(self.covariance))
        return np.asarray(self.covariance / np.outer(d, d))

    @property
    def noise_given(self) -> bool:
        return all(c.sigma is not None for c in self.posed.recordings[0].channels)

    def quantile(self, level: float) -> float:
        """How many standard deviations a two-sided interval takes: of Student's distribution where noise is estimated."""
        from scipy.stats import norm, t

        if not 0.0 < level < 1.0:
            raise ArgumentError(f"level: an interval holds the truth with a probability between 0 and 1, got {level!r}")
        share = 0.5 + 0.5 * level
        return float(norm.ppf(share) if self.noise_given else t.ppf(share, max(self.outcome.freedom, 1)))

    def interval(self, name: str, level: float = 0.95) -> tuple[float, float]:
        """A confidence interval by linearization."""
        half = self.quantile(level) * self.deviations[self.names[self._index(name)]]
        return self[name] - half, self[name] + half

    def profile(self, name: str, level: float = 0.95) -> Profile:
        """The likelihood along one unknown, all others fitted anew: an interval that needs no linearization."""
        self._index(name)
        return profile(
            self.posed, self.method, self.outcome, self.sigmas, self.loss, name, self.deviations[name], self.quantile(level)
        )

    def bootstrap(
        self, count: int = 200, seed: int = 0, block: int = 1, progress: Callable[[str], None] | None = None
    ) -> Bootstrap:
        """Fits to data made of the prediction and residuals drawn anew, in blocks where they are not white.

        Where inputs are noisy, noise of both is drawn as it was given.
        """
        return bootstrap(self.posed, self.method, self.outcome, self.sigmas, self.loss, count, seed, block, progress)

    # ------------------------------------------------------------ does it fit?

    @cached_property
    def noise(self) -> dict[str, float]:
        return {c.column: float(s) for c, s in zip(self.posed.recordings[0].channels, self.sigmas, strict=True)}

    @cached_property
    def residuals(self) -> tuple[Reals, ...]:
        """Predicted less measured, over the noise, (instants, channels) per experiment."""
        pairs = zip(self.outcome.predicted, self.posed.recordings, strict=True)
        return tuple((predicted - r.values) / self.sigmas for predicted, r in pairs)

    @property
    def chi_square(self) -> float:
        """Sum of squares of all white residuals, of gaps and of what was known before."""
        return self.outcome.squares

    @property
    def freedom(self) -> int:
        return self.outcome.freedom

    @cached_property
    def probability(self) -> float:
        """Of so large a sum of squares, if model and noise are as said."""
        from scipy.stats import chi2

        return float(chi2.sf(self.chi_square, self.freedom)) if self.freedom > 0 else 1.0

    @cached_property
    def whiteness(self) -> tuple[Whiteness, ...]:
        """Of the residuals of every channel in every experiment."""
        return tuple(
            whiteness(recording.name, channel.column, residuals[:, i])
            for recording, residuals in zip(self.posed.recordings, self.residuals, strict=True)
            for i, channel in enumerate(recording.channels)
        )

    @cached_property
    def outliers(self) -> tuple[tuple[str, str, float], ...]:
        """Experiment, column and time of samples further than five standard deviations from the prediction."""
        found = []
        for recording, residuals in zip(self.posed.recordings, self.residuals, strict=True):
            with np.errstate(invalid="ignore"):
                where = np.argwhere(np.abs(residuals) > FAR)
            found += [(recording.name, recording.channels[j].column, float(recording.times[i])) for i, j in where]
        return tuple(found)

    @cached_property
    def warnings(self) -> tuple[str, ...]:
        """What to distrust."""
        found = []
        if not self.outcome.settled:
            found.append(
                f"the search had not settled after {self.outcome.rounds} steps; guess better, shorten the windows, or bound the "
                "unknowns"
            )
        if self.noise_given and self.loss is None and self.probability < UNLIKELY:
            ratio = np.sqrt(self.chi_square / max(self.freedom, 1))
            found.append(
                f"the model does not fit: residuals are {ratio:.3g} times the noise given (χ² = {self.chi_square:.4g} with "
                f"{self.freedom} degrees of freedom); intervals are too narrow"
            )
        colored = {w.channel: w for w in self.whiteness if not w.white}
        driven = any(r.noisy for r in self.posed.recordings)
        if colored and not driven:
            reported = ", ".join(f"{c} ({w.correlations[0]:+.2f} from sample to sample)" for c, w in colored.items())
            found.append(f"residuals are not white: {reported}; something is missing in the model, or the noise is not white")
        low, high = self.posed.sides
        for name, value, a, b, size in zip(self.names, self.outcome.unknowns, low, high, self.posed.sizes, strict=True):
            if min(value - a, b - value) <= 1e-6 * size:
                found.append(f"{name} lies at a side of its range ({value:.6g}); its interval is not to be trusted")
        found += [f"the data do not tell {c}" for c in self.identifiability.unidentifiable]
        if self.outliers:
            some = "; ".join(f"{column} at {t:.6g} s" for _, column, t in self.outliers[:4])
            cure = "" if self.loss is not None else "; a robust loss (loss=Huber()) would give them less weight"
            found.append(f"{len(self.outliers)} outliers ({some}{', …' if len(self.outliers) > 4 else ''}){cure}")
        return tuple(found)

    # ------------------------------------------------------------ telling

    def __str__(self) -> str:
        width = max(len(n) for n in self.names)
        lines = [f"{self.posed.equations.name}: {len(self.names)} unknowns from {self.posed.samples} samples"]
        for name, unit in zip(self.names, self.posed.units, strict=True):
            low, high = self.interval(name)
            lines.append(
                f"  {name:<{width}} = {self[name]:.6g} ± {self.deviations[name]:.2g} {unit}   95 %: {low:.6g} … {high:.6g}"
            )
        said = "given" if self.noise_given else "estimated"
        lines.append(f"noise ({said}): " + ", ".join(f"{c} {s:.3g}" for c, s in self.noise.items()))
        if self.noise_given:
            lines.append(f"χ² = {self.chi_square:.5g} with {self.freedom} degrees of freedom")
        lines += [f"warning: {w}" for w in self.warnings]
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""

        def number(value: float) -> float | None:
            return float(value) if np.isfinite(value) else None

        unknowns = {
            name: {
                "value": self[name],
                "unit": unit,
                "deviation": number(self.deviations[name]),
                "interval": [number(side) for side in self.interval(name)],
            }
            for name, unit in zip(self.names, self.posed.units, strict=True)
        }
        return {
            "model": self.posed.equations.name,
            "unknowns": unknowns,
            "noise": self.noise,
            "noise_given": self.noise_given,
            "samples": self.posed.samples,
            "chi_square": number(self.chi_square),
            "degrees_of_freedom": self.freedom,
            "correlation": [[number(c) for c in row] for row in self.correlation],
            "rounds": self.outcome.rounds,
            "outliers": [list(o) for o in self.outliers],
            "untold": [str(c) for c in self.identifiability.unidentifiable],
            "warnings": list(self.warnings),
        }

    def _table(self) -> Mapping[str, Any]:
        sides = [self.interval(name) for name in self.names]
        values = {"value": [self[n] for n in self.names], "deviation": [self.deviations[n] for n in self.names]}
        low, high = ([pair[k] for pair in sides] for k in (0, 1))
        return {"unknown": list(self.names), "unit": list(self.posed.units), **values, "low": low, "high": high}

    def plot(self, **options: Any) -> Any:
        """Measured and predicted channels over time, residuals beside them; see `draisine.view.plots.estimation`."""
        panels = [
            (r.name, channel.column, channel.unit, r.times, r.values[:, i], predicted[:, i], residuals[:, i])
            for r, predicted, residuals in zip(self.posed.recordings, self.outcome.predicted, self.residuals, strict=True)
            for i, channel in enumerate(r.channels)
        ]
        return figure("plots.estimation.measured_and_predicted", panels, **options)

    def plot_intervals(self, truth: dict[str, float] | None = None, **options: Any) -> Any:
        """95 % intervals of the unknowns, relative to their values; see `draisine.view.plots.estimation`."""
        rows = [(name, self[name], *self.interval(name)) for name in self.names]
        return figure("plots.estimation.intervals", rows, truth or {}, **options)
