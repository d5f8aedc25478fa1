"""Kalman filters through modes of contacts: against filters by hand, closed forms of covariances, and known truths."""

from __future__ import annotations

import numpy as np
import pytest
from kalman_by_hand import Ball, G, OnBelt, filtered

import draisine as dr
from draisine.errors import ArgumentError


def particle(**contact: float) -> dr.Model:
    m = dr.Model("particle")
    m.gravity(G)
    m.prismatic("z", "ground", m.body("ball", mass=1), axis="z")
    m.contact("floor", "ball", **contact)
    return m


def block(mu: float, mass: float = 1.0, belt: float = 0.0, stiffness: float = 0.0, static: float | None = None) -> dr.Model:
    """A block in a plane, on the ground or on a belt, on a spring and pushed by an input."""
    m = dr.Model("block")
    m.gravity(G)
    m.ground(velocity=(belt, 0))
    m.prismatic("x", "ground", m.body("carriage", mass=0), axis="x")
    m.prismatic("z", "carriage", m.body("body", mass=mass), axis="z")
    m.generalized_force("x", f"-{stiffness!r}*x")
    m.generalized_force("x", m.input("push", "N"))
    m.contact("floor", "body", friction=mu if static is None else (static, mu))
    return m


# ------------------------------------------------------------------------------------------------- filters by hand


@pytest.mark.parametrize("seed", range(6))
def test_bouncing_ball_is_filtered_and_smoothed_as_by_hand(seed: int) -> None:
    """Random balls; every other one is measured so badly that corrected heights would be below the ground."""
    rng = np.random.default_rng(seed)
    e, process = float(rng.uniform(0.8, 0.95)), float(rng.uniform(0.1, 0.4))
    noise = 0.06 if seed % 2 else 0.01
    height, speed = float(rng.uniform(0.4, 1.2)), float(rng.uniform(-1.0, 1.0))
    t = np.sort(rng.uniform(0.02, 1.2, 25))
    model = particle(restitution=e)
    truth = dr.simulate(model, 1.2, start={"z": height, "z_rate": speed}, samples=t)
    data = {"time": t, "z": truth["z"] + noise * rng.normal(size=len(t))}
    guess, spread = np.array([height + 0.05, 0.0]), np.array([0.1, 0.5])
    by_hand = filtered(Ball(e, process), guess, spread, "open", t, data["z"], noise)
    found = dr.filter(
        model,
        data,
        measured={"z": noise},
        start={"z": guess[0], "z_rate": 0},
        spread={"z": spread[0], "z_rate": spread[1]},
        process={"z_rate": process},
        smooth=True,
    )
    for i, name in enumerate(("z", "z_rate")):
        np.testing.assert_allclose(found.filtered[name], np.array(by_hand.x)[:, i], rtol=0, atol=1e-9)
        np.testing.assert_allclose(found.filtered.deviation(name), by_hand.deviation(i), rtol=1e-7)
    assert found.filtered["floor_gap"].min() > -1e-12
    assert found.smoothed is not None
    assert found.smoothed["floor_gap"].min() > -1e-12
    x, variance = by_hand.smoothed()
    inside = x[:, 0] > 1e-3  # where the smoothed height is not below the ground by hand
    assert inside.sum() > 15
    corrected = np.flatnonzero(np.array(by_hand.x)[:, 0] < 1e-12)  # these are not those of a linear filter
    if not len(corrected):
        np.testing.assert_allclose(found.smoothed["z"][inside], x[inside, 0], rtol=0, atol=1e-8)
        np.testing.assert_allclose(found.smoothed.deviation("z_rate")[inside] ** 2, variance[inside, 1], rtol=1e-6)


@pytest.mark.parametrize("process", [0.0, 0.02])
def test_oscillator_on_a_belt_is_filtered_as_by_hand(process: float) -> None:
    m, k, static, kinetic, belt, noise = 1.5, 80.0, 0.5, 0.35, 0.2, 0.002
    t, rng = np.linspace(0.05, 2, 40), np.random.default_rng(5)
    model = block(kinetic, m, belt, k, static)
    start = {"x": 0.01, "x_rate": 0.1, "z": 0, "z_rate": 0}
    truth = dr.simulate(model, 2, start=start, samples=t)
    data = {"time": t, "x": truth["x"] + noise * rng.normal(size=len(t))}
    spread = np.array([0.004, 0.05])
    motion = OnBelt(m, k, static, kinetic, belt, process)
    by_hand = filtered(motion, np.array([0.012, 0.1]), spread, "slip-", t, data["x"], noise)
    found = dr.filter(
        model,
        data,
        measured={"x": noise},
        start=start | {"x": 0.012},
        spread={"x": spread[0], "x_rate": spread[1]},
        process={"push": process} if process else None,
    )
    assert {"stick", "slip-"} <= set(by_hand.mode)
    np.testing.assert_array_equal(found["floor_mode"] == 2, [mode == "stick" for mode in by_hand.mode])
    for i, name in enumerate(("x", "x_rate")):
        np.testing.assert_allclose(found[name], np.array(by_hand.x)[:, i], rtol=0, atol=1e-10)
        np.testing.assert_allclose(found.deviation(name), by_hand.deviation(i), rtol=0, atol=1e-11)


# ---------------------------------------------------------------------------------------------------- covariances


def test_covariance_of_a_block_that_lands_and_slides_to_rest() -> None:
    """x = x₀ + v₀ t₁ + (v₀ − μ g t₁)²/(2 μ g) with t₁ = √(2 z₀/g): the impact takes μ times its normal impulse."""
    mu, z, v = 0.3, 0.3, 1.5
    spread = {"x": 0.02, "z": 0.01, "x_rate": 0.03}
    found = dr.filter(
        block(mu),
        {"time": [0.1, 0.3, 1.0], "z": [0.25, np.nan, np.nan]},
        measured={"z": 1e6},  # predictions
        start={"x": 0, "z": z, "x_rate": v, "z_rate": 0},
        spread=spread,
    )
    t = np.sqrt(2 * z / G)
    left, by_z = v - mu * G * t, 1 / (G * t)
    gradient = np.array([1.0, (v - left) * by_z, t + left / (mu * G)])
    assert found["x"][-1] == pytest.approx(v * t + left**2 / (2 * mu * G), abs=1e-10)
    assert found.deviation("x")[-1] == pytest.approx(np.linalg.norm(gradient * list(spread.values())), rel=1e-8)
    np.testing.assert_array_equal(found["floor_mode"], [0, 1, 2])
    assert found.deviation("z")[0] > 0.009
    np.testing.assert_array_equal(found.deviation("z")[1:], 0.0)
    assert found.deviation("x_rate")[1] == pytest.approx(0.03, rel=1e-9)  # v₀ − μ g t, whenever it lands
    assert found.deviation("x_rate")[2] == 0.0


def test_a_contact_that_opens_lets_noise_in() -> None:
    """A ball on a table lifts off where A ω² sin(ω t) = g: from then on noise of the acceleration moves it."""
    m = dr.Model("on_table")
    m.gravity(G)
    m.prismatic("z", "ground", m.body("ball", mass=1), axis="z")
    m.stop("table", "z", low="0.2*sin(10*t)")
    lifts = np.arcsin(G / (0.2 * 100)) / 10
    t = np.array([0.5 * lifts, lifts + 0.05, lifts + 0.1])
    sigma = 0.3
    found = dr.filter(
        m,
        {"time": t, "z_rate": [0.0, np.nan, np.nan]},
        measured={"z_rate": 1e6},
        start={"z": 0, "z_rate": 2.0},
        process={"z_rate": sigma},
    )
    since = np.maximum(t - lifts, 0.0)
    np.testing.assert_array_equal(found["table_mode"], [2, 0, 0])
    np.testing.assert_allclose(found.deviation("z_rate"), sigma * np.sqrt(since), rtol=1e-7, atol=1e-12)
    np.testing.assert_allclose(found.deviation("z"), sigma * np.sqrt(since**3 / 3), rtol=1e-7, atol=1e-12)


def thrown(mu: float = 0.08, e: float = 0.7) -> dr.Model:
    """A ball in a plane, with spin."""
    m = dr.Model("thrown")
    m.gravity(G)
    m.prismatic("x", "ground", m.body("carriage", mass=0), axis="x")
    m.prismatic("z", "carriage", m.body("lift", mass=0), axis="z")
    m.revolute("turn", "lift", m.body("ball", mass=0.5, inertia=(0.002,) * 3), axis="y")
    m.contact("floor", "ball", radius=0.1, friction=mu, restitution=e)
    return m


@pytest.mark.parametrize("method", [dr.estimation.ExtendedKalmanFilter(), dr.estimation.UnscentedKalmanFilter(alpha=1.0)])
def test_errors_of_random_logs_are_as_large_as_predicted(method: dr.estimation.ExtendedKalmanFilter) -> None:
    """Balls that slip in their first bounces and grip later, from noisy positions: normalized squared errors follow χ².

    Where it grips the spin is that of rolling, without an error of its own."""
    from scipy.stats import chi2

    model, rng, names = thrown(), np.random.default_rng(8), ("x", "z", "x_rate", "z_rate")
    start = {"x": 0.0, "z": 0.5, "x_rate": 2.0, "z_rate": 0.0, "turn_rate": 0.0, "turn": 0.0}
    spread = {"x": 0.01, "z": 0.01, "x_rate": 0.03, "z_rate": 0.03, "turn_rate": 0.5}
    t, logs, total = np.array([0.1, 0.2, 0.4, 0.55, 0.75]), 12, 0.0
    for _ in range(logs):
        begin = {name: start[name] + spread.get(name, 0.0) * float(rng.normal()) for name in start}
        truth = dr.simulate(model, 0.8, start=begin, samples=t)
        data = {"time": t, **{name: truth[name] + 0.005 * rng.normal(size=len(t)) for name in ("x", "z")}}
        found = dr.filter(model, data, measured={"x": 0.005, "z": 0.005}, start=start, spread=spread, method=method)
        total += float(found.filtered.nees(truth, names)[-1])
    assert chi2.ppf(0.001, logs * len(names)) < total < chi2.ppf(0.999, logs * len(names))


def test_sigma_points_that_have_not_landed_keep_a_contact_open() -> None:
    model = particle()  # without restitution
    fall = np.sqrt(2 * 0.3 / G)
    data = {"time": [fall + 0.001, fall + 0.2], "z": [np.nan, 0.0], "z_rate": [-1.0, np.nan]}
    method = dr.estimation.UnscentedKalmanFilter(alpha=1.0)
    given = {"measured": {"z": 1e3, "z_rate": 1e3}, "start": {"z": 0.3, "z_rate": 0}, "spread": {"z": 0.02}}
    wide, narrow = (dr.filter(model, data, **given, method=one) for one in (method, dr.estimation.ExtendedKalmanFilter()))
    np.testing.assert_array_equal(wide["floor_mode"], [0, 2])
    np.testing.assert_array_equal(narrow["floor_mode"], [2, 2])
    assert wide["z"][0] > 0.0
    assert wide.deviation("z")[0] > 0.0
    assert wide.deviation("z")[1] == narrow.deviation("z")[0] == 0.0


# -------------------------------------------------------------------------------------------------------- refusals


def test_what_is_constrained_has_no_spread() -> None:
    with pytest.raises(ArgumentError, match="'z' cannot name a deviation"):
        dr.filter(
            block(0.3), {"time": [0.1, 0.2], "x": [0.0, 0.0]}, measured={"x": 0.1}, start={"z": 0, "x_rate": 1}, spread={"z": 0.1}
        )


def test_implicit_methods_are_refused() -> None:
    with pytest.raises(ArgumentError, match="explicit methods compute derivatives, and Radau is implicit"):
        dr.filter(
            particle(),
            {"time": [0.1, 0.2], "z": [0.3, 0.3]},
            measured={"z": 0.1},
            start={"z": 0.3},
            spread={"z": 0.1},
            integration=dr.methods.Radau(),
        )


def test_state_transition_of_a_free_body_with_contacts() -> None:
    """A ball that falls, bounces without friction and rises: heights before and after have the factor of a mirror."""
    m = dr.Model("ball")
    m.gravity(G)
    ball = m.body("ball", mass=0.5, inertia=(0.002,) * 3)
    m.free(ball)
    m.contact("floor", ball, radius=0.1, restitution=0.5)
    found = dr.stability.state_transition(m, 0.4, start={"ball_z": 0.5})
    lands = np.sqrt(2 * 0.4 / G)
    after, e = 0.4 - lands, 0.5
    # z = e v t′ − g t′²/2 with v² = 2 g h and t′ the time since the landing: ∂z/∂h
    by_height = e * G / (G * lands) * after - (e * G * lands - G * after) / (G * lands)
    names = list(found.names)
    assert found.matrix[names.index("ball_z"), names.index("ball_z")] == pytest.approx(by_height, abs=1e-8)


@pytest.mark.parametrize("method", [dr.estimation.ExtendedKalmanFilter(), dr.estimation.UnscentedKalmanFilter(alpha=1.0)])
def test_a_body_that_comes_to_rest_is_certain(method):
    """It falls from 0.5 m without rebound: at rest after 0.319 s, where no freedom is left, and no sigma point."""
    ball = dr.Model("ball")
    ball.gravity(9.81)
    ball.prismatic("z", "ground", ball.body("ball", mass=1), axis="z")
    ball.contact("floor", "ball")
    t = np.linspace(0.1, 1, 10)
    fall = np.maximum(0.5 - 4.905 * t**2, 0)
    found = dr.filter(
        ball, {"time": t, "z": fall}, measured={"z": 0.01}, start={"z": 0.5}, spread={"z": 0.01, "z_rate": 0.1}, method=method
    )
    np.testing.assert_allclose(found["z"], fall, atol=1e-9)
    np.testing.assert_allclose(found.deviation("z")[4:], 0, atol=1e-12)
