"""Where the entries of a sparse square matrix stand."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

from draisine.errors import ArgumentError

if TYPE_CHECKING:
    import casadi as ca


@dataclass(frozen=True)
class Pattern:
    """Places by columns, each once, in a matrix of `size` rows and columns.

    >>> Pattern.dense(2)
    Pattern(size=2, rows=(0, 1, 0, 1), columns=(0, 0, 1, 1))
    """

    size: int
    rows: tuple[int, ...]
    columns: tuple[int, ...]

    def __post_init__(self) -> None:
        places = list(zip(self.columns, self.rows, strict=True))
        if any(a >= b for a, b in pairwise(places)):
            raise ArgumentError("the places of the entries must be in column-major order, each of them once")
        if any(not 0 <= k < self.size for place in places for k in place):
            raise ArgumentError(f"a place lies outside of the matrix of {self.size} rows and columns")

    @staticmethod
    def dense(size: int) -> Pattern:
        return Pattern(size, tuple(range(size)) * size, tuple(c for c in range(size) for _ in range(size)))

    @staticmethod
    def of(sparsity: ca.Sparsity) -> Pattern:
        """From CasADi's."""
        if sparsity.size1() != sparsity.size2():
            raise ArgumentError(f"a square matrix is wanted, its pattern has {sparsity.size1()} × {sparsity.size2()}")
        rows, columns = sparsity.get_triplet()
        return Pattern(sparsity.size1(), tuple(rows), tuple(columns))

    def nnz(self) -> int:
        """The number of places."""
        return len(self.rows)

    @property
    def begins(self) -> list[int]:
        """Where each column begins among the entries, and the last one ends."""
        counts = [0] * (self.size + 1)
        for column in self.columns:
            counts[column + 1] += 1
        for k in range(self.size):
            counts[k + 1] += counts[k]
        return counts

    @cached_property
    def sparsity(self) -> ca.Sparsity:
        """As CasADi's."""
        import casadi as ca

        return ca.Sparsity.triplet(self.size, self.size, list(self.rows), list(self.columns))
