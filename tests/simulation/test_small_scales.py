"""Runs and fits of small states: by default their accuracy is relative to the states, and a given absolute one is reported."""

import numpy as np
import pytest
import sympy as sp

import draisine as dr

x, v, k, u = sp.symbols("x v k u")
OSCILLATOR = dr.first_order("oscillator", {x: v, v: -k * x}, parameters={k: 4.0})
DRIVEN = dr.first_order("driven", {x: v, v: u - 4 * x}, inputs=[u])


@pytest.mark.parametrize("size", [1e6, 1.0, 1e-2, 1e-3, 1e-6, 1e-9, 1e-12, 1e-100])
def test_a_linear_run_scales_with_its_start(size):
    """x = s cos 2t, at the samples, at the end and between the samples."""
    run = dr.simulate(OSCILLATOR, 5.0, start={"x": size})
    np.testing.assert_allclose(run["x"] / size, np.cos(2 * run.time), atol=1e-7)
    np.testing.assert_allclose(run.at(2.345)["x"] / size, np.cos(4.69), atol=1e-6)
    assert not run.status.warnings


@pytest.mark.parametrize("seed", range(8))
def test_random_linear_systems_scale(seed):
    """Against the matrix exponential, with random sizes and time scales."""
    from scipy.linalg import expm

    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 4))
    matrix, begin = rng.normal(size=(n, n)), rng.normal(size=n)
    size, speed = float(10.0 ** rng.uniform(-25, -3)), float(10.0 ** rng.uniform(-4, 4))
    z = sp.symbols(f"z0:{n}")
    model = dr.first_order("random", {z[i]: sum(speed * matrix[i, j] * z[j] for j in range(n)) for i in range(n)})
    run = dr.simulate(model, 3.0 / speed, start={f"z{i}": float(size * begin[i]) for i in range(n)})
    exact = expm(3.0 * matrix) @ begin
    np.testing.assert_allclose([run[f"z{i}"][-1] / size for i in range(n)], exact, atol=1e-6 * np.abs(exact).max())


def test_a_small_input_from_rest():
    """x¨ + 4 x = s sin t from rest: s (sin t − sin(2t)/2)/3."""
    run = dr.simulate(DRIVEN, 5.0, inputs={"u": "1e-12*sin(t)"})
    np.testing.assert_allclose(run["x"] / 1e-12, (np.sin(run.time) - np.sin(2 * run.time) / 2) / 3, atol=1e-7)


def test_sensitivities_of_small_runs():
    """∂x/∂k = −s t sin(ωt)/(2ω)."""
    run = dr.simulate(OSCILLATOR, 5.0, start={"x": 1e-12}, sensitivity=["k"])
    np.testing.assert_allclose(run.sensitivity["x", "k"] / 1e-12, -run.time * np.sin(2 * run.time) / 4, atol=1e-6)


def test_ensembles_of_small_runs():
    sizes = [1e-12, 1e-6, 1.0]
    found = dr.ensemble(OSCILLATOR, 5.0, {"start.x": sizes, "k": [1.0, 4.0]}, outputs=["x"])
    np.testing.assert_allclose(found["x.end"] / np.repeat(sizes, 2), np.tile([np.cos(5.0), np.cos(10.0)], 3), atol=1e-7)


def test_a_given_absolute_tolerance_above_the_states_is_reported():
    """It is used as given; so is the default where a control in Python cannot be called again."""
    run = dr.simulate(OSCILLATOR, 5.0, start={"x": 1e-11}, method=dr.methods.DOP853())
    assert "the absolute tolerance 1e-10 decides" in run.status.warnings[0]
    fine = dr.simulate(OSCILLATOR, 5.0, start={"x": 1e-11}, method=dr.methods.DOP853(atol=1e-21))
    assert not fine.status.warnings
    np.testing.assert_allclose(fine["x"][-1] / 1e-11, np.cos(10.0), atol=1e-7)
    control = dr.control.Sampled(lambda t, x: [0.0], 10.0)
    assert "decides on the accuracy" in dr.simulate(DRIVEN, 5.0, start={"x": 1e-11}, control=control).status.warnings[-1]
    reported = dr.ensemble(OSCILLATOR, 5.0, {"start.x": [1e-11]}, outputs=["x"], method=dr.methods.DOP853())
    assert any("absolute tolerance" in text for text in reported.warnings)


def test_ordinary_runs_are_unchanged():
    """One state of ordinary size is enough: one run, with the tolerances as they are."""
    run = dr.simulate(OSCILLATOR, 5.0, start={"x": 0.02})
    same = dr.simulate(OSCILLATOR, 5.0, start={"x": 0.02}, method=dr.methods.DOP853())
    np.testing.assert_array_equal(run["x"], same["x"])


@pytest.mark.parametrize("method", [None, dr.optimal.MultipleShooting(window=1.0), dr.optimal.Collocation("radau", 3, 60)])
@pytest.mark.parametrize("size", [1.0, 1e-6, 1e-12])
def test_estimates_do_not_depend_on_the_size_of_the_data(method, size):
    """k = 4 from s cos 2t with a disturbance of 1e-3 s: the same estimate and interval at every size."""
    t = np.linspace(0.0, 5.0, 60)
    guess = dr.first_order("guess", {x: v, v: -k * x}, parameters={k: 3.0})
    data = {"time": t, "x": size * (np.cos(2 * t) + 1e-3 * np.sin(77 * t))}
    fit = dr.estimate(guess, data, ["k"], {"x": "x"}, start={"x": size, "v": 0.0}, method=method)
    assert fit.converged
    np.testing.assert_allclose(fit["k"], 4.000732, atol=2e-5)
