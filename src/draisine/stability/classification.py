"""Stability at many points of a family of steady motions, in pieces that this process or others judge."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from draisine.model.items import System
from draisine.program.equations import Equations
from draisine.stability.routh import characteristic, pairs_on_the_axis, positive_real_roots, root_size, unstable_roots
from draisine.stability.steady_family import Family

Array = NDArray[np.float64]

CHUNK = 32_768  # pairs in memory at once
NEUTRAL = 1e-9  # a growth this small beside the fastest mode is none
SAMPLES = 20  # pairs at which it is looked for modes that are constant everywhere

STABLE, REAL, PAIR, BOTH, SEVERAL, UNDECIDED, MISSING, NOT_REACHED = range(8)


@dataclass(frozen=True, eq=False)
class Judging:
    """All pairs of values, row by row, in chunks. Travels to other processes, which find the steady motions themselves."""

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
        """The steady motions, from the one in the middle."""
        middle = {name: float(v[len(v) // 2]) for name, v in self.values.items()}
        return Family(
            self.model,
            middle,
            fixed=self.fixed,
            free=self.free,
            near=self.near,
            parameters=self.parameters,
            states=self.states,
        )

    def begin(self) -> Callable[[int], Verdicts]:
        family = self.family()
        return self.of(family, self.constant_modes(family))

    def of(self, family: Family, constant: int) -> Callable[[int], Verdicts]:
        """Verdicts of a chunk by its number."""
        one, other = self.values.values()
        return lambda chunk: judged(family, points(one, other, self.place(chunk)), constant, self.growth)

    def place(self, chunk: int) -> slice:
        one, other = self.shape
        return slice(chunk * self.chunk, min((chunk + 1) * self.chunk, one * other))

    def constant_modes(self, family: Family) -> int:
        return constant_modes(family, *self.values.values())


def points(one: Array, other: Array, some: slice) -> Array:
    rows, columns = np.divmod(np.arange(some.start, some.stop), len(other))
    return np.column_stack([one[rows], other[columns]])


@dataclass
class Verdicts:
    """What is known of some pairs."""

    unstable: NDArray[np.int8]
    kind: NDArray[np.uint8]
    static: Array
    dynamic: Array
    growth: Array | None

    @staticmethod
    def empty(count: int, growth: bool) -> Verdicts:
        numbers = [np.full(count, np.nan) for _ in range(3 if growth else 2)]
        kind = np.full(count, NOT_REACHED, dtype=np.uint8)
        return Verdicts(np.full(count, -1, dtype=np.int8), kind, numbers[0], numbers[1], numbers[2] if growth else None)

    def put(self, some: slice, part: Verdicts) -> None:
        """Fill in what is known of a slice."""
        for entry in fields(self):
            if getattr(self, entry.name) is not None:
                getattr(self, entry.name)[some] = getattr(part, entry.name)


def constant_modes(family: Family, one: Array, other: Array) -> int:
    """Roots that are zero at random pairs: where motions form a family at constant inputs, going along it is no growth."""
    rng = np.random.default_rng(2007)
    points = np.column_stack([rng.uniform(v.min(), v.max(), SAMPLES) for v in (one, other)])
    coefficients, exists = family.polynomials(np.vstack([family._at, points]))
    some = coefficients[exists]
    k = np.arange(1, some.shape[1] + 1)
    small = np.abs(some).max(axis=0, initial=0.0) <= NEUTRAL * (root_size(some)[:, None] ** k).min(axis=0, initial=np.inf)
    return int(np.argmin(small[::-1])) if not small.all() else len(small)


def judged(family: Family, points: Array, constant: int, growth: bool) -> Verdicts:
    """All arrays at some points, less the modes that are constant everywhere."""
    found = Verdicts.empty(len(points), growth)
    matrices = family.matrices(points) if growth else None
    if matrices is not None:
        exists = matrices.found
        coefficients = characteristic(np.where(exists[:, None, None], matrices.A, 0.0))
    else:
        coefficients, exists = family.polynomials(points)
    coefficients = coefficients[:, : coefficients.shape[1] - constant]
    unstable, sure = unstable_roots(coefficients)
    real = np.minimum(unstable, 1)
    many = np.flatnonzero(unstable > 1)
    real[many] = positive_real_roots(coefficients[many])
    neutral = np.zeros(len(points), dtype=bool)
    open_ones = np.flatnonzero(exists & ~sure)
    if len(open_ones):
        a = family.matrices(points[open_ones]).A if matrices is None else matrices.A[open_ones]
        unstable[open_ones], real[open_ones], neutral[open_ones] = _by_eigenvalues(a, constant)
    found.unstable[:] = np.where(exists, unstable, -1)
    found.kind[:] = np.where(exists, np.where(neutral & (unstable == 0), UNDECIDED, _kind(unstable, real)), MISSING)
    found.static[:] = np.where(exists, coefficients[:, -1], np.nan)
    found.dynamic[:] = np.where(exists, pairs_on_the_axis(coefficients), np.nan)
    if found.growth is not None and matrices is not None:
        largest = np.full(len(points), np.nan)
        largest[exists] = _moving(matrices.A[exists], constant).real.max(axis=1)
        found.growth[:] = largest
    return found


def _moving(matrices: Array, constant: int) -> NDArray[np.complex128]:
    """Eigenvalues but for those that are zero everywhere."""
    eigenvalues = np.linalg.eigvals(matrices).astype(complex)
    if not constant:
        return eigenvalues
    return np.take_along_axis(eigenvalues, np.argsort(np.abs(eigenvalues), axis=1)[:, constant:], axis=1)


def _kind(unstable: NDArray[np.int64], real: NDArray[np.int64]) -> NDArray[np.int64]:
    pairs = unstable - real > 0
    of_real = np.where(real == 0, STABLE, np.where(real == 1, REAL, SEVERAL))
    return np.where(pairs, np.where(real > 0, BOTH, PAIR), of_real)


def _by_eigenvalues(matrices: Array, constant: int) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
    """Modes that grow, real ones among them, and whether any neither grows nor decays."""
    eigenvalues = _moving(matrices, constant)
    small = NEUTRAL * np.abs(eigenvalues).max(axis=1, keepdims=True)
    grows = eigenvalues.real > small
    real = grows & (np.abs(eigenvalues.imag) <= small)
    return grows.sum(axis=1), real.sum(axis=1), np.asarray((np.abs(eigenvalues.real) <= small).any(axis=1))
