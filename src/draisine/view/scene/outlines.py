"""Lines that a draughtsman would draw of a solid: its outline as it is seen, and its sharp edges."""

from __future__ import annotations

import numpy as np

from draisine.view.scene.scene import Array
from draisine.view.scene.solids import Indices, Mesh

_SHARP = np.cos(np.deg2rad(35.0))  # edges at which faces turn by more are drawn
_WELD = 1e-9  # of the size: corners nearer than that are one


def facing(mesh: Mesh, towards: Array) -> Indices:
    """The triangles that an eye far away in the direction `towards` sees from outside."""
    a, b, c = (mesh.vertices[mesh.triangles[:, k]] for k in range(3))
    return mesh.triangles[np.cross(b - a, c - a) @ towards > 0]


def outline(mesh: Mesh, towards: Array) -> Array:
    """Ends of the lines to be drawn, (n, 2, 3), for an eye far away in the direction `towards`; both in the mesh's axes.

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
