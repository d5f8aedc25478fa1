"""Starts with contacts: nothing moves only to close a contact or to let it stick."""

from __future__ import annotations

import math

import pytest

import draisine as dr

G = 9.81


def block(friction: float = 0.3) -> dr.Model:
    m = dr.Model("block")
    m.gravity(G)
    body = m.body("c", mass=1, inertia=(1, 0.02, 1))
    _in_plane(m, "c", "th")
    for i, x in enumerate((-0.2, 0.2)):
        m.contact(f"c{i}", m.point(f"p{i}", body, at=(x, 0, -0.1)), friction=friction)
    return m


def _in_plane(m: dr.Model, body: str, turn: str) -> None:
    a, b = m.body("a", mass=0), m.body("b", mass=0)
    m.prismatic("x", "ground", a, axis="x")
    m.prismatic("z", a, b, axis="z")
    m.revolute(turn, b, body, axis="y")


def boxes() -> dr.Model:
    m = dr.Model("boxes")
    m.gravity(0)
    for name in "ab":
        m.prismatic(f"{name}x", "ground", m.body(name, mass=1, inertia=(1, 1, 1)), axis="x")
    m.stop("s", "bx - ax", low=0, unit="m")
    return m


@pytest.mark.parametrize("given", [{"z": 0.1}, {}, {"z": 0.1, "z_rate": 0.0, "th": 0.0, "th_rate": 0.0}])
def test_a_pushed_block_slides_and_stops(given: dict[str, float]) -> None:
    run = dr.simulate(block(), 1, start={**given, "x_rate": 1.0})
    assert run.status.kind == "FINISHED"
    assert run["th_rate"][0] == run["z_rate"][0] == 0.0
    assert run["x"][-1] == pytest.approx(1 / (2 * 0.3 * G), abs=1e-9)
    assert run.modes[-1].modes == {"c0": "stick", "c1": "stick"}


@pytest.mark.parametrize(
    ("given", "rates"),
    [
        ({}, (0, 0, 0)),
        ({"z_rate": -1.0}, (0, -1, 0)),  # an impact on both edges
        ({"z_rate": 1.0}, (0, 1, 0)),
        ({"th_rate": 1.0}, (0, 0.2, 1)),  # about one edge, which slips
    ],
)
def test_velocities_that_are_not_given_rest(given: dict[str, float], rates: tuple[float, ...]) -> None:
    start = dr.consistent_start(block(), {"z": 0.1, **given})
    assert [start.velocities[name] for name in ("x_rate", "z_rate", "th_rate")] == pytest.approx(rates, abs=1e-12)


def test_a_tilted_block_stands_on_one_edge() -> None:
    start = dr.consistent_start(block(), {"th": 0.1})
    assert start.coordinates["z"] == pytest.approx(0.1 * math.cos(0.1) + 0.2 * math.sin(0.1), abs=1e-12)


def test_a_sled_slides_straight() -> None:
    m = dr.Model("sled")
    m.gravity(G)
    body = m.body("b", mass=2, inertia=(0.05, 0.06, 0.08))
    m.free(body)
    for i, (x, y) in enumerate(((0.3, 0.2), (0.3, -0.2), (-0.3, 0.2), (-0.3, -0.2))):
        m.contact(f"c{i}", m.point(f"p{i}", body, at=(x, y, -0.2)), friction=0.2)
    run = dr.simulate(m, 1.5, start={"b_z": 0.2, "b_vx": 2.0})
    assert (run["b_x"][-1], run["b_y"][-1]) == pytest.approx((4 / (2 * 0.2 * G), 0), abs=1e-8)


def test_boxes_stay_where_they_are() -> None:
    run = dr.simulate(boxes(), 2, start={"bx": 0.5, "ax_rate": 1.0})
    assert (run["ax"][0], run["bx_rate"][0]) == (0, 0)
    assert run["bx"][-1] + run["ax"][-1] == pytest.approx(2.5, abs=1e-12)  # momentum
    assert dr.consistent_start(boxes(), {"bx_rate": 1.0}).velocities["ax_rate"] == 0.0  # it leaves
    assert dr.consistent_start(boxes(), {"ax_rate": 1.0}).velocities["bx_rate"] == pytest.approx(1)  # it pushes


@pytest.mark.parametrize("locked", [(), ("rl", "rr"), ("rl", "rr", "fl", "fr")])
def test_wheels_roll_unless_their_spin_is_given(locked: tuple[str, ...]) -> None:
    m = dr.Model("car")
    m.gravity(G)
    hull = m.body("b", mass=100, inertia=(10, 20, 25))
    m.free(hull)
    wheels = {"rl": (-0.5, 0.4), "rr": (-0.5, -0.4), "fl": (0.5, 0.4), "fr": (0.5, -0.4)}
    for name, (x, y) in wheels.items():
        wheel = m.body(f"{name}_body", mass=5, inertia=(0.1, 0.2, 0.1))
        m.revolute(f"{name}_angle", hull, wheel, axis="y", at=(x, y, -0.3), rate=f"{name}_spin")
        m.wheel(name, wheel, radius=0.3, friction=0.8)
    start = dr.consistent_start(m, {"b_vx": 5.0, **{f"{name}_spin": 0.0 for name in locked}})
    for name in wheels:
        assert start.velocities[f"{name}_spin"] == pytest.approx(0 if name in locked else 5 / 0.3)
    assert [start.velocities[f"b_{name}"] for name in ("vy", "vz", "wx", "wy", "wz")] == pytest.approx([0] * 5, abs=1e-12)


def test_a_block_on_a_slope_is_not_thrown() -> None:
    start = dr.consistent_start(dr.gallery.block_on_slope(), {"x_rate": 1.0})
    assert all(abs(rate) <= 1 for rate in start.velocities.values())
