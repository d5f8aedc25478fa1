"""Floquet multipliers of periodic motions: eigenvalues of the monodromy matrix M (Floquet 1883).

For an autonomous motion with the rate f, M f = f: the trivial multiplier is one, and |M f − f| gives the number of correct
digits. The others are those of M on the deviations modulo f, which keeps them accurate also where there are more multipliers of
one, as in conservative systems, and M is not diagonalizable.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

NEUTRAL = 1e-6  # a multiplier this close to the unit circle is neither stable nor unstable to first order


@dataclass(frozen=True, eq=False)
class Floquet:
    """Multipliers, the largest first, without the trivial one of an autonomous motion."""

    multipliers: NDArray[np.complex128]
    period: float
    trivial: float | None  # the computed value of the multiplier that must be one; None for forced motions
    trivial_error: float  # |M f − f| / |f|

    @property
    def exponents(self) -> NDArray[np.complex128]:
        """ln(multiplier)/period, in 1/s; a multiplier of zero has −∞."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.multipliers) / self.period, dtype=np.complex128)

    @property
    def digits(self) -> float:
        """Number of correct digits, from the trivial multiplier."""
        return float(-np.log10(max(self.trivial_error, 1e-16)))

    @property
    def neutral(self) -> int:
        """Number of multipliers on the unit circle, besides the trivial one."""
        return int(np.count_nonzero(np.abs(np.abs(self.multipliers) - 1.0) <= NEUTRAL))

    @property
    def stable(self) -> bool | None:
        """Whether every deviation across the motion decays; None where a neutral multiplier leaves it undecided."""
        sizes = np.abs(self.multipliers)
        if np.any(sizes > 1.0 + NEUTRAL):
            return False
        return None if self.neutral else True

    @property
    def attracts(self) -> bool:
        """Whether all deviations except the neutral ones decay, for example within one energy level of a conservative system."""
        sizes = np.abs(self.multipliers)
        return bool(np.all(sizes[np.abs(self.multipliers - 1.0) > NEUTRAL] < 1.0 - NEUTRAL))


def floquet(monodromy: Array, period: float, rate: Array | None, scales: Array) -> Floquet:
    """Multipliers of a monodromy matrix; `rate` is that of the motion at its start if it is autonomous.

    >>> import numpy as np
    >>> found = floquet(np.array([[1.0, 3.0], [0.0, 0.5]]), 2.0, np.array([2.0, 0.0]), np.ones(2))
    >>> found.multipliers.real.tolist(), found.stable, found.trivial
    ([0.5], True, 1.0)
    """
    matrix = monodromy * scales / scales[:, None]
    if rate is None:
        return Floquet(_sorted(np.linalg.eigvals(matrix)), period, None, 0.0)
    along = rate / scales
    along = along / np.linalg.norm(along)
    image = matrix @ along
    complement = np.linalg.qr(np.column_stack([along, np.eye(len(along))]))[0][:, 1 : len(along)]
    others = np.linalg.eigvals(complement.T @ matrix @ complement)
    return Floquet(_sorted(others), period, float(along @ image), float(np.linalg.norm(image - along)))


def _sorted(values: NDArray[Any]) -> NDArray[np.complex128]:
    complex_values = np.asarray(values, dtype=np.complex128)
    return complex_values[np.lexsort((complex_values.imag, -np.abs(complex_values)))]
