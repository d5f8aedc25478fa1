"""Passes over straight lists: the same results with less work.

Each takes a list and gives another; none changes a result by more than roundings. `applied` runs those that are switched on.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace


@dataclass(frozen=True)
class Passes:
    """Which passes run when a program is compiled; all of them, unless one is switched off.

    - `sharing`: values that differ by sign or order of operands are one; of a symmetric product half is computed.
    - `regrouping`: sums and products are grouped anew: common factors taken out, what is known early put together, pairs shared.
    - `reciprocals`: divisions by one number are products with its reciprocal.
    - `hoisting`: what depends on parameters alone is found once per run, where a run can do so; where something is solved, what
      does not depend on the solution is found once, for all rounds and for what comes after.
    - `pairing`: sine and cosine of an angle are found together.
    - `ordering`: what most of the rest waits for is computed first.

    >>> Passes(hoisting=False).off
    ('hoisting',)
    """

    sharing: bool = True
    regrouping: bool = True
    reciprocals: bool = True
    hoisting: bool = True
    pairing: bool = True
    ordering: bool = True

    @property
    def off(self) -> tuple[str, ...]:
        """The names of those that are switched off."""
        return tuple(name for name in names() if not getattr(self, name))

    def without(self, name: str) -> Passes:
        """The same with one more switched off."""
        return replace(self, **{name: False})

    @property
    def key(self) -> str:
        """What the cache of machine code is told."""
        return f"without {', '.join(self.off)}" if self.off else "all passes"


def names() -> tuple[str, ...]:
    """The switches, in the order in which passes run."""
    return tuple(field.name for field in fields(Passes))


ALL = Passes()
NONE = Passes(*[False] * len(fields(Passes)))
