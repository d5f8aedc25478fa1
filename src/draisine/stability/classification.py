"""Stability classification of a grid of steady motions, in chunks that this process or others compute."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from draisine.model.system import System
from draisine.program.equations import Equations
from draisine.stability.routh import characteristic, pairs_on_the_axis, positive_real_roots, root_size, unstable_roots
from draisine.stability.steady_family import Family

Array = NDArray[np.float64]

CHUNK = 32_768  # pairs in memory at once
NEUTRAL = 1e-9  # real part, relative to the largest eigenvalue, that counts as zero
SAMPLES = 20  # random pairs at which neutral modes are detected

STABLE, REAL, PAIR, BOTH, SEVERAL, UNDECIDED, MISSING, NOT_REACHED = range(8)


@dataclass(frozen=True, eq=False)
class ClassificationJob:
    """All pairs of values, row by row, in chunks. Can be sent to other processes, which solve for the steady motions."""

    model: System | Equations
    values: Mapping[str, Array]
    fixed: Mapping[str, float] | None
    free: Sequence[str]
    near: Mapping[str, float] | None
    parameters: Mapping[str, float] | None
    states: Sequence[str]
    growth: bool
    chunk: int = CHUNK

    @property
    def shape(self) -> tuple[int, int]:
        one, other = (len(values) for values in self.values.values())
        return one, other

    @property
    def chunks(self) -> int:
        one, other = self.shape
        return -(-one * other // self.chunk)

    def family(self) -> Family:
        """The steady motions, continued from the one in the middle."""
        return Family.over(
            self.model,
            self.values,
            fixed=self.fixed,
            free=self.free,
            near=self.near,
            parameters=self.parameters,
            states=self.states,
        )

    def begin(self) -> Callable[[int], Classification]:
        family = self.family()
        return self.of(family, self.constant_modes(family))

    def of(self, family: Family, constant: int) -> Callable[[int], Classification]:
        """A function that classifies a chunk, by its number."""
        one, other = self.values.values()
        return lambda chunk: classify(family, grid_points(one, other, self.chunk_slice(chunk)), constant, self.growth)

    def chunk_slice(self, chunk: int) -> slice:
        one, other = self.shape
        return slice(chunk * self.chunk, min((chunk + 1) * self.chunk, one * other))

    def constant_modes(self, family: Family) -> int:
        return constant_modes(family, *self.values.values())


def grid_points(one: Array, other: Array, some: slice) -> Array:
    rows, columns = np.divmod(np.arange(some.start, some.stop), len(other))
    return np.column_stack([one[rows], other[columns]])


@dataclass
class Classification:
    """Results for some pairs."""

    unstable: NDArray[np.int8]
    kind: NDArray[np.uint8]
    static: Array
    dynamic: Array
    growth: Array | None

    @staticmethod
    def empty(count: int, growth: bool) -> Classification:
        numbers = [np.full(count, np.nan) for _ in range(3 if growth else 2)]
        kind = np.full(count, NOT_REACHED, dtype=np.uint8)
        return Classification(np.full(count, -1, dtype=np.int8), kind, numbers[0], numbers[1], numbers[2] if growth else None)

    def put(self, some: slice, part: Classification) -> None:
        """Store the results of a slice."""
        for entry in fields(self):
            if getattr(self, entry.name) is not None:
                getattr(self, entry.name)[some] = getattr(part, entry.name)


def constant_modes(family: Family, one: Array, other: Array) -> int:
    """Number of roots that are zero at random pairs: motions that form a family at constant inputs have neutral modes."""
    rng = np.random.default_rng(2007)
    grid_points = np.column_stack([rng.uniform(v.min(), v.max(), SAMPLES) for v in (one, other)])
    coefficients, exists = family.polynomials(np.vstack([family._at, grid_points]))
    some = coefficients[exists]
    k = np.arange(1, some.shape[1] + 1)
    small = np.abs(some).max(axis=0, initial=0.0) <= NEUTRAL * (root_size(some)[:, None] ** k).min(axis=0, initial=np.inf)
    return int(np.argmin(small[::-1])) if not small.all() else len(small)


def classify(family: Family, grid_points: Array, constant: int, growth: bool) -> Classification:
    """All arrays at some points, without the modes that are neutral everywhere."""
    found = Classification.empty(len(grid_points), growth)
    matrices = family.matrices(grid_points) if growth else None
    if matrices is not None:
        exists = matrices.found
        coefficients = characteristic(np.where(exists[:, None, None], matrices.A, 0.0))
    else:
        coefficients, exists = family.polynomials(grid_points)
    coefficients = coefficients[:, : coefficients.shape[1] - constant]
    unstable, sure = unstable_roots(coefficients)
    real = np.minimum(unstable, 1)
    many = np.flatnonzero(unstable > 1)
    real[many] = positive_real_roots(coefficients[many])
    neutral = np.zeros(len(grid_points), dtype=bool)
    open_ones = np.flatnonzero(exists & ~sure)
    if len(open_ones):
        a = family.matrices(grid_points[open_ones]).A if matrices is None else matrices.A[open_ones]
        unstable[open_ones], real[open_ones], neutral[open_ones] = _by_eigenvalues(a, constant)
    found.unstable[:] = np.where(exists, unstable, -1)
    found.kind[:] = np.where(exists, np.where(neutral & (unstable == 0), UNDECIDED, _kind(unstable, real)), MISSING)
    found.static[:] = np.where(exists, coefficients[:, -1], np.nan)
    found.dynamic[:] = np.where(exists, pairs_on_the_axis(coefficients), np.nan)
    if found.growth is not None and matrices is not None:
        largest = np.full(len(grid_points), np.nan)
        largest[exists] = _varying_eigenvalues(matrices.A[exists], constant).real.max(axis=1)
        found.growth[:] = largest
    return found


def _varying_eigenvalues(matrices: Array, constant: int) -> NDArray[np.complex128]:
    """Eigenvalues without those that are zero everywhere."""
    eigenvalues = np.linalg.eigvals(matrices).astype(complex)
    if not constant:
        return eigenvalues
    return np.take_along_axis(eigenvalues, np.argsort(np.abs(eigenvalues), axis=1)[:, constant:], axis=1)


def _kind(unstable: NDArray[np.int64], real: NDArray[np.int64]) -> NDArray[np.int64]:
    pairs = unstable - real > 0
    of_real = np.where(real == 0, STABLE, np.where(real == 1, REAL, SEVERAL))
    return np.where(pairs, np.where(real > 0, BOTH, PAIR), of_real)


def _by_eigenvalues(matrices: Array, constant: int) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
    """Number of unstable modes, of real ones among them, and whether any mode is neutral."""
    eigenvalues = _varying_eigenvalues(matrices, constant)
    small = NEUTRAL * np.abs(eigenvalues).max(axis=1, keepdims=True)
    grows = eigenvalues.real > small
    real = grows & (np.abs(eigenvalues.imag) <= small)
    return grows.sum(axis=1), real.sum(axis=1), np.asarray((np.abs(eigenvalues.real) <= small).any(axis=1))
