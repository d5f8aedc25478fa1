"""How far an ensemble has come."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Progress:
    """Runs done, all of them, and the time taken; `resumed` were found done.

    >>> print(Progress(2_000, 10_000, 4.0))
    2,000 of 10,000 runs, 500 runs/s, 16 s left
    """

    done: int
    total: int
    seconds: float
    resumed: int = 0

    @property
    def rate(self) -> float:
        """Runs per second."""
        return (self.done - self.resumed) / self.seconds if self.seconds > 0.0 else 0.0

    @property
    def left(self) -> float:
        """Seconds still to go, at this rate."""
        return (self.total - self.done) / self.rate if self.rate > 0.0 else float("inf")

    def __str__(self) -> str:
        left = f"{self.left:,.0f} s left" if self.rate > 0.0 else "time left unknown"
        return f"{self.done:,} of {self.total:,} runs, {self.rate:,.0f} runs/s, {left}"
