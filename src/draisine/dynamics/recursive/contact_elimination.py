"""Rows of contacts in the axes of their own body, each solved for a velocity on its way to the ground.

A blade of a trailer holds the trailer's hitch: with the motion of the vehicle before it given, its rate follows. So the rows of a
body are solved for entries that the steps to its frame free, nearest first; a row that a step cannot change is passed on to the
frame before it, and what is solved for drops out of everything nearer the ground. No matrix of all rows is ever formed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from draisine.dynamics.contact.rolling import EdgeContact, WheelContact
from draisine.dynamics.kinematics.twists import Twist
from draisine.dynamics.linear_algebra import ONE, UNIT, ZERO, add, cross, dot
from draisine.dynamics.recursive.elementary_frames import AXIAL, Freed, column, skew
from draisine.errors import NotRecursive

LEAST = 0.02  # the smallest coefficient over the samples, as a part of the largest, that a row is solved by


@dataclass
class Row:
    """A row R of R η = 0 at some frame, with what it came from."""

    name: str
    entries: ca.SX  # 1 × 6, or 1 × 7 on a rotor


@dataclass
class Solved:
    """A row solved for an entry: η_place = k η, and η̇_place = g + k η̇."""

    freed: Freed
    row: str
    divisor: ca.SX
    share: ca.SX  # k, 1 × entries, empty at its own place
    others: list[tuple[str, ca.SX]] = field(default_factory=list)  # rows still open then, with their entries at this place


class Holding:
    """Decides, over sampled configurations, which row is solved for what."""

    def __init__(self, sampled: Callable[[ca.SX], NDArray[np.float64]]) -> None:
        self._sampled = sampled

    def solve(self, rows: list[Row], freed: Sequence[Freed]) -> tuple[list[Solved], list[Row], list[Freed]]:
        """What rows are solved for among the entries freed here; the rows left, and the entries that stay free."""
        free, found = list(freed), []
        while rows and free:
            best = self._best(rows, free)
            if best is None:
                break
            row, entry = best
            solved, rows = _eliminated(row, entry, [r for r in rows if r is not row])
            found.append(solved)
            free.remove(entry)
        for row in rows:
            bound = next((f for f in free if row.entries.has_nz(0, f.place)), None)
            if bound is not None:
                raise NotRecursive(f"constraint {row.name!r} cannot be solved for {bound.velocity!r} in all configurations")
        return found, rows, free

    def _best(self, rows: list[Row], free: list[Freed]) -> tuple[Row, Freed] | None:
        """The pair whose coefficient varies least; constants come first, ones before all."""
        ranked = []
        for i, row in enumerate(rows):
            for j, entry in enumerate(free):
                if row.entries.has_nz(0, entry.place):
                    evenness = self._evenness(row.entries[0, entry.place])
                    if evenness >= LEAST:
                        ranked.append((-evenness, i, j))
        return (rows[min(ranked)[1]], free[min(ranked)[2]]) if ranked else None

    def _evenness(self, coefficient: ca.SX) -> float:
        """Smallest over largest size; 0 where the sign changes. A plain ±1 has 2: nothing is divided by it."""
        if coefficient.is_one() or coefficient.is_minus_one():
            return 2.0
        values = self._sampled(coefficient)
        if not np.isfinite(values).all() or np.ptp(np.sign(values)) > 0:
            return 0.0
        return float(np.abs(values).min() / max(np.abs(values).max(), 1e-300))


def _eliminated(row: Row, entry: Freed, others: list[Row]) -> tuple[Solved, list[Row]]:
    pivot = row.entries[0, entry.place]
    rest = _without(row.entries, entry.place)
    share = rest if pivot.is_minus_one() else -rest if pivot.is_one() else -(rest / pivot)
    solved = Solved(entry, row.name, pivot, share)
    left = []
    for other in others:
        if not other.entries.has_nz(0, entry.place):
            left.append(other)
            continue
        coefficient = other.entries[0, entry.place]
        solved.others.append((other.name, coefficient))
        left.append(Row(other.name, ca.sparsify(_without(other.entries, entry.place) + coefficient * share)))
    return solved, left


def _without(entries: ca.SX, place: int) -> ca.SX:
    """A row with one entry left out."""
    found = ca.SX(entries)
    found[0, place] = 0
    return ca.sparsify(found)


# ---------------------------------------------------------------- rows of contacts


@dataclass(frozen=True)
class Local:
    """Rows of a contact in its link's axes."""

    contact: WheelContact | EdgeContact
    names: tuple[str, ...]
    matrix: ca.SX  # rows × 6, or × 7 on a rotor
    kept: tuple[int, ...]

    def rows(self) -> list[Row]:
        return [Row(name, self.matrix[i, :]) for i, name in enumerate(self.names)]

    def wanted(self, motion: ca.SX) -> list[ca.SX]:
        """What R η̇ must be for the residual to stay zero: −Ṙ η."""
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


def local_rows(contact: WheelContact | EdgeContact, moving: Sequence[bool]) -> Local:
    """Rows of a contact; those that meet no entry of the motion that can differ from zero (`moving`) are left out."""
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
            # ω + e s with the absolute axial rate w = e·ω + s for an entry of its own: e·ω no longer turns the rim
            rim = column(cross(UNIT[spin.axis], contact.arm))
            whole[:, 3 + spin.axis] = whole[:, 3 + spin.axis] - rim
            whole = ca.horzcat(whole, rim)
    whole = ca.sparsify(whole)
    kept = [i for i in range(len(names)) if any(whole.has_nz(i, j) for j in range(whole.shape[1]) if moving[j])]
    # entries that meet nothing are dropped, so that the patterns say what couples
    mask = ca.DM([[1.0 if m else 0.0 for m in moving]])
    filled = ca.sparsify(ca.vertcat(*[whole[i, :] * mask for i in kept])) if kept else ca.SX(0, whole.shape[1])
    return Local(contact, tuple(names[i] for i in kept), filled, tuple(kept))


def in_reference(
    force: Sequence[ca.SX], rotation: Sequence[Sequence[ca.SX]], reference: Sequence[Sequence[ca.SX]]
) -> list[ca.SX]:
    """A vector of a link in the axes of the reference body, through the world."""
    world = [dot(list(row), list(force)) for row in rotation]
    return [dot([reference[i][j] for i in range(3)], world) for j in range(3)]


__all__ = ["ONE", "ZERO", "Holding", "Local", "Row", "Solved", "in_reference", "local_rows"]
