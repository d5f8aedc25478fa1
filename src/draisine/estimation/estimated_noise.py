"""What estimated noise adds to the uncertainty of unknowns, where several columns are measured.

The weights of the columns are estimated then, too: covariances by linearization are too small, and the degrees of freedom are
those of the columns that determine an unknown, not of all data. With M_j the information of column j, C = (Σ M_j)⁻¹, and ν_j the
degrees of freedom of its noise, the covariance is (Kenward & Roger 1997, Biometrics 53, eq. 3; for one unknown Meier 1953)

    C + 4 Σ_j (C M_j C − C M_j C M_j C) / ν_j,

with the sum over columns of estimated noise, and the degrees of freedom of unknown i are (Satterthwaite 1946)

    C_ii² / Σ_j (C M_j C)_ii² / ν_j.

Both products are derivatives of C by the logarithm of the weight of a column, C′ = −C M_j C and C″ = 2 C M_j C M_j C − C M_j C.
Differences serve methods that eliminate unknowns, too, whose information is no sum over columns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.float64]

CHANGE = 0.01  # of the logarithm of a weight: errors of its square, and rounding errors over its square
MEDIAN_EFFICIENCY = 0.37  # of a standard deviation by the median of magnitudes, for normal noise
FEW = 10.0  # degrees of freedom of a column below which the series in 1/ν is not accurate


@dataclass(frozen=True, eq=False)
class NoiseEffect:
    """The covariance that is added, and the degrees of freedom of every unknown and of every column (None: noise given)."""

    excess: Reals
    freedoms: Reals
    columns: tuple[float | None, ...]


def noise_effect(covariance: Callable[[Reals], Reals], freedoms: Sequence[float | None]) -> NoiseEffect | None:
    """The effect of estimated noise; None if an unknown is not identifiable.

    `covariance` takes factors of the noise of all columns; `freedoms` are those of the noise of each, None where it is given.
    """
    at = np.ones(len(freedoms))
    c = covariance(at)
    if not np.isfinite(c).all():
        return None
    excess, spread = np.zeros_like(c), np.zeros(len(c))
    for j, freedom in enumerate(freedoms):
        if freedom is None:
            continue
        beside = []
        for sign in (1.0, -1.0):
            factors = at.copy()
            factors[j] = np.exp(-0.5 * sign * CHANGE)
            beside.append(covariance(factors))
        first, second = (beside[0] - beside[1]) / (2.0 * CHANGE), (beside[0] - 2.0 * c + beside[1]) / CHANGE**2
        excess -= 2.0 * (first + second) / freedom
        spread += np.diag(first) ** 2 / freedom
    with np.errstate(divide="ignore"):
        return NoiseEffect(excess, np.diag(c) ** 2 / spread, tuple(freedoms))  # infinite where all that matters is given
