"""Elimination of the entries of a frame's motion: which constraint row is solved for which velocity, and the pivots of the
inertia.

The knife edge of a trailer constrains its hitch: with the motion of the vehicle before it given, the hitch rate follows. The rows
of a body are therefore solved for the entries that the steps to its frame free, nearest first; a row that a step cannot change is
passed on to the frame before it, and an entry that is solved for drops out of everything nearer the ground. No matrix of all rows
is formed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from draisine.dynamics.contact.rolling import EdgeContact, WheelContact
from draisine.dynamics.kinematics.twists import Twist
from draisine.dynamics.linear_algebra import ONE, UNIT, add, cross, dot
from draisine.dynamics.recursive.elementary_frames import AXIAL, ElementaryFrame, FreeEntry, LinkInertia, column, skew, symmetric
from draisine.errors import NotRecursive

LEAST = 0.02  # smallest ratio of a pivot coefficient to its largest value over the samples


@dataclass
class Row:
    """A row R of R η = 0 at some frame, and its name."""

    name: str
    entries: ca.SX  # 1 × 6, or 1 × 7 on a rotor


@dataclass
class EliminatedRow:
    """A row solved for an entry: η_i = k η, and η̇_i = g + k η̇."""

    entry: FreeEntry
    row: str
    divisor: ca.SX
    share: ca.SX  # k, 1 × entries, zero at its own index
    others: list[tuple[str, ca.SX]] = field(default_factory=list)  # remaining rows, with their entries at this index


class PivotSelection:
    """Chooses, over sampled configurations, which row is solved for which entry."""

    def __init__(self, sampled: Callable[[ca.SX], NDArray[np.float64]]) -> None:
        self._sampled = sampled

    def solve(self, rows: list[Row], entries: Sequence[FreeEntry]) -> tuple[list[EliminatedRow], list[Row], list[FreeEntry]]:
        """The eliminated rows, the remaining rows, and the entries that stay free."""
        free, found = list(entries), []
        while rows and free:
            best = self._best(rows, free)
            if best is None:
                break
            row, entry = best
            solved, rows = _eliminated(row, entry, [r for r in rows if r is not row])
            found.append(solved)
            free.remove(entry)
        for row in rows:
            blocked = next((f for f in free if row.entries.has_nz(0, f.index)), None)
            if blocked is not None:
                raise NotRecursive(f"constraint {row.name!r} cannot be solved for {blocked.velocity!r} in all configurations")
        return found, rows, free

    def _best(self, rows: list[Row], free: list[FreeEntry]) -> tuple[Row, FreeEntry] | None:
        """The pair whose coefficient varies least; constants first, ones before all others."""
        ranked = []
        for i, row in enumerate(rows):
            for j, entry in enumerate(free):
                if row.entries.has_nz(0, entry.index):
                    uniformity = self._uniformity(row.entries[0, entry.index])
                    if uniformity >= LEAST:
                        ranked.append((-uniformity, i, j))
        return (rows[min(ranked)[1]], free[min(ranked)[2]]) if ranked else None

    def _uniformity(self, coefficient: ca.SX) -> float:
        """Smallest over largest magnitude; 0 where the sign changes, 2 for a constant ±1, which needs no division."""
        if coefficient.is_one() or coefficient.is_minus_one():
            return 2.0
        values = self._sampled(coefficient)
        if not np.isfinite(values).all() or np.ptp(np.sign(values)) > 0:
            return 0.0
        return float(np.abs(values).min() / max(np.abs(values).max(), 1e-300))


def _eliminated(row: Row, entry: FreeEntry, others: list[Row]) -> tuple[EliminatedRow, list[Row]]:
    pivot = row.entries[0, entry.index]
    rest = _without(row.entries, entry.index)
    share = rest if pivot.is_minus_one() else -rest if pivot.is_one() else -(rest / pivot)
    solved = EliminatedRow(entry, row.name, pivot, share)
    left = []
    for other in others:
        if not other.entries.has_nz(0, entry.index):
            left.append(other)
            continue
        coefficient = other.entries[0, entry.index]
        solved.others.append((other.name, coefficient))
        left.append(Row(other.name, ca.sparsify(_without(other.entries, entry.index) + coefficient * share)))
    return solved, left


def _without(entries: ca.SX, index: int) -> ca.SX:
    """A row or column with one entry set to zero."""
    found = ca.SX(entries)
    found[index] = 0
    return ca.sparsify(found)


# ---------------------------------------------------------------- rows of contacts


@dataclass(frozen=True)
class LocalRows:
    """Rows of a contact in the axes of its link."""

    contact: WheelContact | EdgeContact
    names: tuple[str, ...]
    matrix: ca.SX  # rows × 6, or × 7 on a rotor
    kept: tuple[int, ...]

    def rows(self) -> list[Row]:
        return [Row(name, self.matrix[i, :]) for i, name in enumerate(self.names)]

    def required_rates(self, motion: ca.SX) -> list[ca.SX]:
        """Right side of R η̇ = −Ṙ η."""
        linear, angular = ((motion[0], motion[1], motion[2]), (motion[3], motion[4], motion[5]))
        contact = self.contact
        if isinstance(contact, EdgeContact):
            velocity = Twist(linear, angular).at(contact.point)
            rates = [dot(contact.across_rate(angular), velocity), dot(cross(contact.normal, angular), velocity)]
        else:
            spin = contact.link.spin
            whole = angular if spin is None else tuple(motion[AXIAL] if i == spin.axis else angular[i] for i in range(3))
            rates = list(cross(whole, contact.arm_rate(angular)))  # type: ignore[arg-type]
        return [-rates[i] for i in self.kept]


def local_rows(contact: WheelContact | EdgeContact, moving: Sequence[bool]) -> LocalRows:
    """Rows of a contact; those without nonzero products with the motion (`moving`) are left out."""
    if isinstance(contact, EdgeContact):
        directions = [contact.across, *([contact.normal] if contact.edge.on_ground else [])]
        names = [f"{contact.name}_across", f"{contact.name}_normal"][: len(directions)]
        at = ca.horzcat(ca.SX.eye(3), -skew(column(contact.point)))
        whole = ca.mtimes(ca.vertcat(*[column(d).T for d in directions]), at)
    else:
        names = [f"{contact.name}_{axis}" for axis in "xyz"]
        whole = ca.horzcat(ca.SX.eye(3), -skew(column(add(contact.center, contact.arm))))
        spin = contact.link.spin
        if spin is not None:
            # ω + e s with the absolute axial rate w = e·ω + s as a separate entry: e·ω no longer enters the rim velocity
            rim = column(cross(UNIT[spin.axis], contact.arm))
            whole[:, 3 + spin.axis] = whole[:, 3 + spin.axis] - rim
            whole = ca.horzcat(whole, rim)
    whole = ca.sparsify(whole)
    kept = [i for i in range(len(names)) if any(whole.has_nz(i, j) for j in range(whole.shape[1]) if moving[j])]
    # entries that multiply zeros are dropped, so that the sparsity shows the coupling
    mask = ca.DM([[1.0 if m else 0.0 for m in moving]])
    filled = ca.sparsify(ca.vertcat(*[whole[i, :] * mask for i in kept])) if kept else ca.SX(0, whole.shape[1])
    return LocalRows(contact, tuple(names[i] for i in kept), filled, tuple(kept))


def in_reference(
    force: Sequence[ca.SX], rotation: Sequence[Sequence[ca.SX]], reference: Sequence[Sequence[ca.SX]]
) -> list[ca.SX]:
    """A vector of a link in the axes of the reference body, through the world."""
    world = [dot(list(row), list(force)) for row in rotation]
    return [dot([reference[i][j] for i in range(3)], world) for j in range(3)]


@dataclass
class LinkStructure:
    """Structure of a link: its frames, its inertia, and its eliminated rows; without names of its own."""

    frames: list[ElementaryFrame]
    inertia: LinkInertia
    spin: FreeEntry | None  # of a rotor: one more frame
    solved: list[list[EliminatedRow]] = field(default_factory=list)  # by frame, the spin last
    free: list[list[FreeEntry]] = field(default_factory=list)
    passing: list[list[Row]] = field(default_factory=list)  # rows passed on, at the frame after it

    @property
    def axis(self) -> int:
        assert self.inertia.axis is not None  # used for rotors only
        return 3 + self.inertia.axis

    @property
    def velocities(self) -> list[str]:
        """Names of its free velocities."""
        own = [f.velocity for frame in self.frames for f in frame.free_entries]
        return own if self.spin is None else [*own, self.spin.velocity]


@dataclass
class Pivot:
    """An entry eliminated at a frame: η̇ = g + k η̇, and for a row the data of its multiplier."""

    entry: FreeEntry
    constant: ca.SX
    share: ca.SX
    inverse: ca.SX | None = None  # 1/inertia, where the entry is free
    row: RowPivot | None = None


@dataclass
class RowPivot:
    """Data of the multiplier of an eliminated row: row of the inertia, p − τ, and other remaining rows."""

    row: str
    divisor: ca.SX
    inertia: ca.SX
    force_deficit: ca.SX
    others: list[tuple[str, ca.SX]]


def per(amount: ca.SX, scale: ca.SX) -> ca.SX:
    """amount/scale; most scales are 1."""
    return amount if scale is ONE else amount / scale


class LinkElimination:
    """The inertia and force at a frame during the elimination of entries."""

    def __init__(
        self,
        structure: LinkStructure,
        generalized_forces: dict[str, ca.SX],
        sides: dict[str, ca.SX],
        inertia: ca.SX,
        force: ca.SX,
    ) -> None:
        self.structure, self.generalized_forces, self.sides, self.inertia, self.force = (
            structure,
            generalized_forces,
            sides,
            inertia,
            force,
        )
        self.pivots: list[list[Pivot]] = [[] for _ in structure.solved]
        self.own: dict[str, ca.SX] = {}

    def eliminate(self, k: int) -> None:
        for solved in self.structure.solved[k]:
            self.pivots[k].append(self._eliminate_row(solved))
        for entry in self.structure.free[k]:
            self.pivots[k].append(self._eliminate_free(entry))

    def _eliminate_row(self, solved: EliminatedRow) -> Pivot:
        """Eliminate an entry for which a row is solved."""
        a, inertia, force = solved.entry.index, self.inertia, self.force
        constant = self.sides.pop(solved.row) / solved.divisor
        row, own = inertia[:, a], inertia[a, a]
        force_deficit = force[a] - self._generalized_force(solved.entry)
        for name, entry in solved.others:
            self.sides[name] = self.sides[name] - entry * constant
        share, rest = solved.share.T, _without(row, a)
        self.inertia = symmetric(_cleared(inertia, a) + share @ rest.T + rest @ share.T + own * (share @ share.T))
        self._push(solved.entry, _without(force, a) + rest * constant + share * (force_deficit + own * constant))
        row_pivot = RowPivot(solved.row, solved.divisor, row.T, force_deficit, solved.others)
        return Pivot(solved.entry, constant, solved.share, row=row_pivot)

    def _eliminate_free(self, entry: FreeEntry) -> Pivot:
        """Eliminate a free entry."""
        a, inertia, force = entry.index, self.inertia, self.force
        own = self.own[entry.velocity] = inertia[a, a]
        inverse = 1 / own
        rest = _without(inertia[:, a], a)
        constant = (self._generalized_force(entry) - force[a]) * inverse
        share = -(rest * inverse)
        self.inertia = symmetric(_cleared(inertia, a) + share @ rest.T)
        self._push(entry, _without(force, a) + rest * constant)
        return Pivot(entry, constant, share.T, inverse)

    def _push(self, entry: FreeEntry, force: ca.SX) -> None:
        """Store the force; the generalized force of the velocity reacts on the frame before, whose motion is part of the
        entry."""
        applied = self._generalized_force(entry)
        if not applied.is_zero():
            force[entry.index] = applied
        self.force = ca.sparsify(force)

    def _generalized_force(self, entry: FreeEntry) -> ca.SX:
        return per(self.generalized_forces[entry.velocity], entry.scale)


def _cleared(matrix: ca.SX, index: int) -> ca.SX:
    """Without one row and column, set to zero."""
    kept = [i for i in range(matrix.shape[0]) if i != index]
    found = ca.SX(*matrix.shape)
    found[kept, kept] = matrix[kept, kept]
    return found
