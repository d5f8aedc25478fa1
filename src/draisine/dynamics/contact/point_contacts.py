"""Contacts of a point or a sphere with the ground, a plane of a frame, or another sphere: gap and slip in the world's axes.

The contact point is explicit: below the point on curved ground, at the foot of the perpendicular on a plane, on the line of
centers for two spheres. So no surface parameters are needed, and the gap has a value wherever the bodies are. A sphere on curved
ground touches beside its lowest point: two surface parameters say where.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import casadi as ca

from draisine.dynamics.contact.ground_features import FeatureSurface
from draisine.dynamics.contact.surface import GroundSurface
from draisine.dynamics.kinematics.measures import Measures
from draisine.dynamics.linear_algebra import AXIS, UNIT, ZERO, Vec, cross, dot, neg, scale, sub
from draisine.expr.expression import Call, Name, Number
from draisine.model.contact.dry_friction import DryFriction
from draisine.model.contact.laws import ROLLING, TangentialLaw
from draisine.model.contact_items import PointContact
from draisine.model.items import Coordinate, ResidualConstraint


@dataclass(frozen=True, eq=False)
class PointOnSurface:
    """A point or sphere of a body on the ground, on a plane or on a sphere. The normal points to the body."""

    item: PointContact
    measures: Measures
    surface: GroundSurface | FeatureSurface

    supported_by_joints = False
    bounded: ClassVar[bool] = False  # whether it ends where `lands` does

    @property
    def name(self) -> str:
        return self.item.name

    @property
    def law(self) -> TangentialLaw:
        """While it sticks, the slip is zero."""
        return ROLLING

    @property
    def friction(self) -> DryFriction | None:
        """The law of its rows: across the track alone where it glides along it."""
        law = self.item.friction
        return law._replace(static=self.item.across, kinetic=self.item.across) if law and self.item.across_only else law

    @cached_property
    def row_scales(self) -> tuple[ca.SX, ca.SX]:
        """Factors of the slips along and across in its rows: with those of friction relative to that along the track, the
        ellipse of friction becomes a circle, and the force of largest dissipation points against the slip."""
        return ca.SX(1), self.measures.scope.value(self.item.anisotropy)

    @property
    def lags(self) -> tuple[Coordinate, ...]:
        return ()

    @cached_property
    def radius(self) -> ca.SX:
        return self.measures.scope.value(self.item.radius)

    @cached_property
    def center(self) -> Vec:
        return self.measures.position(self.item.point)

    @property
    def on_ground(self) -> bool:
        """Whether it touches the ground, and no body."""
        return self.item.on_ground

    @cached_property
    def _apart(self) -> Vec:
        """From the other frame's origin to the center."""
        return sub(self.center, self.measures.position(self.item.on))

    @cached_property
    def _distance(self) -> ca.SX:
        return ca.sqrt(dot(self._apart, self._apart))

    @cached_property
    def normal(self) -> Vec:
        if self.on_ground:
            return self.surface.normal(self.center[0], self.center[1])
        if self.item.on_radius is None:
            return self.measures.to_world(self.item.on, UNIT[2])
        away = scale(1 / self._distance, self._apart)
        return neg(away) if self._inside else away

    @cached_property
    def _inside(self) -> bool:
        """Whether the other sphere is touched from inside, by the sign of its radius at the default parameters."""
        assert self.item.on_radius is not None
        scope = self.measures.scope
        radius = scope.value(self.item.on_radius)
        defaults = [p.default for p in scope.system.arguments]
        return bool(float(ca.Function("radius", [scope.p], [radius])(defaults)) < 0.0)

    @cached_property
    def gap(self) -> tuple[ca.SX, ...]:
        """The distance between both, along the normal."""
        if self.on_ground:
            x, y, _ = self.center
            return (dot(self.normal, sub(self.center, self.surface.point(x, y))) - self.radius,)
        if self.item.on_radius is None:
            return (dot(self.normal, self._apart) - self.radius,)
        other = self.measures.scope.value(self.item.on_radius)
        return (-other - self._distance - self.radius,) if self._inside else (self._distance - other - self.radius,)

    @cached_property
    def lands(self) -> ca.SX:
        """It closes only where this is positive."""
        where = self.item.lands_where
        return ca.SX(1) if where is None else self.measures.scope.value(where)

    @property
    def size(self) -> ca.SX:
        """Of what it may fly past: another sphere, from outside; 0 for a plane."""
        if self.item.on_radius is None or self._inside:
            return ca.SX(0)
        return self.radius + self.measures.scope.value(self.item.on_radius)

    @cached_property
    def contact_point(self) -> Vec:
        return sub(self.center, scale(self.radius, self.normal))

    @cached_property
    def forward(self) -> Vec:
        """A direction in the tangent plane: x of the ground or of the frame, or, between spheres, normal to the y axis."""
        if self.item.along is not None:
            track = self.measures.to_world(self.item.point, UNIT[AXIS[self.item.along]])
            left = cross(self.normal, track)
            return scale(1 / ca.sqrt(dot(left, left)), cross(left, self.normal))
        if not self.on_ground and self.item.on_radius is None:
            return self.measures.to_world(self.item.on, UNIT[0])
        inside = cross(UNIT[1], self.normal)
        return scale(1 / ca.sqrt(dot(inside, inside)), inside)

    @cached_property
    def left(self) -> Vec:
        return cross(self.normal, self.forward)

    @cached_property
    def _passing(self) -> Vec:
        """Velocity of the other material point."""
        if self.on_ground:
            return self.surface.velocity(*self.contact_point[:2])
        return self.measures.material_velocity(self.item.on, self.contact_point)

    @cached_property
    def angular(self) -> Vec:
        """Angular velocity relative to the other body."""
        return sub(self.measures.angular_velocity(self.item.point), self.measures.angular_velocity(self.item.on))

    @cached_property
    def slip(self) -> tuple[ca.SX, ca.SX]:
        against = sub(self.measures.material_velocity(self.item.point, self.contact_point), self._passing)
        return dot(self.forward, against), dot(self.left, against)

    @property
    def rolling_speed(self) -> ca.SX:
        return ZERO

    def residual_constraints(self) -> list[ResidualConstraint]:
        """Contact along the normal, and no slip in the directions in which the body can move."""
        call, v = (Name(self.name),), self.measures.scope.v
        rows = zip(("normal", "touch_x", "touch_y"), ("gap", "gap_along", "gap_across"), self.gap, strict=False)
        found = [
            ResidualConstraint(f"{self.name}_contact", tuple((f"{self.name}_{row}", Call(gap, call)) for row, gap, _ in rows))
        ]
        ways = [way for way, slip in zip(("along", "across"), self.slip, strict=True) if ca.jacobian(slip, v).nnz()]
        ways = [way for way in ways if way == "across" or not self.item.across_only]
        if ways:
            factor = {"along": Number(1.0), "across": self.item.anisotropy}
            slips = tuple((f"{self.name}_{way}", factor[way] * Call(f"slip_{way}", call)) for way in ways)
            found.append(ResidualConstraint(f"{self.name}_rolling", slips, "velocity", "m/s"))
        return found


@dataclass(frozen=True, eq=False)
class SphereOnCurvedGround(PointOnSurface):
    """A sphere on curved ground. It touches at (x, y), two surface parameters of the contact, or would if it were lowered.

    That is the place below the point of the sphere that has the normal of the ground at (x, y): two residuals without its height.
    So it is unique for any height, wherever the hollows of the ground are wider than the sphere, and the gap, the distance along
    the normal there, changes its sign where the sphere touches."""

    surface: GroundSurface

    @property
    def place(self) -> tuple[Coordinate, Coordinate]:
        return self.item.place

    @cached_property
    def surface_parameters(self) -> tuple[ca.SX, ca.SX]:
        x, y = (self.measures.scope.symbol(c.name) for c in self.place)
        return x, y

    @cached_property
    def normal(self) -> Vec:
        return self.surface.normal(*self.surface_parameters)

    @cached_property
    def point(self) -> Vec:
        """The point of the sphere that touches."""
        return sub(self.center, scale(self.radius, self.normal))

    @cached_property
    def contact_point(self) -> Vec:
        """The point of the ground."""
        return self.surface.point(*self.surface_parameters)

    @cached_property
    def gap(self) -> tuple[ca.SX, ...]:
        """The distance along the normal, and the two residuals of the place."""
        apart = sub(self.point, self.contact_point)
        return dot(self.normal, apart), apart[0], apart[1]


@dataclass(frozen=True, eq=False)
class PointOnFeature(PointOnSurface):
    """A point or a sphere on a plane of a profile, or a sphere on an edge."""

    bounded = True

    @property
    def size(self) -> ca.SX:
        assert isinstance(self.surface, FeatureSurface)
        return self.radius if self.surface.feature.is_edge else ca.SX(0)

    @cached_property
    def normal(self) -> Vec:
        assert isinstance(self.surface, FeatureSurface)
        if not self.surface.feature.is_edge:
            return self.surface.normal(ZERO, ZERO)
        away = sub(self.center, self.surface.origin)
        size = ca.sqrt(away[0] ** 2 + away[2] ** 2)
        return away[0] / size, ZERO, away[2] / size

    @cached_property
    def lands(self) -> ca.SX:
        assert isinstance(self.surface, FeatureSurface)
        return self.surface.region(self.contact_point, self.center, self.normal, self.radius)
