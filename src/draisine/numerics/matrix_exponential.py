"""Exponentials of many small matrices at once, by scaling and squaring with the Padé approximant of degree 13 (Higham 2005).

SciPy's `expm` goes through a stack matrix by matrix, and its linear algebra starts threads for each: milliseconds for eight rows
where other processes use the machine. For one matrix, or where norms are large, use SciPy's.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.float64]

# of Higham 2005, table 2.3: the largest norm at which the degree suffices; and the coefficients of the approximant
_LARGEST = 5.371920351148152
_PADE = (
    64764752532480000.0,
    32382376266240000.0,
    7771770303897600.0,
    1187353796428800.0,
    129060195264000.0,
    10559470521600.0,
    670442572800.0,
    33522128640.0,
    1323241920.0,
    40840800.0,
    960960.0,
    16380.0,
    182.0,
    1.0,
)


def matrix_exponentials(matrices: Reals) -> Reals:
    """exp of every matrix of a stack (…, n, n).

    >>> matrix_exponentials(np.array([[[0.0, 1.0], [0.0, 0.0]], [[0.0, 0.0], [0.0, np.log(2.0)]]])).round(12).tolist()
    [[[1.0, 1.0], [0.0, 1.0]], [[1.0, 0.0], [0.0, 2.0]]]
    """
    norms = np.abs(matrices).sum(axis=-2).max(axis=-1, initial=0.0)
    halvings = np.ceil(np.log2(np.maximum(norms / _LARGEST, 1.0))).astype(np.int64)
    a = matrices / 2.0 ** halvings[..., None, None]
    one, b = np.eye(matrices.shape[-1]), _PADE
    a2 = a @ a
    a4 = a2 @ a2
    a6 = a2 @ a4
    odd = a @ (a6 @ (b[13] * a6 + b[11] * a4 + b[9] * a2) + b[7] * a6 + b[5] * a4 + b[3] * a2 + b[1] * one)
    even = a6 @ (b[12] * a6 + b[10] * a4 + b[8] * a2) + b[6] * a6 + b[4] * a4 + b[2] * a2 + b[0] * one
    found = np.linalg.solve(even - odd, even + odd)
    for k in range(int(halvings.max(initial=0))):
        found = np.where((halvings > k)[..., None, None], found @ found, found)
    return np.asarray(found)
