"""Problems whose answer is known: closed forms, other sources of the same data, noise-free recovery."""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp
from scipy.integrate import solve_ivp

import draisine as dr
from draisine.gallery.entries.draining_tank import THETA, draining_tank, experiment


@pytest.fixture(scope="module")
def line() -> dr.Equations:
    """y = b + a t, as a motion."""
    x, a = sp.symbols("x a")
    return dr.first_order("line", {x: a}, parameters={a: 1.0}, start={x: 0.0})


@pytest.fixture(scope="module")
def tank() -> dr.Equations:
    return draining_tank()


EXACT = dr.methods.DOP853(rtol=1e-12, atol=1e-14)
METHODS = [dr.estimation.SingleShooting(EXACT), dr.optimal.MultipleShooting(window=2.0, known_start=True, integration=EXACT)]


@pytest.mark.parametrize("method", METHODS, ids=["single", "multiple"])
def test_tank_without_noise(tank, method):
    found = dr.estimate(
        tank, experiment(0.0), ["theta"], {"outflow": "q"}, start={"h": 1.0}, inputs={"u": "inflow"}, method=method
    )
    assert abs(found["theta"] / THETA - 1.0) < 1e-8


def test_line_is_linear_regression(line):
    random = np.random.default_rng(5)
    t = np.sort(random.uniform(0.0, 3.0, 40))
    t[0] = 0.0
    y = 0.3 + 1.7 * t + 0.1 * random.normal(size=40)
    y[7] = np.nan
    kept = np.isfinite(y)
    matrix = np.column_stack([t, np.ones(40)])[kept]
    best, squares, _, _ = np.linalg.lstsq(matrix, y[kept], rcond=None)
    inverse = np.linalg.inv(matrix.T @ matrix)
    data = {"time": t, "y": y}
    given = dr.estimate(line, data, ["a", "start.x"], {"y": ("x", 0.2)}, start={"x": 0.0})
    np.testing.assert_allclose([given["a"], given["start.x"]], best, rtol=1e-9)
    np.testing.assert_allclose(given.covariance, 0.04 * inverse, rtol=1e-7)
    unsaid = dr.estimate(line, data, ["a", "start.x"], {"y": "x"}, start={"x": 0.0})
    np.testing.assert_allclose(unsaid.covariance, squares[0] / 37 * inverse, rtol=1e-4)
    assert unsaid.freedom == 37
    low, high = unsaid.interval("a")
    assert abs((high - low) / 2 / np.sqrt(unsaid.covariance[0, 0]) - 2.0262) < 1e-3  # Student's, 37 degrees of freedom
    shot = dr.estimate(line, data, ["a"], {"y": ("x", 0.2)}, method=dr.optimal.MultipleShooting(window=0.7))
    assert abs(shot["a"] - best[0]) < 1e-6
    np.testing.assert_allclose(shot.covariance[0, 0], 0.04 * inverse[0, 0], rtol=1e-6)
    assert shot.freedom == given.freedom
    np.testing.assert_allclose(shot.chi_square, given.chi_square, rtol=1e-6)


def test_priors_and_relations(line):
    """A prior is one more measurement; a relation halves the slope."""
    t = np.linspace(0.0, 1.0, 11)
    data = {"time": t, "y": 2.0 * t}
    found = dr.estimate(line, data, ["a"], {"y": ("x", 0.1)}, priors={"a": (1.0, 0.05)})
    information = np.sum(t**2) / 0.01
    assert abs(found["a"] - (information * 2.0 + 1.0 / 0.0025) / (information + 1.0 / 0.0025)) < 1e-9
    x, a, half = sp.symbols("x a half")
    bent = dr.first_order("bent", {x: a + 0 * half}, parameters={a: 1.0, half: 1.0}, start={x: 0.0})
    related = dr.estimate(bent, data, ["half"], {"y": ("x", 0.1)}, relations={"a": "2*half"})
    assert abs(related["half"] - 1.0) < 1e-10 and abs(related.parameters["a"] - 2.0) < 1e-10
    assert abs(related.deviations["half"] - 0.5 / np.sqrt(information)) < 1e-9


def test_several_experiments_with_starts_of_their_own(line):
    t = np.linspace(0.0, 1.0, 6)
    data = {"up": {"time": t, "y": 1.0 + 0.5 * t}, "down": {"time": 2 * t, "y": -3.0 + t}}
    found = dr.estimate(line, data, ["a", "start.x"], {"y": ("x", 0.1)}, start={"x": 0.0})
    assert found.names == ("a", "start.x of up", "start.x of down")
    np.testing.assert_allclose(list(found.values.values()), [0.5, 1.0, -3.0], atol=1e-9)


def test_pendulum_as_differential_algebraic_equations():
    """Length and friction of a Cartesian pendulum with its multiplier, from data that its angle's equation made."""
    x, z, v, w, tension = sp.symbols("x z v w tension")
    length, friction, gravity = sp.symbols("length friction gravity")
    pendulum = dr.symbolic.semi_explicit(
        "friction_pendulum",
        {x: v, z: w, v: -tension * x - friction * v, w: -tension * z - gravity - friction * w},
        constraints={"rod": (x**2 + z**2 - length**2) / 2},
        unknowns=[tension],
        parameters={length: 1.0, friction: 0.2, gravity: 9.81},
        start={x: 0.8, z: -0.9},
    )
    times = np.linspace(0.0, 3.0, 31)
    truth = {"length": 1.3, "friction": 0.35}
    angle = solve_ivp(
        lambda _, s: [s[1], -9.81 / truth["length"] * np.sin(s[0]) - truth["friction"] * s[1]],
        (0.0, 3.0),
        [0.9, 0.0],
        t_eval=times,
        rtol=1e-11,
        atol=1e-12,
    ).y[0]
    data = {"time": times, "x": truth["length"] * np.sin(angle), "z": -truth["length"] * np.cos(angle)}
    begin = {"x": data["x"][0], "v": 0.0, "w": 0.0}
    guess = {"length": 1.5}  # a rod of 1 m would not reach the first place
    found = dr.estimate(pendulum, data, ["length", "friction"], {"x": ("x", 1e-3), "z": ("z", 1e-3)}, start=begin, guess=guess)
    for name, value in truth.items():
        assert abs(found[name] / value - 1.0) < 1e-5, name


def test_mass_from_a_load_cell():
    """The tension of a rod let go from the horizontal is 3 m g cos θ: a multiplier is measured, and only it knows the mass."""
    pendulum = dr.gallery.simple_pendulum()
    run = dr.simulate(pendulum, 1.5, parameters={"length": 1.2}, start={"x1": 1.2, "z1": 0.0}, samples=61)
    data = {"time": run.time, "z [mm]": 1e3 * run["z1"], "load [kN]": 1e-3 * 3.0 * 1.7 * 9.81 * -run["z1"] / 1.2}
    found = dr.estimate(
        pendulum,
        data,
        {"mass": (0.1, 10.0), "length": (0.5, 3.0)},
        {"z": ("z1", "1 mm"), "load": ("rod1_multiplier", "0.1 N")},
        guess={"length": 1.0},
        start={"z1": 0.0, "x1_rate": 0.0, "z1_rate": 0.0},
    )
    assert abs(found["mass"] / 1.7 - 1.0) < 1e-6 and abs(found["length"] / 1.2 - 1.0) < 1e-6


@pytest.mark.parametrize("seed", range(4))
def test_profiles_end_where_the_likelihood_says(seed):
    """x = k² t is linear in k²: the interval of k is the root of that of k², to the digits that are printed."""
    random = np.random.default_rng(seed)
    x, k = sp.symbols("x k")
    model = dr.first_order("line", {x: k**2}, parameters={k: 1.0}, start={x: 0.0})
    t, sigma, truth = np.linspace(0.2, 1.0, 5), random.uniform(0.05, 0.4), random.uniform(0.8, 1.2)
    data = truth**2 * t + sigma * random.normal(size=5)
    found = dr.estimate(model, {"time": t, "y": data}, ["k"], {"y": ("x", sigma)}).profile("k")
    square, width = data @ t / (t @ t), 1.959963984540054 * sigma / np.sqrt(t @ t)
    assert found.interval == pytest.approx(np.sqrt([square - width, square + width]), rel=2e-6)
