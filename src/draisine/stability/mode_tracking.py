"""Which eigenvalue continues which along a sweep.

Shapes decide, where each mode has kept its own (`mode_overlap`), also past a value at which eigenvalues coincide and shapes are
any of their space. Where shapes change too much, a step at which eigenvalues change little beside their distances is clear; the
others follow distances from eigenvalues extrapolated linearly, with the similarity of shapes.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from draisine.numerics.spectrum import Spectrum, nearest_first
from draisine.stability.mode_overlap import overlaps

Array = NDArray[np.float64]
Complex = NDArray[np.complex128]
Orders = NDArray[np.int64]

_KEPT = 0.9  # overlap of a mode with itself one step farther, at least
_COINCIDE = 1e-6  # distance of eigenvalues, relative to the largest, below which shapes of modes are any of their space


def continued(spectrum: Spectrum) -> Orders:
    """For eigenvalues (points, modes) in any order: which of each point continues which of the first."""
    values, matrices = spectrum.cleaned, spectrum.matrices
    orders = np.zeros(values.shape, dtype=np.int64)
    orders[:] = np.arange(values.shape[1])
    steps, ambiguous = orders[1:].copy(), _ambiguous_steps(values)
    if len(ambiguous):
        # each step by itself, then again with linear extrapolation of the last two points, which separates modes that cross
        old, new = values[ambiguous], values[ambiguous + 1]
        steps[ambiguous] = _matched(old, new, old, matrices[ambiguous], matrices[ambiguous + 1])
        late = ambiguous[ambiguous > 0]
        before = np.take_along_axis(values[late - 1], np.argsort(steps[late - 1], axis=1), axis=1)
        ahead = 2 * values[late] - before
        ahead = np.where(ahead.imag * values[late].imag < 0, values[late], ahead)  # extrapolation must not cross the real axis
        steps[late] = _matched(ahead, values[late + 1], values[late], matrices[late], matrices[late + 1])
    _by_shapes(steps, values, spectrum)
    turns = np.flatnonzero((steps != orders[1:]).any(axis=1))
    for first, last in pairwise([*turns.tolist(), len(steps)]):
        orders[first + 1 : last + 1] = steps[first][orders[first]]
    return orders


def sorted_vectors(matrices: Array, values: Complex) -> Complex:
    """Eigenvectors of unit length for approximate eigenvalues: those of the nearest eigenvalues of each matrix, none twice."""
    exact, found = np.linalg.eig(matrices)
    order = nearest_first(np.abs(values[:, :, None] - exact[:, None, :]))
    return np.take_along_axis(found.astype(complex), order[:, None, :], axis=2)


def _by_shapes(steps: Orders, values: Complex, spectrum: Spectrum) -> None:
    """Replace steps at which every mode has kept its shape, in place; behind points at which eigenvalues coincide, the step from
    the point before them. Two that cross in a step look as if they returned, by their values alone."""
    if not values.size:
        return
    right, left = spectrum.right, spectrum.left

    def kept(first: Orders, second: Orders) -> tuple[Orders, NDArray[np.bool_]]:
        share = overlaps((right[first], left[first]), (right[second], left[second]))
        found = nearest_first(np.abs(share - 1.0))
        own = np.take_along_axis(share, found[:, :, None], axis=2)[:, :, 0]
        return found, np.asarray((np.abs(own - 1.0) <= 1.0 - _KEPT).all(axis=1))

    every = np.arange(len(steps))
    found, clear = kept(every, every + 1)
    steps[clear] = found[clear]
    meet = _coincide(values)
    late = np.flatnonzero(meet[1:-1] & ~meet[:-2]) + 1
    found, clear = kept(late - 1, late + 1)
    for step, past in zip(late[clear].tolist(), found[clear], strict=True):
        steps[step] = past[np.argsort(steps[step - 1])]


def _coincide(values: Complex) -> NDArray[np.bool_]:
    """Points at which eigenvalues coincide."""
    gaps = np.abs(values[:, :, None] - values[:, None, :]) + np.diag(np.full(values.shape[1], np.inf))
    return np.asarray(gaps.min(axis=(1, 2), initial=np.inf) <= _COINCIDE * np.abs(values).max(axis=1, initial=0.0))


def _ambiguous_steps(values: Complex) -> NDArray[np.int64]:
    """Steps at which sorting does not clearly continue the modes."""
    change = np.abs(np.diff(values, axis=0)).max(axis=1, initial=0.0)
    gap = np.full(len(change), np.inf)
    for i in range(values.shape[1]):
        for j in range(i):
            gap = np.minimum(gap, np.abs(values[1:, i] - values[1:, j]))
    return np.flatnonzero(~(4 * change < gap))


def _matched(ahead: Complex, values: Complex, known: Complex, old: Array, new: Array) -> Orders:
    """For each step and old mode, the new mode that continues it: nearest in eigenvalue and shape first. `known` are the
    eigenvalues of the old modes, `ahead` those expected."""
    size = np.maximum(np.abs(values).max(axis=1), 1e-300)
    shapes = np.conj(sorted_vectors(old, known).transpose(0, 2, 1))
    similarity = np.abs(shapes @ sorted_vectors(new, values))  # 1 for the same shape
    distance = np.abs(ahead[:, :, None] - values[:, None, :]) / size[:, None, None] + 0.05 * (1 - similarity)
    return nearest_first(distance)
