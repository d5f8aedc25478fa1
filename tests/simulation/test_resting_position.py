"""A rate that is not zero only because a position was not given is named with the position at which it is."""

from __future__ import annotations

import re

import numpy as np
import pytest

import draisine as dr


def _proposed(text: str) -> float:
    return float(re.search(r"it is zero with \w+ = (\S+)", text).group(1))


def test_the_bicycle_is_told_its_steer_angle():
    """At random speeds and yaw rates: with the proposed angle, and no yaw rate given, the bicycle turns at that rate."""
    bicycle = dr.derive(dr.gallery.bicycle())
    rng = np.random.default_rng(5)
    for _ in range(6):
        speed, rate = rng.uniform(2.0, 12.0), rng.uniform(-0.8, 0.8)
        start = dr.consistent_start(bicycle, {"speed": speed, "yaw_rate": rate})
        (text,) = [line for line in start.report.rest if "steer_rate" in line]
        again = dr.consistent_start(bicycle, {"speed": speed, "steer": _proposed(text)})
        assert again.velocities["steer_rate"] == 0.0
        assert again.outputs["yaw_rate"] == pytest.approx(rate, rel=1e-4)
        assert start.coordinates["steer"] == 0.0  # the start is as it was given


def test_the_status_says_so_and_others_are_silent():
    bicycle = dr.gallery.bicycle()
    run = dr.simulate(bicycle, 0.1, start={"speed": 5.0, "yaw_rate": 0.1})
    (text,) = [line for line in run.status.warnings if "starts with steer_rate" in line]
    assert "steer is not given" in text
    for start in ({"speed": 5.0}, {"speed": 5.0, "roll_rate": 0.2}, {"speed": 5.0, "steer": 0.1}, {"steer_rate": 0.3}):
        report = dr.consistent_start(dr.derive(bicycle), start).report
        assert not report.moving, start


def test_two_joints_each_have_their_own():
    """A cart whose two arms carry springs: the velocity of an arm's end is given, and the arm rests where it points along it."""
    m = dr.Model("arms")
    m.body("cart", mass=5.0, inertia=(1, 1, 1))
    m.prismatic("shift", "ground", "cart", rate="cart_speed")
    m.body("arm", mass=1.0, center_of_mass=(0, 0, -0.5), inertia=(0.1, 0.1, 0.1))
    m.revolute("swing", "cart", "arm", "y")
    m.generalized_force("swing", "-3*swing")
    m.parameter("arm", 1.0, "m")
    m.output("rise", "cart_speed*sin(swing) + arm*swing_rate", "m/s")
    start = dr.consistent_start(dr.derive(m), {"cart_speed": 2.0, "rise": 0.4})
    (text,) = [line for line in start.report.rest if line.startswith("swing_rate")]
    assert start.velocities["swing_rate"] == pytest.approx(0.4)
    assert _proposed(text) == pytest.approx(np.arcsin(0.2), rel=1e-5)
