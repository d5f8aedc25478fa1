"""Modes of unilateral contacts over a run: when they stick, slip and are open, with the impulses of impacts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from draisine.errors import ArgumentError, DataError
from draisine.results.base import Result, figure
from draisine.results.contact_needs import NO_NEEDS, ContactNeeds
from draisine.results.metadata import checked, list_at, number_at, shortened

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


@dataclass(frozen=True, eq=False)
class RecordedChanges(Sequence[ModeChange]):
    """The changes of a run by columns. The record of each one is made when one of them is looked at: a run may have thousands,
    and ensembles count them only. It equals a tuple of equal records."""

    contacts: tuple[str, ...]
    time: NDArray[np.float64]  # (changes)
    mode: NDArray[np.int64]  # (changes, contacts), places in `NAMES`
    by_row: NDArray[np.float64]  # (changes, rows) impulses as they are recorded
    rows: NDArray[np.int64]  # (contacts, 3) where they are, normal, along and across; −1 for none
    scale: NDArray[np.float64]  # (contacts, 3) by which they are multiplied
    lost: NDArray[np.float64]  # (changes)

    def __len__(self) -> int:
        return len(self.time)

    @overload
    def __getitem__(self, index: int) -> ModeChange: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[ModeChange, ...]: ...
    def __getitem__(self, index: int | slice) -> ModeChange | tuple[ModeChange, ...]:
        return self._made[index]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, tuple | RecordedChanges) and self._made == tuple(other)

    __hash__ = None  # type: ignore[assignment]

    @cached_property
    def impulse(self) -> NDArray[np.float64]:
        """(changes, contacts, 3): normal, along, across; zero without an impact."""
        return np.where(self.rows >= 0, self.by_row[:, self.rows] * self.scale, 0.0)

    @cached_property
    def struck(self) -> NDArray[np.bool_]:
        """(changes, contacts) whether a contact takes an impulse."""
        return np.asarray((self.impulse != 0.0).any(axis=2))

    @cached_property
    def _made(self) -> tuple[ModeChange, ...]:
        impulses = list[dict[str, tuple[float, float, float]]]({} for _ in self.time)
        for k, i in np.argwhere(self.struck).tolist():
            normal, along, across = self.impulse[k, i].tolist()
            impulses[k][self.contacts[i]] = normal, along, across
        rows = zip(self.time.tolist(), self.mode.tolist(), impulses, self.lost.tolist(), strict=True)
        return tuple(
            ModeChange(time, dict(zip(self.contacts, [NAMES[k] for k in mode], strict=True)), impulse, lost)
            for time, mode, impulse, lost in rows
        )


@dataclass(frozen=True, eq=False, repr=False)
class ContactHistory(Result):
    """`run.modes`: the changes of modes in the order of time. `run.modes.at(t)` are the modes at a time, `run.modes.impacts` the
    changes with an impact, `run.modes.lost` the energy lost in all of them. `run.modes.needs` says how much friction every
    contact needs, how far it is from lifting, and which one decides."""

    contacts: tuple[str, ...]
    changes: Sequence[ModeChange]
    end: float
    needs: ContactNeeds = NO_NEEDS

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
        if isinstance(self.changes, RecordedChanges):
            return float(sum(self.changes.lost.tolist()))
        return float(sum(change.lost for change in self.changes))

    def at(self, time: float) -> dict[str, str]:
        """The modes at a time; at a change, those after it."""
        times = np.array([change.time for change in self.changes])
        if not self.changes or not times[0] <= time <= self.end:
            raise ArgumentError(f"modes are known from {times[0] if len(times) else 0:g} to {self.end:g} s, not at {time:g} s")
        return dict(self.changes[int(np.searchsorted(times, time, side="right")) - 1].modes)

    def intervals(self, contact: str) -> list[tuple[float, float, str]]:
        """Begin, end and mode of the intervals of one contact; an impact that it takes begins a new one."""
        if contact not in self.contacts:
            raise ArgumentError(f"there is no contact {contact!r} that opens; contacts are {', '.join(self.contacts)}")
        found: list[tuple[float, float, str]] = []
        for change in self.changes:
            mode = change.modes[contact]
            if found and found[-1][2] == mode and contact not in change.impulse:
                continue
            if found:
                found[-1] = (found[-1][0], change.time, found[-1][2])
            found.append((change.time, self.end, mode))
        return found

    def summary(self) -> str:
        """A line for every change."""
        lines = [self._headline()]
        for change in self.changes[:MOST_LINES]:
            modes = ", ".join(f"{name} {mode}" for name, mode in change.modes.items())
            lost = f"; impact, {change.lost:.4g} J lost" if change.impact else ""
            lines.append(f"  {change.time:.9g} s: {modes}{lost}")
        if len(self.changes) > MOST_LINES:
            lines.append(f"  and {len(self.changes) - MOST_LINES} more")
        return "\n".join([*lines, *(["what they need:", self.needs.summary()] if len(self.needs) else [])])

    def __str__(self) -> str:
        return self.summary()

    def __repr__(self) -> str:
        return f"<{self._headline()}>"

    def _headline(self) -> str:
        counts = [(len(self.changes), "mode"), (len(self.impacts), "impact")]
        listed = " and ".join(f"{count} {what}{'' if count == 1 else 's'}" for count, what in counts)
        return f"{listed} of {', '.join(self.contacts)}, {self.lost:.4g} J lost"

    @property
    def units(self) -> dict[str, str]:
        """Units of the columns of its table."""
        return {"time": "s", "lost": "J", **{f"{name}_impulse": "N*s" for name in self.contacts}}

    def _table(self) -> Mapping[str, Any]:
        table: dict[str, Any] = {"time": [change.time for change in self.changes]}
        table |= {name: [change.modes[name] for change in self.changes] for name in self.contacts}
        for name in self.contacts:
            table[f"{name}_impulse"] = [change.impulse.get(name, (0.0,))[0] for change in self.changes]
        return table | {"lost": [change.lost for change in self.changes]}

    def plot(self, **options: Any) -> Any:
        """The modes over time as a Matplotlib figure; see `draisine.view.plots.contact_modes.mode_figure`."""
        return figure("plots.contact_modes.mode_figure", self, **options)

    # files ------------------------------------------------------------------------------------------------------------

    def described(self) -> dict[str, Any]:
        """The history as plain data: columns over the changes, and the impulses of those with an impact."""
        impulses = [
            [k, name, *impulse] for k, change in enumerate(self.changes) for name, impulse in change.impulse.items()
        ]  # at change k on a contact: normal, along, across
        return {
            "contacts": list(self.contacts),
            "end": self.end,
            "time": [change.time for change in self.changes],
            "modes": [[NAMES.index(change.modes[name]) for name in self.contacts] for change in self.changes],
            "impulses": impulses,
            "lost": [change.lost for change in self.changes],
            "needs": self.needs.described(),
        }

    @staticmethod
    def from_data(data: Any) -> ContactHistory:
        """The history from the data of `described`, of a file that may be damaged."""
        contacts = [checked(str, name, "a contact") for name in list_at(data, "contacts")]
        times, modes, lost = (list_at(data, key) for key in ("time", "modes", "lost"))
        if not len(times) == len(modes) == len(lost):
            raise DataError("the modes of contacts in the metadata have different numbers of times, modes and losses")
        for row in modes:
            known = isinstance(row, list) and len(row) == len(contacts) and all(m in range(len(NAMES)) for m in row)
            if not known or any(isinstance(m, bool | float) for m in row):
                raise DataError(f"the modes of contacts in the metadata should be {len(contacts)} integers, got {shortened(row)}")
        impulses: list[dict[str, tuple[float, float, float]]] = [{} for _ in times]
        for entry in list_at(data, "impulses"):
            change, name, *parts = checked(list, entry, "an impulse") if len(entry) == 5 else (-1, "")
            if name not in contacts or not isinstance(change, int) or not 0 <= change < len(times):
                raise DataError(f"an impulse in the metadata belongs to no change of modes: {shortened(entry)}")
            normal, along, across = (_number(part, "an impulse") for part in parts)
            impulses[change][name] = normal, along, across
        rows = zip(times, modes, impulses, lost, strict=True)
        changes = tuple(
            ModeChange(
                _number(time, "a time of modes"),
                {name: NAMES[mode] for name, mode in zip(contacts, row, strict=True)},
                impulse,
                _number(loss, "a loss"),
            )
            for time, row, impulse, loss in rows
        )
        needs = ContactNeeds.from_data(list_at(data, "needs")) if "needs" in data else NO_NEEDS
        return ContactHistory(tuple(contacts), changes, number_at(data, "end"), needs)


NO_MODES = ContactHistory((), (), 0.0)  # of a run without contacts that open


def _number(value: Any, what: str) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise DataError(f"{what} in the metadata should be a number, got {shortened(value)}")
    return float(value)


MOST_LINES = 40
