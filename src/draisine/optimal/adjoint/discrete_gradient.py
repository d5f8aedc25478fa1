"""Gradient of a cost of a discrete motion."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class DiscreteGradient:
    """Gradient of a cost of the discrete motion."""

    costates: Reals  # (steps + 1, states) by the state at each end of a step
    inputs: Reals  # (pieces, inputs)
    parameters: Reals
    duration: float
