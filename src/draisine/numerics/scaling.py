"""Scaling of states, so that results do not depend on the units of states, inputs, costs and time.

`unit_scales` finds units in which the entries of ż = A z + B u are of one size, by least squares of their logarithms (A. R.
Curtis, J. K. Reid, On the automatic scaling of matrices for Gaussian elimination, IMA J. Appl. Math. 10 (1972) 118–124); other
units of a state shift its scale by their ratio and change nothing else. `balancing` makes rows and columns of A equally large
(E. E. Osborne, On pre-conditioning of matrices, J. ACM 7 (1960) 338–345), as far as cycles of couplings determine it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

SWEEPS = 4  # of the balancing


def unit_scales(a: Array, b: Array | None = None) -> tuple[Array, Array]:
    """Scales d of the states and e of the inputs with which entries of A_ij d_j / d_i and B_ij e_j / d_i are of one size.

    >>> import numpy as np
    >>> states, _ = unit_scales(np.array([[0.0, 1e9], [4e-9, 0.0]]))
    >>> float(round(states[0] / states[1] / 1e9, 9))
    0.5
    """
    n = len(a)
    inputs = 0 if b is None else b.shape[1]
    rows, sides = [], []
    for matrix, first in ((a, 0), (b, n)):
        if matrix is None:
            continue
        for i, j in zip(*np.nonzero(np.isfinite(matrix) & (matrix != 0.0)), strict=True):
            if first or i != j:  # log |entry| + log scale of the column − log scale of the row = log of the common size
                row = np.zeros(n + inputs + 1)
                row[first + j] += 1.0
                row[i] -= 1.0
                row[-1] = -1.0
                rows.append(row)
                sides.append(-np.log(abs(matrix[i, j])))
    if not rows:
        return np.ones(n), np.ones(inputs)
    found = np.linalg.lstsq(np.array(rows), np.array(sides), rcond=None)[0]
    scales = np.exp(np.clip(found[:-1], -300.0, 300.0))
    return scales[:n], scales[n:]


def balancing(matrices: Array, sweeps: int = SWEEPS) -> Array:
    """Scales d of the states with which rows and columns of A_ij d_j / d_i have equal size, for matrices (points, k, k) of
    absolute values."""
    count, k, _ = matrices.shape
    scale = np.ones((count, k))
    for _ in range(sweeps):
        for i in range(k):
            column = (matrices[:, :, i] / scale).sum(axis=1) - matrices[:, i, i] / scale[:, i]
            row = (matrices[:, i, :] * scale).sum(axis=1) - matrices[:, i, i] * scale[:, i]
            both = (column > 0.0) & (row > 0.0)
            scale[:, i] = np.where(both, np.sqrt(row / np.where(both, column, 1.0)), scale[:, i])
    return scale
