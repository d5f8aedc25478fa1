"""Dry resistance of unilateral contacts to rolling and drilling: rows along which they take moments.

A moment is at most a lever arm times the normal force, against the angular velocity relative to what is touched:

- of a sphere to rolling, against the part ω_t in the tangent plane: two rows, the speeds at which it rolls along and across;
- of a wheel to rolling, about its axle a, against the rate σ at which the contact runs along the rim. With the normal n, the
  direction f of the track and the axle, ω = φ̇ n + θ̇ f + σ a (precession, lean, rolling); since n and f are normal to the
  direction across the track, l = n × f, σ = ω·l / a·l;
- to drilling, about the normal, against ω·n.

Rows are multiplied by a length, so that they are speeds, and multipliers forces.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import casadi as ca

from draisine.dynamics.contact.ground_contacts import WheelOnGround
from draisine.dynamics.contact.point_contacts import PointOnSurface
from draisine.dynamics.linear_algebra import dot
from draisine.errors import ModelError
from draisine.expr.expression import Call, Name
from draisine.model.contact.dry_friction import DryFriction
from draisine.model.contact_items import ContactResistance, PointContact, Wheel, resistances_of
from draisine.model.items import ResidualConstraint

CALLS = {"rolling": ("rolling_along", "rolling_across"), "drilling": ("drilling",)}  # measures of expressions
WAYS = ("along", "across")


@dataclass(frozen=True, eq=False)
class ResistanceOfContact:
    """One of the resistances of a contact: slip, and no gap of its own."""

    item: ContactResistance
    contact: WheelOnGround | PointOnSurface

    @property
    def name(self) -> str:
        return self.item.name

    @property
    def friction(self) -> DryFriction:
        return self.item.friction

    @property
    def gap(self) -> tuple[ca.SX]:
        return (ca.SX(1),)

    @cached_property
    def scale(self) -> ca.SX:
        return self.contact.measures.scope.value(self.item.scale)

    @cached_property
    def slip(self) -> tuple[ca.SX, ...]:
        """The speeds of its rows."""
        return tuple(self.scale * rate for rate in _rates(self.contact, self.item.kind))

    def residual_constraints(self) -> list[ResidualConstraint]:
        """No rolling, or drilling, in the directions in which the body can."""
        moves = self.contact.measures.scope.v
        every = zip(WAYS, CALLS[self.item.kind], self.slip, strict=False)
        rows = tuple(
            (f"{self.name}_{way}", self.item.scale * Call(call, (Name(self.item.of),)))
            for way, call, slip in every
            if ca.jacobian(slip, moves).nnz()
        )
        return [ResidualConstraint(f"{self.name}_rolling", rows, "velocity", "m/s")] if rows else []


def rate_of(contact: WheelOnGround | PointOnSurface, call: str) -> ca.SX:
    """An angular velocity by the name of its measure."""
    kind = next(kind for kind, calls in CALLS.items() if call in calls)
    return _rates(contact, kind)[CALLS[kind].index(call)]


def _rates(contact: WheelOnGround | PointOnSurface, kind: str) -> tuple[ca.SX, ...]:
    """Angular velocities against which the moments act."""
    if kind == "drilling":
        return (dot(contact.normal, contact.angular),)
    if isinstance(contact, WheelOnGround):
        return (dot(contact.left, contact.angular) / contact.tilt,)
    return dot(contact.left, contact.angular), -dot(contact.forward, contact.angular)


def contact_resistances(contacts: Sequence[WheelOnGround | PointOnSurface]) -> list[ResistanceOfContact]:
    """The resistances of unilateral contacts, as `System.unilateral` has them."""
    found = []
    for contact in contacts:
        item = contact.wheel if isinstance(contact, WheelOnGround) else contact.item
        own = [ResistanceOfContact(one, contact) for one in resistances_of(item)]
        if any(one.item.kind == "drilling" for one in own) and _turns_below(contact, item):
            raise ModelError(
                f"contact {item.name!r}: the velocity of the ground depends on the place, and its rotation is not known to the "
                "resistance to drilling; describe a turntable as a body, and give a frame of it with on="
            )
        found += own
    return found


def _turns_below(contact: WheelOnGround | PointOnSurface, item: Wheel | PointContact) -> bool:
    """Whether the ground below moves with a velocity that depends on the place."""
    if isinstance(item, PointContact) and not contact.on_ground:  # type: ignore[union-attr]
        return False
    x, y = ca.SX.sym("x"), ca.SX.sym("y")
    return any(ca.depends_on(c, ca.vertcat(x, y)) for c in map(ca.SX, contact.surface.velocity(x, y)))
