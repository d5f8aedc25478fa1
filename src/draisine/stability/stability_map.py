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
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from draisine.errors import ArgumentError, ModelError, require
from draisine.model.items import System
from draisine.model.model import Model
from draisine.numerics.parallel import Job
from draisine.program.equations import Equations
from draisine.results.base import Result, figure
from draisine.stability.classification import CHUNK, PAIR, REAL, STABLE, UNDECIDED, Judging, Verdicts
from draisine.stability.steady_family import sweep_values

if TYPE_CHECKING:
    import xarray

Array = NDArray[np.float64]

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
class StabilityMap(Result):
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
            raise ArgumentError(
                f"a place on this map is told by {self.over[0]} and {self.over[1]}; got {', '.join(place) or 'nothing'}"
            )
        index = tuple(int(np.argmin(np.abs(self.values[name] - place[name]))) for name in self.over)
        return self.kinds[self.kind[index]]

    @property
    def boundaries(self) -> dict[str, Array]:
        """Points (n, 2) where a real mode or a pair passes the axis, by name, interpolated between neighbors on the grid."""
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
        arrays: dict[str, Any] = {"unstable": self.unstable, "kind": self.kind, "static": self.static, "dynamic": self.dynamic}
        if self.growth is not None:
            arrays["growth"] = self.growth
        made = require("xarray", "to_xarray()").Dataset(
            {name: (self.over, array) for name, array in arrays.items()},
            coords={name: (name, v, {"units": self.units.get(name, "")}) for name, v in self.values.items()},
            attrs={"model": self.model, "states": ", ".join(self.states)},
        )
        made["kind"].attrs |= {"flag_values": list(range(len(self.kinds))), "flag_meanings": "; ".join(self.kinds)}
        return made

    def _table(self) -> Mapping[str, Any]:
        axes = np.meshgrid(*self.values.values(), indexing="ij")
        places = {name: axis.ravel() for name, axis in zip(self.values, axes, strict=True)}
        grown = {} if self.growth is None else {"growth": self.growth.ravel()}
        return {**places, "kind": np.array(self.kinds)[self.kind.ravel()], "unstable": self.unstable.ravel(), **grown}

    def _overview(self) -> Mapping[str, Any]:
        return {"kind": list(self.share), "share of the map": list(self.share.values())}

    def plot(self, **options: Any) -> Any:
        """Regions by what grows in them, boundaries labeled; see `draisine.view.plots.parameter_studies`."""
        regions = self.values, self.kind, self.kinds, self.boundaries
        return figure("plots.parameter_studies.stability_regions", *regions, units=self.units, **options)

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
    chunk: int = CHUNK,
    on: Any = None,
    progress: Callable[[float], None] | None = None,
) -> StabilityMap:
    """The stability of steady motions over two quantities, each a parameter, an input, a state or an output of motion.

    - `over`: two names with (first, last, number of values) or the values themselves;
    - `fixed`, `free`, `near`, `parameters`: which steady motions, as in `steady`; `states`: what tells deviations, as in
      `linearize`; with lean and steer among them the kinds have a bicycle's names;
    - `growth`: also the largest real part of the eigenvalues, which takes several times as long;
    - `chunk`: pairs that are judged together; `on`: who computes them, as in `ensemble`: a `distributed.Client`, or an executor
      of processes;
    - `progress`: called with the share that is done. An interrupt (Ctrl-C) gives the map as far as it is.
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
    judging = Judging(described, values, fixed, tuple(free), near, parameters, tuple(states), growth, chunk)
    family, shape = judging.family(), judging.shape
    found = Verdicts.empty(shape[0] * shape[1], growth)
    constant = judging.constant_modes(family)
    if constant == len(family.states):
        raise ModelError(f"{family.equations.name}: no deviation from these motions changes anything; there is nothing to map")
    here = judging.of(family, constant)
    chunks = range(judging.chunks)
    made = ((chunk, here(chunk)) for chunk in chunks) if on is None else Job.of(judging).run(chunks, on)
    complete = _fill(found, judging, made, progress)
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


def _fill(
    found: Verdicts, judging: Judging, made: Iterable[tuple[int, Verdicts]], progress: Callable[[float], None] | None
) -> bool:
    """Chunk by chunk, as they come; False if it was interrupted."""
    done, count = 0, len(found.kind)
    try:
        for chunk, part in made:
            found.put(judging.place(chunk), part)
            done += len(part.kind)
            if progress is not None:
                progress(done / count)
    except KeyboardInterrupt:
        warnings.warn(f"the map was interrupted after {done} of {count} pairs; the rest is marked so", stacklevel=3)
        return False
    return True


def _crossings(m: StabilityMap, test: Array, change: int, axis: int) -> Array:
    """Between neighbors along an axis where the test changes its sign and as many modes as it is about change theirs."""
    along, across = (m.values[m.over[k]] for k in (axis, 1 - axis))
    f, unstable = (np.moveaxis(a, axis, 0) for a in (test, m.unstable.astype(int)))
    known = (unstable[1:] >= 0) & (unstable[:-1] >= 0)
    i, j = np.nonzero(known & (f[1:] * f[:-1] < 0) & (np.abs(np.diff(unstable, axis=0)) == change))
    share = f[i, j] / (f[i, j] - f[i + 1, j])
    place = along[i] + share * (along[i + 1] - along[i])
    points = [place, across[j]]
    return np.column_stack(points if axis == 0 else points[::-1])
