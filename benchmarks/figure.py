"""One line of the benchmark's table: a figure, ours beside a peer's, and whether it meets its target."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


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
    """Our figure, seconds or memory, must be smaller than the peer's by a factor."""

    factor: float

    def __str__(self) -> str:
        return f"{self.factor:g} × faster"


Target = AtMost | AtLeast | Faster
KINDS: dict[str, type[AtMost] | type[AtLeast] | type[Faster]] = {"at most": AtMost, "at least": AtLeast, "faster": Faster}
BESIDE = ", beside "  # names the peer at the end of a figure's name


@dataclass(frozen=True)
class Figure:
    """A measured figure. Without a target it is reported for information. A peer that is not there is None or NaN.

    Where a name ends in ", beside SOMEBODY", that is the peer. Where both are given, the smaller one wins. A peer that was
    stopped before it was ready needs at least `peer`: `peer_at_least`.
    """

    name: str
    ours: float
    unit: str = ""
    target: Target | None = None
    peer: float | None = None
    peer_at_least: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "ours", float(self.ours))  # measured figures come as NumPy's numbers, which JSON does not know
        if self.peer is not None:
            object.__setattr__(self, "peer", None if math.isnan(self.peer) else float(self.peer))

    @property
    def what(self) -> str:
        """The name without the peer's."""
        return self.name.rpartition(BESIDE)[0] or self.name

    @property
    def beside(self) -> str:
        """The peer's name, if the figure has one."""
        return self.name.rpartition(BESIDE)[2] if BESIDE in self.name else ""

    @property
    def ratio(self) -> float | None:
        """How many times the peer's figure is larger than ours, or at least so many."""
        return None if self.peer is None else self.peer / self.ours if self.ours else math.inf

    @property
    def loses(self) -> bool:
        """The peer's figure is the smaller one."""
        return self.ratio is not None and self.ratio < 1 and not self.peer_at_least

    @property
    def met(self) -> bool | None:
        """Whether the target is met; None where there is no target, no peer to compare with, or a peer stopped too early."""
        match self.target:
            case AtMost(limit):
                return self.ours <= limit
            case AtLeast(limit):
                return self.ours >= limit
            case Faster(factor):
                if self.ratio is None or (self.peer_at_least and self.ratio < factor):
                    return None
                return self.ratio >= factor
            case None:
                return None

    def as_json(self) -> dict[str, Any]:
        """Plain data; `of_json` reads it. What follows from the rest is added for other readers."""
        kind = next((kind for kind, made in KINDS.items() if isinstance(self.target, made)), None)
        return {
            "figure": self.name,
            "ours": self.ours,
            "unit": self.unit,
            "peer": self.peer,
            "peer_at_least": self.peer_at_least,
            "ratio": self.ratio,
            "target": None if kind is None else {kind: next(iter(vars(self.target).values()))},
            "met": self.met,
        }


def of_json(reported: Mapping[str, Any]) -> Figure:
    target = None if reported["target"] is None else next(KINDS[kind](limit) for kind, limit in reported["target"].items())
    return Figure(reported["figure"], reported["ours"], reported["unit"], target, reported["peer"], reported["peer_at_least"])
