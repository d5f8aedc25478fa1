"""`Sensitivity`: by how much every channel of a run changes with what was asked about, at every instant."""

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
    by: tuple[str, ...]  # names of what was varied
    by_units: tuple[str, ...]
    data: Array  # (n, channels, by)

    def __post_init__(self) -> None:
        wanted = (len(self.time), len(self.channels), len(self.by))
        if self.data.shape != wanted or len(self.by_units) != len(self.by):
            raise ArgumentError(
                f"sensitivities over instants, channels and what is varied are {wanted} numbers, got {self.data.shape}"
            )

    @cached_property
    def _place(self) -> dict[str, int]:
        return {channel.name: i for i, channel in enumerate(self.channels)}

    def _places(self, channel: str, by: str) -> tuple[int, int]:
        for name, known, what in ((channel, self._place, "channel"), (by, self.by, "sensitivity by")):
            if name not in known:
                some = ", ".join(list(known)[:12])
                raise UnknownNameError(f"there is no {what} {name!r}; there are {some}{', …' if len(known) > 12 else ''}")
        return self._place[channel], self.by.index(by)

    def __getitem__(self, key: tuple[str, str]) -> Array:
        """∂channel/∂θ at the samples."""
        if not isinstance(key, tuple) or len(key) != 2:
            raise UnknownNameError(
                f"ask for a channel and what it depends on, e.g. ['{self.channels[0].name}', '{self.by[0]}'], got {key!r}"
            )
        row, column = self._places(*key)
        return self.data[:, row, column]

    def unit(self, channel: str, by: str) -> str:
        row, column = self._places(channel, by)
        above, below = self.channels[row].unit or "1", self.by_units[column]
        return above if not below else f"{above}/({below})" if set("*/ ") & set(below) else f"{above}/{below}"

    def matrix(self, channels: Sequence[str], at: int | None = None) -> Array:
        """Derivatives of some channels, (samples, channels, by); with `at` at one sample only."""
        rows = [self._places(name, self.by[0])[0] for name in channels]
        return self.data[:, rows, :] if at is None else self.data[at, rows, :]

    def to_xarray(self) -> xarray.DataArray:
        """A DataArray over `time`, `channel` and `by`."""
        module: Any = require("xarray", "sensitivities as xarray DataArray")
        coordinates = {"time": self.time, "channel": list(self._place), "by": list(self.by)}
        found: xarray.DataArray = module.DataArray(self.data, coordinates, ("time", "channel", "by"), name="sensitivity")
        return found

    def __repr__(self) -> str:
        return f"<Sensitivity of {len(self.channels)} channels by {', '.join(self.by)} at {len(self.time)} instants>"

    # files keep tables: each derivative is a column there ---------------------------------------------------------------

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
        """What `columns` was made from."""
        levels = list(dict.fromkeys(column.level for column in columns))
        by = [level.rpartition(" [")[::2] for level in levels]
        data = table.reshape(len(time), len(levels), -1).transpose(0, 2, 1)
        known = {channel.name: channel for channel in channels}
        kept = tuple(known[column.kind] for column in columns[: data.shape[1]])
        return Sensitivity(time, kept, tuple(name for name, _ in by), tuple(unit.removesuffix("]") for _, unit in by), data)


def concatenated(parts: Sequence[Sensitivity], channels: Sequence[Channel]) -> Sensitivity:
    """Parts of a run one after the other, under the names that the whole run gives its channels; NaN where a part has none."""
    first = parts[0]
    columns = {_key(channel): i for i, channel in enumerate(channels)}
    blocks = []
    for part in parts:
        block = np.full((len(part.time), len(channels), len(first.by)), np.nan)
        block[:, [columns[_key(channel)] for channel in part.channels]] = part.data
        blocks.append(block)
    time, data = np.concatenate([part.time for part in parts]), np.concatenate(blocks)
    return replace(first, time=time, channels=tuple(channels), data=data)


def _key(channel: Channel) -> tuple[str, str]:
    return channel.group, channel.name.removeprefix(f"{channel.group}.")
