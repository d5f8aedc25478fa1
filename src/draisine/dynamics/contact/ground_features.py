"""Wheels and spheres on a ground profile: on a plane between two vertices, or on the edge between two planes.

The contact with a plane of normal n is that of other ground. On an edge through V along y the normal is unknown: of all normals
in the x–z plane it is that of the largest distance,

    gap = max over n of  n·(C − V) − R √(1 − (n·a)²) − r,

with the wheel's center C, axle a, radius R and tube r: the distance of a convex body from a line. For an upright wheel n is the
direction from the edge to the center. Newton's method converges from there; its steps are part of the equations.

A contact ends where the next one begins: on a plane where its contact point passes a vertex, on an edge where its normal becomes
that of a plane. Both conditions are the same there, t·(P − V) = 0.
"""

from __future__ import annotations

import casadi as ca

from draisine.dynamics.linear_algebra import NULL, ZERO, Vec, dot, is_zero, sub
from draisine.dynamics.lowering import Scope
from draisine.model.ground_profile import GroundFeature, Vertex

NEWTON_STEPS = 5  # from the direction of the center; with a lean of 45° the error is then rounding error


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

    def region(self, contact_point: Vec, normal: Vec, size: ca.SX) -> ca.SX:
        """Positive where the contact is with this plane or edge; `size` is that of the body."""
        if self.feature.is_edge:
            return size * ca.fmin(dot(self.tangent(0), normal), -dot(self.tangent(1), normal))
        along = self.tangent(0)
        ends = [dot(along, sub(contact_point, self.vertices[0]))] if self.feature.begins else []
        ends += [dot(along, sub(self.vertices[1], contact_point))] if self.feature.ends else []
        found = ends[0] if ends else ca.SX(1)
        return ca.fmin(*ends) if len(ends) == 2 else found


def edge_normal(away: Vec, axle: Vec, radius: ca.SX) -> Vec:
    """The normal at an edge along y of a wheel whose center is `away` from it."""
    size = ca.sqrt(away[0] ** 2 + away[2] ** 2)
    x, z = away[0] / size, away[2] / size
    if is_zero(axle[0]) and is_zero(axle[2]):
        return x, ZERO, z
    for _ in range(NEWTON_STEPS):
        # f′ and f″ of f = n·(C − V) − R √(1 − (n·a)²) as n turns, n′ = (z, 0, −x)
        lean, turned = axle[0] * x + axle[2] * z, axle[0] * z - axle[2] * x
        tilt = ca.sqrt(1 - lean * lean)
        first = away[0] * z - away[2] * x + radius * lean * turned / tilt
        second = -(away[0] * x + away[2] * z) + radius * ((turned**2 - lean**2) / tilt + (lean * turned) ** 2 / tilt**3)
        angle = -first / second
        x, z = x * ca.cos(angle) + z * ca.sin(angle), z * ca.cos(angle) - x * ca.sin(angle)
    return x, ZERO, z
