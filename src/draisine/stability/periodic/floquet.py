"""Floquet multipliers of periodic motions: eigenvalues of the monodromy matrix M (Floquet 1883).

For an autonomous motion with the rate f, M f = f: the trivial multiplier is one, and |M f − f| gives the number of correct
digits. The others are those of M on the deviations modulo f, which keeps them accurate also where there are more multipliers of
one, as in conservative systems, and M is not diagonalizable.

Multipliers of strongly attracting motions are below the rounding of M. They are those of the factors of M, the passages between
nodes, which are never multiplied (`numerics/product_eigenvalues.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from draisine.numerics.product_eigenvalues import log_eigenvalues

Array = NDArray[np.float64]

SMALL = 1e-6  # a multiplier this small, relative to the monodromy matrix, has few digits there
DISTINCT = 1e-3  # multipliers below this need not be known to many digits
NEUTRAL = 1e-6  # a multiplier this close to the unit circle is neither stable nor unstable to first order
DOUBTFUL = 10.0  # … nor is one closer to it than this many times the error of the trivial multiplier


@dataclass(frozen=True, eq=False)
class Floquet:
    """Multipliers, the largest first, without the trivial one of an autonomous motion."""

    multipliers: NDArray[np.complex128]
    period: float
    trivial: float | None  # the computed value of the multiplier that must be one; None for forced motions
    trivial_error: float  # |M f − f| / |f|, and not below the tolerance of the integration
    logarithms: NDArray[np.complex128]  # of the multipliers, which may be too small for numbers

    @property
    def exponents(self) -> NDArray[np.complex128]:
        """ln(multiplier)/period, in 1/s; a multiplier of zero has −∞."""
        return np.asarray(self.logarithms / self.period, dtype=np.complex128)

    @property
    def instability(self) -> str:
        """How deviations grow: "period doubling" by a real multiplier below −1, "divergence" by one above +1, "torus" by a
        pair, joined by commas; empty for a stable motion."""
        beyond = self.multipliers[np.abs(self.multipliers) > 1.0 + self.margin]
        real = np.abs(beyond.imag) <= NEUTRAL * np.abs(beyond)
        kinds = {"period doubling": real & (beyond.real < 0), "divergence": real & (beyond.real > 0), "torus": ~real}
        return ", ".join(kind for kind, found in kinds.items() if found.any())

    @property
    def digits(self) -> float:
        """Number of correct digits, from the trivial multiplier and the tolerance of the integration."""
        return float(-np.log10(max(self.trivial_error, 1e-16)))

    @property
    def margin(self) -> float:
        """Distance from the unit circle within which a multiplier is not known to lie inside or outside."""
        return max(NEUTRAL, DOUBTFUL * self.trivial_error if np.isfinite(self.trivial_error) else NEUTRAL)

    @property
    def neutral(self) -> int:
        """Number of multipliers on the unit circle as far as is known, besides the trivial one."""
        return int(np.count_nonzero(np.abs(np.abs(self.multipliers) - 1.0) <= self.margin))

    @property
    def stable(self) -> bool | None:
        """Whether every deviation across the motion decays; None where a neutral multiplier leaves it undecided."""
        sizes = np.abs(self.multipliers)
        if np.any(sizes > 1.0 + self.margin):
            return False
        return None if self.neutral else True

    @property
    def attracts(self) -> bool:
        """Whether all deviations except the neutral ones decay, for example within one energy level of a conservative system."""
        sizes = np.abs(self.multipliers)
        return bool(np.all(sizes[np.abs(self.multipliers - 1.0) > self.margin] < 1.0 - self.margin))


def floquet(monodromy: Array, period: float, rate: Array | None, scales: Array) -> Floquet:
    """Multipliers of a monodromy matrix; `rate` is that of the motion at its start if it is autonomous.

    >>> import numpy as np
    >>> found = floquet(np.array([[1.0, 3.0], [0.0, 0.5]]), 2.0, np.array([2.0, 0.0]), np.ones(2))
    >>> found.multipliers.real.tolist(), found.stable, found.trivial
    ([0.5], True, 1.0)
    """
    matrix = monodromy * scales / scales[:, None]
    if rate is None:
        return _with_logarithms(np.linalg.eigvals(matrix), period, None, 0.0)
    along = rate / scales
    along = along / np.linalg.norm(along)
    image = matrix @ along
    complement = _complement(along)
    others = np.linalg.eigvals(complement.T @ matrix @ complement)
    return _with_logarithms(others, period, float(along @ image), float(np.linalg.norm(image - along)))


def sensitive_digits(monodromy: Array, rate: Array | None, scales: Array, error: float) -> float:
    """The number of correct digits of the multiplier that is most sensitive to errors of the matrix, by the condition numbers of
    eigenvalues; at most the root of the error where two are equal. Very small ones do not count.

    >>> import numpy as np
    >>> round(sensitive_digits(np.array([[0.5, 1e2], [0.0, 0.5001]]), None, np.ones(2), 1e-11), 1)
    3.5
    >>> round(sensitive_digits(np.diag([0.5, 0.5]), None, np.ones(2), 1e-11), 1)
    11.0
    """
    matrix = monodromy * scales / scales[:, None]
    if rate is not None:
        complement = _complement(rate / scales / np.linalg.norm(rate / scales))
        matrix = complement.T @ matrix @ complement
    if not matrix.size or not np.isfinite(matrix).all():
        return float("inf")
    values, vectors = np.linalg.eig(matrix)
    size = max(1.0, float(np.linalg.norm(matrix, 2)))
    try:
        condition = np.linalg.norm(np.linalg.inv(vectors), axis=1)
    except np.linalg.LinAlgError:
        condition = np.full(len(values), np.inf)
    shift = np.minimum(condition * error, np.sqrt(error)) * size
    shift = shift[np.abs(values) > DISTINCT] / np.maximum(np.abs(values[np.abs(values) > DISTINCT]), 1.0)
    return float(-np.log10(max(float(shift.max(initial=0.0)), 1e-16)))


def _with_logarithms(values: NDArray[Any], period: float, trivial: float | None, error: float) -> Floquet:
    multipliers = _sorted(values)
    with np.errstate(divide="ignore"):
        return Floquet(multipliers, period, trivial, error, np.log(multipliers))


def unresolved(found: Floquet, monodromy: Array, scales: Array) -> bool:
    """Whether a multiplier is so small, beside the monodromy matrix, that this does not determine it."""
    size = float(np.abs(monodromy * scales / scales[:, None]).max(initial=0.0))
    return bool((np.abs(found.multipliers) < SMALL * max(size, 1.0)).any())


def factored_floquet(found: Floquet, factors: Sequence[Array], rates: Sequence[Array], scales: Array) -> Floquet:
    """The multipliers from the factors of the monodromy matrix; `rates` are those at the beginning of each factor."""
    scaled = [factor * scales / scales[:, None] for factor in factors]
    if found.trivial is not None:
        across = [_complement(rate / scales / np.linalg.norm(rate / scales)) for rate in rates]
        scaled = [after.T @ m @ before for m, before, after in zip(scaled, across, [*across[1:], across[0]], strict=True)]
    logarithms = log_eigenvalues(scaled)
    logarithms = logarithms[np.lexsort((logarithms.imag, -logarithms.real))]
    return replace(found, multipliers=np.exp(logarithms), logarithms=logarithms)


def _complement(along: Array) -> Array:
    """Directions orthogonal to a unit vector."""
    return np.asarray(np.linalg.qr(np.column_stack([along, np.eye(len(along))]))[0][:, 1 : len(along)])


def _sorted(values: NDArray[Any]) -> NDArray[np.complex128]:
    complex_values = np.asarray(values, dtype=np.complex128)
    return complex_values[np.lexsort((complex_values.imag, -np.abs(complex_values)))]
