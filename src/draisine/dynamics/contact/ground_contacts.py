"""Wheels and knife edges on curved or moving ground, and wheels that slip: contacts written as residual constraints.

Where the ground's normal n is known, the wheel's lowest point is explicit: −R e − r n from its center, with e the direction of n
in the wheel's plane. On a plane nothing else is needed. On curved ground n is evaluated at (x, y), two surface parameters of the
wheel, and the contact point must lie there: three residuals, which determine both parameters and keep the wheel on the ground.
The parameters move no mass, so the two tangential residuals have no force (source D, eq. 5.5.5); the multiplier of the normal one
is the normal force N. A knife edge touches with one point of its body: its contact point is explicit, without surface parameters.

Rolling keeps the slip, the velocity of the wheel's material point at the contact relative to the ground's, at zero: a velocity
constraint whose multipliers are the longitudinal and the lateral force. A tangential law gives these forces instead.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import casadi as ca

from draisine.dynamics.contact.ground_features import FeatureSurface, edge_normal
from draisine.dynamics.contact.surface import GroundSurface
from draisine.dynamics.kinematics.measures import Measures
from draisine.dynamics.kinematics.twists import IDENTITY_POSE, ZERO_TWIST, Pose, Twist, along_steps, propagate
from draisine.dynamics.linear_algebra import (
    AXIS,
    UNIT,
    ZERO,
    Vec,
    add,
    cross,
    dot,
    is_zero,
    neg,
    scale,
    sub,
    times,
)
from draisine.errors import ModelError
from draisine.expr.expression import Call, Expr, Name
from draisine.model.contact.dry_friction import DryFriction
from draisine.model.contact.laws import Rolling, TangentialLaw
from draisine.model.contact_items import KnifeEdge, Wheel
from draisine.model.items import Coordinate, ResidualConstraint


@dataclass(frozen=True, eq=False)
class KnifeEdgeOnGround:
    """A knife edge on curved or moving ground, in world axes.

    Its material point has no lateral velocity relative to the ground, in the tangent plane at that point; with `on_ground` the
    point stays on the ground. The multipliers are the lateral force and the normal force, as on a plane at rest.
    """

    edge: KnifeEdge
    measures: Measures
    surface: GroundSurface

    @property
    def name(self) -> str:
        return self.edge.name

    @cached_property
    def _local(self) -> Vec:
        return tuple(self.measures.scope.value(c) for c in self.edge.at)  # type: ignore[return-value]

    @cached_property
    def point(self) -> Vec:
        return self.measures.poses[self.edge.body].of(self._local)

    @cached_property
    def normal(self) -> Vec:
        """The ground's normal below the point."""
        return self.surface.normal(self.point[0], self.point[1])

    @cached_property
    def _sideways(self) -> Vec:
        along = times(self.measures.poses[self.edge.body].rotation, UNIT[AXIS[self.edge.along]])
        return cross(self.normal, along)

    @cached_property
    def reach(self) -> ca.SX:
        """Length of the blade's projection on the ground; zero where the blade is normal to the ground."""
        found = ca.sqrt(dot(self._sideways, self._sideways))
        if is_zero(found):
            raise ModelError(
                f"knife edge {self.name!r} stands on end in every configuration; check its direction, {self.edge.along!r}"
            )
        return found

    @cached_property
    def left(self) -> Vec:
        """Unit vector across the blade, in the tangent plane of the ground."""
        return scale(1 / self.reach, self._sideways)

    @cached_property
    def gap(self) -> tuple[ca.SX]:
        """Distance of the point from the ground along the normal."""
        apart = sub(self.point, self.surface.point(self.point[0], self.point[1]))
        return (dot(self.normal, apart),)

    @cached_property
    def slip(self) -> tuple[ca.SX, ca.SX]:
        """Velocity of the point relative to the ground, along the blade and across it."""
        body = self.edge.body
        velocity = times(self.measures.poses[body].rotation, self.measures.twists[body].at(self._local))
        against = sub(velocity, self.surface.velocity(self.point[0], self.point[1]))
        return dot(cross(self.left, self.normal), against), dot(self.left, against)

    @cached_property
    def supported_by_joints(self) -> bool:
        """Whether no coordinate changes its height above the ground."""
        return self.edge.on_ground and not ca.depends_on(self.gap[0], self.measures.scope.q)

    def residual_constraints(self) -> list[ResidualConstraint]:
        """Contact with the ground, where it is a constraint, and no lateral slip."""
        call = (Name(self.name),)
        lateral, normal = self.rows
        across = ResidualConstraint(f"{self.name}_blade", ((lateral, Call("slip_across", call)),), "velocity", "m/s")
        if not self.edge.on_ground or self.supported_by_joints:
            return [across]
        return [ResidualConstraint(f"{self.name}_contact", ((normal, Call("gap", call)),)), across]

    @property
    def rows(self) -> tuple[str, str]:
        """Names of its rows, where they exist: across the blade, and normal to the ground."""
        return f"{self.name}_across", f"{self.name}_normal"


FLAT = 1e-9  # lean of a wheel that may open, below which its lowest point, which is not unique there, tends to its center


@dataclass(frozen=True, eq=False)
class WheelOnGround:
    """Contact of a wheel with the ground, in world axes."""

    wheel: Wheel
    measures: Measures
    surface: GroundSurface | FeatureSurface
    curved: bool

    bounded: ClassVar[bool] = False  # whether it ends where `lands` does
    row_scales: ClassVar[tuple[ca.SX, ca.SX]] = (ca.SX(1), ca.SX(1))  # of the slips in its rows

    @property
    def lands(self) -> ca.SX:
        """It closes only where this is positive."""
        return ca.SX(1)

    @property
    def size(self) -> ca.SX:
        """Of what it may fly past; 0 for a plane."""
        return ca.SX(0)

    @property
    def name(self) -> str:
        return self.wheel.name

    @property
    def place(self) -> tuple[Coordinate, Coordinate]:
        """Its surface parameters on curved ground."""
        return self.wheel.place

    @property
    def law(self) -> TangentialLaw | None:
        return self.wheel.contact

    @property
    def friction(self) -> DryFriction | None:
        return self.wheel.friction

    @property
    def lags(self) -> tuple[Coordinate, ...]:
        return self.wheel.lags

    @cached_property
    def contact_point(self) -> Vec:
        """Contact point on the ground."""
        return self.surface.point(*self.surface_parameters)

    @cached_property
    def local_center(self) -> Vec:
        """The wheel's center in the axes of its link."""
        return tuple(self.measures.scope.value(c) for c in self.wheel.center)  # type: ignore[return-value]

    @cached_property
    def before_spin(self) -> bool:
        """Whether the wheel is a rotor about its axle: its motion is then taken before the spin, whose angle does not enter."""
        link, axis = self.measures.links[self.wheel.body], AXIS[self.wheel.axis]
        beside = [c for i, c in enumerate(self.local_center) if i != axis]
        return link.spin is not None and link.spin.axis == axis and all(is_zero(c) for c in beside)

    @cached_property
    def pose(self) -> Pose:
        if not self.before_spin:
            return self.measures.poses[self.wheel.body]
        link = self.measures.links[self.wheel.body]
        return along_steps(self.measures.poses[link.parent.name] if link.parent else IDENTITY_POSE, link.steps)

    @cached_property
    def _twist(self) -> Twist:
        if not self.before_spin:
            return self.measures.twists[self.wheel.body]
        link, scope = self.measures.links[self.wheel.body], self.measures.scope
        rates = {name: scope.symbol(name) for name in scope.velocities}
        found = self.measures.twists[link.parent.name] if link.parent else ZERO_TWIST
        for step in link.steps:
            found = propagate(step, found, rates)
        assert link.spin is not None and link.spin.velocity is not None  # of a rotor
        spun = scale(link.spin.scale * rates[link.spin.velocity], UNIT[link.spin.axis])
        return Twist(found.origin, add(found.angular, spun))

    @cached_property
    def center(self) -> Vec:
        return self.pose.of(self.local_center)

    @cached_property
    def axle(self) -> Vec:
        """Unit vector along the wheel's axis."""
        return times(self.pose.rotation, UNIT[AXIS[self.wheel.axis]])

    @cached_property
    def surface_parameters(self) -> tuple[ca.SX, ca.SX]:
        """(x, y) of the contact: surface parameters, or on a plane the explicit point."""
        if not self.curved:
            return self.point[0], self.point[1]
        x, y = (self.measures.scope.symbol(c.name) for c in self.place)
        return x, y

    @cached_property
    def normal(self) -> Vec:
        return self.surface.normal(*self.surface_parameters) if self.curved else self.surface.normal(ZERO, ZERO)

    @cached_property
    def tilt(self) -> ca.SX:
        """Length of the normal's projection on the wheel's plane; zero where the wheel lies flat."""
        across = dot(self.normal, self.axle)
        found = ca.sqrt(1 - across * across)
        if is_zero(found):
            raise ModelError(f"wheel {self.name!r} lies flat on the ground in every configuration; check its axis")
        if self.friction is None:
            return found
        beside = cross(self.axle, self.normal)  # exact where it is small
        return ca.sqrt(dot(beside, beside) + FLAT * FLAT)

    @cached_property
    def inclination(self) -> ca.SX:
        """Camber angle γ: that of the wheel's plane to the normal, positive for a lean to the right of its track."""
        return ca.atan2(dot(self.normal, self.axle), self.tilt)

    @cached_property
    def arm(self) -> Vec:
        """From the wheel's center to the contact point."""
        scope = self.measures.scope
        radius, tube = scope.value(self.wheel.radius), scope.value(self.wheel.tube)
        inside = sub(self.normal, scale(dot(self.normal, self.axle), self.axle))
        arm = neg(scale(radius / self.tilt, inside))
        return arm if is_zero(tube) else sub(arm, scale(tube, self.normal))

    @cached_property
    def point(self) -> Vec:
        return add(self.center, self.arm)

    @cached_property
    def forward(self) -> Vec:
        """Unit vector along the track."""
        return scale(1 / self.tilt, cross(self.axle, self.normal))

    @cached_property
    def left(self) -> Vec:
        """Unit vector across the track."""
        return cross(self.normal, self.forward)

    @cached_property
    def gap(self) -> Vec:
        """From the ground to the wheel's lowest point: normal component, and on curved ground the tangential ones."""
        x, y = self.surface_parameters if self.curved else (ZERO, ZERO)
        apart = sub(self.point, self.surface.point(x, y))
        return dot(self.normal, apart), dot(self.forward, apart), dot(self.left, apart)

    @cached_property
    def ground_velocity(self) -> Vec:
        return self.surface.velocity(*self.surface_parameters)

    @cached_property
    def ground_friction(self) -> ca.SX:
        """Relative coefficient of friction of the ground at the contact."""
        return self.surface.friction(*self.surface_parameters)

    @cached_property
    def hub_velocity(self) -> Vec:
        return times(self.pose.rotation, self._twist.at(self.local_center))

    @cached_property
    def angular(self) -> Vec:
        """Angular velocity of the wheel in the world."""
        return times(self.pose.rotation, self._twist.angular)

    @cached_property
    def slip(self) -> tuple[ca.SX, ca.SX]:
        """Longitudinal and lateral velocity of the wheel's material point at the contact relative to the ground."""
        matter = add(self.hub_velocity, cross(self.angular, self.arm))
        against = sub(matter, self.ground_velocity)
        return dot(self.forward, against), dot(self.left, against)

    @cached_property
    def rolling_speed(self) -> ca.SX:
        """Speed of the hub over the ground, along the track."""
        return dot(self.forward, sub(self.hub_velocity, self.ground_velocity))

    @cached_property
    def supported_by_joints(self) -> bool:
        """Whether no coordinate changes its height above a plane."""
        return not self.curved and not ca.depends_on(self.gap[0], self.measures.scope.q)

    def residual_constraints(self) -> list[ResidualConstraint]:
        """Contact with the ground, and no slip if it rolls."""
        own = () if self.supported_by_joints else ("normal", "touch_x", "touch_y") if self.curved else ("normal",)
        calls = zip(own, ("gap", "gap_along", "gap_across"), strict=False)
        found = (
            [ResidualConstraint(f"{self.name}_contact", tuple((f"{self.name}_{row}", self._call(call)) for row, call in calls))]
            if own
            else []
        )
        if isinstance(self.wheel.contact, Rolling):
            slips = tuple((f"{self.name}_{way}", self._call(f"slip_{way}")) for way in ("along", "across"))
            found.append(ResidualConstraint(f"{self.name}_rolling", slips, "velocity", "m/s"))
        return found

    def _call(self, function: str) -> Expr:
        return Call(function, (Name(self.name),))


@dataclass(frozen=True, eq=False)
class WheelOnFeature(WheelOnGround):
    """A wheel on a plane or an edge of a profile."""

    bounded = True

    @property
    def size(self) -> ca.SX:
        assert isinstance(self.surface, FeatureSurface)
        return self.measures.scope.value(self.wheel.radius) if self.surface.feature.is_edge else ca.SX(0)

    @cached_property
    def normal(self) -> Vec:
        assert isinstance(self.surface, FeatureSurface)
        if not self.surface.feature.is_edge:
            return self.surface.normal(ZERO, ZERO)
        return edge_normal(sub(self.center, self.surface.origin), self.axle, self.measures.scope.value(self.wheel.radius))

    @cached_property
    def lands(self) -> ca.SX:
        assert isinstance(self.surface, FeatureSurface)
        scope = self.measures.scope
        size = scope.value(self.wheel.radius) + scope.value(self.wheel.tube)
        return self.surface.region(self.point, self.center, self.normal, size)
