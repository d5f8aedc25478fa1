"""What contacts that open needed in a run: friction while they stuck, and how near they came to lifting and to sliding."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from draisine.errors import DataError, UnknownNameError
from draisine.results.base import Result
from draisine.results.metadata import shortened

NOTHING = 1e-6  # of friction or load: no contact is near a change
_NUMBERS = 8  # of a row in files, besides the name


class ContactNeed(NamedTuple):
    """One contact over a run, at its samples; NaN where it was never in such a mode.

    `needed` is the largest tangential force divided by the normal force while it sticks, at the time `needed_at`; for dry
    friction of a joint the force itself. `allowed` is the coefficient (the force) of static friction there, infinite if it cannot
    slip. `least_force` is the least normal force while it is closed, `mean_force` the mean one; `least_gap` is that while it is
    open.
    """

    contact: str
    needed: float
    needed_at: float
    allowed: float
    least_force: float
    least_force_at: float
    mean_force: float
    least_gap: float
    least_gap_at: float

    @property
    def used(self) -> float:
        """The part of static friction that it needs while it sticks; 1 where it begins to slip, NaN where it never sticks."""
        return 0.0 if math.isinf(self.allowed) else self.needed / self.allowed if self.allowed > 0.0 else math.nan

    @property
    def unloaded(self) -> float:
        """How far it is relieved: 1 where it lifts, 0 where its least normal force is the mean one; NaN if it is never closed."""
        return 1.0 - self.least_force / self.mean_force if self.mean_force > 0.0 else math.nan


@dataclass(frozen=True, eq=False, repr=False)
class ContactNeeds(Result):
    """`run.modes.needs`: a row for every contact. `decides` is the contact nearest to a change, and `why`."""

    rows: tuple[ContactNeed, ...]

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[ContactNeed]:
        return iter(self.rows)

    def __getitem__(self, contact: str) -> ContactNeed:
        for row in self.rows:
            if row.contact == contact:
                return row
        raise UnknownNameError(f"no contact is called {contact!r}; contacts are {', '.join(row.contact for row in self.rows)}")

    @property
    def _nearest(self) -> tuple[float, str, str]:
        parts = [(row.used, row.contact, "friction") for row in self.rows] + [
            (row.unloaded, row.contact, "lifting") for row in self.rows
        ]
        return max((part for part in parts if part[0] > NOTHING), default=(math.nan, "", ""))

    @property
    def decides(self) -> str:
        """The contact that is nearest to a limit of its mode, "" if there is none."""
        return self._nearest[1]

    @property
    def why(self) -> str:
        """What limits it: "friction" or "lifting"."""
        return self._nearest[2]

    @property
    def units(self) -> dict[str, str]:
        """Units by column of the table."""
        return {"needed_at": "s", "least_force": "N", "least_force_at": "s", "least_gap": "m", "least_gap_at": "s"}

    def _table(self) -> Mapping[str, Any]:
        names = (
            "needed",
            "needed_at",
            "allowed",
            "used",
            "least_force",
            "least_force_at",
            "unloaded",
            "least_gap",
            "least_gap_at",
        )
        return {"contact": [row.contact for row in self.rows]} | {n: [getattr(row, n) for row in self.rows] for n in names}

    def summary(self) -> str:
        """A line for every contact."""
        lines = []
        for row in self.rows:
            parts = []
            if not math.isnan(row.needed):
                of = "" if math.isinf(row.allowed) else f" of {row.allowed:.4g}"
                parts.append(f"needs friction {row.needed:.4g}{of} to stick (at {row.needed_at:.4g} s)")
            if not math.isnan(row.least_force):
                parts.append(
                    f"least normal force {row.least_force:.4g} (at {row.least_force_at:.4g} s), mean {row.mean_force:.4g}"
                )
            if not math.isnan(row.least_gap):
                parts.append(f"least gap {row.least_gap:.4g} (at {row.least_gap_at:.4g} s)")
            lines.append(f"  {row.contact}: {'; '.join(parts) or 'nothing'}")
        if self.decides:
            share, contact, why = self._nearest
            lines.append(
                f"  {contact} decides: {share:.1%} of its {'static friction' if why == 'friction' else 'load is taken off'}"
            )
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.summary()

    def __repr__(self) -> str:
        return f"<needs of {len(self.rows)} contacts{f', {self.decides} decides by {self.why}' if self.decides else ''}>"

    # files ------------------------------------------------------------------------------------------------------------

    def described(self) -> list[list[Any]]:
        """As plain data; what is not a finite number as text."""
        return [[row.contact, *(x if math.isfinite(x) else str(x) for x in row[1:])] for row in self.rows]

    @staticmethod
    def from_data(data: Any) -> ContactNeeds:
        """From the data of `described`, of a file that may be damaged."""
        rows = []
        for entry in data if isinstance(data, list) else [data]:
            if not isinstance(entry, list) or len(entry) != 1 + _NUMBERS or not isinstance(entry[0], str):
                raise DataError(
                    f"a row of needs of contacts in the metadata should be a name and {_NUMBERS} numbers, got {shortened(entry)}"
                )
            rows.append(ContactNeed(entry[0], *(_number(x) for x in entry[1:])))
        return ContactNeeds(tuple(rows))


def _number(x: Any) -> float:
    if isinstance(x, bool) or not (isinstance(x, int | float) or x in ("nan", "inf", "-inf")):
        raise DataError(f"a number in the needs of contacts of the metadata is {shortened(x)}")
    return float(x)


NO_NEEDS = ContactNeeds(())
