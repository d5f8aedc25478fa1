"""Columns of trajectories by name, unit and group; values of states by name, as starts.

A state that was computed is a start whose values are kept exactly together, and are guesses where others are replaced. Results
that determine a state have the method `as_start()`: a run (its end), a steady motion, a special point of a branch, a periodic
motion, a solution of an optimal control problem. `named_start` is called by every verb that takes `start`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol, runtime_checkable

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


class StateValue(float):
    """A value of a state that was computed. Arithmetic gives plain numbers.

    A start with such values for all coordinates and velocities is this state. Where plain numbers stand beside them, as in
    `{**run.final, "lean": 0.1}`, these are targets, and the others change as little as possible.

    >>> StateValue(0.5), StateValue(0.5) + 1
    (0.5, 1.5)
    """

    __slots__ = ()


@runtime_checkable
class HasState(Protocol):
    """A result that determines a state."""

    def as_start(self) -> dict[str, float]:
        """All values of the state by name, as `StateValue`."""


Start = Mapping[str, Any] | HasState | None  # what `start` may be


def named_start(start: Any) -> dict[str, Any]:
    """A start as values by name: a mapping as it is, the state of a result, or a row of a table (a pandas Series).

    >>> named_start({"speed": 5.0}), named_start(None)
    ({'speed': 5.0}, {})
    """
    if start is None:
        return {}
    if isinstance(start, Mapping):
        return dict(start)
    if isinstance(start, HasState):
        return start.as_start()
    if hasattr(start, "to_dict") and getattr(start, "ndim", 0) == 1:
        row = {str(name): StateValue(value) for name, value in start.to_dict().items()}
        return {"time": StateValue(start.name)} | row if isinstance(start.name, float) else row
    raise ArgumentError(
        f"start: expected targets by name, {{'speed': 5}}, or a result with a state (a run, a steady motion, a special point, a "
        f"periodic motion, a solution, a row of a table), got {type(start).__name__}"
    )


def per_second(unit: str) -> str:
    """The unit of a rate: m → m/s, rad/s → rad/s^2.

    >>> per_second("m"), per_second("rad/s"), per_second("")
    ('m/s', 'rad/s^2', '1/s')
    """
    if not unit:
        return "1/s"
    return f"{unit}^2" if unit.endswith("/s") else f"{unit}/s"
