"""Each kind of constraint in the smallest mechanism with a known answer: accelerations, and multipliers with their signs."""

from __future__ import annotations

import math

import numpy as np
import pytest

import draisine as dr
from draisine.model.model import Model

EXACT = dr.methods.DOP853(rtol=1e-11, atol=1e-12)
G = 9.81


def first(model: Model, start: dict[str, float] | None = None, **given: float) -> dict[str, float]:
    """Everything named at the start, accelerations as `dNAME/dt`."""
    run = dr.simulate(model, 1e-3, start=start, inputs=given, method=EXACT, samples=[0.0])
    return {name: float(run[name][0]) for name in run.names()}


def rate_of(model: Model, name: str, start: dict[str, float], **given: float) -> float:
    """d(name)/dt at the start, by differences along an exact run."""
    h = 1e-3
    run = dr.simulate(model, 4 * h, start=start, inputs=given, method=EXACT, samples=[0.0, h, 2 * h, 3 * h, 4 * h])
    return float(np.array([-25, 48, -36, 16, -3]) @ run[name] / (12 * h))


def cartesian(mass: float = 2.0) -> Model:
    from draisine.expr.expression import Name
    from draisine.model.items import Translate
    from draisine.model.joints import length

    m = Model("cartesian")
    axes = [length(axis, default=value, span=(-2, 2)) for axis, value in (("x", 0.6), ("y", 0.0), ("z", -0.8))]
    m.joint("motion", "ground", m.body("bob", mass), [Translate(tuple(Name(a) for a in "xyz"))], axes)  # type: ignore[arg-type]
    return m


def test_a_rod_makes_a_spherical_pendulum_and_its_multiplier_is_its_thrust() -> None:
    m = cartesian()
    m.rod("string", "ground", "bob", 1.0)
    start = {"x": 0.6, "y": 0.0, "z": -0.8, "x_rate": 0.8, "y_rate": 0.5, "z_rate": 0.6}
    # along the string: m (v²/l) = T − m g cos, cos = 0.8; it pulls, so that the thrust is −T
    speed = 0.8**2 + 0.5**2 + 0.6**2
    tension = 2.0 * (speed + G * 0.8)
    assert first(m, start)["string_multiplier"] == pytest.approx(-tension, rel=1e-10)
    assert rate_of(m, "y_rate", start) == pytest.approx(0.0, abs=1e-7)
    assert rate_of(m, "x_rate", start) == pytest.approx(-tension * 0.6 / 2.0, rel=1e-7)
    assert dr.certify(m).passed


def test_a_prescribed_distance_pulls_the_pendulum_in() -> None:
    """A string of length 1 − t/2: r̈ = 0, so that the tension is m (r θ̇² + g cos), and the spin grows as r shrinks."""
    m = cartesian()
    m.prescribe("string", "distance(ground, bob)", "1 - t/2")
    start = {"x": 0.0, "y": 0.0, "z": -1.0, "x_rate": 1.5, "y_rate": 0.0}
    reported = first(m, start)
    assert reported["z_rate"] == pytest.approx(0.5, abs=1e-9)  # the string takes it along
    assert reported["string_multiplier"] == pytest.approx(-2.0 * (1.5**2 + G), rel=1e-9)
    # m r² θ̇ = L, L̇ = −m g r sin θ = 0 at the lowest point: θ̈ = −2 ṙ θ̇ / r, and ẍ = r θ̈ + 2 ṙ θ̇ = 0 there
    assert rate_of(m, "x_rate", start) == pytest.approx(0.0, abs=1e-6)
    assert dr.certify(m).passed


def test_a_rack_moves_a_carriage() -> None:
    """J α + m r² α = τ − m g r; the multiplier is the force on the carriage."""
    m = Model("hoist")
    m.revolute("turn", "ground", m.body("pinion", 1.0, inertia=(0.1, 0.2, 0.1)), axis="y")
    m.prismatic("lift", "ground", m.body("cage", 3.0), axis="z")
    m.rack("rack", "turn", "lift", "50 cm")
    m.generalized_force("turn", m.input("torque", "N*m"))
    alpha = (30.0 - 3.0 * G * 0.5) / (0.2 + 3.0 * 0.25)
    assert rate_of(m, "turn_rate", {}, torque=30.0) == pytest.approx(alpha, rel=1e-9)
    assert first(m, {}, torque=30.0)["rack_multiplier"] == pytest.approx(3.0 * (G + 0.5 * alpha), rel=1e-9)
    assert dr.certify(m).passed


def test_two_gears() -> None:
    """τ = (J₁ + k² J₂) α for second = k first; the multiplier is the torque on the second."""
    m = Model("gears")
    for name, size in (("small", 0.02), ("large", 0.3)):
        m.revolute(name, "ground", m.body(f"{name}_wheel", 1.0, inertia=(size, size, size)))
    m.gear("mesh", "small", "large", -0.25, "90 deg")
    m.generalized_force("small", m.input("torque", "N*m"))
    alpha = 0.7 / (0.02 + 0.3 / 16)
    reported = first(m, {"small": 0.4}, torque=0.7)
    assert reported["large"] == pytest.approx(math.pi / 2 - 0.1, abs=1e-12)
    assert reported["mesh_multiplier"] == pytest.approx(-0.3 * alpha / 4, rel=1e-9)
    assert rate_of(m, "small_rate", {}, torque=0.7) == pytest.approx(alpha, rel=1e-9)


def test_a_closed_hinge_and_slider_are_the_joints_of_those_names() -> None:
    """A door on its hinge, a drawer in its guide: a free body with the joint closed moves as with the joint in the tree."""
    door = {"mass": 5.0, "center_of_mass": (0.4, 0.1, -0.2), "inertia": (0.3, 0.5, 0.4)}
    hinge = {"at": (0.2, 0.3, 0.1), "orientation": [("x", 0.5)]}
    for kind, axis in (("hinge", "z"), ("slider", "x")):
        tree = Model(f"{kind}_in_the_tree")
        (tree.revolute if kind == "hinge" else tree.prismatic)("move", "ground", tree.body("door", **door), axis, **hinge)
        loop = Model(f"{kind}_closed")
        loop.free(loop.body("door", **door), at=hinge["at"])
        loop.frame("post", "ground", **hinge)
        (loop.close_hinge if kind == "hinge" else loop.close_slider)("held", "post", "door", axis)
        for m in (tree, loop):
            for axis_of in "xyz":
                m.output(f"p{axis_of}", f"position_{axis_of}(door)", "m")
                m.output(f"w{axis_of}", f"rate_{axis_of}(door)", "rad/s")
                m.output(f"v{axis_of}", f"velocity_{axis_of}(door)", "m/s")
        start = {"wz": 0.8} if kind == "hinge" else {"vx": 0.5}
        runs = [dr.simulate(m, 0.5, start=start, method=EXACT) for m in (tree, loop)]
        for name in (f"{letter}{axis_of}" for letter in "pwv" for axis_of in "xyz"):
            np.testing.assert_allclose(runs[0][name], runs[1][name], atol=1e-8)
        assert dr.certify(loop).passed


def test_the_forces_of_a_closed_hinge() -> None:
    """A door at rest on a vertical hinge: it holds the weight, and the moment of the weight about its own origin."""
    m = Model("door")
    m.free(m.body("door", 5.0, center_of_mass=(0.4, 0.0, 0.0), inertia=(0.3, 0.5, 0.4)))
    m.close_hinge("held", "ground", "door", "z")
    reported = first(m)
    forces = [reported[f"held_{row}_multiplier"] for row in ("x", "y", "z", "turn_x", "turn_y")]
    # the weight at 0.4 m along x turns the door about +y; the hinge holds against it
    assert forces == pytest.approx([0.0, 0.0, 5.0 * G, 0.0, -5.0 * G * 0.4], abs=1e-9)


def test_a_velocity_constraint_is_a_knife_edge() -> None:
    def sleigh(blade: bool) -> Model:
        m = Model("sleigh")
        m.gravity(0)
        m.planar(m.body("sleigh", 2.0, inertia=(0.3, 0.3, 0.3)))
        m.point("heel", "sleigh", (-0.25, 0, 0))
        if blade:
            m.knife_edge("sleigh", at=(-0.25, 0, 0), name="edge")
        else:
            m.constrain("edge", "body_velocity_y(heel)", level="velocity", unit="m/s")
        return m

    start = {"sleigh_vx": -0.8, "sleigh_heading_rate": 1.3, "sleigh_heading": 0.4}
    runs = [dr.simulate(sleigh(blade), 1.0, start=start, method=EXACT) for blade in (True, False)]
    for name in ("sleigh_x", "sleigh_y", "sleigh_heading"):
        np.testing.assert_allclose(runs[0][name], runs[1][name], atol=1e-9)
    np.testing.assert_allclose(runs[0]["edge_across_multiplier"], runs[1]["edge_multiplier"], atol=1e-8)
    assert dr.certify(sleigh(False), sleigh(True)).passed


def test_a_prescribed_velocity_starts_as_it_should() -> None:
    m = Model("belt")
    m.prismatic("way", "ground", m.body("box", 3.0), axis="x")
    m.prescribe("belt", "way_rate", "0.5 + 2*t", level="velocity")
    reported = first(m)
    assert reported["way_rate"] == pytest.approx(0.5, abs=1e-12)
    assert reported["belt_multiplier"] == pytest.approx(6.0, rel=1e-10)  # m a
