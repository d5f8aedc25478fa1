"""Whether one contact point can follow curved ground, or a wheel or a sphere would touch it at a second place, too.

Where a hollow is curved more sharply than the wheel, the wheel bridges it. Before its contact point comes to such a place,
another part of the rim touches the ground; if all hollows are wider than the wheel, none does. (In the plane: if the curvature
of the ground is below 1/R, all parallel curves at distances d ≤ R are graphs that do not intersect, so the point at distance R
is on none with d < R.) The clearance is therefore taken at points of the wheel's surface on both sides of the contact, on
curves along and, for a tube, across and oblique to the track:

    c_k = height of point k above the ground / its height above the tangent plane at the contact,

1 on a plane, and near the contact 1 − R κ with the ground's normal curvature κ. Where a tire is pressed into the ground, or a
wheel flies, the wheel is shifted along the normal until it touches; there a second place counts if the ground rises towards
the wheel again, and the wheel as it is has reached it. The least value is joined by det(1 − W⁻¹ K) at the contact itself, with
the curvatures W of the wheel and K of the ground, which vanishes where the contact point stops to be the lowest one nearby.
For a wheel that flies, W is that of the parallel surface through the ground: the place below it is unique while it is not
farther from the ground than a center of curvature of this. The place of a sphere does not depend on its height: it is lowered
along the vertical, without such a limit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import casadi as ca
import numpy as np

from draisine.dynamics.contact.ground_contacts import WheelOnGround
from draisine.dynamics.contact.point_contacts import SphereOnCurvedGround
from draisine.dynamics.contact.surface import GroundSurface
from draisine.dynamics.linear_algebra import NULL, ZERO, Vec, add, dot, is_zero, scale, sub

ALONG, AROUND = 16, 6  # points on each side near the contact, on the curve along the track and on the others
NEAR = 85.0  # degrees, the angle of the last of them
CLOSER = 1.5  # points are closer near the contact: angles grow by this power
BEHIND = (97.0, 109.0, 121.0, 133.0, 145.0, 157.0, 169.0)  # on steep ground the second place may be on the other side
BETWEEN = 33  # points between two contacts at which reports look for the sharpest place
BESIDE = 1e-5  # distance of the curvatures beside the contact, relative to the wheel's radius
ROUNDING = 1e-9  # heights relative to the wheel's size, which keep the quotient 1 where both are zero

DETAILS = ("x", "y", "second_x", "second_y", "radius", "curvature", "gap")  # of `second_contact`


Placed = WheelOnGround | SphereOnCurvedGround


class RimPoint(NamedTuple):
    """A point of the surface of a wheel or a sphere, shifted to touch the ground at the contact."""

    point: Vec
    clearance: ca.SX  # relative to that above the tangent plane, from the neighbor nearer to the contact on


def followed(contact: Placed) -> bool:
    """Whether the ground is curved where it touches, so that a second contact is possible."""
    placed = isinstance(contact, SphereOnCurvedGround) or contact.curved
    return placed and isinstance(contact.surface, GroundSurface) and contact.surface.bent


def clearance(contact: Placed) -> ca.SX:
    """1 on a plane, 0 where a second point touches the ground, or where the contact point stops to be the lowest."""
    found = ca.SX(1)
    for part in (*_local(contact), *(rim.clearance for rim in _rim(contact))):
        found = ca.fmin(found, part)
    return found


def second_contact(contact: Placed) -> ca.SX:
    """`DETAILS` for reports: the contact, the place of least clearance, the radius of its surface along the track, the largest
    curvature of the ground between both places, and the distance from the ground."""
    surface, least, place = contact.surface, ca.SX(np.inf), contact.contact_point
    assert isinstance(surface, GroundSurface)
    for rim in _rim(contact):
        closer = rim.clearance < least
        least = ca.fmin(least, rim.clearance)
        place = tuple(ca.if_else(closer, new, old) for new, old in zip(rim.point, place, strict=True))  # type: ignore[assignment]
    away = sub(place, contact.contact_point)
    way = add(away, scale(ca.SX(ROUNDING), contact.forward))  # where both places are one, along the track
    curvature = ca.SX(-np.inf)
    for part in np.linspace(0.0, 1.0, BETWEEN):
        x, y, _ = add(contact.contact_point, scale(ca.SX(part), away))
        curvature = ca.fmax(curvature, surface.normal_curvature(x, y, way))
    return ca.vertcat(*contact.contact_point[:2], *place[:2], _radii(contact)[0], curvature, contact.gap[0])


def _radii(contact: Placed) -> tuple[ca.SX, ca.SX]:
    """Radii of curvature of its surface at the contact, along the track and across it."""
    if isinstance(contact, SphereOnCurvedGround):
        return contact.radius, contact.radius
    scope = contact.measures.scope
    radius, tube = scope.value(contact.wheel.radius), scope.value(contact.wheel.tube)
    return radius / contact.tilt + tube, tube


def _may_leave(contact: Placed) -> bool:
    """Whether it may leave the ground, or be pressed into it."""
    return contact.friction is not None or (contact.law is not None and contact.law.compliant)


def _local(contact: Placed) -> Iterator[ca.SX]:
    """det(1 − W⁻¹ K) at the contact and close to it on all sides: the curvature may jump there, and a contact that comes to a
    sharper hollow does not get beyond its beginning."""
    surface, (x, y) = contact.surface, contact.surface_parameters
    assert isinstance(surface, GroundSurface)
    along, across = _radii(contact)
    sides = [contact.forward] if is_zero(across) else [contact.forward, contact.left]
    if isinstance(contact, WheelOnGround) and _may_leave(contact):
        above = ca.fmax(contact.gap[0], 0)
        along, across = along + above, across + above
    track, left = contact.forward, contact.left
    for shift in (NULL, *(scale(sign * BESIDE * along, way) for way in sides for sign in (ca.SX(-1), ca.SX(1)))):
        place = x + shift[0], y + shift[1]
        found = 1 - along * surface.curvature(*place, track, track)
        if not is_zero(across):
            mixed = surface.curvature(*place, track, left)
            found = found * (1 - across * surface.curvature(*place, left, left)) - along * across * mixed * mixed
        yield found


def _rim(contact: Placed) -> Iterator[RimPoint]:
    """Points on curves of its surface through the contact, on both sides."""
    pressed = _may_leave(contact)
    across_too = not is_zero(_radii(contact)[1])
    ways = [(1, 0, ALONG), *([(0, 1, AROUND), (1, 1, AROUND), (1, -1, AROUND)] if across_too else [])]
    for along, across, count in ways:
        behind = BEHIND if isinstance(contact, SphereOnCurvedGround) or not across else ()
        angles = np.radians([*(NEAR * (k / count) ** CLOSER for k in range(1, count + 1)), *behind]).tolist()
        for side in (-1, 1):
            yield from _curve(contact, side * along, side * across, angles, pressed)


def _curve(contact: Placed, along: int, across: int, angles: Sequence[float], pressed: bool) -> Iterator[RimPoint]:
    """Points from the contact to one side."""
    surface, size = contact.surface, ROUNDING * _size(contact)
    depth = -contact.gap[0]  # of the lowest point below the ground
    lift = _lift(contact)
    lowest = add(contact.point, lift)
    highest, before = ZERO, ZERO
    for angle in angles:
        point = add(_surface_point(contact, angle * along, angle * across), lift)
        # heights along the vertical; above the tangent plane they are n·Δ / n_z
        over_plane = dot(contact.normal, sub(point, lowest)) / contact.normal[2]
        over = point[2] - surface.point(point[0], point[1])[2]
        if pressed:
            rising = (over - highest + size) / (over_plane - before + size)
            free = over - depth / contact.normal[2]  # of the wheel as it is
            yield RimPoint(point, ca.fmax(rising, (free + size) / (over_plane + size)))
            highest, before = ca.fmax(highest, over), over_plane
        else:
            yield RimPoint(point, (over + size) / (over_plane + size))


def _size(contact: Placed) -> ca.SX:
    if isinstance(contact, SphereOnCurvedGround):
        return contact.radius
    scope = contact.measures.scope
    return scope.value(contact.wheel.radius) + scope.value(contact.wheel.tube)


def _lift(contact: Placed) -> Vec:
    """The shift after which it touches: along the normal, or, of a sphere, along the vertical."""
    if isinstance(contact, SphereOnCurvedGround):
        return ZERO, ZERO, contact.contact_point[2] - contact.point[2]
    return scale(-contact.gap[0], contact.normal)


def _surface_point(contact: Placed, along: float, across: float) -> Vec:
    """The point of the torus at two angles from the contact point: about the axle, and in the section of the tube. The point of a
    sphere is at the larger one, in the direction of both."""
    if isinstance(contact, SphereOnCurvedGround):
        size, angle = np.hypot(along, across), max(abs(along), abs(across))
        aside = add(scale(ca.SX(along / size), contact.forward), scale(ca.SX(across / size), contact.left))
        outwards = sub(scale(ca.SX(np.sin(angle)), aside), scale(ca.SX(np.cos(angle)), contact.normal))
        return add(contact.center, scale(contact.radius, outwards))
    scope, normal, axle = contact.measures.scope, contact.normal, contact.axle
    radius, tube = scope.value(contact.wheel.radius), scope.value(contact.wheel.tube)
    upwards = scale(1 / contact.tilt, sub(normal, scale(dot(normal, axle), axle)))  # in the wheel's plane
    outwards = add(scale(ca.SX(-np.cos(across)), normal), scale(ca.SX(np.sin(across)), contact.left))
    reach = tube * dot(outwards, upwards) - radius
    turned = sub(scale(ca.SX(np.cos(along)), upwards), scale(ca.SX(np.sin(along)), contact.forward))
    return add(add(contact.center, scale(reach, turned)), scale(tube * dot(outwards, axle), axle))
