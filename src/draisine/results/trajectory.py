"""`Trajectory`: everything a run has to say, under names and with units.

All numbers stand in one table, a row per sample and a column per `Channel`; the rest is what people need to trust and repeat
the run: status, events, warnings, parameters, statistics, seconds.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from draisine.errors import ArgumentError, UnknownNameError
from draisine.results.base import Result, figure
from draisine.results.channel import STATE_GROUPS, Channel, Group, as_group
from draisine.results.files import FILMS, save
from draisine.results.sensitivity import Sensitivity
from draisine.results.status import Status
from draisine.results.summary import energy_balance, energy_scale, headline, summary, worst_residuals
from draisine.results.tables import to_pandas, to_xarray

if TYPE_CHECKING:
    import pandas
    import xarray

Array = NDArray[np.float64]

KINETIC, POTENTIAL, TOTAL, WORK = "kinetic_energy", "potential_energy", "total_energy", "work"


class Occurrence(NamedTuple):
    """An event that happened, and when."""

    name: str
    time: float


@dataclass(frozen=True)
class Segment:
    """Samples `start` to `stop` (excluded) ran in one mode, with one choice of independent velocities."""

    mode: str
    independent: tuple[str, ...]
    start: int
    stop: int


@dataclass(frozen=True)
class Statistics:
    """What the integration cost: evaluations of the state derivative, and steps accepted, rejected, and in all."""

    evaluations: int = 0
    accepted: int = 0
    rejected: int = 0
    steps: int = 0


@dataclass(frozen=True, eq=False, repr=False)
class Trajectory(Result):
    """A run: samples of every named quantity, how it went, and what it was made of.

    `run["speed"]` is a column; `run.time` the instants; `run.final` the state and outputs at the end; `run.at(1.5)` the
    values at an instant. `run.coordinates`, `run.velocities`, … are the tables of one group, with `run.names("coordinates")`
    for their columns. `run.energy_drift` and `run.constraint_residual` tell how exact the run was.

    `scene` is free, JSON-like data for drawing (shapes, colors); the poses of the bodies are columns, see `pose`.
    """

    model: str
    time: Array  # (n,), never turning back; an instant occurs twice where a segment ends and the next begins
    channels: tuple[Channel, ...]
    data: Array  # (n, number of channels)
    status: Status
    segments: tuple[Segment, ...] = ()
    events: tuple[Occurrence, ...] = ()
    statistics: Statistics = field(default_factory=Statistics)
    seconds: Mapping[str, float] = field(default_factory=dict)
    parameters: Mapping[str, float] = field(default_factory=dict)
    scene: Mapping[str, Any] = field(default_factory=dict)
    sensitivity: Sensitivity | None = None  # if the run was asked for it
    source: Any = None  # the description it was made of, for pictures; files do not keep it

    def __post_init__(self) -> None:
        settle = object.__setattr__
        settle(self, "time", _read_only(self.time))
        settle(self, "data", _read_only(self.data))
        settle(self, "channels", tuple(self.channels))
        settle(self, "segments", tuple(self.segments) or (Segment("motion", (), 0, self.time.size),))
        settle(self, "events", tuple(Occurrence(str(name), float(time)) for name, time in self.events))
        settle(self, "seconds", {name: float(value) for name, value in self.seconds.items()})
        settle(self, "parameters", {name: float(value) for name, value in self.parameters.items()})
        settle(self, "scene", dict(self.scene))
        self._check()

    def _check(self) -> None:
        if self.time.ndim != 1 or self.time.size == 0:
            raise ArgumentError(f"time must be a list of at least one instant, got shape {self.time.shape}")
        steps = np.diff(self.time)
        if not np.all(np.isfinite(self.time)) or not (np.all(steps >= 0) or np.all(steps <= 0)):
            raise ArgumentError("time must be finite and must not turn back; sort the samples or split the run")
        if self.data.shape != (self.time.size, len(self.channels)):
            raise ArgumentError(
                f"the table must have one row per instant and one column per channel, "
                f"{self.time.size} × {len(self.channels)}, got shape {self.data.shape}"
            )
        if len(self._column) != len(self.channels):
            names = [channel.name for channel in self.channels]
            twice = sorted({name for name in names if names.count(name) > 1})
            raise ArgumentError(f"channel names must differ; these occur more than once: {', '.join(twice)}")
        bounds = [0, *(segment.stop for segment in self.segments)]
        if bounds[-1] != self.time.size or any(
            segment.start != before or segment.stop < before for segment, before in zip(self.segments, bounds, strict=False)
        ):
            raise ArgumentError(f"the segments must follow each other and cover all {self.time.size} samples")

    @property
    def warnings(self) -> tuple[str, ...]:
        """What to distrust although the run went on: friction above 1, a ground that would have to pull."""
        return self.status.warnings

    # columns by name -------------------------------------------------------------------------------------------------

    @cached_property
    def _column(self) -> dict[str, int]:
        return {channel.name: i for i, channel in enumerate(self.channels)}

    def __getitem__(self, name: str) -> Array:
        """The samples of one channel, or of `"time"`."""
        if name == "time":
            return self.time
        return self.data[:, self._find(name)]

    def channel(self, name: str) -> Channel:
        """Unit, group and meaning of a channel."""
        return self.channels[self._find(name)]

    def _find(self, name: str) -> int:
        if name in self._column:
            return self._column[name]
        import difflib

        near = difflib.get_close_matches(str(name), self._column, n=4, cutoff=0.5)
        near += [other for other in self._column if str(name) in other and other not in near][:4]
        hint = f"did you mean {', '.join(near)}?" if near else "run.names() lists them all"
        raise UnknownNameError(f"the run of {self.model!r} has no channel {name!r}; {hint}")

    def __contains__(self, name: object) -> bool:
        return name == "time" or name in self._column

    def __len__(self) -> int:
        """Number of samples."""
        return int(self.time.size)

    __iter__ = None  # len() counts samples while names are the keys: no order of iteration would be the expected one

    def names(self, group: str | None = None) -> tuple[str, ...]:
        """Names of all channels, or of one group: `run.names("outputs")`."""
        if group is None:
            return tuple(self._column)
        wanted = as_group(group)
        return tuple(channel.name for channel in self.channels if channel.group is wanted)

    def table(self, group: str) -> Array:
        """The columns of one group, n × number of channels in it."""
        return self.data[:, [self._column[name] for name in self.names(group)]]

    @property
    def coordinates(self) -> Array:
        return self.table(Group.COORDINATES)

    @property
    def velocities(self) -> Array:
        return self.table(Group.VELOCITIES)

    @property
    def inputs(self) -> Array:
        return self.table(Group.INPUTS)

    @property
    def outputs(self) -> Array:
        return self.table(Group.OUTPUTS)

    @property
    def multipliers(self) -> Array:
        return self.table(Group.MULTIPLIERS)

    @property
    def energy(self) -> Array:
        """Kinetic, potential, total energy and work done so far, as columns."""
        return self.table(Group.ENERGY)

    @property
    def power(self) -> Array:
        return self.table(Group.POWER)

    @property
    def residuals(self) -> Array:
        return self.table(Group.RESIDUALS)

    @property
    def bodies(self) -> tuple[str, ...]:
        """Bodies whose poses were kept."""
        return tuple(name.removesuffix(".x") for name in self.names(Group.POSES) if name.endswith(".x"))

    def pose(self, body: str) -> Array:
        """Position and quaternion (scalar first, body to world) of a body at each sample, n × 7."""
        if body not in self.bodies:
            known = ", ".join(self.bodies) or "none: ask for poses when simulating"
            raise UnknownNameError(f"the run of {self.model!r} has no poses of {body!r}; bodies with poses: {known}")
        return self.data[:, [self._column[f"{body}.{part}"] for part in POSE_PARTS]]

    # values at an instant --------------------------------------------------------------------------------------------

    @property
    def final(self) -> dict[str, float]:
        """Time, every state and every output at the end."""
        kept = (*STATE_GROUPS, Group.OUTPUTS)
        last = self.data[-1].tolist()
        return {"time": float(self.time[-1])} | {
            channel.name: value for channel, value in zip(self.channels, last, strict=True) if channel.group in kept
        }

    @overload
    def at(self, t: float) -> dict[str, float]: ...
    @overload
    def at(self, t: Array) -> dict[str, Array]: ...
    def at(self, t: ArrayLike) -> dict[str, Any]:
        """Every channel at time `t` (a number, or an array of them), on straight lines between the samples.

        At an instant that occurs twice, the values after the jump. For more accuracy between samples, simulate with more.
        """
        wanted = np.asarray(t, dtype=float)
        low, high = sorted((float(self.time[0]), float(self.time[-1])))
        if not np.all((wanted >= low) & (wanted <= high)):
            raise ArgumentError(f"the run of {self.model!r} covers {low:g} s to {high:g} s; t = {wanted} is not inside")
        forward = 1.0 if self.time[-1] >= self.time[0] else -1.0
        before = np.searchsorted(forward * self.time, forward * wanted, side="right") - 1
        after = np.minimum(before + 1, self.time.size - 1)
        gap = self.time[after] - self.time[before]
        share = np.divide(wanted - self.time[before], gap, out=np.zeros_like(wanted), where=gap != 0)[..., None]
        # where= keeps a NaN or infinity in the next sample from spoiling a wish for exactly this one
        rise = np.where(share == 0, 0.0, self.data[after] - self.data[before])
        values = self.data[before] + share * rise
        columns = np.moveaxis(values, -1, 0)
        found: dict[str, Any] = {"time": wanted if wanted.ndim else float(wanted)}
        for channel, column in zip(self.channels, columns, strict=True):
            found[channel.name] = column if wanted.ndim else float(column)
        return found

    # how exact it was ------------------------------------------------------------------------------------------------

    @property
    def energy_balance(self) -> Array | None:
        """Total energy − work, counted from the start, in joules; None for a system without energy."""
        if TOTAL not in self._column:
            return None
        return energy_balance(self[TOTAL], self[WORK])

    @property
    def energy_scale(self) -> float | None:
        """The energy in play, by which drift is measured: the largest kinetic energy + |potential − its start| of the run.

        For a run at rest the largest |total energy|; failing that, 1 J.
        """
        if TOTAL not in self._column:
            return None
        return energy_scale(self[KINETIC], self[POTENTIAL], self[TOTAL])

    @property
    def energy_drift(self) -> float | None:
        """The worst |energy balance| of the run, relative to `energy_scale`; None for a system without energy."""
        balance, scale = self.energy_balance, self.energy_scale
        return None if balance is None or scale is None else float(np.max(np.abs(balance))) / scale

    @property
    def constraint_residual(self) -> dict[str, float]:
        """The worst |residual| by kind: `holonomic` (m, rad), `nonholonomic` (m/s), `norm` (of quaternions), and
        `holonomic_velocity` for derivatives of position constraints. Empty for a system without constraints."""
        channels = [channel for channel in self.channels if channel.group is Group.RESIDUALS]
        return worst_residuals(channels, self.residuals)

    # comparing, converting, keeping ------------------------------------------------------------------------------------

    def identical(self, other: Trajectory) -> bool:
        """Whether both hold the same numbers, NaN included, and the same things to say."""
        plain = ("model", "channels", "status", "segments", "events", "statistics", "seconds", "parameters", "scene")
        return (
            np.array_equal(self.time, other.time)
            and np.array_equal(self.data, other.data, equal_nan=True)
            and _same_sensitivity(self.sensitivity, other.sensitivity)
            and all(getattr(self, name) == getattr(other, name) for name in plain)
        )

    def to_xarray(self) -> xarray.Dataset:
        """A Dataset over `time`, each channel a variable with `units`, `long_name` and `group`."""
        return to_xarray(self)

    def to_pandas(self) -> pandas.DataFrame:
        """A DataFrame indexed by time, a column per channel; units in `frame.attrs["units"]`."""
        return to_pandas(self)

    def plot(self, *names: str, **options: Any) -> Any:
        """Named channels against time as a Matplotlib figure; see `draisine.view.plots.trajectories.channel_figure`."""
        return figure("plots.trajectories.channel_figure", self, *names, **options)

    def animate(self, **options: Any) -> Any:
        """The run as a moving picture; see `draisine.animate`."""
        return figure("film.animate.animate", self, **options)

    def save(self, path: str | os.PathLike[str], **film: Any) -> None:
        """Write the run to `path`, by suffix: .nc (NetCDF), .parquet or .csv, from which `load` gives it back to the last bit;
        or as a film, .html, .gif, .mp4 or .png, with the options of `animate`: `run.save("ride.html", charts=["lean"])`."""
        if os.path.splitext(path)[1].lower() in FILMS:
            self.animate(**film, show=False).save(path)
        elif film:
            raise ArgumentError(f"{', '.join(film)}: options of films ({', '.join(FILMS)}), but {os.fspath(path)!r} is none")
        else:
            save(self, path)

    def summary(self) -> str:
        """A short text: what ran, how it ended, the outputs at the end, errors, cost."""
        return summary(self)

    def _overview(self) -> Mapping[str, Any]:
        shown = [c for group in (Group.OUTPUTS, *STATE_GROUPS) for c in self.channels if c.group is group]
        first, last, places = self.data[0], self.data[-1], [self._column[c.name] for c in shown]
        names, units = [c.name for c in shown], [c.unit for c in shown]
        return {"channel": names, "unit": units, "at the start": first[places], "at the end": last[places]}

    def __repr__(self) -> str:
        return f"<Trajectory of {headline(self)}>"


POSE_PARTS = ("x", "y", "z", "qw", "qx", "qy", "qz")


def _same_sensitivity(one: Sensitivity | None, other: Sensitivity | None) -> bool:
    if one is None or other is None:
        return one is other
    named = (one.channels, one.by, one.by_units) == (other.channels, other.by, other.by_units)
    return named and np.array_equal(one.data, other.data, equal_nan=True)


def _read_only(values: ArrayLike) -> Array:
    """A float array nobody can change: a copy, unless it is already unchangeable."""
    if isinstance(values, np.ndarray) and values.dtype == np.float64 and not values.flags.writeable:
        return values
    array = np.array(values, dtype=np.float64)
    array.flags.writeable = False
    return array
