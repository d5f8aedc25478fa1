"""Wheels that touch a curved or moving ground, or that slip: contacts held by ties.

Where the ground's normal n is known, the wheel's lowest point is explicit: −R e − r n from its center, e the direction of n in
the wheel's plane. On a plane that is all. On a curved ground n is asked for at a place (x, y), two surface parameters of the
wheel, and the point must lie there: three residuals, which determine both parameters and hold the wheel on the ground. No mass
moves with the parameters, so that the two residuals along the ground have no force (source D, eq. 5.5.5), and the multiplier of
the third is the normal force N.

Rolling holds the slip, the velocity of the wheel's matter at the contact against the ground's, at zero: a tie of velocity, whose
multipliers are the forces along the track and across it. A tangential law gives these forces instead.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import casadi as ca

from draisine.dynamics.contact.ground_contacts import Blade, Surface
from draisine.dynamics.contact.surface_pair import ROWS, Meeting
from draisine.dynamics.kinematics.measures import Measures
from draisine.dynamics.linear_algebra import AXIS, UNIT, ZERO, Vec, add, cross, dot, is_zero, neg, scale, sub, times
from draisine.errors import ModelError
from draisine.expr.expression import Call, Expr, Name
from draisine.expr.safe_functions import length
from draisine.model.contact_laws import Rolling, TangentialLaw
from draisine.model.items import Coordinate, ResidualConstraint, Wheel


@dataclass(frozen=True, eq=False)
class Touching:
    """A wheel's contact with the ground, in the world's axes."""

    wheel: Wheel
    measures: Measures
    surface: Surface
    curved: bool

    @property
    def name(self) -> str:
        return self.wheel.name

    @property
    def law(self) -> TangentialLaw | None:
        return self.wheel.contact

    @property
    def lags(self) -> tuple[Coordinate, ...]:
        return self.wheel.lags

    @cached_property
    def contact_point(self) -> Vec:
        """Where they touch, on the ground."""
        return self.surface.point(*self.place)

    @cached_property
    def center(self) -> Vec:
        scope = self.measures.scope
        return self.measures.poses[self.wheel.body].of(tuple(scope.value(c) for c in self.wheel.center))  # type: ignore[arg-type]

    @cached_property
    def axle(self) -> Vec:
        """Unit vector along the wheel's axis."""
        return times(self.measures.poses[self.wheel.body].rotation, UNIT[AXIS[self.wheel.axis]])

    @cached_property
    def place(self) -> tuple[ca.SX, ca.SX]:
        """Where on the ground it touches: surface parameters, or on a plane what the geometry gives."""
        if not self.curved:
            return self.point[0], self.point[1]
        x, y = (self.measures.scope.symbol(c.name) for c in self.wheel.place)
        return x, y

    @cached_property
    def normal(self) -> Vec:
        return self.surface.normal(*self.place) if self.curved else self.surface.normal(ZERO, ZERO)

    @cached_property
    def tilt(self) -> ca.SX:
        """Length of the normal's projection on the wheel's plane; it vanishes where the wheel lies flat."""
        across = dot(self.normal, self.axle)
        found = ca.sqrt(1 - across * across)
        if is_zero(found):
            raise ModelError(f"wheel {self.name!r} lies flat on the ground in every configuration; check its axis")
        return found

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
        """From the ground to the wheel's lowest point: along the normal, and on a curved ground along the track and across."""
        x, y = self.place if self.curved else (ZERO, ZERO)
        apart = sub(self.point, self.surface.point(x, y))
        return dot(self.normal, apart), dot(self.forward, apart), dot(self.left, apart)

    @cached_property
    def ground_velocity(self) -> Vec:
        return self.surface.velocity(*self.place)

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
        """Velocity of the wheel's matter at the contact against the ground's, along the track and across it."""
        matter = add(self.hub_velocity, cross(self.angular, self.arm))
        against = sub(matter, self.ground_velocity)
        return dot(self.forward, against), dot(self.left, against)

    @cached_property
    def rolling_speed(self) -> ca.SX:
        """Speed of the hub over the ground, along the track."""
        return dot(self.forward, sub(self.hub_velocity, self.ground_velocity))

    @cached_property
    def held_by_joints(self) -> bool:
        """Whether no coordinate can lift it from a plane, or press it into it."""
        return not self.curved and not ca.depends_on(self.gap[0], self.measures.scope.q)

    def ties(self) -> list[ResidualConstraint]:
        """What holds it on the ground, and from slipping if it rolls."""
        own = () if self.held_by_joints else ("normal", "touch_x", "touch_y") if self.curved else ("normal",)
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


Contact = Touching | Meeting


def touching_contacts(measures: Measures) -> tuple[list[Contact], list[Blade]]:
    """Contacts and blades that are held by ties, and their measures offered to expressions: `slip_along(front)`,
    `slip_across(front)`, and of wheels and blades `gap(front)`."""
    system = measures.scope.system
    wheels = [wheel for wheel in system.wheels if system.touches(wheel)]
    edges = [] if system.ground.still else system.edges
    surface = Surface(measures.scope) if wheels or edges else None
    found = {w.name: Touching(w, measures, surface, system.ground.curved) for w in wheels if surface is not None}
    blades = {e.name: Blade(e, measures, surface) for e in edges if surface is not None}
    met = {c.name: Meeting(c, measures) for c in system.surface_contacts}
    special = measures.scope.special
    for k, name in enumerate(("gap", "gap_along", "gap_across")):
        asked: dict[str, Touching | Blade] = {**found, **(blades if k == 0 else {})}
        special[name] = _asked(name, {n: partial(_entry, c, "gap", k) for n, c in asked.items()})
    for k, row in enumerate(ROWS):
        special[f"contact_{row}"] = _asked(f"contact_{row}", {n: partial(_entry, c, "residuals", k) for n, c in met.items()})
    every: dict[str, Contact] = {**found, **met}
    for k, name in enumerate(("slip_along", "slip_across")):
        special[name] = _asked(name, {n: partial(_entry, c, "slip", k) for n, c in {**every, **blades}.items()})
    return list(every.values()), list(blades.values())


def _entry(contact: Contact | Blade, what: str, index: int) -> ca.SX:
    return getattr(contact, what)[index]


def _asked(function: str, contacts: dict[str, Callable[[], ca.SX]]) -> Callable[[tuple[Expr, ...]], ca.SX]:
    def call(arguments: Sequence[Expr]) -> ca.SX:
        asked = arguments[0].identifier if len(arguments) == 1 and isinstance(arguments[0], Name) else None
        if asked not in contacts:
            listed = ", ".join(contacts) or "none here"
            raise ModelError(
                f"{function} takes the name of a wheel that can slip, of a wheel or blade on curved or moving ground, or of a "
                f"contact of surfaces ({listed}); got ({', '.join(map(str, arguments))})"
            )
        return contacts[asked]()

    return call


def track(contact: Contact) -> ca.SX:
    """Heading of the track on the ground."""
    return ca.atan2(contact.forward[1], contact.forward[0])


def used_friction(along: ca.SX, across: ca.SX, normal: ca.SX) -> ca.SX:
    """Force along the ground as a share of the normal force."""
    return length([along, across]) / (ca.fabs(normal) + 1e-12)
