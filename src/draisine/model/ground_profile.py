"""A ground profile with edges: kerbs, steps and ramps, as planes between vertices (x, z) and edges along y.

A wheel or sphere that rolls over it touches a plane or an edge. Each is a contact of its own, which ends where the next begins:
on a plane where its lowest point reaches the edge, on an edge where the normal becomes that of the plane. In a corner that is
concave it touches both planes; there is no edge.

    >>> from draisine.expr.expression import Number
    >>> kerb = tuple((Number(x), Number(z)) for x, z in ((-1, 0), (0, 0), (0, -0.1), (1, -0.1)))
    >>> [feature.name for feature in features_of(kerb, {})]
    ['plane_1', 'edge_1', 'plane_2', 'plane_3']
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from draisine.errors import ModelError
from draisine.expr.expression import Expr, evaluate_number
from draisine.model.quantities import amount_in

Vertex = tuple[Expr, Expr]  # x and z


class GroundFeature(NamedTuple):
    """A plane through two vertices, or an edge at the middle one of three."""

    name: str
    vertices: tuple[Vertex, ...]
    begins: bool = True  # whether a plane begins at its first vertex …
    ends: bool = True  # … and ends at its second one, or goes on
    corners: tuple[bool, bool] = (False, False)  # whether it meets the next plane in a concave corner there

    @property
    def is_edge(self) -> bool:
        return len(self.vertices) == 3


def profile_of(given: Any) -> tuple[Vertex, ...]:
    """The vertices of a profile from the argument of a builder."""
    where = "profile of the ground"
    if isinstance(given, str | Mapping | set) or not hasattr(given, "__len__"):
        raise ModelError(f"{where}: give vertices (x, z) in the order of x, such as [(0, 0), (1, 0), (1, -0.1), (2, -0.1)]")
    found = []
    for vertex in given:
        if isinstance(vertex, str) or not hasattr(vertex, "__len__") or len(vertex) != 2:
            raise ModelError(f"{where}: a vertex has two coordinates, x and z, got {vertex!r}")
        x, z = (amount_in(part, "m", where) for part in vertex)
        found.append((x, z))
    if len(found) == 1:
        raise ModelError(f"{where}: it needs two vertices or more, got one")
    return tuple(found)


def features_of(profile: Sequence[Vertex], values: Mapping[str, float]) -> tuple[GroundFeature, ...]:
    """The planes of a profile, and the edges between them that stand out, with given values of parameters.

    The first and the last plane go on without end."""
    points = [(evaluate_number(x, values), evaluate_number(z, values)) for x, z in profile]
    count, found = len(points) - 1, []
    for k, ((x0, z0), (x1, z1)) in enumerate(pairwise(points)):
        if x1 < x0 or (x0, z0) == (x1, z1):
            raise ModelError(
                f"profile of the ground: vertex ({x1:g}, {z1:g}) follows ({x0:g}, {z0:g}); vertices are distinct, in order of x"
            )
        if x1 == x0 and k in (0, count - 1):
            raise ModelError("profile of the ground: its first and last plane go on without end and cannot be vertical")
    triples = zip(points, points[1:], points[2:], strict=False)
    turns = [(x1 - x0) * (z2 - z1) - (z1 - z0) * (x2 - x1) for (x0, z0), (x1, z1), (x2, z2) in triples]  # negative: stands out
    for (x1, z1), turn in zip(points[1:], turns, strict=False):
        if turn == 0.0:
            raise ModelError(f"profile of the ground: vertex ({x1:g}, {z1:g}) lies between its neighbors; leave it out")
    for k in range(count):
        corners = (k > 0 and turns[k - 1] > 0.0, k < count - 1 and turns[k] > 0.0)
        found.append(GroundFeature(f"plane_{k + 1}", (profile[k], profile[k + 1]), k > 0, k < count - 1, corners))
        if k < count - 1 and turns[k] < 0.0:
            found.append(GroundFeature(f"edge_{k + 1}", (profile[k], profile[k + 1], profile[k + 2])))
    return tuple(found)
