"""A wheel with a tire on the ground: deflection, slip at the effective rolling radius, and the forces and moments of the tire.

A tire with vertical stiffness needs no constraint: its deflection ρ is the depth of the undeformed torus below the ground along
the normal, and its normal force a function of ρ and ρ̇. The forces act where the normal through the lowest point meets the ground,
R e + (r − ρ) n below the hub: the deflection shortens the tube. Slips are taken with the effective rolling radius.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import casadi as ca

from draisine.dynamics.contact.ground_contacts import WheelOnGround
from draisine.dynamics.linear_algebra import ZERO, Vec, add, cross, dot, is_zero, scale, sub
from draisine.dynamics.lowering import Scope
from draisine.model.contact.tires import Tire, TireForces, TireState, Values, lowered
from draisine.model.contact_items import mode_entries
from draisine.model.items import ResidualConstraint


@dataclass(frozen=True, eq=False)
class TireOnGround(WheelOnGround):
    """Contact of a wheel with a tire, in world axes."""

    @property
    def tire(self) -> Tire:
        assert isinstance(self.wheel.contact, Tire)
        return self.wheel.contact

    @cached_property
    def values(self) -> Values:
        """The amounts of the tire, on ground of this friction."""
        found = lowered(self.tire, self.measures.scope.value)
        friction = self.ground_friction
        return found if friction.is_one() else self.tire.with_friction(found, friction)

    @property
    def supported_by_joints(self) -> bool:
        return not self.tire.compliant and super().supported_by_joints

    def residual_constraints(self) -> list[ResidualConstraint]:
        """Contact with the ground; of a tire with vertical stiffness only what determines the position on curved ground."""
        found = super().residual_constraints()
        if not self.tire.compliant:
            return found
        touched = [row for row in found[0].residuals if not row[0].endswith("_normal")] if found else []
        return [ResidualConstraint(f"{self.name}_contact", tuple(touched))] if touched else []

    # ------------------------------------------------------------------------------------------ deflection

    @cached_property
    def deflection(self) -> ca.SX:
        return -self.gap[0] if self.tire.compliant else ZERO

    @cached_property
    def loaded_arm(self) -> Vec:
        """From the hub to the contact on the ground."""
        return add(self.arm, scale(self.deflection, self.normal)) if self.tire.compliant else self.arm

    @cached_property
    def surface_parameters(self) -> tuple[ca.SX, ca.SX]:
        if self.curved or not self.tire.compliant:
            return super().surface_parameters
        touched = add(self.center, self.loaded_arm)
        return touched[0], touched[1]

    @cached_property
    def free_radius(self) -> ca.SX:
        """Rolling radius of the unloaded torus at this camber."""
        scope = self.measures.scope
        return scope.value(self.wheel.radius) + scope.value(self.wheel.tube) * self.tilt

    @cached_property
    def load(self) -> ca.SX:
        """Normal force of a tire with vertical stiffness."""
        return ca.SX(self.tire.normal_force(ca, self.values, self.deflection, self.deflection_rate, self.free_radius))

    # ------------------------------------------------------------------------------------------ velocities

    @cached_property
    def spin(self) -> ca.SX:
        """Angular velocity about the axle."""
        return dot(self.axle, self.angular)

    @cached_property
    def _travel(self) -> Vec:
        """Velocity of the contact relative to the ground, without that of the spin."""
        turning = sub(self.angular, scale(self.spin, self.axle))
        return sub(add(self.hub_velocity, cross(turning, self.loaded_arm)), self.ground_velocity)

    @cached_property
    def deflection_rate(self) -> ca.SX:
        return -dot(self.normal, self._travel)

    @cached_property
    def rolling_speed(self) -> ca.SX:
        """Speed of the contact over the ground, along the track."""
        return dot(self.forward, self._travel)

    @cached_property
    def slip(self) -> tuple[ca.SX, ca.SX]:
        """Velocity of the tread at the effective rolling radius, along the track, and of the contact across it."""
        radius = self.free_radius
        if self.tire.compliant:
            loaded = radius - self.deflection * self.tilt
            radius = self.tire.rolling_radius(ca, self.values, self.load, radius, loaded)
        return self.rolling_speed - self.spin * radius, dot(self.left, self._travel)


@dataclass(frozen=True, eq=False)
class TireForce:
    """The force and the moment of the ground on a wheel by its tire, and rates of relaxation states."""

    contact: TireOnGround
    scope: Scope
    normal: ca.SX | None  # N as a multiplier, for tires that depend on it and have no vertical stiffness

    @cached_property
    def load(self) -> ca.SX:
        return self.contact.load if self.contact.tire.compliant else ZERO if self.normal is None else self.normal

    @cached_property
    def _closed(self) -> ca.SX | None:
        """Whether a contact that may open is closed, 0 or 1."""
        return None if self.contact.friction is None else self.scope.symbol(mode_entries(self.contact.name)[0].name)

    @cached_property
    def _direction(self) -> ca.SX:
        return self.contact.tire.direction(ca, self.contact.values, self.contact.rolling_speed)

    @cached_property
    def _speed(self) -> ca.SX:
        """|V|, which becomes zero at rest."""
        return self.contact.rolling_speed * self._direction

    @cached_property
    def _camber_slip(self) -> ca.SX:
        return self.contact.tire.camber_slip(ca, self.contact.values, self.contact.inclination)

    @cached_property
    def _lengths(self) -> tuple[ca.SX, ca.SX]:
        """Relaxation lengths."""
        contact = self.contact
        load = self.load if contact.tire.compliant else None
        return contact.tire.relaxation_lengths(ca, contact.values, load, contact.inclination)

    @cached_property
    def slips(self) -> tuple[ca.SX, ca.SX]:
        """s_x and s_y: relaxation states, or slips of the moment."""
        contact = self.contact
        if contact.lags:
            lags = [self.scope.symbol(lag.name) for lag in contact.lags]
            given = zip(lags, contact.slip, self._lengths, strict=True)
            along, across = (
                lag + contact.tire.settled(ca, contact.values, contact.rolling_speed, slip, length) for lag, slip, length in given
            )
            return along, across
        speed = contact.tire.divisor(ca, contact.values, contact.rolling_speed)
        return contact.slip[0] / speed, contact.slip[1] / speed + self._camber_slip

    @cached_property
    def parts(self) -> TireForces:
        """Forces and moments in the axes of the contact; zero while it is open."""
        contact = self.contact
        state = TireState(self.load, *self.slips, contact.inclination, self._speed, self._direction)
        found = contact.tire.evaluate(ca, contact.values, state)
        closed = self._closed
        return TireForces(*(ca.SX(part) if closed is None else closed * part for part in found))

    @property
    def force(self) -> tuple[ca.SX, ca.SX]:
        return self.parts.longitudinal, self.parts.lateral

    @property
    def rates(self) -> dict[str, ca.SX]:
        """σ ṡ = slip − |V| (s − s_γ), with the slip s_γ that camber is equivalent to; without slip while the contact is open."""
        contact, closed, tire = self.contact, self._closed, self.contact.tire
        if not contact.lags:
            return {}
        slips = contact.slip[0], contact.slip[1] + self._speed * self._camber_slip
        ends = tire.saturation(ca, contact.values) or (None, None)
        found = {}
        for lag, slip, length, end in zip(contact.lags, slips, self._lengths, ends, strict=True):
            given = slip if closed is None else closed * slip
            state = self.scope.symbol(lag.name)
            found[lag.name] = tire.relaxed_rate(ca, contact.values, contact.rolling_speed, given, state, length, end)
        return found

    @cached_property
    def hub_wrench(self) -> tuple[Vec, Vec]:
        """Force and moment about the hub, in world axes; without the normal force of a constraint."""
        contact, parts = self.contact, self.parts
        axes = contact.forward, contact.left, contact.normal
        up = self.load if contact.tire.compliant else ZERO
        force = _sum(axes, (parts.longitudinal, parts.lateral, up))
        moment = _sum(axes, (parts.overturning, parts.rolling, parts.aligning))
        return force, add(cross(contact.loaded_arm, force), moment)


def _sum(axes: tuple[Vec, Vec, Vec], amounts: tuple[ca.SX, ca.SX, ca.SX]) -> Vec:
    found: Vec = (ZERO, ZERO, ZERO)
    for axis, amount in zip(axes, amounts, strict=True):
        found = found if is_zero(amount) else add(found, scale(amount, axis))
    return found
