"""States of results as starts: values that are kept exactly together, and are guesses where others are replaced.

Results that determine a state have the method `as_start()`: a run (its end), a steady motion, a special point of a branch, a
periodic motion, a solution of an optimal control problem. `named_start` is called by every verb that takes `start`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

from draisine.errors import ArgumentError


class StateValue(float):
    """A value of a state that was computed. Arithmetic gives plain numbers.

    A start with such values for all coordinates and velocities is this state. Where plain numbers stand beside them, as in
    `{**run.final, "lean": 0.1}`, these are targets, and the others change as little as possible.

    >>> StateValue(0.5), StateValue(0.5) + 1
    (0.5, 1.5)
    """

    __slots__ = ()


@runtime_checkable
class HasState(Protocol):
    """A result that determines a state."""

    def as_start(self) -> dict[str, float]:
        """All values of the state by name, as `StateValue`."""


Start = Mapping[str, Any] | HasState | None  # what `start` may be


def named_start(start: Any) -> dict[str, Any]:
    """A start as values by name: a mapping as it is, the state of a result, or a row of a table (a pandas Series).

    >>> named_start({"speed": 5.0}), named_start(None)
    ({'speed': 5.0}, {})
    """
    if start is None:
        return {}
    if isinstance(start, Mapping):
        return dict(start)
    if isinstance(start, HasState):
        return start.as_start()
    if hasattr(start, "to_dict") and getattr(start, "ndim", 0) == 1:
        row = {str(name): StateValue(value) for name, value in start.to_dict().items()}
        return {"time": StateValue(start.name)} | row if isinstance(start.name, float) else row
    raise ArgumentError(
        f"start: expected targets by name, {{'speed': 5}}, or a result with a state (a run, a steady motion, a special point, a "
        f"periodic motion, a solution, a row of a table), got {type(start).__name__}"
    )
