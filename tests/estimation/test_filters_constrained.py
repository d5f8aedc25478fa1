"""Filters on mechanisms: estimates keep the constraints, and errors are as large as the filter says."""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp
from scipy.stats import chi2

import draisine as dr
from draisine.expr.expression import parse
from draisine.simulation.sampled_control import Recorded

# ------------------------------------------------------------------------------------------------------------- pendulum


@pytest.fixture(scope="module")
def pendulums():
    """The same pendulum by Cartesian coordinates with a rod, and by its angle."""
    theta, omega = sp.symbols("theta omega")
    x1, z1 = sp.sin(theta), -sp.cos(theta)
    outputs = {"x1": x1, "z1": z1, "x1_rate": sp.cos(theta) * omega, "rod1_multiplier": 9.81 * sp.cos(theta) + omega**2}
    by_angle = dr.first_order("by_angle", {theta: omega, omega: -9.81 * sp.sin(theta)}, outputs=outputs)
    return dr.gallery.simple_pendulum(), by_angle


@pytest.mark.parametrize("method", [dr.estimation.ExtendedKalmanFilter(), dr.estimation.UnscentedKalmanFilter()], ids=str)
def test_a_rod_and_an_angle_are_estimated_alike(pendulums, method):
    """Position and tension of the rod (a multiplier) are measured; to first order in the errors both derivations are one."""
    by_rod, by_angle = pendulums
    t = np.cumsum([0.0, *([0.1, 0.07, 0.15] * 5)])
    size, angle = 1e-4, 0.6
    truth = dr.simulate(by_angle, t[-1], start={"theta": angle + 0.7e-4, "omega": 1e-4}, samples=t)
    random = np.random.default_rng(4)
    data = {
        "time": t,
        "x1": truth["x1"] + size * random.normal(size=16),
        "rod1": truth["rod1_multiplier"] + size * random.normal(size=16),
    }
    data["rod1"][3:6] = np.nan
    common = {"measured": {"x1": size, "rod1": ("rod1_multiplier", 10 * size)}, "method": method, "smooth": True}
    start = {"x1": np.sin(angle), "z1": dr.InitialGuess(-np.cos(angle))}
    first = dr.filter(by_rod, data, start=start, spread={"x1": size, "x1_rate": 2 * size}, **common)
    c = np.cos(angle)
    second = dr.filter(
        by_angle, data, start={"theta": angle, "omega": 0.0}, spread={"theta": size / c, "omega": 2 * size / c}, **common
    )
    for name in ("x1", "z1", "x1_rate"):
        for one, other in ((first.filtered, second.filtered), (first.smoothed, second.smoothed)):
            np.testing.assert_allclose(one[name], other[name], atol=1e-3 * size)
            np.testing.assert_allclose(one.deviation(name), other.deviation(name), rtol=1e-3)
    np.testing.assert_allclose(first.nis, second.nis, rtol=1e-2, atol=1e-3)
    np.testing.assert_allclose(np.hypot(first["x1"], first["z1"]), 1.0, atol=1e-12)
    assert np.abs(first.filtered.run.residuals).max() < 1e-11
    assert np.abs(first.smoothed.run.residuals).max() < 1e-11


# ------------------------------------------------------------------------------------------------------------- tumbling


@pytest.fixture(scope="module")
def satellite():
    """A free body that sees two fixed directions, up and north, in its own axes."""
    m = dr.Model("satellite")
    m.free(m.body("satellite", mass=1.0, inertia=(2.0, 1.0, 3.0)))
    w, x, y, z = (f"satellite_q{a}" for a in "wxyz")
    m.output("up_x", f"2*({x}*{z} - {w}*{y})")
    m.output("up_y", f"2*({y}*{z} + {w}*{x})")
    m.output("up_z", f"1 - 2*({x}*{x} + {y}*{y})")
    m.output("north_x", f"1 - 2*({y}*{y} + {z}*{z})")
    m.output("north_y", f"2*({x}*{y} - {w}*{z})")
    m.output("north_z", f"2*({x}*{z} + {w}*{y})")
    return m


SEEN = dict.fromkeys(("up_x", "up_y", "up_z", "north_x", "north_y", "north_z"), 0.05)
TUMBLING = {"satellite_wx": 3.0, "satellite_wy": 0.3, "satellite_wz": 0.2}


def seen(satellite, seed, errors=(0.1, 0.1)):
    """A tumbling about the middle axis that turns over, and what the sensors say."""
    random = np.random.default_rng(seed)
    lean = {"satellite_qx": 0.5 * errors[0] * random.normal(), "satellite_qy": 0.5 * errors[0] * random.normal()}
    rates = {n: v + errors[1] * random.normal() for n, v in TUMBLING.items()}
    truth = dr.simulate(satellite, 2.4, start={**lean, **rates}, samples=25)
    return truth, {"time": truth.time, **{n: truth[n] + s * random.normal(size=25) for n, s in SEEN.items()}}


@pytest.mark.parametrize("method", [dr.estimation.ExtendedKalmanFilter(), dr.estimation.UnscentedKalmanFilter()], ids=str)
def test_a_tumbling_body_is_followed_through_every_attitude(satellite, method):
    squares, steepest = [], 0.0
    spread = {"satellite_lean": 0.1, "satellite_pitch": 0.1, "satellite_wx": 0.1, "satellite_wy": 0.1, "satellite_wz": 0.1}
    for seed in range(4):
        truth, data = seen(satellite, seed)
        steepest = max(steepest, float(np.abs(truth["up_y"]).max()))
        found = dr.filter(satellite, data, measured=SEEN, start=TUMBLING, spread=spread, method=method, smooth=True)
        for estimates in (found.filtered, found.smoothed):
            quaternion = estimates.states[:, 3:7]
            np.testing.assert_allclose(np.linalg.norm(quaternion, axis=1), 1.0, atol=1e-12)
        squares.append(found.filtered.nees(truth, list(TUMBLING))[-1])
        assert str(found.consistency.verdict) == "consistent"
        assert np.all(found.filtered.deviation("satellite_wx")[-1] < 0.03)
    assert steepest > 0.98  # lean of more than 78°: at 90° angles are singular
    low, high = chi2.ppf([0.0005, 0.9995], 12)
    assert low < sum(squares) < high


# ------------------------------------------------------------------------------------------------------------- bicycle

GYROSCOPE = {"frame_wx": 0.02, "frame_wy": 0.02, "frame_wz": 0.02, "rear_wheel_spin": 0.1}
SHAKEN = {"steer_torque": 0.3, "push": 3.0, "pedal_torque": 2.0}
SPREAD = {"lean": 0.05, "steer": 0.05, "frame_wx": 0.1, "steer_rate": 0.1, "speed": 0.2}
REPORTED = ["lean", "steer", "roll_rate", "steer_rate", "speed"]
FINE = 0.0025  # white noise is made of steps of this length


def ride(bike, seed, until=0.8, every=8, size=1.0):
    """A bicycle at 4.6 m/s, shaken at steer, saddle and pedals; its gyroscope and rear wheel with noise of some size."""
    random = np.random.default_rng(seed)
    fine = np.arange(0.0, until, FINE)
    names = [q.name for q in dr.derive(bike).inputs]
    rows = np.column_stack([size * SHAKEN[n] / np.sqrt(FINE) * random.normal(size=len(fine)) for n in names])
    start = {n: size * s * random.normal() for n, s in SPREAD.items()}
    start["speed"] += 4.6
    truth = dr.simulate(bike, until, start=start, control=Recorded.of(fine, rows), samples=np.append(fine[::every], until))
    return truth, {
        "time": truth.time,
        **{n: truth[n] + size * s * random.normal(size=len(truth.time)) for n, s in GYROSCOPE.items()},
    }


@pytest.fixture(scope="module")
def bike():
    return dr.gallery.bicycle()


@pytest.fixture(scope="module")
def rides(bike):
    """Eight rides and their estimates."""
    found = []
    for seed in range(8):
        truth, data = ride(bike, seed)
        estimated = dr.filter(
            bike, data, measured=GYROSCOPE, process=SHAKEN, start={"speed": 4.6}, spread=SPREAD, smooth=seed < 4
        )
        found.append((truth, data, estimated))
    return found


def test_errors_of_the_bicycle_are_as_large_as_promised(rides):
    """NEES at one instant of independent rides, and innovations of all samples, are χ² with known degrees of freedom."""
    for estimates, share in (("filtered", rides), ("smoothed", rides[:4])):
        for instant in (-1, len(rides[0][0].time) // 2):
            total = sum(getattr(f, estimates).nees(truth, REPORTED)[instant] for truth, _, f in share)
            low, high = chi2.ppf([0.001, 0.999], 5 * len(share))
            assert low < total < high, (estimates, instant)
    squares = np.concatenate([f.nis for _, _, f in rides])
    low, high = chi2.ppf([0.001, 0.999], 4 * len(squares))
    assert low < squares.sum() < high
    # lean is not measured, yet known better and better; looking back it is known better still
    _, _, one = rides[0]
    assert one.filtered.deviation("lean")[-1] < 0.3 * SPREAD["lean"]
    middle = len(one.time) // 2
    assert one.smoothed.deviation("lean")[middle] < 0.7 * one.filtered.deviation("lean")[middle]


def test_estimates_of_the_bicycle_keep_the_constraints(rides):
    for _, _, found in rides[:4]:
        for estimates in (found.filtered, found.smoothed):
            assert np.abs(estimates.run.residuals).max() < 1e-9
            quaternion = np.column_stack([estimates[f"frame_q{a}"] for a in "wxyz"])
            np.testing.assert_allclose(np.linalg.norm(quaternion, axis=1), 1.0, atol=1e-12)
    assert np.abs(rides[0][2]["lean"]).max() > 1e-3  # the bicycle does move


def test_eliminated_and_augmented_velocities_are_estimated_alike(bike):
    """Three velocities, or nine and six constraints: other coordinates of the same errors, and one to first order in them."""
    size = 0.01
    _, data = ride(bike, 1, until=0.2, size=size)
    noise, shaken, spread = ({n: size * s for n, s in sizes.items()} for sizes in (GYROSCOPE, SHAKEN, SPREAD))
    common = {"measured": noise, "process": shaken, "start": {"speed": 4.6}, "spread": spread, "smooth": True}
    few = dr.filter(bike, data, **common)
    whole = dr.filter(dr.derive(bike, formulation=dr.formulations.Augmented(), work=False), data, **common)
    assert len(few.filtered.equations.independent) == 3 and len(whole.filtered.equations.independent) == 9
    for one, other in ((few.filtered, whole.filtered), (few.smoothed, whole.smoothed)):
        for name in REPORTED:
            deviation = one.deviation(name)
            np.testing.assert_allclose(one[name], other[name], atol=1e-2 * deviation.min())
            np.testing.assert_allclose(other.deviation(name), deviation, rtol=1e-3)
        assert np.abs(other.run.residuals).max() < 1e-9


def test_noise_that_does_not_reach_every_direction(bike, rides):
    """Upright, a torque at the handlebars leaves speed and pitch alone, but for rounding, which must not be taken for noise."""
    _, data, _ = rides[0]
    early = {name: column[:6] for name, column in data.items()}
    given = {"process": {"steer_torque": 0.2}, "start": {"speed": 4.6}, "spread": {"lean": 0.05}}
    found = dr.filter(bike, early, measured={"frame_wx": 0.1, "frame_wz": 0.1}, **given)
    assert found.deviation("speed").max() < 1e-3 < found.deviation("steer_rate")[-1]


def test_work_that_is_counted_does_not_count(bike, rides):
    """The work done so far is carried as a state where laws are compiled in; it tells nothing of the motion."""
    law = {"steer_torque": parse("-3*steer_rate")}
    early = {name: column[:5] for name, column in rides[0][1].items()}
    start = {"speed": 4.6, "lean": 0.1, "steer_rate": 2.0}
    given = {
        "measured": {"frame_wx": 0.02},
        "process": {"push": 30.0},
        "start": start,
        "spread": {"lean": 0.05, "steer_rate": 0.1},
    }
    counted, plain = (dr.filter(dr.derive(bike, law, work=work), early, **given) for work in (True, False))
    for name in ("lean", "steer_rate"):
        np.testing.assert_allclose(counted[name], plain[name], atol=1e-10)
        np.testing.assert_allclose(counted.deviation(name), plain.deviation(name), rtol=1e-9)


def test_estimates_draw_themselves(rides):
    truth, _, found = rides[0]
    figure = found.plot("lean", "frame_wx", truth=truth)
    first, second = figure.axes
    assert first.get_ylabel() == "lean [°]" and second.get_ylabel() == "frame wx [rad/s]"
    drawn = {line.get_label(): line.get_ydata() for line in first.lines}
    np.testing.assert_array_equal(drawn["truth"], truth["lean"])  # in radians, the numbers beside the axis in degrees
    np.testing.assert_array_equal(drawn["filtered"], found.filtered["lean"])
    ticks = dict(zip(first.get_yticks(), (tick.get_text() for tick in first.get_yticklabels()), strict=True))
    assert len(ticks) > 2 and all(float(text.replace("−", "-")) == pytest.approx(np.degrees(at)) for at, text in ticks.items())
    assert [line.get_label() for line in second.lines] == ["measured", "filtered", "smoothed", "truth"]
    assert len(found.plot().axes) == len(GYROSCOPE)


def test_a_gyroscope_better_on_paper_is_found_out(bike, rides):
    _, data, _ = rides[0]
    promised = {n: s / 3 for n, s in GYROSCOPE.items()}
    found = dr.filter(bike, data, measured=promised, process=SHAKEN, start={"speed": 4.6}, spread=SPREAD)
    assert str(found.consistency.verdict) == "too confident"


def test_unscented_and_extended_agree_on_small_errors(bike, rides):
    _, data, extended = rides[0]
    short = {n: c[:15] for n, c in data.items()}
    found = dr.filter(
        bike,
        short,
        measured=GYROSCOPE,
        process=SHAKEN,
        start={"speed": 4.6},
        spread=SPREAD,
        method=dr.estimation.UnscentedKalmanFilter(),
        smooth=True,
    )
    for name in REPORTED:
        size = extended.filtered.deviation(name)[:15]
        np.testing.assert_allclose(found.filtered[name], extended.filtered[name][:15], atol=0.3 * size.max())
        np.testing.assert_allclose(found.filtered.deviation(name), size, rtol=0.1)
    assert np.abs(found.filtered.run.residuals).max() < 1e-9
    assert np.abs(found.smoothed.run.residuals).max() < 1e-9
