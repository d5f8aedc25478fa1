"""Closed linkages of the gallery by other derivations: loop equations, balances of single bodies, other descriptions."""

from __future__ import annotations

import math

import numpy as np
import pytest

import draisine as dr
from draisine import gallery
from draisine.gallery.entries import four_bar, sarrus, slider_crank, stewart

EXACT = dr.methods.DOP853(rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("study", ["four_bar_turns", "slider_crank_runs", "sarrus_lift_falls", "stewart_platform_heaves"])
def test_studies_hold(study: str) -> None:
    assert gallery.study(study)().figures


# -------------------------------------------------------------------- four-bar


def test_the_rocker_obeys_freudenstein() -> None:
    run = dr.simulate(four_bar.four_bar(), 1.5, start={"crank_angle_rate": 12.0}, method=EXACT)
    a, b, c, d = (run.parameters[f"l_{bar}"] for bar in ("crank", "coupler", "rocker", "ground"))
    phi, psi = run["crank_angle"], run["rocker_angle"]
    left = d / a * np.cos(psi) - d / c * np.cos(phi) + (a**2 - b**2 + c**2 + d**2) / (2 * a * c)
    np.testing.assert_allclose(left, np.cos(phi - psi), atol=1e-9)
    assert phi[-1] > 4 * math.pi  # it passed every position, dead centers too


def test_the_force_of_the_loop_turns_the_rocker() -> None:
    """Moments about the rocker's pivot: (m c²/3) ψ̈ = c λ_z + ½ m g c cos ψ; λ holds the coupler, in the rocker's axes."""
    run = dr.simulate(four_bar.four_bar_driven(), 2 * math.pi / 10, method=EXACT, samples=181)
    exact, c = four_bar.ClosedForm.of(run.parameters), run.parameters["l_rocker"]
    phi, psi, h = run["crank_angle"], run["rocker_angle"], 1e-4
    curved = (exact.ratios(phi + h)[1] - exact.ratios(phi - h)[1]) / (2 * h)
    mass = exact.density * c
    needed = mass * c**2 / 3 * 10.0**2 * curved - mass * 9.81 * c / 2 * np.cos(psi)
    np.testing.assert_allclose(c * run["loop_z_multiplier"], needed, atol=2e-6 * np.max(np.abs(needed)))


def test_the_motor_pays_for_the_energy() -> None:
    run = dr.simulate(four_bar.four_bar_driven(), 1.0, method=EXACT)
    assert run.energy_drift is not None and run.energy_drift < 1e-9


# -------------------------------------------------------------------- slider-crank


def test_both_descriptions_of_the_engine_are_one() -> None:
    certificate = dr.certify(slider_crank.slider_crank(), slider_crank.slider_crank_by_guide())
    assert certificate.passed, certificate


def test_the_cylinder_carries_what_the_pin_presses() -> None:
    """Up and down the piston does not move: the guide's force is the piston's weight and what the rod's pin presses."""
    start = {"crank_angle": 0.9, "crank_angle_rate": 60.0}
    runs = [
        dr.simulate(m(), 0.2, start=start, method=EXACT) for m in (slider_crank.slider_crank, slider_crank.slider_crank_by_guide)
    ]
    weight = runs[0].parameters["m_piston"] * 9.81
    force = runs[1]["guide_z_multiplier"]
    np.testing.assert_allclose(force, weight + runs[0]["pin_z_multiplier"], atol=1e-6 * np.max(np.abs(force)))
    assert np.ptp(force) > 10.0


def test_time_of_one_turn_by_quadrature() -> None:
    from scipy.integrate import quad

    exact = slider_crank.ClosedForm(0.04, 0.14, 0.004, 0.6, 0.045, 0.0015, 0.5)
    time, _ = quad(lambda phi: 1 / exact.rate(np.array([phi]), 30.0)[0], 0, 2 * math.pi, epsabs=1e-13, epsrel=1e-12)
    assert exact.turn(30.0) == pytest.approx(time, rel=1e-10)


# -------------------------------------------------------------------- in space, with more than needed


def test_the_table_knows_what_repeats() -> None:
    notes = [note for note in dr.derive(sarrus.sarrus_lift()).notes if "repeats" in note]
    assert [note.partition(":")[0] for note in notes] == [
        "constraint south_top_x repeats north_top_x",
        "constraint south_top_turn_y repeats north_top_turn_y",
    ]


def test_the_tables_acceleration_is_the_slope_of_its_rate() -> None:
    """The two formulas of the closed form belong together: α̈ = d/dα (½ α̇²)."""
    exact, start, h = sarrus.ClosedForm(0.5, 1.2, 8.0), 0.3, 1e-5
    for lean in (0.5, 0.9, 1.3):
        slope = (exact.rate(np.array(lean + h), start) ** 2 - exact.rate(np.array(lean - h), start) ** 2) / (4 * h)
        rate = exact.rate(np.array(lean), start)
        assert exact.acceleration(np.array(lean), rate) == pytest.approx(float(slope), rel=1e-8)


def test_without_the_post_the_legs_carry_alone() -> None:
    run = dr.simulate(stewart.stewart_platform(post=False), 1.0, method=EXACT)
    p, wave = run.parameters, 0.2 * np.sin(4.0 * run.time)
    z, lift = p["height"] + wave, p["m_platform"] * (9.81 - 16.0 * wave)
    across = 1.2**2 + 0.7**2 - 2 * 1.2 * 0.7 * math.cos(math.pi / 6)
    wanted = lift * np.sqrt(across + z**2) / (6 * z)
    assert not [note for note in dr.derive(stewart.stewart_platform(post=False)).notes if "repeats" in note]
    for leg in stewart.FEET:
        np.testing.assert_allclose(run[f"leg_{leg}_multiplier"], wanted, rtol=1e-8)


def test_a_post_that_disagrees_is_refused() -> None:
    m = stewart.stewart_platform(post=False)
    m.prescribe("post", "distance(ground, platform)", "height + 0.1")
    with pytest.raises(dr.errors.ModelError, match="post"):
        dr.derive(m)
