"""Derivatives of the condition that defines a critical value, along changes of the linear model."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from draisine.numerics.scaling import balancing
from draisine.stability.routh import characteristic

Array = NDArray[np.float64]

_SINGULAR = 1e-8  # singular value of A − λ, relative to the largest, that counts as zero


class CriticalCondition:
    """The condition of a critical value, differentiated along a change of A.

    A simple eigenvalue of a pair: dλ = wᴴ dA v / wᴴ v. A real eigenvalue at zero: the last coefficient of the polynomial that
    is not always zero. A double root: the polynomial itself, since p′ = 0 leaves λ free to first order. Changes of coefficients
    are −tr(M dA) with the matrices M of Faddeev and LeVerrier, and have no vanishing denominators.
    """

    def __init__(self, a: Array, eigenvalue: complex, zeros: int) -> None:
        if eigenvalue.imag:
            from scipy.linalg import eig

            values, left, right = eig(a, left=True)
            j = int(np.argmin(np.abs(values - eigenvalue)))
            w, v = left[:, j].conj(), right[:, j]
            self.matrix = np.outer(v, w) / (w @ v)  # dλ = tr(v wᴴ dA)
        elif eigenvalue:
            self.matrix = -_adjugate(a, eigenvalue.real)
        else:
            self.matrix = -_faddeev(a)[len(a) - zeros - 1]

    def change(self, along: Array) -> float:
        return float(np.real(np.trace(self.matrix @ along)))


def several_modes(a: Array, eigenvalue: complex, zeros: int) -> bool:
    """Whether several modes have the critical eigenvalue, besides those that are always zero; or an oscillation is double."""
    scale = balancing(np.abs(a)[None])[0]
    singular = np.linalg.svd((a - eigenvalue * np.eye(len(a))) * scale / scale[:, None], compute_uv=False)
    if int((singular <= _SINGULAR * singular[0]).sum()) > 1 + (0 if eigenvalue else zeros):
        return True
    if not eigenvalue.imag:
        return False
    values = np.linalg.eigvals(a)
    return int((np.abs(values - eigenvalue) <= 1e-5 * abs(eigenvalue)).sum()) > 1


def _adjugate(a: Array, root: float) -> Array:
    """adj(λ − A) = Σ λᵏ⁻ʲ Mⱼ."""
    total = np.zeros_like(a)
    for m in _faddeev(a):
        total = total * root + m
    return total


def _faddeev(a: Array) -> list[Array]:
    """The matrices Mⱼ of Faddeev and LeVerrier, with which coefficients of det(λ − A) change by −tr(Mⱼ dA)."""
    coefficients = [1.0, *characteristic(a[None])[0]]
    found, m = [], np.zeros_like(a)
    for coefficient in coefficients[:-1]:
        m = a @ m + coefficient * np.eye(len(a))
        found.append(m)
    return found
