"""Articulated-body algorithm with contact rows (Featherstone 1983).

Velocities outward, articulated inertias inward, accelerations and multipliers outward. At every frame the subtree beyond it
requires I η̇ + p = f. A free entry of η̇ is eliminated: without a constraint its force is the generalized force τ of the
velocity, η̇_a = (τ − p_a − Σ I_aj η̇_j) / I_aa; where a contact row is solved for it, η̇_a = (b − Σ R_j η̇_j) / R_a, and the
row's multiplier gives the remaining force. Both have the form η̇_a = g + k η̇, and leave an inertia without that entry. Gravity
is an acceleration of the ground."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import casadi as ca

from draisine.dynamics.contact.rolling import EdgeContact, WheelContact
from draisine.dynamics.kinematics.tree import Link
from draisine.dynamics.linear_algebra import ONE, ZERO, Vec
from draisine.dynamics.lowering import Scope
from draisine.dynamics.recursive.elementary_frames import AXIAL, FreeEntry, LinkInertia, frames_of, link_inertia
from draisine.dynamics.recursive.elimination import (
    LinkElimination,
    LinkStructure,
    LocalRows,
    Pivot,
    PivotSelection,
    Row,
    local_rows,
    per,
)
from draisine.dynamics.templates import TemplateCache
from draisine.errors import MasslessVelocity, NotRecursive


@dataclass
class Node:
    """A link of the tree."""

    link: Link
    structure: LinkStructure
    moving: list[bool] = field(default_factory=list)  # entries of the frame's motion that can be nonzero
    contact_rows: list[LocalRows] = field(default_factory=list)

    @property
    def name(self) -> str:
        return self.link.name

    @property
    def parent(self) -> str | None:
        return self.link.parent.name if self.link.parent else None


def tree_nodes(links: Sequence[Link], scope: Scope, templates: TemplateCache) -> dict[str, Node]:
    """The tree as elementary frames."""
    found: dict[str, Node] = {}
    alike: dict[tuple[object, ...], LinkInertia] = {}
    for link in links:
        spin = None
        if link.spin is not None:
            assert link.spin.velocity is not None  # a rotor has a spin velocity by definition
            spin = FreeEntry(AXIAL, link.spin.velocity, ONE)
        node = found[link.name] = Node(link, LinkStructure(frames_of(link, templates), link_inertia(link, scope, alike), spin))
        node.moving = _moving(node, found)
    return found


def _moving(node: Node, found: Mapping[str, Node]) -> list[bool]:
    moving = found[node.parent].moving[:6] if node.parent else [False] * 6
    for frame in node.structure.frames:
        if frame.matrix is None:
            moving = [False] * 6
        else:
            rows, columns = frame.matrix.sparsity().get_triplet()
            filled = {row for row, column in zip(rows, columns, strict=True) if moving[column]}
            moving = [i in filled for i in range(6)]
        for entry in frame.free_entries:
            moving[entry.index] = True
    return [*moving, True] if node.structure.spin is not None else moving


def eliminate_contacts(nodes: dict[str, Node], contacts: Sequence[WheelContact | EdgeContact], selection: PivotSelection) -> None:
    """Eliminate the rows of all contacts, each for a velocity, from the leaves to the ground."""
    for contact in contacts:
        node = nodes[contact.link.name]
        node.contact_rows.append(local_rows(contact, node.moving))
    waiting: dict[str, list[Row]] = {name: [] for name in nodes}
    for node in reversed(list(nodes.values())):
        structure = node.structure
        rows = [*(row for local in node.contact_rows for row in local.rows()), *_widened(waiting[node.name], structure)]
        structure.solved, structure.free = [[] for _ in structure.frames], [list(s.free_entries) for s in structure.frames]
        structure.passing = [[] for _ in structure.frames]
        if structure.spin is not None:
            solved, rows, free = selection.solve(rows, [structure.spin])
            structure.solved.append(solved)
            structure.free.append(free)
            rows = [Row(row.name, row.entries[0, :AXIAL]) for row in rows]
        for k in reversed(range(len(structure.frames))):
            structure.solved[k], rows, structure.free[k] = selection.solve(rows, structure.frames[k].free_entries)
            structure.passing[k] = rows
            matrix = structure.frames[k].matrix
            if matrix is None:
                break
            rows = [Row(row.name, ca.sparsify(row.entries @ matrix)) for row in rows]
        if node.parent is not None:
            waiting[node.parent] += rows
        elif rows:
            raise NotRecursive(f"constraint {rows[0].name!r} is redundant or satisfied identically")


def _widened(rows: list[Row], structure: LinkStructure) -> list[Row]:
    return [Row(r.name, ca.horzcat(r.entries, ca.SX(1, 1))) for r in rows] if structure.spin is not None else rows


# ---------------------------------------------------------------- velocities


def velocities(nodes: Mapping[str, Node], rates: dict[str, ca.SX], templates: TemplateCache) -> dict[str, list[ca.SX]]:
    """Motions after every frame, the link's own last; rates of eliminated velocities are added to `rates`."""
    motions: dict[str, list[ca.SX]] = {}
    for node in nodes.values():
        before = motions[node.parent][-1] if node.parent else ca.SX(6, 1)
        own = {name: rates[name] for name in node.structure.velocities if name in rates}
        motions[node.name], found = templates(_motions, node.structure, before, own)
        rates |= found
    return motions


def _motions(structure: LinkStructure, before: ca.SX, rates: dict[str, ca.SX]) -> tuple[list[ca.SX], dict[str, ca.SX]]:
    motion, found, dependent = before[:6], [], dict[str, ca.SX]()
    for k, frame in enumerate(structure.frames):
        motion = _with_free_entries(
            ca.SX(6, 1) if frame.matrix is None else frame.matrix @ motion, structure, k, rates, dependent
        )
        found.append(motion)
    if structure.spin is not None:
        found.append(
            _with_free_entries(ca.vertcat(motion, motion[structure.axis]), structure, len(structure.frames), rates, dependent)
        )
    return found or [motion], dependent


def _with_free_entries(
    carried: ca.SX, structure: LinkStructure, k: int, rates: Mapping[str, ca.SX], dependent: dict[str, ca.SX]
) -> ca.SX:
    """The motion with the free entries of a frame; `carried` is that of the frame before it."""
    motion = ca.SX(carried)
    for entry in structure.free[k]:
        added = rates[entry.velocity] if entry.scale is ONE else entry.scale * rates[entry.velocity]
        motion[entry.index] = motion[entry.index] + added
    for solved in reversed(structure.solved[k]):
        index = solved.entry.index
        value = solved.share @ motion
        dependent[solved.entry.velocity] = ca.densify(per(value - carried[index], solved.entry.scale))
        motion[index] = value
    return ca.sparsify(motion)


# ---------------------------------------------------------------- inertias and accelerations


@dataclass
class ArticulatedLink:
    """Articulated inertia and bias force of a link and its subtree at the frame before it, and the eliminated pivots."""

    inertia: ca.SX
    force: ca.SX
    sides: dict[str, ca.SX]  # right sides of rows that are not yet eliminated
    pivots: list[list[Pivot]]
    changes: list[ca.SX | None]  # velocity products, by frame
    own: dict[str, ca.SX]  # pivots of free velocities


@dataclass(frozen=True)
class TreeAccelerations:
    """Accelerations of all velocities and multipliers of all rows of contacts."""

    values: dict[str, ca.SX]
    multipliers: dict[str, ca.SX]


class ArticulatedBodyAlgorithm:
    """Articulated inertias for given generalized forces, and the accelerations that follow."""

    def __init__(
        self,
        nodes: Mapping[str, Node],
        motions: Mapping[str, list[ca.SX]],
        rates: dict[str, ca.SX],
        generalized_forces: Mapping[str, ca.SX],
        gravity: ca.SX,
        vertical: Vec,
        up: Mapping[str, Vec],
        templates: TemplateCache,
    ) -> None:
        self._nodes, self._motions, self._gravity, self._up = nodes, motions, gravity, up
        self._templates = templates
        self.ground = ca.sparsify(ca.vertcat(*[gravity * c for c in vertical], 0, 0, 0))
        self.inertias: dict[str, ca.SX] = {}
        self.articulated = self._inward(rates, generalized_forces)

    def _inward(self, rates: Mapping[str, ca.SX], generalized_forces: Mapping[str, ca.SX]) -> dict[str, ArticulatedLink]:
        found: dict[str, ArticulatedLink] = {}
        beyond: dict[str, list[tuple[ca.SX, ca.SX]]] = {name: [] for name in self._nodes}
        waiting: dict[str, dict[str, ca.SX]] = {name: {} for name in self._nodes}  # right sides by row
        for node in reversed(list(self._nodes.values())):
            structure, sides = node.structure, waiting[node.name]
            for local in node.contact_rows:
                sides |= dict(zip(local.names, self._required_rates(node, local), strict=True))
            own = {name: rates[name] for name in structure.velocities}
            pushed = {name: generalized_forces.get(name, ZERO) for name in structure.velocities}
            articulated = self._templates(
                _articulated, structure, self._motions[node.name], own, pushed, beyond[node.name], sides
            )
            for velocity, inertia in articulated.own.items():
                if not inertia.nnz():
                    raise MasslessVelocity(velocity)
            self.inertias |= articulated.own
            found[node.name] = articulated
            if node.parent is not None:
                beyond[node.parent].append((articulated.inertia, articulated.force))
                waiting[node.parent] |= articulated.sides
        return found

    def _required_rates(self, node: Node, local: LocalRows) -> list[ca.SX]:
        """Right sides of a contact's rows, for accelerations that include gravity."""
        sides = local.required_rates(self._motions[node.name][-1])
        fall = ca.vertcat(*[self._gravity * c for c in self._up[node.name]])
        lifted = ca.sparsify(local.matrix[:, :3] @ fall)
        return [side + lifted[i] if lifted.has_nz(i, 0) else side for i, side in enumerate(sides)]

    def outward_pass(self, articulated: Mapping[str, ArticulatedLink]) -> TreeAccelerations:
        """Accelerations and multipliers, from `articulated` of this object or with additional forces."""
        motion: dict[str, ca.SX] = {}
        found = TreeAccelerations({}, {})
        for node in self._nodes.values():
            before, own = motion[node.parent] if node.parent else self.ground, articulated[node.name]
            others = {name for frame in own.pivots for p in frame if p.row for name, _ in p.row.others}
            known = {name: found.multipliers[name] for name in sorted(others) if name in found.multipliers}
            given = (node.structure, own.pivots, own.changes, before, self.ground[:3], known)
            motion[node.name], values, multipliers = self._templates(_outward, *given)
            found.values.update(values)
            found.multipliers.update(multipliers)
        return found


def _articulated(
    structure: LinkStructure,
    motions: list[ca.SX],
    rates: dict[str, ca.SX],
    generalized_forces: dict[str, ca.SX],
    beyond: list[tuple[ca.SX, ca.SX]],
    sides: dict[str, ca.SX],
) -> ArticulatedLink:
    """Inward pass through one link."""
    inertia, force = structure.inertia.matrix, structure.inertia.bias(motions[-1])
    for more, pushed in beyond:
        inertia = inertia + (ca.diagcat(more, ca.SX(1, 1)) if structure.spin is not None else more)
        force = force + (ca.vertcat(pushed, ca.SX(1, 1)) if structure.spin is not None else pushed)
    count = len(structure.frames)
    changes = [s.change(m, rates) for s, m in zip(structure.frames, motions, strict=False)]
    at = LinkElimination(structure, generalized_forces, dict(sides), ca.sparsify(inertia), ca.sparsify(force))
    if structure.spin is not None:
        at.eliminate(count)
        pushed = at.force[AXIAL]
        at.inertia, at.force = at.inertia[:AXIAL, :AXIAL], at.force[:AXIAL]
        at.force[structure.axis] = at.force[structure.axis] + pushed
    for k in reversed(range(count)):
        at.eliminate(k)
        matrix, change = structure.frames[k].matrix, changes[k]
        if matrix is None:
            break
        if change is not None:
            at.force = at.force + at.inertia @ change
            for row in structure.passing[k]:
                at.sides[row.name] = at.sides[row.name] - row.entries @ change
        at.inertia = structure.frames[k].inward(at.inertia)
        at.force = ca.sparsify(matrix.T @ at.force)
    return ArticulatedLink(at.inertia, at.force, at.sides, at.pivots, changes, at.own)


def _outward(
    structure: LinkStructure,
    pivots: list[list[Pivot]],
    changes: list[ca.SX | None],
    before: ca.SX,
    gravity: ca.SX,
    known: dict[str, ca.SX],
) -> tuple[ca.SX, dict[str, ca.SX], dict[str, ca.SX]]:
    """Outward pass through one link: the rate of its motion, accelerations of its velocities, multipliers of its rows."""
    change, values, multipliers = before, dict[str, ca.SX](), dict(known)
    for k, frame in enumerate(structure.frames):
        if frame.matrix is None:
            assert frame.rotation is not None  # free motion
            change = ca.vertcat(frame.rotation.T @ gravity, ca.SX(3, 1))
        else:
            change = frame.matrix @ change
            products = changes[k]
            change = change if products is None else change + products
        change = _eliminated_entries(pivots[k], change, values, multipliers)
    if structure.spin is not None:
        change = _eliminated_entries(pivots[-1], ca.vertcat(change, change[structure.axis]), values, multipliers)[:AXIAL]
    return ca.sparsify(change), values, {row: value for row, value in multipliers.items() if row not in known}


def _eliminated_entries(pivots: list[Pivot], carried: ca.SX, values: dict[str, ca.SX], multipliers: dict[str, ca.SX]) -> ca.SX:
    """The rate with the eliminated entries of a frame."""
    change = ca.SX(carried)
    for pivot in reversed(pivots):
        index, scale = pivot.entry.index, pivot.entry.scale
        value = pivot.constant + pivot.share @ change
        values[pivot.entry.velocity] = ca.densify(per(value - carried[index], scale))
        change[index] = value
    change = ca.sparsify(change)
    for row in [pivot.row for pivot in reversed(pivots) if pivot.row is not None]:
        missing = row.inertia @ change + row.force_deficit
        for name, entry in row.others:
            missing = missing - entry * multipliers[name]
        multipliers[row.row] = ca.densify(missing / row.divisor)
    return change
