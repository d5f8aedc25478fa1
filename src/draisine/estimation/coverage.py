"""Coverage of confidence intervals: how often they contain the true parameters, over many simulated data sets."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from draisine.estimation.fit import Fit
from draisine.results.base import Result, figure
from draisine.results.status import Progress, ProgressCallback

Reals = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Coverage(Result):
    """Over many data sets: estimates and standard deviations, (sets, names), and which intervals contain the true value."""

    names: tuple[str, ...]
    level: float
    truth: Reals
    estimates: Reals
    deviations: Reals
    covered: NDArray[np.bool_]
    units: tuple[str, ...] = ()  # of the parameters

    @property
    def sets(self) -> int:
        return len(self.estimates)

    @property
    def shares(self) -> dict[str, float]:
        """Share of data sets in which the interval of each parameter contains the true value."""
        return dict(zip(self.names, self.covered.mean(axis=0).tolist(), strict=True))

    @property
    def bias(self) -> dict[str, float]:
        """Mean of (estimate − true value) over its standard deviation."""
        return dict(zip(self.names, ((self.estimates - self.truth) / self.deviations).mean(axis=0).tolist(), strict=True))

    def limits(self, chance: float = 0.01) -> tuple[float, float]:
        """Range of shares for correct intervals, except with this probability."""
        from scipy.stats import binom

        low, high = binom.ppf([chance / 2, 1 - chance / 2], self.sets, self.level)
        return float(low) / self.sets, float(high) / self.sets

    def _table(self) -> Mapping[str, Any]:
        reported = {"share": list(self.shares.values()), "bias": list(self.bias.values())}
        units = {"unit": list(self.units)} if self.units else {}
        return {"parameter": list(self.names), **units, "truth": self.truth, **reported}

    def plot(self, **options: Any) -> Any:
        """Plot the coverage of the intervals; see `draisine.view.plots.estimation`."""
        return figure("plots.estimation.coverage_figure", list(self.shares.items()), self.level, self.limits(), **options)

    def __str__(self) -> str:
        width = max(len(n) for n in self.names)
        lines = [f"{100 * self.level:g} % intervals over {self.sets} data sets contain the true value"]
        lines += [f"  {n:<{width}}  {100 * s:5.1f} %   bias {self.bias[n]:+.3f} deviations" for n, s in self.shares.items()]
        return "\n".join(lines)


def coverage(
    fit: Callable[[np.random.Generator], Fit],
    truth: Mapping[str, float],
    sets: int = 1000,
    *,
    seed: int = 0,
    level: float = 0.95,
    progress: ProgressCallback | None = None,
) -> Coverage:
    """Call `fit` with a random generator per data set: it simulates data with the true parameters and estimates them.

    - `truth`: true values by name; `sets`: number of data sets, whose random generators follow from `seed`.
    - `level`: of the confidence intervals; `progress`: called with a `Progress` after every data set.

    >>> import numpy as np, sympy as sp, draisine as dr
    >>> x, k = sp.symbols("x k")
    >>> decay = dr.first_order("decay", {x: -k * x}, parameters={k: 1.0}, start={x: 1.0})
    >>> t = np.linspace(0.0, 2.0, 11)
    >>> def fit(random):
    ...     return dr.estimate(decay, {"time": t, "x": np.exp(-t) + 0.01 * random.normal(size=11)}, ["k"], {"x": ("x", 0.01)})
    >>> dr.estimation.coverage(fit, {"k": 1.0}, 20).shares["k"] > 0.7
    True
    """
    names = tuple(truth)
    wanted = np.array([truth[n] for n in names])
    estimates, deviations, covered = [], [], []
    units: dict[str, str] = {}
    for k, child in enumerate(np.random.SeedSequence(seed).spawn(sets)):
        found = fit(np.random.default_rng(child))
        estimates.append([found[n] for n in names])
        units |= dict(zip(found.names, found.problem.units, strict=True))
        deviations.append([found.deviations[n] for n in names])
        covered.append([low <= truth[n] <= high for n in names for low, high in [found.interval(n, level)]])
        if progress is not None:
            progress(Progress.counted("set", k + 1, sets))
    arrays = np.array(estimates), np.array(deviations), np.array(covered, dtype=bool)
    return Coverage(names, level, wanted, *arrays, tuple(units.get(name, "") for name in names))
