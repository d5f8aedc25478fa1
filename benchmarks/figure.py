"""One line of the benchmark's table: a figure, ours beside a peer's, and whether it meets its target."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class AtMost:
    """Our figure must not exceed a limit."""

    limit: float

    def __str__(self) -> str:
        return f"≤ {self.limit:g}"


@dataclass(frozen=True)
class AtLeast:
    """Our figure must reach a limit."""

    limit: float

    def __str__(self) -> str:
        return f"≥ {self.limit:g}"


@dataclass(frozen=True)
class Faster:
    """Our time must be smaller than the peer's by a factor."""

    factor: float

    def __str__(self) -> str:
        return f"{self.factor:g} × faster"


@dataclass(frozen=True)
class Figure:
    """A measured figure. Without a target it is told for information. A peer that is not there is None or NaN."""

    name: str
    ours: float
    unit: str = ""
    target: AtMost | AtLeast | Faster | None = None
    peer: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "ours", float(self.ours))  # measured figures come as NumPy's numbers, which JSON does not know
        if self.peer is not None:
            object.__setattr__(self, "peer", None if math.isnan(self.peer) else float(self.peer))

    @property
    def ratio(self) -> float | None:
        """How many times the peer's figure is larger than ours."""
        return None if self.peer is None else self.peer / self.ours

    @property
    def met(self) -> bool | None:
        """Whether the target is met; None where there is no target, or no peer to compare with."""
        match self.target:
            case AtMost(limit):
                return self.ours <= limit
            case AtLeast(limit):
                return self.ours >= limit
            case Faster(factor):
                return None if self.ratio is None else self.ratio >= factor
            case None:
                return None

    def as_json(self) -> dict[str, str | float | bool | None]:
        return {
            "figure": self.name,
            "ours": self.ours,
            "unit": self.unit,
            "peer": self.peer,
            "ratio": self.ratio,
            "target": str(self.target) if self.target else None,
            "met": self.met,
        }
