"""Solids by their volumes, and what bodies look like when nobody has said it."""

from __future__ import annotations

import numpy as np
import pytest

import draisine as dr
from draisine.view.drawing import pose
from draisine.view.scene.appearance import body_solids
from draisine.view.scene.bicycle_frames import axles_of, forks
from draisine.view.scene.scene import Hinge, Slide
from draisine.view.scene.solids import Box, Ellipsoid, Mesh, Ring, Sector, Tube, joined


def volume(mesh: Mesh) -> float:
    """By the divergence theorem: right only if the surface is closed and every triangle looks outwards."""
    a, b, c = (mesh.vertices[mesh.triangles[:, k]] for k in range(3))
    return float(np.einsum("mi,mi->m", a, np.cross(b, c)).sum()) / 6


AT, AXIS = np.array([0.3, -1.0, 2.0]), np.array([2.0, -1.0, 2.0]) / 3


@pytest.mark.parametrize(
    ("solid", "wanted"),
    [
        (Tube("b", np.array([AT, AT + 2 * AXIS]), 0.1, "#000000", sides=64), np.pi * 0.01 * 2),
        (Tube("b", np.array([AT, AT + [1, 0, 0], AT + [1, 1, 0]]), 0.01, "#000000", sides=64), np.pi * 1e-4 * 2),
        (Ring("b", AT, AXIS, 1.0, 0.2, "#000000", count=256, sides=64), 2 * np.pi**2 * 0.04),
        (Sector("b", AT, AXIS, 0.5, 0.1, "#000000"), np.pi * 0.25 * 0.1),
        (Ellipsoid("b", AT, np.diag([1.0, 2.0, 3.0]), "#000000", count=96), 4 / 3 * np.pi * 6),
        (Ellipsoid("b", AT, np.diag([1.0, 2.0, -3.0]), "#000000", count=96), 4 / 3 * np.pi * 6),
        (Box("b", AT, np.diag([1.0, 2.0, 3.0]), "#000000"), 48.0),
        (Box("b", AT, np.array([[0, 2.0, 0], [1.0, 0, 0], [0, 0, 3.0]]), "#000000"), 48.0),
    ],
)
def test_volumes(solid, wanted):
    assert volume(solid.mesh()) == pytest.approx(wanted, rel=5e-3)


def test_joined_meshes_keep_their_volume():
    parts = [
        Box("b", AT, np.eye(3), "#112233").mesh(),
        Box("b", -AT, np.eye(3), "#112233").mesh(),
        Box("c", AT, np.eye(3), "#112233").mesh(),
    ]
    found = joined(parts)
    assert [(mesh.body, round(volume(mesh), 9)) for mesh in found] == [("b", 16.0), ("c", 8.0)]


def dress(name: str, **targets: float):
    posed = pose(getattr(dr.gallery, name)(), targets or None, None)
    return posed.scene, posed.poses, body_solids(posed.scene, posed.poses)


def points_of(solids, body: str) -> np.ndarray:
    return np.concatenate([solid.mesh().vertices for solid in solids if solid.body == body])


@pytest.mark.parametrize("steer", [0.0, 0.7])
def test_the_bicycle_is_a_bicycle(steer):
    scene, poses, solids = dress("bicycle", steer=steer)
    (fork,) = forks(scene, poses).values()
    (front,), (rear,) = axles_of(scene, "fork"), axles_of(scene, "frame")
    assert (fork.body, front.radius, rear.radius) == ("fork", 0.35, 0.3)
    shape = points_of(solids, "fork")
    # the blades reach the hub on both sides of the tire; nothing of the fork is inside it
    for side in (-1, 1):
        assert np.linalg.norm(shape - (front.hub + side * (0.05 * 0.35 + front.width) * front.along), axis=1).min() < 0.02
    out = shape - front.hub
    middle = np.abs(out @ front.along) < 0.8 * front.width
    radial = np.linalg.norm(out - np.outer(out @ front.along, front.along), axis=1)
    assert not np.any(middle & (radial > 0.3) & (radial < 0.35))
    # a handlebar as broad as those one buys, above the wheel, and a saddle between the wheels
    world = poses["fork"].of(shape)
    assert 0.4 < np.ptp(shape @ front.along) < 0.8
    assert 0.8 < world[:, 2].max() < 1.2
    saddle = poses["frame"].of(points_of([s for s in solids if s.color == "#4A3B32"], "frame")).mean(axis=0)
    assert 0.75 < saddle[2] < 1.1
    assert 0.0 < saddle[0] < 0.6
    # head tube and steerer are on one line
    hinge = next(s for s in scene.shapes if isinstance(s, Hinge) and s.name == "steer")
    assert np.allclose(poses["frame"].of(hinge.at), poses["fork"].of(hinge.child_at), atol=1e-12)
    assert np.allclose(poses["frame"].rotated(hinge.axis), poses["fork"].rotated(hinge.child_axis), atol=1e-12)


def test_wheels_have_rims_and_spokes():
    _, _, solids = dress("bicycle")
    for wheel, radius in (("rear_wheel", 0.3), ("front_wheel", 0.35)):
        rings = [s for s in solids if s.body == wheel and isinstance(s, Ring)]
        assert max(ring.radius + ring.tube for ring in rings) == pytest.approx(radius)
        assert sum(isinstance(s, Tube) and s.sides == 4 for s in solids if s.body == wheel) == 20


@pytest.mark.parametrize("name", ["delebecque_graph", "schwab_bicycle", "leaning_rider", "sliding_bicycle"])
def test_other_bicycles_have_forks_and_frames(name):
    scene, poses, _ = dress(name)
    assert len(forks(scene, poses)) == 1


def test_a_car_has_no_handlebars():
    scene, poses, solids = dress("car")
    assert forks(scene, poses) == {}
    assert all(solid.body in (*scene.bodies, "ground") for solid in solids)


@pytest.mark.parametrize(
    "name",
    [
        "rolling_disk",
        "rolling_torus",
        "unicycle",
        "chaplygin_sleigh",
        "snakeboard",
        "four_bar",
        "stewart_platform",
        "cart_pole_graph",
        "swinging_atwood",
        "planetary_gear",
        "wheelset",
    ],
)
def test_every_body_has_a_solid_of_finite_points(name):
    scene, _, solids = dress(name)
    assert {solid.body for solid in solids} >= set(scene.bodies)
    for solid in solids:
        mesh = solid.mesh()
        assert np.isfinite(mesh.vertices).all()
        assert mesh.triangles.max() < len(mesh.vertices)


def test_rails_are_as_long_as_the_way():
    scene, poses, _ = dress("cart_pole_graph")
    slide = next(s for s in scene.shapes if isinstance(s, Slide))
    rails = [
        s
        for s in body_solids(scene, poses, {slide.name: (-3.0, 7.0)})
        if isinstance(s, Tube) and s.body == slide.body and len(s.path) == 2
    ]
    longest = max(rails, key=lambda rail: float(np.linalg.norm(rail.path[1] - rail.path[0])))
    along = (longest.path - slide.at) @ slide.axis
    assert along.min() < -3.0
    assert along.max() > 7.0


def test_given_shapes_replace_those_made_up():
    scene, poses, _ = dress("four_bar")
    box = Box("crank", np.zeros(3), np.eye(3), "#123456")
    solids = body_solids(scene, poses, given={"crank": [box]})
    assert [s for s in solids if s.body == "crank"] == [box]
    with pytest.raises(ValueError, match="shapes are given for 'crunk', but 'four_bar' has the bodies crank"):
        body_solids(scene, poses, given={"crunk": [box]})
