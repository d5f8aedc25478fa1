"""Extended and unscented Kalman filters, and the smoother.

Errors are coordinates of a chart (`chart`), so that every estimate satisfies the constraints. `ExtendedKalmanFilter` propagates
the covariance by the exact derivative of the motion, `UnscentedKalmanFilter` (Julier & Uhlmann 1997) by sigma points.

The smoother is that of Rauch, Tung & Striebel (1965) in the form of Bryson and Frazier, which inverts no state covariance: these
are singular where parts of a state are known exactly. From the last sample to the first, with gain K, innovation ν of covariance
S, Jacobian H of a sample and transition matrix Φ between samples,

    λ ← (1 − KH)ᵀ λ − HᵀS⁻¹ν,    Λ ← (1 − KH)ᵀ Λ (1 − KH) + HᵀS⁻¹H,    then λ ← Φᵀλ,  Λ ← ΦᵀΛΦ,

and the smoothed state has the coordinates −Pλ about the filtered one, and the covariance P − PΛP.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from draisine.errors import ArgumentError
from draisine.estimation.filters.chart import Chart, symmetric
from draisine.estimation.filters.prediction import Propagator
from draisine.numerics.number_range import with_number_range

Reals = NDArray[np.float64]

MEANS = 3  # iterations for the mean of points on the constraints
CERTAIN = 1e-14  # share of the largest variance below which an axis has no sigma points


@dataclass(frozen=True, eq=False)
class Belief:
    """A state, and the covariance of its error in the coordinates about it."""

    chart: Chart
    covariance: Reals


@dataclass(frozen=True, eq=False)
class Predicted:
    """A belief propagated to the next sample, and the transition matrix of its errors."""

    belief: Belief
    matrix: Reals


@dataclass(frozen=True, eq=False)
class Sample:
    """Measured values at a time, and the measurement function: states (points, states), parameters → y and ∂y/∂x."""

    values: Reals
    covariance: Reals
    model: Callable[[Reals, Reals], tuple[Reals, Reals]]


@dataclass(frozen=True, eq=False)
class LinearUpdate:
    """The linear measurement update of a belief: errors ξ are measured as jacobian·ξ, and the correction is gain·residual."""

    jacobian: Reals
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
    update: LinearUpdate
    onto: Reals


class Filter(Protocol):
    """Interface of a filter."""

    def predict(self, belief: Belief, until: float, propagator: Propagator) -> Predicted: ...

    def correct(self, belief: Belief, sample: Sample, propagator: Propagator) -> Corrected: ...


@with_number_range
@dataclass(frozen=True)
class ExtendedKalmanFilter:
    """The extended Kalman filter: covariances by exact first derivatives of the motion and of the measurements.

    - `rounds`: number of linearizations of the measurements, each about the corrected state (iterated filter).
    """

    rounds: int = 1

    def __post_init__(self) -> None:
        if self.rounds < 1:
            raise ArgumentError(f"Extended: rounds must be 1 or more, got {self.rounds}")

    def predict(self, belief: Belief, until: float, propagator: Propagator) -> Predicted:
        passed = propagator.transition(belief.chart, until)
        after = symmetric(passed.matrix @ belief.covariance @ passed.matrix.T + passed.added)
        return Predicted(Belief(passed.end, after), passed.matrix)

    def correct(self, belief: Belief, sample: Sample, propagator: Propagator) -> Corrected:
        chart, before = belief.chart, belief.covariance
        change, linearized = np.zeros(len(before)), chart
        for k in range(self.rounds):
            if k > 0:
                linearized = propagator.moved(chart, change, before)
            (y,), (by_state,) = sample.model(linearized.x[None], linearized.p)
            jacobian = by_state @ linearized.tangent @ chart.onto(linearized)
            spread = symmetric(jacobian @ before @ jacobian.T + sample.covariance)
            gain = np.linalg.solve(spread, jacobian @ before).T
            residual = sample.values - y + jacobian @ change
            if k == 0:
                innovation, promised = residual, spread
            change = gain @ residual
        left = np.eye(len(before)) - gain @ jacobian  # Joseph form: stays positive semidefinite under rounding
        after = left @ before @ left.T + gain @ sample.covariance @ gain.T
        new = propagator.moved(chart, change, after)
        belief = Belief(new, chart.carried(after, new))
        return Corrected(belief, innovation, promised, LinearUpdate(jacobian, gain, residual, spread), chart.onto(new))


@with_number_range
@dataclass(frozen=True)
class UnscentedKalmanFilter:
    """The unscented Kalman filter: covariances by sigma points at ±√(α²(n + κ)) standard deviations from the mean.

    `alpha`, `beta`, `kappa` are those of Wan and van der Merwe (2000): distance of the points, weight of the mean in covariances
    (2 for normal distributions), and a second parameter of the distance. Noise is added as in `ExtendedKalmanFilter`.
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
        kept = values > CERTAIN * float(values.max(initial=0.0))
        sizes, axes = np.sqrt(values[kept]), vectors[:, kept]
        square = self.alpha**2 * (max(len(sizes), 1) + self.kappa)
        far = np.sqrt(square) * (axes * sizes).T
        mean = np.full(1 + 2 * len(sizes), 0.5 / square)
        mean[0] = 1.0 - len(sizes) / square
        spread = mean.copy()
        spread[0] += 1.0 - self.alpha**2 + self.beta
        return _Points(np.vstack([np.zeros((1, len(covariance))), far, -far]), mean, spread, axes / (np.sqrt(square) * sizes))

    def predict(self, belief: Belief, until: float, propagator: Propagator) -> Predicted:
        points = self._points(belief.covariance)
        passed = propagator.transition(belief.chart, until)  # of the mean, with the noise
        starts = propagator.points(belief.chart, points.indices[1:], belief.covariance)
        others, first = propagator.propagate(belief.chart, starts, passed.end)
        ends, added, center = np.vstack([passed.end.x[None], others]), first.including(passed.end, passed.added), first
        for _ in range(MEANS if center.normal.shape[1] else 1):
            errors = center.coordinates(ends)
            center = propagator.moved(center, points.mean @ errors, points.covariance(errors) + added)
        errors = center.coordinates(ends)
        after = points.covariance(errors) + first.carried(added, center)
        return Predicted(Belief(center, after), points.jacobian(errors))

    def correct(self, belief: Belief, sample: Sample, propagator: Propagator) -> Corrected:
        chart, before = belief.chart, belief.covariance
        points = self._points(before)
        y, _ = sample.model(propagator.points(chart, points.indices, before), chart.p)
        spread = points.covariance(y) + sample.covariance
        jacobian = points.jacobian(y)
        gain: Reals = np.asarray(np.linalg.solve(spread, jacobian @ before).T, dtype=float)
        innovation = sample.values - points.mean @ y
        after = symmetric(before - gain @ spread @ gain.T)
        new = propagator.moved(chart, gain @ innovation, after)
        belief = Belief(new, chart.carried(after, new))
        return Corrected(belief, innovation, spread, LinearUpdate(jacobian, gain, innovation, spread), chart.onto(new))


@dataclass(frozen=True, eq=False)
class _Points:
    """Sigma points: the mean, then points on both sides along the axes of the covariance, with their weights."""

    indices: Reals  # (1 + 2 axes, coordinates)
    mean: Reals
    spread: Reals
    axes: Reals  # (coordinates, axes), such that the difference quotient along an axis is half the difference times it

    def covariance(self, values: Reals) -> Reals:
        """Covariance of the transformed points."""
        errors = values - self.mean @ values
        return symmetric((self.spread * errors.T) @ errors)

    def jacobian(self, values: Reals) -> Reals:
        """The linear map of errors fitted to the points."""
        count = self.axes.shape[1]
        return np.asarray(0.5 * (values[1 : count + 1] - values[count + 1 :]).T @ self.axes.T)


# ------------------------------------------------------------ smoother


def smoothed(predicted: Sequence[Predicted], corrected: Sequence[Corrected], propagator: Propagator) -> list[Belief]:
    """Beliefs given all samples; `predicted[k]` precedes `corrected[k]`."""
    count = len(corrected[-1].belief.covariance)
    pull, weight = np.zeros(count), np.zeros((count, count))
    found = []
    for ahead, sample in zip(reversed(predicted), reversed(corrected), strict=True):
        found.append(_corrected_backwards(sample.belief, pull, weight, propagator))
        # before the sample, coordinates are those of the predicted state
        update = sample.update
        left = sample.onto @ (np.eye(len(update.gain)) - update.gain @ update.jacobian)
        toward = np.linalg.solve(update.covariance, np.column_stack([update.residual, update.jacobian]))
        pull = left.T @ pull - update.jacobian.T @ toward[:, 0]
        weight = symmetric(left.T @ weight @ left + update.jacobian.T @ toward[:, 1:])
        pull, weight = ahead.matrix.T @ pull, symmetric(ahead.matrix.T @ weight @ ahead.matrix)
    return found[::-1]


def _corrected_backwards(belief: Belief, pull: Reals, weight: Reals, propagator: Propagator) -> Belief:
    chart, p = belief.chart, belief.covariance
    after = symmetric(p - p @ weight @ p)
    new = propagator.moved(chart, -p @ pull, after)
    return Belief(new, chart.carried(after, new))
