"""Columns of trajectories: name, unit and group."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from draisine.errors import ArgumentError

# "/" separates groups in NetCDF; the others would need quoting in CSV.
_FORBIDDEN = frozenset('/,"')


class Group(StrEnum):
    """The groups of columns, in storage order.

    >>> Group("outputs") is Group.OUTPUTS
    True
    """

    COORDINATES = "coordinates"
    VELOCITIES = "velocities"  # all velocities, dependent ones included
    EXTRA_STATES = "extra_states"  # additional states, such as those of a controller
    INPUTS = "inputs"
    OUTPUTS = "outputs"
    MULTIPLIERS = "multipliers"
    ENERGY = "energy"
    POWER = "power"  # of each input
    RESIDUALS = "residuals"  # of each constraint
    POSES = "poses"  # position and quaternion of each body
    SENSITIVITIES = "sensitivities"  # derivatives of channels, in files only


STATE_GROUPS = (Group.COORDINATES, Group.VELOCITIES, Group.EXTRA_STATES)


@dataclass(frozen=True)
class Channel:
    """A column: name, unit, group and description.

    Residuals also carry the `kind` of their constraint ("holonomic", "nonholonomic", "norm") and the `level` of the
    residual ("position", "velocity").

    >>> Channel("speed", "m/s", description="forward speed of the rear wheel").label
    'speed [m/s]'
    """

    name: str
    unit: str = ""
    group: Group = Group.OUTPUTS
    description: str = ""
    kind: str = ""
    level: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "group", as_group(self.group, of=str(self.name)))
        if not isinstance(self.name, str) or not self.name or self.name != self.name.strip():
            raise ArgumentError(f"a channel needs a name without leading or trailing blanks, got {self.name!r}")
        if not self.name.isprintable() or self.name.startswith("#") or _FORBIDDEN & set(self.name):
            raise ArgumentError(
                f'the channel name {self.name!r} cannot be stored: use printable characters other than / , " and no leading #'
            )
        if self.name == "time":
            raise ArgumentError(f"a channel in {self.group} is named 'time', which is the name of the axis; rename it")

    @property
    def label(self) -> str:
        return f"{self.name} [{self.unit}]" if self.unit else self.name

    def attributes(self) -> dict[str, str]:
        """What other tools show of the column."""
        found = {"units": self.unit, "long_name": self.description or self.name, "group": str(self.group)}
        return found | ({"kind": self.kind, "level": self.level} if self.kind else {})


def as_group(given: str, of: str = "") -> Group:
    """The group of a name; the error lists all groups."""
    try:
        return Group(given)
    except ValueError:
        owner = f"channel {of!r} is in the " if of else ""
        raise ArgumentError(f"{owner}unknown group {given!r}; groups are {', '.join(Group)}") from None
