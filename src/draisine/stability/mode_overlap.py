"""How much modes at two values of a sweep have in common, by their shapes.

With right and left eigenvectors v and w of modes i at one value and j at the other, tr(Pᵢ Qⱼ) of their projectors P = v wᵀ / wᵀv
is 1 for a mode that has kept its shape and 0 for any two others, however similar their shapes are, and whatever the units of the
states. Rows and columns add up to 1. Where eigenvalues coincide, vectors are any of their space: only their sums count.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from draisine.numerics.spectrum import left_vectors

Array = NDArray[np.float64]
Complex = NDArray[np.complex128]

_LARGE = 1e6  # overlap with a mode next to a defective one, at most


def overlaps(first: tuple[Complex, Complex], second: tuple[Complex, Complex]) -> Array:
    """tr(Pᵢ Qⱼ) of modes i and j (points, k, k), real parts, from right and left vectors (points, states, k) of both; NaN where
    an eigenvalue is defective."""
    (right, left), (other_right, other_left) = first, second
    own = (left * right).sum(axis=1)[:, :, None] * (other_left * other_right).sum(axis=1)[:, None, :]
    across = (left.transpose(0, 2, 1) @ other_right) * (right.transpose(0, 2, 1) @ other_left)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        share = np.real(across / own)
    return np.where(np.isfinite(share), share, np.nan)


def vectors(matrices: Array) -> tuple[Complex, Complex, Complex]:
    """Eigenvalues (points, k), right and left eigenvectors (points, states, k)."""
    values, right = np.linalg.eig(matrices)
    return values.astype(complex), right.astype(complex), left_vectors(matrices, values, right)


def projector(right: Complex, left: Complex) -> Complex:
    """The sum of the projectors of modes, from their vectors (states, modes)."""
    return np.asarray((right / np.einsum("si,si->i", left, right)) @ left.T)


def shares(of: Complex, right: Complex, left: Complex) -> Array:
    """tr(P Qⱼ) of a projector P and each of some modes, absolute."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        share = np.abs(np.einsum("sj,st,tj->j", left, of, right) / np.einsum("sj,sj->j", left, right))
    return np.where(np.isfinite(share), np.minimum(share, _LARGE), 0.0)
