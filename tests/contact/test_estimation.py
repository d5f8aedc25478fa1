"""Parameters from data of motions across modes: known truth, derivatives beside differences, coverage of intervals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import draisine as dr
from draisine.errors import ArgumentError, DataError
from draisine.estimation.problem import build_problem
from draisine.estimation.single_shooting import Predictor, SingleShooting

TIGHT = dr.methods.DOP853(rtol=1e-11, atol=1e-12)
RADIUS = 0.1
THROWN = {"x": 0, "z": 1.0, "x_rate": 3.0, "z_rate": 0, "turn": 0, "turn_rate": 0}


def ball(e: float = 0.7, mu: float = 0.07) -> dr.Model:
    """A ball that is thrown: it slips at its bounces, and grips at a later one."""
    m = dr.Model("ball")
    m.gravity(9.81)
    m.parameter("e", e)
    m.parameter("mu", mu)
    m.prismatic("x", "ground", m.body("carriage", mass=0), axis="x")
    m.prismatic("z", "carriage", m.body("lift", mass=0), axis="z")
    body = m.body("ball", mass=0.5, inertia=(0.4 * 0.5 * RADIUS**2,) * 3)
    m.revolute("turn", "lift", body, axis="y")
    m.contact("floor", body, radius=RADIUS, friction="mu", restitution="e")
    return m


def on_belt() -> dr.Model:
    """A mass on a spring, on a belt that moves: it sticks and slips."""
    m = dr.Model("on_belt")
    m.gravity(9.81)
    m.parameter("mu_s", 0.5)
    m.parameter("mu_k", 0.35)
    m.parameter("k", 80.0, "N/m")
    m.ground(velocity=(0.2, 0))
    m.prismatic("x", "ground", m.body("carriage", mass=0), axis="x")
    m.prismatic("z", "carriage", m.body("mass", mass=1.5), axis="z")
    m.generalized_force("x", "-k*x")
    m.contact("belt", "mass", friction=("mu_s", "mu_k"))
    return m


def pushed() -> dr.Model:
    m = dr.Model("pushed")
    m.gravity(9.81)
    m.parameter("mu", 0.3)
    m.parameter("m", 1.0, "kg")
    m.prismatic("x", "ground", m.body("carriage", mass=0), axis="x")
    m.prismatic("z", "carriage", m.body("mass", mass="m"), axis="z")
    m.generalized_force("x", m.input("push", "N"))
    m.contact("floor", "mass", friction="mu")
    return m


def log(m: dr.Model, until: float, count: int, columns: dict[str, float], seed: int | None, **given: Any) -> dict[str, Any]:
    """A run with noise of these standard deviations."""
    t = np.linspace(0, until, count)
    run = dr.simulate(m, until, samples=t, method=TIGHT, **given)
    rng = np.random.default_rng(seed)
    noise = {name: 0.0 if seed is None else sigma for name, sigma in columns.items()}
    return {"time": t} | {name: run[name] + sigma * rng.normal(size=count) for name, sigma in noise.items()}


NOISE = {"x": 2e-3, "z": 2e-3, "turn": 1e-2}


def test_restitution_and_friction_of_a_ball_from_exact_data() -> None:
    data = log(ball(), 1.5, 61, NOISE, None, start=THROWN, parameters={"e": 0.8, "mu": 0.1})
    fit = dr.estimate(ball(), data, ["e", "mu"], list(NOISE), start=THROWN)
    assert fit.converged
    assert [fit["e"], fit["mu"]] == pytest.approx([0.8, 0.1], rel=1e-6)


@pytest.mark.parametrize("scene", ["ball", "on_belt", "pushed"])
def test_derivatives_of_predictions_beside_differences(scene: str) -> None:
    if scene == "ball":
        m, start, columns, given, until = ball(0.8, 0.1), THROWN, list(NOISE), {}, 1.5
        unknown = ["e", "mu", "start.x_rate"]
    elif scene == "on_belt":
        m, start, columns, given, until = on_belt(), {"x": 0, "x_rate": 0.2, "z": 0}, ["x", "x_rate"], {}, 3.0
        unknown = ["mu_s", "mu_k", "k"]
    else:
        m, start, columns, until = pushed(), {"x": 0, "x_rate": 0, "z": 0}, ["x", "x_rate"], 3.0
        given, unknown = {"inputs": {"push": "push"}}, ["mu", "m"]
    t = np.linspace(0, until, 23)
    data = {"time": t} | {c: np.zeros_like(t) for c in columns} | {"push": 8 * np.sin(2 * t) ** 3}
    problem = build_problem(m, data, unknown, {c: (c, 1.0) for c in columns}, start=start, **given)
    method = SingleShooting(TIGHT)
    at = problem.guess
    (found,) = Predictor(problem, method)(at)
    assert np.abs(found.by).max(axis=(0, 1)).min() > 1e-4  # each has an effect
    for k, size in enumerate(np.abs(at)):
        differences = []
        for h in (2e-5, 1e-5):
            step = np.zeros_like(at)
            step[k] = h * size
            high, low = (Predictor(problem, method)(at + sign * step)[0].values for sign in (1, -1))
            differences.append((high - low) / (2 * h * size))
        extrapolated = (4 * differences[1] - differences[0]) / 3
        scale = np.abs(extrapolated).max()
        assert np.abs(found.by[..., k] - extrapolated).max() < 2e-6 * scale


@pytest.mark.parametrize("scene", ["ball", "on_belt"])
def test_intervals_cover_the_truth(scene: str) -> None:
    """Of 95 % intervals of 24 logs, nearly all contain the truth; deviations over standard deviations are about 1."""
    scores, inside = [], 0
    for seed in range(24):
        if scene == "ball":
            m, truth, start, noise = ball(), {"e": 0.8, "mu": 0.1}, THROWN, NOISE
            data = log(m, 1.5, 61, NOISE, seed, start=start, parameters=truth)
            guess = {"e": 0.75, "mu": 0.08}
        else:
            m, truth, start, noise = on_belt(), {"mu_s": 0.5, "mu_k": 0.35}, {"x": 0, "x_rate": 0.2, "z": 0}, {"x": 2e-3}
            data = log(m, 3.0, 61, noise, seed, start=start)
            guess = {"mu_s": 0.49, "mu_k": 0.36}
        fit = dr.estimate(m, data, list(truth), {c: (c, s) for c, s in noise.items()}, start=start, guess=guess)
        assert fit.converged, fit
        for name, value in truth.items():
            low, high = fit.interval(name)
            inside += low <= value <= high
            scores.append((fit[name] - value) / ((high - low) / (2 * 1.96)))
    assert inside >= 41  # of 48; fewer than one in 1e3 repetitions
    assert 0.7 < np.sqrt(np.mean(np.square(scores))) < 1.3


def test_recorded_inputs_and_an_unknown_mass() -> None:
    t = np.linspace(0, 3, 121)
    start = {"x": 0, "x_rate": 0, "z": 0}
    run = dr.simulate(pushed(), 3, start=start, inputs={"push": "8*sin(2*t)^3"}, samples=t, parameters={"m": 1.2})
    fine = np.linspace(0, 3, 3001)
    data = {"time": fine, "push": 8 * np.sin(2 * fine) ** 3, "x": np.full(3001, np.nan)}
    data["x"][::25] = run["x"]
    fit = dr.estimate(pushed(), data, ["mu", "m"], {"x": ("x", 1e-3)}, start=start, inputs={"push": "push"})
    assert [fit["mu"], fit["m"]] == pytest.approx([0.3, 1.2], rel=1e-4)  # inputs are linear between samples


def test_what_begins_in_unknown_modes_is_refused_with_the_cure() -> None:
    data = log(ball(), 0.5, 11, NOISE, None, start=THROWN)
    for method in (dr.estimation.MultipleShooting(window=0.2), dr.estimation.Collocation("radau", 3, 5)):
        name = type(method).__name__
        with pytest.raises(ArgumentError, match=rf"^{name}: the contacts floor of ball stick, slip and open.*use SingleShooting"):
            dr.estimate(ball(), data, ["e"], list(NOISE), start=THROWN, method=method)
    with pytest.raises(DataError, match="in the modes that contacts take at the guess; give another guess="):
        dr.estimate(ball(mu=0.5), data, ["e", "mu"], list(NOISE), start=THROWN)  # it grips, whatever the friction is
    reported = dr.estimation.identifiability(ball(), data, ["e", "mu"], {c: (c, s) for c, s in NOISE.items()}, start=THROWN)
    assert not reported.unidentifiable
