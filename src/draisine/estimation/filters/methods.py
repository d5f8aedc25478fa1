"""Two Kalman filters: what becomes of a mean and a covariance, from sample to sample and at a sample.

Both tell errors in the coordinates of a chart (`chart`), so that every estimate keeps the constraints. `ExtendedKalmanFilter` carries the
covariance by the exact derivative of the motion; `UnscentedKalmanFilter` (Julier & Uhlmann 1997) by the motion of points about the mean.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from draisine.errors import ArgumentError
from draisine.estimation.filters.chart import Chart, symmetric
from draisine.estimation.filters.prediction import Mover

Reals = NDArray[np.float64]

MEANS = 3  # rounds in which the mean of points on the constraints is found
CERTAIN = 1e-14  # share of the largest variance below which an axis has no points


@dataclass(frozen=True, eq=False)
class Belief:
    """A state, and the covariance of its error in the coordinates about it."""

    chart: Chart
    covariance: Reals


@dataclass(frozen=True, eq=False)
class Predicted:
    """A belief carried to the next sample, and the linear map of errors that did it."""

    belief: Belief
    matrix: Reals


@dataclass(frozen=True, eq=False)
class Sample:
    """What was measured at an instant, and what the model says: states (points, states) → y and ∂y/∂x."""

    values: Reals
    covariance: Reals
    model: Callable[[Reals], tuple[Reals, Reals]]


@dataclass(frozen=True, eq=False)
class Lesson:
    """The linear problem by which a belief was corrected: errors ξ are seen as slope·ξ, and it was moved by gain·residual."""

    slope: Reals
    gain: Reals
    residual: Reals
    covariance: Reals


@dataclass(frozen=True, eq=False)
class Corrected:
    """A belief after a sample, the innovation (measured less predicted) and its covariance.

    `onto` maps errors in the coordinates before to those after.
    """

    belief: Belief
    innovation: Reals
    covariance: Reals
    lesson: Lesson
    onto: Reals


class Filter(Protocol):
    """What a filter has to do."""

    def predict(self, belief: Belief, until: float, mover: Mover) -> Predicted: ...

    def correct(self, belief: Belief, sample: Sample, mover: Mover) -> Corrected: ...


@dataclass(frozen=True)
class ExtendedKalmanFilter:
    """The extended Kalman filter: covariances by exact first derivatives, of the motion and of what is measured.

    - `rounds`: how often what is measured is linearized, anew about the corrected state (iterated filter); once by default.
    """

    rounds: int = 1

    def __post_init__(self) -> None:
        if self.rounds < 1:
            raise ArgumentError(f"Extended: rounds must be 1 or more, got {self.rounds}")

    def predict(self, belief: Belief, until: float, mover: Mover) -> Predicted:
        passed = mover.passage(belief.chart, until)
        after = symmetric(passed.matrix @ belief.covariance @ passed.matrix.T + passed.added)
        return Predicted(Belief(passed.end, after), passed.matrix)

    def correct(self, belief: Belief, sample: Sample, mover: Mover) -> Corrected:
        chart, before = belief.chart, belief.covariance
        change, there = np.zeros(len(before)), chart
        for k in range(self.rounds):
            if k > 0:
                there = mover.chart(chart.t, mover.point(chart, change))
            (y,), (by_state,) = sample.model(there.x[None])
            slope = by_state @ there.tangent @ chart.onto(there)
            spread = symmetric(slope @ before @ slope.T + sample.covariance)
            gain = np.linalg.solve(spread, slope @ before).T
            residual = sample.values - y + slope @ change
            if k == 0:
                innovation, promised = residual, spread
            change = gain @ residual
        left = np.eye(len(before)) - gain @ slope  # Joseph's form: no rounding makes it indefinite
        after = left @ before @ left.T + gain @ sample.covariance @ gain.T
        new = mover.chart(chart.t, mover.point(chart, change))
        belief = Belief(new, chart.carried(after, new))
        return Corrected(belief, innovation, promised, Lesson(slope, gain, residual, spread), chart.onto(new))


@dataclass(frozen=True)
class UnscentedKalmanFilter:
    """The unscented Kalman filter: covariances by the motion of points ±√(α²(n + κ)) standard deviations from the mean.

    `alpha`, `beta`, `kappa` are those of Wan and van der Merwe (2000): distance of the points, weight of the mean in covariances
    (2 for normal distributions), and a further parameter of the distance. Noise is added as in `ExtendedKalmanFilter`.
    """

    alpha: float = 0.5
    beta: float = 2.0
    kappa: float = 0.0

    def __post_init__(self) -> None:
        if not self.alpha > 0.0 or self.kappa < 0.0:
            raise ArgumentError(
                f"Unscented: alpha must be positive and kappa not negative, got alpha = {self.alpha}, kappa = {self.kappa}"
            )

    def _points(self, covariance: Reals) -> _Points:
        values, vectors = np.linalg.eigh(covariance)
        kept = values > CERTAIN * max(float(values[-1]), 0.0)
        sizes, axes = np.sqrt(values[kept]), vectors[:, kept]
        square = self.alpha**2 * (max(len(sizes), 1) + self.kappa)
        far = np.sqrt(square) * (axes * sizes).T
        mean = np.full(1 + 2 * len(sizes), 0.5 / square)
        mean[0] = 1.0 - len(sizes) / square
        spread = mean.copy()
        spread[0] += 1.0 - self.alpha**2 + self.beta
        return _Points(np.vstack([np.zeros((1, len(covariance))), far, -far]), mean, spread, axes / (np.sqrt(square) * sizes))

    def predict(self, belief: Belief, until: float, mover: Mover) -> Predicted:
        points = self._points(belief.covariance)
        passed = mover.passage(belief.chart, until)  # of the mean: it adds the noise
        starts = mover.points(belief.chart, points.places[1:])
        ends = np.vstack([passed.end.x[None], *(mover.moved(belief.chart.t, x, until)[None] for x in starts)])
        center = passed.end
        for _ in range(MEANS if center.normal.shape[1] else 1):
            center = mover.chart(until, mover.point(center, points.mean @ center.coordinates(ends)))
        errors = center.coordinates(ends)
        after = points.covariance(errors) + passed.end.carried(passed.added, center)
        return Predicted(Belief(center, after), points.slope(errors))

    def correct(self, belief: Belief, sample: Sample, mover: Mover) -> Corrected:
        chart, before = belief.chart, belief.covariance
        points = self._points(before)
        y, _ = sample.model(mover.points(chart, points.places))
        spread = points.covariance(y) + sample.covariance
        slope = points.slope(y)
        gain: Reals = np.asarray(np.linalg.solve(spread, slope @ before).T, dtype=float)
        innovation = sample.values - points.mean @ y
        after = symmetric(before - gain @ spread @ gain.T)
        new = mover.chart(chart.t, mover.point(chart, gain @ innovation))
        belief = Belief(new, chart.carried(after, new))
        return Corrected(belief, innovation, spread, Lesson(slope, gain, innovation, spread), chart.onto(new))


@dataclass(frozen=True, eq=False)
class _Points:
    """The mean, then points on both sides of it along axes of the covariance, with their weights in means and covariances."""

    places: Reals  # (1 + 2 axes, coordinates)
    mean: Reals
    spread: Reals
    axes: Reals  # (coordinates, axes), such that the difference quotient along an axis is half the difference times it

    def covariance(self, values: Reals) -> Reals:
        """Of what the points became."""
        errors = values - self.mean @ values
        return symmetric((self.spread * errors.T) @ errors)

    def slope(self, values: Reals) -> Reals:
        """The linear map of errors that the points suggest."""
        count = self.axes.shape[1]
        return np.asarray(0.5 * (values[1 : count + 1] - values[count + 1 :]).T @ self.axes.T)
