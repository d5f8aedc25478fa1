"""Status of a run: why it ended, with the quantity, the time and the remedy."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum


class Ending(StrEnum):
    """Why a run stopped."""

    FINISHED = "FINISHED"  # the final time was reached
    EVENT = "EVENT"  # an event with the action "stop" occurred
    INTERRUPTED = "INTERRUPTED"  # stopped by the user; the samples computed are kept
    NOT_FINITE = "NOT_FINITE"  # a derivative or state is not finite
    STEP_TOO_SMALL = "STEP_TOO_SMALL"  # the tolerance was not met with a step at rounding level
    TOO_MANY_STEPS = "TOO_MANY_STEPS"  # max_steps of the method was reached
    SINGULAR = "SINGULAR"  # the choice of independent velocities became singular and no other is better
    CONSTRAINTS_BROKEN = "CONSTRAINTS_BROKEN"  # a constraint, redundant ones included, is violated beyond the tolerance
    SWITCHES_ACCUMULATE = "SWITCHES_ACCUMULATE"  # infinitely many switches in a finite time
    SLIDING_AMBIGUOUS = "SLIDING_AMBIGUOUS"  # the motion on several switching surfaces is not unique
    CONTROL_FAILED = "CONTROL_FAILED"  # the control function raised an exception or returned an invalid value


@dataclass(frozen=True)
class Status:
    """The end of a run: its kind, a message, and warnings.

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
        """Whether the run reached the final time or a stopping event."""
        return self.kind in (Ending.FINISHED, Ending.EVENT)

    def with_warning(self, text: str) -> Status:
        """The status with one more warning, without duplicates."""
        return self if text in self.warnings else replace(self, warnings=(*self.warnings, text))

    def __str__(self) -> str:
        lines = [f"{self.kind}: {self.message}"]
        return "\n".join(lines + [f"  warning: {text}" for text in self.warnings])
