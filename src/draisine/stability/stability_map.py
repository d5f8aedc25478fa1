"""Stability maps: stability of steady motions over two quantities, and the kind of instability.

Every pair of values has its steady motion and its exact linear model. Stability is decided on the characteristic polynomial
(`routh`); eigenvalues are computed only where it does not decide, where the growth rate is requested, where modes of very
different speeds leave its coefficients no digits, and for two-wheelers with more modes than rigid ones have, whose growing modes
are named by their shapes.

>>> import draisine as dr
>>> over = {"speed": (0, 10, 41), "trail": (0.02, 0.14, 25)}
>>> m = dr.stability.stability_map(dr.gallery.bicycle(), over, states=("lean", "steer"))
>>> m.at(speed=5.0, trail=0.08), m.at(speed=3.0, trail=0.08), m.at(speed=8.0, trail=0.08)
('stable', 'weave', 'capsize')
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from draisine.errors import ArgumentError, ModelError, require
from draisine.model.model import Model
from draisine.model.system import System
from draisine.numerics.parallel import Job
from draisine.program.arguments import checked, number_in
from draisine.program.equations import Equations
from draisine.results.base import Result, figure
from draisine.results.status import Progress, ProgressCallback
from draisine.simulation.contact_margins import contact_kernel, contact_margins
from draisine.stability.classification import CHUNK, PAIR, REAL, STABLE, UNDECIDED, Classification, ClassificationJob
from draisine.stability.mode_names import GROWING
from draisine.stability.steady_family import Family, sweep_values

if TYPE_CHECKING:
    import xarray

Array = NDArray[np.float64]

INSIDE = 1e-9  # of the range: rounding at the edge of a map
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
MOST_PAIRS = 25_000_000  # whose map is held in memory
FORCES = 60  # largest number of values of each quantity at which contact forces are computed
_BICYCLE = ("stable", "capsize", "weave", "weave and capsize", "falls without oscillation", *_KINDS[UNDECIDED:])


@dataclass(frozen=True, eq=False)
class StabilityMap(Result):
    """Stability at pairs of values: arrays have one axis per quantity of `over`, in that order.

    - `unstable`: number of modes that grow; −1 where there is no steady motion;
    - `kind`: the kind of instability as a number, an index of `kinds`; two-wheelers with tires or flexible parts have further
      kinds, named by the modes that grow, as "weave and wobble";
    - `static`, `dynamic`: test functions that change sign where a real mode, or a pair, crosses the imaginary axis;
    - `growth`: largest real part, 1/s, if requested;
    - `normal_force`: the least normal force of ideal contacts, N, if there are any: where it is negative the ground would have
      to pull. It is computed at up to 60 values of each quantity and interpolated between them;
    - `constant`: number of neutral modes on the whole map, which do not count: motions that form a family, as turns at
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
    normal_force: Array | None = field(repr=False, default=None)

    @property
    def pulled(self) -> NDArray[np.bool_]:
        """Where the ground would have to pull: with ideal contacts such a motion is not possible."""
        force = self.normal_force
        return np.zeros(self.kind.shape, dtype=bool) if force is None else np.asarray(force < 0.0)

    @property
    def stable(self) -> NDArray[np.bool_]:
        """Where every mode decays."""
        return np.asarray(self.kind == STABLE)

    @property
    def share(self) -> dict[str, float]:
        """Fraction of the map that each kind covers."""
        return {name: float(np.mean(self.kind == k)) for k, name in enumerate(self.kinds) if np.any(self.kind == k)}

    def at(self, **values: float | str) -> str:
        """The kind at the grid point nearest to a pair of values, e.g. `at(speed=5.0, trail="8 cm")`."""
        if set(values) != set(self.over):
            raise ArgumentError(
                f"give {self.over[0]} and {self.over[1]}, the axes of this map; got {', '.join(values) or 'nothing'}"
            )
        index = []
        for name in self.over:
            axis, value = self.values[name], number_in(values[name], self.units.get(name), name)
            low, high = float(axis.min()), float(axis.max())
            if value is None:
                raise ArgumentError(f"{self.model}: {name} = {values[name]!r} is not a number")
            if not low - INSIDE * (high - low) <= value <= high + INSIDE * (high - low):
                raise ArgumentError(
                    f"{self.model}: this map has {name} from {low:g} to {high:g}; {name} = {value:.12g} is outside"
                )
            index.append(int(np.argmin(np.abs(axis - value))))
        return self.kinds[self.kind[tuple(index)]]

    @property
    def boundaries(self) -> dict[str, Array]:
        """Points (n, 2) where a real mode or a pair crosses the axis, by name, interpolated between grid points."""
        found = {}
        for kind, test, change in ((REAL, self.static, 1), (PAIR, self.dynamic, 2)):
            points = np.vstack([_crossings(self, test, change, axis) for axis in (0, 1)])
            if len(points):
                found[self.kinds[kind]] = points
        return found

    def as_data(self) -> dict[str, Any]:
        """Plain numbers and texts, for JSON."""
        arrays = {"kind": self.kind, "unstable": self.unstable} | ({} if self.growth is None else {"growth": self.growth})
        arrays |= {} if self.normal_force is None else {"normal_force": self.normal_force}
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
        arrays: dict[str, Any] = {"unstable": self.unstable, "kind": self.kind, "static": self.static, "dynamic": self.dynamic}
        if self.growth is not None:
            arrays["growth"] = self.growth
        if self.normal_force is not None:
            arrays["normal_force"] = self.normal_force
        chunks_done = require("xarray", "to_xarray()").Dataset(
            {name: (self.over, array) for name, array in arrays.items()},
            coords={name: (name, v, {"units": self.units.get(name, "")}) for name, v in self.values.items()},
            attrs={"model": self.model, "states": ", ".join(self.states)},
        )
        chunks_done["kind"].attrs |= {"flag_values": list(range(len(self.kinds))), "flag_meanings": "; ".join(self.kinds)}
        return chunks_done

    def _table(self) -> Mapping[str, Any]:
        axes = np.meshgrid(*self.values.values(), indexing="ij")
        places = {name: axis.ravel() for name, axis in zip(self.values, axes, strict=True)}
        grown = {} if self.growth is None else {"growth": self.growth.ravel()}
        if self.normal_force is not None:
            grown["normal_force"] = self.normal_force.ravel()
        return {**places, "kind": np.array(self.kinds)[self.kind.ravel()], "unstable": self.unstable.ravel(), **grown}

    def _overview(self) -> Mapping[str, Any]:
        return {"kind": list(self.share), "share of the map": list(self.share.values())}

    def plot(self, **options: Any) -> Any:
        """Regions by kind of instability, with labeled boundaries; see `draisine.view.plots.parameter_studies`."""
        regions = self.values, self.kind, self.kinds, self.boundaries
        return figure("plots.parameter_studies.stability_regions", *regions, units=self.units, pulled=self.pulled, **options)

    def __str__(self) -> str:
        shares = ", ".join(f"{name} {share:.1%}" for name, share in self.share.items())
        ranges = ", ".join(f"{name} {v[0]:g} … {v[-1]:g} ({len(v)})" for name, v in self.values.items())
        family = f" ({self.constant} neutral mode{'s' if self.constant > 1 else ''} everywhere)" if self.constant else ""
        pulled = f"; the ground would have to pull on {np.mean(self.pulled):.1%} of the map" if self.pulled.any() else ""
        return f"{self.model} over {ranges}: {shares}{family}{pulled}"


@checked
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
    chunk: int = CHUNK,
    on: Any = None,
    progress: ProgressCallback | None = None,
) -> StabilityMap:
    """The stability of steady motions over two quantities, each a parameter, an input, a state or an output of motion.

    - `over`: two names with (first, last, number of values) or the values themselves;
    - `fixed`, `free`, `near`, `parameters`: which steady motions, as in `steady`; `states`: states of the linear models, as in
      `linearize`; with lean and steer among them the kinds have the names of bicycle modes;
    - `growth`: also the largest real part of the eigenvalues, which takes several times as long;
    - `chunk`: pairs computed together; `on`: where they are computed, as in `ensemble`: a `distributed.Client`, or a process
      executor;
    - `progress`: called with a `Progress` after every chunk of points. An interrupt (Ctrl-C) returns the map computed so far.
    """
    if len(over) != 2:
        raise ArgumentError(
            f"a stability map is over two quantities, as in {{'speed': (0, 10, 200), 'trail': (0, 0.2, 100)}}; got {len(over)}"
        )
    one, other = over
    values = {name: sweep_values(name, given) for name, given in over.items()}
    described = model.freeze() if isinstance(model, Model) else model
    if chunk < 1:
        raise ArgumentError(f"chunk: at least one pair, got {chunk}")
    count = math.prod(len(given) for given in values.values())
    if count > MOST_PAIRS:
        raise ArgumentError(f"a stability map has at most {MOST_PAIRS:,} pairs of values, got {count:,}; give fewer")
    job = ClassificationJob(described, values, fixed, tuple(free), near, parameters, tuple(states), growth, chunk)
    family, shape = job.family(), job.shape
    found = Classification.empty(shape[0] * shape[1], growth)
    rule = job.rule(family)
    if rule.constant == len(family.states):
        raise ModelError(f"{family.equations.name}: all deviations from these motions are neutral; there is nothing to map")
    family.warn_without_effect(values, 3)
    classify_chunk = job.of(family, rule)
    chunks = range(job.chunks)
    chunks_done = ((chunk, classify_chunk(chunk)) for chunk in chunks) if on is None else Job.of(job).run(chunks, on)
    complete = _fill(found, job, chunks_done, progress)
    kinds = _BICYCLE if {"lean", "steer"} <= set(family.states) and rule.names is None else _KINDS
    kind, kinds = _by_shape(found, kinds)
    e = family.equations
    return StabilityMap(
        e.name,
        (one, other),
        values,
        found.unstable.reshape(shape),
        kind.reshape(shape),
        found.static.reshape(shape),
        found.dynamic.reshape(shape),
        None if found.growth is None else found.growth.reshape(shape),
        kinds,
        family.states,
        rule.constant,
        complete,
        {q.name: q.unit for q in (*e.states, *e.velocities, *e.inputs, *e.outputs, *e.parameters)},
        _normal_force(family, *values.values()),
    )


def _by_shape(found: Classification, kinds: tuple[str, ...]) -> tuple[NDArray[np.uint8], tuple[str, ...]]:
    """The kind of each pair, and the names of all kinds: where modes are named by their shapes, those that grow."""
    named = np.flatnonzero(found.growing)
    sets, own = np.unique(found.growing[named], return_inverse=True)
    kind = found.kind.copy()
    kind[named] = len(kinds) + own
    more = (" and ".join(name for bit, name in enumerate(GROWING) if some >> bit & 1) for some in sets.tolist())
    return kind, (*kinds, *more)


def _fill(
    found: Classification,
    job: ClassificationJob,
    chunks_done: Iterable[tuple[int, Classification]],
    progress: ProgressCallback | None,
) -> bool:
    """Store the chunks as they arrive; False if interrupted."""
    done, count = 0, len(found.kind)
    try:
        for chunk, part in chunks_done:
            found.put(job.chunk_slice(chunk), part)
            done += len(part.kind)
            if progress is not None:
                progress(Progress.counted("point", done, count))
    except KeyboardInterrupt:
        warnings.warn(f"the map was interrupted after {done} of {count} pairs; the rest is marked 'not computed'", stacklevel=3)
        return False
    return True


def _normal_force(family: Family, one: Array, other: Array) -> Array | None:
    """The least normal force of ideal contacts over the map; NaN where there is no steady motion."""
    margins, kernel = contact_margins(family.equations), contact_kernel(family.equations)
    if margins is None or kernel is None or not margins.normal:
        return None
    some = [v[np.unique(np.linspace(0, len(v) - 1, min(len(v), FORCES)).round().astype(int))] for v in (one, other)]
    points = np.stack(np.meshgrid(*some, indexing="ij"), axis=-1).reshape(-1, 2)
    states, found = family.states_at(points)
    least = margins.least_force(kernel.map(*states)[0])
    force = np.where(found, least, np.nan).reshape(len(some[0]), len(some[1]))
    by_row = np.array([_interpolated(other, some[1], row) for row in force])
    return np.array([_interpolated(one, some[0], column) for column in by_row.T]).T


def _interpolated(at: Array, known: Array, values: Array) -> Array:
    order = np.argsort(known)
    return np.interp(at, known[order], values[order])


def _crossings(m: StabilityMap, test: Array, change: int, axis: int) -> Array:
    """Interpolated points along an axis where the test function and as many modes as it concerns change sign."""
    along, across = (m.values[m.over[k]] for k in (axis, 1 - axis))
    f, unstable = (np.moveaxis(a, axis, 0) for a in (test, m.unstable.astype(int)))
    known = (unstable[1:] >= 0) & (unstable[:-1] >= 0)
    i, j = np.nonzero(known & (f[1:] * f[:-1] < 0) & (np.abs(np.diff(unstable, axis=0)) == change))
    share = f[i, j] / (f[i, j] - f[i + 1, j])
    position = along[i] + share * (along[i + 1] - along[i])
    points = [position, across[j]]
    return np.column_stack(points if axis == 0 else points[::-1])
