"""The large problem: minimize r₀ with the other rows of r(w) = L w + c + Σ M φ(w[where]) between bounds.

Transcriptions differ in L and M alone, which are constant. So are the places of all derivatives: entries of the clusters'
Jacobians and Hessians are added up by sparse matrices made once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from draisine.optimal.node_functions import Cluster

Reals = NDArray[np.float64]
Indices = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Share:
    """A cluster and its M: (rows of r, copies × width)."""

    cluster: Cluster
    matrix: Any  # scipy csr_array


@dataclass(frozen=True, eq=False)
class SparseNLP:
    """The problem in numbers. Row 0 is the objective; `row_names` name the others, several rows may share one."""

    linear: Any  # scipy csr_array (1 + rows, unknowns)
    constant: Reals
    shares: tuple[Share, ...]
    low: Reals  # of the unknowns
    high: Reals
    row_low: Reals
    row_high: Reals
    row_names: tuple[str, ...]
    unknown_names: tuple[str, ...]
    scale: Reals  # typical sizes of the unknowns
    row_scale: Reals  # of the rows

    @property
    def unknowns(self) -> int:
        return len(self.low)

    @property
    def rows(self) -> int:
        return len(self.row_low)

    # ---------------------------------------------------------------- values

    def values(self, w: Reals) -> tuple[float, Reals]:
        """Objective and rows."""
        r = self.linear @ w + self.constant
        for share in self.shares:
            r += share.matrix @ share.cluster.values(w[share.cluster.where]).ravel()
        return float(r[0]), r[1:]

    # ---------------------------------------------------------------- first derivatives

    @cached_property
    def _jacobian_entries(self) -> _Jacobian:
        return _Jacobian(self)

    def jacobian(self, w: Reals) -> tuple[Reals, Reals]:
        """Gradient of the objective, and the entries of the rows' Jacobian in the places of `slope_places`."""
        entries = self._jacobian_entries.constant.copy()
        for share, adder in zip(self.shares, self._jacobian_entries.adders, strict=True):
            entries += adder @ share.cluster.jacobian(w[share.cluster.where]).ravel()
        gradient = np.zeros(self.unknowns)
        gradient[self._jacobian_entries.columns[self._jacobian_entries.first]] = entries[self._jacobian_entries.first]
        return gradient, entries[~self._jacobian_entries.first]

    @property
    def slope_places(self) -> tuple[Indices, Indices]:
        """Rows and columns, sorted by columns, then rows."""
        s = self._jacobian_entries
        return s.rows[~s.first] - 1, s.columns[~s.first]

    # ---------------------------------------------------------------- second derivatives

    @cached_property
    def _hessian_entries(self) -> _Hessian:
        return _Hessian(self)

    def hessian(self, w: Reals, factor: float, multipliers: Reals) -> Reals:
        """Entries of the Hessian's upper triangle of factor × objective + multipliersᵀ rows."""
        weights = np.concatenate([[factor], multipliers])
        entries = np.zeros(len(self._hessian_entries.rows))
        for share, adder in zip(self.shares, self._hessian_entries.adders, strict=True):
            mu = (share.matrix.T @ weights).reshape(len(share.cluster.where), share.cluster.width)
            entries += adder @ share.cluster.hessian(w[share.cluster.where], np.ascontiguousarray(mu)).ravel()
        return entries

    @property
    def bend_places(self) -> tuple[Indices, Indices]:
        return self._hessian_entries.rows, self._hessian_entries.columns


class _Jacobian:
    def __init__(self, large: SparseNLP) -> None:
        fixed = large.linear.tocoo()
        parts = [(fixed.row.astype(np.int64), fixed.col.astype(np.int64))]
        sources = []
        for share in large.shares:
            rows, columns, coefficients, source = _expanded(share)
            parts.append((rows, columns))
            sources.append((coefficients, source, len(share.cluster.where) * len(share.cluster.slope_places[0])))
        height = large.linear.shape[0]
        keys, place = _merged([(r, c) for r, c in parts], height)
        self.rows, self.columns = keys % height, keys // height
        self.first = self.rows == 0
        self.constant = np.bincount(place[0], weights=fixed.data, minlength=len(keys))
        self.adders = [
            _adder(p, source, coefficients, len(keys), count)
            for p, (coefficients, source, count) in zip(place[1:], sources, strict=True)
        ]


class _Hessian:
    def __init__(self, large: SparseNLP) -> None:
        parts, weights, counts = [], [], []
        for share in large.shares:
            where, (one, other) = share.cluster.where, share.cluster.bend_places
            a, b = where[:, one].ravel(), where[:, other].ravel()
            # an unknown that stands for two arguments: both mixed derivatives fall on the diagonal
            weights.append(np.where((a == b) & np.tile(one != other, len(where)), 2.0, 1.0))
            parts.append((np.minimum(a, b), np.maximum(a, b)))
            counts.append(len(a))
        keys, place = _merged(parts, large.unknowns)
        self.rows, self.columns = keys % large.unknowns, keys // large.unknowns
        self.adders = [
            _adder(p, np.arange(count), weight, len(keys), count) for p, weight, count in zip(place, weights, counts, strict=True)
        ]


def _expanded(share: Share) -> tuple[Indices, Indices, Reals, Indices]:
    """M times the cluster's Jacobian, entry by entry: row, column, coefficient, and which entry of the Jacobian it takes."""
    cluster, matrix = share.cluster, share.matrix.tocoo()
    results, arguments = cluster.slope_places
    order = np.argsort(results, kind="stable")
    begins = np.searchsorted(results[order], np.arange(cluster.width + 1))
    copy, result = matrix.col // cluster.width, matrix.col % cluster.width
    lengths = (begins[1:] - begins[:-1])[result]
    which = np.repeat(np.arange(len(result)), lengths)
    within = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    entry = order[begins[result[which]] + within]
    columns = cluster.where[copy[which], arguments[entry]]
    source = copy[which].astype(np.int64) * len(results) + entry
    return matrix.row[which].astype(np.int64), columns, matrix.data[which], source


def _merged(parts: Sequence[tuple[Indices, Indices]], height: int) -> tuple[Indices, list[Indices]]:
    """Distinct places as column × height + row, sorted, and where among them each part's entries go."""
    keys = [c * height + r for r, c in parts]
    distinct, inverse = np.unique(np.concatenate(keys) if keys else np.zeros(0, dtype=np.int64), return_inverse=True)
    cuts = np.cumsum([len(k) for k in keys])[:-1]
    return distinct, list(np.split(inverse, cuts)) if keys else []


def _adder(place: Indices, source: Indices, weights: Reals, rows: int, columns: int) -> Any:
    from scipy.sparse import csr_array

    return csr_array((weights, (place, source)), shape=(rows, columns))
