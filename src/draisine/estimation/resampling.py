"""Bootstrap: fits to data made of the prediction and of residuals drawn anew."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from draisine.estimation.losses import Loss
from draisine.estimation.posing import Posed
from draisine.estimation.solving import Outcome, Shooting, solve

Reals = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Bootstrap:
    """Estimates from data drawn anew, (draws, unknowns)."""

    names: tuple[str, ...]
    estimates: Reals

    def interval(self, name: str, level: float = 0.95) -> tuple[float, float]:
        """Between quantiles of the estimates."""
        column = self.estimates[:, self.names.index(name)]
        low, high = np.quantile(column, [0.5 - 0.5 * level, 0.5 + 0.5 * level])
        return float(low), float(high)

    def deviation(self, name: str) -> float:
        return float(np.std(self.estimates[:, self.names.index(name)], ddof=1))


def bootstrap(
    posed: Posed,
    method: Shooting,
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
        raise ValueError(f"bootstrap: count must be two or more and block one or more, got {count} and {block}")
    if any(r.noisy for r in posed.recordings):
        raise ValueError(
            "bootstrap: recorded inputs have noise, which residuals drawn anew would not contain; use fit.profile, or `coverage` "
            "with data simulated anew"
        )
    random = np.random.default_rng(seed)
    found = []
    for k in range(count):
        recordings = [
            replace(r, values=_drawn(predicted, r.values, random, block))
            for r, predicted in zip(posed.recordings, best.predicted, strict=True)
        ]
        found.append(solve(replace(posed, recordings=tuple(recordings)), method, sigmas, loss, best.unknowns).unknowns)
        if progress is not None:
            progress(f"draw {k + 1} of {count}")
    return Bootstrap(posed.names, np.array(found))


def _drawn(predicted: Reals, values: Reals, random: np.random.Generator, block: int) -> Reals:
    made = np.full(values.shape, np.nan)
    for j in range(values.shape[1]):
        present = np.flatnonzero(np.isfinite(values[:, j]))
        residuals = (values - predicted)[present, j]
        residuals = residuals - residuals.mean()
        starts = random.integers(0, max(len(residuals) - block + 1, 1), size=-(-len(residuals) // block))
        drawn = np.concatenate([residuals[s : s + block] for s in starts])[: len(present)]
        # residuals of a fit are a little smaller than the noise
        made[present, j] = predicted[present, j] + drawn * np.sqrt(len(present) / max(len(present) - 1, 1))
    return made
