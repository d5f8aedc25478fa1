"""Cars with linear tires against closed forms: understeer, eigenvalues, snaking of a trailer."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
from scipy.optimize import brentq
from tests.tires.sharp import REFERENCE

import draisine as dr

CARS = REFERENCE["cars"]
CAR: dict[str, float] = CARS["parameters"]["car"]["U"]
TRAILER: dict[str, float] = CARS["parameters"]["trailer"]["T1"]


def single_track(c: Mapping[str, float], relaxes: bool, trailer: bool = False) -> dr.Model:
    """A car in the plane on two wheels that roll without resistance, one of them steered; with a trailer on one axle."""
    m = dr.Model("car")
    m.parameter("steer", 0.0, "rad")
    m.body("car", c["m"], inertia=(c["Iz"], c["Iz"], c["Iz"]))
    m.planar("car")
    m.body("fork", 0)
    m.fixed("head", "car", "fork", at=(c["a"], 0, 0.3), orientation=[("z", "steer")])

    def tire(key: str) -> dr.contact.LinearTire:
        return dr.contact.LinearTire(c[f"C{key}"], c[f"sigma_{key}"] if relaxes else None, longitudinal=0.0)

    m.wheel("front", "fork", 0.3, contact=tire("f"))
    m.wheel("rear", "car", 0.3, center=(-c["b"], 0, 0.3), contact=tire("r"))
    m.output("speed", "body_velocity_x(car)", "m/s")
    m.output("side_speed", "body_velocity_y(car)", "m/s")
    m.point("middle", "car")
    m.wrench("middle", force=(m.input("drive", "N"), 0, 0), axes="body")
    if trailer:
        m.body("trailer", c["mt"], (-c["d"], 0, 0), (c["It"], c["It"], c["It"]))
        m.revolute("hitch", "car", "trailer", axis="z", at=(-c["h"], 0, 0))
        m.wheel("axle", "trailer", 0.3, center=(-c["l"], 0, 0.3), contact=tire("t"))
    return m


def eigenvalues(equations: dr.Equations, speed: float, parameters: Mapping[str, float] | None = None) -> np.ndarray:
    straight = dr.steady(equations, {"speed": speed, "side_speed": 0.0}, free=("drive",), parameters=parameters)
    return np.linalg.eigvals(straight.linearize().A)


def assert_among(found: np.ndarray, listed: list[list[float]]) -> None:
    for pair in listed:
        wanted = complex(*pair)
        assert np.abs(found - wanted).min() < 1e-9 * abs(wanted)


@pytest.mark.parametrize("relaxes", [False, True])
def test_eigenvalues_of_a_car(relaxes: bool) -> None:
    equations = dr.derive(single_track(CAR, relaxes), work=False)
    for speed, row in CARS["numbers"]["car"]["U"]["speeds"].items():
        assert_among(eigenvalues(equations, float(speed)), (row["relaxation"] if relaxes else row)["eigenvalues"])


def test_understeer_gradient_and_characteristic_speed() -> None:
    """Turns with a small steer angle: r/δ = V/(L + K V²), from which K and √(L/K) follow."""
    equations = dr.derive(single_track(CAR, False), work=False)
    numbers, steer = CARS["numbers"]["car"]["U"], 1e-6
    base = CAR["a"] + CAR["b"]
    gradients = []
    for speed, row in numbers["speeds"].items():
        turn = dr.steady(
            equations, {"speed": float(speed)}, free=("drive",), near={"speed": float(speed)}, parameters={"steer": steer}
        )
        gain = turn["car_heading_rate"] / steer
        assert gain == pytest.approx(row["yaw_rate_gain"], rel=1e-9)
        assert turn["side_speed"] / float(speed) / steer == pytest.approx(row["sideslip_gain"], rel=1e-9)
        gradients.append((float(speed) / gain - base) / float(speed) ** 2)
    assert gradients[-1] == pytest.approx(numbers["understeer_gradient_rad_s2_per_m"], rel=1e-9)
    assert np.sqrt(base / gradients[-1]) == pytest.approx(numbers["characteristic_speed"], rel=1e-9)


def test_a_trailer_snakes_from_its_critical_speed_on() -> None:
    equations = dr.derive(single_track(TRAILER, False, trailer=True), work=False)
    numbers = CARS["numbers"]["trailer"]["T1"]
    for speed, row in numbers["speeds"].items():
        assert_among(eigenvalues(equations, float(speed)), row["eigenvalues"])
    listed = numbers["stability_changes"][0]

    def growth(speed: float) -> float:
        found = eigenvalues(equations, speed)
        return float(found[found.imag > 3.0].real.max())

    critical = brentq(growth, 35.0, 40.0, xtol=1e-12)
    assert critical == pytest.approx(listed["speed"], rel=1e-9)
    found = eigenvalues(equations, critical)
    assert found[found.imag > 3.0].imag.max() == pytest.approx(listed["frequency_rad_s"], rel=1e-9)
