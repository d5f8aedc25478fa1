"""Data that the model fits exactly: converged at the right values, and no noise where there is none to estimate."""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp

import draisine as dr
from draisine.errors import ArgumentError

x, v, k, c, y, a, b = sp.symbols("x v k c y a b")
OSCILLATOR = dr.first_order("oscillator", {x: v, v: -k * x - c * v}, parameters={k: 3.0, c: 0.1})
LINE = dr.first_order("line", {y: a}, parameters={a: 1.0})


def member(rng, samples):
    """A damped oscillation with random stiffness, damping and start, in closed form."""
    stiffness, damping, start = rng.uniform(2.0, 6.0), rng.uniform(0.1, 0.8), rng.normal()
    t = np.sort(rng.uniform(0.3, 4.0, samples))
    w = np.sqrt(stiffness - damping**2 / 4)
    values = np.exp(-damping * t / 2) * (np.cos(w * t) + (start + damping / 2) / w * np.sin(w * t))
    return {"time": t, "x": values}, {"k": stiffness, "c": damping, "start.v": start}


@pytest.mark.parametrize("method", [None, dr.optimal.MultipleShooting(window=2.0)])
def test_exact_data_converge(method):
    """As many samples as unknowns, or a few more."""
    rng = np.random.default_rng(5)
    for extra in (0, 0, 1, 1, 2, 2):
        data, true = member(rng, 3 + extra)
        guess = {"k": 1.03 * true["k"], "c": 0.95 * true["c"]}
        fit = dr.estimate(
            OSCILLATOR,
            data,
            ["k", "c", "start.v"],
            {"x": "x"},
            guess=guess,
            start={"x": 1.0, "v": true["start.v"]},
            method=method,
        )
        assert fit.converged and fit.outcome.trouble == "", str(fit)
        assert {n: fit[n] for n in true} == pytest.approx(true, rel=1e-5, abs=1e-6)
        assert fit.noise_known == (extra > 0)


def test_no_noise_from_as_many_data_as_unknowns():
    fit = dr.estimate(LINE, {"time": [1.0, 2.0], "y": [2.0, 5.0]}, ["a", "start.y"], {"y": "y"}, start={"y": 0.0})
    assert fit.converged and (fit["a"], fit["start.y"]) == pytest.approx((3.0, -1.0))
    assert np.isnan([fit.noise["y"], *fit.deviations.values(), *fit.interval("a")]).all()
    assert "no interval" in str(fit) and "±" not in str(fit) and "2 samples for 2 unknowns" in fit.warnings[0]
    assert fit.to_dict()["noise"] == {"y": None} and fit.to_dict()["unknowns"]["a"]["deviation"] is None
    for refused in (lambda: fit.profile("a"), lambda: fit.bootstrap(3)):
        with pytest.raises(ArgumentError, match="2 samples for 2 unknowns"):
            refused()


def test_one_measurement_gives_one_unknown():
    fit = dr.estimate(LINE, {"time": [0.0, 2.0], "y": [np.nan, 5.0]}, ["a"], {"y": ("y", 0.3)}, start={"y": 1.0})
    assert fit.converged and fit["a"] == pytest.approx(2.0) and fit.deviations["a"] == pytest.approx(0.15)


def test_given_noise_gives_intervals_of_the_closed_form():
    """y = b + a t at t = 1, 2 with noise σ: deviations σ √2 of a, σ √5 of b."""
    fit = dr.estimate(LINE, {"time": [1.0, 2.0], "y": [2.0, 5.0]}, ["a", "start.y"], {"y": ("y", 0.3)}, start={"y": 0.0})
    assert fit.deviations == pytest.approx({"a": 0.3 * np.sqrt(2), "start.y": 0.3 * np.sqrt(5)}, rel=1e-6)


def test_a_search_that_ends_early_has_not_converged():
    """Residuals that are no rounding do not count as exact."""
    rng = np.random.default_rng(2)
    data, true = member(rng, 6)
    data["x"] = data["x"] + 1e-3 * rng.normal(size=6)
    fit = dr.estimate(
        OSCILLATOR, data, ["k", "c"], {"x": "x"}, guess={"k": true["k"], "c": true["c"]}, start={"x": 1.0, "v": 0.0}
    )
    assert fit.noise_known and fit.noise["x"] > 1e-4


def test_guesses_bounds_and_spreads_with_units():
    model = dr.gallery.cart_pole()
    data = {"time": [0.0, 0.5, 1.0], "pole": [0.0, 0.1, 0.2]}
    plain, with_unit = (
        dr.filter(model, data, measured={"pole": 0.1}, spread={"pole": s})["pole"] for s in (np.pi / 180, "1 deg")
    )
    np.testing.assert_allclose(with_unit, plain, rtol=1e-12)
    for spread in ("1 kg", "many"):
        with pytest.raises(ValueError, match=r"spread.*pole"):
            dr.filter(model, data, measured={"pole": 0.1}, spread={"pole": spread})
    for wrong in ({"guess": {"m_cart": "heavy"}}, {"guess": {"m_cart": "1 s"}}):
        with pytest.raises(ValueError, match=r"guess.*m_cart"):
            dr.estimate(model, data, ["m_cart"], {"pole": "pole"}, **wrong)
    for bounds in (("1 s", "3 kg"), ("a", "b"), (1.0,)):
        with pytest.raises(ValueError, match=r"unknown.*m_cart"):
            dr.estimate(model, data, {"m_cart": bounds}, {"pole": "pole"})
