"""Figures of papers beside ours: rows and tables of `docs/validation.md`, and the files that the figures are read from."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any

from extensions import ROOT


@dataclass(frozen=True)
class Figure:
    """A number of a paper as printed, or of another source, and ours."""

    name: str
    printed: str
    ours: float
    relative: bool = True  # to the printed value; else in the figure's own unit

    @property
    def published(self) -> float:
        return float(self.printed)

    @property
    def difference(self) -> float:
        apart = abs(self.ours - self.published)
        return apart / abs(self.published) if self.relative and self.published else apart

    @property
    def row(self) -> str:
        return f"| {self.name} | {_minus(self.printed)} | {_minus(_like(self.ours, self.printed))} | {self.difference:.0e} |"


def _like(value: float, printed: str) -> str:
    """A value with the decimals of the printed one, and two more where these are few."""
    decimals = len(printed.partition(".")[2])
    return f"{value:.{decimals + 2 if 0 < decimals < 4 else decimals}f}"


def _minus(text: str) -> str:
    return text.replace("-", "−").replace("+", "")


def table(figures: Iterable[Figure], beside: str = "published") -> str:
    """The figures beside ours; `beside` says what the others are."""
    return "\n".join(
        [f"| quantity | {beside} | draisine | difference |", "| --- | ---: | ---: | ---: |", *(f.row for f in figures)]
    )


@cache
def reference(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((ROOT / "tests" / "reference" / f"{name}.json").read_text(encoding="utf-8"))
    return found
