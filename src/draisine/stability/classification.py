"""Stability classification of a grid of steady motions, in chunks that this process or others compute."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from draisine.model.system import System
from draisine.numerics.spectrum import Spectrum
from draisine.program.equations import Equations
from draisine.stability.mode_names import ModeNames
from draisine.stability.routh import characteristic, pairs_on_the_axis, positive_real_roots, root_size, unstable_roots
from draisine.stability.steady_family import Family

Array = NDArray[np.float64]

CHUNK = 32_768  # pairs in memory at once
SAMPLES = 20  # random pairs at which neutral modes are detected
DIGITS = 1e-6  # last coefficient of the characteristic polynomial, relative to the power of the largest root, that has digits
WHIPPLE = 4  # modes of a two-wheeler of rigid bodies, whose growing modes are capsize or castering, and weave

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
        return self.of(family, self.rule(family))

    def of(self, family: Family, rule: Rule) -> Callable[[int], Classification]:
        """A function that classifies a chunk, by its number."""
        one, other = self.values.values()
        return lambda chunk: classify(family, grid_points(one, other, self.chunk_slice(chunk)), rule, self.growth)

    def chunk_slice(self, chunk: int) -> slice:
        one, other = self.shape
        return slice(chunk * self.chunk, min((chunk + 1) * self.chunk, one * other))

    def rule(self, family: Family) -> Rule:
        return Rule.of(family, *self.values.values())


def grid_points(one: Array, other: Array, some: slice) -> Array:
    rows, columns = np.divmod(np.arange(some.start, some.stop), len(other))
    return np.column_stack([one[rows], other[columns]])


@dataclass
class Classification:
    """Results for some pairs; `growing` has bits of `ModeNames.growing_kinds`, where modes are named by their shapes."""

    unstable: NDArray[np.int8]
    kind: NDArray[np.uint8]
    static: Array
    dynamic: Array
    growth: Array | None
    growing: NDArray[np.uint8]

    @staticmethod
    def empty(count: int, growth: bool) -> Classification:
        numbers = [np.full(count, np.nan) for _ in range(3 if growth else 2)]
        kind = np.full(count, NOT_REACHED, dtype=np.uint8)
        grown = numbers[2] if growth else None
        return Classification(
            np.full(count, -1, dtype=np.int8), kind, numbers[0], numbers[1], grown, np.zeros(count, dtype=np.uint8)
        )

    def put(self, some: slice, part: Classification) -> None:
        """Store the results of a slice."""
        for entry in fields(self):
            if getattr(self, entry.name) is not None:
                getattr(self, entry.name)[some] = getattr(part, entry.name)


class Rule(NamedTuple):
    """How the pairs of a map are classified: the number of modes that are neutral everywhere, as those of motions that form a
    family at constant inputs; whether by eigenvalues, since coefficients of the characteristic polynomial of modes of very
    different speeds have no digits; and names of the modes, of two-wheelers with more of them than rigid ones have."""

    constant: int
    by_eigenvalues: bool
    names: ModeNames | None

    @staticmethod
    def of(family: Family, one: Array, other: Array) -> Rule:
        rng = np.random.default_rng(2007)
        points = np.column_stack([rng.uniform(v.min(), v.max(), SAMPLES) for v in (one, other)])
        points = np.vstack([family._at, points])
        coefficients, exists = family.polynomials(points)
        if coefficients.shape[1] <= WHIPPLE and _has_digits(coefficients[exists]):
            return Rule(0, False, None)
        found = family.matrices(points)
        a = found.A[found.found]
        constant = int(Spectrum.of(a).zero.sum(axis=1).min()) if len(a) else 0
        coefficients = characteristic(a)[:, : a.shape[1] - constant]
        names = ModeNames(family) if coefficients.shape[1] > WHIPPLE else None
        if names is not None and names.roles(a) is None:
            names = None
        return Rule(constant, names is not None or not _has_digits(coefficients), names)


def _has_digits(coefficients: Array) -> bool:
    """Whether the last coefficients at most points are more than rounding error of the roots' products."""
    count = coefficients.shape[1]
    return not coefficients.size or bool(np.median(np.abs(coefficients[:, -1]) / root_size(coefficients) ** count) >= DIGITS)


def classify(family: Family, grid_points: Array, rule: Rule, growth: bool) -> Classification:
    """All arrays at some points, without the modes that are neutral everywhere."""
    found = Classification.empty(len(grid_points), growth)
    matrices = family.matrices(grid_points) if growth or rule.by_eigenvalues else None
    if rule.by_eigenvalues:
        assert matrices is not None
        _classify_by_eigenvalues(found, matrices.A, matrices.found, rule)
    else:
        if matrices is None:
            coefficients, exists = family.polynomials(grid_points)
        else:
            exists = matrices.found
            coefficients = characteristic(np.where(exists[:, None, None], matrices.A, 0.0))
        coefficients = coefficients[:, : coefficients.shape[1] - rule.constant]
        unstable, sure = unstable_roots(coefficients)
        real = np.minimum(unstable, 1)
        many = np.flatnonzero(unstable > 1)
        real[many] = positive_real_roots(coefficients[many])
        neutral = np.zeros(len(grid_points), dtype=bool)
        open_ones = np.flatnonzero(exists & ~sure)
        if len(open_ones):
            a = family.matrices(grid_points[open_ones]).A if matrices is None else matrices.A[open_ones]
            unstable[open_ones], real[open_ones], neutral[open_ones] = _numbers(Spectrum.of(a), rule.constant)
        _store(found, exists, unstable, real, neutral)
        found.static[:] = np.where(exists, coefficients[:, -1], np.nan)
        found.dynamic[:] = np.where(exists, pairs_on_the_axis(coefficients), np.nan)
    if found.growth is not None and matrices is not None:
        some = matrices.found
        found.growth[some] = _varying_eigenvalues(matrices.A[some], rule.constant).real.max(axis=1)
    return found


def _classify_by_eigenvalues(found: Classification, matrices: Array, exists: NDArray[np.bool_], rule: Rule) -> None:
    """The numbers and, if there are some, the names of growing modes; test functions are products of eigenvalues, and of sums of
    two of them (Orlando), of bounded size."""
    spectrum = Spectrum.of(matrices)
    _store(found, exists, *_numbers(spectrum, rule.constant))
    some = np.flatnonzero(exists)
    z = _varying_eigenvalues(matrices[some], rule.constant)
    first, second = np.triu_indices(z.shape[1], 1)
    found.static[some] = (z / (1.0 + np.abs(z))).prod(axis=1).real
    found.dynamic[some] = ((z[:, first] + z[:, second]) / (1.0 + np.abs(z[:, first]) + np.abs(z[:, second]))).prod(axis=1).real
    grows = np.flatnonzero(exists & (found.unstable > 0))
    if rule.names is not None and len(grows):
        found.growing[grows] = rule.names.growing_kinds(matrices[grows])


def _store(
    found: Classification,
    exists: NDArray[np.bool_],
    unstable: NDArray[np.int64],
    real: NDArray[np.int64],
    neutral: NDArray[np.bool_],
) -> None:
    found.unstable[:] = np.where(exists, unstable, -1)
    found.kind[:] = np.where(exists, np.where(neutral & (unstable == 0), UNDECIDED, _kind(unstable, real)), MISSING)


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


def _numbers(spectrum: Spectrum, constant: int) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
    """Number of unstable modes, of real ones among them, and whether any mode is neutral besides those that always are."""
    neutral = ~(spectrum.growing | spectrum.decaying)
    return (
        spectrum.growing.sum(axis=1),
        (spectrum.growing & ~spectrum.oscillating).sum(axis=1),
        np.asarray(neutral.sum(axis=1) > constant),
    )
