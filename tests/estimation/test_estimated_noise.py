"""Intervals where the noise of several columns is estimated: Meier's formula for one unknown, and coverage of the truth."""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp

import draisine as dr
from draisine.errors import ArgumentError, DataError

x, y, a = sp.symbols("x y a")
TWO = dr.first_order("two", {x: a + 0 * x, y: 2 * a + 0 * y}, parameters={a: 1.0}, start={x: 0.0, y: 0.0})


def fitted(seed: int, n: int, method: object = None) -> dr.estimation.Fit:
    rng = np.random.default_rng(seed)
    t = np.arange(1.0, n + 1)
    data = {"time": t, "x": t + 0.1 * rng.normal(size=n), "y": 2 * t + 0.1 * rng.normal(size=n)}
    return dr.estimate(TWO, data, ["a"], {"x": "x", "y": "y"}, start={"x": 0.0, "y": 0.0}, method=method)


@pytest.mark.parametrize("method", [None, dr.optimal.MultipleShooting(window=4.0)])
@pytest.mark.parametrize("seed", range(6))
def test_one_unknown_by_hand(seed: int, method: object) -> None:
    """x = a t and y = 2 a t: the estimate is a mean with weights w = Σ t²/σ² (Meier 1953, Biometrics 9)."""
    n = 8
    found = fitted(seed, n, method)
    t = np.arange(1.0, n + 1)
    w = np.array([t @ t, 4 * (t @ t)]) / np.array(list(found.noise.values())) ** 2
    share = w / w.sum()
    freedom = n * (2 * n - 1) / (2 * n) if method is None else n * found.freedom / (2 * n)
    assert found.deviations["a"] ** 2 == pytest.approx((1 + 4 * np.sum(share * (1 - share)) / freedom) / w.sum(), rel=1e-3)
    assert found.outcome.noise_effect.freedoms[0] == pytest.approx(freedom / np.sum(share**2), rel=1e-3)
    assert any("few samples" in text for text in found.warnings)


def test_intervals_cover_the_truth() -> None:
    """Of 200 fits 190 are expected to, and 181 to 199 are within three standard deviations of a binomial number."""
    found = [fitted(seed, 11) for seed in range(200)]
    assert not any("few samples" in text for one in found for text in one.warnings)
    inside = sum(low <= 1.0 <= high for low, high in (one.interval("a") for one in found))
    assert 181 <= inside <= 199
    spread = np.std([one["a"] for one in found])
    assert spread == pytest.approx(np.sqrt(np.mean([one.deviations["a"] ** 2 for one in found])), rel=0.15)


def test_profiles_are_as_wide() -> None:
    found = fitted(3, 12)
    profile = found.profile("a")
    assert (profile.low, profile.high) == pytest.approx(found.interval("a"), rel=1e-3)  # the model is linear


def test_noise_of_one_column_that_is_given_counts_as_known() -> None:
    """Only y has estimated noise; its share of the information decides the degrees of freedom."""
    rng = np.random.default_rng(5)
    t = np.arange(1.0, 13.0)
    data = {"time": t, "x": t + 0.1 * rng.normal(size=12), "y": 2 * t + 0.1 * rng.normal(size=12)}
    known = dr.estimate(TWO, data, ["a"], {"x": ("x", 1e-4), "y": "y"}, start={"x": 0.0, "y": 0.0})
    assert known.outcome.noise_effect.freedoms[0] > 1e6  # nearly all is said by x
    assert known.deviations["a"] == pytest.approx(1e-4 / np.sqrt(t @ t), rel=1e-3)


def test_times_of_starts_are_numbers() -> None:
    data = {"time": [0.0, 1.0, 2.0], "x": [0.0, 1.0, 2.0]}
    with pytest.raises(ArgumentError, match="start_time: expected a number of seconds by the clock of the data, got '0 ms'"):
        dr.estimate(TWO, data, ["a"], {"x": "x"}, start_time="0 ms")


@pytest.mark.parametrize(
    ("noise", "words"),
    [
        ([[1.0, 0.5], [0.2, 1.0]], "that is symmetric"),
        ([[1.0, 2.0], [2.0, 1.0]], "positive definite, its least eigenvalue is -1"),
        ([[1.0]], "of 2 rows and columns, got shape"),
        ([[1.0, np.nan], [np.nan, 1.0]], "of finite numbers"),
    ],
)
def test_covariances_of_noise_say_what_is_wrong(noise: list[list[float]], words: str) -> None:
    data = {"time": [0.0, 1.0, 2.0], "x": [0.0, 1.0, 2.0], "y": [0.0, 2.0, 4.0]}
    with pytest.raises(DataError, match=words):
        dr.filter(TWO, data, measured={"x": "x", "y": "y"}, noise=noise, spread={"x": 0.1, "y": 0.1})
