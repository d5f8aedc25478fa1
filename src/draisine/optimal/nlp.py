"""Sparse nonlinear program: minimize r₀ with the other rows of r(w) = L w + c + Σ M φ(w[where]) between bounds.

Transcriptions differ only in L and M, which are constant. The sparsity of all derivatives is constant too: entries of the
clusters' Jacobians and Hessians are summed by sparse matrices that are built once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from draisine.optimal.node_functions import Cluster

Reals = NDArray[np.float64]
Indices = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class ClusterTerm:
    """A cluster of node functions and its matrix M: (rows of r, copies × width)."""

    cluster: Cluster
    matrix: Any  # scipy csr_array

    @cached_property
    def transposed(self) -> Any:
        """Mᵀ by rows, made once: SciPy's transposition takes longer than the product."""
        return self.matrix.T.tocsr()


@dataclass(frozen=True, eq=False)
class SparseNLP:
    """The nonlinear program. Row 0 is the objective; `row_names` name the other rows, several of which may share a name."""

    linear: Any  # scipy csr_array (1 + rows, unknowns)
    constant: Reals
    terms: tuple[ClusterTerm, ...]
    low: Reals  # of the unknowns
    high: Reals
    row_low: Reals
    row_high: Reals
    row_names: tuple[str, ...]
    unknown_names: tuple[str, ...]
    scale: Reals  # typical sizes of the unknowns
    row_scale: Reals  # of the rows
    objective_scale: float = 1.0

    @property
    def unknowns(self) -> int:
        return len(self.low)

    @property
    def rows(self) -> int:
        return len(self.row_low)

    def begin_compiling(self) -> Callable[[], None]:
        """Begin to compile the clusters, and arrange their derivatives meanwhile; the function returned waits for the code."""
        first: dict[str, Cluster] = {}
        for term in self.terms:
            first.setdefault(term.cluster.digest, term.cluster)
        compiled = [cluster.begin_compiling() for cluster in first.values()]
        _ = self._jacobian_assembly, self._hessian_assembly

        def finish() -> None:
            for one in compiled:
                one()
            for term in self.terms:  # those of equal code find it stored
                term.cluster.begin_compiling()()

        return finish

    # ---------------------------------------------------------------- values

    def values(self, w: Reals) -> tuple[float, Reals]:
        """Objective and rows."""
        r = self.linear @ w + self.constant
        for share in self.terms:
            r += share.matrix @ share.cluster.values(w[share.cluster.where]).ravel()
        return float(r[0]), r[1:]

    # ---------------------------------------------------------------- first derivatives

    @cached_property
    def _jacobian_assembly(self) -> _JacobianAssembly:
        return _JacobianAssembly(self)

    def jacobian(self, w: Reals) -> tuple[Reals, Reals]:
        """Gradient of the objective, and the entries of the rows' Jacobian in the order of `jacobian_indices`."""
        assembly = self._jacobian_assembly
        entries = assembly.constant.copy()
        for share, adder in zip(self.terms, assembly.adders, strict=True):
            entries += adder @ share.cluster.jacobian(w[share.cluster.where]).ravel()
        gradient = np.zeros(self.unknowns)
        gradient[assembly.columns[assembly.of_objective]] = entries[assembly.of_objective]
        return gradient, entries[assembly.of_rows]

    @property
    def jacobian_indices(self) -> tuple[Indices, Indices]:
        """Rows and columns, sorted by columns, then rows."""
        s = self._jacobian_assembly
        return s.rows[s.of_rows] - 1, s.columns[s.of_rows]

    # ---------------------------------------------------------------- second derivatives

    @cached_property
    def _hessian_assembly(self) -> _HessianAssembly:
        return _HessianAssembly(self)

    def hessian(self, w: Reals, factor: float, multipliers: Reals) -> Reals:
        """Entries of the Hessian's upper triangle of factor × objective + multipliersᵀ rows."""
        weights = np.concatenate([[factor], multipliers])
        entries = np.zeros(len(self._hessian_assembly.rows))
        for share, adder in zip(self.terms, self._hessian_assembly.adders, strict=True):
            mu = (share.transposed @ weights).reshape(len(share.cluster.where), share.cluster.width)
            entries += adder @ share.cluster.hessian(w[share.cluster.where], np.ascontiguousarray(mu)).ravel()
        return entries

    @property
    def hessian_indices(self) -> tuple[Indices, Indices]:
        return self._hessian_assembly.rows, self._hessian_assembly.columns


class _JacobianAssembly:
    def __init__(self, nlp: SparseNLP) -> None:
        fixed = nlp.linear.tocoo()
        parts = [(fixed.row.astype(np.int64), fixed.col.astype(np.int64))]
        sources = []
        for share in nlp.terms:
            rows, columns, coefficients, source = _expanded(share)
            parts.append((rows, columns))
            sources.append((coefficients, source, len(share.cluster.where) * len(share.cluster.jacobian_indices[0])))
        height = nlp.linear.shape[0]
        keys, positions = _merged([(r, c) for r, c in parts], height)
        self.rows, self.columns = keys % height, keys // height
        self.of_objective, self.of_rows = np.flatnonzero(self.rows == 0), np.flatnonzero(self.rows)
        self.constant = np.bincount(positions[0], weights=fixed.data, minlength=len(keys)).astype(float)  # of integers if empty
        self.adders = [
            _adder(p, source, coefficients, len(keys), count)
            for p, (coefficients, source, count) in zip(positions[1:], sources, strict=True)
        ]


class _HessianAssembly:
    def __init__(self, nlp: SparseNLP) -> None:
        parts, weights, counts = [], [], []
        for share in nlp.terms:
            where, (one, other) = share.cluster.where, share.cluster.hessian_indices
            a, b = where[:, one].ravel(), where[:, other].ravel()
            # an unknown that is two arguments at once: both mixed derivatives fall on the diagonal
            weights.append(np.where((a == b) & np.tile(one != other, len(where)), 2.0, 1.0))
            parts.append((np.minimum(a, b), np.maximum(a, b)))
            counts.append(len(a))
        keys, positions = _merged(parts, nlp.unknowns)
        self.rows, self.columns = keys % nlp.unknowns, keys // nlp.unknowns
        self.adders = [
            _adder(p, np.arange(count), weight, len(keys), count)
            for p, weight, count in zip(positions, weights, counts, strict=True)
        ]


def _expanded(share: ClusterTerm) -> tuple[Indices, Indices, Reals, Indices]:
    """M times the cluster's Jacobian, entry by entry: row, column, coefficient, and the index of the Jacobian's entry."""
    cluster, matrix = share.cluster, share.matrix.tocoo()
    results, arguments = cluster.jacobian_indices
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
    """Distinct entries as column × height + row, sorted, and the index among them of each part's entries."""
    keys = [c * height + r for r, c in parts]
    distinct, inverse = np.unique(np.concatenate(keys) if keys else np.zeros(0, dtype=np.int64), return_inverse=True)
    cuts = np.cumsum([len(k) for k in keys])[:-1]
    return distinct, list(np.split(inverse, cuts)) if keys else []


def _adder(positions: Indices, source: Indices, weights: Reals, rows: int, columns: int) -> Any:
    from scipy.sparse import csr_array

    return csr_array((weights, (positions, source)), shape=(rows, columns))


# ---------------------------------------------------------------- assembly


@dataclass
class Builder:
    """Collects unknowns, rows and clusters of a nonlinear program, array by array; `build` returns it."""

    _unknowns: list[tuple[list[str], Reals, Reals, Reals, Reals]] = field(default_factory=list)
    _count: int = 0
    _rows: list[tuple[list[str], Reals, Reals, Reals]] = field(default_factory=list)
    _height: int = 1  # row 0 is the objective
    _linear: list[tuple[Indices, Indices, Reals]] = field(default_factory=list)
    _clusters: list[tuple[Cluster, list[tuple[Indices, Indices, Reals]]]] = field(default_factory=list)

    def unknowns(self, names: Sequence[str], guess: Reals, low: ArrayLike, high: ArrayLike, scale: ArrayLike) -> Indices:
        """Add a table of unknowns, one column per name; bounds and scales broadcast. Returns their indices."""
        guess = np.asarray(guess, dtype=float)
        sides = _spread(low, guess.shape), _spread(high, guess.shape), _spread(scale, guess.shape)
        copies = guess.size // max(len(names), 1) if names else 0
        self._unknowns.append(([*names] * copies, guess.ravel(), *sides))
        indices = self._count + np.arange(guess.size).reshape(guess.shape)
        self._count += guess.size
        return indices

    def rows(self, names: Sequence[str], copies: int, low: ArrayLike, high: ArrayLike, scale: ArrayLike) -> Indices:
        """Add a table of rows, one column per name. Returns their indices."""
        shape = (copies, len(names))
        self._rows.append(([*names] * copies, _spread(low, shape), _spread(high, shape), _spread(scale, shape)))
        indices = self._height + np.arange(copies * len(names)).reshape(shape)
        self._height += copies * len(names)
        return indices

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

    def build(self, objective_scale: float = 1.0) -> tuple[SparseNLP, Reals]:
        """The nonlinear program and the initial guess."""
        from scipy.sparse import csr_array

        def matrix(parts: Sequence[tuple[Indices, Indices, Reals]], width: int) -> csr_array:
            r, c, k = (np.concatenate(column) for column in zip(*parts, strict=True)) if parts else ((), (), ())
            return csr_array((np.asarray(k, dtype=float), (np.asarray(r, int), np.asarray(c, int))), shape=(self._height, width))

        names, guess, low, high, scale = zip(*self._unknowns, strict=True)
        rows = list(zip(*self._rows, strict=True)) if self._rows else [()] * 4
        nlp = SparseNLP(
            linear=matrix(self._linear, self._count),
            constant=np.zeros(self._height),
            terms=tuple(
                ClusterTerm(cluster, matrix(parts, len(cluster.where) * cluster.width))
                for cluster, parts in self._clusters
                if parts
            ),
            low=np.concatenate(low),
            high=np.concatenate(high),
            row_low=np.concatenate([*rows[1], np.zeros(0)]),
            row_high=np.concatenate([*rows[2], np.zeros(0)]),
            row_names=tuple(n for part in rows[0] for n in part),
            unknown_names=tuple(n for part in names for n in part),
            scale=np.concatenate(scale),
            row_scale=np.concatenate([*rows[3], np.zeros(0)]),
            objective_scale=objective_scale,
        )
        return nlp, np.concatenate(guess)


def _spread(value: ArrayLike, shape: tuple[int, ...]) -> Reals:
    return np.broadcast_to(np.asarray(value, dtype=float), shape).ravel()
