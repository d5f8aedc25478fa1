"""Reductions: what is kept of every run, as small objects that give the columns of a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from draisine.errors import ArgumentError
from draisine.numerics.number_range import refuse_large_count, with_number_range

if TYPE_CHECKING:
    from draisine.simulation.ensemble.block import Finished

__all__ = ["ContactCounts", "EventCounts", "Extremes", "Final", "Keep", "Snapshots"]

Reals = NDArray[np.float64]


class Keep(Protocol):
    """A reduction of a run to columns."""

    def times(self, until: float) -> Reals:
        """Output times that it needs."""

    def columns(
        self, finished: Finished, samples: Reals, until: float, outputs: Sequence[str], events: Sequence[str]
    ) -> dict[str, Reals]:
        """Columns by name, one number per run."""


@dataclass(frozen=True)
class Final:
    """Outputs at the end of a run, in columns such as `lean.end`."""

    def times(self, until: float) -> Reals:
        return np.zeros(0)

    def columns(
        self, finished: Finished, samples: Reals, until: float, outputs: Sequence[str], events: Sequence[str]
    ) -> dict[str, Reals]:
        return {f"{name}.end": finished.values[:, -1, k] for k, name in enumerate(outputs)}


@with_number_range
@dataclass(frozen=True)
class Snapshots:
    """Outputs at given times, in columns such as `lean@1.5`; NaN if the run ended before."""

    at: tuple[float, ...]

    def __init__(self, *at: float) -> None:
        object.__setattr__(self, "at", tuple(float(t) for t in at))
        if not self.at or any(b <= a for a, b in zip(self.at, self.at[1:], strict=False)):
            raise ArgumentError(f"Snapshots: give times that increase, e.g. Snapshots(0.5, 1.0, 2.0); got {self.at}")

    def times(self, until: float) -> Reals:
        beyond = [t for t in self.at if not 0.0 <= t <= until]
        if beyond:
            raise ArgumentError(f"Snapshots: t = {beyond[0]:g} does not lie between 0 and until = {until:g}")
        return np.array(self.at)

    def columns(
        self, finished: Finished, samples: Reals, until: float, outputs: Sequence[str], events: Sequence[str]
    ) -> dict[str, Reals]:
        indices = np.searchsorted(samples, self.at)
        return {
            f"{name}@{t:g}": finished.values[:, index, k]
            for k, name in enumerate(outputs)
            for t, index in zip(self.at, indices, strict=True)
        }


MOST_PARTS = 1_000_000


@with_number_range
@dataclass(frozen=True)
class Extremes:
    """The minimum and maximum of each output at the ends of `parts` equal intervals, in columns such as `lean.min`."""

    parts: int = 100

    def __post_init__(self) -> None:
        if self.parts < 1:
            raise ArgumentError(f"Extremes: at least one part is needed, got {self.parts}")
        refuse_large_count("Extremes: parts", self.parts, MOST_PARTS)

    def times(self, until: float) -> Reals:
        return np.linspace(0.0, until, self.parts + 1)

    def columns(
        self, finished: Finished, samples: Reals, until: float, outputs: Sequence[str], events: Sequence[str]
    ) -> dict[str, Reals]:
        own = np.append(np.searchsorted(samples, self.times(until)), len(samples))  # and the end
        found = {}
        for k, name in enumerate(outputs):
            seen = finished.values[:, own, k]
            found[f"{name}.min"] = np.fmin.reduce(seen, axis=1)
            found[f"{name}.max"] = np.fmax.reduce(seen, axis=1)
        return found


@dataclass(frozen=True)
class EventCounts:
    """Time of the first occurrence and number of occurrences of each event, in columns such as `fell_over.first`."""

    def times(self, until: float) -> Reals:
        return np.zeros(0)

    def columns(
        self, finished: Finished, samples: Reals, until: float, outputs: Sequence[str], events: Sequence[str]
    ) -> dict[str, Reals]:
        found = {}
        for k, name in enumerate(events):
            found[f"{name}.first"], found[f"{name}.count"] = finished.first[:, k], finished.count[:, k].astype(float)
        return found


@dataclass(frozen=True)
class ContactCounts:
    """Of every contact that opens, its mode at the end (0 open, 1 slips, 2 sticks) and the number of its impacts, in columns such
    as `floor.mode` and `floor.impacts`; and the energy in J that all impacts take, `impacts.lost`."""

    def times(self, until: float) -> Reals:
        return np.zeros(0)

    def columns(
        self, finished: Finished, samples: Reals, until: float, outputs: Sequence[str], events: Sequence[str]
    ) -> dict[str, Reals]:
        if not finished.contact_names:
            raise ArgumentError("ContactCounts: the model has no contact that opens or slips; leave it out of keep=")
        found = {"impacts.lost": finished.contacts[:, 0]}
        for k, name in enumerate(finished.contact_names):
            found[f"{name}.mode"], found[f"{name}.impacts"] = finished.contacts[:, 1 + 2 * k], finished.contacts[:, 2 + 2 * k]
        return found


def sample_times(keep: Sequence[Keep], until: float) -> Reals:
    """All output times needed, in order."""
    return np.unique(np.concatenate([np.zeros(0), *(one.times(until) for one in keep)]))
