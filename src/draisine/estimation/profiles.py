"""Profile likelihood: how the sum of squares grows along one unknown while all others are fitted anew."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from draisine.errors import ArgumentError
from draisine.estimation.losses import Loss
from draisine.estimation.problem import Posed
from draisine.estimation.solve import MultipleShooting, Outcome, fixed_at, solve
from draisine.results.base import Result, figure

Reals = NDArray[np.float64]

NARROW = 1e-3  # of a standard deviation, by which an unknown is held
ROUNDS = 8  # of the search for a side
CLOSE = 1e-3  # of the quantile
LOOSE = 0.05  # of the quantile: a search that has come so near may end for lack of rounds


@dataclass(frozen=True, eq=False)
class Profile(Result):
    """Values of an unknown and the root of the growth of the sum of squares there, signed; `low` and `high` bound the interval.

    A straight line says that linearization serves; a bend shows by how much it does not.
    """

    name: str
    values: Reals
    roots: Reals
    low: float
    high: float

    @property
    def interval(self) -> tuple[float, float]:
        return self.low, self.high

    def _table(self) -> Mapping[str, Any]:
        return {self.name: self.values, "root": self.roots}

    def plot(self, **options: Any) -> Any:
        """The root of the growth of the sum of squares along one unknown; see `draisine.view.plots.estimation`."""
        return figure("plots.estimation.likelihood_profile", self.name, self.values, self.roots, self.low, self.high, **options)

    def __str__(self) -> str:
        return f"{self.name}: from {self.low:.6g} to {self.high:.6g} by the profile of its likelihood"


def profile(
    posed: Posed,
    method: MultipleShooting,
    best: Outcome,
    sigmas: Reals,
    loss: Loss | None,
    name: str,
    deviation: float,
    quantile: float,
) -> Profile:
    """Search on both sides for where the root of the growth is the quantile."""
    if not np.isfinite(deviation):
        raise ArgumentError(f"{name}: the data do not tell it, so that its likelihood has no sides")
    at = posed.names.index(name)
    points: dict[float, float] = {float(best.unknowns[at]): 0.0}
    sides = []
    for sign in (-1.0, 1.0):
        sides.append(_side(posed, method, best, sigmas, loss, at, sign * deviation, quantile, points))
    order = sorted(points)
    return Profile(name, np.array(order), np.array([points[v] for v in order]), min(sides), max(sides))


def _side(
    posed: Posed,
    method: MultipleShooting,
    best: Outcome,
    sigmas: Reals,
    loss: Loss | None,
    at: int,
    step: float,
    quantile: float,
    points: dict[float, float],
) -> float:
    """Secant steps on the signed root, which is nearly linear. Brent's method would need a far end of a bracket: a fit at values
    where the model may not run."""
    center = float(best.unknowns[at])
    low, high = posed.sides[0][at], posed.sides[1][at]
    near, near_root = center, 0.0
    value, held = center + quantile * step, best
    for _ in range(ROUNDS):
        value = float(np.clip(value, low, high))
        held = solve(fixed_at(posed, posed.names[at], value, NARROW * abs(step)), method, sigmas, loss, _moved(held, at, value))
        there = float(held.unknowns[at])
        miss = (there - value) / (NARROW * abs(step))
        root = float(np.sqrt(max(held.squares - miss**2 - best.squares, 0.0)))
        points[there] = float(np.sign(step)) * root
        if abs(root - quantile) <= CLOSE * quantile or (value in (low, high) and root < quantile):
            return there
        if root == near_root:
            return float("inf") * float(np.sign(step))
        following = there + (quantile - root) * (there - near) / (root - near_root)
        near, near_root = there, root
        # no further than thrice the way so far: a flat profile must not lead out of the model's world
        value = center + float(np.clip((following - center) / step, 0.1, 3.0 * max(abs((there - center) / step), 1.0))) * step
    # a likelihood that has not fallen so far has no side there
    return there if root > quantile * (1.0 - LOOSE) else float("inf") * float(np.sign(step))


def _moved(outcome: Outcome, at: int, value: float) -> Outcome:
    unknowns = outcome.unknowns.copy()
    unknowns[at] = value
    return replace(outcome, unknowns=unknowns)
