"""Collocation against shooting: the same minimum, unstable motions from a poor start, and equations 0 = F(t, x, ẋ)."""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp
from scipy.integrate import solve_ivp

import draisine as dr
from draisine.gallery.entries import bicycle_identified as bicycle
from draisine.gallery.entries.draining_tank import draining_tank, experiment
from draisine.stability.linearization import equations_of

EXACT = dr.methods.DOP853(rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize(
    ("method", "apart"),
    [
        (dr.optimal.Collocation("radau", 3, 20), 1e-7),
        (dr.optimal.Collocation("gauss", 2, 20), 1e-6),
        (dr.optimal.Collocation("hermite-simpson", intervals=100), 1e-6),
        (dr.optimal.Collocation("trapezoidal", intervals=100), 1e-3),  # of second order
    ],
)
def test_the_tank_has_one_minimum(method, apart):
    tank, data = draining_tank(), experiment(1e-3, seed=4)
    given = {"measured": {"outflow": ("q", 1e-3)}, "start": {"h": 1.1}, "inputs": {"u": "inflow"}}
    shot = dr.estimate(tank, data, ["theta"], **given, method=dr.optimal.MultipleShooting(window=5.0, integration=EXACT))
    found = dr.estimate(tank, data, ["theta"], **given, method=method)
    assert abs(found["theta"] / shot["theta"] - 1.0) < apart
    np.testing.assert_allclose(found.deviations["theta"], shot.deviations["theta"], rtol=max(apart, 1e-6))
    assert found.freedom == shot.freedom


def test_the_bicycle_has_one_minimum():
    """Unstable, with constraints, a quaternion, and a torque recorded with noise."""
    data, model = bicycle.recorded(bicycle.ride(1.0), 5), equations_of(bicycle.bicycle())
    shot = bicycle.identify(
        data, method=dr.optimal.MultipleShooting(window=0.25, integration=dr.methods.RK4(step=0.005)), model=model
    )
    found = bicycle.identify(data, method=dr.optimal.Collocation("gauss", 3, 10), model=model)
    for name in bicycle.TRUTH:
        assert abs(found[name] / shot[name] - 1.0) < 1e-6, name
        np.testing.assert_allclose(found.deviations[name], shot.deviations[name], rtol=1e-5)


def test_an_unstable_motion_from_a_poor_start():
    """It grows by e^24 within the data; the guesses are wrong by factors."""
    angle, rate, stiffness, gain, u = sp.symbols("angle rate stiffness gain u")
    rates = {angle: rate, rate: stiffness * sp.sin(angle) + gain * u}
    stick = dr.first_order("stick", rates, parameters={stiffness: 16.0, gain: 1.2}, inputs=[u])
    law = "-40*angle - 8*rate + 4*sin(3*t) + 3*cos(7*t)"
    run = dr.simulate(stick, 6.0, inputs={"u": law}, start={"angle": 0.1}, samples=301)
    random = np.random.default_rng(1)
    log = {"time": run.time, "angle": run["angle"] + 0.002 * random.normal(size=301)}
    log["torque"] = run["u"] + 0.05 * random.normal(size=301)
    found = dr.estimate(
        stick,
        log,
        {"stiffness": (0.0, 100.0), "gain": (0.01, 10.0)},
        {"angle": ("angle", 0.002)},
        guess={"stiffness": 60.0, "gain": 0.3},
        inputs={"u": dr.estimation.CubicInput("torque", 0.05)},
        method=dr.optimal.Collocation("radau", 3, 60),
    )
    for name, value in (("stiffness", 16.0), ("gain", 1.2)):
        assert abs(found[name] - value) < 3.5 * found.deviations[name] < 0.1 * value
    assert found.probability > 1e-3


@pytest.fixture(scope="module")
def pendulum() -> dr.Equations:
    """A pendulum with friction in Cartesian coordinates: differential-algebraic, of index 3."""
    x, z, v, w, tension = sp.symbols("x z v w tension")
    length, friction, gravity = sp.symbols("length friction gravity")
    return dr.symbolic.semi_explicit(
        "friction_pendulum",
        {x: v, z: w, v: -tension * x - friction * v, w: -tension * z - gravity - friction * w},
        constraints={"rod": (x**2 + z**2 - length**2) / 2},
        unknowns=[tension],
        parameters={length: 1.0, friction: 0.2, gravity: 9.81},
        start={x: 0.8, z: -0.9},
    )


@pytest.mark.parametrize("method", [dr.optimal.MultipleShooting(window=1.0), dr.optimal.Collocation("radau", 5, 30)])
def test_windows_of_a_differential_algebraic_system(pendulum, method):
    """The same minimum as the pendulum's angle alone gives, and every window begins with all of its constraints kept."""
    times, truth = np.linspace(0.0, 3.0, 31), {"length": 1.3, "friction": 0.35}
    rates = lambda _, s: [s[1], -9.81 / 1.3 * np.sin(s[0]) - 0.35 * s[1]]  # noqa: E731
    angle = solve_ivp(rates, (0.0, 3.0), [0.9, 0.0], t_eval=times, rtol=1e-11, atol=1e-12).y[0]
    random = np.random.default_rng(0)
    log = {"time": times} | {n: 1.3 * c + 1e-3 * random.normal(size=31) for n, c in (("x", np.sin(angle)), ("z", -np.cos(angle)))}
    measured, guess = {"x": ("x", 1e-3), "z": ("z", 1e-3)}, {"length": 1.5}
    asked = [*truth, "start.x", "start.v"]
    found = dr.estimate(pendulum, log, asked, measured, start={"x": log["x"][0], "v": 0.0}, guess=guess, method=method)

    q, r, length, friction = sp.symbols("q r length friction")
    swing = dr.first_order(
        "swing",
        {q: r, r: -sp.Float(9.81) / length * sp.sin(q) - friction * r},
        parameters={length: 1.5, friction: 0.2},
        outputs={"x": length * sp.sin(q), "z": -length * sp.cos(q)},
    )
    unknown = ["length", "friction", "start.q", "start.r"]
    plain = dr.estimate(swing, log, unknown, measured, start={"q": 0.9, "r": 0.0}, method=dr.estimation.SingleShooting(EXACT))
    for name, value in truth.items():
        assert abs(found[name] / plain[name] - 1.0) < 2e-6
        np.testing.assert_allclose(found.deviations[name], plain.deviations[name], rtol=1e-4)
        assert abs(found[name] - value) < 3.5 * found.deviations[name]
    assert found.freedom == plain.freedom
    (chain,) = found.outcome.shot.chains
    x, z, v, w, tension = chain.states.T
    length, friction = found["length"], found["friction"]
    np.testing.assert_allclose(x**2 + z**2, length**2, atol=1e-9)
    np.testing.assert_allclose(x * v + z * w, 0.0, atol=1e-9)
    np.testing.assert_allclose(tension * length**2, v**2 + w**2 - 9.81 * z, atol=1e-8)


def test_schemes_that_do_not_serve_are_refused(pendulum):
    log = {"time": [0.0, 0.5, 1.0], "x": [0.8, 0.7, 0.4]}
    with pytest.raises(dr.errors.ArgumentError, match=r"'gauss' is not supported; use Collocation\('radau'"):
        dr.estimate(pendulum, log, ["friction"], {"x": ("x", 0.1)}, method=dr.optimal.Collocation("gauss", 2, 4))
