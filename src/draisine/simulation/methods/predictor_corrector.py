"""Predictor–corrector method of Mauny, Porez and Boyer: Adams–Bashforth 4 with Adams–Moulton 5.

J. Mauny, M. Porez and F. Boyer, "Symbolic Dynamic Modeling of Locomotion Systems with Persistent Contacts - Application to the
3D Bicycle", IFAC-PapersOnLine 50-1 (2017) 7598–7605, integrate with "a fourth-order explicit method for the prediction step and a
fifth-order implicit method for the correction step". These are the Adams–Bashforth and Adams–Moulton formulas (Hairer, Nørsett
& Wanner, Solving Ordinary Differential Equations I, section III.1), used as predict, evaluate, correct, evaluate. The
corrected value is of order 5. The first three steps are made by DOP853.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from draisine.numerics.number_range import with_number_range
from draisine.simulation.methods import dop853
from draisine.simulation.methods.tableau import Array, Scheme, positive

# Columns: f at t, t − h, t − 2h, t − 3h; f at the predicted point; f at the corrected point.
_PREDICTOR = np.array([55.0, -59.0, 37.0, -9.0, 0.0, 0.0]) / 24.0
_CORRECTOR = np.array([646.0, -264.0, 106.0, -19.0, 251.0, 0.0]) / 720.0


def _quintic() -> Array:
    """F₃ and F₄ of the polynomial of degree 5 that also has the derivatives at t − h and t − 2h.

    With the increment Δ = h · corrector · k, the cubic part has the derivatives −12Δ + 8h f₀ + 5h f₊ at θ = −1 and
    −36Δ + 21h f₀ + 16h f₊ at θ = −2; the rest, θ²(1−θ)²(F₃ + θF₄), adds −12F₃ + 16F₄ and −60F₃ + 156F₄.
    """
    at_t, at_t1, at_t2, new = (np.eye(6)[j] for j in (0, 1, 2, 5))
    missing = np.array(
        [
            at_t1 + 12.0 * _CORRECTOR - 8.0 * at_t - 5.0 * new,
            at_t2 + 36.0 * _CORRECTOR - 21.0 * at_t - 16.0 * new,
        ]
    )
    return np.linalg.solve(np.array([[-12.0, 16.0], [-60.0, 156.0]]), missing)


SCHEME = Scheme(
    order=5,
    history=4,
    stages=5,
    weights=np.vstack([np.zeros((4, 6)), _PREDICTOR, _CORRECTOR]),
    nodes=np.array([0.0, -1.0, -2.0, -3.0, 1.0, 1.0]),
    dense=_quintic(),
)


@with_number_range
@dataclass(frozen=True)
class PredictorCorrector:
    """Adams–Bashforth 4 with Adams–Moulton 5, order 5, two evaluations per step.

    The run is divided into equal steps, none longer than `step`.

    >>> PredictorCorrector().step
    0.005
    """

    step: float = 0.005
    max_steps: int = 100_000_000

    order = 5
    implicit = False
    adaptive = False
    scheme = SCHEME
    starter = dop853.SCHEME

    def __post_init__(self) -> None:
        positive("PredictorCorrector", "step", self.step)
        positive("PredictorCorrector", "max_steps", self.max_steps)
