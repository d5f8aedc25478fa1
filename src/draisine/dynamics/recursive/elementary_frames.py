"""The tree as elementary frames: the motion transform of each step, and its free entries.

A motion is a column (V, Ω) of six components in the axes of its frame; after a step it is X times the one before, with some free
entries: a hinge about y frees Ω_y, a slider along x frees V_x. Entries are freed one by one, so a velocity is eliminated by one
pivot, and the remaining inertia has no row for it.
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

from draisine.dynamics.kinematics.newton_euler import mass_of
from draisine.dynamics.kinematics.tree import BallRotation, FreeMotion, Link, Step, Translation
from draisine.dynamics.linear_algebra import ONE, ZERO, Mat, Vec, is_zero, minus, mul, plus
from draisine.dynamics.lowering import Scope
from draisine.dynamics.templates import TemplateCache
from draisine.errors import NotRecursive

AXIAL = 6  # index of a rotor's absolute axial rate, after the six components of its frame


@dataclass(frozen=True)
class FreeEntry:
    """An entry of a frame's motion that is free: `scale` times a velocity of the model."""

    index: int
    velocity: str
    scale: ca.SX


@dataclass(frozen=True)
class AxisTurn:
    """A rotation about an axis, by its cosine and sine."""

    axis: int
    c: ca.SX
    s: ca.SX


@dataclass(frozen=True)
class ElementaryFrame:
    """One step: X from the frame before it to the frame after it (None for free motion), and its free entries."""

    matrix: ca.SX | None
    free_entries: tuple[FreeEntry, ...]
    rotation: ca.SX | None = None  # of free motion: body to world
    turn: AxisTurn | None = None  # where X is a rotation about one axis

    def change(self, after: ca.SX, rates: dict[str, ca.SX]) -> ca.SX | None:
        """Velocity products ζ in η̇ = X η̇₀ + v̇ + ζ, from the motion after the step; None where they are zero."""
        if self.matrix is None or not self.free_entries:
            return None
        spin, slide = ca.SX(3, 1), ca.SX(3, 1)
        for entry in self.free_entries:
            target = slide if entry.index < 3 else spin
            target[entry.index % 3] = _scaled(entry.scale, rates[entry.velocity])
        linear, angular = ca.SX(3, 1), ca.SX(3, 1)
        if slide.nnz():
            linear += crossed(after[3:6], slide)
        if spin.nnz():
            linear += crossed(after[:3], spin)
            angular += crossed(after[3:6], spin)
        return ca.sparsify(ca.vertcat(linear, angular))

    def inward(self, inertia: ca.SX) -> ca.SX:
        """Xᵀ I X: an inertia of the frame after the step, at the frame before it."""
        assert self.matrix is not None  # free motion transfers no inertia
        if self.turn is None:
            return symmetric(self.matrix.T @ (inertia @ self.matrix))
        return _turned_inward(inertia, self.turn)


def symmetric(matrix: ca.SX) -> ca.SX:
    """The symmetric matrix of a lower triangle: each product is formed once."""
    return ca.sparsify(ca.tril2symm(ca.tril(matrix)))


def _turned_inward(inertia: ca.SX, turn: AxisTurn) -> ca.SX:
    """Xᵀ I X for a rotation about one axis, block by block, in half of the operations."""
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


def _turned_block(a: list[list[ca.SX]], turn: AxisTurn, mirrored: bool) -> list[list[ca.SX]]:
    """Eᵀ a E, where E rotates entries j and k. Trace and skew part of the 2 × 2 block are invariant, so one number u gives all
    four entries. Of a symmetric block only the lower triangle is read and filled."""
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
    """a × b of sparse columns."""
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


def frames_of(link: Link, templates: TemplateCache) -> list[ElementaryFrame]:
    """The steps to a link's frame, without the spin of a rotor."""
    for step in link.steps:
        if isinstance(step, Translation):
            _check_sliders(step, link)
    found = [templates(_frame, step) for step in link.steps]
    driven = [f.velocity for frame in found for f in frame.free_entries]
    if len(driven) != len(set(driven)):
        raise NotRecursive(f"a velocity of joint {link.joint.name!r} drives two displacements")
    if any(frame.matrix is None for frame in found[1:]):
        raise NotRecursive(f"joint {link.joint.name!r} has free motion after other displacements")
    return found


def _frame(step: Step) -> ElementaryFrame:
    if isinstance(step, Translation):
        moved = ca.SX.eye(6)
        if not all(is_zero(c) for c in step.by):
            moved = ca.blockcat([[ca.SX.eye(3), -skew(column(step.by))], [ca.SX(3, 3), ca.SX.eye(3)]])
        return ElementaryFrame(ca.sparsify(moved), tuple(_slider(name, way) for name, way in step.drives))
    if isinstance(step, FreeMotion):
        names = [*step.linear, *step.angular]
        free = tuple(FreeEntry(i, name, ONE) for i, name in enumerate(names) if name is not None)
        return ElementaryFrame(None, free, square(step.matrix))
    inward = square(step.matrix).T
    turned = ca.diagcat(inward, inward)
    if isinstance(step, BallRotation):
        return ElementaryFrame(turned, tuple(FreeEntry(3 + i, name, ONE) for i, name in enumerate(step.velocities)))
    free = () if step.velocity is None else (FreeEntry(3 + step.axis, step.velocity, step.scale),)
    return ElementaryFrame(turned, free, turn=AxisTurn(step.axis, step.c, step.s))


def _check_sliders(step: Translation, link: Link) -> None:
    if any(sum(not is_zero(c) for c in way) != 1 for _, way in step.drives):
        raise NotRecursive(f"joint {link.joint.name!r} slides in a direction that is not a coordinate axis")


def _slider(name: str, way: Vec) -> FreeEntry:
    index = next(i for i in range(3) if not is_zero(way[i]))
    return FreeEntry(index, name, way[index])


@dataclass(frozen=True)
class LinkInertia:
    """Inertia of a link about its frame's origin: 6 × 6, or 7 × 7 with the axial moment of a rotor for its own spin entry."""

    matrix: ca.SX
    mass: ca.SX
    center: ca.SX
    inertia: ca.SX  # about the center of mass; of a rotor without its axial moment
    axis: int | None = None
    axial: ca.SX | None = None

    def bias(self, motion: ca.SX) -> ca.SX:
        """Force and moment about the origin that the motion requires at zero accelerations."""
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


def link_inertia(link: Link, scope: Scope, alike: dict[tuple[object, ...], LinkInertia]) -> LinkInertia:
    """The inertia of a link; equal links share it."""
    axis = link.spin.axis if link.spin is not None else None
    same = (link.body.mass, link.body.center_of_mass, link.body.inertia, axis)
    if same not in alike:
        alike[same] = _link_inertia(*mass_of(link.body, scope), axis)
    return alike[same]


def _link_inertia(mass: ca.SX, center: Vec, tensor: Mat, axis: int | None) -> LinkInertia:
    arm_to_center, inertia = column(center), square(tensor)
    axial = inertia[axis, axis] if axis is not None else None
    if axis is not None:
        inertia[axis, axis] = 0
        inertia = ca.sparsify(inertia)
    arm = skew(arm_to_center)
    coupling = mass * arm
    below = inertia - ca.mtimes(coupling, arm)
    whole = ca.blockcat([[mass * ca.SX.eye(3), -coupling], [coupling, ca.tril2symm(ca.tril(below))]])
    if axial is not None:
        whole = ca.diagcat(whole, axial)
    return LinkInertia(ca.sparsify(whole), mass, arm_to_center, inertia, axis, axial)
