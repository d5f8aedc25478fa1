"""All contacts of a mechanism that are residual constraints or forces, and their measures for expressions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import casadi as ca

from draisine.dynamics.contact.ground_contacts import KnifeEdgeOnGround, WheelOnFeature, WheelOnGround
from draisine.dynamics.contact.ground_features import FeatureSurface
from draisine.dynamics.contact.point_contacts import PointOnFeature, PointOnSurface, SphereOnCurvedGround
from draisine.dynamics.contact.resistances import CALLS, rate_of
from draisine.dynamics.contact.second_contact import clearance, followed
from draisine.dynamics.contact.surface import GroundSurface
from draisine.dynamics.contact.surface_pair import ROWS, SurfacePair
from draisine.dynamics.contact.tire_contact import TireOnGround
from draisine.dynamics.kinematics.measures import Measures
from draisine.errors import ModelError
from draisine.expr.expression import Expr, Name
from draisine.expr.safe_functions import length
from draisine.model.contact.laws import Rolling
from draisine.model.contact.tires import Tire
from draisine.model.contact_items import PointContact, Wheel

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
    placed = {n: c for n, c in points.items() if isinstance(c, SphereOnCurvedGround)}
    special = measures.scope.special
    for k, name in enumerate(("gap", "gap_along", "gap_across")):
        asked: dict[str, WheelOnGround | KnifeEdgeOnGround | PointOnSurface | SurfacePair] = {
            **found,
            **({**blades, **points, **pairs} if k == 0 else placed),
        }
        special[name] = _measure(name, {n: partial(_entry, c, "gap", k) for n, c in asked.items()})
    on_curves: dict[str, WheelOnGround | SphereOnCurvedGround] = {**found, **placed}
    special["clearance"] = _measure("clearance", {n: partial(clearance, c) for n, c in on_curves.items() if followed(c)})
    for k, row in enumerate(ROWS):
        special[f"contact_{row}"] = _measure(f"contact_{row}", {n: partial(_entry, c, "residuals", k) for n, c in pairs.items()})
    every: dict[str, ResidualContact] = {**found, **points, **pairs}
    for k, name in enumerate(("slip_along", "slip_across")):
        special[name] = _measure(name, {n: partial(_entry, c, "slip", k) for n, c in {**every, **blades}.items()})
    resisting: dict[str, WheelOnGround | PointOnSurface] = {**found, **points}
    for name in (call for calls in CALLS.values() for call in calls):
        special[name] = _measure(name, {n: partial(rate_of, c, name) for n, c in resisting.items()})
    return list(every.values()), list(blades.values())


def _wheel(wheel: Wheel, measures: Measures, ground: GroundSurface) -> WheelOnGround:
    if wheel.feature is not None:
        return WheelOnFeature(wheel, measures, FeatureSurface(measures.scope, wheel.feature), False)
    kind = TireOnGround if isinstance(wheel.contact, Tire) else WheelOnGround
    return kind(wheel, measures, ground, measures.scope.system.ground.curved)


def _point(contact: PointContact, measures: Measures, ground: GroundSurface) -> PointOnSurface:
    if contact.feature is not None:
        return PointOnFeature(contact, measures, FeatureSurface(measures.scope, contact.feature))
    return (SphereOnCurvedGround if contact in measures.scope.system.placed else PointOnSurface)(contact, measures, ground)


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
