"""Collada meshes: a box through nested nodes, in every form of its faces, against its points by hand; what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from draisine.errors import DataError
from draisine.view.scene.mesh_files import read_mesh

POINTS = np.array([[x, y, z] for z in (0, 1) for y in (0, 1) for x in (0, 1)], dtype=float)
QUADS = [(0, 2, 3, 1), (4, 5, 7, 6), (0, 1, 5, 4), (2, 6, 7, 3), (0, 4, 6, 2), (1, 3, 7, 5)]
TRIANGLES = [corner for a, b, c, d in QUADS for corner in (a, b, c, a, c, d)]

FACES = {
    "triangles": "<triangles count='12'>{inputs}<p>{triangles}</p></triangles>",
    "polylist": "<polylist count='6'>{inputs}<vcount>4 4 4 4 4 4</vcount><p>{quads}</p></polylist>",
    "polygons": "<polygons count='6'>{inputs}{separate}</polygons>",
}
# x ↦ T R S x of the outer node, then the matrix of the inner one, which is applied first
NODES = """<node><translate>1 2 3</translate><rotate>0 0 1 90</rotate><scale>2 1 1</scale>
  <node><matrix>1 0 0 10 0 1 0 0 0 0 1 0 0 0 0 1</matrix><instance_geometry url="#box"/></node></node>"""


def document(faces: str, nodes: str = NODES, unit: str = "<unit meter='0.01'/>") -> str:
    def words(corners) -> str:
        return " ".join(f"{c} 0" for c in corners)  # with a normal each

    inputs = "<input semantic='VERTEX' source='#v' offset='0'/><input semantic='NORMAL' source='#n' offset='1'/>"
    separate = "".join(f"<p>{words(quad)}</p>" for quad in QUADS)
    piece = faces.format(inputs=inputs, triangles=words(TRIANGLES), quads=words(c for q in QUADS for c in q), separate=separate)
    numbers = " ".join(map(str, POINTS.ravel()))
    source = (
        f"<source id='s'><float_array>{numbers}</float_array><technique_common><accessor stride='3'/></technique_common></source>"
    )
    mesh = f"<mesh>{source}<vertices id='v'><input semantic='POSITION' source='#s'/></vertices>{piece}</mesh>"
    geometry = f"<library_geometries><geometry id='box'>{mesh}</geometry></library_geometries>"
    scene = f"<library_visual_scenes><visual_scene>{nodes}</visual_scene></library_visual_scenes>"
    return f"<?xml version='1.0'?><COLLADA><asset>{unit}<up_axis>Y_UP</up_axis></asset>{geometry}{scene}</COLLADA>"


@pytest.mark.parametrize("form", FACES)
def test_a_box_through_its_nodes(form, tmp_path):
    path = tmp_path / "box.dae"
    path.write_text(document(FACES[form]))
    mesh = read_mesh(path, "body")
    moved = (POINTS + [10, 0, 0]) * [2, 1, 1]  # the matrix, then the scale
    moved = np.column_stack([-moved[:, 1], moved[:, 0], moved[:, 2]]) + [1, 2, 3]  # the rotation by 90°, then the translation
    expected = 0.01 * moved
    corners = expected[np.array(TRIANGLES).reshape(-1, 3)]
    found = mesh.vertices[mesh.triangles]

    def ordered(triangles: np.ndarray) -> np.ndarray:
        return np.array(sorted(np.sort(np.round(t, 9), axis=0).ravel().tolist() for t in triangles))

    assert found.shape == corners.shape == (12, 3, 3)
    assert ordered(found) == pytest.approx(ordered(corners), abs=1e-9)


WRONG = {
    "not contained": (
        document(FACES["triangles"], "<node><instance_geometry url='#other'/></node>"),
        "which it does not contain",
    ),
    "elsewhere": (
        document(FACES["triangles"], "<node><instance_geometry url='file:///a#b'/></node>"),
        "which it does not contain",
    ),
    "corners": (document(FACES["polylist"].replace("4 4 4", "4 4 3", 1)), "other numbers of corners"),
    "points": (document(FACES["triangles"]).replace("0 0 2 0", "99 0 2 0", 1), "points that it does not have"),
    "itself": (document(FACES["triangles"], "<node id='a'><instance_node url='#a'/></node>"), "nested deeper"),
    "entity": ("<!DOCTYPE a [<!ENTITY b 'c'>]><COLLADA/>", "declares a document type"),
    "empty": ("<COLLADA/>", "it has no triangles"),
    "no XML": ("solid", "not valid XML"),
    "matrix": (document(FACES["triangles"], "<node><matrix>1 2</matrix></node>"), "not a readable .dae file"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_refused(case, tmp_path):
    text, message = WRONG[case]
    path = tmp_path / "wrong.dae"
    path.write_text(text)
    with pytest.raises(DataError, match=message):
        read_mesh(path, "body")
