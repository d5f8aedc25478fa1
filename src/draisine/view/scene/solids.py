"""Solid shapes fixed in bodies, their triangles, and the outlines of these.

A film, a picture and a web page draw the same triangles: `mesh()` of each solid. Coordinates are in the axes of `body`, in
meters; `color` is a web color, #rrggbb.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from draisine.view.scene.scene import Array, cross, orthonormal_pair

Indices = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Mesh:
    """Triangles: rows of `triangles` are three rows of `vertices`, counter-clockwise when seen from outside."""

    body: str
    vertices: Array  # (n, 3)
    triangles: Indices  # (m, 3)
    color: str

    def mesh(self) -> Mesh:
        return self


@dataclass(frozen=True, eq=False)
class Tube:
    """A round tube along a line of points."""

    body: str
    path: Array  # (n, 3)
    radius: float
    color: str
    sides: int = 12

    def mesh(self) -> Mesh:
        path = np.asarray(self.path, dtype=float)
        ways = np.diff(path, axis=0)
        ways /= np.linalg.norm(ways, axis=1)[:, None]
        # at a bend the ring lies in the bisecting plane, without twist, and is stretched across the corner (a miter)
        tangents = np.vstack([ways[:1], ways[:-1] + ways[1:], ways[-1:]])
        tangents /= np.linalg.norm(tangents, axis=1)[:, None]
        corners = np.vstack([0 * ways[:1], ways[1:] - ways[:-1], 0 * ways[:1]])
        longer = np.minimum(1 / np.maximum(np.abs(np.sum(tangents[:-1] * ways, axis=1)), 0.3), 3.0) - 1
        first = orthonormal_pair(tangents[0])[0]
        angles = 2 * np.pi * np.arange(self.sides) / self.sides
        rings = []
        for point, tangent, corner, more in zip(path, tangents, corners, [*longer, 0.0], strict=True):
            first = first - (first @ tangent) * tangent
            first /= np.linalg.norm(first)
            second = cross(tangent, first)
            out = self.radius * (np.outer(np.cos(angles), first) + np.outer(np.sin(angles), second))
            size = float(np.linalg.norm(corner))
            rings.append(point + out + (more * np.outer(out @ corner, corner) / size**2 if size > 1e-9 else 0.0))
        wall = _walls(len(path), self.sides, closed=False)
        return Mesh(self.body, *_with_caps(np.array(rings), wall), self.color)


@dataclass(frozen=True, eq=False)
class Ring:
    """A torus: `radius` is that of the circle of tube centers."""

    body: str
    center: Array
    axis: Array
    radius: float
    tube: float
    color: str
    count: int = 64
    sides: int = 10

    def mesh(self) -> Mesh:
        first, second = orthonormal_pair(self.axis)
        around = 2 * np.pi * np.arange(self.count) / self.count
        out = np.outer(np.cos(around), first) + np.outer(np.sin(around), second)
        inside = 2 * np.pi * np.arange(self.sides) / self.sides
        rings = (
            self.center
            + (self.radius + self.tube * np.cos(inside))[None, :, None] * out[:, None, :]
            - (self.tube * np.sin(inside))[None, :, None] * np.asarray(self.axis)
        )
        return Mesh(self.body, rings.reshape(-1, 3), _walls(self.count, self.sides, closed=True), self.color)


@dataclass(frozen=True, eq=False)
class Sector:
    """A flat round disc, or the part of it between two angles about its axis."""

    body: str
    center: Array
    axis: Array
    radius: float
    thickness: float
    color: str
    begin: float = 0.0
    end: float = 2 * np.pi

    def mesh(self) -> Mesh:
        first, second = orthonormal_pair(self.axis)
        count = max(2, round(64 * (self.end - self.begin) / (2 * np.pi)))
        angles = np.linspace(self.begin, self.end, count + 1)
        rim = self.radius * (np.outer(np.cos(angles), first) + np.outer(np.sin(angles), second))
        half = self.thickness / 2 * np.asarray(self.axis)
        middle = np.zeros((1, 3))
        faces = [self.center + np.vstack([middle, rim]) + side for side in (half, -half)]
        edge = [self.center + rim + half, self.center + rim - half]
        k = np.arange(count)
        top = np.column_stack([np.zeros(count, int), k + 1, k + 2])
        n = count + 2
        bottom = top[:, ::-1] + n
        a, b = 2 * n + k, 2 * n + count + 1 + k
        wall = np.concatenate([np.column_stack([a, b, a + 1]), np.column_stack([a + 1, b, b + 1])])
        return Mesh(self.body, np.concatenate([*faces, *edge]), np.concatenate([top, bottom, wall]), self.color)


@dataclass(frozen=True, eq=False)
class Ellipsoid:
    """The columns of `axes` are its half-axes."""

    body: str
    at: Array
    axes: Array
    color: str
    count: int = 24

    def mesh(self) -> Mesh:
        polar = np.linspace(0.0, np.pi, self.count // 2 + 1)
        around = 2 * np.pi * np.arange(self.count) / self.count
        unit = np.stack(
            [
                np.outer(np.sin(polar), np.cos(around)),
                np.outer(np.sin(polar), np.sin(around)),
                np.repeat(np.cos(polar)[:, None], self.count, axis=1),
            ],
            axis=-1,
        )
        walls = _walls(len(polar), self.count, closed=False)[:, ::-1]  # rings go down from the pole
        axes = self.axes if np.linalg.det(self.axes) >= 0 else self.axes * np.array([-1.0, 1.0, 1.0])
        return Mesh(self.body, self.at + unit.reshape(-1, 3) @ axes.T, walls, self.color)


@dataclass(frozen=True, eq=False)
class Box:
    """The columns of `axes` are half its edges."""

    body: str
    at: Array
    axes: Array
    color: str

    def mesh(self) -> Mesh:
        axes = self.axes if np.linalg.det(self.axes) >= 0 else self.axes * np.array([-1.0, 1.0, 1.0])
        vertices: list[list[Array]] = []
        triangles: list[list[int]] = []
        for k in range(3):
            for side in (1.0, -1.0):
                u, v = np.eye(3)[(k + 1) % 3], side * np.eye(3)[(k + 2) % 3]
                start = 4 * len(vertices)
                vertices.append([side * np.eye(3)[k] + a * u + b * v for a, b in ((-1, -1), (1, -1), (1, 1), (-1, 1))])
                triangles += [[start, start + 1, start + 2], [start, start + 2, start + 3]]
        return Mesh(self.body, self.at + np.concatenate(vertices) @ axes.T, np.array(triangles), self.color)


@dataclass(frozen=True, eq=False)
class Revolved:
    """A solid of revolution: rows of `profile` are axial coordinate and radius, from one end to the other."""

    body: str
    at: Array
    axis: Array
    profile: Array  # (n, 2)
    color: str
    count: int = 64

    def mesh(self) -> Mesh:
        profile = np.asarray(self.profile, dtype=float)
        if profile[-1, 0] < profile[0, 0]:
            profile = profile[::-1]  # orientation independent of the order
        first, second = orthonormal_pair(self.axis)
        around = 2 * np.pi * np.arange(self.count) / self.count
        out = np.outer(np.cos(around), first) + np.outer(np.sin(around), second)
        # each part of the profile has its own rings, for sharp edges in shading
        vertices: list[Array] = []
        triangles: list[Indices] = []
        for part in np.stack([profile[:-1], profile[1:]], axis=1):
            rings = self.at + part[:, 0, None, None] * np.asarray(self.axis) + part[:, 1, None, None] * out[None]
            triangles.append(_walls(2, self.count, closed=False) + 2 * self.count * len(vertices))
            vertices.append(rings.reshape(-1, 3))
        wall = Mesh(self.body, np.concatenate(vertices), np.concatenate(triangles), self.color)
        ends = self.at + profile[[0, -1], 0, None, None] * np.asarray(self.axis) + profile[[0, -1], 1, None, None] * out[None]
        caps = Mesh(self.body, *_with_caps(ends, np.zeros((0, 3), dtype=int)), self.color)
        return joined([wall, caps])[0]


@dataclass(frozen=True, eq=False)
class Prism:
    """A convex outline, counter-clockwise, extruded along the first column of `axes`; its points are along the other two."""

    body: str
    at: Array
    axes: Array  # (3, 3), columns: along, and the two of the outline
    profile: Array  # (n, 2)
    length: float
    color: str

    def mesh(self) -> Mesh:
        outline = np.asarray(self.profile, dtype=float)
        x, y = outline.T
        if float(x @ np.roll(y, -1) - y @ np.roll(x, -1)) < 0:
            outline = outline[::-1]
        flat = outline @ self.axes[:, 1:].T
        vertices: list[Array] = []
        for a, b in zip(flat, np.roll(flat, -1, axis=0), strict=True):
            vertices.append(np.array([side * self.length / 2 * self.axes[:, 0] + p for side in (-1, 1) for p in (a, b)]))
        k = 4 * np.arange(len(flat))[:, None]
        wall = np.concatenate([k + np.array([[0, 1, 3]]), k + np.array([[0, 3, 2]])])
        ends = np.array([side * self.length / 2 * self.axes[:, 0] + flat for side in (-1, 1)])
        sides = Mesh(self.body, self.at + np.concatenate(vertices), wall, self.color)
        return joined([sides, Mesh(self.body, *_with_caps(self.at + ends, np.zeros((0, 3), dtype=int)), self.color)])[0]


@dataclass(frozen=True, eq=False)
class Loft:
    """A closed surface through rings of equally many points, counter-clockwise as seen from the last, and plane ends."""

    body: str
    rings: Array  # (n, sides, 3)
    color: str

    def mesh(self) -> Mesh:
        rings = np.asarray(self.rings, dtype=float)
        return Mesh(self.body, *_with_caps(rings, _walls(len(rings), rings.shape[1], closed=False)), self.color)


Solid = Mesh | Tube | Ring | Sector | Ellipsoid | Box | Revolved | Prism | Loft


def ball(body: str, at: Array, radius: float, color: str) -> Ellipsoid:
    return Ellipsoid(body, at, radius * np.eye(3), color, count=18)


def joined(meshes: list[Mesh]) -> list[Mesh]:
    """Meshes merged by body and color."""
    groups: dict[tuple[str, str], list[Mesh]] = {}
    for mesh in meshes:
        groups.setdefault((mesh.body, mesh.color), []).append(mesh)
    found = []
    for parts in groups.values():
        starts = np.cumsum([0, *(len(part.vertices) for part in parts[:-1])])
        triangles = np.concatenate([part.triangles + start for part, start in zip(parts, starts, strict=True)])
        found.append(replace(parts[0], vertices=np.concatenate([part.vertices for part in parts]), triangles=triangles))
    return found


def _walls(rings: int, sides: int, *, closed: bool) -> Indices:
    """Triangles between consecutive rings of points."""
    cells = np.indices((rings if closed else rings - 1, sides)).reshape(2, -1)
    i, j = cells[0], cells[1]
    below, above, nxt = i * sides + j, (i + 1) % rings * sides + j, (j + 1) % sides
    right, corner = i * sides + nxt, (i + 1) % rings * sides + nxt
    return np.concatenate([np.column_stack([below, right, above]), np.column_stack([right, corner, above])])


def _with_caps(rings: Array, wall: Indices) -> tuple[Array, Indices]:
    """Caps with their own vertices, for sharp edges in shading."""
    sides = rings.shape[1]
    vertices, triangles = [rings.reshape(-1, 3)], [wall]
    k = np.arange(1, sides - 1)
    for ring, order in ((rings[0], (0, 2, 1)), (rings[-1], (0, 1, 2))):
        start = sum(len(v) for v in vertices)
        vertices.append(ring)
        triangles.append(start + np.column_stack([np.zeros_like(k), k, k + 1])[:, order])
    return np.concatenate(vertices), np.concatenate(triangles)


# ---------------------------------------------------------------- outlines


_SHARP = np.cos(np.deg2rad(35.0))  # edges with a larger angle between faces are drawn
_WELD = 1e-9  # of the size: closer corners are merged


def facing(mesh: Mesh, towards: Array) -> Indices:
    """The front-facing triangles for a distant viewer in the direction `towards`."""
    a, b, c = (mesh.vertices[mesh.triangles[:, k]] for k in range(3))
    return mesh.triangles[np.cross(b - a, c - a) @ towards > 0]


def outline(mesh: Mesh, towards: Array) -> Array:
    """Ends of outline and sharp edges, (n, 2, 3), for a distant viewer in the direction `towards`; both in the mesh's axes.

    >>> from draisine.view.scene.solids import Box
    >>> cube = Box("cube", np.zeros(3), np.eye(3), "#000000").mesh()
    >>> len(outline(cube, np.array([1.0, 2.0, 3.0])))  # of twelve edges, those of the three faces that are seen
    9
    """
    size = max(float(np.ptp(mesh.vertices, axis=0).max()), 1e-300)
    _, first, welded = np.unique(np.round(mesh.vertices / (_WELD * size)), axis=0, return_index=True, return_inverse=True)
    corners, faces = mesh.vertices[first], welded.reshape(-1)[mesh.triangles]
    sides = [corners[faces[:, (k + 1) % 3]] - corners[faces[:, k]] for k in (0, 1)]
    normals = np.cross(sides[0], sides[1])
    area = np.linalg.norm(normals, axis=1)
    faces, normals = faces[area > 0], normals[area > 0] / area[area > 0, None]
    seen = normals @ towards > 0
    edges = np.sort(np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]]), axis=1)
    owner = np.tile(np.arange(len(faces)), 3)
    order = np.lexsort((edges[:, 1], edges[:, 0]))
    edges, owner = edges[order], owner[order]
    pair = np.flatnonzero((edges[1:] == edges[:-1]).all(axis=1))
    alone = np.ones(len(edges), dtype=bool)
    alone[pair] = alone[pair + 1] = False
    a, b = owner[pair], owner[pair + 1]
    sharp = np.einsum("ij,ij->i", normals[a], normals[b]) < _SHARP
    drawn = (seen[a] != seen[b]) | (sharp & seen[a])
    kept = np.concatenate([edges[pair[drawn]], edges[alone]])
    return corners[kept]
