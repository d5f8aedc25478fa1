"""Experiment design against closed forms, and against sensitivities of plain simulations."""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp
from scipy.optimize import brentq

import draisine as dr

# ------------------------------------------------------------------------------------------------------------- regression


@pytest.fixture(scope="module")
def line():
    x, b = sp.symbols("x b")
    return dr.first_order("line", {x: b}, parameters={b: 1.0})


def test_a_straight_line_is_measured_at_its_ends(line):
    """Four samples, two at either end: σ_b = σ/√Σ(t − t̄)² and σ_a = σ/√2 with the start at one end."""
    plan = dr.estimation.design_experiment(
        line, 2.0, ["b", "start.x"], {"x": 0.1}, samples=dr.estimation.SamplingTimes(4), start={"x": 1.0}, parameter="b"
    )
    np.testing.assert_allclose(plan.instants[0], [0.0, 0.0, 2.0, 2.0], atol=1e-9)
    assert plan.deviation("b") == pytest.approx(0.1 / 2.0, rel=1e-9)
    assert plan.deviation("start.x") == pytest.approx(0.1 / np.sqrt(2.0), rel=1e-9)


def test_equally_spaced_samples_of_a_line(line):
    """Nothing to choose: the covariance of linear regression as it stands in books, and knowledge from before."""
    t = np.linspace(0.0, 2.0, 6)
    given = {"samples": 6, "start": {"x": 1.0}}
    plan = dr.estimation.design_experiment(line, 2.0, ["b", "start.x"], {"x": 0.1}, **given)
    design = np.column_stack([t, np.ones(6)])
    np.testing.assert_allclose(plan.identifiability.covariance, 0.01 * np.linalg.inv(design.T @ design), rtol=1e-8)
    informed = dr.estimation.design_experiment(line, 2.0, ["b", "start.x"], {"x": 0.1}, priors={"start.x": 0.02}, **given)
    inverse = np.linalg.inv(design.T @ design / 0.01 + np.diag([0.0, 1 / 0.02**2]))
    np.testing.assert_allclose(informed.identifiability.covariance, inverse, rtol=1e-8)


def test_a_parabola_is_measured_at_both_ends_and_in_the_middle():
    """Three experiments of one sample each; the determinant asks for −1, 0 and 1 (Smith 1918)."""
    x, a, b, c, s = sp.symbols("x a b c s")
    parabola = dr.first_order(
        "parabola", {x: 0 * x}, parameters={a: 1.0, b: 1.0, c: 1.0, s: 0.3}, outputs={"y": a + b * s + c * s**2}
    )
    given = {"samples": [1.0], "experiments": 3, "trials": 4}
    plan = dr.estimation.design_experiment(
        parabola, 1.0, ["a", "b", "c"], {"y": 0.1}, {"s": (-1.0, 1.0)}, criterion=dr.estimation.DOptimal(), **given
    )
    found = sorted(chosen["s"] for chosen in plan.chosen)
    np.testing.assert_allclose(found, [-1.0, 0.0, 1.0], atol=1e-4)
    matrix = np.vander([-1.0, 0.0, 1.0], increasing=True)
    np.testing.assert_allclose(plan.identifiability.covariance, 0.01 * np.linalg.inv(matrix.T @ matrix), rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize(
    ("criterion", "share"),
    [(dr.estimation.DOptimal(), 1 / 2), (dr.estimation.EOptimal(), 2 / 3), (dr.estimation.Variance("b"), 0.0)],
)
def test_criteria_share_an_effort_differently(criterion, share):
    """y = s·a and z = 2(1 − s)·b: information s² and 4(1 − s)²; largest product at 1/2, alike at 2/3, all for b at 0."""
    x, a, b, s = sp.symbols("x a b s")
    outputs = {"y": s * a, "z": 2 * (1 - s) * b}
    shared = dr.first_order("shared", {x: 0 * x}, parameters={a: 1.0, b: 1.0, s: 0.3}, outputs=outputs)
    plan = dr.estimation.design_experiment(
        shared,
        1.0,
        ["a", "b"],
        {"y": 0.1, "z": 0.1},
        {"s": (0.0, 1.0)},
        samples=[1.0],
        criterion=criterion,
        trials=4,
        priors={"a": 1e3},
    )
    assert plan.chosen[0]["s"] == pytest.approx(share, abs=2e-4)
    assert plan.deviation("b") == pytest.approx(0.1 / (2 * (1 - share)), rel=1e-3)


# ------------------------------------------------------------------------------------------------------------- oscillations


def test_the_length_of_a_pendulum_is_read_late_and_in_passing():
    """θ = A cos ωt: ∂θ/∂l = A ωt sin(ωt)/2l is largest where tan ωt = −ωt, at the largest swing allowed."""
    angle, rate, length = sp.symbols("angle rate length")
    pendulum = dr.first_order(
        "pendulum", {angle: rate, rate: -9.81 / length * sp.sin(angle)}, parameters={length: 1.0}, units={length: "m"}
    )
    plan = dr.estimation.design_experiment(
        pendulum,
        3.0,
        ["length"],
        {"angle": 1e-3},
        {"angle": (0.01, 0.05)},
        samples=dr.estimation.SamplingTimes(1),
        parameter="length",
        trials=24,
    )
    omega = np.sqrt(9.81)
    phase = brentq(lambda s: np.sin(s) + s * np.cos(s), 2.5 * np.pi, 2.75 * np.pi)
    assert plan.chosen[0]["angle"] == pytest.approx(0.05, rel=1e-6)
    assert plan.instants[0][0] == pytest.approx(phase / omega, rel=1e-3)
    assert plan.deviation("length") == pytest.approx(2e-3 / (0.05 * phase * abs(np.sin(phase))), rel=2e-3)
    assert "length" in plan.summary() and "m" in plan.units


@pytest.fixture(scope="module")
def cart():
    """A mass on a spring, pulled by a force."""
    m = dr.Model("cart")
    mass, stiffness = m.parameter("mass", 2.0, "kg"), m.parameter("stiffness", 50.0, "N/m")
    body = m.body("cart", mass=mass)
    m.prismatic("place", "ground", body, axis="x")
    m.spring("place", stiffness, damping=1.0)
    m.generalized_force("place", m.input("force", "N"))
    return m


def test_free_swings_do_not_tell_mass_from_stiffness():
    x, v, k, m = sp.symbols("x v k m")
    swing = dr.first_order("swing", {x: v, v: -k / m * x}, parameters={k: 50.0, m: 2.0})
    plan = dr.estimation.design_experiment(swing, 2.0, ["k", "m"], {"x": 0.01}, {"x": (0.1, 1.0)})
    (lost,) = plan.identifiability.unidentifiable
    shares = np.array([lost.shares["k"], lost.shares["m"]])
    np.testing.assert_allclose(np.abs(shares), np.sqrt(0.5), rtol=1e-6)
    assert shares[0] * shares[1] > 0  # both larger by the same factor: nobody notices
    assert plan.deviation("k") == np.inf and plan.to_dict()["standard deviations"]["k"] is None
    assert "cannot be identified" in plan.summary()


def test_a_force_is_chosen_that_shakes_a_cart_near_resonance(cart):
    law, ranges = "amplitude*sin(pace*t)", {"amplitude": (0.5, 3.0), "pace": (1.0, 15.0)}
    t = np.linspace(0.0, 4.0, 21)
    plan = dr.estimation.design_experiment(
        cart,
        4.0,
        ["stiffness", "mass"],
        {"place": 1e-3},
        ranges,
        samples=t,
        inputs={"force": law},
        parameter="stiffness",
        trials=12,
    )
    chosen = plan.chosen[0]
    assert chosen["amplitude"] == pytest.approx(3.0)
    assert 4.0 < chosen["pace"] < 6.0  # √(50/2) = 5 rad/s

    def deviation(amplitude, pace):
        """By a plain simulation with sensitivities."""
        driven = law.replace("amplitude", repr(float(amplitude))).replace("pace", repr(float(pace)))
        run = dr.simulate(cart, 4.0, samples=t, inputs={"force": driven}, sensitivity=["stiffness", "mass"])
        jacobian = run.sensitivity.matrix(["place"])[:, 0, :] / 1e-3
        return np.sqrt(np.linalg.inv(jacobian.T @ jacobian)[0, 0])

    assert plan.deviation("stiffness") == pytest.approx(deviation(**chosen), rel=1e-5)
    others = [deviation(3.0, pace) for pace in (chosen["pace"] - 0.2, chosen["pace"] + 0.2, 2.0, 8.0)]
    assert min(others) > plan.deviation("stiffness")


def test_the_speed_at_which_a_bicycle_tells_its_trail():
    bike = dr.gallery.bicycle()
    reported = []
    plan = dr.estimation.design_experiment(
        bike,
        1.0,
        ["trail"],
        {"roll_rate": 0.01, "steer_rate": 0.01},
        {"speed": (4.4, 6.0)},
        samples=21,
        start={"roll_rate": 0.2},
        parameter="trail",
        trials=1,
        progress=reported.append,
    )
    run = dr.simulate(bike, 1.0, samples=21, start={"roll_rate": 0.2, "speed": plan.chosen[0]["speed"]}, sensitivity=["trail"])
    jacobian = run.sensitivity.matrix(["roll_rate", "steer_rate"])[:, :, 0] / 0.01
    assert plan.deviation("trail") == pytest.approx(1 / np.linalg.norm(jacobian), rel=1e-5)
    assert plan.deviation("trail") <= plan.middle.deviations["trail"] * 0.08 * (1 + 1e-9)
    shares = [progress.share for progress in reported]
    assert shares and shares == sorted(shares) and shares[-1] == 1.0


# ------------------------------------------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"choose": {"b": (0.0, 1.0)}}, "'b' is among the unknowns"),
        ({"choose": {"x": (1.0, 1.0)}}, "range of 'x'"),
        ({"choose": {"y": (0.0, 1.0)}}, "'y'"),
        ({"until": 0.0}, "until"),
        ({"samples": [0.0, 3.0]}, "samples: give times between 0 and until"),
        ({"parameter": "c"}, "the criterion is about 'c'"),
        ({"priors": {"c": 1.0}}, "priors"),
        ({"measured": {"y": 0.1}}, "no quantity 'y'"),
        ({"measured": {"x": -0.1}}, "give a positive standard deviation"),
        ({"unknown": ["c"]}, "no parameter 'c'"),
        ({"experiments": 0}, "experiments"),
        ({"samples": dr.estimation.SamplingTimes(3, first=2.0)}, "must come before until = 2 s"),
    ],
)
def test_what_is_wrong_is_named(line, given, message):
    asked = {"unknown": ["b"], "measured": {"x": 0.1}, "until": 2.0, "start": {"x": 1.0}, **given}
    with pytest.raises((ValueError, KeyError), match=message):
        dr.estimation.design_experiment(line, **asked)
