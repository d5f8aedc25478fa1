"""Numerical rank of matrices: null spaces, independent rows and columns, scaling.

Singular values of at most `rtol` of the largest count as zero. Matrices whose rows or columns have different units are scaled
first (`unit_rows`, `equilibrate`), since singular values depend on units.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

RTOL = 1e-9  # far above rounding in matrices of some hundred rows, far below geometric singular values of mechanisms
LEAST = 1e-6  # relative length of a row orthogonal to earlier ones
ROUNDING = 1e-9  # length up to which a row is rounding error
TINY = 1e-300


class Decomposition(NamedTuple):
    """Singular value decomposition U Σ Vᵀ of a matrix, with its numerical rank."""

    left: Array  # (rows, rows)
    values: Array
    right: Array  # (columns, columns), rows are the right singular vectors
    rank: int

    @property
    def null_space(self) -> Array:
        """An orthonormal basis of the null space, in columns."""
        return np.asarray(self.right[self.rank :].T)

    @property
    def row_space(self) -> Array:
        """An orthonormal basis of the row space, in rows."""
        return np.asarray(self.right[: self.rank])

    @property
    def left_null_space(self) -> Array:
        """An orthonormal basis of the left null space, in columns."""
        return np.asarray(self.left[:, self.rank :])

    @property
    def row_combinations(self) -> Array:
        """Orthonormal, independent combinations of rows that span all rows: (rank, rows)."""
        return np.asarray(self.left[:, : self.rank].T)

    def solve(self, side: Array) -> Array:
        """The minimum-norm least-squares solution."""
        return np.asarray(self.right[: self.rank].T @ ((self.left.T @ side)[: self.rank] / self.values[: self.rank]))

    @property
    def gap(self) -> tuple[float, float]:
        """The smallest nonzero and the largest zero singular value, relative to the largest."""
        largest = max(float(self.values.max(initial=0.0)), TINY)
        kept = float(self.values[self.rank - 1]) if self.rank else largest
        dropped = float(self.values[self.rank]) if self.rank < len(self.values) else 0.0
        return kept / largest, dropped / largest


def decompose(matrix: Array, rtol: float = RTOL, atol: float = 0.0) -> Decomposition:
    """Decomposition with the rank: the number of singular values above `rtol` of the largest and above `atol`.

    >>> import numpy as np
    >>> decompose(np.array([[1.0, 0.0, 1.0], [2.0, 0.0, 2.0]])).rank
    1
    """
    if not matrix.size:
        return Decomposition(np.eye(matrix.shape[0]), np.zeros(0), np.eye(matrix.shape[1]), 0)
    left, values, right = np.linalg.svd(matrix)
    return Decomposition(left, values, right, _count(values, rtol, atol))


def rank_of(matrix: Array, rtol: float = RTOL, atol: float = 0.0) -> int:
    """The number of singular values above `rtol` of the largest and above `atol`."""
    return _count(np.asarray(np.linalg.svd(matrix, compute_uv=False)), rtol, atol) if matrix.size else 0


def _count(values: Array, rtol: float, atol: float) -> int:
    return int(np.count_nonzero(values > max(rtol * float(values.max(initial=0.0)), atol, TINY)))


def ranks_of(matrices: Array, atol: float) -> NDArray[np.int64]:
    """Ranks of many matrices (samples, rows, columns) with a common scale: singular values above `atol`."""
    return np.asarray(np.count_nonzero(np.linalg.svd(matrices, compute_uv=False) > atol, axis=1))


def row_rank(matrix: Array, atol: float = 1e-8, negligible: float = 1e-11) -> int:
    """Rank of the normalized rows; rows of negligible length, absolute or relative, are ignored."""
    if not matrix.size or not float(np.linalg.norm(matrix, axis=1).max()) > negligible:
        return 0
    return rank_of(unit_rows(matrix, negligible), 0.0, atol)


def null_space(matrix: Array, rtol: float = RTOL) -> Array:
    """An orthonormal basis of the null space of a matrix, in columns."""
    return decompose(matrix, rtol).null_space


def condition_share(matrix: Array) -> float:
    """The inverse condition number: 0 for a singular matrix, 1 for an empty one."""
    if not matrix.size:
        return 1.0
    values = np.linalg.svd(matrix, compute_uv=False)
    return float(values[-1] / max(float(values[0]), TINY))


# ---------------------------------------------------------------- scaling


def unit_rows(matrix: Array, negligible: float = 0.0) -> Array:
    """Rows divided by their length; those of relative length up to `negligible` are left out."""
    if not matrix.size:
        return matrix[:0]
    lengths = np.linalg.norm(matrix, axis=1)
    kept = lengths > negligible * float(lengths.max())
    return np.asarray(matrix[kept] / lengths[kept, None])


def equilibrate(matrix: Array, rounds: int = 6) -> tuple[Array, Array, Array]:
    """R M C with largest entries of rows and columns near 1, and the diagonals of R and C.

    D. Ruiz, A scaling algorithm to equilibrate both rows and columns norms in matrices, RAL-TR-2001-034.
    """
    rows, columns = np.ones(matrix.shape[0]), np.ones(matrix.shape[1])
    for _ in range(rounds):
        scaled = np.abs(matrix * rows[:, None] * columns)
        for axis, factors in ((1, rows), (0, columns)):
            largest = scaled.max(axis=axis, initial=0.0)
            factors /= np.sqrt(np.where(largest > 0, largest, 1.0))
    return matrix * rows[:, None] * columns, rows, columns


# ---------------------------------------------------------------- choice of rows and columns


def independent_columns(matrix: Array, most: int | None = None, rtol: float = RTOL) -> list[int]:
    """A maximal set of independent columns, at most `most`, by Gram–Schmidt orthogonalization with column pivoting (twice)."""
    left, chosen, first = np.array(matrix), list[int](), 0.0
    for _ in range(min(matrix.shape) if most is None else most):
        lengths = np.linalg.norm(left, axis=0)
        best = int(np.argmax(lengths))
        first = max(first, float(lengths[best]))
        if lengths[best] <= rtol * first:
            break
        chosen.append(best)
        unit = left[:, best] / lengths[best]
        for _ in range(2):
            left = left - np.outer(unit, unit @ left)
        left[:, best] = 0.0
    return chosen


def independent_rows(matrix: Array, basis: Array, least: float = LEAST) -> tuple[list[int], Array]:
    """Rows independent of an orthonormal basis and of earlier rows, first ones preferred, and the extended basis.

    `least` is the minimum relative length of the orthogonal part of a row.

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
