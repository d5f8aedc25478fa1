"""The coin of the gallery: precession and loss of energy by hand, and random coins that come to lie on their faces."""

from __future__ import annotations

import math

import numpy as np
import pytest

import draisine as dr
from draisine.gallery.entries.coin import BEVEL, GRAVITY, RADIUS, SLOPE, coin, precession, rolling_in_place


@pytest.mark.parametrize("degrees", [3.0, 20.0, 60.0])
def test_precession_in_place(degrees: float) -> None:
    """A thin disc turns about the vertical with Ω² = 4 g/(r sin α), its center at rest."""
    lean, method = math.radians(degrees), dr.methods.DOP853(rtol=1e-11, atol=1e-12)
    start, still = rolling_in_place(lean), {"rolling": 0.0, "drilling": 0.0, "friction": 5.0}
    run = dr.simulate(coin(), 0.3, start=start, parameters=still, method=method)
    assert run.status.kind == "FINISHED", run.status
    turned = np.unwrap(np.arctan2(run["rim_contact_y"], run["rim_contact_x"]))
    assert abs(turned[-1] - turned[0]) / 0.3 == pytest.approx(precession(lean), rel=1e-8)
    assert max(np.ptp(run[f"coin_{axis}"]) for axis in "xyz") < 1e-9


def test_power_of_the_resistances_at_the_start() -> None:
    """dE/dt = −m g (δ Ω cos α + d Ω sin² α): rolling along the rim, and drilling."""
    lean, rolling, drilling = 0.4, 3e-5, 2e-5
    levers = {"rolling": rolling, "drilling": drilling, "friction": 5.0}
    run = dr.simulate(coin(), 1e-3, start=rolling_in_place(lean), parameters=levers, samples=3)
    rates = {kind: run[f"rim_{kind}_resistance_rate_along"][0] for kind in ("rolling", "drilling")}
    assert abs(rates["rolling"]) == pytest.approx(precession(lean) * math.cos(lean), rel=1e-9)
    assert abs(rates["drilling"]) == pytest.approx(precession(lean) * math.sin(lean) ** 2, rel=1e-9)
    power = (run["work"][-1] - run["work"][0]) / 1e-3
    expected = -0.4 * GRAVITY * precession(lean) * (rolling * math.cos(lean) + drilling * math.sin(lean) ** 2)
    assert power == pytest.approx(expected, rel=1e-2)  # the normal force changes as it comes down


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("corners", (3, 6, 8))
def test_random_coins_settle(seed: int, corners: int) -> None:
    rng = np.random.default_rng(100 * corners + seed)
    start = rolling_in_place(float(rng.uniform(0.05, 0.4)))
    start["coin_wy"] *= float(rng.uniform(0.3, 1.1))
    start |= {"coin_wx": float(0.5 * rng.normal()), "coin_wz": float(2 * rng.normal())}
    start = {name: value for name, value in start.items() if name not in ("coin_vx", "coin_vy", "coin_vz")}
    levers = {"rolling": float(rng.uniform(1e-4, 3e-4)), "drilling": float(rng.uniform(0, 1e-4))}
    run = dr.simulate(
        coin(corners),
        6.0,
        start=start,
        parameters=levers | {"friction": float(rng.uniform(0.1, 0.9))},
        method=dr.methods.Auto(max_steps=60000),
    )
    assert run.status.kind == "FINISHED", run.status
    assert run["coin_z"][-1] == pytest.approx(BEVEL * math.tan(SLOPE), abs=1e-9)
    assert run["kinetic_energy"][-1] < 1e-15
    energy = run["kinetic_energy"] + run["potential_energy"]
    assert np.diff(energy).max() < 1e-7 * energy[0]
    assert min(run[f"{name}_gap"].min() for name in ("rim", *(f"face_{k}" for k in range(corners)))) > -1e-9
    assert run["coin_z"].max() < RADIUS
