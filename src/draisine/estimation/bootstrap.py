"""Bootstrap: fits to data made of the prediction and of noise drawn anew.

The noise is drawn from the residuals, as long as these show it. Where inputs are noisy they do not: true inputs are found along,
and take up most of what the noise has done. There it is drawn as it was said to be, normal with the deviations given, of what is
measured about the prediction and of inputs about what they were found to be.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from draisine.errors import ArgumentError, UnknownNameError
from draisine.estimation.experiment_data import Recording
from draisine.estimation.losses import Loss
from draisine.estimation.problem import Posed
from draisine.estimation.solve import MultipleShooting, Outcome, solve
from draisine.expr.expression import did_you_mean
from draisine.results.base import Result

Reals = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Bootstrap(Result):
    """Estimates from data drawn anew, (draws, unknowns)."""

    names: tuple[str, ...]
    estimates: Reals

    def _of(self, name: str) -> Reals:
        if name not in self.names:
            raise UnknownNameError(f"{name!r} was not looked for{did_you_mean(name, self.names)}")
        return np.asarray(self.estimates[:, self.names.index(name)])

    def interval(self, name: str, level: float = 0.95) -> tuple[float, float]:
        """Between quantiles of the estimates."""
        low, high = np.quantile(self._of(name), [0.5 - 0.5 * level, 0.5 + 0.5 * level])
        return float(low), float(high)

    def deviation(self, name: str) -> float:
        return float(np.std(self._of(name), ddof=1))

    def _table(self) -> Mapping[str, Any]:
        return dict(zip(self.names, self.estimates.T, strict=True))

    def __str__(self) -> str:
        reported = ", ".join(f"{name} ± {self.deviation(name):.3g}" for name in self.names)
        return f"{len(self.estimates)} estimates from data drawn anew: {reported}"


def bootstrap(
    posed: Posed,
    method: MultipleShooting,
    best: Outcome,
    sigmas: Reals,
    loss: Loss | None,
    count: int,
    seed: int,
    block: int,
    progress: Callable[[str], None] | None = None,
) -> Bootstrap:
    """Draw residuals of every channel with replacement, `block` following ones at a time, and fit again from the estimate."""
    if count < 2 or block < 1:
        raise ArgumentError(f"bootstrap: count must be two or more and block one or more, got {count} and {block}")
    noisy = any(r.noisy for r in posed.recordings)
    if noisy and block > 1:
        raise ArgumentError(
            f"bootstrap: where inputs are noisy no residuals are drawn, and none in blocks of {block}; leave it out"
        )
    random = np.random.default_rng(seed)
    taken = posed.samples + len(best.prior) - best.freedom
    share = float(np.sqrt(posed.samples / max(posed.samples - taken, 1)))  # residuals of a fit are smaller than the noise
    found = []
    for k in range(count):
        if noisy:
            recordings = _as_said(posed, best, sigmas, random)
        else:
            pairs = zip(posed.recordings, best.predicted, strict=True)
            recordings = [replace(r, values=_drawn(y, r.values, random, block, share)) for r, y in pairs]
        found.append(solve(replace(posed, recordings=tuple(recordings)), method, sigmas, loss, best.unknowns).unknowns)
        if progress is not None:
            progress(f"draw {k + 1} of {count}")
    return Bootstrap(posed.names, np.array(found))


def _as_said(posed: Posed, best: Outcome, sigmas: Reals, random: np.random.Generator) -> list[Recording]:
    """Recordings of the motion and the inputs that were found, with noise as it was said to be."""
    assert best.shot is not None  # inputs with noise are found by windows alone
    made = []
    for recording, predicted, chain in zip(posed.recordings, best.predicted, best.shot.chains, strict=True):
        measured = predicted + sigmas * random.normal(size=predicted.shape)
        inputs = chain.samples + chain.recorded.sigmas * random.normal(size=chain.samples.shape)
        there = np.isfinite(recording.values)
        made.append(replace(recording.with_samples(inputs), values=np.where(there, measured, np.nan)))
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
