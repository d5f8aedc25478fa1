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

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import ClassVar

import casadi as ca

from draisine.dynamics.contact.ground_features import FeatureSurface, edge_normal
from draisine.dynamics.contact.point_contacts import PointOnFeature, PointOnSurface
from draisine.dynamics.contact.surface import GroundSurface
from draisine.dynamics.contact.surface_pair import ROWS, SurfacePair
from draisine.dynamics.kinematics.measures import Measures
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
from draisine.expr.safe_functions import length
from draisine.model.contact import DryFriction, Rolling, TangentialLaw
from draisine.model.items import Coordinate, KnifeEdge, PointContact, ResidualConstraint, Wheel


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
    def name(self) -> str:
        return self.wheel.name

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
    def center(self) -> Vec:
        scope = self.measures.scope
        return self.measures.poses[self.wheel.body].of(tuple(scope.value(c) for c in self.wheel.center))  # type: ignore[arg-type]

    @cached_property
    def axle(self) -> Vec:
        """Unit vector along the wheel's axis."""
        return times(self.measures.poses[self.wheel.body].rotation, UNIT[AXIS[self.wheel.axis]])

    @cached_property
    def surface_parameters(self) -> tuple[ca.SX, ca.SX]:
        """(x, y) of the contact: surface parameters, or on a plane the explicit point."""
        if not self.curved:
            return self.point[0], self.point[1]
        x, y = (self.measures.scope.symbol(c.name) for c in self.wheel.place)
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
        return found

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
    def hub_velocity(self) -> Vec:
        scope, body = self.measures.scope, self.wheel.body
        center: Vec = tuple(scope.value(c) for c in self.wheel.center)  # type: ignore[assignment]
        return times(self.measures.poses[body].rotation, self.measures.twists[body].at(center))

    @cached_property
    def angular(self) -> Vec:
        """Angular velocity of the wheel in the world."""
        return times(self.measures.poses[self.wheel.body].rotation, self.measures.twists[self.wheel.body].angular)

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
        return self.surface.region(self.point, self.normal, scope.value(self.wheel.radius) + scope.value(self.wheel.tube))


ResidualContact = WheelOnGround | SurfacePair | PointOnSurface


def residual_contacts(measures: Measures) -> tuple[list[ResidualContact], list[KnifeEdgeOnGround]]:
    """Contacts and knife edges that are residual constraints; registers their measures for expressions: `slip_along(front)`,
    `slip_across(front)`, and of wheels and knife edges `gap(front)`."""
    system = measures.scope.system
    wheels = [wheel for wheel in system.contact_wheels if system.touches(wheel)]
    edges = [] if system.ground.still else system.edges
    without_slip = bool(edges or system.point_contacts) or any(isinstance(wheel.contact, Rolling) for wheel in wheels)
    needed = wheels or edges or system.point_contacts
    surface = GroundSurface(measures.scope, without_slip) if needed else None
    found = {w.name: _wheel(w, measures, surface) for w in wheels if surface is not None}
    blades = {e.name: KnifeEdgeOnGround(e, measures, surface) for e in edges if surface is not None}
    points = {c.name: _point(c, measures, surface) for c in system.contact_points if surface is not None}
    pairs = {c.name: SurfacePair(c, measures) for c in system.surface_contacts}
    special = measures.scope.special
    for k, name in enumerate(("gap", "gap_along", "gap_across")):
        asked: dict[str, WheelOnGround | KnifeEdgeOnGround | PointOnSurface] = {
            **found,
            **({**blades, **points} if k == 0 else {}),
        }
        special[name] = _measure(name, {n: partial(_entry, c, "gap", k) for n, c in asked.items()})
    for k, row in enumerate(ROWS):
        special[f"contact_{row}"] = _measure(f"contact_{row}", {n: partial(_entry, c, "residuals", k) for n, c in pairs.items()})
    every: dict[str, ResidualContact] = {**found, **points, **pairs}
    for k, name in enumerate(("slip_along", "slip_across")):
        special[name] = _measure(name, {n: partial(_entry, c, "slip", k) for n, c in {**every, **blades}.items()})
    return list(every.values()), list(blades.values())


def _wheel(wheel: Wheel, measures: Measures, ground: GroundSurface) -> WheelOnGround:
    if wheel.feature is not None:
        return WheelOnFeature(wheel, measures, FeatureSurface(measures.scope, wheel.feature), False)
    return WheelOnGround(wheel, measures, ground, measures.scope.system.ground.curved)


def _point(contact: PointContact, measures: Measures, ground: GroundSurface) -> PointOnSurface:
    if contact.feature is not None:
        return PointOnFeature(contact, measures, FeatureSurface(measures.scope, contact.feature))
    return PointOnSurface(contact, measures, ground)


def _entry(contact: ResidualContact | KnifeEdgeOnGround, what: str, index: int) -> ca.SX:
    return getattr(contact, what)[index]


def _measure(function: str, contacts: dict[str, Callable[[], ca.SX]]) -> Callable[[tuple[Expr, ...]], ca.SX]:
    def call(arguments: Sequence[Expr]) -> ca.SX:
        asked = arguments[0].identifier if len(arguments) == 1 and isinstance(arguments[0], Name) else None
        if asked not in contacts:
            listed = ", ".join(contacts) or "none here"
            raise ModelError(
                f"{function} takes the name of a wheel that can slip, of a wheel or knife edge on curved or moving ground, or "
                f"of a contact of surfaces ({listed}); got ({', '.join(map(str, arguments))})"
            )
        return contacts[asked]()

    return call


def track_heading(contact: ResidualContact) -> ca.SX:
    """Heading of the track on the ground."""
    return ca.atan2(contact.forward[1], contact.forward[0])


def friction_ratio(along: ca.SX, across: ca.SX, normal: ca.SX) -> ca.SX:
    """Tangential force divided by the normal force."""
    return length([along, across]) / (ca.fabs(normal) + 1e-12)
