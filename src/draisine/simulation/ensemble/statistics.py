"""Statistics over runs, collected chunk by chunk: counts, means, standard deviations and extremes.

Two parts are merged by the formulas of T. F. Chan, G. H. Golub and R. J. LeVeque (1983). Chunks are merged in order, so that the
last bit does not depend on threads or interruptions.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from draisine.simulation.contact_margins import LARGEST_FRICTION, LEAST_FORCE, MOST_FRICTION

SEPARATOR = "; "  # between the warnings of a run
COMPLETE = ("FINISHED", "EVENT")  # statuses of runs that reached `until` or an event that stops


@dataclass(frozen=True)
class Moments:
    """Statistics of one column: count (without NaN), mean, standard deviation, minimum and maximum."""

    count: int = 0
    mean: float = math.nan
    squares: float = 0.0  # Σ (x − mean)²
    least: float = math.nan
    greatest: float = math.nan

    @staticmethod
    def of(column: NDArray[np.float64]) -> Moments:
        known = column[~np.isnan(column)]
        if not known.size:
            return Moments()
        with np.errstate(all="ignore"):
            mean = float(known.mean())
            return Moments(known.size, mean, float(((known - mean) ** 2).sum()), float(known.min()), float(known.max()))

    @property
    def deviation(self) -> float:
        return math.sqrt(self.squares / (self.count - 1)) if self.count > 1 else math.nan

    def merged(self, other: Moments) -> Moments:
        """The statistics of both parts together."""
        if not self.count or not other.count:
            return self if self.count else other
        count, apart = self.count + other.count, other.mean - self.mean
        return Moments(
            count,
            self.mean + apart * (other.count / count),
            self.squares + other.squares + apart * apart * (self.count * other.count / count),
            min(self.least, other.least),
            max(self.greatest, other.greatest),
        )


@dataclass(frozen=True)
class Tally:
    """Statistics of some runs: moments by column, and the number of runs by status."""

    moments: Mapping[str, Moments]
    statuses: Mapping[str, int]
    complaint: str = ""  # about the first run with invalid values
    pulled: int = 0  # runs in which the ground would have to pull
    slipped: int = 0  # runs in which a contact needs more friction than a dry road gives
    warned: Mapping[str, int] = field(default_factory=dict)  # other warnings, and the number of runs that have them

    @staticmethod
    def of(
        columns: Mapping[str, NDArray[np.float64]],
        statuses: list[str],
        complaint: str = "",
        warnings: Sequence[str] = (),
        results: Collection[str] = (),
    ) -> Tally:
        """Of runs; of columns that are `results`, only runs that reached their end count: others stopped anywhere on the way."""
        ends = {status: statuses.count(status) for status in sorted(set(statuses))}
        none = np.zeros(0)
        pulled = int(np.count_nonzero(columns.get(LEAST_FORCE, none) < 0.0))
        slipped = int(np.count_nonzero(columns.get(MOST_FRICTION, none) > LARGEST_FRICTION))
        warned = Counter(text for texts in warnings if texts for text in texts.split(SEPARATOR))
        ended = np.isin(statuses, COMPLETE)
        moments = {name: Moments.of(column[ended] if name in results else column) for name, column in columns.items()}
        return Tally(moments, ends, complaint, pulled, slipped, dict(sorted(warned.items())))

    def merged(self, other: Tally) -> Tally:
        ends = {k: self.statuses.get(k, 0) + other.statuses.get(k, 0) for k in sorted({*self.statuses, *other.statuses})}
        names = dict.fromkeys((*self.moments, *other.moments))
        moments = {n: self.moments.get(n, Moments()).merged(other.moments.get(n, Moments())) for n in names}
        complaint = self.complaint or other.complaint
        warned = dict(sorted((Counter(self.warned) + Counter(other.warned)).items()))
        return Tally(moments, ends, complaint, self.pulled + other.pulled, self.slipped + other.slipped, warned)

    def as_text(self) -> str:
        """Exact text form, with hexadecimal numbers."""
        moments = {
            name: [m.count, *(float(x).hex() for x in (m.mean, m.squares, m.least, m.greatest))]
            for name, m in self.moments.items()
        }
        counts = {"pulled": self.pulled, "slipped": self.slipped, "warned": dict(self.warned)}
        return json.dumps({"moments": moments, "statuses": dict(self.statuses), "complaint": self.complaint, **counts})

    @staticmethod
    def from_text(text: str) -> Tally:
        read = json.loads(text)
        moments = {name: Moments(int(n), *(float.fromhex(x) for x in rest)) for name, (n, *rest) in read["moments"].items()}
        return Tally(moments, read["statuses"], read["complaint"], read["pulled"], read["slipped"], read["warned"])
