"""The record of a part in a model: the call that made it, and the names of what it offers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from draisine.errors import UnknownNameError
from draisine.expr.expression import did_you_mean


@dataclass(frozen=True)
class Part:
    """A part of a model: the call that made it, and the names of what it offers."""

    name: str
    kind: str
    options: tuple[tuple[str, Any], ...]  # as they were given, with names in the place of items
    roles: tuple[tuple[str, str], ...]  # frames, bodies, coordinates, inputs and outputs that others use
    items: tuple[tuple[str, str], ...]  # what it added: kind of item and name
    within: str = ""  # the part that it belongs to
    left_out: tuple[tuple[str, str], ...] = ()  # parameters that are zero and therefore none: name and unit

    def __getitem__(self, role: str) -> str:
        """The name of a frame, body, coordinate, input or output: `fork["axle"]`."""
        known = dict(self.roles)
        if role not in known:
            hint = did_you_mean(role, known) or f"; it has {', '.join(known)}"
            raise UnknownNameError(f"part {self.name!r} ({self.kind}) has no {role!r}{hint}")
        return known[role]

    def __str__(self) -> str:
        offered = ", ".join(f"{role} = {name}" for role, name in self.roles)
        return f"{self.name}: {self.kind.replace('_', ' ')} with {offered}"
