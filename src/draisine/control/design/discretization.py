"""Exact discretization of linear models with zero-order hold.

With F = [A B; 0 0] of state and constant input, e^(F h) has Φ and Γ in its first rows, z(t + h) = Φ z + Γ u, and a quadratic cost
with the matrix W of (z, u) adds up to ∫ e^(Fᵀs) W e^(F s) ds over a period. Both follow from one matrix exponential (Van Loan
1978), computed over a short time and doubled, so that fast decaying modes cause no overflow.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from draisine.errors import ArgumentError
from draisine.numerics.scaling import unit_scales

Array = NDArray[np.float64]

SHORT = 0.5  # largest norm of F h for which the exponential is computed directly


def check_period(model: str, period: float) -> None:
    """Refuse a period that is not positive and finite."""
    if not (np.isfinite(period) and period > 0.0):
        raise ArgumentError(f"{model}: period is the time between samples in seconds, a positive number, got {period!r}")


def zero_order_hold(a: Array, b: Array, period: float) -> tuple[Array, Array]:
    """Φ and Γ of a sampling period.

    >>> import numpy as np
    >>> [m.tolist() for m in zero_order_hold(np.array([[0.0, 1.0], [0.0, 0.0]]), np.array([[0.0], [1.0]]), 0.5)]  # h²/2, h
    [[[1.0, 0.5], [0.0, 1.0]], [[0.125], [0.5]]]
    """
    both = exponential_integral(_square(a, b), np.zeros((len(a) + b.shape[1],) * 2), period)[0]
    return both[: len(a), : len(a)], both[: len(a), len(a) :]


def sampled_cost(a: Array, b: Array, q: Array, n: Array, r: Array, period: float) -> tuple[Array, Array, Array]:
    """Q, N and R of a sampling period that give the same integral cost with zero-order hold."""
    states = len(a)
    _, whole = exponential_integral(_square(a, b), np.block([[q, n], [n.T, r]]), period)
    return whole[:states, :states], whole[:states, states:], whole[states:, states:]


def sampled_noise(a: Array, spread: Array, period: float) -> Array:
    """Covariance of the state due to white noise of the density `spread` over a period, ∫ e^(A s) V e^(Aᵀ s) ds."""
    return exponential_integral(a.T, spread, period)[1]


def exponential_integral(f: Array, w: Array, time: float) -> tuple[Array, Array]:
    """e^(F h) and ∫ e^(Fᵀs) W e^(F s) ds from 0 to h, computed in scaled states: norms decide on the order of the exponential."""
    from scipy.linalg import expm

    scale = 2.0 ** np.round(np.log2(unit_scales(f)[0]))  # powers of 2: scaling is exact
    f, w = f * scale / scale[:, None], w * scale[:, None] * scale
    size, largest = len(f), float(np.abs(w).max(initial=0.0)) or 1.0
    unit = largest / (float(np.abs(f).max(initial=0.0)) or 1.0)  # the integral is linear in W: its size must not matter
    halvings = max(int(np.ceil(np.log2(max(float(np.abs(f).sum(axis=0).max(initial=0.0)) * time / SHORT, 1.0)))), 0)
    h = time / 2**halvings
    block = expm(h * np.block([[-f.T, w / unit], [np.zeros((size, size)), f]]))
    transition = block[size:, size:]
    total = transition.T @ block[:size, size:]
    for _ in range(halvings):
        total = total + transition.T @ total @ transition
        transition = transition @ transition
    return transition * scale[:, None] / scale, unit * (total + total.T) / 2 / scale[:, None] / scale


def rates_of(transition: Array, period: float) -> NDArray[np.complex128]:
    """Equivalent continuous eigenvalues ln z / h of a transition matrix, slowest last; −∞ for z = 0."""
    with np.errstate(divide="ignore"):
        found = np.log(np.linalg.eigvals(transition).astype(complex)) / period
    return found[np.lexsort((found.imag, found.real))]


def _square(a: Array, b: Array) -> Array:
    size = len(a) + b.shape[1]
    found = np.zeros((size, size))
    found[: len(a), : len(a)], found[: len(a), len(a) :] = a, b
    return found
