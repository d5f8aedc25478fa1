"""Steady motions against closed forms, published forces, and runs that stay on them."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

import draisine as dr

MEIJAARD = json.loads((Path(__file__).parents[1] / "reference" / "meijaard2007.json").read_text())


@pytest.fixture(scope="module")
def bike():
    return dr.gallery.bicycle()


def test_static_contact_forces(bike):
    found = dr.steady(bike, {"speed": 3.0})
    assert found["rear_wheel_normal_force"] == pytest.approx(MEIJAARD["static_normal_forces_N"]["rear"], abs=1e-9)
    assert found["front_wheel_normal_force"] == pytest.approx(MEIJAARD["static_normal_forces_N"]["front"], abs=1e-9)
    assert set(found.ignorable) == {"rear_wheel_angle", "front_wheel_angle", "frame_heading", "frame_x", "frame_y"}


def test_a_held_turn_stays(bike):
    turn = dr.steady(bike, {"speed": 5.0, "lean": 0.2}, free=("steer_torque", "pedal_torque"))
    e = turn.equations
    start = dict(zip((q.name for q in e.states), turn.x.tolist(), strict=True))
    torques = {name: turn[name] for name in ("steer_torque", "pedal_torque")}
    run = dr.simulate(bike, 2.0, start=start, inputs=torques)
    for name, value in (("lean", 0.2), ("speed", 5.0), ("steer", turn["steer"])):
        np.testing.assert_allclose(run[name], value, atol=1e-7)
    # it leans into the turn: to the right, so that the heading falls
    assert turn["yaw_rate"] < 0 < turn["lean"]


def test_hands_free_turn_needs_no_torque(bike):
    """Between the weave and capsize speeds there are turns that hold themselves; the bicycle leaves them slowly or not at all."""
    turn = dr.steady(bike, {"lean": 0.3}, near={"speed": 6.0, "lean": 0.3, "steer": -0.1})
    assert turn["steer_torque"] == 0.0
    e = turn.equations
    rates = e.explicit([0.0], turn.x, turn.u, turn.p)[0]
    np.testing.assert_allclose(rates[len(e.coordinates) :], 0.0, atol=1e-9)
    assert turn["yaw_rate"] < 0
    assert 5.0 < turn["speed"] < 6.1


def test_rolling_disk_in_a_circle():
    """A uniform disk rolls round a circle when r Ω² cos θ / 4 − (3/2) r σ Ω / tan θ = g (moment balance about its centre)."""
    lean, turn_rate, radius, gravity = 0.3, -2.0, 0.3, 9.81
    found = dr.steady(
        dr.gallery.rolling_disk(),
        {"lean": lean, "heading_rate": turn_rate},
        near={"lean": lean, "heading_rate": turn_rate, "spin": 4.0},
    )
    spin = 2 * math.tan(lean) * (radius * turn_rate**2 * math.cos(lean) / 4 - gravity) / (3 * radius * turn_rate)
    assert found["spin"] == pytest.approx(spin, rel=1e-10)
    # the ground carries the weight and holds the disk on its circle: force m Ω V towards the inside
    assert found["disk_normal_force"] == pytest.approx(gravity, rel=1e-10)


def test_impossible_turn_is_refused(bike):
    with pytest.raises(dr.ModelError, match=r"no steady motion with speed = 1, lean = 0.4"):
        dr.steady(bike, {"speed": 1.0, "lean": 0.4})
