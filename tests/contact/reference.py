"""The open reference numbers of contact and impact: `tests/reference/contact.json`, cases by their id."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

FILE = Path(__file__).parents[1] / "reference" / "contact.json"


def bare(entry: Any) -> Any:
    """An entry without its unit."""
    return entry["value"] if isinstance(entry, dict) and "value" in entry else entry


@dataclass(frozen=True)
class Case:
    """A case of the file: `case["impact_time"]` is a number of it, `case.given("h")` a parameter."""

    id: str
    title: str
    law: str
    doubts: str
    parameters: dict[str, Any]
    numbers: dict[str, Any]
    tolerances: dict[str, Any]

    def __getitem__(self, name: str) -> Any:
        return bare(self.numbers[name])

    def given(self, name: str) -> Any:
        """A parameter, without its unit."""
        return bare(self.parameters[name])

    def unit(self, name: str) -> str:
        """The unit of a number, with what the file says of it."""
        entry = self.numbers[name]
        return entry.get("unit", "") if isinstance(entry, dict) else ""

    @property
    def tolerance(self) -> float:
        """The tolerance that an event-driven program is asked to keep, relative unless the file says absolute."""
        entry = self.tolerances.get("event_driven", self.tolerances)
        return float(entry.get("rel", entry.get("abs", float("nan"))))


@cache
def cases() -> dict[str, Case]:
    """All cases by id, in the order of the file."""
    entries = json.loads(FILE.read_text("utf-8"))["cases"]
    return {
        c["id"]: Case(c["id"], c["title"], c["law"], c["doubts"], c["parameters"], c["numbers"], c["tolerance"]) for c in entries
    }
