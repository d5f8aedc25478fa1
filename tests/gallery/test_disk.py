"""The rolling disk against Newton and Euler written by hand (`rolling_body`): accelerations, forces, steady turns, stability."""

from __future__ import annotations

import math

import numpy as np
import pytest

import draisine as dr
from draisine.gallery.entries.disk import rolling_disk, rolling_disk_paths, steady_spin
from gallery.rolling_body import RollingBody

MASS, RADIUS, GRAVITY = 1.7, 0.4, 9.5  # not the defaults, so that none is compiled in by mistake
DISK = RollingBody(MASS, RADIUS, 0.0, MASS * RADIUS**2 / 2, MASS * RADIUS**2 / 4, GRAVITY)
PARAMETERS = {"mass": MASS, "radius": RADIUS, "gravity": GRAVITY}


@pytest.fixture(scope="module")
def equations():
    found = dr.derive(rolling_disk())
    assert [s.name for s in found.states][3:] == ["heading", "lean", "spin_angle", "heading_rate", "lean_rate", "spin_angle_rate"]
    assert [p.name for p in found.parameters] == list(PARAMETERS)
    return found


def state(lean, lean_rate, turn_rate, spin, heading=0.7, spin_angle=0.9):
    place = [0.1, -0.2, RADIUS * math.cos(lean)]
    return np.array([*place, heading, lean, spin_angle, turn_rate, lean_rate, spin - turn_rate * math.sin(lean)])


def rates(equations, x):
    """(θ̈, Ω̇, σ̇) of the derived equations."""
    (xdot,) = equations.dynamics(0.0, x, [], list(PARAMETERS.values()))
    lean, turn_rate, lean_rate = x[4], x[6], x[7]
    turn2, lean2, own2 = xdot[6:]
    return np.array([lean2, turn2, own2 + turn2 * math.sin(lean) + turn_rate * math.cos(lean) * lean_rate])


def outputs(equations, x):
    names = [s.name for s in equations.report.outputs]
    reported = dict(zip(names, equations.report(0.0, x, [], list(PARAMETERS.values())), strict=True))
    return dict(zip([o.name for o in equations.outputs], reported["outputs"], strict=True))


def ground_force(equations, x):
    reported = outputs(equations, x)
    return np.array([reported[f"disk_{direction}_force"] for direction in ("longitudinal", "lateral", "normal")])


def test_accelerations_and_forces_of_any_motion(equations):
    rng = np.random.default_rng(1)
    for _ in range(60):
        lean, (heading, spin_angle), motion = rng.uniform(-1.3, 1.3), rng.uniform(-3, 3, 2), rng.uniform(-5, 5, 3)
        x = state(lean, *motion, heading, spin_angle)
        wanted, force = DISK.accelerations(lean, *motion)
        np.testing.assert_allclose(rates(equations, x), wanted, atol=1e-12 * (1 + abs(wanted).max()))
        np.testing.assert_allclose(ground_force(equations, x), force, atol=1e-12 * (1 + abs(force).max()))


@pytest.mark.parametrize("turn_rate", [-9.0, -2.0, -0.4, 0.3, 1.0, 6.0])
def test_steady_turns_have_no_accelerations(equations, turn_rate):
    for lean in np.linspace(-1.4, 1.4, 15):
        spin = DISK.steady_spin(lean, turn_rate)
        assert spin == pytest.approx(steady_spin(lean, turn_rate, RADIUS, GRAVITY), rel=1e-13, abs=1e-15)
        x = state(lean, 0.0, turn_rate, spin)
        scale = 1 + abs(turn_rate * spin) + turn_rate**2
        np.testing.assert_allclose(rates(equations, x), 0.0, atol=1e-12 * scale)
        force = MASS * np.array([0, turn_rate * DISK.speed(lean, turn_rate, spin), GRAVITY])
        np.testing.assert_allclose(ground_force(equations, x), force, atol=2e-12 * MASS * scale)
        # a spin that is a little off shows up in the lean, with the sign of the moment that is missing
        off = rates(equations, state(lean, 0.0, turn_rate, spin + 1e-3))[0]
        assert off * turn_rate > 1e-5 * turn_rate**2 * math.cos(lean)


@pytest.mark.parametrize(("lean", "turn_rate"), [(0.3, -1.5), (-0.9, 4.0), (0.6, -3.0)])
def test_a_simulated_steady_turn_is_a_circle(lean, turn_rate):
    spin = DISK.steady_spin(lean, turn_rate)
    start = {"lean": lean, "lean_rate": 0.0, "heading_rate": turn_rate, "spin": spin}
    turns = 10 * 2 * math.pi / abs(turn_rate)
    run = dr.simulate(rolling_disk(), turns, start=start, parameters=PARAMETERS, method=dr.methods.DOP853(rtol=1e-12, atol=1e-14))
    assert run.status.kind == "FINISHED"
    np.testing.assert_allclose(run["lean"], lean, atol=1e-9)
    of_center = DISK.speed(lean, turn_rate, spin) / turn_rate  # signed: to the left of the disc, which starts heading along x
    np.testing.assert_allclose(np.hypot(run["disk_x"], run["disk_y"] - of_center), abs(of_center), atol=1e-8)
    of_track = of_center - RADIUS * math.sin(lean)
    np.testing.assert_allclose(np.hypot(run["disk_contact_x"], run["disk_contact_y"] - of_center), abs(of_track), atol=1e-8)
    speed = abs(DISK.speed(lean, turn_rate, spin))
    np.testing.assert_allclose(run["disk_normal_force"], MASS * GRAVITY, atol=1e-8)
    np.testing.assert_allclose(abs(run["disk_lateral_force"]), MASS * speed**2 / abs(of_center), atol=1e-8)
    assert run["heading"][-1] == pytest.approx(math.copysign(20 * math.pi, turn_rate), abs=1e-8)


def test_straight_rolling_is_stable_above_its_critical_speed(equations):
    """λ² of the lean is half the trace of J² (all other eigenvalues are zero); it changes sign at v² = g r / 3."""
    jacobian = equations.dynamics.jacobian("xdot", "x")

    def exponent_squared(speed):
        (matrix,) = jacobian(0.0, state(0.0, 0.0, 0.0, speed / RADIUS), [], list(PARAMETERS.values()))
        # the characteristic polynomial is s⁷ (s² − λ²): nothing else than the pair ±λ
        assert np.trace(matrix) == pytest.approx(0.0, abs=1e-12)
        assert np.trace(matrix @ matrix @ matrix @ matrix) == pytest.approx(np.trace(matrix @ matrix) ** 2 / 2, abs=1e-9)
        return np.trace(matrix @ matrix) / 2

    critical = math.sqrt(GRAVITY * RADIUS / 3)
    for speed in (0.0, 0.4, 1.0, 1.3, 5.0, -1.3):
        assert exponent_squared(speed) == pytest.approx(DISK.lean_exponent_squared(speed / RADIUS), rel=1e-12)
    assert exponent_squared(critical) == pytest.approx(0.0, abs=1e-12)
    assert exponent_squared(critical * (1 - 1e-9)) > 0 > exponent_squared(critical * (1 + 1e-9))


def test_a_lean_to_the_right_is_a_turn_to_the_right():
    run = dr.simulate(rolling_disk(), 0.5, start={"speed": 2.0, "lean_rate": 0.3, "heading_rate": 0.0})
    assert run["lean"][5] > 0 and run["heading"][5] < 0 and run["disk_contact_y"][-1] < 0
    assert run["disk_x"][5] > 0


def test_the_study_runs_and_finds_the_critical_speed():
    study = rolling_disk_paths(until=4.0)
    assert "0.9905 m/s" in study.findings[0]
    assert set(study.runs) == {"disk_steady_turn", "disk_fast", "disk_slow"} and len(study.figures) == 5
