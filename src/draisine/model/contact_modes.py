"""A description whose contacts keep given modes: permanent ones that stick, or none where they are open.

Analyses of one set of equations, such as a linear model or an exported program, take such a description.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TypeVar

from draisine.errors import ArgumentError
from draisine.expr.expression import Number, did_you_mean
from draisine.model.contact.laws import ROLLING
from draisine.model.contact_items import (
    ContactResistance,
    JointFriction,
    PointContact,
    Stop,
    SurfaceContact,
    Wheel,
    resistances_of,
)
from draisine.model.system import System

MODES = ("stick", "open")
Contact = TypeVar("Contact", Wheel, PointContact, SurfaceContact)


def in_modes(system: System, modes: Mapping[str, str]) -> System:
    """The system with permanent contacts in place of those that stick, and without those that are open.

    >>> from draisine.model.model import Model
    >>> m = Model("ball")
    >>> body = m.body("ball", mass=1.0, inertia=(1, 1, 1))
    >>> _, _ = m.free(body), m.contact("floor", body, radius=1.0, friction=0.4)
    >>> [len(in_modes(m.freeze(), {"floor": mode}).point_contacts) for mode in ("stick", "open")]
    [1, 0]
    """
    where = f"modes of model {system.name!r}"
    if not isinstance(modes, Mapping):
        raise ArgumentError(f"{where}: give modes by contact, such as {{'front': 'stick'}}, got {modes!r}")
    known = {contact.name: contact for contact in system.unilateral}
    for name, mode in modes.items():
        if name not in known:
            listed = ", ".join(known) or "none"
            raise ArgumentError(f"{where}: no contact {name!r} opens and slips (there are {listed}){did_you_mean(name, known)}")
        if mode == "slip":
            raise ArgumentError(
                f"{where}: contact {name!r} cannot be fixed while it slips, since its force depends on the direction of the "
                "slip; give a contact law in place of friction, m.wheel(…, contact=Coulomb(…)), or simulate"
            )
        if getattr(known[name], "feature", None) is not None:
            raise ArgumentError(
                f"{where}: contact {name!r} is one with a part of a ground profile; describe plane ground instead"
            )
        if mode not in MODES:
            raise ArgumentError(f"{where}: the mode of contact {name!r} is 'stick' or 'open', got {mode!r}")
        if mode == "stick" and isinstance(known[name], ContactResistance):
            raise ArgumentError(f"{where}: {name!r} is 'open', which leaves it out, and stays as it is otherwise; got {mode!r}")
        if mode == "open" and isinstance(known[name], SurfaceContact):
            raise ArgumentError(
                f"{where}: contact {name!r} of surfaces determines their parameters, and cannot be left out; it is 'stick', or "
                "describe the mechanism without it"
            )
        if mode == "open" and isinstance(known[name], JointFriction):
            raise ArgumentError(f"{where}: dry friction {name!r} does not open; it is 'stick', or leave it out of the model")
        if mode == "stick" and _frictionless(known[name]):
            raise ArgumentError(
                f"{where}: contact {name!r} has no friction and cannot stick; give it friction, or describe a permanent contact "
                f"without friction by a constraint, m.constrain(…)"
            )
    for one in system.unilateral:
        if isinstance(one, ContactResistance) and modes.get(one.of) == "stick" and modes.get(one.name) != "open":
            raise ArgumentError(
                f"{where}: contact {one.of!r}, which is to stick, has {one.kind} resistance, whose moment depends on the "
                f"direction of the motion; leave it out of the equations by {{{one.of!r}: 'stick', {one.name!r}: 'open'}}"
            )
    joints: tuple[Stop | JointFriction, ...] = (*system.stops, *system.joint_frictions)
    stuck = [c for c in joints if modes.get(c.name) == "stick"]
    return replace(
        system,
        stops=tuple(stop for stop in system.stops if stop.name not in modes),
        joint_frictions=tuple(friction for friction in system.joint_frictions if friction.name not in modes),
        constraints=(*system.constraints, *(c.residual() for c in stuck)),
        wheels=tuple(_permanent(wheel, modes) for wheel in system.wheels if modes.get(wheel.name) != "open"),
        point_contacts=tuple(_permanent(point, modes) for point in system.point_contacts if modes.get(point.name) != "open"),
        surface_contacts=tuple(_permanent(pair, modes) for pair in system.surface_contacts),
    )


def _frictionless(contact: Wheel | PointContact | SurfaceContact | Stop | JointFriction | ContactResistance) -> bool:
    if isinstance(contact, Stop | JointFriction | ContactResistance):
        return False
    law = contact.friction
    return law is not None and law.static == Number(0.0) and not (isinstance(contact, Wheel) and contact.contact != ROLLING)


def _permanent(contact: Contact, modes: Mapping[str, str]) -> Contact:
    law = contact.friction
    resistances: tuple[ContactResistance, ...] = () if isinstance(contact, SurfaceContact) else resistances_of(contact)
    for one in resistances:
        if modes.get(one.name) == "open" and law is not None:
            rolling = one.kind == "rolling"
            law = law._replace(rolling_resistance=None) if rolling else law._replace(drilling_resistance=None)
    contact = contact if law == contact.friction else contact._replace(friction=law)
    return contact._replace(friction=None) if modes.get(contact.name) == "stick" else contact
