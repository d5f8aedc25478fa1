"""How a run ended, as advice: what happened to which quantity at what time, and what to do."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum


class Ending(StrEnum):
    """Why a run stopped."""

    FINISHED = "FINISHED"  # the time asked for was reached
    EVENT = "EVENT"  # an event with the action "stop" happened
    INTERRUPTED = "INTERRUPTED"  # the user stopped it; what was computed is kept
    NOT_FINITE = "NOT_FINITE"  # a derivative or state is infinite or not a number
    STEP_TOO_SMALL = "STEP_TOO_SMALL"  # the step shrank to rounding error before the tolerance was met
    TOO_MANY_STEPS = "TOO_MANY_STEPS"  # the method's max_steps were used up
    SINGULAR = "SINGULAR"  # the independent velocities lost their meaning and no other choice is better
    CONTROL_FAILED = "CONTROL_FAILED"  # the user's control function raised an exception or gave a bad value


@dataclass(frozen=True)
class Status:
    """The end of a run: its kind, a message for people, and warnings gathered on the way.

    >>> print(Status(Ending.EVENT, "fell over: lean passed 80° at t = 1.320 s"))
    EVENT: fell over: lean passed 80° at t = 1.320 s
    >>> Status(Ending.FINISHED, "reached t = 5 s").complete
    True
    """

    kind: Ending
    message: str
    warnings: tuple[str, ...] = ()

    @property
    def complete(self) -> bool:
        """The run went as far as it was asked to: to its end, or to an event that stops it."""
        return self.kind in (Ending.FINISHED, Ending.EVENT)

    def with_warning(self, text: str) -> Status:
        """The same status with one more warning; one already there is not repeated."""
        return self if text in self.warnings else replace(self, warnings=(*self.warnings, text))

    def __str__(self) -> str:
        lines = [f"{self.kind}: {self.message}"]
        return "\n".join(lines + [f"  warning: {text}" for text in self.warnings])
