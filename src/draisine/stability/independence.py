"""Rows that others do not span, found one after the other, the first ones preferred."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

LEAST = 1e-6  # share of a row that earlier ones leave over
ROUNDING = 1e-9  # rows that vanish on the constraints (rates of eliminated velocities) have round-off alone


def independent_rows(matrix: Array, basis: Array, least: float = LEAST) -> tuple[list[int], Array]:
    """Places of rows that an orthonormal basis and earlier rows do not span, and the basis with them.

    >>> import numpy as np
    >>> independent_rows(np.array([[1.0, 0.0], [2.0, 0.0], [1.0, 1.0]]), np.zeros((0, 2)))[0]
    [0, 2]
    """
    kept = []
    for i, row in enumerate(matrix):
        size = float(np.linalg.norm(row))
        left = row - basis.T @ (basis @ row)
        left -= basis.T @ (basis @ left)
        rest = float(np.linalg.norm(left))
        if size > ROUNDING and rest > least * size:
            kept.append(i)
            basis = np.vstack([basis, left / rest])
    return kept, basis
