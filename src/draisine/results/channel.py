"""What a column of a trajectory is: a named number with a unit, and the group it belongs to."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from draisine.errors import ArgumentError

# "/" would open a group in NetCDF; the others would need quoting in CSV.
_FORBIDDEN = frozenset('/,"')


class Group(StrEnum):
    """The kinds of columns, in the order they are kept.

    >>> Group("outputs") is Group.OUTPUTS
    True
    """

    COORDINATES = "coordinates"
    VELOCITIES = "velocities"  # all of them, dependent ones too
    EXTRA_STATES = "extra_states"  # integrated beside the motion, such as the states of a controller
    INPUTS = "inputs"
    OUTPUTS = "outputs"
    MULTIPLIERS = "multipliers"
    ENERGY = "energy"
    POWER = "power"  # of each input
    RESIDUALS = "residuals"  # of each constraint
    POSES = "poses"  # position and quaternion of each body
    SENSITIVITIES = "sensitivities"  # in files, beside the channels that they are derivatives of


STATE_GROUPS = (Group.COORDINATES, Group.VELOCITIES, Group.EXTRA_STATES)


@dataclass(frozen=True)
class Channel:
    """One column: its name, unit, group, and a line about it.

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
            raise ArgumentError(f"a channel needs a name without blanks around it, got {self.name!r}")
        if not self.name.isprintable() or self.name.startswith("#") or _FORBIDDEN & set(self.name):
            raise ArgumentError(
                f'the channel name {self.name!r} cannot be stored: use printable characters other than / , " and no leading #'
            )
        if self.name == "time":
            raise ArgumentError(
                f"a channel in {self.group} is called 'time', which is the name of the axis; give it another name"
            )

    @property
    def label(self) -> str:
        return f"{self.name} [{self.unit}]" if self.unit else self.name


def as_group(given: str, of: str = "") -> Group:
    """The group of that name, or an error that lists the groups."""
    try:
        return Group(given)
    except ValueError:
        owner = f"channel {of!r} is in the " if of else ""
        raise ArgumentError(f"{owner}unknown group {given!r}; groups are {', '.join(Group)}") from None
