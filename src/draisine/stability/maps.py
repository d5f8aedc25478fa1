"""Stability over two quantities at once: which steady motions last, and in which way the others end.

Every pair of values has its steady motion and its exact linear model. Stability is decided on the characteristic polynomial
(`routh`), without eigenvalues; these are computed only where the polynomial leaves it open, or the rate of growth is asked for.

>>> import draisine as dr
>>> m = dr.stability_map(dr.gallery.bicycle(), {"speed": (0, 10, 41), "trail": (0.02, 0.14, 25)}, states=("lean", "steer"))
>>> m.at(speed=5.0, trail=0.08), m.at(speed=3.0, trail=0.08), m.at(speed=8.0, trail=0.08)
('stable', 'weave', 'capsize')
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from draisine.model.errors import ModelError
from draisine.model.items import System
from draisine.model.model import Model
from draisine.program.equations import Equations
from draisine.stability.family import Family, sweep_values
from draisine.stability.routh import characteristic, pairs_on_the_axis, positive_real_roots, root_size, unstable_roots

if TYPE_CHECKING:
    import xarray

Array = NDArray[np.float64]

CHUNK = 32_768  # pairs in memory at once
NEUTRAL = 1e-9  # a growth this small beside the fastest mode is none
SAMPLES = 20  # pairs at which it is looked for modes that are constant everywhere

STABLE, REAL, PAIR, BOTH, SEVERAL, UNDECIDED, MISSING, NOT_REACHED = range(8)
_KINDS = (
    "stable",
    "a mode grows",
    "an oscillation grows",
    "an oscillation and a mode grow",
    "several modes grow",
    "neutral",
    "no steady motion",
    "not computed",
)
_BICYCLE = ("stable", "capsize", "weave", "weave and capsize", "falls without oscillation", *_KINDS[UNDECIDED:])


@dataclass(frozen=True, eq=False)
class StabilityMap:
    """Stability at pairs of values: arrays have one axis per quantity of `over`, in that order.

    - `unstable`: number of modes that grow; −1 where there is no steady motion;
    - `kind`: what grows, as a number; `kinds` has the words;
    - `static`, `dynamic`: change sign where a real mode, or a pair, passes the imaginary axis: the boundaries are their zeros;
    - `growth`: largest real part, 1/s, if it was asked for;
    - `constant`: modes with eigenvalue zero all over the map, which do not count: motions that form a family, as turns at
      constant torques do, have one.
    """

    model: str
    over: tuple[str, str]
    values: dict[str, Array] = field(repr=False)
    unstable: NDArray[np.int8] = field(repr=False)
    kind: NDArray[np.uint8] = field(repr=False)
    static: Array = field(repr=False)
    dynamic: Array = field(repr=False)
    growth: Array | None = field(repr=False)
    kinds: tuple[str, ...]
    states: tuple[str, ...]
    constant: int
    complete: bool
    units: dict[str, str] = field(repr=False)

    @property
    def stable(self) -> NDArray[np.bool_]:
        """Where every mode decays."""
        return np.asarray(self.kind == STABLE)

    @property
    def share(self) -> dict[str, float]:
        """Share of the map that each kind takes."""
        return {name: float(np.mean(self.kind == k)) for k, name in enumerate(self.kinds) if np.any(self.kind == k)}

    def at(self, **place: float) -> str:
        """The kind at the grid point nearest to a pair of values, e.g. `at(speed=5.0, trail=0.08)`."""
        if set(place) != set(self.over):
            raise ModelError(
                f"a place on this map is told by {self.over[0]} and {self.over[1]}; got {', '.join(place) or 'nothing'}"
            )
        index = tuple(int(np.argmin(np.abs(self.values[name] - place[name]))) for name in self.over)
        return self.kinds[self.kind[index]]

    @property
    def boundaries(self) -> dict[str, Array]:
        """Points (n, 2) where a real mode or a pair passes the axis, by name, interpolated between neighbours on the grid."""
        found = {}
        for kind, test, change in ((REAL, self.static, 1), (PAIR, self.dynamic, 2)):
            points = np.vstack([_crossings(self, test, change, axis) for axis in (0, 1)])
            if len(points):
                found[self.kinds[kind]] = points
        return found

    def as_data(self) -> dict[str, Any]:
        """Plain numbers and texts, for JSON."""
        arrays = {"kind": self.kind, "unstable": self.unstable} | ({} if self.growth is None else {"growth": self.growth})
        return {
            "model": self.model,
            "over": list(self.over),
            "values": {name: v.tolist() for name, v in self.values.items()},
            "kinds": list(self.kinds),
            "complete": self.complete,
            **{name: array.tolist() for name, array in arrays.items()},
        }

    def to_xarray(self) -> xarray.Dataset:
        """A Dataset over the two quantities, with all arrays."""
        from draisine.results.optional import needed

        arrays: dict[str, Any] = {"unstable": self.unstable, "kind": self.kind, "static": self.static, "dynamic": self.dynamic}
        if self.growth is not None:
            arrays["growth"] = self.growth
        made = needed("xarray", "to_xarray()").Dataset(
            {name: (self.over, array) for name, array in arrays.items()},
            coords={name: (name, v, {"units": self.units.get(name, "")}) for name, v in self.values.items()},
            attrs={"model": self.model, "states": ", ".join(self.states)},
        )
        made["kind"].attrs |= {"flag_values": list(range(len(self.kinds))), "flag_meanings": "; ".join(self.kinds)}
        return made

    if TYPE_CHECKING:  # attached by `draisine.drawn.stability`, since stability knows no pictures

        def plot(self, **options: Any) -> Any: ...

    def __str__(self) -> str:
        shares = ", ".join(f"{name} {share:.1%}" for name, share in self.share.items())
        ranges = ", ".join(f"{name} {v[0]:g} … {v[-1]:g} ({len(v)})" for name, v in self.values.items())
        family = f" ({self.constant} constant mode{'s' if self.constant > 1 else ''} all over)" if self.constant else ""
        return f"{self.model} over {ranges}: {shares}{family}"


def stability_map(
    model: Model | System | Equations,
    over: Mapping[str, ArrayLike | tuple[float, float, int]],
    *,
    fixed: Mapping[str, float] | None = None,
    free: Sequence[str] = (),
    near: Mapping[str, float] | None = None,
    parameters: Mapping[str, float] | None = None,
    states: Sequence[str] = (),
    growth: bool = False,
    progress: Callable[[float], None] | None = None,
) -> StabilityMap:
    """The stability of steady motions over two quantities, each a parameter, an input, a state or an output of motion.

    - `over`: two names with (first, last, number of values) or the values themselves;
    - `fixed`, `free`, `near`, `parameters`: which steady motions, as in `steady`; `states`: what tells deviations, as in
      `linearize`; with lean and steer among them the kinds have a bicycle's names;
    - `growth`: also the largest real part of the eigenvalues, which takes several times as long;
    - `progress`: called with the share that is done. An interrupt (Ctrl-C) gives the map as far as it is.
    """
    if len(over) != 2:
        raise ModelError(
            f"a stability map is over two quantities, as in {{'speed': (0, 10, 200), 'trail': (0, 0.2, 100)}}; got {len(over)}"
        )
    one, other = over
    values = {name: sweep_values(name, given) for name, given in over.items()}
    middle = {name: float(v[len(v) // 2]) for name, v in values.items()}
    family = Family(model, middle, fixed=fixed, free=free, near=near, parameters=parameters, states=states)
    shape = (len(values[one]), len(values[other]))
    found = _Found.empty(shape[0] * shape[1], growth)
    constant = _constant_modes(family, values[one], values[other])
    if constant == len(family.states):
        raise ModelError(f"{family.equations.name}: no deviation from these motions changes anything; there is nothing to map")
    complete = _fill(found, family, values[one], values[other], constant, progress)
    e = family.equations
    return StabilityMap(
        e.name,
        (one, other),
        values,
        found.unstable.reshape(shape),
        found.kind.reshape(shape),
        found.static.reshape(shape),
        found.dynamic.reshape(shape),
        None if found.growth is None else found.growth.reshape(shape),
        _BICYCLE if {"lean", "steer"} <= set(family.states) else _KINDS,
        family.states,
        constant,
        complete,
        {q.name: q.unit for q in (*e.states, *e.velocities, *e.inputs, *e.outputs, *e.parameters)},
    )


@dataclass
class _Found:
    """The map's arrays while they are filled."""

    unstable: NDArray[np.int8]
    kind: NDArray[np.uint8]
    static: Array
    dynamic: Array
    growth: Array | None

    @staticmethod
    def empty(count: int, growth: bool) -> _Found:
        numbers = [np.full(count, np.nan) for _ in range(3 if growth else 2)]
        kind = np.full(count, NOT_REACHED, dtype=np.uint8)
        return _Found(np.full(count, -1, dtype=np.int8), kind, numbers[0], numbers[1], numbers[2] if growth else None)


def _fill(
    found: _Found, family: Family, one: Array, other: Array, constant: int, progress: Callable[[float], None] | None
) -> bool:
    """Chunk by chunk; False if it was interrupted."""
    count = len(found.kind)
    for first in range(0, count, CHUNK):
        try:
            some = slice(first, min(first + CHUNK, count))
            rows, columns = np.divmod(np.arange(some.start, some.stop), len(other))
            _judge(found, some, family, np.column_stack([one[rows], other[columns]]), constant)
            if progress is not None:
                progress(some.stop / count)
        except KeyboardInterrupt:
            warnings.warn(f"the map was interrupted after {first} of {count} pairs; the rest is marked so", stacklevel=3)
            return False
    return True


def _constant_modes(family: Family, one: Array, other: Array) -> int:
    """Roots that are zero at random pairs: where motions form a family at constant inputs, going along it is no growth."""
    rng = np.random.default_rng(2007)
    points = np.column_stack([rng.uniform(v.min(), v.max(), SAMPLES) for v in (one, other)])
    coefficients, exists = family.polynomials(np.vstack([family._at, points]))
    some = coefficients[exists]
    k = np.arange(1, some.shape[1] + 1)
    small = np.abs(some).max(axis=0, initial=0.0) <= NEUTRAL * (root_size(some)[:, None] ** k).min(axis=0, initial=np.inf)
    return int(np.argmin(small[::-1])) if not small.all() else len(small)


def _judge(found: _Found, some: slice, family: Family, points: Array, constant: int) -> None:
    """All arrays at some points, less the modes that are constant everywhere."""
    matrices = family.matrices(points) if found.growth is not None else None
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
    found.unstable[some] = np.where(exists, unstable, -1)
    found.kind[some] = np.where(exists, np.where(neutral & (unstable == 0), UNDECIDED, _kind(unstable, real)), MISSING)
    found.static[some] = np.where(exists, coefficients[:, -1], np.nan)
    found.dynamic[some] = np.where(exists, pairs_on_the_axis(coefficients), np.nan)
    if found.growth is not None and matrices is not None:
        largest = np.full(len(points), np.nan)
        largest[exists] = _moving(matrices.A[exists], constant).real.max(axis=1)
        found.growth[some] = largest


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


def _crossings(m: StabilityMap, test: Array, change: int, axis: int) -> Array:
    """Between neighbours along an axis where the test changes its sign and as many modes as it is about change theirs."""
    along, across = (m.values[m.over[k]] for k in (axis, 1 - axis))
    f, unstable = (np.moveaxis(a, axis, 0) for a in (test, m.unstable.astype(int)))
    known = (unstable[1:] >= 0) & (unstable[:-1] >= 0)
    i, j = np.nonzero(known & (f[1:] * f[:-1] < 0) & (np.abs(np.diff(unstable, axis=0)) == change))
    share = f[i, j] / (f[i, j] - f[i + 1, j])
    place = along[i] + share * (along[i + 1] - along[i])
    points = [place, across[j]]
    return np.column_stack(points if axis == 0 else points[::-1])
