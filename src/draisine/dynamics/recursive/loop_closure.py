"""Ties on a tree: closed loops and prescribed motions, by the factors that the tree has anyway.

The pivots of the articulated inertias factorize the masses, M = Lᵀ D L, and L joins a velocity only to those between it and the
ground: nothing fills in. A row a of A v̇ + γ = 0 pulls at the velocities with efforts aᵀλ. One pass inward with the efforts aᵀ
alone, or with wrenches at links that do the same, finds u = L⁻ᵀ aᵀ, entry by entry where the pivots are, on the links that the
row moves and on what carries them; the forces p that are handed on tell what the free motion does to the row:

    a v̇_free = Σ u c − Σ p·ζ − p·g       (c: constants of the pivots, ζ: products of velocities, g: acceleration of the ground)
    Λ = A M⁻¹ Aᵀ = Σ u uᵀ / D,            Λ λ = −(A v̇_free + γ)

With λ known, every constant grows by Σ λ u / D, and one pass outward gives the accelerations. Rows that share no link do not
couple.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import casadi as ca

from draisine.dynamics.linear_algebra import ZERO, solve_symmetric
from draisine.dynamics.recursive.articulated_body import Felt, Node, Part
from draisine.dynamics.recursive.elementary_frames import AXIAL
from draisine.dynamics.recursive.elimination import Pivot, per
from draisine.dynamics.templates import Repeated


@dataclass(frozen=True)
class Pull:
    """A row of A v̇ + γ = 0, as efforts on velocities and wrenches at the frames of links."""

    name: str
    generalized_forces: Mapping[str, ca.SX]
    wrenches: Mapping[str, ca.SX]
    rate: ca.SX  # γ, of what is not in the efforts and in the links' η̇


@dataclass
class Share:
    """What a row has of a pivot: u, and u/D; the latter is empty where a contact holds the entry."""

    amount: ca.SX
    yields: ca.SX


@dataclass
class Pulled:
    """A row at a link: the force it hands on to the frame before, its shares of the link's pivots, and its part of a v̇_free."""

    force: ca.SX
    shares: list[list[Share]]
    freely: ca.SX


class Coupled:
    """Rows of ties on a tree whose inertias are known."""

    def __init__(
        self,
        nodes: Mapping[str, Node],
        felt: Mapping[str, Felt],
        pulls: Sequence[Pull],
        ground: ca.SX,
        repeated: Repeated,
    ) -> None:
        self._nodes, self._felt, self._repeated = nodes, felt, repeated
        self._by_row = [self._inward(pull, ground) for pull in pulls]
        count = len(pulls)
        self.matrix: list[list[ca.SX]] = [[ZERO] * count for _ in range(count)]  # Λ, its lower triangle
        for i, pulled in enumerate(self._by_row):
            for j, other in enumerate(self._by_row[: i + 1]):
                common = [repeated(_product, links.shares, other[name].shares) for name, links in pulled.items() if name in other]
                found = ca.sparsify(ca.sum1(ca.vertcat(*common))) if common else ca.SX(1, 1)
                self.matrix[i][j] = ca.densify(found) if found.nnz() else ZERO
        self.side = [-(self._freely[i] + pull.rate) for i, pull in enumerate(pulls)]

    @property
    def _freely(self) -> list[ca.SX]:
        """A v̇_free."""
        return [ca.densify(ca.sum1(ca.vertcat(*[p.freely for p in pulled.values()]))) for pulled in self._by_row]

    def _inward(self, pull: Pull, ground: ca.SX) -> dict[str, Pulled]:
        """One row along the links that it moves and those that carry them."""
        found: dict[str, Pulled] = {}
        beyond: dict[str, list[ca.SX]] = {}
        for node in reversed(list(self._nodes.values())):
            own = {name: pull.generalized_forces.get(name, ZERO) for name in node.part.velocities}
            handed = beyond.get(node.name, [])
            handed += [-pull.wrenches[node.name]] if node.name in pull.wrenches else []
            if not handed and all(effort is ZERO for effort in own.values()):
                continue
            felt = self._felt[node.name]
            pulled = self._repeated(_pulled, node.part, felt.pivots, felt.changes, own, handed, ground)
            found[node.name] = pulled
            if node.parent is not None:
                beyond.setdefault(node.parent, []).append(pulled.force)
            else:
                pulled.freely = pulled.freely - pulled.force.T @ ground
        return found

    def solved(self) -> list[ca.SX]:
        """λ, by L D Lᵀ: Λ is positive definite, since rows that repeat others are left out."""
        return solve_symmetric(self.matrix, self.side)

    def loaded(self, multipliers: Sequence[ca.SX]) -> dict[str, Felt]:
        """What was felt, with the forces of the ties."""
        found = dict(self._felt)
        for name, felt in self._felt.items():
            pulling = [
                (pulled[name].shares, force) for pulled, force in zip(self._by_row, multipliers, strict=True) if name in pulled
            ]
            if pulling:
                found[name] = replace(felt, pivots=self._repeated(_loaded, felt.pivots, pulling))
        return found


def _pulled(
    part: Part,
    pivots: list[list[Pivot]],
    changes: list[ca.SX | None],
    generalized_forces: dict[str, ca.SX],
    beyond: list[ca.SX],
    ground: ca.SX,
) -> Pulled:
    """Inward through one link."""
    count = len(part.stations)
    force, freely = ca.SX(AXIAL + 1 if part.spin is not None else AXIAL, 1), ca.SX(1, 1)
    for handed in beyond:
        force[:AXIAL] = force[:AXIAL] + handed
    shares: list[list[Share]] = [[] for _ in pivots]
    force = ca.sparsify(force)
    for k in reversed(range(len(pivots))):
        for pivot in pivots[k]:
            force, share = _taken(pivot, per(generalized_forces[pivot.freed.velocity], pivot.freed.scale), force)
            shares[k].append(share)
            freely = freely + share.amount * pivot.constant
        if k == count:  # a rotor's spin, at its own frame
            turned = force[AXIAL]
            force = force[:AXIAL]
            force[part.axis] = force[part.axis] + turned
            continue
        station, change = part.stations[k], changes[k]
        if station.matrix is None:
            assert station.rotation is not None  # a launch, where motion begins anew
            freely = freely - force[:3].T @ (station.rotation.T @ ground[:3])
            force = ca.SX(AXIAL, 1)
            break
        if change is not None:
            freely = freely - force.T @ change
        force = ca.sparsify(station.matrix.T @ force)
    return Pulled(ca.sparsify(force), shares, ca.sparsify(freely))


def _taken(pivot: Pivot, effort: ca.SX, force: ca.SX) -> tuple[ca.SX, Share]:
    """The force without the entry of a pivot, and the share of it."""
    place = pivot.freed.place
    amount = ca.sparsify(effort - force[place])
    left = ca.SX(force)
    left[place] = effort
    yields = ca.SX(1, 1) if pivot.inverse is None else ca.sparsify(amount * pivot.inverse)
    return ca.sparsify(left - pivot.share.T @ amount), Share(amount, yields)


def _product(one: list[list[Share]], other: list[list[Share]]) -> ca.SX:
    """Σ u u′/D over a link's pivots."""
    total = ca.SX(1, 1)
    for shares, others in zip(one, other, strict=True):
        for share, more in zip(shares, others, strict=True):
            total = total + share.amount * more.yields
    return ca.sparsify(total)


def _loaded(pivots: list[list[Pivot]], pulling: list[tuple[list[list[Share]], ca.SX]]) -> list[list[Pivot]]:
    """Pivots with the forces of the ties put in: velocities that nothing holds yield, contacts push back."""
    found = []
    for k, station in enumerate(pivots):
        changed = []
        for i, pivot in enumerate(station):
            if pivot.held is None:
                more = sum((shares[k][i].yields * force for shares, force in pulling), ca.SX(1, 1))
                changed.append(replace(pivot, constant=pivot.constant + more))
            else:
                more = sum((shares[k][i].amount * force for shares, force in pulling), ca.SX(1, 1))
                changed.append(replace(pivot, held=replace(pivot.held, lack=pivot.held.lack - more)))
        found.append(changed)
    return found
