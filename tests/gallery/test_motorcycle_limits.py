"""Motorcycles of the gallery over a bump, on ice and through a corner in the least time."""

from __future__ import annotations

import numpy as np
import pytest

import draisine as dr
from draisine import gallery
from draisine.gallery.entries import motorcycle_kick_back, motorcycle_low_side
from draisine.gallery.entries import motorcycle_optimal_corner as corner
from draisine.model.files import from_toml, to_toml


@pytest.mark.parametrize("name", ["motorcycle_over_bump", "motorcycle_on_ice", "cornering_motorcycle"])
def test_models_are_files(name: str) -> None:
    model = gallery.model(name)
    assert from_toml(to_toml(model)).freeze() == model.freeze()


def test_the_pencil_finds_exponents() -> None:
    """Of random sums of decaying oscillations, to rounding."""
    rng = np.random.default_rng(1990)
    times = np.linspace(0.0, 2.0, 201)
    for _ in range(5):
        roots = -rng.uniform(0.5, 4.0, 2) + 1j * rng.uniform(5.0, 50.0, 2)
        values = sum((rng.normal() * np.exp(z * times + 1j * rng.uniform(0, 6))).real for z in roots)
        found = motorcycle_kick_back.decaying_modes(times, values, 4)
        for root in roots:
            assert np.abs(found - root).min() < 1e-8 * abs(root)


def test_kick_back() -> None:
    """The study asserts that the wobble in the run is that of the eigenvalue, to 1e-3."""
    study = motorcycle_kick_back.kick_back()
    assert study.findings[-1] == "wobble from the run: -2.921+41.788j 1/s; eigenvalue of the turn: -2.922+41.787j 1/s"


def test_low_side() -> None:
    """The study asserts that the mass center goes straight on within the impulse of what friction is left."""
    study = motorcycle_low_side.low_side()
    assert "lies after 0.82 s" in study.findings[0] and "lies after 0.58 s" in study.findings[1]
    assert study.runs["brake"]["front_spin"][0] > 60.0 > 1.0 > study.runs["brake"]["front_spin"].min()


@pytest.mark.parametrize("tires", [True, False])
def test_torques_of_flywheels(tires: bool) -> None:
    """Flywheels at constant torques, or torques at the machine itself that grow with time: the same motion."""
    slopes = {"steering": -15.0, "driving": -300.0, "braking": 500.0}  # N*m/s
    inputs = {"steer_torque": "-15*t", "drive_torque": "-300*t", "front_brake_torque": "500*t"}
    rates = {f"{name}_rate": slope / corner.UNIT for name, slope in slopes.items()}
    start = {"speed": 12.0}
    machine, method = corner.cornering_motorcycle(tires), dr.methods.Radau(rtol=1e-9, atol=1e-10)
    direct = dr.simulate(machine, 0.4, start=start, inputs=inputs, method=method)
    gradual = dr.simulate(corner.with_gradual_torques(machine), 0.4, start=start, inputs=rates, method=method)
    assert gradual.final["braking_torque"] == pytest.approx(200.0, abs=1e-6)
    assert abs(direct.final["lean"]) > 0.01 and direct.final["speed"] < 11.9
    for name in ("lean", "steer", "heading", "speed", "front_normal_force", "rear_lateral_force"):
        # the smooth law of the brake is 1 − (0.5/spin)²/2 of its torque
        assert gradual.final[name] == pytest.approx(direct.final[name], rel=3e-4, abs=1e-5), name


@pytest.mark.long
def test_the_quickest_corner() -> None:
    """A corner of 20° on tires, solved; its torques, integrated anew by another method, end it as asked, within friction."""
    turn = np.radians(20.0)
    found = corner.quickest(True, intervals=12, turn=turn, tolerance=1e-3)
    assert found.outcome == "SOLVED" and found.discrepancy < 1e-4
    assert corner.least_time(found, turn, 1e-4) == pytest.approx(20.0 * np.sin(turn) / 9.81, rel=1e-12)
    assert found.duration == pytest.approx(1.2164, abs=0.01)
    corner.within_cones(found, 1e-3)
    assert {active.name for active in found.optimality.active} >= {"front_grip", "rear_grip"}
    model = corner.with_gradual_torques(corner.cornering_motorcycle())
    method = dr.methods.Radau(rtol=1e-9, atol=1e-9)
    run = dr.simulate(model, found.duration, start={"speed": 20.0}, inputs=found.feedforward, method=method, samples=2001)
    ends = {"heading": turn, "lean": 0.0, "steer": 0.0, "steer_rate": 0.0, "frame_vy": 0.0}
    assert {name: run.final[name] for name in ends} == pytest.approx(ends, abs=1e-4)
    for wheel in corner.WHEELS:
        assert 0.99 < run[f"{wheel}_friction_needed"].max() < 1.01  # 1e-3 of the weight squared, at a small load
