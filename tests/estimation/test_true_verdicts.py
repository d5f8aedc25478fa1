"""What fits and filters say about themselves: convergence, whiteness with its numbers, rows without measurements."""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp

import draisine as dr
from draisine.estimation import multiple_shooting, solve

x, v, k = sp.symbols("x v k")


@pytest.fixture(scope="module")
def decay() -> dr.Equations:
    return dr.first_order("decay", {x: -k * x}, parameters={k: 1.0}, start={x: 1.0})


@pytest.mark.parametrize("windows", [False, True])
def test_a_search_that_ends_early_gives_no_intervals(decay, monkeypatch, windows):
    """Stopped after two steps: values where it ended, no interval in print, JSON and table."""
    import scipy.optimize

    t = np.linspace(0.0, 4.0, 30)
    log = {"time": t, "y": np.exp(-9.0 * t) + 1e-3 * np.random.default_rng(0).normal(size=30)}
    given = {"unknown": ["k"], "measured": {"y": ("x", 1e-3)}, "start": {"x": 1.0}}
    if windows:
        given["method"] = dr.optimal.MultipleShooting(window=1.0)
        monkeypatch.setattr(multiple_shooting, "ROUNDS", 1)
    else:
        original = scipy.optimize.least_squares
        monkeypatch.setattr(scipy.optimize, "least_squares", lambda *a, **kw: original(*a, **kw, max_nfev=2))
    found = dr.estimate(decay, log, **given)
    assert not found.converged and "NOT CONVERGED" in str(found) and "95 %" not in str(found) and "±" not in str(found)
    assert np.isnan(found.interval("k")).all() and found.to_dict()["unknowns"]["k"]["interval"] == [None, None]
    assert found.to_dict()["converged"] is False and found.to_dict()["unknowns"]["k"]["deviation"] is None
    assert "did not converge" in found.warnings[0]
    monkeypatch.undo()
    whole = dr.estimate(decay, log, **given)
    assert whole.converged and abs(whole["k"] - 9.0) < 4 * whole.deviations["k"] and "95 %" in str(whole)


def test_a_point_that_is_no_minimum_is_not_converged(decay, monkeypatch):
    """A search that says it is done, at tolerances too coarse: the next step shows that it is not."""
    t = np.linspace(0.0, 2.0, 30)
    log = {"time": t, "y": np.exp(-2.0 * t) + 1e-3 * np.random.default_rng(0).normal(size=30)}
    monkeypatch.setattr(solve, "ACCURACY", 0.3)
    found = dr.estimate(decay, log, ["k"], {"y": ("x", 1e-3)}, start={"x": 1.0})
    assert not found.converged and "the next step is" in found.warnings[0]


def test_whiteness_comes_with_its_numbers(decay):
    """Q of Ljung and Box and its probability by their formulas; the correlation shown is the largest, not that of lag 1."""
    from scipy.stats import chi2

    random = np.random.default_rng(5)
    t = np.linspace(0.0, 2.0, 400)
    wave = np.cos(np.arange(400) * np.pi / 2)  # no correlation at lag 1, −1 at lag 2
    log = {"time": t, "y": np.exp(-t) + 0.01 * wave + 0.001 * random.normal(size=400)}
    found = dr.estimate(decay, log, ["k"], {"y": "x"}, start={"x": 1.0})
    (colored,) = found.whiteness
    r = found.residuals[0][:, 0]
    correlations = np.array([r[j:] @ r[:-j] for j in range(1, 11)]) / (r @ r)
    q = 400 * 402 * np.sum(correlations**2 / (400 - np.arange(1, 11)))
    assert abs(colored.q / q - 1.0) < 1e-12 and colored.probability == chi2.sf(q, 10)
    (warning,) = [w for w in found.warnings if "not white" in w]
    assert f"Q = {q:.3g} over 10 lags" in warning and "at lag " in warning and "at lag 1;" not in warning
    assert abs(correlations[0]) < 0.1


@pytest.mark.parametrize("seed", range(4))
def test_errors_of_integration_below_the_noise_are_no_colored_noise(seed):
    """Exact data: what is left is smooth, and so small that it moves no interval. A hundredth of the noise is no such thing."""
    random = np.random.default_rng(seed)
    rates = {x: -k * x + v, v: -2 * v}
    model = dr.first_order("two", rates, parameters={k: 1.0}, start={x: 1.0, v: float(random.uniform(0, 1))})
    rate, noise, t = random.uniform(0.3, 1.5), 10.0 ** random.uniform(-3, -1), np.linspace(0.0, 4.0, 60)
    truth = dr.simulate(model, 4.0, parameters={"k": rate}, samples=t)["x"]
    for wave, said in ((0.0, 0), (0.05, 1)):
        log = {"time": t, "y": truth + wave * noise * np.sin(9 * t)}
        found = dr.estimate(model, log, {"k": (0.1, 3.0)}, {"y": ("x", noise)}, guess={"k": 1.0})
        assert found.converged and found["k"] == pytest.approx(rate, abs=0.1 * found.deviations["k"])
        assert sum("not white" in w for w in found.warnings) == said, found.warnings


@pytest.mark.parametrize("smooth", [False, True])
@pytest.mark.parametrize("method", [dr.estimation.ExtendedKalmanFilter(), dr.estimation.UnscentedKalmanFilter()])
def test_filters_keep_rows_without_measurement_and_the_clock(smooth, method):
    """A walk by Kalman's formulas, sample by sample, on the clock of the data; gaps are predictions."""
    random = np.random.default_rng(1)
    walk = dr.first_order("walk", {x: v, v: 0 * x})
    t = 3.0 + np.cumsum(random.uniform(0.1, 0.6, 25))
    y = np.sin(t) + 0.05 * random.normal(size=25)
    y[[0, 4, 5, 6, 17, 24]] = np.nan
    q, sigma = 0.4, 0.05
    given = {"measured": {"y": ("x", sigma)}, "process": {"v": q}, "spread": {"x": 1.0, "v": 1.0}, "start_time": 2.5}
    found = dr.filter(walk, {"time": t, "y": y}, **given, method=method, smooth=smooth)
    np.testing.assert_array_equal(found.time, t)
    mean, covariance, before = np.zeros(2), np.eye(2), 2.5
    means, spreads = [], []
    for now, value in zip(t, y, strict=True):
        h = now - before
        f = np.array([[1.0, h], [0.0, 1.0]])
        mean = f @ mean
        covariance = f @ covariance @ f.T + q**2 * np.array([[h**3 / 3, h**2 / 2], [h**2 / 2, h]])
        if np.isfinite(value):
            gain = covariance[:, 0] / (covariance[0, 0] + sigma**2)
            mean, covariance = mean + gain * (value - mean[0]), covariance - np.outer(gain, covariance[0])
        means.append(mean)
        spreads.append(np.sqrt(np.diag(covariance)))
        before = now
    np.testing.assert_allclose(np.column_stack([found.filtered["x"], found.filtered["v"]]), means, atol=1e-8)
    deviations = np.column_stack([found.filtered.deviation(n) for n in ("x", "v")])
    np.testing.assert_allclose(deviations, spreads, rtol=1e-6)
    assert found.consistency.together.freedoms == 19 and np.isnan(found.innovations[[0, 4, 24]]).all()
    if smooth:
        assert (found.smoothed.deviation("x") <= found.filtered.deviation("x") * (1 + 1e-9)).all()
        assert found.smoothed.time[0] == t[0]


@pytest.mark.parametrize("seed", range(4))
def test_noise_of_columns_is_found_at_the_best_maximum(decay, seed):
    """Two columns that contradict each other: the likelihood has a maximum near each; every guess leads to the better one."""
    random = np.random.default_rng(seed)
    t = np.linspace(0.05, 2.0, 40)
    rates, sizes = (random.uniform(0.5, 1.0), random.uniform(1.6, 2.5)), 10 ** random.uniform(-3.0, -1.5, 2)
    a, b = (np.exp(-rate * t) + size * random.normal(size=40) for rate, size in zip(rates, sizes, strict=True))
    grid = np.linspace(0.3, 3.0, 5401)
    curves = np.exp(-grid[:, None] * t)
    profile = sum(np.log(np.sum((curves - column) ** 2, axis=1)) for column in (a, b))
    inner = profile[1:-1]
    assert ((inner < profile[:-2]) & (inner < profile[2:])).sum() == 2
    for guess in (0.6, 1.3, 2.6):
        given = {"start": {"x": 1.0}, "guess": {"k": guess}}
        found = dr.estimate(decay, {"time": t, "a": a, "b": b}, ["k"], {"a": "x", "b": "x"}, **given)
        assert abs(found["k"] - grid[profile.argmin()]) < 1e-3 and found.converged
