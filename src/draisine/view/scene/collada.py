"""Collada (.dae) meshes: the triangles of the visual scene, in meters, in the axes of the file.

As in programs for robots the up axis is not applied: links of robots have axes of their own. Of a polygon the fan of triangles
from its first corner is taken.
"""

from __future__ import annotations

import math

import numpy as np

from draisine.errors import DataError, ModelError
from draisine.model.robots.xml_files import Element, parse_xml
from draisine.view.scene.scene import Array
from draisine.view.scene.solids import Indices

_DEPTH = 64  # of nodes inside nodes
_POINTS = 10_000_000  # of all pieces


def read_collada(data: bytes) -> tuple[Array, Indices]:
    """Points and triangles of a file."""
    try:
        root = parse_xml(data)
    except ModelError as problem:
        raise DataError(str(problem)) from None
    found = _Scene(root)
    scenes = [
        node
        for library in root.all("library_visual_scenes")
        for scene in library.all("visual_scene")
        for node in scene.all("node")
    ]
    for node in scenes:
        found.add_node(node, np.eye(4), 0)
    if not found.points:
        return np.zeros((0, 3)), np.zeros((0, 3), dtype=np.int64)
    return found.unit * np.concatenate(found.points), np.concatenate(found.triangles)


class _Scene:
    def __init__(self, root: Element) -> None:
        self.by_id = {e.attributes["id"]: e for e in root.walk() if "id" in e.attributes}
        units = [unit for asset in root.all("asset") for unit in asset.all("unit")]
        self.unit = float(units[0].attributes.get("meter", "1")) if units else 1.0
        self.points: list[Array] = []
        self.triangles: list[Indices] = []
        self.count = 0

    def add_node(self, node: Element, pose: Array, depth: int) -> None:
        """The meshes of a node and of those inside it."""
        if depth > _DEPTH:
            raise DataError(f"nodes are nested deeper than {_DEPTH}")
        for child in node.children:
            pose = pose @ _transform(child)
        for child in node.children:
            if child.tag == "node":
                self.add_node(child, pose, depth + 1)
            elif child.tag == "instance_node":
                self.add_node(self._referred(child.attributes["url"]), pose, depth + 1)
            elif child.tag == "instance_geometry":
                for mesh in self._referred(child.attributes["url"]).all("mesh"):
                    self._add_mesh(mesh, pose)

    def _referred(self, url: str) -> Element:
        if not url.startswith("#") or url[1:] not in self.by_id:
            raise DataError(f"it refers to {url!r}, which it does not contain")
        return self.by_id[url[1:]]

    def _add_mesh(self, mesh: Element, pose: Array) -> None:
        for piece in mesh.all("triangles", "polylist", "polygons"):
            inputs = piece.all("input")
            stride = 1 + max((int(i.attributes.get("offset", "0")) for i in inputs), default=0)
            vertex = next(i for i in inputs if i.attributes.get("semantic") == "VERTEX")
            offset = int(vertex.attributes.get("offset", "0"))
            corners, counts = [], []
            for p in piece.all("p"):
                corners.append(np.array(p.content.split(), dtype=np.int64)[offset::stride])
                counts.append(len(corners[-1]))
            if not corners:
                continue
            vcount = piece.find("vcount")
            if piece.tag == "triangles":
                triangles = np.concatenate(corners).reshape(-1, 3)
            else:
                sizes = np.array(vcount.content.split(), dtype=np.int64) if vcount is not None else np.array(counts)
                triangles = _fans(np.concatenate(corners), sizes)
            points = self._positions(vertex)
            if len(triangles) and (triangles.min() < 0 or triangles.max() >= len(points)):
                raise DataError("some triangles name points that it does not have")
            used, places = np.unique(triangles, return_inverse=True)
            self.count += len(used)
            if self.count > _POINTS:
                raise DataError(f"it has more than {_POINTS:,} points; simplify the mesh")
            self.triangles.append(places.reshape(-1, 3) + sum(map(len, self.points)))
            self.points.append(points[used] @ pose[:3, :3].T + pose[:3, 3])

    def _positions(self, vertex: Element) -> Array:
        """The points that the corners of a mesh name."""
        source = self._referred(vertex.attributes["source"])
        if source.tag == "vertices":
            position = next(i for i in source.all("input") if i.attributes.get("semantic") == "POSITION")
            source = self._referred(position.attributes["source"])
        values = source.find("float_array")
        accessor = next((e for e in source.walk() if e.tag == "accessor"), None)
        if values is None:
            raise DataError("a source of points has no numbers")
        stride = int(accessor.attributes.get("stride", "3")) if accessor is not None else 3
        numbers = np.array(values.content.split(), dtype=float)
        if stride < 3 or len(numbers) % stride:
            raise DataError("a source of points does not have three numbers for each")
        return numbers.reshape(-1, stride)[:, :3]


def _fans(corners: Indices, sizes: Indices) -> Indices:
    """Triangles of polygons, each from its first corner."""
    if sizes.min() < 0 or sizes.sum() != len(corners):
        raise DataError("its polygons have other numbers of corners than it says")
    starts = np.cumsum(sizes) - sizes
    found = [np.zeros((0, 3), dtype=np.int64)]
    for size in np.unique(sizes[sizes >= 3]):
        first = starts[sizes == size]
        found += [np.column_stack([first, first + k, first + k + 1]) for k in range(1, size - 1)]
    return corners[np.concatenate(found)]


def _transform(element: Element) -> Array:
    """The matrix of an element of a node that moves it."""
    matrix = np.eye(4)
    if element.tag not in ("matrix", "translate", "scale", "rotate"):
        return matrix
    values = np.array(element.content.split(), dtype=float)
    if element.tag == "matrix":
        return values.reshape(4, 4)
    if element.tag == "translate":
        matrix[:3, 3] = values
    elif element.tag == "scale":
        matrix[:3, :3] = np.diag(values)
    else:
        axis, angle = values[:3] / np.linalg.norm(values[:3]), math.radians(values[3])
        cross = np.array([[0, -axis[2], axis[1]], [axis[2], 0, -axis[0]], [-axis[1], axis[0], 0]])
        matrix[:3, :3] = np.eye(3) + math.sin(angle) * cross + (1 - math.cos(angle)) * cross @ cross
    return matrix
