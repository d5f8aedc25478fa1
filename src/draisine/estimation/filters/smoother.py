"""The way back: what later samples say about earlier states.

The smoother of Rauch, Tung & Striebel (1965), in the form of Bryson and Frazier, which inverts no covariance of states: of a
mechanism much is known exactly, and covariances are singular. From the last sample to the first go λ and Λ, with gain K,
innovation ν of covariance S, slope H at a sample, and the matrix Φ from sample to sample,

    λ ← (1 − KH)ᵀ λ − HᵀS⁻¹ν,    Λ ← (1 − KH)ᵀ Λ (1 − KH) + HᵀS⁻¹H,    then λ ← Φᵀλ,  Λ ← ΦᵀΛΦ,

and the smoothed state has the coordinates −Pλ about the filtered one, and the covariance P − PΛP.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from draisine.estimation.filters.chart import symmetric
from draisine.estimation.filters.methods import Belief, Corrected, Predicted
from draisine.estimation.filters.prediction import Mover

Reals = NDArray[np.float64]


def smoothed(predicted: Sequence[Predicted], corrected: Sequence[Corrected], mover: Mover) -> list[Belief]:
    """Beliefs given all samples; `predicted[k]` leads to `corrected[k]`."""
    count = len(corrected[-1].belief.covariance)
    pull, weight = np.zeros(count), np.zeros((count, count))
    found = []
    for ahead, sample in zip(reversed(predicted), reversed(corrected), strict=True):
        found.append(_moved(sample.belief, pull, weight, mover))
        # the coordinates before the sample were those of the predicted state
        lesson = sample.lesson
        left = sample.onto @ (np.eye(count) - lesson.gain @ lesson.slope)
        toward = np.linalg.solve(lesson.covariance, np.column_stack([lesson.residual, lesson.slope]))
        pull = left.T @ pull - lesson.slope.T @ toward[:, 0]
        weight = symmetric(left.T @ weight @ left + lesson.slope.T @ toward[:, 1:])
        pull, weight = ahead.matrix.T @ pull, symmetric(ahead.matrix.T @ weight @ ahead.matrix)
    return found[::-1]


def _moved(belief: Belief, pull: Reals, weight: Reals, mover: Mover) -> Belief:
    chart, p = belief.chart, belief.covariance
    new = mover.chart(chart.t, mover.point(chart, -p @ pull))
    return Belief(new, chart.carried(symmetric(p - p @ weight @ p), new))
