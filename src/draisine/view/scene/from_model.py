"""From a description to its scene: bodies as lines between the joints that hold them, wheels, axes, blades, ties.

Where a body is held by a hinge, its line ends at the point of the axis that is nearest to its center of mass: a bicycle's frame
reaches the steer axis at the height of the rider, the fork at that of the handlebar, wherever the joint's origin lies.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from draisine.errors import ExpressionError
from draisine.expr.expression import Call, Expr, Name, evaluate_number, names, walk
from draisine.expr.tables import Table
from draisine.model import items
from draisine.model.constraints import pairs
from draisine.model.items import GROUND, System
from draisine.view.scene.given_shapes import given_solids
from draisine.view.scene.scene import (
    Array,
    Ball,
    Blade,
    Blob,
    Center,
    Closing,
    Cord,
    Hinge,
    Link,
    Mark,
    Pose,
    Scene,
    Shape,
    Slide,
    Support,
    Wheel,
)

_SAME = 1e-6  # meters: places that are one


def scene_of(system: System, parameters: Mapping[str, float] | None = None) -> Scene:
    """The shapes of a description, with the given parameters and the defaults of the others."""
    return _Maker(system, {p.name: p.default for p in system.parameters} | dict(parameters or {})).scene()


@dataclass(frozen=True, eq=False)
class _Seat:
    """A joint by its moving part: frames of parent and child just before and just after it."""

    joint: items.Joint
    before: Pose  # in the parent's axes
    after: Pose  # in the child's axes
    turn: Array | None = None  # the axis of a hinge, in the frame before
    slide: Array | None = None  # the direction of a slider, in the frame before
    is_ball: bool = False  # it turns in more than one way
    is_free: bool = False  # it holds nothing in place


class _Maker:
    def __init__(self, system: System, values: Mapping[str, float]) -> None:
        self.system, self.values = system, values
        self.tables = {table.name: reading(table) for table in system.tables}
        self.center = {b.name: self._vector(b.center_of_mass) for b in system.bodies} | {GROUND: np.zeros(3)}
        self.ports: dict[str, list[Array]] = {name: [] for name in self.center}
        self.shapes: list[Shape] = []

    def scene(self) -> Scene:
        wheels = {wheel.body for wheel in self.system.wheels}
        for joint in self.system.joints:
            self._joint(self._seat(joint), joint.child in wheels)
        for wheel in self.system.wheels:
            self._wheel(wheel)
        for edge in self.system.edges:
            at, along = self._vector(edge.at), _unit(edge.along)
            self.ports[edge.body].append(at)
            self.shapes.append(Blade(edge.name, edge.body, at, along))
        self._cords()
        for body in self.system.bodies:
            self._body(body, body.name in wheels)
        named = {p.name for p in self.system.points if not self._is_known(p)}
        self.shapes += [Mark(p.name, p.body, self._vector(p.at)) for p in self.system.points if p.name in named]
        touches = bool(self.system.wheels or self.system.edges)
        bodies = tuple(body.name for body in self.system.bodies)
        normal = self._normal() if touches else None
        return Scene(self.system.name, bodies, tuple(self.shapes), normal, given_solids(self.system, self.values))

    # ---------------------------------------------------------------- numbers

    def _number(self, expression: Expr) -> float:
        return evaluate_number(expression, self.values, self.tables)

    def _vector(self, vector: items.Vector) -> Array:
        return np.array([self._number(component) for component in vector])

    def _normal(self) -> Array:
        slope, bank = self._number(self.system.ground.slope), self._number(self.system.ground.bank)
        normal = np.array([-np.sin(slope) * np.cos(bank), -np.cos(slope) * np.sin(bank), np.cos(slope) * np.cos(bank)])
        return normal / np.linalg.norm(normal)

    # ---------------------------------------------------------------- joints

    def _seat(self, joint: items.Joint) -> _Seat:
        own = {c.name for c in joint.coordinates}
        moves = [k for k, step in enumerate(joint.chain) if _uses(step) & own or not isinstance(step, _PLAIN)]
        first, last = (moves[0], moves[-1]) if moves else (len(joint.chain), len(joint.chain) - 1)
        moving = joint.chain[first : last + 1]
        before = self._frame(joint.chain[:first])
        following = self._frame(joint.chain[last + 1 :])
        after = Pose(-following.rotation.T @ following.position, following.rotation.T)
        shifted = sum(bool(names(part) & own) for step in moving if isinstance(step, items.Translate) for part in step.by)
        if shifted > 1 or any(isinstance(step, items.Float | items.Glide) for step in moving):
            return _Seat(joint, before, after, is_free=True)
        axis = _only_axis(moving)
        if axis is not None:
            return _Seat(joint, before, after, turn=axis)
        if len(moving) == 1 and isinstance(moving[0], items.Translate):
            return _Seat(joint, before, after, slide=self._direction(moving[0], own))
        return _Seat(joint, before, after, is_ball=bool(moving))

    def _frame(self, chain: tuple[items.Displacement, ...]) -> Pose:
        """A chain of constant displacements."""
        pose = Pose(np.zeros(3), np.eye(3))
        for step in chain:
            if isinstance(step, items.Translate):
                pose = Pose(pose.of(self._vector(step.by)), pose.rotation)
            elif isinstance(step, items.Rotate):
                pose = Pose(pose.position, pose.rotation @ _rotation(_unit(step.axis), self._number(step.angle)))
        return pose

    def _direction(self, step: items.Translate, own: set[str]) -> Array:
        """The axis along which a shift goes."""
        return np.array([float(bool(names(part) & own)) for part in step.by])

    def _joint(self, seat: _Seat, of_wheel: bool) -> None:
        if seat.is_free:
            return
        joint, here, there = seat.joint, seat.before.position, seat.after.position
        if seat.turn is not None:
            axis, own_axis = seat.before.turned(seat.turn), seat.after.turned(seat.turn)
            ends = (_along(here, axis, self._middle(joint.parent, here)), _along(there, own_axis, self.center[joint.child]))
            self.shapes.append(Hinge(joint.name, joint.parent, here, axis, ends, of_wheel, joint.child, there, own_axis))
            here, there = here + ends[0] * axis, there + ends[1] * own_axis
        elif seat.slide is not None:
            self.shapes.append(Slide(joint.name, joint.parent, here, seat.before.turned(seat.slide), joint.child, there))
        elif seat.is_ball:
            self.shapes.append(Ball(joint.name, joint.parent, here))
        if joint.parent == GROUND and seat.slide is None:
            self.shapes.append(Support(here))
        self.ports[joint.parent].append(here)
        self.ports[joint.child].append(there)

    def _middle(self, body: str, otherwise: Array) -> Array:
        return otherwise if body == GROUND else self.center[body]

    # ---------------------------------------------------------------- bodies, contacts, ties

    def _wheel(self, wheel: items.Wheel) -> None:
        center = self._vector(wheel.center)
        joint = next(j for j in self.system.joints if j.child == wheel.body)
        hinged = self._seat(joint).turn is not None or joint.parent != GROUND
        self.ports[wheel.body].append(center)
        size = (self._number(wheel.radius), self._number(wheel.tube))
        self.shapes.append(Wheel(wheel.name, wheel.body, center, _unit(wheel.axis), *size, hinged))

    def _body(self, body: items.Body, has_wheel: bool) -> None:
        center, ports = self.center[body.name], _different(self.ports[body.name])
        away = [port for port in ports if np.linalg.norm(port - center) > _SAME]
        if len(ports) > 1:
            self.shapes.append(Link(body.name, _ring(ports), tuple((port, center) for port in away)))
        elif away:
            self.shapes.append(Link(body.name, ((away[0], center),), ()))
        slides = any(isinstance(s, Slide) and s.child == body.name for s in self.shapes)
        if len(ports) < 2 and not (away or has_wheel or slides or self._has_blade(body.name) or body.shapes):
            blob = self._blob(body)
            self.shapes += [blob] if blob is not None else []
        if self._number(body.mass) > 0:
            self.shapes.append(Center(body.name, center))

    def _has_blade(self, body: str) -> bool:
        return any(edge.body == body for edge in self.system.edges)

    def _blob(self, body: items.Body) -> Blob | None:
        """The solid ellipsoid with these moments: a² = 5/2 (I_yy + I_zz − I_xx)/m along each principal axis."""
        i, mass = body.inertia, self._number(body.mass)
        entries = {k: self._number(getattr(i, k)) for k in ("xx", "yy", "zz", "xy", "yz", "zx")}
        tensor = np.array(
            [
                [entries["xx"], entries["xy"], entries["zx"]],
                [entries["xy"], entries["yy"], entries["yz"]],
                [entries["zx"], entries["yz"], entries["zz"]],
            ]
        )
        moments, axes = np.linalg.eigh(tensor)
        if mass <= 0 or moments.sum() <= 0:
            return None
        squares = 2.5 * (moments.sum() - 2 * moments) / mass
        return Blob(body.name, self.center[body.name], axes * np.sqrt(np.maximum(squares, 0.0)))

    def _cords(self) -> None:
        for tie in self.system.constraints:
            for a, b in dict.fromkeys(pair for _, residual in tie.residuals for pair in pairs(residual)):
                rows = [(row, self._factor(residual, a, b)) for row, residual in tie.residuals]
                row, factor = next(((row, factor) for row, factor in rows if factor), ("", 0.0))
                self.shapes.append(Cord(tie.name, (self._place(a), self._place(b)), False, row, factor))
            self.shapes += self._closings(tie)
        for potential in self.system.potentials:
            for a, b in dict.fromkeys(_distances(potential.energy)):
                self.shapes.append(Cord(potential.name, (self._place(a), self._place(b)), True))
        for cord in [s for s in self.shapes if isinstance(s, Cord)]:
            for body, at in cord.places:
                self.ports[body].append(at)
                self.shapes += [Support(at)] if body == GROUND else []

    def _factor(self, residual: Expr, a: str, b: str) -> float:
        """How much a residual grows with the distance of two points; zero if other measures enter, or if it varies."""
        places = {name: float(k) for k, name in enumerate(sorted({n for pair in _distances(residual) for n in pair}))}
        if not {a, b} <= set(places):
            return 0.0

        def at(far: float) -> float:
            def distance(i: float, j: float) -> float:
                return far if (i, j) == (places[a], places[b]) else 1.0

            return evaluate_number(residual, {**self.values, "t": 0.0, **places}, {**self.tables, "distance": distance})

        try:
            slopes = [at(far + 1.0) - at(far) for far in (1.0, 2.0)]
        except ExpressionError:
            return 0.0
        return slopes[0] if abs(slopes[1] - slopes[0]) < _SAME else 0.0

    def _closings(self, tie: items.ResidualConstraint) -> list[Shape]:
        """Points that a tie holds together: rows that are offsets, by the pair of points."""
        held: dict[tuple[str, str], list[tuple[str, str]]] = {}
        for row, residual in tie.residuals:
            if isinstance(residual, Call) and residual.function.startswith("offset_"):
                a, b = residual.arguments
                if isinstance(a, Name) and isinstance(b, Name):
                    held.setdefault((a.identifier, b.identifier), []).append((residual.function[-1], row))
        found: list[Shape] = []
        for (first, second), rows in held.items():
            point = next((p for p in self.system.points if p.name == first), None)
            turned = self._frame(point.orientation if point is not None else ()).rotation
            directions = np.column_stack([turned @ _unit(axis) for axis, _ in rows])
            holder, (body, at) = self._place(first)[0], self._place(second)
            found.append(Closing(tie.name, body, at, holder, directions, tuple(row for _, row in rows)))
        return found

    def _place(self, name: str) -> tuple[str, Array]:
        """Body and place of a named point; a body's own name means its origin."""
        point = next((p for p in self.system.points if p.name == name), None)
        return (point.body, self._vector(point.at)) if point is not None else (name, np.zeros(3))

    def _is_known(self, point: items.Point) -> bool:
        """Whether a point is drawn already, as a center of mass, a joint or an end of something."""
        at = self._vector(point.at)
        return any(np.linalg.norm(at - other) < _SAME for other in (self.center[point.body], *self.ports[point.body]))


_PLAIN = (items.Rotate, items.Translate)


def _uses(step: items.Displacement) -> set[str]:
    parts = (step.angle,) if isinstance(step, items.Rotate) else step.by if isinstance(step, items.Translate) else ()
    return {name for part in parts for name in names(part)}


def _only_axis(moving: tuple[items.Displacement, ...]) -> Array | None:
    """The axis of one turn, or of a turn and a shift along the same axis, as screws and cylinders have."""
    turns = [step.axis for step in moving if isinstance(step, items.Rotate)]
    shifts = [step for step in moving if isinstance(step, items.Translate)]
    if len(turns) != 1 or len(turns) + len(shifts) < len(moving):
        return None
    aside = [k for k in range(3) if "xyz"[k] != turns[0]]
    return None if any(names(shift.by[k]) for shift in shifts for k in aside) else _unit(turns[0])


def _distances(expression: Expr) -> list[tuple[str, str]]:
    """The points between which a potential measures a distance."""
    found = []
    for part in walk(expression):
        if isinstance(part, Call) and part.function == "distance":
            a, b = part.arguments
            if isinstance(a, Name) and isinstance(b, Name):
                found.append((a.identifier, b.identifier))
    return found


def reading(table: Table) -> Callable[..., float]:
    """A table as a function of numbers."""
    return lambda *arguments: float(table.at(*arguments))


def _unit(axis: str) -> Array:
    return np.eye(3)["xyz".index(axis)]


def _rotation(axis: Array, angle: float) -> Array:
    x, y, z = axis
    skew = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.eye(3) + np.sin(angle) * skew + (1 - np.cos(angle)) * skew @ skew


def _along(origin: Array, axis: Array, point: Array) -> float:
    """How far along the axis its point nearest to `point` lies."""
    return float((point - origin) @ axis)


def _different(points: list[Array]) -> list[Array]:
    kept: list[Array] = []
    for point in points:
        if all(np.linalg.norm(point - other) > _SAME for other in kept):
            kept.append(point)
    return kept


def _ring(points: list[Array]) -> tuple[tuple[Array, Array], ...]:
    """Lines around some points, in their order about the middle; two have one line between them."""
    if len(points) == 2:
        return ((points[0], points[1]),)
    middle = np.mean(points, axis=0)
    _, _, directions = np.linalg.svd(np.array(points) - middle)
    flat = (np.array(points) - middle) @ directions[:2].T
    order = np.argsort(np.arctan2(flat[:, 1], flat[:, 0]))
    return tuple((points[i], points[j]) for i, j in zip(order, np.roll(order, -1), strict=True))
