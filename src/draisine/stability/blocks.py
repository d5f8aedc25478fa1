"""Modes of machines that are degenerate at a critical value: blocks of modes that keep their common space through it.

Where a stiffness vanishes, two real modes become a pair, and no mode keeps its shape; the two together do. With the overlaps of
modes on both sides (`mode_overlap`) as edges of a graph, its components are the smallest such blocks. Each has its own numbers
of growing modes on both sides, and its own critical value: a zero of a symmetric function of its eigenvalues, from their sum to
their product. These are smooth and have all digits where single eigenvalues have half of them or less.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from draisine.numerics.root_finding import bracketed_root
from draisine.numerics.scaling import balancing
from draisine.numerics.spectrum import EPS, Spectrum
from draisine.stability.crossings import Counts, Matrices
from draisine.stability.mode_overlap import overlaps, projector, shares, vectors

Array = NDArray[np.float64]
Complex = NDArray[np.complex128]

_APART = 0.02  # overlap of modes of different blocks, at most
_WHOLE = 0.1  # distance of the overlap of a block with itself from its number of modes, at most
_ROUNDING = 100.0 * EPS  # of symmetric functions, relative to the power of the size of A
_SHARP = 1e-8  # value at a zero, relative to that at the ends: the resolution of the zero
_SIMPLE = 1.6  # order of a zero, measured, up to which it is simple


class Zero(NamedTuple):
    """A zero of symmetric functions: within `uncertainty` of it the least sensitive one is below rounding (0 if it is simple)."""

    value: float
    uncertainty: float


class Block(NamedTuple):
    """Modes that keep their common space: their number, their kinds at both ends (`Spectrum.signatures`), and projectors."""

    count: int
    before: Counts
    after: Counts
    ends: tuple[Complex, Complex]

    @property
    def change(self) -> Counts:
        return self.after - self.before

    def eigenvalues(self, matrices: Matrices, s: float) -> tuple[Complex, float]:
        """Those of the block, and the size of the matrix with balanced units."""
        a = matrices(np.array([s]))
        values, right, left = (part[0] for part in vectors(a))
        alike = shares(self.ends[0], right, left) * shares(self.ends[1], right, left)
        return values[np.argsort(-alike, kind="stable")[: self.count]], size_of(a)


def size_of(matrix: Array) -> float:
    """The size of a matrix (1, states, states) in balanced units."""
    scale = balancing(np.abs(matrix))
    return float((np.abs(matrix) * scale[:, None, :] / scale[:, :, None]).sum(axis=2).max(initial=0.0))


def blocks(matrices: Matrices, low: float, high: float) -> list[Block] | None:
    """The blocks between two values; None where an eigenvalue is defective at one of them, or overlaps have no clear parts."""
    both = matrices(np.array([low, high]))
    if not both.shape[1] or not np.isfinite(both).all():
        return None
    spectrum = Spectrum.of(both)
    values, right, left = vectors(both)
    share = overlaps((right[:1], left[:1]), (right[1:], left[1:]))[0]
    if not np.isfinite(share).all():
        return None
    kinds = [_kinds(spectrum, values, i) for i in range(2)]
    found = []
    for rows, columns in _components(share, values):
        common = float(share[np.ix_(rows, columns)].sum())
        if len(rows) != len(columns) or abs(common - len(rows)) > _WHOLE:
            return None
        before, after = (
            np.bincount(kind[own], minlength=6).astype(np.int64) for kind, own in zip(kinds, (rows, columns), strict=True)
        )
        ends = projector(right[0][:, rows], left[0][:, rows]), projector(right[1][:, columns], left[1][:, columns])
        found.append(Block(len(rows), before, after, ends))
    return found


def _kinds(spectrum: Spectrum, values: Complex, i: int) -> NDArray[np.int64]:
    """The column of each mode in `Spectrum.signatures`."""
    own = np.abs(values[i][:, None] - spectrum.values[i]).argmin(axis=1)
    kind = np.where(spectrum.growing[i], 0, np.where(spectrum.decaying[i], 2, 4)) + spectrum.oscillating[i]
    return np.asarray(kind[own], dtype=np.int64)


def _components(share: Array, values: Complex) -> list[tuple[list[int], list[int]]]:
    """Connected modes of both sides, conjugate ones together."""
    n = len(share)
    edges = np.zeros((2 * n, 2 * n), dtype=bool)
    edges[:n, n:] = np.abs(share) > _APART
    for k in range(2):
        near = np.abs(values[k][:, None] - values[k].conj()).argmin(axis=1)
        edges[k * n + np.arange(n), k * n + near] = True
    edges |= edges.T | np.eye(2 * n, dtype=bool)
    for _ in range(int(np.ceil(np.log2(2 * n)))):
        edges = (edges.astype(np.int64) @ edges) > 0
    first = np.unique(edges.argmax(axis=1))
    return [(np.flatnonzero(edges[i, :n]).tolist(), np.flatnonzero(edges[i, n:]).tolist()) for i in first.tolist()]


def block_zeros(matrices: Matrices, some: list[Block], low: float, high: float) -> list[Zero] | None:
    """Where blocks are critical; None where one of them has no zero. Blocks that nearly meet are ill-conditioned: the value of
    one that rounding does not tell from that of others, or of all together, is the best known of these."""
    found = [zero_of_symmetric(partial(block.eigenvalues, matrices), low, high) for block in some]
    zeros = [zero for zero in found if zero is not None]
    if len(zeros) < len(some):
        return None
    known = [(_hidden_within(matrices, block, zero, high - low), zero) for block, zero in zip(some, zeros, strict=True)]
    every = zero_of_symmetric(partial(smallest, matrices, sum(block.count for block in some)), low, high)
    best = sorted([*([(0.0, every)] if every is not None and not every.uncertainty else []), *known])
    return [next((better for _, better in best if abs(better.value - own.value) <= within), own) for within, own in known]


def _hidden_within(matrices: Matrices, block: Block, zero: Zero, width: float) -> float:
    """The distance from its critical value within which rounding hides that a block is not zero."""
    distances = width * 10.0 ** -np.arange(1.0, 14.0)
    at = np.concatenate([zero.value - distances, zero.value + distances])
    spectrum = Spectrum.of(matrices(at))
    known = np.zeros(len(at), dtype=bool)
    for k, s in enumerate(at.tolist()):
        own = np.abs(block.eigenvalues(matrices, s)[0][:, None] - spectrum.values[k]).argmin(axis=1)
        known[k] = not spectrum.zero[k][own].any()
    return float(distances[~known.reshape(2, -1).all(axis=0)].max(initial=0.0))


def smallest(matrices: Matrices, count: int, s: float) -> tuple[Complex, float]:
    """So many eigenvalues, those next to zero, and the size of the matrix."""
    a = matrices(np.array([s]))
    z = np.linalg.eigvals(a[0]).astype(complex)
    return z[np.argsort(np.abs(z))][:count], size_of(a)


def zero_of_symmetric(eigenvalues: Callable[[float], tuple[Complex, float]], low: float, high: float) -> Zero | None:
    """Where as many eigenvalues are zero, given them and the size of A: the zero of the one of their symmetric functions, from
    sum to product, that is least sensitive to rounding. All are smooth; some are of higher order, or rounding error alone."""

    def functions(s: float) -> tuple[Array, Array]:
        z, size = eigenvalues(s)
        values = np.asarray(np.poly(z)[1:].real, dtype=np.float64)
        return values, _ROUNDING * size ** np.arange(1.0, len(values) + 1.0)

    (below, error), (above, other) = functions(low), functions(high)
    known = (np.abs(below) > error) & (np.abs(above) > other) & (below * above < 0.0)
    found = []
    for j in np.flatnonzero(known).tolist():
        root = bracketed_root(partial(_entry, functions, j), low, high)
        reach = max(low - root, high - root, key=abs)  # to the end that is farther
        size, near, there = (abs(float(functions(root + share * reach)[0][j])) for share in (1.0, 1.0 / 3.0, 0.0))
        if there > max(error[j], other[j], _SHARP * size):  # a jump: eigenvalues that come close and turn away
            continue
        order = float(np.log(size / max(near, 1e-300)) / np.log(3.0))
        share = float(max(error[j], other[j])) / size
        found.append((order > _SIMPLE, share, Zero(root, abs(reach) * share ** (1.0 / order) if order > _SIMPLE else 0.0)))
    return min(found)[2] if found else None


def _entry(functions: Callable[[float], tuple[Array, Array]], j: int, s: float) -> float:
    return float(functions(s)[0][j])
