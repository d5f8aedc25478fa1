"""Entries of a frame's motion taken out of the inertia there, one by one: those that velocities free, those that rows hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import casadi as ca

from draisine.dynamics.linear_algebra import ONE
from draisine.dynamics.recursive.elementary_frames import Freed, symmetric
from draisine.dynamics.recursive.elimination import Solved

if TYPE_CHECKING:
    from draisine.dynamics.recursive.articulated_body import Part


@dataclass
class Pivot:
    """An entry eliminated at a frame: η̇ = g + k η̇, and for a row what gives its multiplier."""

    freed: Freed
    constant: ca.SX
    share: ca.SX
    inverse: ca.SX | None = None  # of the inertia there, where nothing holds the entry
    held: Held | None = None


@dataclass
class Held:
    """A row that was solved for an entry: the inertia's row there, p − τ, and other rows open then."""

    row: str
    divisor: ca.SX
    inertia: ca.SX
    lack: ca.SX
    others: list[tuple[str, ca.SX]]


def per(amount: ca.SX, scale: ca.SX) -> ca.SX:
    """amount/scale; most scales are 1."""
    return amount if scale is ONE else amount / scale


class Eliminating:
    """The inertia and force at a frame, while entries are taken out of them."""

    def __init__(
        self, part: Part, generalized_forces: dict[str, ca.SX], sides: dict[str, ca.SX], inertia: ca.SX, force: ca.SX
    ) -> None:
        self.part, self.generalized_forces, self.sides, self.inertia, self.force = part, generalized_forces, sides, inertia, force
        self.pivots: list[list[Pivot]] = [[] for _ in part.solved]
        self.own: dict[str, ca.SX] = {}

    def eliminate(self, k: int) -> None:
        for solved in self.part.solved[k]:
            self.pivots[k].append(self._held(solved))
        for freed in self.part.free[k]:
            self.pivots[k].append(self._freed(freed))

    def _held(self, solved: Solved) -> Pivot:
        """An entry that a row is solved for."""
        a, inertia, force = solved.freed.place, self.inertia, self.force
        constant = self.sides.pop(solved.row) / solved.divisor
        row, own = inertia[:, a], inertia[a, a]
        lack = force[a] - self._effort(solved.freed)
        for name, entry in solved.others:
            self.sides[name] = self.sides[name] - entry * constant
        share, rest = solved.share.T, _without(row, a)
        self.inertia = symmetric(_cleared(inertia, a) + share @ rest.T + rest @ share.T + own * (share @ share.T))
        self._push(solved.freed, _without(force, a) + rest * constant + share * (lack + own * constant))
        held = Held(solved.row, solved.divisor, row.T, lack, solved.others)
        return Pivot(solved.freed, constant, solved.share, held=held)

    def _freed(self, freed: Freed) -> Pivot:
        """An entry that nothing holds."""
        a, inertia, force = freed.place, self.inertia, self.force
        own = self.own[freed.velocity] = inertia[a, a]
        inverse = 1 / own
        rest = _without(inertia[:, a], a)
        constant = (self._effort(freed) - force[a]) * inverse
        share = -(rest * inverse)
        self.inertia = symmetric(_cleared(inertia, a) + share @ rest.T)
        self._push(freed, _without(force, a) + rest * constant)
        return Pivot(freed, constant, share.T, inverse)

    def _push(self, freed: Freed, force: ca.SX) -> None:
        """The velocity is the entry less what the frame before has of it, on which its effort pushes back."""
        effort = self._effort(freed)
        if not effort.is_zero():
            force[freed.place] = effort
        self.force = ca.sparsify(force)

    def _effort(self, freed: Freed) -> ca.SX:
        return per(self.generalized_forces[freed.velocity], freed.scale)


def _cleared(matrix: ca.SX, place: int) -> ca.SX:
    """Without one row and column."""
    kept = [i for i in range(matrix.shape[0]) if i != place]
    found = ca.SX(*matrix.shape)
    found[kept, kept] = matrix[kept, kept]
    return found


def _without(entries: ca.SX, place: int) -> ca.SX:
    found = ca.SX(entries)
    found[place] = 0
    return ca.sparsify(found)
