"""Fits of motions that switch: derivatives jump with them, and methods that cannot follow are refused."""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp
from sympy.physics.mechanics import dynamicsymbols

import draisine as dr
from draisine.errors import ArgumentError
from draisine.estimation.single_shooting import Predictor, SingleShooting

x, v, friction, stiffness, begin, height = sp.symbols("x v friction stiffness begin height")
t = dynamicsymbols._t
FINE = dr.methods.DOP853(rtol=1e-12, atol=1e-13)
TRUTH = {"friction": 0.08, "stiffness": 4.0, "begin": 2.3, "height": 0.7}


@pytest.fixture(scope="module")
def slider() -> dr.Equations:
    """An oscillator with dry friction, pushed from an unknown time on."""
    push = sp.Piecewise((height, t > begin), (0, True))
    rates = {x: v, v: -stiffness * x - friction * sp.sign(v) + push}
    return dr.first_order("slider", rates, parameters={sp.Symbol(name): value for name, value in TRUTH.items()})


@pytest.fixture(scope="module")
def log(slider: dr.Equations) -> dict[str, np.ndarray]:
    run = dr.simulate(slider, 6.0, start={"x": 0.5}, samples=np.linspace(0.0, 6.0, 121), method=FINE)
    noise = np.random.default_rng(3).normal(size=121)
    return {"time": run.time, "x": run["x"] + 1e-3 * noise}


@pytest.mark.parametrize(
    "method",
    [SingleShooting(FINE), dr.optimal.MultipleShooting(window=0.9, known_start=True, integration=FINE)],
    ids=["single", "multiple"],
)
def test_friction_and_the_time_of_a_push(slider: dr.Equations, log: dict[str, np.ndarray], method: object) -> None:
    unknown = {"friction": (0.0, 1.0), "begin": (1.0, 4.0), "height": (0.0, 2.0)}
    given = {"measured": {"x": ("x", 1e-3)}, "start": {"x": 0.5, "v": 0.0}}
    fit = dr.estimate(slider, log, unknown, **given, guess={"friction": 0.12, "begin": 2.1, "height": 0.5}, method=method)
    for name in unknown:
        assert abs(fit[name] - TRUTH[name]) < 4 * fit.deviations[name] < 0.02, name


def test_derivatives_of_predictions(slider: dr.Equations, log: dict[str, np.ndarray]) -> None:
    fit = dr.estimate(
        slider,
        log,
        ["friction", "stiffness", "begin"],
        measured={"x": ("x", 1e-3)},
        start={"x": 0.5, "v": 0.0},
        method=SingleShooting(FINE),
    )
    predict, at = Predictor(fit.problem, SingleShooting(FINE)), fit.outcome.unknowns
    found = predict(at)[0].by[:, 0, :]
    for j, row in enumerate(np.eye(len(at)) * 1e-5):
        after, before = (predict(at + sign * row)[0].values[:, 0] for sign in (1, -1))
        np.testing.assert_allclose(found[:, j], (after - before) / 2e-5, atol=5e-6)


def test_what_cannot_follow_is_refused(slider: dr.Equations, log: dict[str, np.ndarray]) -> None:
    given = {"measured": {"x": ("x", 1e-3)}, "start": {"x": 0.5, "v": 0.0}}
    with pytest.raises(ArgumentError, match=r"sign\(v\)"):
        dr.estimate(slider, log, ["friction"], **given, method=dr.optimal.Collocation("radau", 3, 20))
