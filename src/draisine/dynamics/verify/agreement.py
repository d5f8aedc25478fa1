"""Certificates: comparisons with their tolerances, avoided singular configurations, and what cannot be decided."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from draisine.results.base import Result, figure

Reals = NDArray[np.float64]

AGREEMENT = 1e-10  # tolerance between derivations, and of exact derivatives against complex steps: relative, times condition
DIFFERENCES = 1e-6  # the same for central differences
_SHOWN = 4  # number of singular configurations in the printed table; the others are counted


@dataclass(frozen=True)
class Line:
    """One comparison: the worst disagreement over the states, the state where it occurs, and the tolerance.

    `worst` is relative and divided by the condition of the state.
    """

    what: str
    worst: float
    allowed: float
    where: dict[str, float] = field(repr=False)

    @property
    def holds(self) -> bool:
        return bool(self.worst <= self.allowed)


@dataclass(frozen=True)
class AvoidedSingularity:
    """A singular configuration, and the number of states that were rejected because they were near it."""

    what: str
    states: int


@dataclass(frozen=True)
class Certificate(Result):
    """The result of a certification: a table, a verdict, and what cannot be decided."""

    model: str
    derivations: tuple[str, ...]
    states: int
    lines: tuple[Line, ...]
    verdict: str
    avoided: tuple[AvoidedSingularity, ...] = ()
    undecided: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        return all(line.holds for line in self.lines)

    def _table(self) -> Mapping[str, Any]:
        return {key: [getattr(line, key) for line in self.lines] for key in ("what", "worst", "allowed", "holds")}

    def plot(self, **options: Any) -> Any:
        """Comparisons with their worst disagreements and tolerances; see `draisine.view.plots.verification`."""
        return figure("plots.verification.disagreements", [(x.what, x.worst, x.allowed) for x in self.lines], **options)

    def as_data(self) -> dict[str, Any]:
        lines = [{"what": x.what, "worst": x.worst, "allowed": x.allowed, "holds": x.holds, "where": x.where} for x in self.lines]
        head = {"model": self.model, "passed": self.passed, "verdict": self.verdict, "undecided": list(self.undecided)}
        avoided = [{"what": a.what, "states": a.states} for a in self.avoided]
        return {**head, "derivations": list(self.derivations), "states": self.states, "lines": lines, "avoided": avoided}

    def __str__(self) -> str:
        width = max(len(line.what) for line in self.lines)
        rows = [
            f"  {x.what:<{width}}  {x.worst:8.1e}  {'holds' if x.holds else 'FAILS'} (allowed {x.allowed:.0e})"
            for x in self.lines
        ]
        count = f"{len(self.derivations)} derivations" if len(self.derivations) > 1 else "1 derivation"
        head = f"certificate of {self.model}: {count} ({', '.join(self.derivations)}), {self.states} states"
        worst = max(self.lines, key=lambda line: line.worst / line.allowed)
        place = ", ".join(f"{name} {value:.4g}" for name, value in worst.where.items() if value)
        undecided = [f"cannot be decided: {what}" for what in self.undecided]
        return "\n".join([head, *rows, f"  worst state ({worst.what}): {place}", *self._kept_away(), self.verdict, *undecided])

    def _kept_away(self) -> list[str]:
        reported = sorted(self.avoided, key=lambda a: -a.states)
        lines = [f"  avoided: {a.what} (states rejected: {a.states})" for a in reported[:_SHOWN]]
        return [*lines, f"  avoided: {len(reported) - _SHOWN} other singular configurations"] if len(reported) > _SHOWN else lines


def relative_difference(a: Reals, b: Reals, least: float = 1e-300) -> float:
    """Largest difference relative to the largest entry; `least` is a lower bound of that entry.

    >>> relative_difference(np.array([1.0, 2.0]), np.array([1.0, 2.5]))
    0.2
    >>> relative_difference(np.array([1.0]), np.array([np.nan]))
    inf
    """
    size = max(float(np.abs(a).max(initial=0.0)), float(np.abs(b).max(initial=0.0)), least)
    found = float(np.abs(a - b).max(initial=0.0)) / size
    return found if np.isfinite(found) else np.inf


def worst_line(
    what: str, found: Sequence[float], conditions: Sequence[float], places: Sequence[dict[str, float]], allowed: float = AGREEMENT
) -> Line:
    """The worst of the disagreements at some states, each divided by the condition of its state."""
    scaled = [amount / max(condition, 1.0) for amount, condition in zip(found, conditions, strict=True)]
    k = int(np.argmax(scaled))
    return Line(what, scaled[k], allowed, places[k])
