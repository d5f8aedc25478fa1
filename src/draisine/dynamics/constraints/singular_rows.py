"""How close rows of position constraints are to a loss of rank: 1 in a typical configuration, infinite where they are dependent.

Every row is compared with its distance from the span of the others, 1/√(G⁻¹)ᵢᵢ with G = A Aᵀ, which does not depend on their
units. Rows of loops that share no velocity are compared separately.
"""

from __future__ import annotations

from collections.abc import Callable

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from draisine.dynamics.linear_algebra import coupled_groups, dot, fold_constant, inverse_diagonal

Array = NDArray[np.float64]
AtSamples = Callable[[ca.SX], Array]  # a matrix at sampled configurations: samples × rows × columns

MOST_ROWS = 12  # of one group: the cost grows with their cube


def row_condition(matrix: ca.SX, at_samples: AtSamples) -> ca.SX | None:
    """The condition of rows (rows × velocities); None where they are constant, or too many."""
    found = []
    for rows in coupled_groups(matrix.sparsity()):
        if len(rows) <= MOST_ROWS and not matrix[rows, :].is_constant():
            part = [[fold_constant(matrix[i, j]) for j in range(matrix.shape[1])] for i in rows]
            found.append(_relative(part, at_samples))
    values = [value for value in found if value is not None]
    return ca.sqrt(ca.mmax(ca.vertcat(*values))) if values else None


def _relative(rows: list[list[ca.SX]], at_samples: AtSamples) -> ca.SX | None:
    """Σ sᵢ (G⁻¹)ᵢᵢ relative to its median, with the typical squared lengths sᵢ of the rows."""
    lengths = np.nanmedian(at_samples(ca.vertcat(*[dot(row, row) for row in rows]))[:, :, 0], axis=0)
    gram = [[dot(a, b) for b in rows] for a in rows]
    total = ca.SX(0)
    for size, entry in zip(lengths.tolist(), inverse_diagonal(gram), strict=True):
        total += size * entry
    values = at_samples(total)[:, 0, 0]
    typical = float(np.median(values[np.isfinite(values)])) if np.isfinite(values).any() else 0.0
    return total / typical if typical > 0 else None
