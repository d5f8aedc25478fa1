"""Wheels and spheres on a ground profile: on a plane between two vertices, or on the edge between two planes.

The contact with a plane of normal n is that of other ground. On an edge through V along y the normal is unknown: of all normals
in the x–z plane it is that of the largest distance,

    gap = max over n of  n·(C − V) − R √(1 − (n·a)²) − r,

with the wheel's center C, axle a, radius R and tube r: the distance of a convex body from a line. For an upright wheel n is the
direction from the edge to the center. Otherwise it follows from the distance of a point from an ellipse, by steps of Newton's
method that are part of the equations.

A contact ends where the next one begins: on a plane where its contact point passes a vertex, on an edge where its normal becomes
that of a plane. Both conditions are the same there, t·(P − V) = 0. In a concave corner none ends: a point rests on both planes,
and each goes on a little below the other.
"""

from __future__ import annotations

import casadi as ca

from draisine.dynamics.linear_algebra import NULL, ZERO, Vec, add, dot, is_zero, scale, sub
from draisine.dynamics.lowering import Scope
from draisine.model.ground_profile import GroundFeature, Vertex

NEWTON_STEPS = 8  # 5 for rounding errors in the gap, the others for its derivatives
EDGE_ON = 1e-9  # share of the radius to which a wheel is wide, seen along its plane
ASIDE = 1e-15  # share of the radius by which a center in the plane of symmetry is beside it: of two normals inside, one is taken
NO_LEAN = 1e-12
CORNER = 1e-6  # share of its length by which a plane goes on below the next one in a concave corner
DEEP = 1e-6  # depth of a center below a plane, relative to its length, that is no rounding error


class FeatureSurface:
    """A plane of a profile, or its edge, with what says where a contact with it ends."""

    def __init__(self, scope: Scope, feature: GroundFeature) -> None:
        self.feature = feature
        self._scope = scope
        self.vertices = [self._at(vertex) for vertex in feature.vertices]
        self.origin = self.vertices[1 if feature.is_edge else 0]

    def _at(self, vertex: Vertex) -> Vec:
        x, z = vertex
        return self._scope.value(x), ZERO, self._scope.value(z)

    def tangent(self, k: int) -> Vec:
        """The unit vector from a vertex to the next one."""
        x, _, z = sub(self.vertices[k + 1], self.vertices[k])
        size = ca.sqrt(x * x + z * z)
        return x / size, ZERO, z / size

    def point(self, x: ca.SX, y: ca.SX) -> Vec:
        return self.origin

    def normal(self, x: ca.SX, y: ca.SX) -> Vec:
        """The normal of a plane."""
        along = self.tangent(0)
        return -along[2], ZERO, along[0]

    def velocity(self, x: ca.SX, y: ca.SX) -> Vec:
        return NULL

    def friction(self, x: ca.SX, y: ca.SX) -> ca.SX:
        return ca.SX(1)

    def region(self, contact_point: Vec, center: Vec, normal: Vec, size: ca.SX) -> ca.SX:
        """Positive where the contact is with this plane or edge; `size` is that of the body.

        Where the lowest point is below a plane, it counts where the line to it from the center passes the plane: a body beside an
        end of the plane may be below its continuation. A center below a plane is inside the ground if it is between its ends in
        x. So a negative gap where this is positive is always a penetration."""
        if self.feature.is_edge:
            return size * ca.fmin(dot(self.tangent(0), normal), -dot(self.tangent(1), normal))
        (x0, _, z0), (x1, _, z1) = self.vertices
        length = ca.sqrt((x1 - x0) ** 2 + (z1 - z0) ** 2)
        above, lowest = (dot(self.normal(ZERO, ZERO), sub(one, self.vertices[0])) for one in (center, contact_point))
        height = ca.fmax(above, 0)
        share = ca.if_else(lowest < 0, height / (height - lowest), 1)
        beyond = self._along(add(center, scale(share, sub(contact_point, center))), length)
        return ca.if_else(above < -DEEP * length, self._between(center[0] - x0, x1 - center[0]), beyond)

    def _along(self, point: Vec, length: ca.SX) -> ca.SX:
        along = self.tangent(0)
        below = [CORNER * length if corner else ca.SX(0) for corner in self.feature.corners]
        after, before = dot(along, sub(point, self.vertices[0])), dot(along, sub(self.vertices[1], point))
        return self._between(after + below[0], before + below[1])

    def _between(self, after: ca.SX, before: ca.SX) -> ca.SX:
        """Positive between both ends of a plane, if it has them."""
        ends = [after] if self.feature.begins else []
        ends += [before] if self.feature.ends else []
        found = ends[0] if ends else ca.SX(1)
        return ca.fmin(*ends) if len(ends) == 2 else found


def edge_normal(away: Vec, axle: Vec, radius: ca.SX) -> Vec:
    """The normal at an edge along y of a wheel whose center is `away` from it.

    Seen along y the wheel is an ellipse of semi-axes R |a_y|, along a′ = (a_x, a_z), and R. With p the vector `away` in the x–z
    plane, the normal from p to the ellipse is q = τ p + R² (p·a′) a′, where R √(a_y² q² + (q × a′)²) = τ (τ + R² a′²). The
    largest τ is that of the largest distance. Both sides divided are a concave, increasing function of τ, nearly linear (Moré and
    Sorensen 1983): Newton's method from below converges in a few steps, from any pose."""
    if is_zero(axle[0]) and is_zero(axle[2]):
        size = ca.sqrt(away[0] ** 2 + away[2] ** 2)
        return away[0] / size, ZERO, away[2] / size
    (x, _, z), (ax, ay, az) = away, axle
    thin = ay * ay + EDGE_ON * EDGE_ON
    inside = radius**2 * (x * ax + z * az + ASIDE * radius)
    across, flat = x * az - z * ax, ax * ax + az * az
    rise = radius**2 * flat
    lower = radius * ca.sqrt(thin * (x * x + z * z) + across * across) - rise
    other = ca.sqrt(thin * (inside**2 + (ASIDE * radius**3) ** 2) / (flat + NO_LEAN * NO_LEAN)) / radius
    root = (lower + other + ca.sqrt((lower - other) ** 2 + (NO_LEAN * radius**2) ** 2)) / 2  # the larger one, without a branch
    for _ in range(NEWTON_STEPS):
        qx, qz = root * x + inside * ax, root * z + inside * az
        squared = thin * (qx * qx + qz * qz) + (root * across) ** 2
        size = ca.sqrt(squared)
        product = root * (root + rise)
        slope = (2 * root + rise) * squared - product * (thin * (qx * x + qz * z) + root * across * across)
        root = root + (radius * size - product) * squared / slope
    qx, qz = root * x + inside * ax, root * z + inside * az
    size = ca.sqrt(qx * qx + qz * qz)
    return qx / size, ZERO, qz / size
