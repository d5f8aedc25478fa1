"""Loop closures and prescribed motions on a tree, by the factors of its articulated inertias.

The pivots of the articulated inertias factorize the mass matrix, M = Lᵀ D L, where L couples a velocity only to those between it
and the ground, so there is no fill-in. A row a of A v̇ + γ = 0 acts on the velocities with generalized forces aᵀλ. One inward
pass with aᵀ alone, or with equivalent wrenches at links, finds u = L⁻ᵀ aᵀ, entry by entry at the pivots, on the links that the
row moves and their ancestors; the forces p that are passed on give the effect of the free motion on the row:

    a v̇_free = Σ u c − Σ p·ζ − p·g       (c: constants of the pivots, ζ: products of velocities, g: acceleration of the ground)
    Λ = A M⁻¹ Aᵀ = Σ u uᵀ / D,            Λ λ = −(A v̇_free + γ)

With λ known, every constant grows by Σ λ u / D, and one outward pass gives the accelerations. Rows that share no link do not
couple.

A residual f is a function of the poses of links, of coordinates, and of time. Its derivatives along a long chain are those at the
links that it names, ḟ = J η + (∂f/∂q) q̇ + ∂f/∂t with the twist η of a link in its own axes; the chain in between does not enter.
So f is written with symbols for the poses, differentiated, and evaluated at the poses. Velocity constraints, and those that
involve a spinning rotor, are differentiated by the coordinates.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property

import casadi as ca

from draisine.dynamics.constraints.rows import ResidualBlock, Rows
from draisine.dynamics.kinematics.measures import Measures
from draisine.dynamics.kinematics.twists import Pose
from draisine.dynamics.linear_algebra import ZERO, solve_symmetric
from draisine.dynamics.mechanism import Mechanism
from draisine.dynamics.recursive.articulated_body import ArticulatedLink, Node
from draisine.dynamics.recursive.elementary_frames import AXIAL, column, skew, square
from draisine.dynamics.recursive.elimination import LinkStructure, Pivot, per
from draisine.dynamics.templates import TemplateCache
from draisine.expr.expression import Expr


@dataclass(frozen=True)
class LoopRow:
    """A row of A v̇ + γ = 0, as generalized forces on velocities and wrenches at the frames of links."""

    name: str
    generalized_forces: Mapping[str, ca.SX]
    wrenches: Mapping[str, ca.SX]
    rate: ca.SX  # γ, without the part of the links' η̇


@dataclass
class PivotShare:
    """Component of a row at a pivot: u, and u/D; the latter is empty where a contact row eliminates the entry."""

    amount: ca.SX
    per_pivot: ca.SX


@dataclass
class PropagatedRow:
    """A row at a link: the force passed on to the frame before, its components at the link's pivots, and its part of a
    v̇_free."""

    force: ca.SX
    shares: list[list[PivotShare]]
    free_part: ca.SX


class LoopClosure:
    """Loop closures on a tree with known articulated inertias."""

    def __init__(
        self,
        nodes: Mapping[str, Node],
        articulated: Mapping[str, ArticulatedLink],
        rows: Sequence[LoopRow],
        ground: ca.SX,
        templates: TemplateCache,
    ) -> None:
        self._nodes, self._articulated, self._templates = nodes, articulated, templates
        self._by_row = [self._inward(row, ground) for row in rows]
        count = len(rows)
        self.matrix: list[list[ca.SX]] = [[ZERO] * count for _ in range(count)]  # Λ, its lower triangle
        for i, propagated in enumerate(self._by_row):
            for j, other in enumerate(self._by_row[: i + 1]):
                common = [
                    templates(_product, links.shares, other[name].shares) for name, links in propagated.items() if name in other
                ]
                found = ca.sparsify(ca.sum1(ca.vertcat(*common))) if common else ca.SX(1, 1)
                self.matrix[i][j] = ca.densify(found) if found.nnz() else ZERO
        self.side = [-(self._free_accelerations[i] + row.rate) for i, row in enumerate(rows)]

    @property
    def _free_accelerations(self) -> list[ca.SX]:
        """A v̇_free."""
        return [ca.densify(ca.sum1(ca.vertcat(*[p.free_part for p in propagated.values()]))) for propagated in self._by_row]

    def _inward(self, row: LoopRow, ground: ca.SX) -> dict[str, PropagatedRow]:
        """Inward pass of one row over the links that it moves and their ancestors."""
        found: dict[str, PropagatedRow] = {}
        beyond: dict[str, list[ca.SX]] = {}
        for node in reversed(list(self._nodes.values())):
            own = {name: row.generalized_forces.get(name, ZERO) for name in node.structure.velocities}
            handed = beyond.get(node.name, [])
            handed += [-row.wrenches[node.name]] if node.name in row.wrenches else []
            if not handed and all(force is ZERO for force in own.values()):
                continue
            articulated = self._articulated[node.name]
            propagated = self._templates(
                _propagated, node.structure, articulated.pivots, articulated.changes, own, handed, ground
            )
            found[node.name] = propagated
            if node.parent is not None:
                beyond.setdefault(node.parent, []).append(propagated.force)
            else:
                propagated.free_part = propagated.free_part - propagated.force.T @ ground
        return found

    def solved(self) -> list[ca.SX]:
        """λ, by L D Lᵀ: Λ is positive definite, since redundant rows are left out."""
        return solve_symmetric(self.matrix, self.side)

    def with_multipliers(self, multipliers: Sequence[ca.SX]) -> dict[str, ArticulatedLink]:
        """The articulated links with the forces of the loop closures."""
        found = dict(self._articulated)
        for name, articulated in self._articulated.items():
            loads = [
                (propagated[name].shares, force)
                for propagated, force in zip(self._by_row, multipliers, strict=True)
                if name in propagated
            ]
            if loads:
                found[name] = replace(articulated, pivots=self._templates(_with_multipliers, articulated.pivots, loads))
        return found


def _propagated(
    structure: LinkStructure,
    pivots: list[list[Pivot]],
    changes: list[ca.SX | None],
    generalized_forces: dict[str, ca.SX],
    beyond: list[ca.SX],
    ground: ca.SX,
) -> PropagatedRow:
    """Inward pass through one link."""
    count = len(structure.frames)
    force, free_part = ca.SX(AXIAL + 1 if structure.spin is not None else AXIAL, 1), ca.SX(1, 1)
    for handed in beyond:
        force[:AXIAL] = force[:AXIAL] + handed
    shares: list[list[PivotShare]] = [[] for _ in pivots]
    force = ca.sparsify(force)
    for k in reversed(range(len(pivots))):
        for pivot in pivots[k]:
            force, share = _eliminated(pivot, per(generalized_forces[pivot.entry.velocity], pivot.entry.scale), force)
            shares[k].append(share)
            free_part = free_part + share.amount * pivot.constant
        if k == count:  # a rotor's spin, at its own frame
            turned = force[AXIAL]
            force = force[:AXIAL]
            force[structure.axis] = force[structure.axis] + turned
            continue
        frame, change = structure.frames[k], changes[k]
        if frame.matrix is None:
            assert frame.rotation is not None  # free motion
            free_part = free_part - force[:3].T @ (frame.rotation.T @ ground[:3])
            force = ca.SX(AXIAL, 1)
            break
        if change is not None:
            free_part = free_part - force.T @ change
        force = ca.sparsify(frame.matrix.T @ force)
    return PropagatedRow(ca.sparsify(force), shares, ca.sparsify(free_part))


def _eliminated(pivot: Pivot, applied: ca.SX, force: ca.SX) -> tuple[ca.SX, PivotShare]:
    """The force after elimination of a pivot, and the component at it."""
    index = pivot.entry.index
    amount = ca.sparsify(applied - force[index])
    left = ca.SX(force)
    left[index] = applied
    per_pivot = ca.SX(1, 1) if pivot.inverse is None else ca.sparsify(amount * pivot.inverse)
    return ca.sparsify(left - pivot.share.T @ amount), PivotShare(amount, per_pivot)


def _product(one: list[list[PivotShare]], other: list[list[PivotShare]]) -> ca.SX:
    """Σ u u′/D over a link's pivots."""
    total = ca.SX(1, 1)
    for shares, others in zip(one, other, strict=True):
        for share, more in zip(shares, others, strict=True):
            total = total + share.amount * more.per_pivot
    return ca.sparsify(total)


def _with_multipliers(pivots: list[list[Pivot]], loads: list[tuple[list[list[PivotShare]], ca.SX]]) -> list[list[Pivot]]:
    """Pivots with the multipliers applied: accelerations of free velocities and reactions of contacts change."""
    found = []
    for k, frame in enumerate(pivots):
        changed = []
        for i, pivot in enumerate(frame):
            if pivot.row is None:
                more = sum((shares[k][i].per_pivot * force for shares, force in loads), ca.SX(1, 1))
                changed.append(replace(pivot, constant=pivot.constant + more))
            else:
                more = sum((shares[k][i].amount * force for shares, force in loads), ca.SX(1, 1))
                changed.append(replace(pivot, row=replace(pivot.row, force_deficit=pivot.row.force_deficit - more)))
        found.append(changed)
    return found


@dataclass(frozen=True)
class _Symbolic:
    """Pose of a link: symbols for entries that are not constant, their values, and their rates for a twist."""

    pose: Pose
    symbols: ca.SX
    values: ca.SX
    twist: ca.SX
    rates: ca.SX


def _symbolic(link: str, pose: Pose) -> _Symbolic:
    values = [*pose.position, *(entry for row in pose.rotation for entry in row)]
    entries = [value if value.is_constant() else ca.SX.sym(f"{link}.{i}") for i, value in enumerate(values)]
    position, rows = entries[:3], [entries[3:6], entries[6:9], entries[9:]]
    twist = ca.SX.sym(f"{link}.twist", 6)
    turned = square(rows)  # type: ignore[arg-type]
    turning = turned @ skew(twist[3:])
    rates = [*ca.vertsplit(ca.densify(turned @ twist[:3])), *(turning[i, j] for i in range(3) for j in range(3))]
    free = [i for i, value in enumerate(values) if not value.is_constant()]
    return _Symbolic(
        Pose(tuple(position), tuple(tuple(row) for row in rows)),  # type: ignore[arg-type]
        ca.vertcat(*[entries[i] for i in free]),
        ca.vertcat(*[values[i] for i in free]),
        twist,
        ca.vertcat(*[rates[i] for i in free]),
    )


class LoopRowBuilder:
    """Builds the rows of loop closures on a tree, for given motions of its links."""

    def __init__(
        self,
        mechanism: Mechanism,
        nodes: Mapping[str, Node],
        motions: Mapping[str, list[ca.SX]],
        in_terms_of_state: Callable[[list[ca.SX]], list[ca.SX]],
    ) -> None:
        self._mechanism, self._nodes, self._motions, self._in_terms_of_state = mechanism, nodes, motions, in_terms_of_state

    def rows(self, rows: Rows) -> list[LoopRow]:
        """Rows of one residual constraint."""
        source = rows.source
        assert isinstance(source, ResidualBlock)  # contacts are eliminated along the tree
        if source.constraint.level == "position":
            return [
                self._at_links(name, source.constraint.residuals[k][1]) for name, k in zip(rows.names, rows.kept, strict=True)
            ]
        (rates,) = self._in_terms_of_state([source.system.rate[source.indices]])
        found = []
        for i, name in enumerate(rows.names):
            generalized_forces = {velocity: entries[i] for velocity, entries in rows.columns.items() if entries[i] is not ZERO}
            found.append(LoopRow(name, generalized_forces, {}, rates[rows.kept[i]]))
        return found

    @cached_property
    def _pose_symbols(self) -> tuple[Measures, dict[str, _Symbolic]]:
        """The mechanism's measures with symbols for poses."""
        m = self._mechanism
        scope = copy(m.scope)
        scope.special, scope._values = dict(m.scope.special), {}  # measures of contacts stay in coordinates
        measures = Measures(scope, m.links, m.templates)
        symbolic = {link.name: _symbolic(link.name, measures.poses[link.name]) for link in m.links if link.spin is None}
        measures.poses |= {name: one.pose for name, one in symbolic.items()}
        return measures, symbolic

    def _at_links(self, name: str, expression: Expr) -> LoopRow:
        m, scope = self._mechanism, self._mechanism.scope
        measures, symbolic = self._pose_symbols
        residual = ca.SX(measures.scope.value(expression))
        links = sorted({s.name().split(".")[0] for s in ca.symvar(residual) if "." in s.name()})
        moved = [symbolic[link] for link in links]
        changing = ca.vertcat(scope.q, *[one.symbols for one in moved])
        along = ca.vertcat(m.measures.q_rate, *[one.rates for one in moved])
        first = ca.jtimes(residual, changing, along) + ca.jacobian(residual, scope.t)
        second = ca.jtimes(first, changing, along) + ca.jacobian(first, scope.t)
        by_speed = ca.jacobian(first, scope.v)
        wrenches = [self._masked(link, ca.jacobian(first, one.twist)) for link, one in zip(links, moved, strict=True)]
        for link, wrench in zip(links, wrenches, strict=True):
            second = second - wrench[:3].T @ (column(m.up[link]) * m.gravity)  # η̇ includes gravity
        symbols = [ca.vertcat(one.symbols, one.twist) for one in moved]
        values = [ca.vertcat(one.values, ca.densify(self._motions[link][-1][:6])) for link, one in zip(links, moved, strict=True)]
        reported = [by_speed, second, *wrenches]
        reported = list(ca.substitute(reported, [ca.vertcat(*symbols)], [ca.vertcat(*values)])) if symbols else reported
        by_speed, rate = self._in_terms_of_state([reported[0], ca.densify(reported[1])])
        generalized_forces = {scope.velocities[j]: by_speed.nz[i] for i, j in enumerate(by_speed.sparsity().get_triplet()[1])}
        return LoopRow(
            name, generalized_forces, {link: ca.sparsify(w) for link, w in zip(links, reported[2:], strict=True)}, rate
        )

    def _masked(self, link: str, row: ca.SX) -> ca.SX:
        """A row at a link as a column, without entries that multiply zeros."""
        return ca.sparsify(row.T * ca.DM([1.0 if moving else 0.0 for moving in self._nodes[link].moving[:6]]))
