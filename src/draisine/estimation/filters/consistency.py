"""Consistency of filters: normalized innovations and errors, and whiteness of innovations.

With correct model and noise, the normalized innovation squared νᵀS⁻¹ν of m measurements follows χ² with m degrees of freedom, and
innovations are white (Bar-Shalom, Li & Kirubarajan 2001, section 5.4).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from draisine.estimation.measurement import Whiteness, whiteness

Reals = NDArray[np.float64]

LEVEL = 0.99  # of the interval for the sum of squares


class Verdict(StrEnum):
    """Result of the χ² test."""

    CONSISTENT = "consistent"
    CONFIDENT = "too confident"  # errors are larger than predicted
    CAUTIOUS = "too cautious"  # errors are smaller


@dataclass(frozen=True)
class Squares:
    """The mean of normalized squares per degree of freedom, the degrees of freedom, and the interval expected for the mean."""

    mean: float
    freedoms: int
    low: float
    high: float

    @staticmethod
    def of(squares: Reals, freedoms: Reals, level: float = LEVEL) -> Squares:
        """From squares at samples. The interval contains the mean of a consistent filter with probability `level`.

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
    """Consistency of a filter by its innovations: in total, and by channel."""

    together: Squares
    channels: dict[str, Squares]
    whiteness: dict[str, Whiteness]

    @property
    def verdict(self) -> Verdict:
        return self.together.verdict

    @property
    def white(self) -> bool:
        """Whether the innovations of all channels are white."""
        return all(w.white for w in self.whiteness.values())

    def __str__(self) -> str:
        lines = [f"{self.verdict}: squared innovations {self.together}"]
        for name, squares in self.channels.items():
            w = self.whiteness[name]
            reported = "white" if w.white else f"not white ({w.evidence})"
            lines.append(f"  {name}: {squares.mean:.3f} ({squares.verdict}), {reported}")
        if self.verdict is Verdict.CONFIDENT:
            lines.append("  errors are larger than predicted: raise process noise, or the noise of channels above 1")
        if self.verdict is Verdict.CAUTIOUS:
            lines.append("  errors are smaller than predicted: lower process noise, or the noise of channels below 1")
        return "\n".join(lines)


def assess(names: Sequence[str], normalized: Reals, squares: Reals) -> Consistency:
    """From innovations divided by their standard deviations (samples, channels), NaN where missing, and squares at samples."""
    present = np.isfinite(normalized)
    together = Squares.of(squares, present.sum(axis=1))
    channels, orders = {}, {}
    for i, name in enumerate(names):
        column = normalized[present[:, i], i]
        channels[name] = Squares.of(column**2, np.ones(len(column)))
        orders[name] = whiteness("", name, column)
    return Consistency(together, channels, orders)
