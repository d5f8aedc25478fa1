"""`Fit`: estimated parameters, their uncertainty, and tests of the model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from draisine.errors import ArgumentError, UnknownNameError
from draisine.estimation.bootstrap import Bootstrap, bootstrap
from draisine.estimation.contact_forces import contact_warnings
from draisine.estimation.estimated_noise import FEW
from draisine.estimation.fisher_information import Identifiability
from draisine.estimation.losses import Loss
from draisine.estimation.measurement import Whiteness, whiteness
from draisine.estimation.problem import EstimationProblem
from draisine.estimation.profiles import Profile, profile
from draisine.estimation.single_shooting import Predictor, SingleShooting
from draisine.estimation.solve import FitMethod, Outcome
from draisine.expr.expression import did_you_mean
from draisine.program.switching import jumps_of
from draisine.results.base import Result, figure
from draisine.results.status import ProgressCallback

Reals = NDArray[np.float64]

UNLIKELY = 1e-3  # probability below which a warning says that the model does not fit
NEGLIGIBLE = 1e-3  # residuals, relative to the noise given, that do not move an interval
FAR = 5.0  # standard deviations beyond which a sample counts as an outlier


@dataclass(frozen=True)
class Trial:
    """One of several starts: initial and final unknowns, and the sum of squares."""

    begin: tuple[float, ...]
    end: tuple[float, ...]
    squares: float


@dataclass(frozen=True, eq=False)
class Fit(Result):
    """Estimated parameters: `fit["trail"]`, `fit.interval("trail")`, `print(fit)`.

    - `parameters`: all parameters of the model, for `simulate(…, parameters=fit.parameters)`.
    - `noise`: standard deviation of every measured column, given or estimated; NaN, as are deviations and intervals of the
      unknowns, if there are not more data than unknowns, which leaves nothing to estimate it from.
    - `before`: identifiability at the guess; `identifiability`: the same at the estimate.
    """

    problem: EstimationProblem
    method: FitMethod
    outcome: Outcome
    sigmas: Reals
    loss: Loss | None
    before: Identifiability
    trials: tuple[Trial, ...] = ()

    # ------------------------------------------------------------ values

    @property
    def names(self) -> tuple[str, ...]:
        return self.problem.names

    @cached_property
    def values(self) -> dict[str, float]:
        return dict(zip(self.names, self.outcome.unknowns.tolist(), strict=True))

    @cached_property
    def parameters(self) -> dict[str, float]:
        p, _ = self.problem.parameters(self.outcome.unknowns)
        return {q.name: float(v) for q, v in zip(self.problem.equations.parameters, p, strict=True)}

    def _index(self, name: str) -> int:
        if name not in self.names:
            raise UnknownNameError(f"{name!r} is not among the unknowns{did_you_mean(name, self.names)}")
        return self.names.index(name)

    def __getitem__(self, name: str) -> float:
        return float(self.outcome.unknowns[self._index(name)])

    # ------------------------------------------------------------ uncertainty

    @cached_property
    def identifiability(self) -> Identifiability:
        """Identifiability of the unknowns and of combinations of them, at the estimate."""
        sizes = np.where(self.outcome.unknowns != 0.0, np.abs(self.outcome.unknowns), self.problem.sizes)
        first = len(self.problem.unknowns)  # a start may be zero and well identified
        sizes[first:] = np.maximum(sizes[first:], self.problem.sizes[first:])
        return Identifiability(self.names, self.outcome.root, sizes)

    @cached_property
    def covariance(self) -> Reals:
        """Covariance of the unknowns, by linearization at the estimate; NaN if the noise is not known.

        Where several columns have estimated noise, with what the estimated weights add (`estimated_noise`).
        """
        factor = self.outcome.covariance_factor if self.noise_known else float("nan")
        effect = self.outcome.noise_effect
        return (self.identifiability.covariance + (0.0 if effect is None else effect.excess)) * factor

    @cached_property
    def deviations(self) -> dict[str, float]:
        """Standard deviations of the unknowns."""
        return dict(zip(self.names, np.sqrt(np.diag(self.covariance)).tolist(), strict=True))

    @property
    def correlation(self) -> Reals:
        d = np.sqrt(np.diag(self.covariance))
        return np.asarray(self.covariance / np.outer(d, d))

    @property
    def converged(self) -> bool:
        """Whether the search ended at a minimum; otherwise the values are where it ended, and there are no intervals."""
        return self.outcome.settled

    @cached_property
    def estimated_start(self) -> tuple[str, ...]:
        """Quantities of the starts that were not given and are estimated with the windows, besides the unknowns."""
        if self.outcome.shot is None:
            return ()
        names = (chain.windows.tangent.names[i] for chain in self.outcome.shot.chains for i in chain.free)
        return tuple(dict.fromkeys(names))

    @cached_property
    def default_start(self) -> tuple[str, ...]:
        """States that single shooting began at the defaults of the model, since an experiment gives no value and they are not
        unknowns. With constraints, or targets that are no states, a consistent start may determine what is not given: none are
        listed."""
        e = self.problem.equations
        if self.outcome.shot is not None or e.constraints:
            return ()
        given = [{*r.targets, *self.problem.starts} for r in self.problem.recordings]
        states = [q.name for q in (*e.coordinates, *e.velocities)]
        solved = set().union(*given) - set(states) - {"time", *(q.name for q in e.extra_states)}
        return () if solved else tuple(name for name in states if not all(name in each for each in given))

    @property
    def noise_given(self) -> bool:
        return all(c.sigma is not None for c in self.problem.recordings[0].channels)

    @property
    def noise_known(self) -> bool:
        """Whether the noise is given, or can be estimated: there are more data than unknowns."""
        return self.noise_given or self.freedom > 0

    def quantile(self, level: float, name: str | None = None) -> float:
        """Half-width of a two-sided interval in standard deviations; Student's distribution if noise is estimated.

        Its degrees of freedom are those of an unknown, if a name is given and several columns have estimated noise.
        """
        from scipy.stats import norm, t

        if not 0.0 < level < 1.0:
            raise ArgumentError(f"level: the confidence level must lie between 0 and 1, got {level!r}")
        share = 0.5 + 0.5 * level
        effect = self.outcome.noise_effect
        freedom = self.outcome.freedom if effect is None or name is None else float(effect.freedoms[self._index(name)])
        return float(norm.ppf(share) if self.noise_given else t.ppf(share, max(freedom, 1)))

    def interval(self, name: str, level: float = 0.95) -> tuple[float, float]:
        """A confidence interval by linearization; NaN if the fit has not converged."""
        if not self.converged:
            return float("nan"), float("nan")
        half = self.quantile(level, name) * self.deviations[self.names[self._index(name)]]
        return self[name] - half, self[name] + half

    def profile(self, name: str, level: float = 0.95) -> Profile:
        """Profile likelihood of one unknown, with all others refitted: an interval without linearization."""
        i = self._index(name)
        self._refuse_unknown_noise("profile")
        plain = float(np.sqrt(self.identifiability.covariance[i, i] * self.outcome.covariance_factor))
        wider = self.deviations[name] / plain if np.isfinite(plain) else 1.0  # by what estimated noise adds
        quantile = self.quantile(level, name) * wider
        return profile(self.problem, self.method, self.outcome, self.sigmas, self.loss, name, plain, quantile)

    def bootstrap(self, count: int = 200, seed: int = 0, block: int = 1, progress: ProgressCallback | None = None) -> Bootstrap:
        """Bootstrap: fits to the prediction plus resampled residuals, in blocks of `block` if they are not white.

        With noisy inputs, noise with the given standard deviations is added to measurements and inputs.
        """
        self._refuse_unknown_noise("bootstrap")
        return bootstrap(self.problem, self.method, self.outcome, self.sigmas, self.loss, count, seed, block, progress)

    def _refuse_unknown_noise(self, what: str) -> None:
        if not self.noise_known:
            raise ArgumentError(f"{what}: {self._no_noise}; give the noise, measured={{column: (quantity, noise)}}, or more data")

    @property
    def _no_noise(self) -> str:
        return f"{self.problem.samples} samples for {len(self.names)} unknowns leave no residuals to estimate the noise from"

    # ------------------------------------------------------------ goodness of fit

    @cached_property
    def noise(self) -> dict[str, float]:
        channels = self.problem.recordings[0].channels
        known = [self.noise_known or c.sigma is not None for c in channels]
        return {c.column: float(s) if k else float("nan") for c, s, k in zip(channels, self.sigmas, known, strict=True)}

    @cached_property
    def residuals(self) -> tuple[Reals, ...]:
        """(Predicted − measured)/noise, (times, channels) per experiment."""
        pairs = zip(self.outcome.predicted, self.problem.recordings, strict=True)
        return tuple((predicted - r.values) / self.sigmas for predicted, r in pairs)

    @property
    def chi_square(self) -> float:
        """Sum of squares of all white residuals, of gaps between windows, and of priors."""
        return self.outcome.squares

    @property
    def freedom(self) -> int:
        return self.outcome.freedom

    @cached_property
    def probability(self) -> float:
        """Probability of a sum of squares this large if model and noise are correct."""
        from scipy.stats import chi2

        return float(chi2.sf(self.chi_square, self.freedom)) if self.freedom > 0 else 1.0

    @cached_property
    def whiteness(self) -> tuple[Whiteness, ...]:
        """Whiteness of the residuals of each channel in each experiment."""
        return tuple(
            whiteness(recording.name, channel.column, residuals[:, i])
            for recording, residuals in zip(self.problem.recordings, self.residuals, strict=True)
            for i, channel in enumerate(recording.channels)
        )

    @cached_property
    def outliers(self) -> tuple[tuple[str, str, float], ...]:
        """Experiment, column and time of samples further than five standard deviations from the prediction."""
        found = []
        for recording, residuals in zip(self.problem.recordings, self.residuals, strict=True):
            with np.errstate(invalid="ignore"):
                where = np.argwhere(np.abs(residuals) > FAR)
            found += [(recording.name, recording.channels[j].column, float(recording.times[i])) for i, j in where]
        return tuple(found)

    @cached_property
    def warnings(self) -> tuple[str, ...]:
        """Warnings about the fit."""
        found = []
        if not self.outcome.settled:
            reason = f": {self.outcome.trouble}" if self.outcome.trouble else ""
            found.append(
                f"the search did not converge in {self.outcome.rounds} steps{reason}; "
                "improve the guess, shorten the windows, or bound the unknowns"
            )
        if self.noise_given and self.loss is None and self.probability < UNLIKELY:
            ratio = np.sqrt(self.chi_square / max(self.freedom, 1))
            found.append(
                f"the model does not fit: residuals are {ratio:.3g} times the noise given (χ² = {self.chi_square:.4g} with "
                f"{self.freedom} degrees of freedom); intervals are too narrow"
            )
        if not self.noise_known:
            found.append(
                f"{self._no_noise}: the values have no intervals, and nothing tests the model; give the noise, "
                "measured={column: (quantity, noise)}, or more data"
            )
        estimated = () if self.outcome.noise_effect is None else self.outcome.noise_effect.columns
        few = [c for c, n in zip(self.noise, estimated, strict=False) if n is not None and n < FEW]
        if len(few) > 1:
            found.append(
                f"the noise of {', '.join(few)} is estimated from few samples each: intervals may be too narrow; give the noise, "
                "measured={column: (quantity, noise)}, or more data"
            )
        least = NEGLIGIBLE if self.noise_given else 0.0
        colored = {w.channel: w for w in self.whiteness if not w.white and w.size > least} if self.noise_known else {}
        driven = any(r.noisy for r in self.problem.recordings)
        if colored and not driven:
            reported = ", ".join(f"{c} ({w.evidence})" for c, w in colored.items())
            found.append(f"residuals are not white: {reported}; the model is incomplete, or the noise is not white")
        for recording in self.problem.recordings:
            found += recording.warnings
        low, high = self.problem.bounds
        for name, value, a, b, size in zip(self.names, self.outcome.unknowns, low, high, self.problem.sizes, strict=True):
            if min(value - a, b - value) <= 1e-6 * size:
                found.append(f"{name} lies at a bound of its range ({value:.6g}); its interval is not reliable")
        vague = [c for c in self.identifiability.unidentifiable if self.noise_known or not np.isfinite(c.deviation)]
        found += [f"the data do not identify {c}" for c in vague]
        found += contact_warnings(self.problem, self.method, self.outcome)
        e = self.problem.equations
        if isinstance(self.method, SingleShooting) and (e.unilateral or jumps_of(e)):
            found += Predictor(self.problem, self.method).warnings(self.outcome.unknowns)
        if self.outliers:
            some = "; ".join(f"{column} at {t:.6g} s" for _, column, t in self.outliers[:4])
            cure = "" if self.loss is not None else "; a robust loss (loss=Huber()) would give them less weight"
            found.append(f"{len(self.outliers)} outliers ({some}{', …' if len(self.outliers) > 4 else ''}){cure}")
        return tuple(found)

    # ------------------------------------------------------------ output

    def __str__(self) -> str:
        width = max(len(n) for n in self.names)
        ended = "" if self.converged else ": NOT CONVERGED"
        lines = [f"{self.problem.equations.name}: {len(self.names)} unknowns from {self.problem.samples} samples{ended}"]
        for name, unit in zip(self.names, self.problem.units, strict=True):
            low, high = self.interval(name)
            if not self.converged:
                lines.append(f"  {name:<{width}} = {self[name]:.6g} {unit}   where the search ended: no interval")
                continue
            if not self.noise_known:
                lines.append(f"  {name:<{width}} = {self[name]:.6g} {unit}   no interval: the noise is not known")
                continue
            lines.append(
                f"  {name:<{width}} = {self[name]:.6g} ± {self.deviations[name]:.2g} {unit}   95 %: {low:.6g} … {high:.6g}"
            )
        source = "given" if self.noise_given else "estimated"
        if self.estimated_start:
            lines.append(f"start (not given) estimated too: {', '.join(self.estimated_start)}")
        if self.default_start:
            lines.append(f"start (not given) as in the model: {', '.join(self.default_start)}")
        if self.noise_known:
            lines.append(f"noise ({source}): " + ", ".join(f"{c} {s:.3g}" for c, s in self.noise.items()))
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
                "deviation": number(self.deviations[name]) if self.converged else None,
                "interval": [number(side) for side in self.interval(name)],
            }
            for name, unit in zip(self.names, self.problem.units, strict=True)
        }
        return {
            "model": self.problem.equations.name,
            "unknowns": unknowns,
            "noise": {column: number(size) for column, size in self.noise.items()},
            "noise_given": self.noise_given,
            "samples": self.problem.samples,
            "converged": self.converged,
            "chi_square": number(self.chi_square),
            "degrees_of_freedom": self.freedom,
            "correlation": [[number(c) for c in row] for row in self.correlation],
            "rounds": self.outcome.rounds,
            "outliers": [list(o) for o in self.outliers],
            "unidentifiable": [str(c) for c in self.identifiability.unidentifiable],
            "warnings": list(self.warnings),
        }

    def _table(self) -> Mapping[str, Any]:
        bounds = [self.interval(name) for name in self.names]
        deviations = [self.deviations[n] if self.converged else float("nan") for n in self.names]
        values = {"value": [self[n] for n in self.names], "deviation": deviations}
        low, high = ([pair[k] for pair in bounds] for k in (0, 1))
        return {"unknown": list(self.names), "unit": list(self.problem.units), **values, "low": low, "high": high}

    def plot(self, **options: Any) -> Any:
        """Plot measured and predicted channels with residuals; see `draisine.view.plots.estimation`."""
        panels = [
            (r.name, channel.column, channel.unit, r.times, r.values[:, i], predicted[:, i], residuals[:, i])
            for r, predicted, residuals in zip(self.problem.recordings, self.outcome.predicted, self.residuals, strict=True)
            for i, channel in enumerate(r.channels)
        ]
        return figure("plots.estimation.measured_and_predicted", panels, **options)

    def plot_intervals(self, truth: dict[str, float] | None = None, **options: Any) -> Any:
        """95 % intervals of the unknowns, relative to their values; see `draisine.view.plots.estimation`."""
        rows = [(name, self[name], *self.interval(name)) for name in self.names]
        return figure("plots.estimation.intervals", rows, truth or {}, **options)
