"""`Trajectory`: the result of a simulation, with named columns and units.

All numbers are in one table, a row per sample and a column per `Channel`; status, events, warnings, parameters, statistics and
timings document the run.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from draisine.errors import ArgumentError, UnknownNameError, require
from draisine.numerics.number_range import refuse_huge_integers
from draisine.results.base import Result, figure
from draisine.results.channel import STATE_GROUPS, Channel, Group, StateValue, as_group
from draisine.results.contact_modes import NO_MODES, ContactHistory
from draisine.results.files import FILMS, save
from draisine.results.jumps import Limits, curve_of, limits_of
from draisine.results.status import Status
from draisine.results.summary import energy_balance, energy_scale, headline, summary, worst_residuals

if TYPE_CHECKING:
    import pandas
    import xarray

    from draisine.results.sensitivity import Sensitivity

Array = NDArray[np.float64]

KINETIC, POTENTIAL, TOTAL, WORK = "kinetic_energy", "potential_energy", "total_energy", "work"


class Occurrence(NamedTuple):
    """An occurrence of an event: name and time."""

    name: str
    time: float


class Segment(NamedTuple):
    """Samples `start` to `stop` (excluded) with one mode and one choice of independent velocities."""

    mode: str
    independent: tuple[str, ...]
    start: int
    stop: int


class Statistics(NamedTuple):
    """Cost of the integration: evaluations of the state derivative, and steps accepted, rejected, and total."""

    evaluations: int = 0
    accepted: int = 0
    rejected: int = 0
    steps: int = 0


class Dense(Protocol):
    """The run at other times than its samples, in its order; `refused` says why there are none."""

    @property
    def refused(self) -> str: ...

    def __call__(self, times: Array, /) -> Trajectory: ...


@dataclass(frozen=True, eq=False, repr=False)
class Trajectory(Result):
    """The result of a simulation: samples of all named quantities, status and statistics.

    `run["speed"]` is a column; `run.time` the sample times; `run.final` the final state and outputs; `run.at(1.5)` the values at
    a time. `run.coordinates`, `run.velocities`, … are the tables of one group, with `run.names("coordinates")` for their columns.
    `run.energy_drift` and `run.constraint_residual` measure the accuracy. `run.switches` are the switches of forces and
    inputs, such as `x > 0`, at which the integration restarted; `run.modes` when contacts that can open stick, slip and are open.

    `scene` is JSON-like data for drawing (shapes, colors); the poses of the bodies are columns, see `pose`.
    """

    model: str
    time: Array  # (n,), monotonic; the time between two segments occurs twice
    channels: tuple[Channel, ...]
    data: Array  # (n, number of channels)
    status: Status
    segments: tuple[Segment, ...] = ()
    events: tuple[Occurrence, ...] = ()
    statistics: Statistics = field(default_factory=Statistics)
    seconds: Mapping[str, float] = field(default_factory=dict)
    parameters: Mapping[str, float] = field(default_factory=dict)
    scene: Mapping[str, Any] = field(default_factory=dict)
    sensitivity: Sensitivity | None = None  # if requested
    source: Any = None  # the description of the model, for drawing; not stored in files
    dense: Dense | None = None  # the run at other times; not stored in files
    switches: tuple[Occurrence, ...] = ()  # of switching functions
    modes: ContactHistory = NO_MODES  # of unilateral contacts
    control_changes: tuple[float, ...] = ()  # times at which an input that is held between calls of a control changes

    def __post_init__(self) -> None:
        assign = object.__setattr__
        assign(self, "time", _read_only(self.time))
        assign(self, "data", _read_only(self.data))
        assign(self, "channels", tuple(self.channels))
        assign(self, "segments", tuple(self.segments) or (Segment("motion", (), 0, self.time.size),))
        assign(self, "events", tuple(Occurrence(str(name), float(time)) for name, time in self.events))
        assign(self, "switches", tuple(Occurrence(str(name), float(time)) for name, time in self.switches))
        assign(self, "control_changes", tuple(map(float, self.control_changes)))
        assign(self, "seconds", {name: float(value) for name, value in self.seconds.items()})
        assign(self, "parameters", {name: float(value) for name, value in self.parameters.items()})
        assign(self, "scene", dict(self.scene))
        self._check()

    def _check(self) -> None:
        if self.time.ndim != 1 or self.time.size == 0:
            raise ArgumentError(f"time must be a sequence of at least one sample, got shape {self.time.shape}")
        steps = np.diff(self.time)
        if not np.all(np.isfinite(self.time)) or not (np.all(steps >= 0) or np.all(steps <= 0)):
            raise ArgumentError("time must be finite and monotonic; sort the samples or split the run")
        if self.data.shape != (self.time.size, len(self.channels)):
            raise ArgumentError(
                f"the table must have one row per sample and one column per channel, "
                f"{self.time.size} × {len(self.channels)}, got shape {self.data.shape}"
            )
        if len(self._column) != len(self.channels):
            names = [channel.name for channel in self.channels]
            twice = sorted({name for name in names if names.count(name) > 1})
            raise ArgumentError(f"channel names must be unique; these occur more than once: {', '.join(twice)}")
        bounds = [0, *(segment.stop for segment in self.segments)]
        if bounds[-1] != self.time.size or any(
            segment.start != before or segment.stop < before for segment, before in zip(self.segments, bounds, strict=False)
        ):
            raise ArgumentError(f"the segments must be consecutive and cover all {self.time.size} samples")

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings about the validity of the run: required friction above 1, tensile contact forces."""
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

    __iter__ = None  # ambiguous: len() counts samples, while names are the keys

    def names(self, group: str | None = None) -> tuple[str, ...]:
        """Names of all channels, or of one group: `run.names("outputs")`."""
        if group is None:
            return tuple(self._column)
        selected = as_group(group)
        return tuple(channel.name for channel in self.channels if channel.group is selected)

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
        """Kinetic, potential and total energy and work, as columns."""
        return self.table(Group.ENERGY)

    @property
    def power(self) -> Array:
        return self.table(Group.POWER)

    @property
    def residuals(self) -> Array:
        return self.table(Group.RESIDUALS)

    @property
    def bodies(self) -> tuple[str, ...]:
        """Bodies with recorded poses."""
        return tuple(name.removesuffix(".x") for name in self.names(Group.POSES) if name.endswith(".x"))

    def pose(self, body: str) -> Array:
        """Position and quaternion (scalar first, body to world) of a body at each sample, n × 7."""
        if body not in self.bodies:
            known = ", ".join(self.bodies) or "none; request poses in simulate"
            raise UnknownNameError(f"the run of {self.model!r} has no poses of {body!r}; bodies with poses: {known}")
        return self.data[:, [self._column[f"{body}.{part}"] for part in POSE_PARTS]]

    # values at a time --------------------------------------------------------------------------------------------

    @property
    def final(self) -> dict[str, float]:
        """Final time, states and outputs; a start for further runs, also with values replaced: `{**run.final, "lean": 0.1}`."""
        return self._last((*STATE_GROUPS, Group.OUTPUTS))

    def as_start(self) -> dict[str, float]:
        """The state at the end as a start, which `start=run` stands for: time, coordinates, velocities, and the work done."""
        work = {WORK: StateValue(self[WORK][-1])} if WORK in self._column else {}
        return self._last(STATE_GROUPS) | work

    def _last(self, groups: tuple[Group, ...]) -> dict[str, float]:
        row = zip(self.channels, self.data[-1].tolist(), strict=True)
        values = {channel.name: value for channel, value in row if channel.group in groups}
        return {name: StateValue(value) for name, value in {"time": float(self.time[-1]), **values}.items()}

    @overload
    def at(self, t: float) -> dict[str, float]: ...
    @overload
    def at(self, t: Array) -> dict[str, Array]: ...
    def at(self, t: ArrayLike) -> dict[str, Any]:
        """All channels at time `t` (a number or an array), by the dense output of the method: as if `t` had been a sample.

        At a time that occurs twice, the values after the jump; at an impact, those before it. Between samples the run is
        integrated again up to `t`, so pass all times in one array. A run that was read from a file has its samples alone; see
        `interpolated`. The values at one time are a start: `start=run.at(1.5)`.
        """
        refuse_huge_integers("at: t", t)
        times = np.asarray(t, dtype=float)
        listed = times.reshape(-1)
        before = self._sample_before(listed)
        values = self.data[before]
        between = self.time[before] != listed
        if between.any():
            values[between] = self._dense_values(listed[between])
        return self._by_name(times, values.reshape(*times.shape, -1))

    def _dense_values(self, times: Array) -> Array:
        """The channels at times between samples, a row for each."""
        if self.dense is None:
            raise ArgumentError(
                f"the run of {self.model!r} has no values between its samples, such as t = {times[0]:g} s: it was read from a "
                "file, made from a table or sent from another process; run.interpolated(t) draws straight lines between the "
                "samples, and simulate(…, samples=[…]) gives the values at these times"
            )
        distinct, place = np.unique(times, return_inverse=True)
        found = self.dense(distinct if self.time[-1] >= self.time[0] else distinct[::-1])
        rows = np.flatnonzero(np.isin(found.time, distinct))  # a run that ends early has its last state too
        rows = rows[np.argsort(found.time[rows])]
        if not np.array_equal(found.time[rows], distinct):
            raise ArgumentError(
                f"the run of {self.model!r} ended elsewhere when it was repeated ({found.status}); its system has changed"
            )
        table = np.full((distinct.size, len(self.channels)), np.nan)
        for i, channel in enumerate(self.channels):
            if channel.name in found:
                table[:, i] = found[channel.name][rows]
        return table[place.reshape(-1)]

    @overload
    def interpolated(self, t: float) -> dict[str, float]: ...
    @overload
    def interpolated(self, t: Array) -> dict[str, Array]: ...
    def interpolated(self, t: ArrayLike) -> dict[str, Any]:
        """All channels at time `t` (a number or an array), on straight lines between the samples; see `at` for exact values.

        At a time that occurs twice, the values after the jump.
        """
        refuse_huge_integers("interpolated: t", t)
        times = np.asarray(t, dtype=float)
        before = self._sample_before(times)
        after = np.minimum(before + 1, self.time.size - 1)
        gap = self.time[after] - self.time[before]
        share = np.divide(times - self.time[before], gap, out=np.zeros_like(times), where=gap != 0)[..., None]
        # at a sample itself, a NaN or infinity in the next one must not enter
        rise = np.where(share == 0, 0.0, self.data[after] - self.data[before])
        return self._by_name(times, self.data[before] + share * rise)

    def _sample_before(self, times: Array) -> NDArray[np.intp]:
        """The last sample at or before each time; times outside the run are refused."""
        low, high = sorted((float(self.time[0]), float(self.time[-1])))
        outside = times[~((times >= low) & (times <= high))]
        if outside.size:
            raise ArgumentError(
                f"the run of {self.model!r} covers {low:g} s to {high:g} s; t = {outside.flat[0]:g} s is outside: simulate for "
                "longer"
            )
        forward = 1.0 if self.time[-1] >= self.time[0] else -1.0
        found: NDArray[np.intp] = np.searchsorted(forward * self.time, forward * times, side="right") - 1
        return found

    def _by_name(self, times: Array, values: Array) -> dict[str, Any]:
        columns = np.moveaxis(values, -1, 0)
        found: dict[str, Any] = {"time": times if times.ndim else StateValue(times)}
        for channel, column in zip(self.channels, columns, strict=True):
            found[channel.name] = column if times.ndim else StateValue(column)
        return found

    @cached_property
    def limits(self) -> Limits:
        """Values of all channels just before and just behind every time at which they may jump."""
        return limits_of(self)

    def curve(self, name: str) -> tuple[Array, Array]:
        """Times and values of a channel for drawing: the samples, and where it jumps between them (a force that switches, a
        velocity in an impact, an input that is held) two values at one time, the limits from both sides."""
        return curve_of(self, name)

    # accuracy ------------------------------------------------------------------------------------------------

    @property
    def energy_balance(self) -> Array | None:
        """Total energy − work, relative to the start, in joules; None for a system without energy, and where forces do work
        that the equations do not count."""
        if TOTAL not in self._column or WORK not in self._column:
            return None
        return energy_balance(self[TOTAL], self[WORK])

    @property
    def energy_scale(self) -> float | None:
        """The reference for energy drift: the largest kinetic energy + |change of potential energy|.

        For a run at rest the largest |total energy|; if that is zero, 1 J.
        """
        if TOTAL not in self._column:
            return None
        return energy_scale(self[KINETIC], self[POTENTIAL], self[TOTAL])

    @property
    def energy_drift(self) -> float | None:
        """The largest |energy balance|, relative to `energy_scale`; None for a system without an energy balance."""
        balance, scale = self.energy_balance, self.energy_scale
        return None if balance is None or scale is None else float(np.max(np.abs(balance))) / scale

    @property
    def constraint_residual(self) -> dict[str, float]:
        """The largest |residual| by kind: `holonomic` (m, rad), `nonholonomic` (m/s), `norm` (of quaternions), and
        `holonomic_velocity` for derivatives of position constraints. Empty for a system without constraints."""
        channels = [channel for channel in self.channels if channel.group is Group.RESIDUALS]
        return worst_residuals(channels, self.residuals)

    # comparison, conversion, files ------------------------------------------------------------------------------------

    def identical(self, other: Trajectory) -> bool:
        """Whether both have equal numbers, NaN included, and equal metadata."""
        plain = (
            "model",
            "channels",
            "status",
            "segments",
            "events",
            "switches",
            "control_changes",
            "statistics",
            "seconds",
            "parameters",
            "scene",
        )
        return (
            np.array_equal(self.time, other.time)
            and np.array_equal(self.data, other.data, equal_nan=True)
            and _same_sensitivity(self.sensitivity, other.sensitivity)
            and self.modes.described() == other.modes.described()
            and all(getattr(self, name) == getattr(other, name) for name in plain)
        )

    def to_xarray(self) -> xarray.Dataset:
        """A Dataset over `time`, each channel a variable with `units`, `long_name` and `group`."""
        variables = {}
        for channel, column in zip(self.channels, self.data.T, strict=True):
            variables[channel.name] = ("time", column, channel.attributes())
        dataset: xarray.Dataset = require("xarray", "a trajectory as xarray Dataset").Dataset(
            variables,
            coords={"time": ("time", self.time, {"units": "s", "long_name": "time"})},
            attrs=self.file_attributes(),
        )
        return dataset

    def file_attributes(self) -> dict[str, str]:
        """What other tools show of a NetCDF file or a Dataset of this run."""
        status, message = str(self.status.kind), self.status.message
        return {"model": self.model, "status": status, "message": message, "warnings": "\n".join(self.warnings)}

    def to_pandas(self) -> pandas.DataFrame:
        """A DataFrame indexed by time, a column per channel; units in `frame.attrs["units"]`."""
        module = require("pandas", "a trajectory as pandas DataFrame")
        index = module.Index(self.time.copy(), name="time")
        frame: pandas.DataFrame = module.DataFrame(self.data.copy(), index=index, columns=list(self.names()))
        frame.attrs["model"] = self.model
        frame.attrs["units"] = {channel.name: channel.unit for channel in self.channels}
        return frame

    def plot(self, *names: str, **options: Any) -> Any:
        """Named channels against time as a Matplotlib figure; see `draisine.view.plots.trajectories.channel_figure`."""
        return figure("plots.trajectories.channel_figure", self, *names, **options)

    def animate(self, **options: Any) -> Any:
        """An animation of the run; see `draisine.animate`."""
        return figure("film.animate.animate", self, **options)

    def save(self, path: str | os.PathLike[str], **film: Any) -> None:
        """Write the run to `path`, by suffix: .nc (NetCDF), .parquet or .csv, which `load` restores to the last bit; or as a
        film, .html, .gif, .mp4 or .png, with the options of `animate`: `run.save("ride.html", charts=["lean"])`."""
        if os.path.splitext(path)[1].lower() in FILMS:
            self.animate(**film, show=False).save(path)
        elif film:
            raise ArgumentError(
                f"{', '.join(film)}: options of films ({', '.join(FILMS)}), but {os.fspath(path)!r} is not a film"
            )
        else:
            save(self, path)

    def summary(self) -> str:
        """A short text: model, status, final outputs, accuracy, cost."""
        return summary(self)

    def _overview(self) -> Mapping[str, Any]:
        shown = [c for group in (Group.OUTPUTS, *STATE_GROUPS) for c in self.channels if c.group is group]
        first, last, indices = self.data[0], self.data[-1], [self._column[c.name] for c in shown]
        names, units = [c.name for c in shown], [c.unit for c in shown]
        return {"channel": names, "unit": units, "at the start": first[indices], "at the end": last[indices]}

    def __repr__(self) -> str:
        return f"<Trajectory of {headline(self)}>"


POSE_PARTS = ("x", "y", "z", "qw", "qx", "qy", "qz")


def _same_sensitivity(one: Sensitivity | None, other: Sensitivity | None) -> bool:
    if one is None or other is None:
        return one is other
    named = (one.channels, one.by, one.by_units) == (other.channels, other.by, other.by_units)
    return named and np.array_equal(one.data, other.data, equal_nan=True)


def _read_only(values: ArrayLike) -> Array:
    """A read-only float array: a copy, unless it is read-only already."""
    if isinstance(values, np.ndarray) and values.dtype == np.float64 and not values.flags.writeable:
        return values
    array = np.array(values, dtype=np.float64)
    array.flags.writeable = False
    return array
