"""The controlled turn of Mauny, Porez & Boyer (2017): laws as printed, signs, and the figures of the paper to 15 %."""

from __future__ import annotations

import math

import numpy as np
import pytest

import draisine as dr
from draisine.expr.expression import evaluate_number, parse
from draisine.gallery.entries.bicycle import bicycle
from draisine.gallery.entries.bicycle_controlled_turn import TurnLaw, bicycle_controlled_turn, mean_curvature


def _turn(until: float, law: TurnLaw, method: dr.methods.DOP853 | dr.methods.PredictorCorrector | None = None) -> dr.Trajectory:
    inputs = {"steer_torque": law.steer_torque(), "pedal_torque": law.pedal_torque()}
    return dr.simulate(
        bicycle(), until, start={"speed": 6.0}, inputs=inputs, method=method or dr.methods.DOP853(rtol=1e-10, atol=1e-12)
    )


@pytest.mark.parametrize("t", [0.0, 0.1, 0.5, 0.99, 1.0, 1.01, 1.7, 2.0, 2.1, 9.0])
def test_laws_are_those_printed(t: float) -> None:
    def slope(begin: float, end: float) -> float:
        if t <= begin:
            return 0.0
        share = (t - begin) / (end - begin)
        return share - math.sin(2 * math.pi * share) / (2 * math.pi) if t <= end else 1.0

    steer, spin = 0.04, 19.0
    wanted = slope(0.0, 1.0) if t <= 1.0 else 1 - slope(1.0, 2.0)
    printed = -10.0 * (math.pi / 12 * wanted - steer)
    law = TurnLaw()
    assert evaluate_number(parse(law.steer_torque()), {"t": t, "steer": steer}) == pytest.approx(printed, abs=1e-13)
    assert evaluate_number(parse(law.pedal_torque()), {"t": t, "rear_wheel_spin": spin}) == pytest.approx(40.0, abs=1e-13)


def test_study_holds() -> None:
    run = bicycle_controlled_turn().runs["bicycle_controlled_turn"]
    assert mean_curvature(run, 3.5) == pytest.approx(0.067, rel=0.15)
    moved = run["front_wheel_contact_angle"] - (math.pi + math.pi / 10)
    assert -moved.min() == pytest.approx(0.13, rel=0.15) and moved.max() < 0.01  # forward along the tire
    # countersteer: the bar to the right, the bicycle falls to the left, and the turn goes to the left
    at = run.at(0.6)
    assert at["steer"] < -0.02 and at["heading"] < -0.01 and at["roll_rate"] < -0.1
    at = run.at(1.5)
    assert at["steer"] > 0.15 and at["heading"] > 0.4 and at["lean"] < -0.4
    assert not run.warnings


def test_with_the_other_sign_it_falls() -> None:
    """Leaning ever more to the right at the end of the steering phase; from 2.1 s on the ground would have to pull."""
    run = _turn(4.0, TurnLaw(k_ps=-10.0))
    assert run.at(1.5)["lean"] > 0.5 and run.at(2.0)["lean"] > 0.9
    assert [event.name for event in run.events] == ["fell_over"] and run.time[-1] < 3.0
    assert any("lift off" in warning for warning in run.warnings)


def test_a_turn_to_the_right_is_its_mirror_image() -> None:
    left, right = _turn(3.0, TurnLaw()), _turn(3.0, TurnLaw(r_1d=-math.pi / 12))
    for name in ("lean", "steer", "heading", "steer_torque", "rear_wheel_contact_y"):
        assert right[name] == pytest.approx(-left[name], abs=1e-8), name
    for name in ("speed", "pedal_torque", "front_wheel_contact_angle", "rear_wheel_contact_x"):
        assert right[name] == pytest.approx(left[name], abs=1e-7), name


def test_the_contact_angle_is_that_of_equation_17() -> None:
    """The paper's axes x up, y forward, z left are ours z, x, y; so its formula gives our angle, and fixes the sign of r₁."""
    run = _turn(2.0, TurnLaw())
    tilt, steer = run.parameters["steer_axis_tilt"], run["steer"]
    w, x, y, z = (run[f"frame_{part}"] for part in ("qw", "qx", "qy", "qz"))
    # the world's vertical in the frame's axes: last row of the rotation matrix
    forward, left, up = 2 * (x * z - w * y), 2 * (y * z + w * x), w * w - x * x - y * y + z * z
    a = np.cos(steer) * (up * math.sin(tilt) + forward * math.cos(tilt)) + left * np.sin(steer)
    b = up * math.cos(tilt) - forward * math.sin(tilt)
    printed = np.arctan2(-a, -b) % (2 * math.pi)
    assert run["front_wheel_contact_angle"] == pytest.approx(printed, abs=1e-9)
    assert np.ptp(printed) > 0.1


def test_the_method_of_the_paper_gives_the_same_turn() -> None:
    fine, coarse = _turn(3.0, TurnLaw()), _turn(3.0, TurnLaw(), dr.methods.PredictorCorrector(step=0.005))
    for name in ("heading", "lean", "steer", "rear_wheel_contact_x", "rear_wheel_contact_y"):
        assert coarse[name][-1] == pytest.approx(fine[name][-1], abs=1e-6), name
