"""Velocity constraints A(q, t) v + a₀(q, t) = 0 in blocks, one block for each contact or tie."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import casadi as ca

# a multiplier times its residual is a work, times the residual's rate a power
_REACTIONS = {"m": "N", "rad": "N*m", "": "N*m", "1": "N*m", "m^2": "N/m"}


def reaction_unit(of: str) -> str:
    """The unit of a multiplier, from that of its residual at position or velocity level.

    >>> reaction_unit("m/s"), reaction_unit("kg"), reaction_unit("m^2")
    ('N', 'J/(kg)', 'N/m')
    """
    return _REACTIONS.get(of.removesuffix("/s"), f"J/({of})")


class Named(Protocol):
    """What rows come from: a wheel's or an edge's contact, or a tie."""

    @property
    def name(self) -> str: ...


@dataclass(frozen=True)
class Rows:
    """Rows of one contact or tie: names, columns by velocity, and the drift a₀ of rows that move by themselves.

    Rows in which no velocity enters are left out: a wheel under a body that slides in the ground's plane cannot leave it.
    `kept` says which rows of the source these are.
    """

    source: Named
    names: tuple[str, ...]
    columns: dict[str, list[ca.SX]]
    drift: tuple[ca.SX, ...]
    kept: tuple[int, ...]

    @property
    def count(self) -> int:
        return len(self.names)

    def only(self, wanted: Sequence[int]) -> Rows:
        """Some of the rows, by their places in this block."""
        columns = {v: [c[i] for i in wanted] for v, c in self.columns.items()}
        return replace(
            self,
            names=tuple(self.names[i] for i in wanted),
            columns=columns,
            drift=tuple(self.drift[i] for i in wanted),
            kept=tuple(self.kept[i] for i in wanted),
        )
