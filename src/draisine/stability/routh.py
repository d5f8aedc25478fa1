"""Routh's table and Sturm's chain: number of roots in the right half plane, and of real ones among them, without eigenvalues.

Both are sums and products of the coefficients, evaluated for many polynomials at once. Where an entry of the table vanishes to
round-off, roots lie on the axis or opposite each other, and the table does not decide; the caller then computes eigenvalues.

Polynomials are monic, λⁿ + c₁ λⁿ⁻¹ + … + cₙ, given as arrays (points, n) of c₁ … cₙ.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Counts = NDArray[np.int64]

ROUND_OFF = 1e-10  # an entry this small, relative to its terms, cannot be distinguished from zero


def characteristic(matrices: Array) -> Array:
    """Coefficients of det(λ − A), by Faddeev and LeVerrier: no eigenvalues, hence no loss of digits where two coincide.

    >>> characteristic(np.array([[[0.0, 1.0], [-4.0, -3.0]]])).tolist()
    [[3.0, 4.0]]
    """
    count, k, _ = matrices.shape
    coefficients = np.ones((count, k + 1))
    m = np.zeros_like(matrices)
    for j in range(1, k + 1):
        m = matrices @ m + coefficients[:, j - 1, None, None] * np.eye(k)
        coefficients[:, j] = -np.einsum("nab,nba->n", matrices, m) / j
    return coefficients[:, 1:]


def unstable_roots(coefficients: Array) -> tuple[Counts, NDArray[np.bool_]]:
    """Number of roots with positive real part by Routh's table, and whether the table decides.

    >>> unstable_roots(np.array([[3.0, 2.0], [-3.0, 2.0], [1.0, -2.0]]))
    (array([0, 2, 1]), array([ True,  True,  True]))
    >>> unstable_roots(np.array([[0.0, 4.0]]))[1].tolist()  # on the axis
    [False]
    """
    count, n = coefficients.shape
    width = n // 2 + 1
    whole = np.hstack([np.ones((count, 1)), coefficients, np.zeros((count, 2 * width - n - 1))])
    previous, row = whole[:, 0::2], whole[:, 1::2]
    changes, sure = np.zeros(count, dtype=np.int64), np.ones(count, dtype=bool)
    with np.errstate(divide="ignore", invalid="ignore"):
        size = root_size(coefficients)
        terms = size  # of which the leading entry is made
        for k in range(1, n + 1):
            lead = row[:, 0]
            sure &= np.isfinite(lead) & (np.abs(lead) > ROUND_OFF * np.maximum(terms, size**k))
            changes += (previous[:, 0] > 0) != (lead > 0)
            kept, share = _shifted(previous), previous[:, :1] * _shifted(row) / lead[:, None]
            terms = np.abs(kept[:, 0]) + np.abs(share[:, 0])
            previous, row = row, kept - share
    return changes, sure


def root_size(coefficients: Array) -> Array:
    """Magnitude of the largest root, approximately: the largest of |c_k|^(1/k)."""
    powers = np.arange(1, coefficients.shape[1] + 1)
    return np.asarray((np.abs(coefficients) ** (1 / powers)).max(axis=1))


def _shifted(row: Array) -> Array:
    return np.hstack([row[:, 1:], np.zeros((len(row), 1))])


def positive_real_roots(coefficients: Array) -> Counts:
    """Number of distinct positive real roots, by Sturm's chain.

    >>> positive_real_roots(np.array([[3.0, 2.0], [-3.0, 2.0], [1.0, -2.0], [0.0, 4.0]]))
    array([0, 2, 1, 0])
    """
    count, n = coefficients.shape
    first = np.hstack([np.ones((count, 1)), coefficients])
    second = first[:, :-1] * np.arange(n, 0, -1)
    chain = [first, second]
    with np.errstate(divide="ignore", invalid="ignore"):
        for _ in range(n - 1):
            chain.append(-_remainder(chain[-2], chain[-1]))
    ends = [np.column_stack([part[:, at] for part in chain]) for at in (-1, 0)]
    at_zero, far_away = (np.sum((end[:, 1:] > 0) != (end[:, :-1] > 0), axis=1) for end in ends)
    return np.asarray(at_zero - far_away, dtype=np.int64)


def _remainder(one: Array, other: Array) -> Array:
    """Remainder of polynomials whose degrees differ by one, scaled to unit size; signs are unchanged."""
    left = one
    for _ in range(2):
        share = left[:, :1] / other[:, :1]
        left = (left - share * np.pad(other, ((0, 0), (0, left.shape[1] - other.shape[1]))))[:, 1:]
    return np.asarray(left / np.abs(left).max(axis=1, keepdims=True))


def pairs_on_the_axis(coefficients: Array) -> Array:
    """The penultimate Hurwitz determinant, the product of −(λᵢ + λⱼ) over all pairs (Orlando): zero where a pair lies on
    the imaginary axis, or two real roots are opposite.

    >>> pairs_on_the_axis(np.array([[1.0, 4.0, 4.0], [2.0, 4.0, 4.0]])).tolist()
    [0.0, 4.0]
    """
    count, n = coefficients.shape
    c = coefficients.T
    if n == 4:
        return np.asarray(c[0] * c[1] * c[2] - c[2] ** 2 - c[0] ** 2 * c[3])
    whole = np.zeros((count, 3 * n + 2))
    whole[:, n] = 1.0
    whole[:, n + 1 : 2 * n + 1] = coefficients
    rows = np.arange(1, n)
    return np.asarray(np.linalg.det(whole[:, n + 2 * rows[None, :] - rows[:, None]]))
