"""Changes of modes of unilateral contacts in a run: columns as the stepping loop records them, and a record of each one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import overload

import numpy as np
from numpy.typing import NDArray

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
