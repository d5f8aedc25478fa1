"""Mesh files: STL (binary or text), OBJ, Collada (`collada.py`), and glTF (.glb, or .gltf with embedded data).

Files are untrusted: sizes are limited, every index is checked, and no other file is opened.
"""

from __future__ import annotations

import base64
import binascii
import json
import struct
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from draisine.errors import ArgumentError, DataError
from draisine.view.scene.collada import read_collada
from draisine.view.scene.scene import Array
from draisine.view.scene.solids import Indices, Mesh

MAX_BYTES = 64 * 2**20
MAX_TRIANGLES = 200_000  # limit of the films
_DEPTH = 64  # of nodes inside nodes


def read_mesh(
    path: str | Path,
    body: str,
    *,
    scale: float = 1.0,
    at: ArrayLike = (0.0, 0.0, 0.0),
    rotation: ArrayLike | None = None,
    color: str = "#8D949C",
) -> Mesh:
    """A shape for a body from a file: `run.save("ride.html", shapes={"frame": read_mesh("frame.stl", "frame", scale=1e-3)})`.

    In the body's axes its points are `at + rotation · scale · point`: many files are in millimeters (`scale=1e-3`), and glTF
    has y up. `path` is an STL, OBJ, Collada or glTF file; `color`: of the solid.
    """
    source = Path(path)
    reader = _READERS.get(source.suffix.lower())
    if reader is None:
        raise DataError(f"{source.name!r}: the suffix must be one of {', '.join(_READERS)}")
    if not source.is_file():
        raise FileNotFoundError(f"there is no mesh file {str(source)!r}")
    if source.stat().st_size > MAX_BYTES:
        raise DataError(f"{source}: it has {source.stat().st_size} bytes; at most {MAX_BYTES} are read. Simplify the mesh")
    try:
        vertices, triangles = reader(source.read_bytes())
        _check(vertices, triangles)
    except DataError as problem:
        raise DataError(f"{source}: {problem}") from None
    except (ValueError, KeyError, IndexError, TypeError, RecursionError, OverflowError, StopIteration, struct.error) as problem:
        raise DataError(f"{source}: it is not a readable {source.suffix} file ({problem})") from None
    turned = vertices if rotation is None else vertices @ _rotation(rotation).T
    return Mesh(body, np.asarray(at, dtype=float) + scale * turned, triangles, color)


def _check(vertices: Array, triangles: Indices) -> None:
    if not len(triangles):
        raise DataError("it has no triangles")
    if len(triangles) > MAX_TRIANGLES:
        raise DataError(f"it has {len(triangles)} triangles; at most {MAX_TRIANGLES} can be drawn. Simplify the mesh")
    if not np.isfinite(vertices).all():
        raise DataError("some coordinates are not finite")
    if triangles.min() < 0 or triangles.max() >= len(vertices):
        raise DataError("some triangles name points that it does not have")


def _rotation(given: ArrayLike) -> Array:
    matrix = np.asarray(given, dtype=float)
    if matrix.shape != (3, 3) or not np.allclose(matrix @ matrix.T, np.eye(3), atol=1e-9):
        raise ArgumentError("rotation must be a 3 × 3 matrix of orthonormal rows, from the file's axes to the body's")
    return matrix


# ---------------------------------------------------------------- STL


def _stl(data: bytes) -> tuple[Array, Indices]:
    if len(data) >= 84:
        (count,) = struct.unpack_from("<I", data, 80)
        if len(data) == 84 + 50 * count:  # only a binary file has this length
            facets = np.frombuffer(
                data, dtype=np.dtype([("normal", "<f4", 3), ("at", "<f4", (3, 3)), ("rest", "<u2")]), offset=84
            )
            return _merged(facets["at"].reshape(-1, 3).astype(float))
    text = data.decode("ascii", errors="replace")
    if not text.lstrip().startswith("solid"):
        raise DataError("it is neither a binary STL (its length does not fit its number of facets) nor a text one")
    words = [line.split() for line in text.splitlines()]
    points = np.array([[float(w) for w in line[1:4]] for line in words if line[:1] == ["vertex"]])
    if not points.size or points.shape[1:] != (3,) or len(points) % 3:
        raise DataError("its facets do not have three points of three numbers each")
    return _merged(points)


def _merged(points: Array) -> tuple[Array, Indices]:
    """Merge equal points of triangles, for smooth shading."""
    unique, index = np.unique(points, axis=0, return_inverse=True)
    return unique, index.reshape(-1, 3)


# ---------------------------------------------------------------- OBJ


def _obj(data: bytes) -> tuple[Array, Indices]:
    vertices: list[list[float]] = []
    triangles: list[tuple[int, int, int]] = []
    for number, line in enumerate(data.decode("utf-8", errors="replace").splitlines(), 1):
        words = line.split()
        if words[:1] == ["v"]:
            if len(words) < 4:
                raise DataError(f"line {number}: a point needs three numbers")
            vertices.append([float(word) for word in words[1:4]])
        elif words[:1] == ["f"]:
            corners = [_obj_index(word, len(vertices), number) for word in words[1:]]
            if len(corners) < 3:
                raise DataError(f"line {number}: a face needs three points")
            triangles += [(corners[0], corners[k], corners[k + 1]) for k in range(1, len(corners) - 1)]
    return np.array(vertices).reshape(-1, 3), np.array(triangles, dtype=np.int64).reshape(-1, 3)


def _obj_index(word: str, count: int, line: int) -> int:
    """Index from one, or negative from the last; texture and normal indices follow slashes."""
    given = int(word.split("/")[0])
    found = given - 1 if given > 0 else count + given
    if given == 0 or not 0 <= found < count:
        raise DataError(f"line {line}: a face names point {given}, but there are {count} so far")
    return found


# ---------------------------------------------------------------- glTF 2.0

_KINDS = {5121: "<u1", 5123: "<u2", 5125: "<u4", 5126: "<f4"}
_WIDTHS = {"SCALAR": 1, "VEC3": 3}


def _glb(data: bytes) -> tuple[Array, Indices]:
    magic, version, length = struct.unpack_from("<4sII", data)
    if magic != b"glTF" or version != 2 or length > len(data):
        raise DataError("it is not a binary glTF of version 2")
    chunks: dict[bytes, bytes] = {}
    place = 12
    while place + 8 <= length:
        size, kind = struct.unpack_from("<I4s", data, place)
        chunks.setdefault(kind, data[place + 8 : place + 8 + size])
        place += 8 + size
    if b"JSON" not in chunks:
        raise DataError("it has no description")
    return _scene(json.loads(chunks[b"JSON"]), chunks.get(b"BIN\0"))


def _gltf(data: bytes) -> tuple[Array, Indices]:
    return _scene(json.loads(data), None)


def _scene(tree: Mapping[str, Any], binary: bytes | None) -> tuple[Array, Indices]:
    buffers = [_buffer(entry, binary) for entry in tree["buffers"]]
    nodes = tree["nodes"]
    roots = tree["scenes"][tree.get("scene", 0)]["nodes"] if tree.get("scenes") else range(len(nodes))
    vertices: list[Array] = []
    triangles: list[Indices] = []

    def visit(k: int, above: Array, depth: int) -> None:
        if depth > _DEPTH or sum(len(t) for t in triangles) > MAX_TRIANGLES:
            raise DataError("its nodes are nested too deeply, or repeat too much")
        node = nodes[_place(k, nodes)]
        here = above @ _transform(node)
        for primitive in tree["meshes"][_place(node["mesh"], tree["meshes"])]["primitives"] if "mesh" in node else ():
            if primitive.get("mode", 4) != 4:
                continue  # points and lines
            points = _accessor(tree, buffers, primitive["attributes"]["POSITION"]).astype(float)
            index = _accessor(tree, buffers, primitive["indices"]) if "indices" in primitive else np.arange(len(points))
            triangles.append(index.reshape(-1, 3).astype(np.int64) + sum(len(v) for v in vertices))
            vertices.append(points @ here[:3, :3].T + here[:3, 3])
        for child in node.get("children", ()):
            visit(child, here, depth + 1)

    for root in roots:
        visit(root, np.eye(4), 0)
    if not triangles:
        raise DataError("it has no triangles")
    return np.concatenate(vertices), np.concatenate(triangles)


def _place(k: Any, entries: list[Any]) -> int:
    if not isinstance(k, int) or not 0 <= k < len(entries):
        raise DataError(f"it names entry {k!r} of {len(entries)}")
    return k


def _buffer(entry: Mapping[str, Any], binary: bytes | None) -> bytes:
    uri = entry.get("uri")
    if uri is None:
        if binary is None:
            raise DataError("its numbers are missing")
        return binary
    head, comma, body = str(uri).partition(",")
    if not head.startswith("data:") or not head.endswith(";base64") or not comma:
        raise DataError("its numbers are in another file, which is not opened; save it as .glb, or with the data inside")
    try:
        return base64.b64decode(body, validate=True)
    except binascii.Error as problem:
        raise DataError(f"its numbers are not base64 ({problem})") from None


def _accessor(tree: Mapping[str, Any], buffers: list[bytes], k: int) -> Any:
    accessor = tree["accessors"][_place(k, tree["accessors"])]
    if "sparse" in accessor or "bufferView" not in accessor:
        raise DataError("it has sparse numbers, which are not read")
    view = tree["bufferViews"][_place(accessor["bufferView"], tree["bufferViews"])]
    kind, width, count = np.dtype(_KINDS[accessor["componentType"]]), _WIDTHS[accessor["type"]], int(accessor["count"])
    start = int(view.get("byteOffset", 0)) + int(accessor.get("byteOffset", 0))
    stride = int(view.get("byteStride", 0)) or kind.itemsize * width
    data = buffers[_place(view["buffer"], buffers)]
    if (
        min(count, start) < 0
        or stride < kind.itemsize * width
        or start + stride * (count - 1) + kind.itemsize * width > len(data)
    ):
        raise DataError("it names numbers beyond its end")
    rows = np.ndarray((count, width), kind, data, start, (stride, kind.itemsize))
    return rows if width > 1 else rows[:, 0]


def _transform(node: Mapping[str, Any]) -> Array:
    """4 × 4 matrix, from columns or from translation, quaternion (scalar last) and scales."""
    if "matrix" in node:
        return np.asarray(node["matrix"], dtype=float).reshape(4, 4).T
    x, y, z, w = np.asarray(node.get("rotation", (0, 0, 0, 1)), dtype=float)
    rotation = np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )
    found = np.eye(4)
    found[:3, :3] = rotation * np.asarray(node.get("scale", (1, 1, 1)), dtype=float)
    found[:3, 3] = node.get("translation", (0, 0, 0))
    return found


_READERS: dict[str, Callable[[bytes], tuple[Array, Indices]]] = {
    ".stl": _stl,
    ".obj": _obj,
    ".dae": read_collada,
    ".glb": _glb,
    ".gltf": _gltf,
}
