"""Modes of unilateral contacts over a run: when they stick, slip and are open, with the impulses of impacts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from draisine.errors import ArgumentError
from draisine.results.base import Result

NAMES = ("open", "slip", "stick")


@dataclass(frozen=True)
class ModeChange:
    """The modes of all contacts from a time on; impulses and lost energy of the impact that led to them."""

    time: float
    modes: Mapping[str, str]
    impulse: Mapping[str, tuple[float, float, float]] = field(default_factory=dict)  # normal, along, across, N·s
    lost: float = 0.0  # J

    @property
    def impact(self) -> bool:
        """Whether velocities jump."""
        return bool(self.impulse)


@dataclass(frozen=True, eq=False, repr=False)
class ContactHistory(Result):
    """`run.modes`: the changes of modes in the order of time. `run.modes.at(t)` are the modes at a time, `run.modes.impacts` the
    changes with an impact, `run.modes.lost` the energy lost in all of them."""

    contacts: tuple[str, ...]
    changes: tuple[ModeChange, ...]
    end: float

    def __len__(self) -> int:
        return len(self.changes)

    def __iter__(self) -> Iterator[ModeChange]:
        return iter(self.changes)

    def __getitem__(self, index: int) -> ModeChange:
        return self.changes[index]

    @property
    def impacts(self) -> tuple[ModeChange, ...]:
        """The changes with an impact."""
        return tuple(change for change in self.changes if change.impact)

    @property
    def lost(self) -> float:
        """Energy lost in impacts, J."""
        return float(sum(change.lost for change in self.changes))

    def at(self, time: float) -> dict[str, str]:
        """The modes at a time; at a change, those after it."""
        times = np.array([change.time for change in self.changes])
        if not self.changes or not times[0] <= time <= self.end:
            raise ArgumentError(f"modes are known from {times[0] if len(times) else 0:g} to {self.end:g} s, not at {time:g} s")
        return dict(self.changes[int(np.searchsorted(times, time, side="right")) - 1].modes)

    def intervals(self, contact: str) -> list[tuple[float, float, str]]:
        """Begin, end and mode of the intervals of one contact."""
        if contact not in self.contacts:
            raise ArgumentError(f"there is no contact {contact!r} that opens; contacts are {', '.join(self.contacts)}")
        found: list[tuple[float, float, str]] = []
        for change in self.changes:
            mode = change.modes[contact]
            if found and found[-1][2] == mode and not change.impact:
                continue
            if found:
                found[-1] = (found[-1][0], change.time, found[-1][2])
            found.append((change.time, self.end, mode))
        return found

    def summary(self) -> str:
        """A line for every change."""
        lines = [f"{len(self.changes)} modes of {', '.join(self.contacts)}, {len(self.impacts)} impacts, {self.lost:.4g} J lost"]
        for change in self.changes[:MOST_LINES]:
            modes = ", ".join(f"{name} {mode}" for name, mode in change.modes.items())
            lost = f"; impact, {change.lost:.4g} J lost" if change.impact else ""
            lines.append(f"  {change.time:.9g} s: {modes}{lost}")
        if len(self.changes) > MOST_LINES:
            lines.append(f"  and {len(self.changes) - MOST_LINES} more")
        return "\n".join(lines)

    def _table(self) -> Mapping[str, Any]:
        table: dict[str, Any] = {"time": [change.time for change in self.changes]}
        table |= {name: [change.modes[name] for change in self.changes] for name in self.contacts}
        return table | {"lost": [change.lost for change in self.changes]}


MOST_LINES = 40
