"""Bootstrap: fits to synthetic data, the prediction plus resampled noise.

Noise is resampled from the residuals. With noisy inputs the residuals do not show it: the estimated inputs absorb most of it.
There, normal noise with the given standard deviations is added to the predicted measurements and to the estimated inputs
(parametric bootstrap).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from draisine.errors import ArgumentError, UnknownNameError
from draisine.estimation.experiment_data import Recording
from draisine.estimation.losses import Loss
from draisine.estimation.problem import EstimationProblem
from draisine.estimation.solve import FitMethod, Outcome, solve
from draisine.expr.expression import did_you_mean
from draisine.results.base import Result, figure
from draisine.results.status import Progress, ProgressCallback

Reals = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Bootstrap(Result):
    """Estimates from resampled data, (draws, unknowns)."""

    names: tuple[str, ...]
    estimates: Reals
    units: Mapping[str, str] = field(default_factory=dict)  # by unknown

    def _of(self, name: str) -> Reals:
        if name not in self.names:
            raise UnknownNameError(f"{name!r} is not among the unknowns{did_you_mean(name, self.names)}")
        return np.asarray(self.estimates[:, self.names.index(name)])

    def interval(self, name: str, level: float = 0.95) -> tuple[float, float]:
        """Confidence interval from quantiles of the estimates."""
        low, high = np.quantile(self._of(name), [0.5 - 0.5 * level, 0.5 + 0.5 * level])
        return float(low), float(high)

    def deviation(self, name: str) -> float:
        return float(np.std(self._of(name), ddof=1))

    def plot(self, **options: Any) -> Any:
        """Plot histograms of the estimates with their 95 % intervals."""
        columns = {name: (self.units.get(name, ""), self._of(name), *self.interval(name)) for name in self.names}
        return figure("plots.estimation.resampled_estimates", columns, **options)

    def _table(self) -> Mapping[str, Any]:
        return dict(zip(self.names, self.estimates.T, strict=True))

    def __str__(self) -> str:
        reported = ", ".join(f"{name} ± {self.deviation(name):.3g} {self.units.get(name, '')}".rstrip() for name in self.names)
        return f"{len(self.estimates)} estimates from resampled data: {reported}"


def bootstrap(
    problem: EstimationProblem,
    method: FitMethod,
    best: Outcome,
    sigmas: Reals,
    loss: Loss | None,
    count: int,
    seed: int,
    block: int,
    progress: ProgressCallback | None = None,
) -> Bootstrap:
    """Draw residuals of each channel with replacement, `block` consecutive ones at a time, and fit again from the estimate."""
    if count < 2 or block < 1:
        raise ArgumentError(f"bootstrap: count must be two or more and block one or more, got {count} and {block}")
    noisy = any(r.noisy for r in problem.recordings)
    if noisy and block > 1:
        raise ArgumentError(
            f"bootstrap: with noisy inputs no residuals are resampled, so none in blocks of {block}; remove block="
        )
    random = np.random.default_rng(seed)
    taken = problem.samples + len(best.prior) - best.freedom
    share = float(np.sqrt(problem.samples / max(problem.samples - taken, 1)))  # residuals of a fit are smaller than the noise
    found = []
    for k in range(count):
        if noisy:
            recordings = _from_noise_model(problem, best, sigmas, random)
        else:
            pairs = zip(problem.recordings, best.predicted, strict=True)
            recordings = [replace(r, values=_drawn(y, r.values, random, block, share)) for r, y in pairs]
        found.append(solve(replace(problem, recordings=tuple(recordings)), method, sigmas, loss, best.unknowns).unknowns)
        if progress is not None:
            progress(Progress.counted("draw", k + 1, count))
    return Bootstrap(problem.names, np.array(found), dict(zip(problem.names, problem.units, strict=True)))


def _from_noise_model(problem: EstimationProblem, best: Outcome, sigmas: Reals, random: np.random.Generator) -> list[Recording]:
    """Recordings of the estimated motion and inputs, with normal noise of the given standard deviations."""
    assert best.shot is not None  # only windows estimate noisy inputs
    made = []
    for recording, predicted, chain in zip(problem.recordings, best.predicted, best.shot.chains, strict=True):
        measured = predicted + sigmas * random.normal(size=predicted.shape)
        inputs = chain.samples + chain.recorded.sigmas * random.normal(size=chain.samples.shape)
        present = np.isfinite(recording.values)
        made.append(replace(recording.with_samples(inputs), values=np.where(present, measured, np.nan)))
    return made


def _drawn(predicted: Reals, values: Reals, random: np.random.Generator, block: int, share: float) -> Reals:
    made = np.full(values.shape, np.nan)
    for j in range(values.shape[1]):
        present = np.flatnonzero(np.isfinite(values[:, j]))
        residuals = (values - predicted)[present, j]
        residuals = residuals - residuals.mean()
        starts = random.integers(0, max(len(residuals) - block + 1, 1), size=-(-len(residuals) // block))
        drawn = np.concatenate([residuals[s : s + block] for s in starts])[: len(present)]
        made[present, j] = predicted[present, j] + drawn * share
    return made
