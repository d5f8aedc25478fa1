"""Filters on linear systems: textbook recursions, the algebraic Riccati equation, and batch least squares."""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp
from scipy.linalg import expm, solve_discrete_are

import draisine as dr
from draisine.estimation.filters.prediction import GAUSS, KRONROD, NODES

FILTERS = [
    dr.estimation.ExtendedKalmanFilter(),
    dr.estimation.ExtendedKalmanFilter(rounds=3),
    dr.estimation.UnscentedKalmanFilter(),
    dr.estimation.UnscentedKalmanFilter(alpha=1.0, beta=0.0),
]
Q, R = 0.3, 0.1


@pytest.fixture(scope="module")
def walk():
    x, v, force = sp.symbols("x v force")
    return dr.first_order("walk", {x: v, v: force}, inputs=[force])


@pytest.fixture(scope="module")
def oscillator():
    x, v, u, k, c = sp.symbols("x v u k c")
    rates = {x: v, v: u - k * x - c * v}
    return dr.first_order(
        "oscillator", rates, inputs=[u], parameters={k: 4.0, c: 0.5}, outputs={"acceleration": u - k * x - c * v}
    )


@pytest.fixture(scope="module")
def track():
    """Irregular instants, some samples missing."""
    random = np.random.default_rng(0)
    t = np.cumsum(random.uniform(0.2, 1.5, 30))
    t -= t[0]
    y = np.sin(t) + R * random.normal(size=30)
    y[[5, 9, 10]] = np.nan
    return {"time": t, "x": y}


def moved(h):
    return np.array([[1.0, h], [0.0, 1.0]])


def added(h):
    """Of white noise on the velocity, in closed form."""
    return Q**2 * np.array([[h**3 / 3, h**2 / 2], [h**2 / 2, h]])


def textbook(t, y, mean, covariance):
    """Kalman's recursion as it stands in books."""
    h = np.array([[1.0, 0.0]])
    means, covariances, innovations = [], [], []
    for k in range(len(t)):
        if k:
            f = moved(t[k] - t[k - 1])
            mean, covariance = f @ mean, f @ covariance @ f.T + added(t[k] - t[k - 1])
        spread = (h @ covariance @ h.T)[0, 0] + R**2
        gain = covariance @ h[0] / spread
        innovations.append((y[k] - mean[0]) / np.sqrt(spread))
        mean = mean + gain * (y[k] - mean[0])
        covariance = covariance - np.outer(gain, gain) * spread
        means.append(mean)
        covariances.append(covariance)
    return np.array(means), np.array(covariances), np.array(innovations)


def batch(t, y, mean, covariance):
    """All states at once by weighted least squares: start, motions and measurements are rows alike."""
    n = len(t)
    rows, bounds = [], []

    def add(block, side, cov):
        root = np.linalg.cholesky(np.linalg.inv(cov)).T
        rows.append(root @ block)
        bounds.append(root @ side)

    def at(k, matrix):
        block = np.zeros((len(matrix), 2 * n))
        block[:, 2 * k : 2 * k + 2] = matrix
        return block

    add(at(0, np.eye(2)), mean, covariance)
    for k in range(n):
        add(at(k, np.array([[1.0, 0.0]])), np.array([y[k]]), np.array([[R**2]]))
        if k:
            h = t[k] - t[k - 1]
            add(at(k, np.eye(2)) - at(k - 1, moved(h)), np.zeros(2), added(h))
    a, b = np.vstack(rows), np.concatenate(bounds)
    information = a.T @ a
    solution = np.linalg.solve(information, a.T @ b).reshape(n, 2)
    inverse = np.linalg.inv(information)
    return solution, np.array([inverse[2 * k : 2 * k + 2, 2 * k : 2 * k + 2] for k in range(n)])


@pytest.mark.parametrize("method", FILTERS, ids=str)
def test_constant_velocity_tracking_is_the_textbook_filter_and_batch_least_squares(walk, track, method):
    found = dr.filter(
        walk,
        track,
        measured={"x": R},
        process={"v": Q},
        start={"x": 0.2, "v": 0.0},
        spread={"x": 1.0, "v": 2.0},
        method=method,
        smooth=True,
    )
    there = np.isfinite(track["x"])
    t, y = track["time"][there], track["x"][there]
    np.testing.assert_array_equal(found.time, track["time"])  # with the rows that have no measurement
    given = (t, y, np.array([0.2, 0.0]), np.diag([1.0, 4.0]))
    means, covariances, innovations = textbook(*given)
    np.testing.assert_allclose(found.filtered.states[there], means, atol=1e-9)
    np.testing.assert_allclose(found.filtered.covariance(["x", "v"])[there], covariances, atol=1e-9)
    np.testing.assert_allclose(found.nis[there], innovations**2, atol=1e-9)
    solution, spread = batch(*given)
    np.testing.assert_allclose(found.smoothed.states[there], solution, atol=1e-9)
    np.testing.assert_allclose(found.smoothed.covariance(["x", "v"])[there], spread, atol=1e-9)
    np.testing.assert_allclose(found.deviation("v")[there], np.sqrt(spread[:, 1, 1]), atol=1e-9)


@pytest.mark.parametrize("method", [dr.estimation.ExtendedKalmanFilter(), dr.estimation.UnscentedKalmanFilter()], ids=str)
@pytest.mark.parametrize("h", [0.1, 2.0])
def test_after_long_the_covariance_solves_the_riccati_equation(oscillator, method, h):
    t = h * np.arange(60 if h < 1.0 else 12)
    found = dr.filter(
        oscillator,
        {"time": t, "x": np.zeros_like(t)},
        measured={"x": R},
        process={"u": 0.7},
        spread={"x": 1.0, "v": 1.0},
        method=method,
    )
    a, b = np.array([[0.0, 1.0], [-4.0, -0.5]]), np.array([[0.0], [1.0]])
    # van Loan's block exponential gives the transition and what noise adds
    block = expm(h * np.block([[-a, 0.49 * b @ b.T], [np.zeros((2, 2)), a.T]]))
    f = block[2:, 2:].T
    q = f @ block[:2, 2:]
    c = np.array([[1.0, 0.0]])
    before = solve_discrete_are(f.T, c.T, q, np.array([[R**2]]))
    after = before - before @ c.T @ c @ before / (before[0, 0] + R**2)
    np.testing.assert_allclose(found.filtered.covariance(["x", "v"])[-1], after, atol=1e-9)


def test_recorded_inputs_are_linear_between_samples(walk):
    t = np.array([0.0, 0.5, 1.5, 2.0])
    u = np.array([0.0, 1.0, -1.0, 3.0])
    x, v, expected = 0.0, 0.0, [[0.0, 0.0]]
    for k in range(3):
        h = t[k + 1] - t[k]
        x, v = x + v * h + u[k] * h**2 / 2 + (u[k + 1] - u[k]) * h**2 / 6, v + (u[k] + u[k + 1]) * h / 2
        expected.append([x, v])
    data = {"time": t, "x": np.array(expected)[:, 0], "motor": u}
    found = dr.filter(walk, data, measured={"x": 1.0}, inputs={"force": "motor"}, spread={"v": 1.0})
    np.testing.assert_allclose(found.filtered.states, expected, atol=1e-9)
    np.testing.assert_allclose(found.innovations, 0.0, atol=1e-9)


def test_an_accelerometer_feels_the_input_directly(oscillator):
    """y = u − k x − c v: the known input passes straight through to what is measured."""
    t = np.linspace(0.0, 2.0, 21)
    u = np.cos(3 * t)
    y = np.random.default_rng(2).normal(size=21)
    found = dr.filter(
        oscillator,
        {"time": t, "a": y, "u": u},
        measured={"a": ("acceleration", 0.2)},
        inputs={"u": "u"},
        process={"v": 0.4},
        spread={"x": 1.0, "v": 1.0},
    )
    a, h = np.array([[0.0, 1.0], [-4.0, -0.5]]), 0.1
    c = np.array([-4.0, -0.5])
    block = expm(h * np.block([[-a, np.diag([0.0, 0.16])], [np.zeros((2, 2)), a.T]]))
    f = block[2:, 2:].T
    q = f @ block[:2, 2:]
    # states, input and its rate of change in one exponential
    wide = np.zeros((4, 4))
    wide[:2, :2], wide[1, 2], wide[2, 3] = a, 1.0, 1.0
    mean, covariance, means = np.zeros(2), np.eye(2), []
    for k in range(21):
        if k:
            z = expm(h * wide) @ np.array([*mean, u[k - 1], (u[k] - u[k - 1]) / h])
            mean, covariance = z[:2], f @ covariance @ f.T + q
        spread = c @ covariance @ c + 0.04
        gain = covariance @ c / spread
        mean = mean + gain * (y[k] - u[k] - c @ mean)
        covariance = covariance - np.outer(gain, gain) * spread
        means.append(mean)
    np.testing.assert_allclose(found.filtered.states, means, atol=1e-8)


def test_a_random_walk_has_the_golden_ratio_for_its_variance():
    """One state, noise of process and sensor alike: P² = P + 1 before a sample; missing samples at the beginning let it walk."""
    x = sp.Symbol("x")
    walk = dr.first_order("random_walk", {x: 0 * x})
    y = np.zeros(40)
    y[:3] = np.nan
    found = dr.filter(walk, {"time": np.arange(40.0), "x": y}, measured={"x": 1.0}, process={"x": 1.0}, spread={"x": 2.0})
    golden = (1 + np.sqrt(5)) / 2
    assert found.filtered.covariance(["x"])[-1, 0, 0] == pytest.approx(golden / (golden + 1), abs=1e-9)
    # three seconds from a variance of four: seven before the first sample that is there
    assert found.time[3] == 3.0 and found.filtered.covariance(["x"])[3, 0, 0] == pytest.approx(7 / 8, abs=1e-9)
    np.testing.assert_allclose(found.filtered.covariance(["x"])[:3, 0, 0], [4.0, 5.0, 6.0], atol=1e-9)


@pytest.mark.parametrize("rate", [30.0, 150.0])
def test_noise_on_a_fast_decay_is_added_up(rate):
    """ẋ = −rate·x + w: whatever it was, a second later its variance is 1/(2 rate), and y = x + v is at rest."""
    x, v = sp.symbols("x v")
    decay = dr.first_order("decay", {x: -rate * x, v: x})
    given = {"measured": {"x": 1e3}, "process": {"x": 1.0}, "spread": {"x": 1.0}}
    found = dr.filter(decay, {"time": [0.0, 1.0], "x": [0.0, 0.0]}, **given)
    assert found.filtered.covariance(["x"])[-1, 0, 0] == pytest.approx(0.5 / rate, rel=1e-6)
    # v = ∫x: white noise through 1/rate, less the ends, plus what is left of the start
    expected = (1 / rate**2) * (1 - 1.5 / rate) + 1 / rate**2
    assert found.filtered.covariance(["v"])[-1, 0, 0] == pytest.approx(expected, rel=1e-4)


def test_correlated_noise_of_two_channels(walk):
    """Two sensors with the same error are one sensor."""
    t = np.linspace(0.0, 1.0, 6)
    y = np.array([0.1, -0.2, 0.3, 0.0, 0.4, 0.1])
    shared = R**2 * np.array([[1.0, 0.999999], [0.999999, 1.0]])
    given = {"process": {"v": Q}, "spread": {"x": 1.0, "v": 1.0}}
    one = dr.filter(walk, {"time": t, "x": y}, measured={"x": R}, **given)
    two = dr.filter(walk, {"time": t, "a": y, "b": y}, measured={"a": "x", "b": "x"}, noise=shared, **given)
    apart = dr.filter(walk, {"time": t, "a": y, "b": y}, measured={"a": "x", "b": "x"}, noise={"a": R, "b": R}, **given)
    np.testing.assert_allclose(two.deviation("x"), one.deviation("x"), rtol=1e-5)
    assert np.all(apart.deviation("x") < 0.8 * one.deviation("x"))


def test_quadrature_is_exact_to_degree_eleven_and_no_further():
    for k in range(12):
        assert KRONROD @ NODES**k == pytest.approx(2 / (k + 1) if k % 2 == 0 else 0.0, abs=1e-14)
    assert abs(KRONROD @ NODES**12 - 2 / 13) > 1e-6
    for k in range(6):
        assert GAUSS @ NODES**k == pytest.approx(2 / (k + 1) if k % 2 == 0 else 0.0, abs=1e-14)


def test_wrong_noise_is_noticed(walk):
    random = np.random.default_rng(5)
    t = np.linspace(0.0, 20.0, 101)
    y = 0.5 * t + R * random.normal(size=101)
    given = {"process": {"v": 1e-3}, "start": {"v": 0.5}, "spread": {"x": 1.0, "v": 1.0}}
    right, small, large = (dr.filter(walk, {"time": t, "x": y}, measured={"x": s * R}, **given) for s in (1.0, 0.5, 2.0))
    assert str(right.consistency.verdict) == "consistent" and right.consistency.white
    assert str(small.consistency.verdict) == "too confident"
    assert "raise process noise" in str(small)
    assert str(large.consistency.verdict) == "too cautious"
    assert large.to_dict()["squared innovation"]["x"] == pytest.approx(0.25, rel=0.35)
    # a model that lacks the acceleration leaves a trace in the order of the innovations
    bent = dr.filter(walk, {"time": t, "x": y + 0.05 * t**2}, measured={"x": R}, **given)
    assert not bent.consistency.white


# ------------------------------------------------------------------------------------------------------------- bad input

DATA = {"time": [0.0, 1.0, 2.0], "x": [0.0, 1.0, 2.0]}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"measured": {"x": R}}, "nothing is uncertain.*spread="),
        ({"measured": {"x": 0.0}, "spread": {"x": 1.0}}, "noise of column 'x'"),
        ({"measured": ["x"], "spread": {"x": 1.0}}, "the noise of column 'x' is missing"),
        ({"measured": {"y": R}, "spread": {"x": 1.0}}, "has no quantity 'y'"),
        ({"measured": {"y": ("x", R)}, "spread": {"x": 1.0}}, "no column 'y'"),
        ({"measured": {"x": R}, "spread": {"z": 1.0}}, "no state or output of motion 'z'"),
        ({"measured": {"x": R}, "spread": {"x": -1.0}}, "spread: the standard deviation of 'x'"),
        ({"measured": {"x": R}, "process": {"vv": 1.0}}, "no input or state 'vv'"),
        ({"measured": {"x": R}, "process": {"v": np.nan}}, "noise on 'v'"),
        ({"measured": ["x"], "noise": {"z": 1.0}, "spread": {"x": 1.0}}, "'z' is not a measured column"),
        ({"measured": ["x"], "noise": [[-1.0]], "spread": {"x": 1.0}}, "positive definite"),
        ({"measured": {"x": R}, "spread": {"x": 1.0}, "inputs": {"push": 1.0}}, "no input 'push'"),
        ({"measured": {"x": R}, "spread": {"x": 1.0}, "inputs": {"force": ("x", 0.1)}}, "process={'force'"),
    ],
)
def test_what_is_wrong_is_named(walk, given, message):
    with pytest.raises(ValueError, match=message):
        dr.filter(walk, DATA, **given)


def test_truth_must_cover_the_estimates(walk):
    found = dr.filter(walk, DATA, measured={"x": R}, spread={"x": 1.0, "v": 1.0})
    with pytest.raises(ValueError, match="the truth covers 0 s to 1 s"):
        found.filtered.nees({"time": [0.0, 1.0], "x": [0.0, 1.0]}, ["x"])
    with pytest.raises(ValueError, match="no quantity 'w'"):
        found.deviation("w")
