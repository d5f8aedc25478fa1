"""How bodies look, in model files: read, written, refused."""

from __future__ import annotations

import pytest

import draisine as dr
from draisine.expr.expression import Name, Number
from draisine.model import shapes
from draisine.model.files import from_toml, read_model, to_toml, write_model

HEAD = 'name = "block"\n[parameters]\nr = { value = 0.2, unit = "m" }\n'
BODY = """[bodies.block]
mass = 2
inertia = [1, 1, 1]
shapes = [%s]
[joints.slide]
kind = "prismatic"
parent = "ground"
child = "block"
"""
TRIANGLE = "solid s\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 1 0\nendloop\nendfacet\nendsolid s\n"

EVERY = [
    '{ kind = "box", size = [1, "20 cm", "r"], at = [0, 0, "r"], '
    'orientation = [{ z = "30 deg" }, { x = 0.1 }], color = "#0072B2" }',
    '{ kind = "sphere", radius = "r" }',
    '{ kind = "ellipsoid", size = ["2*r", 0.1, "5 cm"], at = [0, 0, "r"] }',
    '{ kind = "cylinder", radius = 0.1, length = "3*r", axis = "z" }',
    '{ kind = "tube", path = [[0, 0, 0], [0, 0, "r"], [1, 0, 1]], radius = 0.02 }',
    '{ kind = "wheel", radius = 0.3, tube = 0.02 }',
    '{ kind = "revolved", profile = [[-0.1, "r"], [0.1, 0.25]] }',
    '{ kind = "prism", profile = [[0, 0], [1, 0], [0, 1]], length = 2 }',
    '{ kind = "stadium", levels = [[0, "r", 0.1], [0.3, 0.1, 0.05]], axis = "x" }',
    '{ kind = "mesh", file = "parts/frame.stl", scale = 0.001 }',
]


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "frame.stl").write_text(TRIANGLE)
    return tmp_path


def model_text(*tables: str) -> str:
    return HEAD + BODY % ",\n  ".join(tables)


def test_every_kind_reads_and_writes_and_reads_the_same(folder):
    (folder / "block.toml").write_text(model_text(*EVERY))
    first = read_model(folder / "block.toml").freeze()
    found = first.bodies[0].shapes
    assert [type(s) for s in found] == list(shapes.SHAPES.values())
    assert found[0].size == (Number(1.0), Number(0.2), Name("r"))
    write_model(first, folder / "again.toml")
    assert read_model(folder / "again.toml").freeze() == first
    assert to_toml(first) == (folder / "again.toml").read_text()


def test_the_ground_has_shapes_too():
    text = 'name = "block"\nground.shapes = [{ kind = "box", size = [1, 1, 0.1] }]\n' + BODY % ""
    system = from_toml(text).freeze()
    assert system.ground.shapes == (shapes.Box(size=(Number(1.0), Number(1.0), Number(0.1))),)
    assert from_toml(to_toml(system)).freeze() == system


def test_python_takes_the_same_tables():
    m = dr.Model("block")
    m.slide = m.prismatic(
        "slide", "ground", m.body("block", 2.0, inertia=(1, 1, 1), shapes=[{"kind": "sphere", "radius": "5 cm"}])
    )
    assert m.freeze().bodies[0].shapes == (shapes.Sphere(radius=Number(0.05)),)


def test_how_it_looks_changes_no_equation():
    plain, dressed = (from_toml(model_text(*tables)) for tables in ((), EVERY[:2]))
    values = [[1.0, 2.0], [], [0.2]]
    first, second = (dr.derive(m).explicit for m in (plain, dressed))
    assert first([0.0], *_fitting(first, values))[0].tolist() == second([0.0], *_fitting(second, values))[0].tolist()


def _fitting(program, values):
    return [value[: slot.size] + [0.0] * (slot.size - len(value)) for slot, value in zip(program.inputs[1:], values, strict=True)]


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ('{ kind = "ball", radius = 1 }', "'ball' is unknown"),
        ('{ kind = "sphere" }', "a sphere needs 'radius'"),
        ('{ kind = "sphere", radius = -1 }', "must be positive"),
        ('{ kind = "sphere", radius = 1, size = 2 }', "unknown key 'size'"),
        ('{ kind = "sphere", radius = "slide" }', "'slide' is not a parameter"),
        ('{ kind = "sphere", radius = 1, color = "red" }', "#rrggbb"),
        ('{ kind = "sphere", radius = "3 kg" }', "radius of shape 1 of body 'block'"),
        ('{ kind = "tube", path = [[0, 0, 0]], radius = 1 }', "at least 2 points"),
        ('{ kind = "revolved", profile = [[0, 1], [0, 1, 2]] }', "each point of 'profile' has 2 amounts"),
        ('{ kind = "mesh", file = "frame.exe" }', "the suffix must be one of"),
        ('{ kind = "mesh", file = "frame.stl" }', "there is no file 'frame.stl'"),
        ('{ kind = "mesh", file = "../frame.stl" }', "is outside of the folder"),
        ('{ kind = "mesh", file = "parts/../../frame.stl" }', "is outside of the folder"),
        ('{ kind = "mesh", file = "/etc/frame.stl" }', "is outside of the folder"),
        ('{ kind = "mesh", file = "C:\\\\frame.stl" }', "is outside of the folder"),
        ('{ kind = "mesh", file = "link.stl" }', "links to outside of the folder"),
    ],
)
def test_what_is_wrong_is_named(table, said, folder, tmp_path_factory):
    outside = tmp_path_factory.mktemp("outside") / "frame.stl"
    outside.write_text(TRIANGLE)
    (folder / "link.stl").symlink_to(outside)
    (folder / "block.toml").write_text(model_text(table))
    with pytest.raises(dr.errors.ModelError, match="shape 1 of body 'block'") as refused:
        read_model(folder / "block.toml")
    assert said in str(refused.value)


def test_too_large_a_mesh_is_refused(folder, monkeypatch):
    monkeypatch.setattr(shapes, "MAX_BYTES", 10)
    (folder / "block.toml").write_text(model_text(EVERY[-1]))
    with pytest.raises(dr.errors.ModelError, match="simplify the mesh"):
        read_model(folder / "block.toml")


def test_a_model_is_not_written_away_from_its_meshes(folder, tmp_path_factory):
    (folder / "block.toml").write_text(model_text(EVERY[-1]))
    elsewhere = tmp_path_factory.mktemp("elsewhere") / "block.toml"
    with pytest.raises(dr.errors.ModelError, match="copy it there first"):
        write_model(read_model(folder / "block.toml"), elsewhere)
    write_model(read_model(folder / "block.toml"), folder / "parts" / "block.toml")
    assert 'file = "frame.stl"' in (folder / "parts" / "block.toml").read_text()
