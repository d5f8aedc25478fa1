"""Joints about and along any axis: equal to a joint about a coordinate axis of a turned frame, by every derivation."""

from __future__ import annotations

import math

import numpy as np
import pytest

import draisine as dr
from draisine.expr.expression import evaluate_number, parse
from draisine.model.files import from_toml, to_toml
from draisine.model.joints import about, along


def _matrix(steps, values):
    result = np.eye(3)
    for step in steps:
        angle = evaluate_number(step.angle, values)
        i = "xyz".index(step.axis)
        j, k = (i + 1) % 3, (i + 2) % 3
        turn = np.eye(3)
        turn[j, j] = turn[k, k] = math.cos(angle)
        turn[k, j], turn[j, k] = math.sin(angle), -math.sin(angle)
        result = result @ turn
    return result


def _rodrigues(axis, angle):
    x, y, z = np.asarray(axis) / np.linalg.norm(axis)
    skew = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + math.sin(angle) * skew + (1 - math.cos(angle)) * skew @ skew


AXES = [
    (0, 0, -1),
    (0, -2, 0),
    (1, 1, 0),
    (0, 1, 1),
    (-1, 0, 3),
    (1, 2, 3),
    (-1, -2, -3),
    (1e-8, 0, 1),
    (5e-200, 5e-200, 0),
    (3, -2, 1),
]


@pytest.mark.parametrize("axis", AXES)
def test_elementary_rotations_are_the_rotation_about_the_axis(axis) -> None:
    for q in (-2.0, 0.3, 1.7):
        unit = np.asarray(axis) / max(map(abs, axis))
        np.testing.assert_allclose(_matrix(about(axis, parse("q"), "joint"), {"q": q}), _rodrigues(unit, q), atol=3e-16)


def test_random_axes_and_axes_by_parameters() -> None:
    rng = np.random.default_rng(5)
    for _ in range(200):
        axis, q = rng.normal(size=3) * 10 ** rng.uniform(-3, 3), rng.uniform(-3, 3)
        np.testing.assert_allclose(_matrix(about(tuple(axis), parse("q"), "j"), {"q": q}), _rodrigues(axis, q), atol=1e-15)
        named = dict(zip("abc", axis, strict=True)) | {"q": q}
        np.testing.assert_allclose(_matrix(about(("a", "b", "c"), parse("q"), "j"), named), _rodrigues(axis, q), atol=1e-15)
        flat = about(("a", 0, "c"), parse("q"), "j")
        np.testing.assert_allclose(_matrix(flat, named), _rodrigues((axis[0], 0, axis[2]), q), atol=1e-15)
        by = [evaluate_number(c, named) for c in along(("a", "b", "c"), parse("q"), "j").by]
        np.testing.assert_allclose(by, q * axis / np.linalg.norm(axis), atol=1e-15)


@pytest.mark.parametrize("axis", ["z", "-z", "-y"])
def test_coordinate_axes_need_no_other_rotation(axis) -> None:
    assert [step.axis for step in about(axis, parse("q"), "j")] == [axis[-1]]


def _arm(axis, kind="revolute", **options) -> dr.Model:
    """A driven base with a link on a joint of this axis, and a second link on it."""
    m = dr.Model("arm")
    inertia = {"xx": 0.3, "yy": 0.4, "zz": 0.5, "xy": 0.05}
    m.body("base", 2.0, (0.1, 0.2, 0.3), inertia)
    m.body("link", 1.5, (0.3, -0.1, 0.2), inertia)
    m.revolute("swing", "ground", "base", axis="y")
    getattr(m, kind)("joint", "base", "link", axis=axis, at=(0.2, 0.1, -0.3), **options)
    return m


def _tilted(axis, kind="revolute", **options) -> dr.Model:
    """The same with the joint about z of massless frames that are turned there and back."""
    x, y, z = np.asarray(axis, float) / np.linalg.norm(axis)
    turns = [("z", math.atan2(y, x)), ("y", math.atan2(math.hypot(x, y), z))]
    m = dr.Model("arm")
    inertia = {"xx": 0.3, "yy": 0.4, "zz": 0.5, "xy": 0.05}
    m.body("base", 2.0, (0.1, 0.2, 0.3), inertia)
    m.body("hub", 0.0)
    m.body("link", 1.5, (0.3, -0.1, 0.2), inertia)
    m.revolute("swing", "ground", "base", axis="y")
    getattr(m, kind)("joint", "base", "hub", axis="z", at=(0.2, 0.1, -0.3), orientation=turns, **options)
    m.fixed("back", "hub", "link", orientation=[(a, -b) for a, b in reversed(turns)])
    return m


@pytest.mark.parametrize("axis", [(0, 0, -1), (0, 1, 1), (2, -3, 1), (-1, -1, -1)])
@pytest.mark.parametrize("kind", ["revolute", "prismatic", "cylindrical", "screw"])
def test_accelerations_are_those_of_a_turned_frame(axis, kind) -> None:
    options = {"lead": 0.4} if kind == "screw" else {}
    one, two = (dr.derive(model(axis, kind, **options)) for model in (_arm, _tilted))
    rng = np.random.default_rng(1)
    assert [s.name for s in one.states] == [s.name for s in two.states]
    for _ in range(5):
        x = rng.normal(size=len(one.states))
        p = []
        first, second = (e.dynamics(0.0, x, [], p)[0] for e in (one, two))
        np.testing.assert_allclose(first, second, rtol=1e-11, atol=1e-11)


def test_opposite_axis_is_the_negative_angle() -> None:
    up, down = (
        dr.simulate(_arm(axis), 2.0, start={"swing": 0.4, "joint": s * 0.3, "joint_rate": s})
        for axis, s in (("z", 1), ((0, 0, -1), -1))
    )
    np.testing.assert_allclose(up["joint"], -down["joint"], atol=1e-8)
    np.testing.assert_allclose(up["swing"], down["swing"], atol=1e-8)


@pytest.mark.parametrize("axis", [(0, 1, 1), (1, 2, 3)])
def test_certificate_holds(axis) -> None:
    assert dr.certify(_arm(axis)).passed


def test_rigid_pendulum_about_an_oblique_axis_has_its_period() -> None:
    """Small swings of a point mass about a tilted axis: ω² = g sin(tilt) / l, the tilt measured from the vertical."""
    tilt, length = 0.7, 0.8
    m = dr.Model("gate")
    m.body("bob", 1.0, (length * math.cos(tilt), 0, -length * math.sin(tilt)), (1e-9, 1e-9, 1e-9))
    m.revolute("swing", "ground", "bob", axis=(math.sin(tilt), 0, math.cos(tilt)))
    values = np.linalg.eigvals(dr.linearize(m).A)
    assert max(np.abs(np.imag(values))) == pytest.approx(math.sqrt(9.81 * math.sin(tilt) / length), rel=1e-8)


@pytest.mark.parametrize("kind", ["revolute", "prismatic", "cylindrical", "screw"])
@pytest.mark.parametrize("axis", AXES[:8])
def test_files_keep_the_axis(axis, kind) -> None:
    model = _arm(axis, kind, **({"lead": 0.4} if kind == "screw" else {}))
    assert from_toml(to_toml(model)).freeze() == model.freeze()


def test_files_give_axes_as_lists() -> None:
    text = """
name = "gate"
[bodies.leaf]
mass = 1
[joints.swing]
kind = "revolute"
parent = "ground"
child = "leaf"
axis = [0, 1, 1]
orientation = [{ axis = [1, 1, 0], angle = "20 deg" }]
"""
    m = dr.Model("gate")
    m.body("leaf", 1)
    m.revolute("swing", "ground", "leaf", axis=(0, 1, 1), orientation=[((1, 1, 0), "20 deg")])
    assert from_toml(text).freeze() == m.freeze()
    assert "axis = [0, 0.7" in to_toml(_arm((0, 1, 1)))


@pytest.mark.parametrize("axis", [(0, 0, 0), (1, 2), "w", 3, (1, 2, "m"), None, (float("nan"), 0, 1), ("a", 0, 0), "", "--z"])
def test_what_is_no_axis_is_refused(axis) -> None:
    m = dr.Model("arm")
    m.body("link", 1.0)
    with pytest.raises(dr.errors.ModelError, match="joint"):
        m.revolute("turn", "ground", "link", axis=axis)
        m.freeze()


def test_drawings_show_the_axis() -> None:
    from draisine.view.scene.from_model import scene_of
    from draisine.view.scene.scene import Hinge, Slide

    for kind, shape in (("revolute", Hinge), ("cylindrical", Hinge), ("prismatic", Slide)):
        found = next(s for s in scene_of(_arm((1, 2, -3), kind).freeze()).shapes if isinstance(s, shape) and s.name == "joint")
        np.testing.assert_allclose(np.abs(found.axis @ np.array([1, 2, -3])), math.sqrt(14), rtol=1e-12)
