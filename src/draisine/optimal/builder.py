"""Collects unknowns, rows and clusters of a large problem, array by array."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from draisine.optimal.nlp import Share, SparseNLP
from draisine.optimal.node_functions import Cluster

Reals = NDArray[np.float64]
Indices = NDArray[np.int64]


@dataclass
class Builder:
    """Grows while a problem is written down; `large` makes the finished thing."""

    _unknowns: list[tuple[list[str], Reals, Reals, Reals, Reals]] = field(default_factory=list)
    _count: int = 0
    _rows: list[tuple[list[str], Reals, Reals, Reals]] = field(default_factory=list)
    _height: int = 1  # row 0 is the objective
    _linear: list[tuple[Indices, Indices, Reals]] = field(default_factory=list)
    _clusters: list[tuple[Cluster, list[tuple[Indices, Indices, Reals]]]] = field(default_factory=list)

    def unknowns(self, names: Sequence[str], guess: Reals, low: ArrayLike, high: ArrayLike, scale: ArrayLike) -> Indices:
        """A table of unknowns, one column per name; sides and scales broadcast. Gives their places."""
        guess = np.asarray(guess, dtype=float)
        sides = _spread(low, guess.shape), _spread(high, guess.shape), _spread(scale, guess.shape)
        copies = guess.size // max(len(names), 1) if names else 0
        self._unknowns.append(([*names] * copies, guess.ravel(), *sides))
        places = self._count + np.arange(guess.size).reshape(guess.shape)
        self._count += guess.size
        return places

    def rows(self, names: Sequence[str], copies: int, low: ArrayLike, high: ArrayLike, scale: ArrayLike) -> Indices:
        """A table of rows, one column per name."""
        shape = (copies, len(names))
        self._rows.append(([*names] * copies, _spread(low, shape), _spread(high, shape), _spread(scale, shape)))
        places = self._height + np.arange(copies * len(names)).reshape(shape)
        self._height += copies * len(names)
        return places

    def linear(self, rows: ArrayLike, columns: ArrayLike, coefficients: ArrayLike) -> None:
        """Add coefficients of unknowns in rows; row 0 is the objective."""
        r, c, k = np.broadcast_arrays(np.asarray(rows), np.asarray(columns), np.asarray(coefficients, dtype=float))
        self._linear.append((r.ravel().astype(np.int64), c.ravel().astype(np.int64), k.ravel()))

    def cluster(self, cluster: Cluster) -> int:
        self._clusters.append((cluster, []))
        return len(self._clusters) - 1

    def share(self, which: int, rows: ArrayLike, copy: ArrayLike, result: ArrayLike, coefficients: ArrayLike) -> None:
        """Add coefficients of a cluster's results in rows."""
        width = self._clusters[which][0].width
        r, n, k, c = np.broadcast_arrays(
            np.asarray(rows), np.asarray(copy), np.asarray(result), np.asarray(coefficients, dtype=float)
        )
        self._clusters[which][1].append((r.ravel(), (n * width + k).ravel(), c.ravel()))

    def large(self) -> tuple[SparseNLP, Reals]:
        """The problem and the guess."""
        from scipy.sparse import csr_array

        def matrix(parts: Sequence[tuple[Indices, Indices, Reals]], width: int) -> csr_array:
            r, c, k = (np.concatenate(column) for column in zip(*parts, strict=True)) if parts else ((), (), ())
            return csr_array((np.asarray(k, dtype=float), (np.asarray(r, int), np.asarray(c, int))), shape=(self._height, width))

        names, guess, low, high, scale = zip(*self._unknowns, strict=True)
        rows = list(zip(*self._rows, strict=True)) if self._rows else [()] * 4
        large = SparseNLP(
            linear=matrix(self._linear, self._count),
            constant=np.zeros(self._height),
            shares=tuple(
                Share(cluster, matrix(parts, len(cluster.where) * cluster.width)) for cluster, parts in self._clusters if parts
            ),
            low=np.concatenate(low),
            high=np.concatenate(high),
            row_low=np.concatenate([*rows[1], np.zeros(0)]),
            row_high=np.concatenate([*rows[2], np.zeros(0)]),
            row_names=tuple(n for part in rows[0] for n in part),
            unknown_names=tuple(n for part in names for n in part),
            scale=np.concatenate(scale),
            row_scale=np.concatenate([*rows[3], np.zeros(0)]),
        )
        return large, np.concatenate(guess)


def _spread(value: ArrayLike, shape: tuple[int, ...]) -> Reals:
    return np.broadcast_to(np.asarray(value, dtype=float), shape).ravel()
