"""Velocities outward, articulated inertias inward, accelerations and multipliers outward (Featherstone 1983, with rows of
contacts).

At every frame the part of the tree beyond it asks for I η̇ + p = f. An entry of η̇ that a velocity frees is eliminated: where
nothing holds it, its force is the effort τ on the velocity, η̇_a = (τ − p_a − Σ I_aj η̇_j) / I_aa; where a row of a contact is
solved for it, η̇_a = (b − Σ R_j η̇_j) / R_a, and the row's multiplier gives the rest of the force. Both have the form
η̇_a = g + k η̇, and leave an inertia in which the entry is missing. Gravity is an acceleration of the ground.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import casadi as ca

from draisine.dynamics.contact.rolling import EdgeContact, WheelContact
from draisine.dynamics.kinematics.tree import Link
from draisine.dynamics.linear_algebra import ONE, ZERO, Vec
from draisine.dynamics.lowering import Scope
from draisine.dynamics.recursive.elementary_frames import AXIAL, Freed, Inert, Station, inert_of, stations_of
from draisine.dynamics.recursive.elimination import Eliminating, Holding, Local, Pivot, Row, Solved, local_rows, per
from draisine.dynamics.templates import Repeated
from draisine.errors import MasslessVelocity, NotRecursive


@dataclass
class Part:
    """What a link adds to the tree: its steps, its mass, and what its rows are solved for; nothing of who it is."""

    stations: list[Station]
    inert: Inert
    spin: Freed | None  # of a rotor: one more station, at its own frame
    solved: list[list[Solved]] = field(default_factory=list)  # at each station, the spin's after the others
    free: list[list[Freed]] = field(default_factory=list)
    passing: list[list[Row]] = field(default_factory=list)  # rows that a station leaves open, at the frame after it

    @property
    def axis(self) -> int:
        assert self.inert.axis is not None  # asked for of rotors alone
        return 3 + self.inert.axis

    @property
    def velocities(self) -> list[str]:
        """Names of all that it frees."""
        own = [f.velocity for station in self.stations for f in station.freed]
        return own if self.spin is None else [*own, self.spin.velocity]


@dataclass
class Node:
    """A link of the tree."""

    link: Link
    part: Part
    moving: list[bool] = field(default_factory=list)  # entries of the frame's motion that can differ from zero
    locals: list[Local] = field(default_factory=list)

    @property
    def name(self) -> str:
        return self.link.name

    @property
    def parent(self) -> str | None:
        return self.link.parent.name if self.link.parent else None


def sprouted(links: Sequence[Link], scope: Scope, repeated: Repeated) -> dict[str, Node]:
    """The tree in stations."""
    found: dict[str, Node] = {}
    alike: dict[tuple[object, ...], Inert] = {}
    for link in links:
        spin = None
        if link.spin is not None:
            assert link.spin.velocity is not None  # a rotor is driven by definition
            spin = Freed(AXIAL, link.spin.velocity, ONE)
        node = found[link.name] = Node(link, Part(stations_of(link, repeated), inert_of(link, scope, alike), spin))
        node.moving = _moving(node, found)
    return found


def _moving(node: Node, found: Mapping[str, Node]) -> list[bool]:
    moving = found[node.parent].moving[:6] if node.parent else [False] * 6
    for station in node.part.stations:
        if station.matrix is None:
            moving = [False] * 6
        else:
            rows, columns = station.matrix.sparsity().get_triplet()
            filled = {row for row, column in zip(rows, columns, strict=True) if moving[column]}
            moving = [i in filled for i in range(6)]
        for freed in station.freed:
            moving[freed.place] = True
    return [*moving, True] if node.part.spin is not None else moving


def hold(nodes: dict[str, Node], contacts: Sequence[WheelContact | EdgeContact], holding: Holding) -> None:
    """Solve the rows of all contacts for velocities, from the leaves to the ground."""
    for contact in contacts:
        node = nodes[contact.link.name]
        node.locals.append(local_rows(contact, node.moving))
    waiting: dict[str, list[Row]] = {name: [] for name in nodes}
    for node in reversed(list(nodes.values())):
        part = node.part
        rows = [*(row for local in node.locals for row in local.rows()), *_widened(waiting[node.name], part)]
        part.solved, part.free = [[] for _ in part.stations], [list(s.freed) for s in part.stations]
        part.passing = [[] for _ in part.stations]
        if part.spin is not None:
            solved, rows, free = holding.solve(rows, [part.spin])
            part.solved.append(solved)
            part.free.append(free)
            rows = [Row(row.name, row.entries[0, :AXIAL]) for row in rows]
        for k in reversed(range(len(part.stations))):
            part.solved[k], rows, part.free[k] = holding.solve(rows, part.stations[k].freed)
            part.passing[k] = rows
            matrix = part.stations[k].matrix
            if matrix is None:
                break
            rows = [Row(row.name, ca.sparsify(row.entries @ matrix)) for row in rows]
        if node.parent is not None:
            waiting[node.parent] += rows
        elif rows:
            raise NotRecursive(f"constraint {rows[0].name!r} repeats others, or holds by itself")


def _widened(rows: list[Row], part: Part) -> list[Row]:
    return [Row(r.name, ca.horzcat(r.entries, ca.SX(1, 1))) for r in rows] if part.spin is not None else rows


# ---------------------------------------------------------------- velocities


def velocities(nodes: Mapping[str, Node], rates: dict[str, ca.SX], repeated: Repeated) -> dict[str, list[ca.SX]]:
    """Motions after every station, the link's own last; rates of velocities that rows are solved for are added to `rates`."""
    motions: dict[str, list[ca.SX]] = {}
    for node in nodes.values():
        before = motions[node.parent][-1] if node.parent else ca.SX(6, 1)
        own = {name: rates[name] for name in node.part.velocities if name in rates}
        motions[node.name], found = repeated(_motions, node.part, before, own)
        rates |= found
    return motions


def _motions(part: Part, before: ca.SX, rates: dict[str, ca.SX]) -> tuple[list[ca.SX], dict[str, ca.SX]]:
    motion, found, bound = before[:6], [], dict[str, ca.SX]()
    for k, station in enumerate(part.stations):
        motion = _moved(ca.SX(6, 1) if station.matrix is None else station.matrix @ motion, part, k, rates, bound)
        found.append(motion)
    if part.spin is not None:
        found.append(_moved(ca.vertcat(motion, motion[part.axis]), part, len(part.stations), rates, bound))
    return found or [motion], bound


def _moved(carried: ca.SX, part: Part, k: int, rates: Mapping[str, ca.SX], bound: dict[str, ca.SX]) -> ca.SX:
    """The motion with what a station frees; carried is that of the frame before it."""
    motion = ca.SX(carried)
    for freed in part.free[k]:
        added = rates[freed.velocity] if freed.scale is ONE else freed.scale * rates[freed.velocity]
        motion[freed.place] = motion[freed.place] + added
    for solved in reversed(part.solved[k]):
        place = solved.freed.place
        value = solved.share @ motion
        bound[solved.freed.velocity] = ca.densify(per(value - carried[place], solved.freed.scale))
        motion[place] = value
    return ca.sparsify(motion)


# ---------------------------------------------------------------- inertias and accelerations


@dataclass
class Felt:
    """What the frame before a link feels of it and all beyond it, and what was eliminated on the way."""

    inertia: ca.SX
    force: ca.SX
    sides: dict[str, ca.SX]  # of rows still open
    pivots: list[list[Pivot]]
    changes: list[ca.SX | None]  # products of velocities, by station
    own: dict[str, ca.SX]  # pivots of velocities that nothing holds


@dataclass(frozen=True)
class Settled:
    """Accelerations of all velocities and multipliers of all rows of contacts."""

    values: dict[str, ca.SX]
    multipliers: dict[str, ca.SX]


class Accelerating:
    """What every link and all beyond it resist, for given efforts on the velocities; from it, accelerations."""

    def __init__(
        self,
        nodes: Mapping[str, Node],
        motions: Mapping[str, list[ca.SX]],
        rates: dict[str, ca.SX],
        generalized_forces: Mapping[str, ca.SX],
        gravity: ca.SX,
        up: Mapping[str, Vec],
        repeated: Repeated,
    ) -> None:
        self._nodes, self._motions, self._gravity, self._up = nodes, motions, gravity, up
        self._repeated = repeated
        self.ground = ca.sparsify(ca.vertcat(0, 0, gravity, 0, 0, 0))
        self.inertias: dict[str, ca.SX] = {}
        self.felt = self._inward(rates, generalized_forces)

    def _inward(self, rates: Mapping[str, ca.SX], generalized_forces: Mapping[str, ca.SX]) -> dict[str, Felt]:
        found: dict[str, Felt] = {}
        beyond: dict[str, list[tuple[ca.SX, ca.SX]]] = {name: [] for name in self._nodes}
        waiting: dict[str, dict[str, ca.SX]] = {name: {} for name in self._nodes}  # sides of rows, by row
        for node in reversed(list(self._nodes.values())):
            part, sides = node.part, waiting[node.name]
            for local in node.locals:
                sides |= dict(zip(local.names, self._wanted(node, local), strict=True))
            own = {name: rates[name] for name in part.velocities}
            pushed = {name: generalized_forces.get(name, ZERO) for name in part.velocities}
            felt = self._repeated(_felt, part, self._motions[node.name], own, pushed, beyond[node.name], sides)
            for velocity, inertia in felt.own.items():
                if not inertia.nnz():
                    raise MasslessVelocity(velocity)
            self.inertias |= felt.own
            found[node.name] = felt
            if node.parent is not None:
                beyond[node.parent].append((felt.inertia, felt.force))
                waiting[node.parent] |= felt.sides
        return found

    def _wanted(self, node: Node, local: Local) -> list[ca.SX]:
        """Sides of a contact's rows, for accelerations that gravity is part of."""
        sides = local.wanted(self._motions[node.name][-1])
        fall = ca.vertcat(*[self._gravity * c for c in self._up[node.name]])
        lifted = ca.sparsify(local.matrix[:, :3] @ fall)
        return [side + lifted[i] if lifted.has_nz(i, 0) else side for i, side in enumerate(sides)]

    def settled(self, felt: Mapping[str, Felt]) -> Settled:
        """Outward: `felt` as it is here, or with more forces."""
        motion: dict[str, ca.SX] = {}
        found = Settled({}, {})
        for node in self._nodes.values():
            before, own = motion[node.parent] if node.parent else self.ground, felt[node.name]
            others = {name for station in own.pivots for p in station if p.held for name, _ in p.held.others}
            known = {name: found.multipliers[name] for name in sorted(others) if name in found.multipliers}
            given = (node.part, own.pivots, own.changes, before, self.ground[:3], known)
            motion[node.name], values, multipliers = self._repeated(_settled, *given)
            found.values.update(values)
            found.multipliers.update(multipliers)
        return found


def _felt(
    part: Part,
    motions: list[ca.SX],
    rates: dict[str, ca.SX],
    generalized_forces: dict[str, ca.SX],
    beyond: list[tuple[ca.SX, ca.SX]],
    sides: dict[str, ca.SX],
) -> Felt:
    """Inward through one link."""
    inertia, force = part.inert.matrix, part.inert.bias(motions[-1])
    for more, pushed in beyond:
        inertia = inertia + (ca.diagcat(more, ca.SX(1, 1)) if part.spin is not None else more)
        force = force + (ca.vertcat(pushed, ca.SX(1, 1)) if part.spin is not None else pushed)
    count = len(part.stations)
    changes = [s.change(m, rates) for s, m in zip(part.stations, motions, strict=False)]
    at = Eliminating(part, generalized_forces, dict(sides), ca.sparsify(inertia), ca.sparsify(force))
    if part.spin is not None:
        at.eliminate(count)
        pushed = at.force[AXIAL]
        at.inertia, at.force = at.inertia[:AXIAL, :AXIAL], at.force[:AXIAL]
        at.force[part.axis] = at.force[part.axis] + pushed
    for k in reversed(range(count)):
        at.eliminate(k)
        matrix, change = part.stations[k].matrix, changes[k]
        if matrix is None:
            break
        if change is not None:
            at.force = at.force + at.inertia @ change
            for row in part.passing[k]:
                at.sides[row.name] = at.sides[row.name] - row.entries @ change
        at.inertia = part.stations[k].inward(at.inertia)
        at.force = ca.sparsify(matrix.T @ at.force)
    return Felt(at.inertia, at.force, at.sides, at.pivots, changes, at.own)


def _settled(
    part: Part,
    pivots: list[list[Pivot]],
    changes: list[ca.SX | None],
    before: ca.SX,
    gravity: ca.SX,
    known: dict[str, ca.SX],
) -> tuple[ca.SX, dict[str, ca.SX], dict[str, ca.SX]]:
    """Outward through one link: the rate of its motion, accelerations of its velocities, multipliers of its rows."""
    change, values, multipliers = before, dict[str, ca.SX](), dict(known)
    for k, station in enumerate(part.stations):
        if station.matrix is None:
            assert station.rotation is not None  # a launch
            change = ca.vertcat(station.rotation.T @ gravity, ca.SX(3, 1))
        else:
            change = station.matrix @ change
            products = changes[k]
            change = change if products is None else change + products
        change = _put_in(pivots[k], change, values, multipliers)
    if part.spin is not None:
        change = _put_in(pivots[-1], ca.vertcat(change, change[part.axis]), values, multipliers)[:AXIAL]
    return ca.sparsify(change), values, {row: value for row, value in multipliers.items() if row not in known}


def _put_in(pivots: list[Pivot], carried: ca.SX, values: dict[str, ca.SX], multipliers: dict[str, ca.SX]) -> ca.SX:
    """The rate with the entries that a station frees."""
    change = ca.SX(carried)
    for pivot in reversed(pivots):
        place, scale = pivot.freed.place, pivot.freed.scale
        value = pivot.constant + pivot.share @ change
        values[pivot.freed.velocity] = ca.densify(per(value - carried[place], scale))
        change[place] = value
    change = ca.sparsify(change)
    for held in [pivot.held for pivot in reversed(pivots) if pivot.held is not None]:
        missing = held.inertia @ change + held.lack
        for name, entry in held.others:
            missing = missing - entry * multipliers[name]
        multipliers[held.row] = ca.densify(missing / held.divisor)
    return change
