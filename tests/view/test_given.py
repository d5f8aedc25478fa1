"""Shapes that descriptions give: solids of the right size, the right way out, where they belong."""

from __future__ import annotations

import math

import numpy as np
import pytest

import draisine as dr
from draisine.model.files import from_toml
from draisine.view.scene.from_model import scene_of
from draisine.view.scene.given_shapes import given_solids
from draisine.view.scene.solids import Ellipsoid, outline

R = 0.2
TEXT = """
name = "block"
[parameters]
r = {{ value = 0.2, unit = "m" }}
[bodies.block]
mass = 2
inertia = [1, 1, 1]
shapes = [{}]
[joints.slide]
kind = "prismatic"
parent = "ground"
child = "block"
"""


def mesh_of(table: str):
    system = from_toml(TEXT.format(table)).freeze()
    (solid,) = given_solids(system, {"r": R})
    return solid.mesh()


def volume(mesh) -> float:
    """By the divergence theorem: positive if, and only if, faces look outwards."""
    a, b, c = (mesh.vertices[mesh.triangles[:, k]] for k in range(3))
    return float(np.einsum("ij,ij->i", a, np.cross(b, c)).sum() / 6)


def middle(mesh) -> np.ndarray:
    a, b, c = (mesh.vertices[mesh.triangles[:, k]] for k in range(3))
    weights = np.einsum("ij,ij->i", a, np.cross(b, c)) / 6
    return (weights[:, None] * (a + b + c) / 4).sum(axis=0) / weights.sum()


N = 64  # sides of what is round
POLYGON = N / 2 * math.sin(2 * math.pi / N) / math.pi  # its area beside that of the circle


@pytest.mark.parametrize(
    ("table", "wanted", "exactly"),
    [
        ('{ kind = "box", size = [1, 0.5, "r"], orientation = [{ z = 0.4 }, { x = 1 }] }', 0.5 * R, 1e-12),
        ('{ kind = "sphere", radius = "r" }', 4 / 3 * math.pi * R**3, 0.03),
        ('{ kind = "ellipsoid", size = [1, 0.4, "2*r"], orientation = [{ x = 0.3 }] }', math.pi / 6 * 0.4 * 2 * R, 0.01),
        ('{ kind = "cylinder", radius = "r", length = 2, axis = "x" }', 2 * math.pi * R**2, 0.01),
        ('{ kind = "revolved", profile = [[0, "r"], [1, 0.1]] }', POLYGON * math.pi / 3 * (R**2 + 0.1 * R + 0.01), 1e-12),
        (
            '{ kind = "revolved", profile = [[1, 0.1], [0, "r"]], axis = "z" }',
            POLYGON * math.pi / 3 * (R**2 + 0.1 * R + 0.01),
            1e-12,
        ),
        ('{ kind = "prism", profile = [[0, 0], [0, "r"], [1, 0]], length = 3, orientation = [{ y = 0.3 }] }', 0.3, 1e-12),
        ('{ kind = "prism", profile = [[0, 0], [1, 0], [0, "r"]], length = 3, axis = "y" }', 0.3, 1e-12),
        ('{ kind = "stadium", levels = [[0, "r", 0.3], [2, "r", 0.3]] }', 2 * (math.pi * R**2 + 4 * R * 0.3), 0.01),
        ('{ kind = "stadium", levels = [[2, "r", 0.3], [0, "r", 0.3]], axis = "x" }', 2 * (math.pi * R**2 + 4 * R * 0.3), 0.01),
    ],
)
def test_volumes_and_the_way_out(table, wanted, exactly):
    assert volume(mesh_of(table)) == pytest.approx(wanted, rel=exactly)


def test_places_and_turns():
    mesh = mesh_of('{ kind = "box", size = [1, 0.1, 0.1], at = [1, 2, 3], orientation = [{ z = "90 deg" }] }')
    assert middle(mesh) == pytest.approx([1, 2, 3])
    assert np.ptp(mesh.vertices, axis=0) == pytest.approx([0.1, 1.0, 0.1])  # long along y now
    # about z first, then about the new x, which is the old y
    turned = mesh_of('{ kind = "box", size = [1, 0.1, 0.3], orientation = [{ z = "90 deg" }, { x = "90 deg" }] }')
    assert np.ptp(turned.vertices, axis=0) == pytest.approx([0.3, 1.0, 0.1])


def test_a_mesh_file_beside_the_model(tmp_path):
    (tmp_path / "tip.obj").write_text("v 0 0 0\nv 1000 0 0\nv 0 1000 0\nv 0 0 1000\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n")
    path = tmp_path / "block.toml"
    path.write_text(TEXT.format('{ kind = "mesh", file = "tip.obj", scale = 0.001, at = [0, 0, 1], color = "#112233" }'))
    (mesh,) = given_solids(dr.read_model(path).freeze(), {"r": R})
    assert volume(mesh) == pytest.approx(1 / 6) and mesh.color == "#112233"
    assert middle(mesh) == pytest.approx([0.25, 0.25, 1.25])


def test_films_and_drawings_have_them():
    model = from_toml(TEXT.format('{ kind = "sphere", radius = "r", color = "#112233" }'))
    run = dr.simulate(model, 0.1, start={"slide_rate": 1.0}, parameters={"r": 0.5})
    (take,) = run.animate(show=False).takes
    (mesh,) = (m for m in take.meshes if m.body == "block")
    assert mesh.color == "#112233" and np.ptp(mesh.vertices[:, 2]) == pytest.approx(1.0)
    other = {"block": Ellipsoid("block", np.zeros(3), np.eye(3), "#445566")}
    (mesh,) = (m for m in run.animate(show=False, shapes=other).takes[0].meshes if m.body == "block")
    assert mesh.color == "#445566"  # whoever draws has the last word
    drawn = dr.draw(model).axes
    paths = [p for axes in drawn for p in axes.patches if type(p).__name__ == "PathPatch"]
    assert [p.get_fill() for p in paths] == [True, False, True, False]  # a wash and its outline, in two views


def test_outline_of_a_sphere_is_a_circle():
    ball = Ellipsoid("ball", np.zeros(3), np.eye(3), "#000000", count=48).mesh()
    lines = outline(ball, np.array([1.0, 0.0, 0.0]))
    assert np.hypot(lines[..., 1], lines[..., 2]).min() > 0.95


def test_the_wheelset_stands_on_its_rails():
    """The coned treads, as they are drawn, touch the heads of the rails, as they are drawn."""
    model = dr.gallery.wheelset().freeze()
    scene = scene_of(model)
    treads = np.concatenate([s.mesh().vertices for s in scene.solids if s.body == "wheels"])
    heads = np.concatenate([s.mesh().vertices for s in scene.solids if s.body == "ground"])
    for side in (1, -1):
        wheel, rail = (points[side * points[:, 1] > 0.6] for points in (treads, heads))
        assert rail[:, 2].max() == pytest.approx(0.0, abs=1e-12)  # the crown
        # below the axle, which is at the height of the nominal radius: place across the track → lowest point of the tread
        across = np.linspace(0.76, 0.81, 51)
        lowest = 0.46 - (0.46 - (across - 0.75) * math.tan(0.05))
        crown = np.sqrt(0.21**2 - (across - 0.79) ** 2) - 0.21
        assert 0 < (lowest - crown).min() < 2e-3
        ring = wheel[np.abs(side * wheel[:, 1] - 0.82) < 1e-6]
        assert np.hypot(ring[:, 0], ring[:, 2]).max() == pytest.approx(0.46 - 0.07 * math.tan(0.05), rel=1e-3)
        flange = np.hypot(wheel[:, 0], wheel[:, 2]).max()
        assert flange == pytest.approx(0.488, rel=1e-6)
        inside = side * wheel[np.hypot(wheel[:, 0], wheel[:, 2]) > 0.47][:, 1]
        assert inside.max() < 0.79 - 0.036  # the flange runs inside of the head
