"""Model-predictive control in simulated runs. Times are reported, never judged."""

import math

import numpy as np
import pytest
import sympy as sp

import draisine as dr


@pytest.fixture(scope="module")
def cart():
    return dr.gallery.cart_pole()


@pytest.fixture(scope="module")
def upright(cart):
    stated = (
        dr.maneuver(cart)
        .start(pole=0.1)
        .bounds(push=(-20, 20), cart=(-0.6, 0.6))
        .minimize(
            integral="10*cart**2 + 10*sin(pole/2)**2 + 0.01*push**2 + 0.1*cart_rate**2 + 0.1*pole_rate**2",
            final="10*cart**2 + 40*sin(pole/2)**2 + cart_rate**2 + pole_rate**2",
        )
    )
    return dr.optimal.predictive(stated, rate=20, horizon=1.0)


def test_it_swings_a_hanging_pole_up_within_bounds(cart, upright):
    run = dr.simulate(cart, 5, start={"pole": math.pi}, control=upright.sampled)
    assert [run.final[n] for n in ("cart", "cart_rate", "pole_rate")] == pytest.approx([0] * 3, abs=1e-3)
    assert math.cos(run.final["pole"]) == pytest.approx(1, abs=1e-6)  # from either side
    assert np.abs(run["push"]).max() <= 20 + 1e-6
    assert np.abs(run["cart"]).max() < 0.62
    timing = upright.timing
    assert timing.calls == 99
    assert timing.missed == 0
    assert timing.worst >= timing.median > 0
    assert "at 20 Hz" in str(timing)
    times, states, controls = upright.plan()
    assert (times[0], times[-1]) == pytest.approx((0, 1))
    assert states.shape[1] == 4
    assert controls.shape == (20, 1)


def test_on_a_linear_plant_it_is_the_regulator():
    """ẋ = u, ∫x² + u² and 1·x² in the end: P = 1 solves the Riccati equation, u = −x at every instant but for the holding."""
    x, u = sp.symbols("x u")
    line = dr.first_order("line", {x: u}, inputs=[u])
    stated = dr.maneuver(line).start(x=1).minimize(integral="x**2 + u**2", final="x**2")
    controller = dr.optimal.predictive(stated, rate=100, horizon=1.0)
    run = dr.simulate(line, 2, start={"x": 1.0}, control=controller.sampled, samples=np.linspace(0, 2, 41))
    # held for h, the exact discrete law: Q = h, cross S = h²/2, R = h + h³/3, a = 1, b = h, with P of its Riccati equation
    h = 0.01
    p = 1.0
    for _ in range(5000):
        k = (h * p + h**2 / 2) / (h + h**3 / 3 + h**2 * p)
        p = h + p - k * (h * p + h**2 / 2)
    steps = np.round(run.time / h).astype(int)
    assert run["x"] == pytest.approx((1 - h * k) ** steps, abs=2e-4)


def test_it_follows_a_solution_from_beside_it():
    bike = dr.gallery.bicycle()
    aside = (
        dr.maneuver(bike)
        .start(speed=5)
        .finish(heading=0.3, lean=0, steer=0, rates=0)
        .bounds(steer_torque=(-4, 4), lean=(-0.8, 0.8))
        .controls("steer_torque")
        .duration(1.5)
        .minimize(integral="steer_torque**2")
    ).solve(dr.optimal.Collocation(intervals=15))
    controller = dr.optimal.predictive(
        aside, rate=20, horizon=0.5, weights={"heading": 100, "lean": 100, "steer": 10}, input_weights={"steer_torque": 0.05}
    )
    start = {"speed": 5, "lean": 0.03}
    alone = dr.simulate(bike, 1.5, start=start, inputs=aside.feedforward)
    held = dr.simulate(bike, 1.5, start=start, control=controller.sampled)
    assert controller.timing.missed == 0
    assert abs(alone.final["heading"] - 0.3) > 0.03
    assert abs(held.final["heading"] - 0.3) < 0.3 * abs(alone.final["heading"] - 0.3)
    assert np.abs(held["steer_torque"]).max() <= 4 + 1e-6


def test_what_cannot_be_is_said(cart, upright):
    stated = dr.maneuver(cart).bounds(push=(-20, 20)).minimize(integral="pole**2")
    with pytest.raises(dr.errors.ArgumentError, match="a whole number of periods"):
        dr.optimal.predictive(stated, rate=20, horizon=0.512)
    with pytest.raises(dr.errors.ArgumentError, match="the start is the measured state"):
        dr.optimal.predictive(stated.start(free=["cart"]), rate=20, horizon=0.5)
    with pytest.raises(dr.errors.ArgumentError, match="a maneuver has its own cost"):
        dr.optimal.predictive(stated, rate=20, horizon=0.5, weights={"pole": 1})
