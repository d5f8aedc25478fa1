"""`Sensitivity`: derivatives of all channels of a run with respect to parameters, inputs or initial values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from draisine.errors import ArgumentError, UnknownNameError, require
from draisine.results.channel import Channel, Group

if TYPE_CHECKING:
    import xarray

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class Sensitivity:
    """Exact derivatives ∂channel/∂θ along a run, at fixed time: `run.sensitivity["lean", "trail"]` over the samples.

    >>> import numpy as np
    >>> found = Sensitivity(np.zeros(1), (Channel("lean", "rad"),), ("trail",), ("m",), np.full((1, 1, 1), 2.0))
    >>> float(found["lean", "trail"][0]), found.unit("lean", "trail")
    (2.0, 'rad/m')
    """

    time: Array  # (n,)
    channels: tuple[Channel, ...]
    by: tuple[str, ...]  # names of the varied quantities
    by_units: tuple[str, ...]
    data: Array  # (n, channels, by)

    def __post_init__(self) -> None:
        expected = (len(self.time), len(self.channels), len(self.by))
        if self.data.shape != expected or len(self.by_units) != len(self.by):
            raise ArgumentError(
                f"expected an array (samples, channels, varied quantities) of shape {expected}, got {self.data.shape}"
            )

    @cached_property
    def _column(self) -> dict[str, int]:
        return {channel.name: i for i, channel in enumerate(self.channels)}

    def _indices(self, channel: str, by: str) -> tuple[int, int]:
        for name, known, what in ((channel, self._column, "channel"), (by, self.by, "sensitivity by")):
            if name not in known:
                some = ", ".join(list(known)[:12])
                raise UnknownNameError(f"there is no {what} {name!r}; there are {some}{', …' if len(known) > 12 else ''}")
        return self._column[channel], self.by.index(by)

    def __getitem__(self, key: tuple[str, str]) -> Array:
        """∂channel/∂θ at the samples."""
        if not isinstance(key, tuple) or len(key) != 2:
            raise UnknownNameError(
                f"give a channel and a varied quantity, e.g. ['{self.channels[0].name}', '{self.by[0]}'], got {key!r}"
            )
        row, column = self._indices(*key)
        return self.data[:, row, column]

    def unit(self, channel: str, by: str) -> str:
        row, column = self._indices(channel, by)
        above, below = self.channels[row].unit or "1", self.by_units[column]
        return above if not below else f"{above}/({below})" if set("*/ ") & set(below) else f"{above}/{below}"

    def matrix(self, channels: Sequence[str], at: int | None = None) -> Array:
        """Derivatives of some channels, (samples, channels, by); with `at` at one sample only."""
        rows = [self._indices(name, self.by[0])[0] for name in channels]
        return self.data[:, rows, :] if at is None else self.data[at, rows, :]

    def to_xarray(self) -> xarray.DataArray:
        """A DataArray over `time`, `channel` and `by`."""
        module: Any = require("xarray", "sensitivities as xarray DataArray")
        coordinates = {"time": self.time, "channel": list(self._column), "by": list(self.by)}
        found: xarray.DataArray = module.DataArray(self.data, coordinates, ("time", "channel", "by"), name="sensitivity")
        return found

    def __repr__(self) -> str:
        return f"<Sensitivity of {len(self.channels)} channels by {', '.join(self.by)} at {len(self.time)} instants>"

    # in files each derivative is a column ---------------------------------------------------------------

    def columns(self) -> tuple[tuple[Channel, ...], Array]:
        """Each derivative as a column of a table."""
        made = [
            Channel(f"{c.name} by {name}", self.unit(c.name, name), Group.SENSITIVITIES, "", c.name, f"{name} [{unit}]")
            for name, unit in zip(self.by, self.by_units, strict=True)
            for c in self.channels
        ]
        return tuple(made), self.data.transpose(0, 2, 1).reshape(len(self.time), -1)

    @staticmethod
    def from_columns(time: Array, channels: Sequence[Channel], columns: Sequence[Channel], table: Array) -> Sensitivity:
        """The inverse of `columns`."""
        levels = list(dict.fromkeys(column.level for column in columns))
        by = [level.rpartition(" [")[::2] for level in levels]
        data = table.reshape(len(time), len(levels), -1).transpose(0, 2, 1)
        known = {channel.name: channel for channel in channels}
        kept = tuple(known[column.kind] for column in columns[: data.shape[1]])
        return Sensitivity(time, kept, tuple(name for name, _ in by), tuple(unit.removesuffix("]") for _, unit in by), data)


def concatenated(parts: Sequence[Sensitivity], channels: Sequence[Channel]) -> Sensitivity:
    """Concatenate the parts of a run, with the channel names of the whole run; NaN where a part lacks a channel.

    Channels that the run does not report, such as work that is not counted, are left out.
    """
    first = parts[0]
    columns = {_key(channel): i for i, channel in enumerate(channels)}
    blocks = []
    for part in parts:
        block = np.full((len(part.time), len(channels), len(first.by)), np.nan)
        reported = [k for k, channel in enumerate(part.channels) if _key(channel) in columns]
        block[:, [columns[_key(part.channels[k])] for k in reported]] = part.data[:, reported]
        blocks.append(block)
    time, data = np.concatenate([part.time for part in parts]), np.concatenate(blocks)
    return replace(first, time=time, channels=tuple(channels), data=data)


def _key(channel: Channel) -> tuple[str, str]:
    return channel.group, channel.name.removeprefix(f"{channel.group}.")
