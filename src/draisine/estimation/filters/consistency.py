"""Whether a filter is as good as it says: innovations and errors in units of their covariances.

The normalized innovation squared νᵀS⁻¹ν of m measurements follows χ² with m degrees of freedom if model and noise are right, and
innovations follow each other by chance (Bar-Shalom, Li & Kirubarajan 2001, section 5.4).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from draisine.estimation.measurement import Whiteness, whiteness

Reals = NDArray[np.float64]

LEVEL = 0.99  # of the interval in which the sum of squares is expected


class Verdict(StrEnum):
    """What the sum of squares says."""

    CONSISTENT = "consistent"
    CONFIDENT = "too confident"  # errors are larger than the filter says
    CAUTIOUS = "too cautious"  # errors are smaller


@dataclass(frozen=True)
class Squares:
    """The mean of normalized squares per degree of freedom, how many of these there are, and where the mean is expected."""

    mean: float
    freedoms: int
    low: float
    high: float

    @staticmethod
    def of(squares: Reals, freedoms: Reals, level: float = LEVEL) -> Squares:
        """From squares at samples. An interval at `level` holds the mean of a consistent filter that often.

        >>> import numpy as np
        >>> Squares.of(np.full(100, 2.0), np.full(100, 2)).verdict
        <Verdict.CONSISTENT: 'consistent'>
        """
        from scipy.stats import chi2

        count = int(np.sum(freedoms))
        total = float(np.sum(squares))
        if count == 0:
            return Squares(1.0, 0, 0.0, np.inf)
        low, high = (float(chi2.ppf(q, count)) / count for q in (0.5 - 0.5 * level, 0.5 + 0.5 * level))
        return Squares(total / count, count, low, high)

    @property
    def verdict(self) -> Verdict:
        if self.low <= self.mean <= self.high:
            return Verdict.CONSISTENT
        return Verdict.CONFIDENT if self.mean > self.high else Verdict.CAUTIOUS

    def __str__(self) -> str:
        return f"{self.mean:.3f} per degree of freedom, expected {self.low:.3f} … {self.high:.3f} ({self.freedoms} of them)"


@dataclass(frozen=True)
class Consistency:
    """The verdict on a filter by its innovations: all together, and each channel."""

    together: Squares
    channels: dict[str, Squares]
    whiteness: dict[str, Whiteness]

    @property
    def verdict(self) -> Verdict:
        return self.together.verdict

    @property
    def white(self) -> bool:
        """Innovations follow each other by chance."""
        return all(w.white for w in self.whiteness.values())

    def __str__(self) -> str:
        lines = [f"{self.verdict}: squared innovations {self.together}"]
        for name, squares in self.channels.items():
            w = self.whiteness[name]
            reported = "white" if w.white else f"not white, correlated by {w.correlations[0]:.2f} from sample to sample"
            lines.append(f"  {name}: {squares.mean:.3f} ({squares.verdict}), {reported}")
        if self.verdict is Verdict.CONFIDENT:
            lines.append("  the model explains less than it promises: raise process noise, or the noise of channels above 1")
        if self.verdict is Verdict.CAUTIOUS:
            lines.append("  the noise is smaller than was said: lower process noise, or the noise of channels below 1")
        return "\n".join(lines)


def judged(names: Sequence[str], normalized: Reals, squares: Reals) -> Consistency:
    """From innovations in units of their own deviations (samples, channels), NaN where missing, and squares at samples."""
    there = np.isfinite(normalized)
    together = Squares.of(squares, there.sum(axis=1))
    channels, orders = {}, {}
    for i, name in enumerate(names):
        column = normalized[there[:, i], i]
        channels[name] = Squares.of(column**2, np.ones(len(column)))
        orders[name] = whiteness("", name, column)
    return Consistency(together, channels, orders)
