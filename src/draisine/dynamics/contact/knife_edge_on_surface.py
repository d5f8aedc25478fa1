"""Blades on curved or moving ground: knife edges held by ties.

A blade touches with one point of its body, so that its place on the ground is explicit: no surface parameters. Its matter there
has no velocity across the blade against the ground's, in the plane that touches the ground at that place; with `on_ground` the
point stays on the ground. The multipliers are the force across and the normal force, as on a plane at rest.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import casadi as ca

from draisine.dynamics.contact.ground_contacts import Surface
from draisine.dynamics.kinematics.measures import Measures
from draisine.dynamics.linear_algebra import AXIS, UNIT, Vec, cross, dot, is_zero, scale, sub, times
from draisine.errors import ModelError
from draisine.expr.expression import Call, Name
from draisine.model.items import KnifeEdge, ResidualConstraint


@dataclass(frozen=True, eq=False)
class Blade:
    """A knife edge on a ground that is no plane at rest, in the world's axes."""

    edge: KnifeEdge
    measures: Measures
    surface: Surface

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
        """Length of the blade's projection on the ground; it vanishes where the blade stands on end."""
        found = ca.sqrt(dot(self._sideways, self._sideways))
        if is_zero(found):
            raise ModelError(
                f"knife edge {self.name!r} stands on end in every configuration; check its direction, {self.edge.along!r}"
            )
        return found

    @cached_property
    def left(self) -> Vec:
        """Unit vector across the blade, in the plane that touches the ground."""
        return scale(1 / self.reach, self._sideways)

    @cached_property
    def gap(self) -> tuple[ca.SX]:
        """From the ground to the point, along the normal."""
        apart = sub(self.point, self.surface.point(self.point[0], self.point[1]))
        return (dot(self.normal, apart),)

    @cached_property
    def slip(self) -> tuple[ca.SX, ca.SX]:
        """Velocity of the point against the ground's matter below it, along the blade and across it."""
        body = self.edge.body
        velocity = times(self.measures.poses[body].rotation, self.measures.twists[body].at(self._local))
        against = sub(velocity, self.surface.velocity(self.point[0], self.point[1]))
        return dot(cross(self.left, self.normal), against), dot(self.left, against)

    @cached_property
    def held_by_joints(self) -> bool:
        """Whether no coordinate changes its height above the ground."""
        return self.edge.on_ground and not ca.depends_on(self.gap[0], self.measures.scope.q)

    def ties(self) -> list[ResidualConstraint]:
        """What keeps it on the ground, if anything has to, and what keeps it from sliding sideways."""
        call = (Name(self.name),)
        held, normal = self.rows
        across = ResidualConstraint(f"{self.name}_blade", ((held, Call("slip_across", call)),), "velocity", "m/s")
        if not self.edge.on_ground or self.held_by_joints:
            return [across]
        return [ResidualConstraint(f"{self.name}_contact", ((normal, Call("gap", call)),)), across]

    @property
    def rows(self) -> tuple[str, str]:
        """Names that its constraints have, if it has them: across the blade, and normal to the ground."""
        return f"{self.name}_across", f"{self.name}_normal"
