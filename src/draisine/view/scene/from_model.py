"""Scene of a description: bodies as lines between their joints, wheels, axes, blades, constraints.

At a hinge, the line of a body ends at the point of the axis nearest to its center of mass: a bicycle's frame meets the steer
axis at the height of the rider, the fork at that of the handlebar, wherever the joint's origin is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from draisine.errors import ExpressionError
from draisine.expr.expression import Call, Expr, Name, evaluate_number, names, walk
from draisine.expr.tables import Table
from draisine.model import contact_items, items
from draisine.model.constraints import pairs
from draisine.model.items import GROUND
from draisine.model.system import System
from draisine.view.scene.given_shapes import given_solids
from draisine.view.scene.scene import (
    Array,
    Ball,
    Blade,
    Center,
    Cord,
    Hinge,
    InertiaEllipsoid,
    Link,
    LoopClosure,
    Mark,
    Pose,
    Scene,
    Shape,
    Slide,
    Support,
    Wheel,
)

if TYPE_CHECKING:
    from draisine.expr.path_functions import CurveFunction

_SAME = 1e-6  # meters: points closer than this coincide


def scene_of(system: System, parameters: Mapping[str, float] | None = None) -> Scene:
    """The shapes of a description, with the given parameters and the defaults of the others."""
    return _SceneBuilder(system, system.parameter_values(parameters or {})).scene()


def nominal_contact_angles(system: System, parameters: Mapping[str, float] | None = None) -> dict[str, float]:
    """Contact angle of each wheel where all joints are at their defaults, as the output `…_contact_angle` counts it.

    π below an upright carrier, π + tilt below a tilted fork.
    """
    start = {c.name: c.default for joint in system.joints for c in joint.coordinates}
    builder = _SceneBuilder(system, {**start, **system.parameter_values(parameters or {})})
    inward = {joint.child: joint for joint in system.joints}
    normal, found = builder.normal(), {}
    for wheel in system.wheels:
        rotation, body = np.eye(3), wheel.body
        while body != GROUND:
            rotation = builder.frame(inward[body].chain).rotation @ rotation
            body = inward[body].parent
        here = rotation.T @ normal
        axis = int(np.argmax(np.abs(_unit(wheel.axis))))
        found[wheel.name] = float(np.pi + np.arctan2(here[(axis + 2) % 3], here[(axis + 1) % 3]))
    return found


@dataclass(frozen=True, eq=False)
class _JointGeometry:
    """Geometry of a joint: frames of parent and child before and after its moving part."""

    joint: items.Joint
    before: Pose  # in the parent's axes
    after: Pose  # in the child's axes
    turn: Array | None = None  # the axis of a hinge, in the frame before
    slide: Array | None = None  # the direction of a slider, in the frame before
    is_ball: bool = False  # more than one rotation
    is_free: bool = False  # no constraint between the bodies


class _SceneBuilder:
    def __init__(self, system: System, values: Mapping[str, float]) -> None:
        self.system, self.values = system, values
        self.tables = {table.name: reading(table) for table in system.functions}
        self.center = {b.name: self._vector(b.center_of_mass) for b in system.bodies} | {GROUND: np.zeros(3)}
        self.ports: dict[str, list[Array]] = {name: [] for name in self.center}
        self.shapes: list[Shape] = []

    def scene(self) -> Scene:
        wheels = {wheel.body for wheel in self.system.wheels}
        for joint in self.system.joints:
            self._joint(self._joint_geometry(joint), joint.child in wheels)
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
        bodies = tuple(body.name for body in self.system.bodies)
        normal = self.normal() if self.system.has_ground else None
        return Scene(self.system.name, bodies, tuple(self.shapes), normal, given_solids(self.system, self.values))

    # ---------------------------------------------------------------- numbers

    def _number(self, expression: Expr) -> float:
        return evaluate_number(expression, self.values, self.tables)

    def _vector(self, vector: items.Vector) -> Array:
        return np.array([self._number(component) for component in vector])

    def normal(self) -> Array:
        slope, bank = self._number(self.system.ground.slope), self._number(self.system.ground.bank)
        normal = np.array([-np.sin(slope) * np.cos(bank), -np.cos(slope) * np.sin(bank), np.cos(slope) * np.cos(bank)])
        return normal / np.linalg.norm(normal)

    # ---------------------------------------------------------------- joints

    def _joint_geometry(self, joint: items.Joint) -> _JointGeometry:
        own = {c.name for c in joint.coordinates}
        moves = [k for k, step in enumerate(joint.chain) if _uses(step) & own or not isinstance(step, _PLAIN)]
        first, last = (moves[0], moves[-1]) if moves else (len(joint.chain), len(joint.chain) - 1)
        moving = joint.chain[first : last + 1]
        before = self.frame(joint.chain[:first])
        following = self.frame(joint.chain[last + 1 :])
        after = Pose(-following.rotation.T @ following.position, following.rotation.T)
        shifts = {name for step in moving if isinstance(step, items.Translate) for part in step.by for name in names(part) & own}
        if len(shifts) > 1 or any(isinstance(step, items.Float | items.Glide) for step in moving):
            return _JointGeometry(joint, before, after, is_free=True)
        axis = _only_axis(moving)
        if axis is not None:
            return _JointGeometry(joint, before, after, turn=axis)
        if len(moving) == 1 and isinstance(moving[0], items.Translate):
            return _JointGeometry(joint, before, after, slide=self._direction(moving[0], own))
        return _JointGeometry(joint, before, after, is_ball=bool(moving))

    def frame(self, chain: tuple[items.Displacement, ...]) -> Pose:
        """A chain of constant displacements."""
        pose = Pose(np.zeros(3), np.eye(3))
        for step in chain:
            if isinstance(step, items.Translate):
                pose = Pose(pose.of(self._vector(step.by)), pose.rotation)
            elif isinstance(step, items.Rotate):
                pose = Pose(pose.position, pose.rotation @ _rotation(_unit(step.axis), self._number(step.angle)))
        return pose

    def _direction(self, step: items.Translate, own: set[str]) -> Array:
        """The axis of a translation by one coordinate."""
        ends = [
            [evaluate_number(part, {**self.values, **dict.fromkeys(own, at)}, self.tables) for part in step.by] for at in (0, 1)
        ]
        direction = np.subtract(ends[1], ends[0])
        return np.asarray(direction / np.linalg.norm(direction))

    def _joint(self, geometry: _JointGeometry, of_wheel: bool) -> None:
        if geometry.is_free:
            return
        joint, here, there = geometry.joint, geometry.before.position, geometry.after.position
        if geometry.turn is not None:
            axis, own_axis = geometry.before.rotated(geometry.turn), geometry.after.rotated(geometry.turn)
            ends = (_along(here, axis, self._middle(joint.parent, here)), _along(there, own_axis, self.center[joint.child]))
            self.shapes.append(Hinge(joint.name, joint.parent, here, axis, ends, of_wheel, joint.child, there, own_axis))
            here, there = here + ends[0] * axis, there + ends[1] * own_axis
        elif geometry.slide is not None:
            self.shapes.append(Slide(joint.name, joint.parent, here, geometry.before.rotated(geometry.slide), joint.child, there))
        elif geometry.is_ball:
            self.shapes.append(Ball(joint.name, joint.parent, here))
        if joint.parent == GROUND and geometry.slide is None:
            self.shapes.append(Support(here))
        self.ports[joint.parent].append(here)
        self.ports[joint.child].append(there)

    def _middle(self, body: str, otherwise: Array) -> Array:
        return otherwise if body == GROUND else self.center[body]

    # ---------------------------------------------------------------- bodies, contacts, constraints

    def _wheel(self, wheel: contact_items.Wheel) -> None:
        center = self._vector(wheel.center)
        joint = next(j for j in self.system.joints if j.child == wheel.body)
        hinged = self._joint_geometry(joint).turn is not None or joint.parent != GROUND
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
            ellipsoid = self._ellipsoid(body)
            self.shapes += [ellipsoid] if ellipsoid is not None else []
        if self._number(body.mass) > 0:
            self.shapes.append(Center(body.name, center))

    def _has_blade(self, body: str) -> bool:
        return any(edge.body == body for edge in self.system.edges)

    def _ellipsoid(self, body: items.Body) -> InertiaEllipsoid | None:
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
        return InertiaEllipsoid(body.name, self.center[body.name], axes * np.sqrt(np.maximum(squares, 0.0)))

    def _cords(self) -> None:
        for constraint in self.system.constraints:
            for a, b in dict.fromkeys(pair for _, residual in constraint.residuals for pair in pairs(residual)):
                rows = [(row, self._factor(residual, a, b)) for row, residual in constraint.residuals]
                row, factor = next(((row, factor) for row, factor in rows if factor), ("", 0.0))
                self.shapes.append(Cord(constraint.name, (self._point(a), self._point(b)), False, row, factor))
            self.shapes += self._loop_closures(constraint)
        for potential in self.system.potentials:
            for a, b in dict.fromkeys(_distances(potential.energy)):
                self.shapes.append(Cord(potential.name, (self._point(a), self._point(b)), True))
        for cord in [s for s in self.shapes if isinstance(s, Cord)]:
            for body, at in cord.ends:
                self.ports[body].append(at)
                self.shapes += [Support(at)] if body == GROUND else []

    def _factor(self, residual: Expr, a: str, b: str) -> float:
        """Derivative of a residual with respect to the distance of two points; zero if other measures occur or it is not
        constant."""
        stand_ins = {name: float(k) for k, name in enumerate(sorted({n for pair in _distances(residual) for n in pair}))}
        if not {a, b} <= set(stand_ins):
            return 0.0

        def at(far: float) -> float:
            def distance(i: float, j: float) -> float:
                return far if (i, j) == (stand_ins[a], stand_ins[b]) else 1.0

            return evaluate_number(residual, {**self.values, "t": 0.0, **stand_ins}, {**self.tables, "distance": distance})

        try:
            differences = [at(far + 1.0) - at(far) for far in (1.0, 2.0)]
        except ExpressionError:
            return 0.0
        return differences[0] if abs(differences[1] - differences[0]) < _SAME else 0.0

    def _loop_closures(self, constraint: items.ResidualConstraint) -> list[Shape]:
        """Points connected by a constraint: rows that are offsets, by pair of points."""
        offsets: dict[tuple[str, str], list[tuple[str, str]]] = {}
        for row, residual in constraint.residuals:
            if isinstance(residual, Call) and residual.function.startswith("offset_"):
                a, b = residual.arguments
                if isinstance(a, Name) and isinstance(b, Name):
                    offsets.setdefault((a.identifier, b.identifier), []).append((residual.function[-1], row))
        found: list[Shape] = []
        for (first, second), rows in offsets.items():
            point = next((p for p in self.system.points if p.name == first), None)
            turned = self.frame(point.orientation if point is not None else ()).rotation
            directions = np.column_stack([turned @ _unit(axis) for axis, _ in rows])
            holder, (body, at) = self._point(first)[0], self._point(second)
            found.append(LoopClosure(constraint.name, body, at, holder, directions, tuple(row for _, row in rows)))
        return found

    def _point(self, name: str) -> tuple[str, Array]:
        """Body and position of a named point; a body's name denotes its origin."""
        point = next((p for p in self.system.points if p.name == name), None)
        return (point.body, self._vector(point.at)) if point is not None else (name, np.zeros(3))

    def _is_known(self, point: items.Point) -> bool:
        """Whether a point coincides with a center of mass, a joint or another end point."""
        at = self._vector(point.at)
        return any(np.linalg.norm(at - other) < _SAME for other in (self.center[point.body], *self.ports[point.body]))


_PLAIN = (items.Rotate, items.Translate)


def _uses(step: items.Displacement) -> set[str]:
    parts = (step.angle,) if isinstance(step, items.Rotate) else step.by if isinstance(step, items.Translate) else ()
    return {name for part in parts for name in names(part)}


def _only_axis(moving: tuple[items.Displacement, ...]) -> Array | None:
    """The axis of one rotation, or of a rotation and a translation along the same axis, as in screw and cylindrical joints."""
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


def reading(table: Table | CurveFunction) -> Callable[..., float]:
    """A table as a function of numbers."""
    return lambda *arguments: float(table.at(*arguments))


def _unit(axis: str) -> Array:
    return np.eye(3)["xyz".index(axis)]


def _rotation(axis: Array, angle: float) -> Array:
    x, y, z = axis
    skew = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.eye(3) + np.sin(angle) * skew + (1 - np.cos(angle)) * skew @ skew


def _along(origin: Array, axis: Array, point: Array) -> float:
    """Coordinate along the axis of its point nearest to `point`."""
    return float((point - origin) @ axis)


def _different(points: list[Array]) -> list[Array]:
    kept: list[Array] = []
    for point in points:
        if all(np.linalg.norm(point - other) > _SAME for other in kept):
            kept.append(point)
    return kept


def _ring(points: list[Array]) -> tuple[tuple[Array, Array], ...]:
    """Closed polygon around points, ordered about their center; a single line for two."""
    if len(points) == 2:
        return ((points[0], points[1]),)
    middle = np.mean(points, axis=0)
    _, _, directions = np.linalg.svd(np.array(points) - middle)
    flat = (np.array(points) - middle) @ directions[:2].T
    order = np.argsort(np.arctan2(flat[:, 1], flat[:, 0]))
    return tuple((points[i], points[j]) for i, j in zip(order, np.roll(order, -1), strict=True))
