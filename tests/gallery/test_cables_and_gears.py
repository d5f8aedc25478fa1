"""Weights on cables and wheels in mesh against textbook numbers."""

from __future__ import annotations

import math

import numpy as np
import pytest

import draisine as dr
from draisine import gallery
from draisine.gallery.entries.atwood import at_rest, atwood, swinging_atwood
from draisine.gallery.entries.gear_train import PLANETS, by_hand, planetary_gear
from draisine.model.model import Model

EXACT = dr.methods.DOP853(rtol=1e-11, atol=1e-12)
G = 9.81


@pytest.mark.parametrize("study", ["swinging_atwood_loops", "planetary_gear_lifts"])
def test_studies_hold(study: str) -> None:
    assert gallery.study(study)().figures


@pytest.mark.parametrize(("heavy", "light"), [(3.0, 2.0), (5.0, 1.0), (1.0, 1.0), (1.0, 4.0)])
def test_atwoods_machine(heavy: float, light: float) -> None:
    run = dr.simulate(atwood(), 0.3, parameters={"m_heavy": heavy, "m_light": light}, method=EXACT)
    acceleration = G * (heavy - light) / (heavy + light)
    np.testing.assert_allclose(run["heavy_height"], -1.0 - acceleration * run.time**2 / 2, atol=1e-10)
    np.testing.assert_allclose(run["light_height"], -1.0 + acceleration * run.time**2 / 2, atol=1e-10)
    np.testing.assert_allclose(run["cable_multiplier"], -2 * heavy * light * G / (heavy + light), rtol=1e-10)


@pytest.mark.parametrize("seed", range(3))
def test_the_swinging_weight_obeys_its_polar_equations(seed: int) -> None:
    """r̈ and θ̈ by hand against differences along a run in Cartesian coordinates; and the tension M (g + r̈)."""
    rng = np.random.default_rng(seed)
    heavy, light, r, angle = rng.uniform(1, 4), rng.uniform(0.5, 2), rng.uniform(0.5, 2), rng.uniform(-2, 2)
    speed, turn = rng.uniform(-2, 2), rng.uniform(-3, 3)
    start = at_rest(r, angle) | {
        "bob_x_rate": speed * math.sin(angle) + r * turn * math.cos(angle),
        "bob_z_rate": -speed * math.cos(angle) + r * turn * math.sin(angle),
    }
    h = 1e-3
    times = [0.0, h, 2 * h, 3 * h, 4 * h]
    masses = {"m_heavy": heavy, "m_light": light}
    run = dr.simulate(swinging_atwood(), 4 * h, start=start, parameters=masses, method=EXACT, samples=times)
    assert run["r_rate"][0] == pytest.approx(speed, abs=1e-10) and run["angle_rate"][0] == pytest.approx(turn, abs=1e-10)
    slope = np.array([-25, 48, -36, 16, -3]) / (12 * h)
    pulled = (light * r * turn**2 + G * (light * math.cos(angle) - heavy)) / (heavy + light)
    swung = -(2 * speed * turn + G * math.sin(angle)) / r
    assert slope @ run["r_rate"] == pytest.approx(pulled, rel=1e-6, abs=1e-6)
    assert slope @ run["angle_rate"] == pytest.approx(swung, rel=1e-6, abs=1e-6)
    assert -run["cable_multiplier"][0] == pytest.approx(heavy * (G + pulled), rel=1e-9)


def test_a_movable_pulley_halves_the_pull() -> None:
    """A load on a loop of the cable: 2 T = M (g + a), T = m (g − 2a)."""
    m = Model("tackle")
    load, weight = 6.0, 4.0
    m.prismatic("load_height", "ground", m.body("block", load), "z", default=-2.0)
    m.prismatic("weight_height", "ground", m.body("weight", weight), "z", at=(0.5, 0, 0), default=-1.0)
    for name, x in (("hook", -0.2), ("first", 0.2), ("second", 0.5)):
        m.point(name, "ground", (x, 0, 0))
    for name, x in (("left", -0.2), ("right", 0.2)):
        m.point(name, "block", (x, 0, 0))
    m.cable("cable", ["hook", "left", "right", "first", "second", "weight"], 2 + 0.4 + 2 + 0.3 + 1)
    rises = (2 * weight - load) * G / (load + 4 * weight)
    run = dr.simulate(m, 0.3, method=EXACT)
    np.testing.assert_allclose(run["load_height"], -2.0 + rises * run.time**2 / 2, atol=1e-10)
    np.testing.assert_allclose(-run["cable_multiplier"], load * (G + rises) / 2, rtol=1e-10)


def test_willis_at_any_teeth() -> None:
    teeth = {"sun_teeth": 24.0, "planet_teeth": 30.0}
    run = dr.simulate(planetary_gear(), 0.5, parameters=teeth, inputs={"motor_torque": 9.0}, method=EXACT)
    hand = by_hand(run.parameters, 9.0)
    assert hand["ratio"] == pytest.approx(1 + 84 / 24)
    np.testing.assert_allclose(run["sun"], hand["ratio"] * run["carrier"], atol=1e-9)
    np.testing.assert_allclose(run["sun"], hand["acceleration"] * run.time**2 / 2, atol=1e-8)


def test_the_meshes_turn_each_planet() -> None:
    """Torque of both meshes on a planet is its inertia times its absolute acceleration, whoever shares the load."""
    run = dr.simulate(planetary_gear(), 0.1, inputs={"motor_torque": 6.0}, method=EXACT)
    hand = by_hand(run.parameters, 6.0)
    ring = run.parameters["sun_teeth"] + 2 * run.parameters["planet_teeth"]
    absolute = (1 - ring / run.parameters["planet_teeth"]) * hand["acceleration"] / hand["ratio"]
    for planet in PLANETS:
        torque = run[f"{planet}_on_sun_multiplier"] + run[f"{planet}_in_ring_multiplier"]
        np.testing.assert_allclose(torque, run.parameters["i_planet"] * absolute, rtol=1e-6)
