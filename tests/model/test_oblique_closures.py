"""Closures about and along any direction, against the joints of the same axes; planar bodies that stand elsewhere."""

from __future__ import annotations

import numpy as np
import pytest

import draisine as dr
from draisine.errors import ModelError
from draisine.model.files import from_toml, to_toml
from draisine.model.model import Model

TIGHT = dr.methods.DOP853(rtol=1e-10, atol=1e-11)
INERTIA = (0.3, 0.5, 0.4)


def _free_and_closed(kind: str, axis, orientation) -> Model:
    m = Model("closed")
    m.body("arm", mass=2.0, center_of_mass=(0.3, 0.1, -0.2), inertia=INERTIA)
    m.free("arm")
    m.frame("foot", "ground", orientation=orientation)
    m.frame("eye", "arm", orientation=orientation)
    (m.close_hinge if kind == "hinge" else m.close_slider)("closure", "foot", "eye", axis)
    return m


def _jointed(kind: str, axis) -> Model:
    m = Model("jointed")
    m.body("arm", mass=2.0, center_of_mass=(0.3, 0.1, -0.2), inertia=INERTIA)
    (m.revolute if kind == "hinge" else m.prismatic)("s", "ground", "arm", axis)
    return m


@pytest.mark.parametrize("kind", ["hinge", "slider"])
def test_closures_about_random_directions(kind):
    """A free body on an oblique hinge or guide moves as one on a joint of that axis; frames may be turned by any rotation."""
    rng = np.random.default_rng(9)
    for trial in range(4):
        axis = tuple(rng.normal(size=3)) if trial else (0.0, 1.0, 1.0)
        turns = [("x", rng.uniform(-1, 1)), ("y", rng.uniform(-1, 1))] if trial > 1 else []
        world = np.array(axis)
        for letter, angle in reversed(turns):
            c, s = np.cos(angle), np.sin(angle)
            world = (
                np.array([[1, 0, 0], [0, c, -s], [0, s, c]]) if letter == "x" else np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]])
            ) @ world
        closed, jointed = _free_and_closed(kind, axis, turns), _jointed(kind, tuple(world))
        assert len(dr.derive(closed).independent) == 1
        n = world / np.linalg.norm(world)
        names = [f"arm_{'w' if kind == 'hinge' else 'v'}{a}" for a in "xyz"]
        one = dr.simulate(closed, 0.5, start=dict(zip(names, 0.8 * n, strict=True)), method=TIGHT)
        two = dr.simulate(jointed, 0.5, start={"s_rate": 0.8}, method=TIGHT)
        if kind == "hinge":
            turned = 2 * np.arctan2(np.stack([one[f"arm_q{a}"] for a in "xyz"], 1) @ n, one["arm_qw"])
            np.testing.assert_allclose(turned, two["s"], atol=1e-8)
        else:
            np.testing.assert_allclose(np.stack([one[f"arm_{a}"] for a in "xyz"], 1) @ n, two["s"], atol=1e-8)
        np.testing.assert_allclose(one["kinetic_energy"], two["kinetic_energy"], rtol=1e-8)
        again = from_toml(to_toml(closed)).freeze()
        assert again.constraints == closed.freeze().constraints


def test_a_direction_from_parameters():
    m = Model("door")
    m.body("leaf", mass=20.0, center_of_mass=(0.4, 0, 0), inertia=(2.0, 3.0, 1.0))
    m.free("leaf")
    tilt = m.parameter("tilt", 0.2, "rad")
    from draisine.expr.expression import Call

    m.close_hinge("hinge", "ground", "leaf", (Call("sin", (tilt,)), 0, Call("cos", (tilt,))))
    assert len(dr.derive(m).independent) == 1
    run = dr.simulate(m, 1.0, parameters={"tilt": 0.1}, start={"leaf_wz": 0.5}, method=TIGHT)
    period = 2 * np.arctan2(np.hypot(run["leaf_qx"], run["leaf_qz"]), run["leaf_qw"])
    j = Model("door")
    j.body("leaf", mass=20.0, center_of_mass=(0.4, 0, 0), inertia=(2.0, 3.0, 1.0))
    j.revolute("s", "ground", "leaf", (np.sin(0.1), 0, np.cos(0.1)))
    other = dr.simulate(j, 1.0, start={"s_rate": run["leaf_wz"][0] / np.cos(0.1)}, method=TIGHT)
    np.testing.assert_allclose(period, np.abs(other["s"]), atol=1e-7)


def test_opposite_letters_and_wrong_axes():
    assert _free_and_closed("hinge", "-z", []).freeze().constraints == _free_and_closed("hinge", "z", []).freeze().constraints
    with pytest.raises(ModelError, match="or a vector such as"):
        _free_and_closed("hinge", "u", [])
    with pytest.raises(ModelError, match="no direction"):
        _free_and_closed("slider", (0, 0, 0), [])


@pytest.mark.parametrize("parent", ["ground", "cart"])
def test_planar_bodies_take_a_default_position(parent):
    m = Model("sled")
    m.body("cart", mass=1.0, inertia=(1, 1, 1))
    m.prismatic("shift", "ground", "cart")
    m.body("sled", mass=1.0, inertia=(1, 1, 1))
    m.planar("sled", parent=parent, at=(5.0, "-20 cm"), heading="90 deg")
    start = dr.consistent_start(dr.derive(m), {})
    assert [start.coordinates[f"sled_{name}"] for name in ("x", "y")] == [5.0, -0.2]
    assert start.coordinates["sled_heading"] == pytest.approx(np.pi / 2)
    assert from_toml(to_toml(m)).freeze() == m.freeze()
    with pytest.raises(ModelError, match="two numbers"):
        Model("m").planar("body", at=(1.0, 2.0, 3.0))


def _rotation(turns) -> np.ndarray:
    found = np.eye(3)
    for letter, angle in turns:
        c, s = np.cos(angle), np.sin(angle)
        found = found @ (
            np.array([[1, 0, 0], [0, c, -s], [0, s, c]]) if letter == "x" else np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]])
        )
    return found


def _disc(turned: np.ndarray | None) -> Model:
    """A rolling disc; `turned` are its body axes relative to those of its axle, y."""
    m = Model("disc")
    inertia, axis = np.diag([0.1, 0.2, 0.1]), "y"
    if turned is not None:
        inertia, axis = turned.T @ inertia @ turned, tuple(turned.T @ [0.0, 1.0, 0.0])
    parts = {"xx": (0, 0), "yy": (1, 1), "zz": (2, 2), "xy": (0, 1), "yz": (1, 2), "zx": (2, 0)}
    m.body("disc", mass=1.0, inertia={name: float(inertia[i]) for name, i in parts.items()})
    m.free("disc", at=(0, 0, 0.5))
    m.wheel("rim", "disc", 0.5, axis=axis)
    return m


def test_wheels_on_oblique_axles():
    """A disc whose body axes are turned relative to its axle rolls as any other."""
    plain = dr.simulate(_disc(None), 1.0, start={"disc_wx": 0.3, "disc_wy": 6.0, "disc_wz": 0.5}, method=TIGHT)
    rng = np.random.default_rng(1)
    for signs in ((1, 1), (-1, 1), (2.8, 0.3), (0.4, -2.9)):
        turns = [("x", signs[0] * rng.uniform(0.5, 1.0)), ("y", signs[1] * rng.uniform(0.5, 1.0))]
        turned = _rotation(turns)
        model = _disc(turned)
        half = [(np.cos(a / 2), np.sin(a / 2)) for _, a in turns]
        (cx, sx), (cy, sy) = half
        quaternion = {"disc_qw": cx * cy, "disc_qx": sx * cy, "disc_qy": cx * sy, "disc_qz": sx * sy}
        rates = dict(zip(("disc_wx", "disc_wy", "disc_wz"), turned.T @ [0.3, 6.0, 0.5], strict=True))
        run = dr.simulate(model, 1.0, start=quaternion | rates, method=TIGHT)
        for name in ("disc_x", "disc_y", "disc_z", "rim_normal_force", "kinetic_energy"):
            np.testing.assert_allclose(run[name], plain[name], atol=1e-7)
        assert from_toml(to_toml(model)).freeze() == model.freeze()
