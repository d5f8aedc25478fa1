"""Profile likelihood: the sum of squares along one unknown, with all others refitted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from draisine.errors import ArgumentError
from draisine.estimation.losses import Loss
from draisine.estimation.problem import EstimationProblem
from draisine.estimation.solve import FitMethod, Outcome, pinned_at, solve
from draisine.results.base import Result, figure

Reals = NDArray[np.float64]

NARROW = 1e-3  # of a standard deviation: width of the prior that pins an unknown
ROUNDS = 8  # of the search for an end of the interval
CLOSE = 1e-5  # of the quantile
LOOSE = 0.05  # of the quantile: accepted when the rounds are used up


@dataclass(frozen=True, eq=False)
class Profile(Result):
    """Values of an unknown and the signed square root of the increase of the sum of squares; `low` and `high` bound the interval.

    A straight line confirms the linearized interval; curvature shows its error.
    """

    name: str
    values: Reals
    roots: Reals
    low: float
    high: float
    unit: str = ""

    @property
    def interval(self) -> tuple[float, float]:
        return self.low, self.high

    @property
    def units(self) -> dict[str, str]:
        """Units of the columns of its table; the root has none."""
        return {self.name: self.unit}

    def _table(self) -> Mapping[str, Any]:
        return {self.name: self.values, "root": self.roots}

    def plot(self, **options: Any) -> Any:
        """Plot the signed root of the increase of the sum of squares; see `draisine.view.plots.estimation`."""
        of = (self.name, self.values, self.roots, self.low, self.high)
        return figure("plots.estimation.likelihood_profile", *of, **{"unit": self.unit, **options})

    def __str__(self) -> str:
        return f"{self.name}: from {self.low:.6g} to {self.high:.6g} {self.unit}".rstrip() + " by profile likelihood"


def profile(
    problem: EstimationProblem,
    method: FitMethod,
    best: Outcome,
    sigmas: Reals,
    loss: Loss | None,
    name: str,
    deviation: float,
    quantile: float,
) -> Profile:
    """Find both values at which the root of the increase equals the quantile."""
    if not np.isfinite(deviation):
        raise ArgumentError(f"{name}: the data do not identify it, so that its profile likelihood has no interval")
    at = problem.names.index(name)
    points: dict[float, float] = {float(best.unknowns[at]): 0.0}
    bounds = []
    for sign in (-1.0, 1.0):
        bounds.append(_side(problem, method, best, sigmas, loss, at, sign * deviation, quantile, points))
    order = sorted(points)
    return Profile(name, np.array(order), np.array([points[v] for v in order]), min(bounds), max(bounds), problem.units[at])


def _side(
    problem: EstimationProblem,
    method: FitMethod,
    best: Outcome,
    sigmas: Reals,
    loss: Loss | None,
    at: int,
    step: float,
    quantile: float,
    points: dict[float, float],
) -> float:
    """Secant steps on the signed root, which is nearly linear. Brent's method would need a bracket: a fit at distant values,
    where the model may fail."""
    center = float(best.unknowns[at])
    low, high = problem.bounds[0][at], problem.bounds[1][at]
    near, near_root = center, 0.0
    value, refit = center + quantile * step, best
    for _ in range(ROUNDS):
        value = float(np.clip(value, low, high))
        refit = solve(
            pinned_at(problem, problem.names[at], value, NARROW * abs(step)), method, sigmas, loss, _moved(refit, at, value)
        )
        reached = float(refit.unknowns[at])
        miss = (reached - value) / (NARROW * abs(step))
        root = float(np.sqrt(max(refit.squares - miss**2 - best.squares, 0.0)))
        points[reached] = float(np.sign(step)) * root
        if abs(root - quantile) <= CLOSE * quantile or (value in (low, high) and root < quantile):
            return reached
        if root == near_root:
            return float("inf") * float(np.sign(step))
        following = reached + (quantile - root) * (reached - near) / (root - near_root)
        near, near_root = reached, root
        # at most three times the distance so far: a flat profile must not lead to invalid values
        value = center + float(np.clip((following - center) / step, 0.1, 3.0 * max(abs((reached - center) / step), 1.0))) * step
    # a likelihood that has not decreased enough has no end of the interval there
    return reached if root > quantile * (1.0 - LOOSE) else float("inf") * float(np.sign(step))


def _moved(outcome: Outcome, at: int, value: float) -> Outcome:
    unknowns = outcome.unknowns.copy()
    unknowns[at] = value
    return replace(outcome, unknowns=unknowns)
