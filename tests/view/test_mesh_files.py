"""Shapes from files: a cube in every format, and files that are no good."""

from __future__ import annotations

import base64
import json
import struct

import numpy as np
import pytest

import draisine as dr
from draisine.errors import DataError
from draisine.view.scene.mesh_files import read_mesh
from draisine.view.scene.solids import Box, Mesh

CUBE = Box("b", np.array([1.0, 2.0, 3.0]), np.diag([0.5, 1.0, 1.5]), "#000000").mesh()
VOLUME = 6.0


def volume(mesh: Mesh) -> float:
    a, b, c = (mesh.vertices[mesh.triangles[:, k]] for k in range(3))
    return float(np.einsum("mi,mi->m", a, np.cross(b, c)).sum()) / 6


def binary_stl() -> bytes:
    facets = b"".join(struct.pack("<12fH", 0, 0, 0, *CUBE.vertices[t].ravel(), 0) for t in CUBE.triangles)
    return b"solid that is binary".ljust(80) + struct.pack("<I", len(CUBE.triangles)) + facets


def text_stl() -> bytes:
    facets = [
        "facet normal 0 0 0\nouter loop\n"
        + "".join(f"vertex {x} {y} {z}\n" for x, y, z in CUBE.vertices[t])
        + "endloop\nendfacet"
        for t in CUBE.triangles
    ]
    return ("solid cube\n" + "\n".join(facets) + "\nendsolid cube\n").encode()


def obj() -> bytes:
    points = [f"v {x} {y} {z}" for x, y, z in CUBE.vertices]
    count = len(CUBE.vertices)
    # quadrilaterals, counted from one with textures, and backwards
    faces = [f"f {4 * k + 1}/1 {4 * k + 2}/1 {4 * k + 3}/1 {4 * k + 4}/1" for k in range(5)]
    faces.append("f " + " ".join(str(20 + j - count) for j in range(4)))
    return "\n".join(["# cube", *points, *faces]).encode()


def tree(uri: str | None, **change) -> dict:
    points, index = CUBE.vertices.astype("<f4").tobytes(), CUBE.triangles.astype("<u2").tobytes()
    found = {
        "asset": {"version": "2.0"},
        "scene": 0,
        "scenes": [{"nodes": [0]}],
        # turned by a quarter about z inside, shifted outside: the volume stays, the place does not
        "nodes": [{"translation": [10, 0, 0], "children": [1]}, {"mesh": 0, "rotation": [0, 0, np.sqrt(0.5), np.sqrt(0.5)]}],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0}, "indices": 1}]}],
        "accessors": [
            {"bufferView": 0, "componentType": 5126, "count": len(CUBE.vertices), "type": "VEC3"},
            {"bufferView": 1, "componentType": 5123, "count": 3 * len(CUBE.triangles), "type": "SCALAR"},
        ],
        "bufferViews": [
            {"buffer": 0, "byteOffset": 0, "byteLength": len(points)},
            {"buffer": 0, "byteOffset": len(points), "byteLength": len(index)},
        ],
        "buffers": [{"byteLength": len(points + index), **({"uri": uri} if uri else {})}],
    }
    return found | change


def numbers() -> bytes:
    return CUBE.vertices.astype("<f4").tobytes() + CUBE.triangles.astype("<u2").tobytes()


def gltf(**change) -> bytes:
    uri = "data:application/octet-stream;base64," + base64.b64encode(numbers()).decode()
    return json.dumps(tree(uri, **change)).encode()


def glb() -> bytes:
    text = json.dumps(tree(None)).encode()
    text += b" " * (-len(text) % 4)
    data = numbers() + b"\0" * (-len(numbers()) % 4)
    body = struct.pack("<I4s", len(text), b"JSON") + text + struct.pack("<I4s", len(data), b"BIN\0") + data
    return struct.pack("<4sII", b"glTF", 2, 12 + len(body)) + body


@pytest.mark.parametrize(("name", "data"), [("c.stl", binary_stl()), ("t.stl", text_stl()), ("c.obj", obj())])
def test_a_cube(name, data, tmp_path):
    (tmp_path / name).write_bytes(data)
    mesh = read_mesh(tmp_path / name, "frame")
    assert mesh.body == "frame"
    assert volume(mesh) == pytest.approx(VOLUME)
    assert mesh.vertices.min(axis=0).tolist() == [0.5, 1.0, 1.5]
    assert mesh.vertices.max(axis=0).tolist() == [1.5, 3.0, 4.5]


@pytest.mark.parametrize(("name", "data"), [("c.gltf", gltf()), ("c.glb", glb())])
def test_a_cube_in_gltf_is_put_in_place_by_its_nodes(name, data, tmp_path):
    (tmp_path / name).write_bytes(data)
    mesh = read_mesh(tmp_path / name, "frame")
    assert volume(mesh) == pytest.approx(VOLUME)
    # (x, y, z) → (10 − y, x, z)
    assert np.allclose(mesh.vertices.min(axis=0), [7.0, 0.5, 1.5])
    assert np.allclose(mesh.vertices.max(axis=0), [9.0, 1.5, 4.5])


def test_scale_turn_and_shift(tmp_path):
    (tmp_path / "c.stl").write_bytes(binary_stl())
    mesh = read_mesh(tmp_path / "c.stl", "b", scale=1e-3, at=(5, 0, 0), rotation=[[0, -1, 0], [1, 0, 0], [0, 0, 1]])
    assert volume(mesh) == pytest.approx(VOLUME * 1e-9)
    assert np.allclose(mesh.vertices.min(axis=0), [5 - 0.003, 0.0005, 0.0015])
    with pytest.raises(ValueError, match="rotation must be a 3 × 3 matrix of orthonormal rows"):
        read_mesh(tmp_path / "c.stl", "b", rotation=2 * np.eye(3))


def with_nan() -> bytes:
    broken = bytearray(binary_stl())
    struct.pack_into("<f", broken, 84 + 12, float("nan"))
    return bytes(broken)


BAD = {
    "short.stl": (binary_stl()[:-7], "neither a binary STL .* nor a text one|three points"),
    "nan.stl": (with_nan(), "not finite"),
    "empty.stl": (b"", "neither a binary STL"),
    "none.stl": (b" " * 80 + struct.pack("<I", 0), "no triangles"),
    "beyond.obj": (b"v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 4", "line 4: a face names point 4, but there are 3"),
    "zero.obj": (b"v 0 0 0\nv 1 0 0\nv 0 1 0\nf 0 1 2", "names point 0"),
    "two.obj": (b"v 0 0 0\nv 1 0 0\nf 1 2", "a face needs three points"),
    "words.obj": (b"v a b c", "not a readable .obj file"),
    "text.gltf": (b"{", "not a readable .gltf file"),
    "list.gltf": (b"[]", "not a readable .gltf file"),
    "other.gltf": (gltf(buffers=[{"byteLength": 9, "uri": "../secret.bin"}]), "in another file, which is not opened"),
    "web.gltf": (gltf(buffers=[{"byteLength": 9, "uri": "https://example.org/a.bin"}]), "in another file, which is not opened"),
    "small.gltf": (gltf(buffers=[{"byteLength": 4, "uri": "data:;base64,AAAA"}]), "numbers beyond its end"),
    "loop.gltf": (gltf(nodes=[{"children": [0]}]), "nested too deeply"),
    "far.gltf": (gltf(scenes=[{"nodes": [7]}]), "names entry 7 of 2"),
    "no.glb": (b"glTF" + struct.pack("<II", 1, 12), "not a binary glTF of version 2"),
    "what.step": (b"", "the suffix must be one of .stl, .obj, .dae, .glb, .gltf"),
}


@pytest.mark.parametrize("name", BAD)
def test_files_that_are_no_good(name, tmp_path):
    data, said = BAD[name]
    (tmp_path / name).write_bytes(data)
    with pytest.raises(DataError, match=said):
        read_mesh(tmp_path / name, "b")


def test_a_missing_file(tmp_path):
    with pytest.raises(FileNotFoundError, match="no mesh file"):
        read_mesh(tmp_path / "none.stl", "b")


def test_a_film_shows_it(tmp_path):
    (tmp_path / "c.stl").write_bytes(binary_stl())
    run = dr.simulate(dr.gallery.rolling_disk(), 0.5)
    shape = dr.view.read_mesh(tmp_path / "c.stl", "disk", scale=0.1, color="#123456")
    take = run.animate(shapes={"disk": shape}, show=False).takes[0]
    assert [(m.body, m.color) for m in take.meshes if m.body == "disk"] == [("disk", "#123456")]
    with pytest.raises(ValueError, match="a solid of body 'disk' is given for 'disc'"):
        run.animate(shapes={"disc": shape}, show=False)
