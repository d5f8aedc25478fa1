"""Persistent contact of two parametrized surfaces (source D, chapter 5): wheel on rail, cam, ball.

Each surface is given by a point as a function of two surface parameters, in the axes of its frame. At the contact both points
coincide (three residuals) and the tangents of the first surface are orthogonal to the normal of the second (two): five equations
for four parameters and one constraint on the bodies. The parameters have no inertia, so only the first residual, along the
normal, has a force: its multiplier is N, the force of the second body on the first.

With friction the contact may open: then the other four residuals, which stay, say that the parameters are those of the nearest
points, and the first one is their distance."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import casadi as ca

from draisine.dynamics.constraints.smoothness import check_smooth, may_switch
from draisine.dynamics.kinematics.measures import Measures
from draisine.dynamics.linear_algebra import AXIS, UNIT, Vec, add, cross, dot, scale, sub
from draisine.expr.expression import Call, Expr, Name
from draisine.model.contact.dry_friction import DryFriction
from draisine.model.contact.laws import Coulomb, Rolling, TangentialLaw
from draisine.model.contact_items import SurfaceContact
from draisine.model.items import Coordinate, ResidualConstraint

ROWS = ("normal", "touch_x", "touch_y", "tangent_1", "tangent_2")


@dataclass(frozen=True, eq=False)
class SurfacePair:
    """A contact of two surfaces, in the world's axes. The normal points from the second body to the first."""

    item: SurfaceContact
    measures: Measures

    supported_by_joints = False
    bounded: ClassVar[bool] = False
    row_scales: ClassVar[tuple[ca.SX, ca.SX]] = (ca.SX(1), ca.SX(1))  # of the slips in its rows

    @property
    def friction(self) -> DryFriction | None:
        """None where it is permanent."""
        return self.item.friction

    @property
    def gap(self) -> tuple[ca.SX]:
        """The distance of the nearest points."""
        return (self.residuals[0],)

    @property
    def lands(self) -> ca.SX:
        """It closes only where this is positive."""
        return ca.SX(1)

    @property
    def size(self) -> ca.SX:
        """Of what it may fly past; 0 for none."""
        return ca.SX(0)

    @property
    def name(self) -> str:
        return self.item.name

    @property
    def law(self) -> TangentialLaw | None:
        return self.item.contact

    @property
    def lags(self) -> tuple[Coordinate, ...]:
        return self.item.lags

    def _local(self, surface: tuple[Expr, Expr, Expr]) -> Vec:
        return tuple(self.measures.scope.value(c) for c in surface)  # type: ignore[return-value]

    def __post_init__(self) -> None:
        scope = self.measures.scope
        for which, surface in (("first", self.item.surface), ("second", self.item.second_surface)):
            if may_switch(scope, *surface):
                check_smooth(scope, f"contact {self.name!r}: the {which} surface", ca.vertcat(*self._local(surface)))

    def _tangents(self, frame: str, surface: tuple[Expr, Expr, Expr], parameters: tuple[str, str]) -> tuple[Vec, Vec]:
        """Derivatives of a surface's point by its parameters, in the world."""
        local = ca.vertcat(*self._local(surface))
        found = []
        for name in parameters:
            slope = ca.densify(ca.jacobian(local, self.measures.scope.symbol(name)))
            found.append(self.measures.to_world(frame, (slope[0], slope[1], slope[2])))
        return found[0], found[1]

    @cached_property
    def first_point(self) -> Vec:
        return self.measures.point_on(self.item.first, self._local(self.item.surface))

    @cached_property
    def contact_point(self) -> Vec:
        return self.measures.point_on(self.item.second, self._local(self.item.second_surface))

    @cached_property
    def normal(self) -> Vec:
        one, two = self._tangents(self.item.second, self.item.second_surface, self.item.second_parameters)
        across = cross(one, two)
        return scale(1 / ca.sqrt(dot(across, across)), across)

    @cached_property
    def forward(self) -> Vec:
        """Longitudinal direction of the first body, in the tangent plane; any direction of it where the law has none."""
        if self.item.along is None and (self.law is None or isinstance(self.law, Rolling | Coulomb)):
            one, _ = self._tangents(self.item.second, self.item.second_surface, self.item.second_parameters)
            return scale(1 / ca.sqrt(dot(one, one)), one)
        axis = self.measures.to_world(self.item.first, UNIT[AXIS[self.item.along or "x"]])
        inside = sub(axis, scale(dot(axis, self.normal), self.normal))
        return scale(1 / ca.sqrt(dot(inside, inside)), inside)

    @cached_property
    def left(self) -> Vec:
        return cross(self.normal, self.forward)

    @cached_property
    def residuals(self) -> tuple[ca.SX, ...]:
        apart = sub(self.first_point, self.contact_point)
        tangents = self._tangents(self.item.first, self.item.surface, self.item.parameters)
        sizes = [ca.sqrt(dot(t, t)) for t in tangents]
        turned = [dot(self.normal, t) / size for t, size in zip(tangents, sizes, strict=True)]
        return (dot(self.normal, apart), dot(self.forward, apart), dot(self.left, apart), *turned)

    @cached_property
    def _passing(self) -> Vec:
        """Velocity of the second body's material point at the contact."""
        own = self.measures.to_world(self.item.second, self._local(self.item.velocity))
        return add(self.measures.material_velocity(self.item.second, self.contact_point), own)

    @cached_property
    def angular(self) -> Vec:
        """Angular velocity of the first body relative to the second."""
        return sub(self.measures.angular_velocity(self.item.matter), self.measures.angular_velocity(self.item.second))

    @cached_property
    def slip(self) -> tuple[ca.SX, ca.SX]:
        against = sub(self.measures.material_velocity(self.item.matter, self.contact_point), self._passing)
        return dot(self.forward, against), dot(self.left, against)

    @cached_property
    def rolling_speed(self) -> ca.SX:
        """Speed of the first frame's origin over the second body, along the track."""
        return dot(
            self.forward,
            sub(self.measures.material_velocity(self.item.first, self.measures.position(self.item.first)), self._passing),
        )

    def residual_constraints(self) -> list[ResidualConstraint]:
        rows = tuple((f"{self.name}_{row}", Call(f"contact_{row}", (Name(self.name),))) for row in ROWS)
        found = [ResidualConstraint(f"{self.name}_contact", rows, plain=tuple(name for name, _ in rows[3:]))]
        if isinstance(self.law, Rolling):
            slips = tuple((f"{self.name}_{way}", Call(f"slip_{way}", (Name(self.name),))) for way in ("along", "across"))
            found.append(ResidualConstraint(f"{self.name}_rolling", slips, "velocity", "m/s"))
        return found
