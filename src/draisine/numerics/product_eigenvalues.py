"""Eigenvalues of a product of matrices whose sizes differ by many orders of magnitude, from its factors.

The product F_m … F_1 itself has its small eigenvalues below rounding. Orthogonal iteration passes a basis through the factors
one by one, F_i Q = Q′ R_i, until it returns to itself; the eigenvalues are then those of the diagonal blocks of the R_i, whose
products are scaled as they are formed (the periodic Schur form: Bojanczyk, Golub & Van Dooren 1992).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Complex = NDArray[np.complex128]

SWEEPS = 100  # through all factors
RETURNED = 1e-10  # part of a leading space that leaves it in one round


def log_eigenvalues(factors: Sequence[Array]) -> Complex:
    """Natural logarithms of the eigenvalues of F_m … F_1, factors in the order in which they act; −∞ for an eigenvalue of zero.

    >>> import numpy as np
    >>> small = np.diag([1.0, 1e-30])
    >>> (log_eigenvalues([small] * 20).real / np.log(10.0)).round(9).tolist()
    [0.0, -600.0]
    """
    n = len(factors[0])
    basis = np.eye(n)
    turned = basis
    triangles: list[Array] = []
    for _ in range(SWEEPS):
        triangles, moved = [], basis
        for factor in factors:
            moved, triangle = np.linalg.qr(factor @ moved)
            triangles.append(triangle)
        turned = basis.T @ moved
        if all(np.linalg.norm(turned[j:, :j]) <= RETURNED for j in range(1, n)):
            break
        basis = moved
    ends = [j for j in range(1, n) if np.linalg.norm(turned[j:, :j]) <= RETURNED]
    bounds = [0, *ends, n]
    return np.concatenate([_of_block(turned, triangles, slice(a, b)) for a, b in pairwise(bounds)])


def _of_block(turned: Array, triangles: Sequence[Array], part: slice) -> Complex:
    product, size = np.eye(part.stop - part.start), 0.0
    for factor in [*(triangle[part, part] for triangle in triangles), turned[part, part]]:
        product = factor @ product
        largest = float(np.abs(product).max(initial=0.0))
        if largest == 0.0:
            return np.full(len(product), -np.inf + 0j)
        product, size = product / largest, size + float(np.log(largest))
    values = np.linalg.eigvals(product).astype(complex)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(values) + size)
