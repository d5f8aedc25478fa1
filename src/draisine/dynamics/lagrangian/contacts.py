"""Wheels, knife edges and points in contact for the derivation from energies: constraints from positions only, in Euler angles.

They share no code with the contact rows of the Newton–Euler derivation (`dynamics.contact`): normals come from tangents,
velocities from differentiating positions and rotations (the wheel constraint 0 = v_o + Ḃ c, eqs 2 and 27)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import casadi as ca

from draisine.expr.expression import evaluate_number
from draisine.model.contact_items import KnifeEdge, PointContact, Wheel

if TYPE_CHECKING:
    from draisine.dynamics.lagrangian.energies import Energies

Named = tuple[str, ca.SX]


def plane(e: Energies) -> tuple[ca.SX, ca.SX, ca.SX]:
    """Unit normal of a plane ground at rest, and two directions in it."""
    slope, bank = e.value(e.system.ground.slope), e.value(e.system.ground.bank)
    along = ca.vertcat(1, 0, ca.tan(slope))
    across = ca.vertcat(0, 1, ca.tan(bank))
    normal = ca.cross(along, across)
    normal, along = normal / ca.norm_2(normal), along / ca.norm_2(along)
    return normal, along, ca.cross(normal, along)


def terrain(e: Energies, x: ca.SX, y: ca.SX) -> tuple[ca.SX, ca.SX, ca.SX]:
    """The ground at (x, y): its point, its unit normal from two tangents, and the velocity of its material point."""
    ground, at = e.system.ground, {name: ca.SX.sym(name) for name in "xy"}
    point_on_ground = ca.vertcat(*at.values())
    jacobian = ca.vertcat(ca.tan(e.value(ground.slope)), ca.tan(e.value(ground.bank)))
    height = e.value(ground.height, at) + ca.dot(jacobian, point_on_ground)
    along = ca.vertcat(1, 0, ca.jacobian(height, point_on_ground[0]))
    across = ca.vertcat(0, 1, ca.jacobian(height, point_on_ground[1]))
    normal = ca.cross(along, across)
    first, second = (e.value(v, at) for v in ground.velocity)
    matter = first * along + second * across + ca.vertcat(0, 0, ca.jacobian(height, e.t))
    reported = ca.vertcat(point_on_ground, height, normal / ca.norm_2(normal), matter)
    reported = ca.substitute(reported, point_on_ground, ca.vertcat(x, y))
    return reported[:3], reported[3:6], reported[6:]


def contact_constraints(e: Energies, contact: Wheel | KnifeEdge | PointContact) -> tuple[list[Named], list[Named]]:
    """Holonomic constraints of a wheel, knife edge or point (contact), and velocity constraints (rolling, no lateral slip)."""
    if isinstance(contact, KnifeEdge):
        return _blade(e, contact)
    if isinstance(contact, PointContact):
        return _point(e, contact)
    return _on_plane(e, contact) if e.system.ground.still else _on_ground(e, contact)


def _blade(e: Energies, edge: KnifeEdge) -> tuple[list[Named], list[Named]]:
    node = e.nodes[edge.body]
    point = node.position + node.rotation @ ca.vertcat(*[e.value(c) for c in edge.at])
    ground, normal, matter = terrain(e, point[0], point[1])
    sideways = ca.cross(normal, node.rotation[:, "xyz".index(edge.along)])
    slips = [(f"{edge.name}_across", ca.dot(sideways / ca.norm_2(sideways), e.rate(point) - matter))]
    return [(f"{edge.name}_normal", ca.dot(normal, point - ground))] if edge.on_ground else [], slips


def _point(e: Energies, contact: PointContact) -> tuple[list[Named], list[Named]]:
    """A point or sphere that stays on the ground, on a plane of a frame, or on another sphere, without slip."""
    (body, center), (other, origin) = e.point(contact.point), e.point(contact.on)
    radius, on_ground, placed = e.value(contact.radius), contact.on_ground, contact in e.system.placed
    holonomic = list[Named]()
    if contact.on_radius is not None:
        other_radius, apart = e.value(contact.on_radius), center - origin
        side = 1 if evaluate_number(contact.on_radius, e.system.parameter_values()) > 0 else -1
        normal = side * apart / ca.norm_2(apart)
        gap = side * ca.norm_2(apart) - other_radius - radius
    elif on_ground:
        x, y = (e.look_up(c.name) for c in contact.place) if placed else (center[0], center[1])
        ground, normal, _ = terrain(e, x, y)
        gap = ca.dot(normal, center - ground) - radius
        beside = center - radius * normal - ground
        holonomic = [(f"{contact.name}_touch_{axis}", beside[i]) for i, axis in enumerate("xy") if placed]
    else:
        normal = e.axes(contact.on)[:, 2]
        gap = ca.dot(normal, center - origin) - radius
    touched = center - radius * normal
    against = _matter(e, body, touched) - (terrain(e, touched[0], touched[1])[2] if on_ground else _matter(e, other, touched))
    flat = contact.on_radius is None and not on_ground
    forward = e.axes(contact.on)[:, 0] if flat else ca.cross(ca.vertcat(0, 1, 0), normal)
    forward = forward / ca.norm_2(forward)
    slips = [("along", forward), ("across", ca.cross(normal, forward))]
    return [(f"{contact.name}_normal", gap), *holonomic], [(f"{contact.name}_{way}", ca.dot(d, against)) for way, d in slips]


def _matter(e: Energies, body: str, at: ca.SX) -> ca.SX:
    """Velocity of the material point of a body that is now at a point."""
    node = e.nodes[body]
    return e.rate(node.position) + e.rate(node.rotation) @ (node.rotation.T @ (at - node.position))


def _rim(e: Energies, wheel: Wheel, normal: ca.SX) -> tuple[ca.SX, ca.SX, ca.SX]:
    """The wheel's lowest point above a plane with this normal, the velocity of its material point there, and its axle."""
    node = e.nodes[wheel.body]
    axle = ca.SX.eye(3)["xyz".index(wheel.axis), :].T
    up = node.rotation.T @ normal
    sideways = ca.cross(axle, up)
    arm = e.value(wheel.radius) * ca.cross(axle, sideways / ca.norm_2(sideways)) - e.value(wheel.tube) * up
    local = ca.vertcat(*[e.value(c) for c in wheel.center]) + arm
    velocity = e.rate(node.position) + e.rate(node.rotation) @ local
    return node.position + node.rotation @ local, velocity, node.rotation @ axle


def _on_plane(e: Energies, wheel: Wheel) -> tuple[list[Named], list[Named]]:
    """Height and rolling on a plane at rest, along directions of the plane."""
    normal, along, across = plane(e)
    point, velocity, _ = _rim(e, wheel, normal)
    rolling = [(f"{wheel.name}_along", ca.dot(along, velocity)), (f"{wheel.name}_across", ca.dot(across, velocity))]
    return [(f"{wheel.name}_height", ca.dot(normal, point))], rolling


def _on_ground(e: Energies, wheel: Wheel) -> tuple[list[Named], list[Named]]:
    """The same on any ground, along the wheel's track; on curved ground its lowest point lies where the normal is evaluated."""
    curved = e.system.ground.curved
    x, y = (e.look_up(c.name) for c in wheel.place) if curved else (ca.SX(0), ca.SX(0))
    ground, normal, matter = terrain(e, x, y)
    point, velocity, axle = _rim(e, wheel, normal)
    if not curved:
        matter = terrain(e, point[0], point[1])[2]
    forward = ca.cross(axle, normal)
    forward = forward / ca.norm_2(forward)
    left, apart, against = ca.cross(normal, forward), point - ground, velocity - matter
    holonomic = [(f"{wheel.name}_normal", ca.dot(normal, apart))]
    if curved:
        holonomic += [(f"{wheel.name}_touch_x", ca.dot(forward, apart)), (f"{wheel.name}_touch_y", ca.dot(left, apart))]
    return holonomic, [(f"{wheel.name}_along", ca.dot(forward, against)), (f"{wheel.name}_across", ca.dot(left, against))]
