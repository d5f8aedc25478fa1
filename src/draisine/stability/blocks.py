"""Modes of machines that are degenerate at a critical value: blocks of modes that keep their common space through it.

Where a stiffness vanishes, two real modes become a pair, and no mode keeps its shape; the two together do. With the overlaps of
modes on both sides (`mode_overlap`) as edges of a graph, its components are the smallest such blocks. Each has its own numbers
of growing modes on both sides, its own linear models, and its own critical value. Where several modes of a block are zero
together, it is a zero of a symmetric function of their eigenvalues, from their sum to their product. These are smooth and have
all digits where single eigenvalues have half of them or less.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from draisine.numerics.root_finding import bracketed_root
from draisine.numerics.scaling import balancing
from draisine.numerics.spectrum import ENTRY_ERROR, EPS, Spectrum, clusters
from draisine.stability.crossings import Counts, Matrices
from draisine.stability.mode_overlap import overlaps, projector, vectors

Array = NDArray[np.float64]
Complex = NDArray[np.complex128]

_APART = 0.02  # overlap of modes of different blocks, at most
_WHOLE = 0.1  # distance of the overlap of a block with itself from its number of modes, at most
_ROUNDING = 100.0 * EPS  # of symmetric functions, relative to the power of the size of A
_SAFETY = 10.0  # factor on errors of entries
_COUPLED = 1e-9  # coupling of separate blocks, relative to the size of A, at most
_APARTS = 10.0  # distance of zeros that are not one, relative to what rounding hides of them
_SHARP = 1e-8  # value at a zero, relative to that at the ends: the resolution of the zero
SIMPLE = 1.6  # order of a zero, measured, up to which it is simple


class Zero(NamedTuple):
    """A zero of symmetric functions: within `uncertainty` of it the least sensitive one is below rounding (0 if it is simple)."""

    value: float
    uncertainty: float


class Sizes(NamedTuple):
    """The size of a matrix in balanced units, and that of the errors of its entries."""

    size: float
    error: float


class Block(NamedTuple):
    """Modes that keep their common space: their kinds at both ends (`Spectrum.signatures`), and their own linear models."""

    before: Counts
    after: Counts
    own: Matrices

    @property
    def number(self) -> int:
        return int(self.before.sum())

    @property
    def change(self) -> Counts:
        return self.after - self.before

    def zero(self, matrices: Matrices, low: float, high: float) -> Zero | None:
        """Where several of its modes are zero; None where they are nowhere, as pairs that meet on the axis, or only jump past."""
        return zero_of_symmetric(partial(self.eigenvalues, matrices), low, high)

    def eigenvalues(self, matrices: Matrices, s: float) -> tuple[Complex, Sizes]:
        """Those of the block, and sizes of the whole matrix."""
        return np.linalg.eigvals(self.own(np.array([s]))[0]).astype(complex), sizes_of(matrices(np.array([s])), matrices.floor)


def sizes_of(matrix: Array, floor: Array | None) -> Sizes:
    """Sizes of a matrix (1, states, states)."""
    scale = balancing(np.abs(matrix))
    units = scale[0][None, :] / scale[0][:, None]
    size, error = (float((np.abs(a) * units).sum(axis=1).max(initial=0.0)) for a in (matrix[0], 0.0 if floor is None else floor))
    return Sizes(size, _ROUNDING * size + _SAFETY * error)


def blocks(matrices: Matrices, low: float, high: float) -> list[Block] | None:
    """The blocks between two values; None where an eigenvalue is defective at one of them, or overlaps have no clear parts."""
    both = matrices(np.array([low, high]))
    if not both.shape[1] or not np.isfinite(both).all() or not np.isfinite(matrices(np.array([0.5 * (low + high)]))).all():
        return None
    spectrum = Spectrum.of(both, matrices.floor)
    values, right, left = vectors(both)
    share = overlaps((right[:1], left[:1]), (right[1:], left[1:]))[0]
    if not np.isfinite(share).all():
        return None
    own = np.abs(values[:, :, None] - spectrum.values[:, None, :]).argmin(axis=2)
    kinds = [_kinds(spectrum, i)[own[i]] for i in range(2)]
    parts = _components(share, values, np.take_along_axis(spectrum.errors, own, axis=1), kinds)
    while True:
        if any(
            len(rows) != len(columns) or not abs(share[np.ix_(rows, columns)].sum() - len(rows)) <= _WHOLE
            for rows, columns in parts
        ):
            return None
        spaces = [
            (projector(right[0][:, rows], left[0][:, rows]).real, projector(right[1][:, columns], left[1][:, columns]).real)
            for rows, columns in parts
        ]
        own, coupled = _separated(matrices, low, high, spaces, [len(rows) for rows, _ in parts])
        if coupled is None:
            break
        i, k = coupled
        parts[i] = parts[i][0] + parts[k][0], parts[i][1] + parts[k][1]
        del parts[k]
    numbers = [[np.bincount(kind[some], minlength=6) for kind, some in zip(kinds, part, strict=True)] for part in parts]
    return [
        Block(before.astype(np.int64), after.astype(np.int64), one) for (before, after), one in zip(numbers, own, strict=True)
    ]


def _separated(
    matrices: Matrices, low: float, high: float, spaces: list[tuple[Array, Array]], numbers: list[int]
) -> tuple[list[Matrices], tuple[int, int] | None]:
    """Linear models of single blocks, in bases of their spaces: those at the ends of an interval, from projectors, and linear
    between them. What couples blocks then is of second order in its length, unless their modes come close and turn away, or
    nearly have one shape: then the two that are coupled most."""
    a = matrices(np.array([low, 0.5 * (low + high), high]))
    scale = balancing(np.abs(a[:1]))[0]
    units = scale[None, :] / scale[:, None]
    first = np.hstack([scale[:, None] * np.linalg.svd(p * units)[0][:, :n] for (p, _), n in zip(spaces, numbers, strict=True)])
    places = [slice(*place) for place in pairwise(np.cumsum([0, *numbers]).tolist())]
    last = np.hstack([p @ first[:, place] for (_, p), place in zip(spaces, places, strict=True)])

    def every(values: Array) -> Array:
        share = ((values - low) / (high - low))[:, None, None]
        basis = (1.0 - share) * first + share * last
        return np.asarray(np.linalg.solve(basis, matrices(values) @ basis))

    middle = np.abs(every(np.array([0.5 * (low + high)]))[0])
    coupling = np.array([[(middle[i, k] @ middle[k, i]).max() if i != k else 0.0 for k in places] for i in places])
    least = (_COUPLED * float((np.abs(a).max(axis=0) * units).sum(axis=1).max())) ** 2  # A may vanish in the middle
    if not coupling.max() <= least:
        i, k = sorted(int(n) for n in np.unravel_index(np.argmax(coupling), coupling.shape))
        return [], (i, k)
    error = ENTRY_ERROR * np.abs(a).max(axis=0) + (0.0 if matrices.floor is None else matrices.floor)
    known = np.abs(np.linalg.inv(first)) @ error @ np.abs(first)
    return [Matrices(partial(_part, every, place), known[place, place]) for place in places], None


def _part(every: Callable[[Array], Array], place: slice, values: Array) -> Array:
    return every(values)[:, place, place]


def _kinds(spectrum: Spectrum, i: int) -> NDArray[np.int64]:
    """The column of each mode in `Spectrum.signatures`."""
    kind = np.where(spectrum.growing[i], 0, np.where(spectrum.decaying[i], 2, 4)) + spectrum.oscillating[i]
    return np.asarray(kind, dtype=np.int64)


def _components(
    share: Array, values: Complex, errors: Array, kinds: list[NDArray[np.int64]]
) -> list[tuple[list[int], list[int]]]:
    """Connected modes of both sides; conjugate ones, and those of one kind with equal eigenvalues, whose vectors are any,
    together."""
    n = len(share)
    edges = np.zeros((2 * n, 2 * n), dtype=bool)
    edges[:n, n:] = np.abs(share) > _APART
    for k in range(2):
        near = np.abs(values[k][:, None] - values[k].conj()).argmin(axis=1)
        edges[k * n + np.arange(n), k * n + near] = True
        for kind in np.unique(kinds[k]):
            some = np.flatnonzero(kinds[k] == kind)
            for group in clusters(values[k][some], errors[k][some]):
                edges[np.ix_(k * n + some[group], k * n + some[group])] = True
    edges |= edges.T | np.eye(2 * n, dtype=bool)
    for _ in range(int(np.ceil(np.log2(2 * n)))):
        edges = (edges.astype(np.int64) @ edges) > 0
    first = np.unique(edges.argmax(axis=1))
    return [(np.flatnonzero(edges[i, :n]).tolist(), np.flatnonzero(edges[i, n:]).tolist()) for i in first.tolist()]


def smallest(matrices: Matrices, count: int, s: float) -> tuple[Complex, Sizes]:
    """So many eigenvalues, those next to zero, and sizes of the matrix."""
    a = matrices(np.array([s]))
    z = np.linalg.eigvals(a[0]).astype(complex)
    return z[np.argsort(np.abs(z))][:count], sizes_of(a, matrices.floor)


def zero_of_symmetric(eigenvalues: Callable[[float], tuple[Complex, Sizes]], low: float, high: float) -> Zero | None:
    """Where as many eigenvalues are zero, given them and sizes of A: the zero of the one of their symmetric functions, from
    sum to product, that is least sensitive to rounding. All are smooth; some are of higher order, or rounding error alone. The
    middle where rounding hides all of them at both ends, None where none has a zero."""

    def functions(s: float) -> tuple[Array, Array]:
        z, sizes = eigenvalues(s)
        values = np.asarray(np.poly(z)[1:].real, dtype=np.float64)
        return values, sizes.error * sizes.size ** np.arange(float(len(values)))

    (below, error), (above, other) = functions(low), functions(high)
    known = (np.abs(below) > error) & (np.abs(above) > other)
    if not known.any():
        return Zero(0.5 * (low + high), 0.5 * (high - low))
    found = []
    for j in np.flatnonzero(known & (below * above < 0.0)).tolist():
        root = bracketed_root(partial(_entry, functions, j), low, high)
        reach, unknown = _farther(root, low, high) - root, float(max(error[j], other[j]))
        size, near, there = (abs(float(functions(root + share * reach)[0][j])) for share in (1.0, 1.0 / 3.0, 0.0))
        if there > max(unknown, _SHARP * size):  # a jump: eigenvalues that come close and turn away
            continue
        order = order_of_zero(partial(_entry, functions, j), root, low, high)
        hidden = 1.0 if near <= unknown else (unknown / size) ** (1.0 / max(order, 1.0))
        part = hidden if near <= unknown or order > SIMPLE else 0.0
        found.append((part > 0.0, unknown / size, Zero(root, part * abs(reach)), j, hidden * abs(reach)))
    if not found:
        return None
    _, _, best, _, within = min(found)
    _, _, product, j, beyond = max(found, key=lambda one: one[3])
    # a sum may vanish where eigenvalues do not: then one of them is zero elsewhere, as their product
    elsewhere = j == len(below) - 1 and abs(product.value - best.value) > _APARTS * (within + beyond)
    return product if elsewhere else best


def order_of_zero(function: Callable[[float], float], root: float, low: float, high: float) -> float:
    """The power of the distance from a zero that a function is, measured on its longer side in a bracket."""
    end = _farther(root, low, high)
    far, near = (abs(function(root + share * (end - root))) for share in (1.0, 1.0 / 3.0))
    return float(np.log(max(far, 1e-300) / max(near, 1e-300)) / np.log(3.0))


def _farther(root: float, low: float, high: float) -> float:
    return max(low, high, key=lambda end: abs(end - root))


def _entry(functions: Callable[[float], tuple[Array, Array]], j: int, s: float) -> float:
    return float(functions(s)[0][j])
