"""Progress of long work, as every verb reports it to its argument `progress`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias


@dataclass(frozen=True)
class Progress:
    """What is done so far: a line of text, the fraction done, and figures by name.

    `share` is None where the amount of work is not known beforehand. As text it is one line, so that `progress=print` works in
    every verb.

    >>> print(Progress("simulating", 0.25))
    simulating: 25 %
    >>> print(Progress.counted("draw", 3, 200))
    draw 3 of 200
    """

    text: str
    share: float | None = None
    values: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def counted(cls, what: str, done: int, total: int, more: str = "", **values: float) -> Progress:
        """The progress of countable work; `more` is added to the text."""
        return cls(f"{what} {done:,} of {total:,}{more}", done / total, {"done": done, "total": total, **values})

    def __str__(self) -> str:
        return self.text if self.share is None or "done" in self.values else f"{self.text}: {self.share:.0%}".replace("%", " %")


ProgressCallback: TypeAlias = Callable[[Progress], None]
