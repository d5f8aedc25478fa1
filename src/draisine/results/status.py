"""Status of runs and progress of long work, as every verb reports them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TypeAlias

from draisine.results.control_characters import escaped


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
    OFF_PATH = "OFF_PATH"  # a contact leaves the strip beside a path in which its coordinates hold
    GROUND_TOO_SHARP = "GROUND_TOO_SHARP"  # a wheel would touch the ground at a second place, in a hollow sharper than itself
    CONTACT_INCONSISTENT = "CONTACT_INCONSISTENT"  # no mode of the contacts satisfies the laws of friction and impact
    CONTACT_UNDECIDED = "CONTACT_UNDECIDED"  # the modes of the contacts were not found
    CONTACT_INDETERMINATE = "CONTACT_INDETERMINATE"  # several do, and the motion is not determined
    CONTROL_FAILED = "CONTROL_FAILED"  # the control function raised an exception or returned an invalid value


def time_text(t: float) -> str:
    """A time as messages write it.

    >>> time_text(1 / 3)
    't = 0.333333 s'
    """
    return f"t = {t:.6g} s"


_COMPLETE = ("FINISHED", "EVENT", "SOLVED")


@dataclass(frozen=True)
class Status:
    """How a run or a search ended: its kind (`Ending` of runs, `Outcome` of solutions), a message, and warnings.

    >>> print(Status(Ending.EVENT, "fell over: lean passed 80° at t = 1.320 s"))
    EVENT: fell over: lean passed 80° at t = 1.320 s
    >>> Status(Ending.FINISHED, "reached t = 5 s").complete
    True
    """

    kind: StrEnum
    message: str
    warnings: tuple[str, ...] = ()

    @property
    def complete(self) -> bool:
        """Whether the run reached the final time or a stopping event, or the search its solution."""
        return self.kind in _COMPLETE

    def with_warning(self, text: str) -> Status:
        """The status with one more warning, without duplicates."""
        return self if text in self.warnings else replace(self, warnings=(*self.warnings, text))

    def __str__(self) -> str:
        lines = [f"{self.kind}: {self.message}"]
        return escaped("\n".join(lines + [f"  warning: {text}" for text in self.warnings]))

    def _repr_html_(self) -> str:
        """For notebooks: a line for the end, and one for each warning."""
        from html import escape

        return "".join(f"<div>{escape(line.strip())}</div>" for line in str(self).splitlines())


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
