"""The rider of Hess, Moore & Hubbard: published gains, loops by another formulation, delays, paths and identification."""

from __future__ import annotations

import numpy as np
import pytest

import draisine as dr
from draisine.control.rider_loop import pade

# HumanControl (J. K. Moore), gains/BenchmarkSteerGains.txt: the benchmark bicycle at 4.8 m/s
AT_4_8 = {"steer": 44.6406, "roll_rate": -0.0529, "roll": 13.2253, "heading": 0.1720, "lateral": 0.1001}


@pytest.fixture(scope="module")
def bicycle():
    return dr.derive(dr.gallery.bicycle())


@pytest.fixture(scope="module")
def rider(bicycle):
    return dr.control.rider_control(bicycle, {"speed": 5.0})


def test_published_inner_gains(rider):
    """Benchmark bicycle at 5 m/s, damping ratios 0.1289 and 0.0855: 46.5520391 and −0.0521602768 (HumanControl's solution)."""
    assert rider.gains["steer"] == pytest.approx(46.5520391, rel=1e-7)
    assert rider.gains["roll_rate"] == pytest.approx(-0.0521602768, rel=1e-7)


def test_published_outer_gains(bicycle):
    """From the published inner gains the outer ones follow by crossover at 2, 1 and 0.5 rad/s; k_φ̇ is given to three digits."""
    from dataclasses import replace

    design = dr.control.rider_control(bicycle, {"speed": 4.8})
    for loop, frequency in (("roll", 2.0), ("heading", 1.0), ("lateral", 0.5)):
        inward = list(AT_4_8)[list(AT_4_8).index(loop) - 1]
        gain = 1 / abs(replace(design, gains=AT_4_8).response(inward, loop, frequency)[0])
        assert gain == pytest.approx(AT_4_8[loop], rel=0.01), loop


def test_loops_against_python_control(rider):
    """The same loops by transfer functions."""
    control = pytest.importorskip("control")
    w = np.array([0.3, 1.0, 2.0, 8.0, 20.0])
    linear, k = rider.linear, rider.gains
    muscles = control.tf([900.0], [1.0, 2 * 0.707 * 30, 900.0])(1j * w)
    steer = linear.transfer("steer_torque", "steer")(1j * w)
    roll = -linear.transfer("steer_torque", "lean")(1j * w)
    heading = linear.transfer("steer_torque", "heading")(1j * w)
    open_steer = k["steer"] * muscles * steer
    one = open_steer / (1 + open_steer)
    rate = k["roll_rate"] * one * (1j * w * roll / steer)
    two = rate / (1 + rate)
    lean = k["roll"] * two / (1j * w)
    three = lean / (1 + lean)
    assert np.allclose(rider.response("steer", "steer", w), one, rtol=1e-8)
    assert np.allclose(rider.response("roll_rate", "roll_rate", w), two, rtol=1e-8)
    assert np.allclose(rider.response("roll", "roll", w), three, rtol=1e-8)
    assert np.allclose(rider.response("roll", "heading", w), three * heading / roll, rtol=1e-7)
    hqm = np.abs((three * 1j * w + three * steer / roll / k["roll_rate"]) / k["roll"] * 400 / (1j * w + 20) ** 2)
    assert np.allclose(rider.handling(w).magnitudes, hqm, rtol=1e-7)


def test_handling_improves_with_speed(bicycle):
    peaks = [dr.control.rider_control(bicycle, {"speed": v}, lateral=None).handling() for v in (3.6, 5.0, 8.0)]
    assert [found.level for found in peaks] == [3, 1, 1] and peaks[0].peak > peaks[1].peak > peaks[2].peak
    assert peaks[1].peak == pytest.approx(4.68557, abs=1e-5)  # by transfer functions, maximized


@pytest.mark.parametrize("damping", [(0.1289, 0.0855), (0.05, 0.02), (0.02, 0.004)])
def test_the_peak_is_that_of_a_fine_search(bicycle, damping):
    """With little damping the peak is narrower than the steps of the frequencies shown, 0.05 rad/s."""
    rider = dr.control.rider_control(bicycle, {"speed": 5.0}, damping=damping, lateral=None)
    found = rider.handling()
    near = np.abs(rider.eigenvalues.imag)
    fine = max(rider.handling(np.linspace(w - 0.1, w + 0.1, 801)).magnitudes.max() for w in near[near > 0.2])
    assert found.peak == pytest.approx(fine, rel=2e-4) and found.peak >= fine * (1 - 1e-9)
    assert found.magnitudes.max() <= found.peak


def test_a_rider_who_does_not_balance_has_no_handling_level(rider):
    from dataclasses import replace

    pushes = replace(rider, torques={"steer_torque": -1.0})
    assert not pushes.stable and pushes.handling().level is None
    assert "balances: no; without balance there is no handling level" in str(pushes) and "level 1" in str(rider)


def test_pade_is_all_pass_and_accurate():
    w = 1j * np.array([0.5, 2.0, 5.0])
    for order in (1, 2, 4):
        a, b, c, d = pade(0.2, order)
        found = np.array([c @ np.linalg.solve(s * np.eye(order) - a, b) + d for s in w])
        assert np.allclose(np.abs(found), 1.0, atol=1e-12)
        assert np.abs(found - np.exp(-0.2 * w)).max() < {1: 0.1, 2: 2e-3, 4: 1e-7}[order]
    assert pade(0.0, 2)[3] == 1.0


def test_the_loop_as_equations_has_the_designs_eigenvalues(bicycle):
    rider = dr.control.rider_control(bicycle, {"speed": 5.0}, delay=0.05, damping=(0.1, 0.06), lateral=None)
    loop = rider.on(bicycle)
    found = dr.linearize(loop, {"speed": 5.0}).essential().eigenvalues
    for root in rider.eigenvalues:
        assert np.abs(found - root).min() < 1e-6 * abs(root), root


def test_exact_delay_and_pade_agree(bicycle):
    """Sampled with a true delay line, against Padé of order four: the difference is that of the sampling, and halves with it."""
    rider = dr.control.rider_control(bicycle, {"speed": 5.0}, delay=0.06, order=4, damping=(0.1, 0.06), lateral=None)
    command = {"roll": "0.05*sin(1.5*t)"}
    wanted = dr.simulate(rider.on(bicycle, commands=command), 2.0, start={"speed": 5.0})
    apart = []
    for rate in (200.0, 400.0):
        run = dr.simulate(bicycle, 2.0, start={"speed": 5.0}, control=rider.sampled(rate, commands=command))
        apart.append(np.abs(np.interp(wanted.time, run.time, run["lean"]) - wanted["lean"]).max())
    assert apart[1] < 2e-3 and 0.4 < apart[1] / apart[0] < 0.6
    with pytest.raises(dr.errors.ArgumentError, match=r"the delay of 0.06 s is shorter than a sample; take 16.6667 or more"):
        rider.sampled(10.0)


def test_a_rider_follows_a_path_that_is_seen_ahead(bicycle, rider):
    path = "1/(1 + exp(-(x - 15)/2))"  # a lane change of 1 m to the left
    late, seen = (dr.simulate(rider.on(bicycle, path=path, preview=t), 9.0, start={"speed": 5.0}) for t in (0.0, 2.0))
    errors = []
    for run in (late, seen):
        assert run.status.complete
        wanted = 1 / (1 + np.exp(-(run["front_wheel_contact_x"] - 15) / 2))
        errors.append(float(np.sqrt(np.mean((run["front_wheel_contact_y"] - wanted) ** 2))))
    assert errors[1] < 0.25 * errors[0] and errors[1] < 0.12


def test_wrong_arguments(bicycle, rider):
    with pytest.raises(dr.errors.ArgumentError, match=r"delay = -1 must not be negative"):
        dr.control.rider_control(bicycle, {"speed": 5.0}, delay=-1)
    with pytest.raises(dr.errors.ArgumentError, match=r"has no input 'steer_torque', by which a rider steers"):
        dr.control.rider_control(dr.gallery.rolling_disk(), {"speed": 5.0}, lateral=None)
    with pytest.raises(dr.errors.SolverError, match=r"no gain of the steer loop gives .* the ratio 0.9"):
        dr.control.rider_control(bicycle, {"speed": 5.0}, damping=(0.9, 0.1))
    with pytest.raises(dr.errors.ArgumentError, match=r"there is no loop 'pitch' to command"):
        rider.on(bicycle, commands={"pitch": 1.0})
