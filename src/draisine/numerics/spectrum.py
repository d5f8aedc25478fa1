"""Eigenvalues with what rounding can do to them: which modes grow, decay or are neutral, and which oscillate.

An entry of A is known to `ENTRY_ERROR` of its size, and to `ROUNDING` of the size of A, with states scaled so that rows and
columns are of equal size. Errors E move an eigenvalue by |w|ᵀ|E||v| / |wᴴv| at most (w and v its left and right eigenvectors),
to first order and whatever the units of the states. Where two eigenvalues nearly coincide this is too large, and the root of
its product with their distance holds. A real or imaginary part below the bound is zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from draisine.numerics.rank import condition_share, equilibrate
from draisine.numerics.scaling import balancing

Array = NDArray[np.float64]
Complex = NDArray[np.complex128]
Flags = NDArray[np.bool_]

ENTRY_ERROR = 2e-13  # of an entry of A, relative: rounding along the program and errors of the steady motion
SAFETY = 4.0  # factor on the bound of an eigenvalue
REGULAR = 1e6  # condition, with scaled rows and columns, of a matrix without a zero eigenvalue
EQUILIBRATIONS = 20
EPS = float(np.finfo(float).eps)
ROUNDING = 16.0 * EPS  # of all entries, relative to the scaled matrix: of the eigenvalue solver, and of entries that cancel
COINCIDE = 1e-7  # distance of eigenvalues, relative to the largest, below which their vectors are made dual
INDEPENDENT = 1e6  # condition of the products of left and right vectors up to which an eigenvalue is not defective


@dataclass(frozen=True, eq=False)
class Spectrum:
    """Eigenvalues (points, modes) of matrices (points, states, states), the bound of what rounding moves each of them, and their
    right and left eigenvectors (points, states, modes)."""

    matrices: Array
    values: Complex
    errors: Array
    right: Complex
    left: Complex

    @staticmethod
    def of(matrices: Array, floor: Array | None = None) -> Spectrum:
        """The spectra of matrices; NaN where a matrix is not finite. `floor` has errors of entries besides those relative to
        them."""
        good = np.isfinite(matrices).all(axis=(1, 2))
        if good.all() and matrices.shape[1]:  # most often: nothing is copied
            values, errors, right, left = _bounded_eigenvalues(matrices, floor)
            return Spectrum(matrices, *_resolved(matrices, values, errors, floor), right, left)
        values, errors = np.full(matrices.shape[:2], np.nan + 0j), np.full(matrices.shape[:2], np.nan)
        right, left = np.full(matrices.shape, np.nan + 0j), np.full(matrices.shape, np.nan + 0j)
        if good.any() and matrices.shape[1]:
            some = Spectrum.of(matrices[good], floor)
            values[good], errors[good], right[good], left[good] = some.values, some.errors, some.right, some.left
        return Spectrum(matrices, values, errors, right, left)

    @staticmethod
    def joined(spectra: Sequence[Spectrum]) -> Spectrum:
        """The points of all, one after the other."""
        return Spectrum(*(np.concatenate([getattr(one, part.name) for one in spectra]) for part in fields(Spectrum)))

    def taken(self, order: NDArray[np.int64]) -> Spectrum:
        """The modes of each point in another order (points, modes)."""
        values, errors = np.take_along_axis(self.values, order, axis=1), np.take_along_axis(self.errors, order, axis=1)
        right, left = (np.take_along_axis(part, order[:, None, :], axis=2) for part in (self.right, self.left))
        return Spectrum(self.matrices, values, errors, right, left)

    def merged(self, other: Spectrum, order: NDArray[np.int64]) -> Spectrum:
        """The points of both, in an order of all of them."""
        both = Spectrum.joined((self, other))
        return Spectrum(*(getattr(both, part.name)[order] for part in fields(self)))

    @cached_property
    def growing(self) -> Flags:
        return np.asarray(self.values.real > self.errors)

    @cached_property
    def decaying(self) -> Flags:
        return np.asarray(self.values.real < -self.errors)

    @cached_property
    def oscillating(self) -> Flags:
        return np.asarray(np.abs(self.values.imag) > self.errors)

    @cached_property
    def zero(self) -> Flags:
        """Eigenvalues that rounding does not distinguish from zero."""
        return np.asarray(np.abs(self.values) <= self.errors)

    @cached_property
    def cleaned(self) -> Complex:
        """Eigenvalues with parts that are rounding error set to zero."""
        real = np.where(self.growing | self.decaying | np.isnan(self.errors), self.values.real, 0.0)
        return np.asarray(real + 1j * np.where(self.oscillating, self.values.imag, 0.0))

    @cached_property
    def signatures(self) -> NDArray[np.int64]:
        """Numbers (points, 6) of eigenvalues that grow, decay or are neutral, real ones first; −1 where there is no matrix."""
        neutral = ~(self.growing | self.decaying)
        kinds = [kind & part for kind in (self.growing, self.decaying, neutral) for part in (~self.oscillating, self.oscillating)]
        counts = np.stack([kind.sum(axis=1) for kind in kinds], axis=1).astype(np.int64)
        known = np.asarray(np.isfinite(self.matrices).all(axis=(1, 2)))
        return np.where(known[:, None], counts, -1)


def _bounded_eigenvalues(matrices: Array, floor: Array | None) -> tuple[Complex, Array, Complex, Complex]:
    """Eigenvalues, their bounds, right and left eigenvectors."""
    values, right = np.linalg.eig(matrices)
    left = left_vectors(matrices, values, right)
    known, error, size = entry_errors(matrices, floor)
    moved = (np.abs(left) * (known @ np.abs(right))).sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        bound = np.fmin(moved / np.abs((left * right).sum(axis=1)), size)  # the size, where an eigenvalue is defective
    distance = np.abs(values[:, :, None] - values[:, None, :])
    distance[:, np.arange(values.shape[1]), np.arange(values.shape[1])] = np.inf
    nearest = np.maximum(np.minimum(distance.min(axis=2), size), EPS * size)
    errors = SAFETY * np.minimum(bound, np.maximum(np.sqrt(bound * nearest), error))  # equal eigenvalues move by the error of A
    return values.astype(complex), errors, right.astype(complex), left


def entry_errors(matrices: Array, floor: Array | None, sizes: Array | None = None) -> tuple[Array, Array, Array]:
    """Errors E of the entries of matrices A (points, states, states); the sizes (points, 1) of E and of A in balanced units.
    These are found from `sizes` of entries, where those of A are not typical."""
    scale = balancing(np.abs(matrices) if sizes is None else sizes)
    units = scale[:, None, :] / scale[:, :, None]
    scaled = np.abs(matrices) * units
    size = scaled.sum(axis=2).max(axis=1, initial=0.0)[:, None]
    known = ENTRY_ERROR * scaled
    if floor is not None:
        known = known + floor * units
    errors = (known + ROUNDING * size[:, :, None]) / units
    return errors, known.sum(axis=2).max(axis=1, initial=0.0)[:, None] + ROUNDING * size, size


def _resolved(matrices: Array, values: Complex, errors: Array, floor: Array | None) -> tuple[Complex, Array]:
    """Eigenvalues that are zero up to rounding of the largest ones, though the matrix is regular, from those of its inverse,
    where they are the largest. Regular is a matrix that is well-conditioned with scaled rows and columns, at any time scales."""
    for i in np.flatnonzero((np.abs(values) <= errors).any(axis=1)):
        scaled, rows, columns = equilibrate(matrices[i], EQUILIBRATIONS)
        condition = 1.0 / max(condition_share(scaled), 1e-300)
        if not condition < REGULAR:
            continue
        inverse = columns[:, None] * np.linalg.inv(scaled) * rows
        own = None if floor is None else np.abs(inverse) @ floor @ np.abs(inverse) / condition
        found, moved, _, _ = _bounded_eigenvalues(inverse[None], own)
        zero = np.flatnonzero(np.abs(values[i]) <= errors[i])
        largest = np.argsort(-np.abs(found[0]), kind="stable")[: len(zero)]
        better, bound = 1.0 / found[0][largest], condition * moved[0][largest] / np.abs(found[0][largest]) ** 2
        if (bound < np.abs(better)).all():
            values[i, zero], errors[i, zero] = better, bound
    return values, errors


def left_vectors(matrices: Array, values: Complex, right: Complex) -> Complex:
    """Left eigenvectors, dual to the right ones: their inverse, and where an eigenvalue is (nearly) defective, and there is none,
    eigenvectors of the transposed matrix, which cost another decomposition."""
    left = np.zeros(right.shape, dtype=complex)
    regular = np.flatnonzero(np.isfinite(np.linalg.slogdet(right)[1]))
    inverse = np.linalg.inv(right[regular])
    good = np.abs(inverse).max(axis=(1, 2), initial=0.0) < INDEPENDENT  # right vectors have length 1
    left[regular[good]] = inverse[good].transpose(0, 2, 1)
    if len(rest := np.setdiff1d(np.arange(len(values)), regular[good])):
        again, found = np.linalg.eig(matrices[rest].transpose(0, 2, 1))
        order = nearest_first(np.abs(values[rest][:, :, None] - again[:, None, :]))
        found = np.take_along_axis(found, order[:, None, :], axis=2)
        left[rest] = _dual_vectors(values[rest], right[rest].astype(complex), found.astype(complex))
    return left


def _dual_vectors(values: Complex, right: Complex, left: Complex) -> Complex:
    """Left eigenvectors that belong to the right ones where several have one eigenvalue: orthogonal to those of the others."""
    k = values.shape[1]
    gaps = np.abs(values[:, :, None] - values[:, None, :]) + np.where(np.eye(k) > 0, np.inf, 0.0)
    near = gaps <= COINCIDE * np.abs(values).max(axis=1, initial=0.0)[:, None, None]
    for i in np.flatnonzero(near.any(axis=(1, 2))):
        for group in clusters(values[i], np.full(k, 0.5 * COINCIDE * np.abs(values[i]).max())):
            products = left[i][:, group].T @ right[i][:, group]
            if len(group) > 1 and np.linalg.cond(products) < INDEPENDENT:  # otherwise the eigenvalue is defective
                left[i][:, group] = left[i][:, group] @ np.linalg.inv(products).T
    return left


def nearest_first(distance: Array) -> NDArray[np.int64]:
    """For each row of each matrix (points, k, k) the column it is paired with, smallest entries first."""
    count, k, _ = distance.shape
    distance = np.where(np.isnan(distance), np.inf, distance)
    order = np.zeros((count, k), dtype=np.int64)
    every = np.arange(count)
    rows, columns = np.zeros((count, k), dtype=bool), np.zeros((count, k), dtype=bool)
    for _ in range(k):
        open_ones = np.where(rows[:, :, None] | columns[:, None, :], np.inf, distance)
        i, j = np.divmod(np.argmin(open_ones.reshape(count, k * k), axis=1), k)
        full = rows[every, i] | columns[every, j]  # all that is left is infinite: any free pair
        i, j = np.where(full, np.argmin(rows, axis=1), i), np.where(full, np.argmin(columns, axis=1), j)
        order[every, i] = j
        rows[every, i], columns[every, j] = True, True
    return order


def clusters(values: Complex, errors: Array) -> list[list[int]]:
    """Indices of eigenvalues that coincide up to rounding, in order."""
    left, found = list(range(len(values))), []
    while left:
        group = [left.pop(0)]
        for i in group:
            near = [j for j in left if abs(values[i] - values[j]) <= 2.0 * max(errors[i], errors[j], EPS * abs(values[i]))]
            group += near
            left = [j for j in left if j not in near]
        found.append(group)
    return found
