"""The tree as elementary frames: what one step does to a motion, and which velocities it adds.

A motion is a column (V, Ω) of six numbers in the axes of its frame; after a step it is X times the one before, with some of its
entries free: a hinge about y frees Ω_y, a slider along x frees V_x. Entries are freed one by one, so that a velocity is
eliminated by one pivot, and what is left of an inertia has no row for it.
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

from draisine.dynamics.kinematics.newton_euler import mass_of
from draisine.dynamics.kinematics.tree import Launch, Link, Shift, Spin3, Step
from draisine.dynamics.linear_algebra import ONE, ZERO, Mat, Vec, is_zero, minus, mul, plus
from draisine.dynamics.lowering import Scope
from draisine.dynamics.templates import Repeated
from draisine.errors import NotRecursive

AXIAL = 6  # place of a rotor's absolute axial rate, after the six numbers of its frame


@dataclass(frozen=True)
class Freed:
    """An entry of a frame's motion that a velocity of the model moves, at `scale` times its value."""

    place: int
    velocity: str
    scale: ca.SX


@dataclass(frozen=True)
class Turned:
    """A turn about an axis, by its cosine and sine."""

    axis: int
    c: ca.SX
    s: ca.SX


@dataclass(frozen=True)
class Station:
    """One step: X from the frame before it to the frame after it (None where motion begins anew), and what it frees."""

    matrix: ca.SX | None
    freed: tuple[Freed, ...]
    rotation: ca.SX | None = None  # of a launch: body to world
    turn: Turned | None = None  # where X turns about one axis and does nothing else

    def change(self, after: ca.SX, rates: dict[str, ca.SX]) -> ca.SX | None:
        """Products of velocities in η̇ = X η̇₀ + v̇ + ζ, from the motion after the step; None where there are none."""
        if self.matrix is None or not self.freed:
            return None
        spin, slide = ca.SX(3, 1), ca.SX(3, 1)
        for freed in self.freed:
            part = slide if freed.place < 3 else spin
            part[freed.place % 3] = _scaled(freed.scale, rates[freed.velocity])
        linear, angular = ca.SX(3, 1), ca.SX(3, 1)
        if slide.nnz():
            linear += crossed(after[3:6], slide)
        if spin.nnz():
            linear += crossed(after[:3], spin)
            angular += crossed(after[3:6], spin)
        return ca.sparsify(ca.vertcat(linear, angular))

    def inward(self, inertia: ca.SX) -> ca.SX:
        """Xᵀ I X: an inertia of the frame after the step, at the frame before it."""
        assert self.matrix is not None  # motion that begins anew hands nothing on
        if self.turn is None:
            return symmetric(self.matrix.T @ (inertia @ self.matrix))
        return _turned_inward(inertia, self.turn)


def symmetric(matrix: ca.SX) -> ca.SX:
    """The lower triangle, mirrored: each product is formed once."""
    return ca.sparsify(ca.tril2symm(ca.tril(matrix)))


def _turned_inward(inertia: ca.SX, turn: Turned) -> ca.SX:
    """The same for a plain turn, block by block, in half of the operations of the products."""
    found = ca.SX(6, 6)
    for rows, columns in ((0, 0), (3, 0), (3, 3)):
        block = [
            [inertia[rows + i, columns + j] if inertia.has_nz(rows + i, columns + j) else ZERO for j in range(3)]
            for i in range(3)
        ]
        for i, row in enumerate(_turned_block(block, turn, mirrored=rows == columns)):
            for j, entry in enumerate(row):
                if entry is not ZERO:
                    found[rows + i, columns + j] = entry
                    found[columns + j, rows + i] = entry
    return ca.sparsify(found)


def _turned_block(a: list[list[ca.SX]], turn: Turned, mirrored: bool) -> list[list[ca.SX]]:
    """Eᵀ a E, where E turns entries j and k. Of the four entries in these both ways trace and skew part stay as they are, so that
    one number u gives all of them. Of a symmetric block only the lower triangle is read, and filled."""
    c, s, i, j, k = turn.c, turn.s, turn.axis, (turn.axis + 1) % 3, (turn.axis + 2) % 3

    def at(row: int, column: int) -> ca.SX:
        return a[max(row, column)][min(row, column)] if mirrored else a[row][column]

    found = [[ZERO] * 3 for _ in range(3)]
    found[i][i] = at(i, i)
    u = minus(mul(c, plus(at(j, k), at(k, j))), mul(s, minus(at(k, k), at(j, j))))
    across, along = mul(s, u), mul(c, u)
    found[j][j], found[k][k] = minus(at(j, j), across), plus(at(k, k), across)
    found[j][k], found[k][j] = minus(along, at(k, j)), minus(along, at(j, k))
    found[j][i], found[k][i] = minus(mul(c, at(j, i)), mul(s, at(k, i))), plus(mul(s, at(j, i)), mul(c, at(k, i)))
    if not mirrored:
        found[i][j], found[i][k] = minus(mul(c, at(i, j)), mul(s, at(i, k))), plus(mul(s, at(i, j)), mul(c, at(i, k)))
    return found


def crossed(a: ca.SX, b: ca.SX) -> ca.SX:
    """a × b of columns that may have empty places."""
    return ca.sparsify(ca.mtimes(skew(a), b))


def skew(a: ca.SX) -> ca.SX:
    """The matrix of a ×."""
    x, y, z = a[0], a[1], a[2]
    return ca.sparsify(ca.blockcat([[0, -z, y], [z, 0, -x], [-y, x, 0]]))


def _scaled(scale: ca.SX, value: ca.SX) -> ca.SX:
    return value if scale is ONE else scale * value


def column(a: Vec) -> ca.SX:
    return ca.sparsify(ca.vertcat(*a))


def square(m: Mat) -> ca.SX:
    return ca.sparsify(ca.blockcat([list(row) for row in m]))


def stations_of(link: Link, repeated: Repeated) -> list[Station]:
    """The steps that lead to a link's frame, a rotor's spin left out."""
    for step in link.steps:
        if isinstance(step, Shift):
            _check_sliders(step, link)
    found = [repeated(_station, step) for step in link.steps]
    driven = [f.velocity for station in found for f in station.freed]
    if len(driven) != len(set(driven)):
        raise NotRecursive(f"a velocity of joint {link.joint.name!r} moves it in two ways at once")
    if any(station.matrix is None for station in found[1:]):
        raise NotRecursive(f"joint {link.joint.name!r} begins free motion after other displacements")
    return found


def _station(step: Step) -> Station:
    if isinstance(step, Shift):
        moved = ca.SX.eye(6)
        if not all(is_zero(c) for c in step.by):
            moved = ca.blockcat([[ca.SX.eye(3), -skew(column(step.by))], [ca.SX(3, 3), ca.SX.eye(3)]])
        return Station(ca.sparsify(moved), tuple(_slider(name, way) for name, way in step.drives))
    if isinstance(step, Launch):
        names = [*step.linear, *step.angular]
        freed = tuple(Freed(i, name, ONE) for i, name in enumerate(names) if name is not None)
        return Station(None, freed, square(step.matrix))
    inward = square(step.matrix).T
    turned = ca.diagcat(inward, inward)
    if isinstance(step, Spin3):
        return Station(turned, tuple(Freed(3 + i, name, ONE) for i, name in enumerate(step.velocities)))
    freed = () if step.velocity is None else (Freed(3 + step.axis, step.velocity, step.scale),)
    return Station(turned, freed, turn=Turned(step.axis, step.c, step.s))


def _check_sliders(step: Shift, link: Link) -> None:
    if any(sum(not is_zero(c) for c in way) != 1 for _, way in step.drives):
        raise NotRecursive(f"joint {link.joint.name!r} slides along none of its axes")


def _slider(name: str, way: Vec) -> Freed:
    place = next(i for i in range(3) if not is_zero(way[i]))
    return Freed(place, name, way[place])


@dataclass(frozen=True)
class Inert:
    """Mass of a link about its frame's origin: 6 × 6, or 7 × 7 with the axial moment of a rotor, whose spin it has by itself."""

    matrix: ca.SX
    mass: ca.SX
    center: ca.SX
    inertia: ca.SX  # about the center; of a rotor without its axial moment
    axis: int | None = None
    axial: ca.SX | None = None

    def bias(self, motion: ca.SX) -> ca.SX:
        """What the motion needs without accelerations: force and moment about the origin."""
        linear, angular = motion[:3], motion[3:6]
        momentum = ca.mtimes(self.inertia, angular)
        if self.axis is not None and self.axial is not None:
            spun = ca.SX(3, 1)
            spun[self.axis] = self.axial * motion[AXIAL]
            momentum = momentum + spun
        moment = crossed(angular, momentum)
        force = ca.SX(3, 1)
        if self.mass.nnz() and not self.mass.is_zero():
            velocity = linear + crossed(angular, self.center)
            force = self.mass * crossed(angular, velocity)
            moment = moment + crossed(self.center, force)
        return ca.sparsify(ca.vertcat(force, moment, *([ca.SX(1, 1)] if self.axis is not None else [])))


def inert_of(link: Link, scope: Scope, alike: dict[tuple[object, ...], Inert]) -> Inert:
    """The mass of a link; links that are alike share it."""
    axis = link.spin.axis if link.spin is not None else None
    same = (link.body.mass, link.body.center_of_mass, link.body.inertia, axis)
    if same not in alike:
        alike[same] = _inert(*mass_of(link.body, scope), axis)
    return alike[same]


def _inert(mass: ca.SX, center: Vec, tensor: Mat, axis: int | None) -> Inert:
    place, inertia = column(center), square(tensor)
    axial = inertia[axis, axis] if axis is not None else None
    if axis is not None:
        inertia[axis, axis] = 0
        inertia = ca.sparsify(inertia)
    arm = skew(place)
    coupling = mass * arm
    below = inertia - ca.mtimes(coupling, arm)
    whole = ca.blockcat([[mass * ca.SX.eye(3), -coupling], [coupling, ca.tril2symm(ca.tril(below))]])
    if axial is not None:
        whole = ca.diagcat(whole, axial)
    return Inert(ca.sparsify(whole), mass, place, inertia, axis, axial)
