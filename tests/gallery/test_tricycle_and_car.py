"""Vehicles on more wheels than needed: what repeats, what the ground must carry, and where they go."""

from __future__ import annotations

import math

import numpy as np
import pytest

import draisine as dr
from draisine import gallery
from draisine.gallery.entries.car import CORNERS, car, outer_angle
from draisine.gallery.entries.tricycle import WHEELS, ClosedForm, tricycle, tricycle_locked_steer

EXACT = dr.methods.DOP853(rtol=1e-11, atol=1e-12)
G = 9.81


@pytest.mark.parametrize("study", ["tricycle_corners", "car_weaves"])
def test_studies_hold(study: str) -> None:
    assert gallery.study(study)().figures


def test_degrees_of_freedom() -> None:
    assert len(dr.derive(tricycle()).independent) == 2
    assert len(dr.derive(car()).independent) == 2


@pytest.mark.parametrize("steer", [0.2, -0.5])
def test_a_tricycle_left_alone_rides_a_circle(steer: float) -> None:
    """Nothing turns the fork: its axis passes through the contact. Loads by hand, for either side."""
    run = dr.simulate(tricycle(), 3.0, start={"speed": 2.0, "steer": steer}, method=EXACT)
    exact = ClosedForm(run.parameters, steer)
    np.testing.assert_allclose(run["speed"], 2.0, atol=1e-9)
    np.testing.assert_allclose(run["turn_rate"], 2.0 * math.tan(steer) / 1.2, atol=1e-9)
    forces = exact.normal_forces(run["speed"])
    for wheel, wanted in zip(WHEELS, forces, strict=True):
        np.testing.assert_allclose(run[f"{wheel}_normal_force"], wanted, rtol=1e-8)
    # all of the ground's forces towards the center keep the center of mass on its circle
    sideways = sum(run[f"rear_{side}_body_force_y"] for side in ("left", "right")) + run["front_body_force_y"]
    mass = sum(m for m, _, _ in exact.masses)
    middle = sum(m * place for m, place, _ in exact.masses) / mass
    np.testing.assert_allclose(sideways, -mass * middle[1] * (2.0 / exact.radius) ** 2, rtol=1e-8)


def test_neither_rear_wheel_has_the_say() -> None:
    """The two share the sideways force equally: the smallest forces that do it."""
    run = dr.simulate(tricycle(), 1.0, start={"speed": 2.0, "steer": 0.3}, method=EXACT)
    left, right = (run[f"rear_{side}_body_force_y"] for side in ("left", "right"))
    np.testing.assert_allclose(left, right, rtol=1e-9)
    assert np.min(np.abs(left)) > 10.0


def test_tipping_speed_is_where_the_load_ends() -> None:
    exact = ClosedForm(dr.simulate(tricycle_locked_steer(), 0.01, start={"speed": 1.0}).parameters, 0.35)
    speed = exact.tipping_speed()
    assert exact.normal_forces(np.array([speed]))[0, 0] == pytest.approx(0.0, abs=1e-9)
    # a point mass at h tips over the line through front and outer wheel: v²/R · h = g · (way of the mass inside that line)
    p, half = exact.p, 0.4
    inside = half * (1 - p["center_ahead"] / p["wheelbase"]) / math.hypot(1, half / p["wheelbase"])
    level = math.sqrt(G * inside * exact.radius / p["center_high"])
    assert speed == pytest.approx(level, rel=0.1)


@pytest.mark.parametrize("steer", [0.4, -0.3])
def test_a_car_rides_a_circle_about_the_point_where_its_axles_meet(steer: float) -> None:
    run = dr.simulate(car(), 2.0, start={"speed": 3.0, "left_steer": steer}, method=EXACT)
    p = run.parameters
    length, width = p["wheelbase"], p["track"]
    left, right = run["left_steer"], run["right_steer"]
    np.testing.assert_allclose(left, steer, atol=1e-9)
    np.testing.assert_allclose(1 / np.tan(right) - 1 / np.tan(left), width / length, atol=1e-9)
    np.testing.assert_allclose(right, outer_angle(left, length, width), atol=1e-10)
    radius = length / math.tan(steer) + width / 2
    np.testing.assert_allclose(run["turn_rate"], 3.0 / radius, atol=1e-9)
    places = {"rear_left": (0, width / 2), "rear_right": (0, -width / 2), "front_left": (length, width / 2)}
    places["front_right"] = (length, -width / 2)
    for corner, (x, y) in places.items():  # each wheel rolls its own way
        way = math.copysign(math.hypot(x, radius - y), radius)
        np.testing.assert_allclose(run[f"{corner}_spin_rate"], way / p["wheel_radius"] * 3.0 / radius, atol=1e-8)


def test_four_loads_are_the_smallest_that_balance() -> None:
    """On a circle: three balances, four loads; the smallest solution by the pseudo-inverse, moments about the circle's center."""
    run = dr.simulate(car(), 1.0, start={"speed": 3.0, "left_steer": 0.3}, method=EXACT)
    p = run.parameters
    length, width, high = p["wheelbase"], p["track"], p["wheel_radius"]
    radius = length / math.tan(0.3) + width / 2
    contacts = np.array([[0, width / 2], [0, -width / 2], [length, width / 2], [length, -width / 2]]) - [0, radius]
    masses = [(p["m_body"], np.array([p["center_ahead"], -radius, p["center_high"]]))]
    masses += [(p["m_wheel"], np.array([*c, high])) for c in contacts]
    masses += [(p["m_carrier"], np.array([*c, high])) for c in contacts[2:]]
    rate = 3.0 / radius
    momentum = sum(m * np.array([-x * z, -y * z]) for m, (x, y, z) in masses) * rate
    for x, y in contacts:  # axles point to the center of the circle
        way = math.hypot(x, y)
        momentum = momentum + p["i_wheel"] * way / high * rate * np.array([-x, -y]) / way
    weight = sum(m for m, _ in masses) * G
    held = sum(m * place for m, place in masses) * G
    matrix = np.array([np.ones(4), contacts[:, 1], -contacts[:, 0]])
    right = np.array([weight, held[1] - rate * momentum[1], -held[0] + rate * momentum[0]])
    wanted = np.linalg.pinv(matrix) @ right
    for corner, load in zip(CORNERS, wanted, strict=True):
        np.testing.assert_allclose(run[f"{corner}_normal_force"], load, rtol=1e-8)
    assert wanted[1] > wanted[0] and wanted[3] > wanted[2]  # a turn to the left loads the right side
