"""Values in which runs differ: grids, tables and random draws, computed when needed."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from draisine.errors import ArgumentError
from draisine.numerics.number_range import counted_range, with_number_range

__all__ = ["Distribution", "Normal", "Uniform"]

Reals = NDArray[np.float64]

PAGE = 1024  # runs whose random numbers are drawn together; they depend on seed, name and page alone
MOST_VALUES = 100_000_000  # of one axis


class Distribution(Protocol):
    """A distribution of random numbers."""

    def draw(self, random: np.random.Generator, count: int) -> Reals: ...


@with_number_range
@dataclass(frozen=True)
class Uniform:
    """Uniform distribution between `low` and `high`."""

    low: float
    high: float

    def __post_init__(self) -> None:
        if not self.low < self.high:
            raise ArgumentError(f"Uniform: low must be below high, got {self.low!r} and {self.high!r}")

    def draw(self, random: np.random.Generator, count: int) -> Reals:
        return random.uniform(self.low, self.high, count)


@with_number_range
@dataclass(frozen=True)
class Normal:
    """Normal distribution with mean `mean` and standard deviation `deviation`."""

    mean: float
    deviation: float

    def __post_init__(self) -> None:
        if not self.deviation > 0:
            raise ArgumentError(f"Normal: the deviation must be positive, got {self.deviation!r}")

    def draw(self, random: np.random.Generator, count: int) -> Reals:
        return random.normal(self.mean, self.deviation, count)


class SampleValues(Protocol):
    """Names, and their values for each run."""

    @property
    def names(self) -> tuple[str, ...]: ...
    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the grid, or the number of runs."""

    def values(self, begin: int, end: int) -> dict[str, Reals]:
        """The values of runs from `begin` to before `end`."""

    def reported(self) -> str:
        """A text that determines the values, for fingerprints."""


@dataclass(frozen=True, eq=False)
class Grid:
    """All combinations of values; the last name varies fastest."""

    axes: dict[str, Reals]

    @staticmethod
    def of(over: Mapping[str, ArrayLike | tuple[float, float, int]]) -> Grid:
        return Grid({name: _axis(name, given) for name, given in over.items()})

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.axes)

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(len(axis) for axis in self.axes.values())

    def values(self, begin: int, end: int) -> dict[str, Reals]:
        indices = np.unravel_index(np.arange(begin, end), self.shape)
        return {name: axis[index] for (name, axis), index in zip(self.axes.items(), indices, strict=True)}

    def reported(self) -> str:
        return f"grid {[(name, _digest(axis)) for name, axis in self.axes.items()]}"


@dataclass(frozen=True, eq=False)
class Drawn:
    """Columns of given numbers, and columns of random numbers."""

    count: int
    columns: dict[str, Reals]
    distributions: dict[str, Distribution]
    seed: int

    @staticmethod
    def of(cases: Any, runs: int | None, seed: int) -> Drawn:
        """From a table (a mapping of columns, or a DataFrame) of arrays and distributions."""
        columns: dict[str, Reals] = {}
        drawn: dict[str, Distribution] = {}
        for name in list(cases):
            given = cases[name]
            if hasattr(given, "draw"):
                drawn[str(name)] = given
            else:
                columns[str(name)] = _column(str(name), given)
        lengths = {name: len(column) for name, column in columns.items()}
        if len({*lengths.values(), *([runs] if runs is not None else [])}) > 1:
            listed = ", ".join(f"{name!r} has {n}" for name, n in lengths.items())
            raise ArgumentError(f"cases: all columns need as many numbers as there are runs; {listed}; runs = {runs}")
        if not lengths and runs is None:
            raise ArgumentError("cases: the number of draws is missing, e.g. runs=1000")
        count = next(iter(lengths.values())) if lengths else int(runs or 0)
        if count < 1:
            raise ArgumentError(f"cases: at least one run is needed, got {count}")
        return Drawn(count, columns, drawn, seed)

    @property
    def names(self) -> tuple[str, ...]:
        return (*self.columns, *self.distributions)

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.count,)

    def values(self, begin: int, end: int) -> dict[str, Reals]:
        found = {name: column[begin:end] for name, column in self.columns.items()}
        for name, distribution in self.distributions.items():
            first, last = begin // PAGE, -(-end // PAGE)
            pages = [distribution.draw(self._random(name, page), PAGE) for page in range(first, last)]
            found[name] = np.concatenate([np.zeros(0), *pages])[begin - first * PAGE : end - first * PAGE]
        return found

    def _random(self, name: str, page: int) -> np.random.Generator:
        own = int.from_bytes(hashlib.sha256(name.encode()).digest()[:4], "little")
        return np.random.Generator(np.random.PCG64(np.random.SeedSequence(self.seed, spawn_key=(own, page))))

    def reported(self) -> str:
        columns = [(name, _digest(column)) for name, column in self.columns.items()]
        return f"{self.count} samples, {columns}, {self.distributions!r}, seed {self.seed if self.distributions else None}"


def _axis(name: str, given: ArrayLike | tuple[float, float, int]) -> Reals:
    return _column(name, counted_range(repr(name), given, 1, MOST_VALUES))


def _column(name: str, given: Any) -> Reals:
    try:
        column = np.asarray(given, dtype=float)
    except (TypeError, ValueError):
        expected = "a list of numbers, one per run, or (first, last, count)"
        raise ArgumentError(f"{name!r}: give {expected}; got {given!r}") from None
    if column.ndim > 1 or not column.size:
        raise ArgumentError(f"{name!r}: give a list of numbers, one per run, or (first, last, count); got shape {column.shape}")
    return np.atleast_1d(column)


def _digest(column: Reals) -> str:
    return hashlib.sha256(np.ascontiguousarray(column).tobytes()).hexdigest()
