"""Entries with contacts that open: the studies, and what their descriptions say against independent programs and closed forms."""

from __future__ import annotations

import math
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import brentq

import draisine as dr
from draisine import gallery
from draisine.gallery.entries.ball_on_sphere import at_angle, ball_on_sphere, leaves_at
from draisine.gallery.entries.block_on_slope import block_on_slope, on_the_slope
from draisine.gallery.entries.bouncing_ball import bounces, bouncing_ball
from draisine.gallery.entries.braking_bicycle import braking_bicycle
from draisine.gallery.entries.cue_ball import FRICTION, RADIUS, cue_ball, rolls_after, shot
from draisine.gallery.entries.falling_rod import falling_rod, on_its_way, slips_at
from draisine.gallery.entries.newtons_cradle import BALLS, lifted, newtons_cradle
from draisine.gallery.entries.painleve import VERDICTS, coefficients, sliding, verdict
from draisine.gallery.entries.rimless_wheel import gait, on_two_spokes, rimless_wheel
from draisine.gallery.entries.rocking_block import impacts_of, rocking_block

sys.path.insert(0, str(Path(__file__).parents[1] / "contact"))
from judge_event import Flow, Sliding
from scenes import planar_bicycle

from reference import cases

STUDIES = (
    "ball_comes_to_rest",
    "block_slides_and_sticks",
    "cue_ball_rolls",
    "ball_leaves_sphere",
    "rod_falls",
    "block_rocks",
    "rimless_wheel_rolls",
    "compass_gait_walks",
    "cradle_swings",
    "bicycle_brakes",
    "superball_returns",
    "coin_settles",
    "tricycle_on_two_wheels",
    "wheelset_strikes_flanges",
    "hopper_jumps",
    "tippe_top_turns_over",
    "simplest_walker_walks",
    "bicycle_drops_off_a_kerb",
    "bicycle_skids",
    "bicycle_falls",
)
TIGHT = dr.methods.DOP853(rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("name", STUDIES)
def test_the_study_holds(name: str) -> None:
    study = gallery.study(name)()
    assert study.runs and study.figures and study.findings
    assert all(run.status.kind in ("FINISHED", "EVENT") for run in study.runs.values())
    film = gallery.entry(name).film
    assert film in study.runs


def test_painleves_regions() -> None:
    study = gallery.study("painleve_paradox")(count=40)
    assert "50.6416° to 73.0485°" in study.findings[0]


def test_random_drops_end_where_the_bounces_do() -> None:
    random = np.random.default_rng(1)
    model = bouncing_ball()
    for height, e, speed in zip(random.uniform(0.1, 3, 6), random.uniform(0.1, 0.9, 6), random.uniform(-3, 3, 6), strict=True):
        times, rest = bounces(height, e, 4)
        start = {"z": 0.1 + height, "x_rate": speed}
        run = dr.simulate(model, rest + 0.2, start=start, parameters={"restitution": e, "friction": 0.6})
        found = [change.time for change in run.modes.impacts]
        np.testing.assert_allclose(found[:4], times, rtol=0, atol=1e-10)
        bounced = [change for change in run.modes if change.modes["floor"] == "stick"]
        assert bounced[0].time == pytest.approx(rest, abs=1e-10)
        assert run["x_rate"][-1] == pytest.approx(5 / 7 * speed, abs=1e-9)  # it grips at the first bounce


def test_random_blocks_stop_or_slide_on() -> None:
    """Acceleration g (sin α − μ cos α) down the slope, until it stops; loads of the edges by their balance of moments."""
    random = np.random.default_rng(2)
    model = block_on_slope()
    c, s = math.cos(math.radians(20)), math.sin(math.radians(20))
    for mu, speed in zip(random.uniform(0.1, 0.9, 8), random.uniform(0.5, 3, 8), strict=True):
        run = dr.simulate(model, 1.0, start=on_the_slope(speed), parameters={"friction": mu})
        rate = 9.81 * (s - mu * c)
        assert run.status.kind == "FINISHED"
        expected = max(0.0, speed + rate) if rate < 0 else speed + rate
        assert run["block_speed"][-1] == pytest.approx(expected, abs=1e-9)
        assert run["front_normal_force"][0] == pytest.approx(2 * 9.81 * c * (0.5 + mu * 0.2 / 0.8), rel=1e-10)
        stops = rate < 0 and -speed / rate < 1.0
        assert (set(run.modes[-1].modes.values()) == {"stick"}) == stops


def test_random_shots_roll_as_coriolis_says() -> None:
    random = np.random.default_rng(3)
    model = cue_ball()
    for _ in range(6):
        velocity, spin = tuple(random.uniform(-2, 2, 2)), tuple(random.uniform(-80, 80, 3))
        time, speed, lost = rolls_after(velocity, spin)
        run = dr.simulate(model, time + 0.1, start=shot(velocity, spin), method=TIGHT)
        assert run.modes[-1].time == pytest.approx(time, abs=1e-10)
        np.testing.assert_allclose([run["speed_x"][-1], run["speed_y"][-1]], speed, rtol=0, atol=1e-9)
        assert run["kinetic_energy"][0] - run["kinetic_energy"][-1] == pytest.approx(lost, abs=1e-9)
        middle = run.at(time / 2)  # a parabola until it rolls
        u = np.array([velocity[0] - RADIUS * spin[1], velocity[1] + RADIUS * spin[0]])
        way = np.array(velocity) * time / 2 - 0.5 * FRICTION * 9.81 * u / np.linalg.norm(u) * (time / 2) ** 2
        np.testing.assert_allclose([middle["ball_x"], middle["ball_y"]], way, rtol=0, atol=1e-9)


def test_balls_on_spheres_leave_where_they_should() -> None:
    random = np.random.default_rng(4)
    model = ball_on_sphere(0.3)
    for mu, theta in zip(random.uniform(0.05, 2.0, 6), random.uniform(0.02, 0.3, 6), strict=True):
        slip, leave = leaves_at(mu, theta)
        if slip < theta + 0.01:
            continue
        run = dr.simulate(model, 4.0, start=at_angle(theta), parameters={"friction": mu}, method=TIGHT)
        left = next(change.time for change in run.modes if change.modes["sphere"] == "open")
        begins = next(change.time for change in run.modes if change.modes["sphere"] == "slip")
        at = run.at(np.array([begins, left]))
        np.testing.assert_allclose(at["angle"], [slip, leave], rtol=0, atol=1e-9)


def test_random_rods_slip_where_friction_ends() -> None:
    random = np.random.default_rng(5)
    model = falling_rod()
    for mu in random.uniform(0.05, 1.2, 8):
        theta, forward = slips_at(mu)
        run = dr.simulate(model, 0.5, start=on_its_way(0.8 * theta), parameters={"friction": mu}, method=TIGHT)
        begin = next(change.time for change in run.modes if change.modes["foot"] == "slip")
        assert run.at(begin)["theta"] == pytest.approx(theta, abs=1e-9)
        assert (run.at(begin + 1e-4)["foot_slip_along"] > 0) == forward


def test_a_rod_that_stops_in_painleves_region_sticks() -> None:
    """At rest there is always a motion; only a foot that slides may have none (Lötstedt 1981)."""
    model = falling_rod()
    for phi, omega, speed in ((0.8638, 2.0, 2.0), (0.8338, 2.0, 2.0), (0.7838, 2.0, 2.0)):
        run = dr.simulate(model, 1.0, start=sliding(phi, omega, speed), parameters={"friction": 1.5})
        assert run.status.kind == "FINISHED", run.status
    for phi in np.linspace(0.9, 1.25, 5):
        run = dr.simulate(model, 1e-3, start=sliding(phi, 0.0, 0.0), parameters={"friction": 1.5})
        assert run.status.kind == "FINISHED" and run.modes[0].modes["foot"] == "stick"
        p, _ = coefficients(phi, 0.0)
        assert p < 0 and VERDICTS[verdict(phi, 0.0)] == "CONTACT_INCONSISTENT"


def test_blocks_rock_with_any_amplitude() -> None:
    model = rocking_block()
    for tilt in (0.02, 0.15, 0.2):
        times, amplitudes = impacts_of(tilt, 3)
        start = {"tilt": tilt, "tilt_rate": 0.0, "x": 0.15 * (1 - math.cos(tilt)), "z": 0.15 * math.sin(tilt)}
        run = dr.simulate(model, times[-1] + 0.02, start=start, method=TIGHT)
        found = np.array([change.time for change in run.modes.impacts])
        np.testing.assert_allclose(found, times, rtol=0, atol=1e-9)
        for (first, second), amplitude in zip(pairwise(found), amplitudes, strict=False):
            between = run.at(np.linspace(first, second, 2001))["tilt"]
            assert abs(between).max() == pytest.approx(amplitude, rel=1e-6)


def test_the_rimless_wheel_keeps_its_gait() -> None:
    omega, kept = gait()
    run = dr.simulate(rimless_wheel(), 3.0, start=on_two_spokes(omega), method=TIGHT)
    times = np.array([change.time for change in run.modes.impacts])
    np.testing.assert_allclose(run.at(np.nextafter(times, 9))["turn_rate"], omega, rtol=1e-10)
    np.testing.assert_allclose(run.at(times)["turn_rate"], omega / kept, rtol=1e-10)
    assert np.ptp(np.diff(times)) < 1e-10


@pytest.mark.parametrize("count", [1, 2, 3])
def test_as_many_balls_leave_as_arrive(count: int) -> None:
    """Binary impacts, one after the other, let as many balls fly off as were lifted."""
    start = lifted(0.0) | {f"angle_{i}": 0.3 - 1e-4 * i for i in range(count)}
    run = dr.simulate(newtons_cradle(), 0.5, start=start, method=TIGHT)
    assert run.status.kind == "FINISHED" and run.energy_drift < 1e-9
    top = np.array([run[f"angle_{i}"][-1] for i in range(BALLS)])
    assert np.all(top[BALLS - count :] < -0.2) and np.all(abs(top[: BALLS - count]) < 2e-3)


def test_the_front_wheel_skids_where_an_independent_program_says() -> None:
    """The torque at which a rolling front wheel needs a friction of 0.5, from the planar bicycle of the judge."""
    given = cases()["C09a"].given
    q = np.array([0.0, given("rR"), 0.0, 0.0, 0.0])
    v = np.array([10.0, 0.0, 0.0, 10 / given("rR"), 10 / given("rF")])

    def missing(torque: float) -> float:
        scene = planar_bicycle(given, np.inf, front_brake=torque)
        _, force, _ = Flow(scene, [Sliding(0, True, np.zeros(1)), Sliding(1, True, np.zeros(1))], 5).solve(0.0, q, v)
        return float(abs(force[3]) - 0.5 * force[2])

    torque = brentq(missing, 10.0, 200.0, xtol=1e-12)
    start = {"speed": 10.0, "lean": 0.0, "steer": 0.0, "roll_rate": 0.0, "steer_rate": 0.0, "yaw_rate": 0.0}
    run = dr.simulate(
        braking_bicycle(), 1.0, start=start, inputs={"front_brake": "100*t"}, parameters={"grip": 0.5}, method=TIGHT
    )
    skids = next(change.time for change in run.modes if change.modes["front_wheel"] == "slip")
    assert 100 * skids == pytest.approx(torque, rel=1e-9)
