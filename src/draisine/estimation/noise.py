"""Noise of measured channels: guessed from the data's roughness, estimated from residuals; whether residuals are noise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from draisine.estimation.experiment_data import Recording

Reals = NDArray[np.float64]

LEAST = 1e-13  # of a channel's size: noise below this is rounding
ROUGH = 1.4826  # median of absolute values → standard deviation of normal noise


def roughness(recordings: Sequence[Recording]) -> Reals:
    """A first standard deviation of every channel, from second differences, which hardly see the motion."""
    found = []
    for i in range(recordings[0].values.shape[1]):
        bends, size = [], 0.0
        for r in recordings:
            column = r.values[:, i]
            column = column[np.isfinite(column)]
            size = max(size, float(np.abs(column).max(initial=0.0)))
            bends.append(np.diff(column, 2))
        bend = np.concatenate(bends)
        found.append(max(ROUGH * float(np.median(np.abs(bend))) / np.sqrt(6.0) if len(bend) else 0.0, 1e-6 * size, 1e-300))
    return np.array(found)


def deviations(residuals: Sequence[Reals], unknowns: int, robust: bool, sizes: Reals) -> Reals:
    """Standard deviations of channels from raw residuals, (instants, channels) per experiment, less what the unknowns take."""
    stacked = np.concatenate(list(residuals))
    total = int(np.isfinite(stacked).sum())
    share = total / max(total - unknowns, 1)
    found = []
    for column, size in zip(stacked.T, sizes, strict=True):
        r = column[np.isfinite(column)]
        if robust:
            value = ROUGH * float(np.median(np.abs(r)))
        else:
            value = float(np.sqrt(np.mean(r**2) * share))
        found.append(max(value, LEAST * size))
    return np.array(found)


@dataclass(frozen=True)
class Whiteness:
    """Whether residuals of a channel follow each other by chance: Ljung and Box's Q over some lags, and how likely it is."""

    experiment: str
    channel: str
    correlations: tuple[float, ...]  # at lags 1, 2, …
    q: float
    probability: float

    @property
    def white(self) -> bool:
        return self.probability > 1e-3


def whiteness(experiment: str, channel: str, residuals: Reals, lags: int = 10) -> Whiteness:
    """Of one channel's residuals, in the order of time.

    >>> import numpy as np
    >>> whiteness("", "", np.random.default_rng(0).normal(size=500)).white
    True
    >>> whiteness("", "", np.sin(np.arange(500) / 20)).white
    False
    """
    from scipy.stats import chi2

    r = residuals[np.isfinite(residuals)]
    n = len(r)
    lags = min(lags, max(n // 5, 1))
    power = float(r @ r)
    if power == 0.0 or n < 8:
        return Whiteness(experiment, channel, (0.0,) * lags, 0.0, 1.0)
    found = np.array([float(r[k:] @ r[:-k]) / power for k in range(1, lags + 1)])
    q = n * (n + 2) * float(np.sum(found**2 / (n - np.arange(1, lags + 1))))
    return Whiteness(experiment, channel, tuple(found.tolist()), q, float(chi2.sf(q, lags)))
