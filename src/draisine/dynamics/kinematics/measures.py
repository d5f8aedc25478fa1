"""Measures of a mechanism for expressions: positions, velocities, angles and distances, by names of points and bodies."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial

import casadi as ca

from draisine.dynamics.kinematics.tree import FreeMotion, Link
from draisine.dynamics.kinematics.twists import IDENTITY_POSE, ZERO_TWIST, Pose, Twist, follow, poses, twists
from draisine.dynamics.linear_algebra import (
    AXIS,
    NULL,
    UNIT,
    ZERO,
    Mat,
    Vec,
    add,
    cross,
    product,
    quaternion_rate,
    rotation,
    sub,
    times,
    transposed,
)
from draisine.dynamics.lowering import Scope
from draisine.dynamics.templates import NO_TEMPLATES, TemplateCache
from draisine.errors import ModelError
from draisine.expr.expression import Expr, Name, did_you_mean
from draisine.expr.safe_functions import length
from draisine.model.items import GROUND, Ball, Float, Glide


class Measures:
    """Geometry and velocities of a mechanism in symbols, available to expressions as functions of names.

    - `position_x(point)`, `velocity_x(point)`: in world axes; `body_velocity_x(point)`: in the axes of its body or frame;
    - `rate_x(body)`: angular velocity in the axes of the body or frame;
    - `heading(body)`, `lean(body)`, `pitch(body)`: rotations about z, then x, then y (lean to the right is positive);
    - `distance(a, b)` of two points; `offset_x(a, b)`: where b is, seen from a in the axes of a; `cosine_xy(a, b)`: of the angle
      between axis x of a and axis y of b. Common ancestors of a and b do not enter these;
    - `rate(expression)`: time derivative of a quantity of position; as an output also of a quantity of velocity, and
      `acceleration_x(point)` in world axes, `body_acceleration_x(point)` in the axes of its body or frame;
      `specific_force_x(point)` in these axes is what an accelerometer measures, the acceleration less that of free fall.
    """

    def __init__(self, scope: Scope, links: list[Link], templates: TemplateCache = NO_TEMPLATES) -> None:
        self.scope = scope
        self.links = {link.name: link for link in links}
        self.poses: dict[str, Pose] = {GROUND: IDENTITY_POSE, **poses(links, templates)}
        self.twists: dict[str, Twist] = {
            GROUND: ZERO_TWIST,
            **twists(links, {n: scope.symbol(n) for n in scope.velocities}, whole=True, templates=templates),
        }
        self.lag_rates: dict[str, ca.SX] = {}  # of relaxation states of tangential laws
        self._carried: dict[tuple[str, str], Pose] = {}  # pose of a link in the axes of an ancestor
        self._seen: dict[tuple[str, str], Pose] = {}
        self._points = {point.name: point for point in scope.system.points}
        vectors = {
            "position": self.position,
            "velocity": self.velocity,
            "body_velocity": self.body_velocity,
            "rate": self.body_rate,
            "acceleration": self.acceleration,
            "body_acceleration": self.body_acceleration,
            "specific_force": self.specific_force,
        }
        for quantity, vector in vectors.items():
            for index, axis in enumerate("xyz"):
                self._offer(f"{quantity}_{axis}", partial(_component, vector, index))
        self._offer("heading", lambda name: self._attitude(name)[0])
        self._offer("lean", lambda name: self._attitude(name)[1])
        self._offer("pitch", lambda name: self._attitude(name)[2])
        self._offer_pair("distance", self.distance)
        for i, first in enumerate("xyz"):
            self._offer_pair(f"offset_{first}", partial(self._offset_along, i))
            for j, second in enumerate("xyz"):
                self._offer_pair(f"cosine_{first}{second}", partial(self._cosine, i, j))
        scope.special["rate"] = self._rate

    @property
    def q_rate(self) -> ca.SX:
        """q̇ = N(q) v, in the order of the coordinates."""
        return ca.vertcat(*[self.rate_of(name) for name in self.scope.coordinates]) if self.scope.coordinates else ca.SX(0, 1)

    def rate_of(self, coordinate: str) -> ca.SX:
        """The rate of one coordinate."""
        return self.lag_rates[coordinate] if coordinate in self.lag_rates else self._rates_by_name[coordinate]

    @cached_property
    def _rates_by_name(self) -> dict[str, ca.SX]:
        scope = self.scope
        value: dict[str, ca.SX] = {}
        for joint in scope.system.joints:
            link = self.links[joint.child]
            value |= {c.name: scope.symbol(c.rate) for c in joint.coordinates if c.rate}
            for displacement, step in zip(joint.chain, link.all_steps, strict=True):
                if isinstance(displacement, Float | Ball):
                    rates: Vec = tuple(scope.symbol(n) for n in displacement.rates)  # type: ignore[assignment]
                    turn = [scope.symbol(n) for n in displacement.quaternion]
                    value |= dict(zip(displacement.quaternion, quaternion_rate(turn, rates), strict=True))
                if isinstance(displacement, Float | Glide) and isinstance(step, FreeMotion):
                    linear: Vec = tuple(scope.symbol(n) if n else ZERO for n in step.linear)  # type: ignore[assignment]
                    value |= dict(zip(displacement.position, times(step.matrix, linear), strict=False))
        return value | {c.name: scope.symbol(c.rate) for c in scope.system.massless}

    def rate(self, quantity: ca.SX, where: str) -> ca.SX:
        """Time derivative of a quantity of position (and time); `where` names it in errors."""
        scope = self.scope
        used = scope.used_in(quantity)
        for group, what in ((used.velocities, "the velocity"), (used.inputs, "the input")):
            if group:
                raise ModelError(
                    f"{where} must be a quantity of position and time, but it depends on {what} {group[0]!r}; "
                    "write it in coordinates, parameters and measures of position"
                )
        rates = [self.rate_of(name) for name in used.coordinates]  # only of those that enter: a spring depends on few
        along = ca.jtimes(quantity, scope.vector(used.coordinates), ca.vertcat(*rates)) if rates else ca.SX(*quantity.shape)
        return along + ca.jacobian(quantity, scope.t)

    def locate(self, name: str) -> tuple[str, Vec]:
        """Body and local position of a named point; the name of a body means its origin."""
        if name in self._points:
            point = self._points[name]
            return point.body, tuple(self.scope.value(c) for c in point.at)  # type: ignore[return-value]
        return self._body(name), NULL

    def angular_velocity(self, name: str) -> Vec:
        """Angular velocity of a body, or of that of a point, in world axes."""
        body, _ = self.locate(name)
        return times(self.poses[body].rotation, self.twists[body].angular)

    def material_velocity(self, name: str, at: Vec) -> Vec:
        """Velocity in world axes of the point of a body, or of that of a point, that is at `at` in the world."""
        body, _ = self.locate(name)
        origin = times(self.poses[body].rotation, self.twists[body].origin)
        return add(origin, cross(self.angular_velocity(name), sub(at, self.poses[body].position)))

    def position(self, name: str) -> Vec:
        body, at = self.locate(name)
        return self.poses[body].of(at)

    def velocity(self, name: str) -> Vec:
        body, at = self.locate(name)
        return times(self.poses[body].rotation, self.twists[body].at(at))

    def body_velocity(self, name: str) -> Vec:
        """Velocity in the axes of the point's body, or of the frame."""
        body, at = self.locate(name)
        return times(transposed(self.turn(name)), self.twists[body].at(at))

    def body_rate(self, name: str) -> Vec:
        """Angular velocity in the axes of the body, or of the frame."""
        body, _ = self.locate(name)
        return times(transposed(self.turn(name)), self.twists[body].angular)

    def relative_pose(self, a: str, b: str) -> Pose:
        """Pose of a frame b in the axes of a frame a."""
        if (a, b) not in self._seen:
            first, second = self._both(a, b)
            inward = transposed(product(first.rotation, self.turn(a)))
            turned = product(inward, product(second.rotation, self.turn(b)))
            self._seen[a, b] = Pose(times(inward, sub(second.position, first.position)), turned)
        return self._seen[a, b]

    def distance(self, a: str, b: str) -> ca.SX:
        first, second = self._both(a, b)
        return length(list(sub(second.position, first.position)))

    def _both(self, a: str, b: str) -> tuple[Pose, Pose]:
        """Poses of two points, with the axes of their bodies, in those of the nearest common ancestor."""
        (first, at), (second, to) = self.locate(a), self.locate(b)
        ways = [[link.name for link in self.links[body].path()] if body != GROUND else [] for body in (first, second)]
        shared = [one for one, other in zip(*ways, strict=False) if one == other]
        found = []
        for body, point in ((first, at), (second, to)):
            pose = self._pose_on(shared[-1], body) if shared else self.poses[body]
            found.append(Pose(pose.of(point), pose.rotation))
        return found[0], found[1]

    def _pose_on(self, carrier: str, body: str) -> Pose:
        """Pose of a body in the axes of an ancestor."""
        if body == carrier:
            return IDENTITY_POSE
        if (carrier, body) not in self._carried:
            parent = self.links[body].parent
            assert parent is not None  # the carrier is an ancestor
            self._carried[carrier, body] = follow(self._pose_on(carrier, parent.name), self.links[body])
        return self._carried[carrier, body]

    def point_on(self, name: str, local: Vec) -> Vec:
        """A point given in the axes of a named frame, from its origin, in the world."""
        return add(self.position(name), self.to_world(name, local))

    def to_world(self, name: str, vector: Vec) -> Vec:
        """A vector in the axes of a named frame, in those of the world."""
        body, _ = self.locate(name)
        return times(self.poses[body].rotation, times(self.turn(name), vector))

    def turn(self, name: str) -> Mat:
        """Axes of a named frame in those of its body; the identity for points and bodies."""
        turned = UNIT
        for step in self._points[name].orientation if name in self._points else ():
            angle = self.scope.value(step.angle)
            turned = product(turned, rotation(AXIS[step.axis], ca.cos(angle), ca.sin(angle)))
        return turned

    def _body(self, name: str) -> str:
        if name not in self.poses:
            known = [*self.links, *self._points]
            raise ModelError(f"model {self.scope.system.name!r} has no body or point {name!r}{did_you_mean(name, known)}")
        return name

    def _attitude(self, name: str) -> tuple[ca.SX, ca.SX, ca.SX]:
        body, _ = self.locate(name)
        r = product(self.poses[body].rotation, self.turn(name))
        sideways = length([r[0][1], r[1][1]], regular=True)
        return ca.atan2(-r[0][1], r[1][1]), ca.atan2(r[2][1], sideways), ca.atan2(-r[2][0], r[2][2])

    def _rate(self, arguments: tuple[Expr, ...]) -> ca.SX:
        if len(arguments) != 1:
            raise ModelError(f"rate takes one expression, got {len(arguments)} ({', '.join(map(str, arguments))})")
        quantity = self.scope.value(arguments[0])
        if self.scope.used_in(quantity).velocities or self.scope.is_acceleration(quantity):
            return self.second_rate(quantity, f"the argument of 'rate({arguments[0]})'")
        return self.rate(quantity, f"the argument of 'rate({arguments[0]})'")

    def second_rate(self, quantity: ca.SX, where: str) -> ca.SX:
        """Time derivative of a quantity of velocity, in symbols of accelerations."""
        scope = self.scope
        used = scope.used_in(quantity)
        if used.inputs:
            raise ModelError(f"{where} depends on the input {used.inputs[0]!r}, whose rate is not known; leave the input out")
        if scope.is_acceleration(quantity):
            raise ModelError(f"{where} is an acceleration, whose rate is not available; differentiate at most twice")
        along = ca.jtimes(quantity, scope.vector(used.velocities), ca.vertcat(*[scope.acceleration(n) for n in used.velocities]))
        rates = [self.rate_of(name) for name in used.coordinates]
        moved = ca.jtimes(quantity, scope.vector(used.coordinates), ca.vertcat(*rates)) if rates else ZERO
        return along + moved + ca.jacobian(quantity, scope.t)

    def acceleration(self, name: str) -> Vec:
        """Acceleration of a point in the axes of the world: that of its origin, Ω̇ × r and Ω × (Ω × r), by differentiation."""
        where = f"acceleration of {name!r}"
        components = (self.second_rate(c, where) if self.scope.used_in(c).velocities else ZERO for c in self.velocity(name))
        return tuple(components)  # type: ignore[return-value]

    def body_acceleration(self, name: str) -> Vec:
        """The same in the axes of the body, or of the frame."""
        body, _ = self.locate(name)
        return times(transposed(self.turn(name)), times(transposed(self.poses[body].rotation), self.acceleration(name)))

    def specific_force(self, name: str) -> Vec:
        """Acceleration of a point less that of free fall, in the axes of the body, or of the frame."""
        body, _ = self.locate(name)
        fall: Vec = tuple(self.scope.value(component) for component in self.scope.system.gravity)  # type: ignore[assignment]
        along = times(transposed(self.turn(name)), times(transposed(self.poses[body].rotation), fall))
        return sub(self.body_acceleration(name), along)

    def _offset_along(self, axis: int, a: str, b: str) -> ca.SX:
        return self.relative_pose(a, b).position[axis]

    def _cosine(self, first: int, second: int, a: str, b: str) -> ca.SX:
        return self.relative_pose(a, b).rotation[first][second]

    def _offer_pair(self, function: str, measure: Callable[[str, str], ca.SX]) -> None:
        def call(arguments: tuple[Expr, ...]) -> ca.SX:
            pair = [a.identifier for a in arguments if isinstance(a, Name)]
            if len(arguments) != 2 or len(pair) != 2:
                raise ModelError(f"{function} takes the names of two points, got ({', '.join(map(str, arguments))})")
            return measure(*pair)

        self.scope.special[function] = call

    def _offer(self, function: str, measure: Callable[[str], ca.SX]) -> None:
        def call(arguments: tuple[Expr, ...]) -> ca.SX:
            if len(arguments) != 1 or not isinstance(arguments[0], Name):
                raise ModelError(f"{function} takes the name of a point or body, got ({', '.join(map(str, arguments))})")
            return measure(arguments[0].identifier)

        self.scope.special[function] = call


def _component(vector: Callable[[str], Vec], index: int, name: str) -> ca.SX:
    return vector(name)[index]
