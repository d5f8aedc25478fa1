"""Floquet exponents of strongly attracting motions, special points of families, folds close together; against Liouville's
formula."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
import sympy as sp
from scipy.integrate import solve_ivp

import draisine as dr
from draisine.numerics.product_eigenvalues import log_eigenvalues

x, v, mu = sp.symbols("x v mu")
OSCILLATOR = dr.first_order("van_der_pol", {x: v, v: mu * (1 - x**2) * v - x}, parameters={mu: 1.0})


@pytest.mark.parametrize("seed", range(8))
def test_eigenvalues_of_products(seed: int) -> None:
    """Against the product in 400 digits: sizes down to e⁻³⁰⁰, negative and complex ones."""
    rng = np.random.default_rng(seed)
    n, count = int(rng.integers(2, 5)), int(rng.integers(3, 20))
    factors = []
    basis = [np.linalg.qr(rng.standard_normal((n, n)))[0] + 0.2 * rng.standard_normal((n, n)) for _ in range(count)]
    middle = np.diag(np.exp(-rng.uniform(0, 8, n) * np.arange(n)) * rng.choice([-1.0, 1.0], n))
    if n > 2 and seed % 2:  # a pair
        middle[:2, :2] = [[np.cos(0.3), -np.sin(0.3)], [np.sin(0.3), np.cos(0.3)]]
    for i in range(count):
        factors.append(basis[(i + 1) % count] @ middle @ np.linalg.inv(basis[i]))
    with mpmath.workdps(400):
        product = mpmath.eye(n)
        for factor in factors:
            product = mpmath.matrix(factor.tolist()) * product
        exact = [complex(mpmath.log(z)) for z in mpmath.eig(product, left=False, right=False)]
    found = log_eigenvalues(factors)
    key = [np.lexsort((np.abs(z.imag).round(5), z.real.round(6))) for z in (found, np.array(exact))]
    np.testing.assert_allclose(found[key[0]].real, np.array(exact)[key[1]].real, rtol=1e-7, atol=1e-7)
    turns = [np.sort(np.cos(z.imag)) for z in (found, np.array(exact))]
    np.testing.assert_allclose(*turns, atol=1e-5)


def liouville(cycle: dr.stability.Cycle, m: float) -> float:
    """The mean of the divergence μ (1 − x²) along the motion: the sum of the exponents."""

    def rates(t: float, y: np.ndarray) -> list[float]:
        return [y[1], m * (1 - y[0] ** 2) * y[1] - y[0], m * (1 - y[0] ** 2)]

    begin = [cycle.values["x"], cycle.values["v"], 0.0]
    return float(solve_ivp(rates, (0, cycle.period), begin, rtol=1e-12, atol=1e-13, method="DOP853").y[2, -1] / cycle.period)


@pytest.mark.parametrize("m", [0.5, 2.0, 5.0, 8.0, *np.random.default_rng(4).uniform(1.0, 7.0, 3).round(3)])
def test_van_der_pol_by_liouville(m: float) -> None:
    cycle = dr.stability.limit_cycle(OSCILLATOR, start={"x": 2.0}, settle=50.0, parameters={"mu": float(m)})
    (exponent,) = cycle.exponents
    assert exponent.imag == 0.0
    assert exponent.real == pytest.approx(liouville(cycle, m), rel=1e-7)
    assert cycle.stable and cycle.floquet.instability == ""


def test_the_published_exponent() -> None:
    cycle = dr.stability.limit_cycle(OSCILLATOR, start={"x": 2.0}, settle=50.0, parameters={"mu": 5.0})
    assert cycle.exponents[0].real == pytest.approx(-7.359, abs=5e-4)


def test_a_branch_ends_at_its_value() -> None:
    """μ = 10: the period 19.07836957 (Strasberg 1973), and the exponent by Liouville."""
    cycle = dr.stability.limit_cycle(OSCILLATOR, start={"x": 2.0}, period=6.6)
    branch = dr.stability.follow_cycle(cycle, "mu", 10.0)
    assert branch.values[-1] == 10.0 and branch.cycles[-1].parameters["mu"] == 10.0
    assert branch.values.max() == 10.0
    assert branch.periods[-1] == pytest.approx(19.07836957, abs=1e-7)
    assert branch.cycles[-1].exponents[0].real == pytest.approx(liouville(branch.cycles[-1], 10.0), rel=1e-6)
    rng = np.random.default_rng(1)
    for to in rng.uniform(0.3, 3.0, 3):
        assert dr.stability.follow_cycle(cycle, "mu", float(to)).values[-1] == to


def test_period_doubling_is_named() -> None:
    """Rössler's system with a = b = 0.2: at c = 2.8324 a multiplier passes −1 (by the sign of det(M + 1) with SciPy)."""
    y, z, c = sp.symbols("y z c")
    model = dr.first_order("roessler", {x: -y - z, y: x + y / 5, z: sp.Rational(1, 5) + z * (x - c)}, parameters={c: 2.5})
    cycle = dr.stability.limit_cycle(model, start={"x": 3.0, "y": 0.0, "z": 0.1}, settle=200.0)
    assert cycle.stable
    branch = dr.stability.follow_cycle(cycle, "c", 3.2)
    (point,) = branch.special
    assert point.kind == "period doubling" and point.value == pytest.approx(2.8324450, abs=1e-6)
    assert branch.cycles[-1].floquet.instability == "period doubling"
    assert "unstable (period doubling)" in str(branch.cycles[-1])
    assert "period doubling at c = 2.83245" in str(branch)


@pytest.mark.parametrize("gap", [0.3, 1e-2, 1e-3, 1e-5])
def test_two_folds_close_together(gap: float) -> None:
    """ẋ = k + ε x − x³ with folds at x = ±√(ε/3), in one step of the continuation."""
    k, e = sp.symbols("k e")
    model = dr.first_order("cusp", {x: k + e * x - x**3, v: -v}, parameters={k: -0.5, e: gap})
    branch = dr.stability.continuation(model, "k", start={"x": -0.8}, between=(-0.6, 0.6))
    folds = sorted(p.value for p in branch.points("fold"))
    at = 2 * (gap / 3) ** 1.5
    np.testing.assert_allclose(folds, [-at, at], rtol=1e-6, atol=1e-13)


@pytest.mark.parametrize("seed", range(4))
def test_random_pairs_of_folds(seed: int) -> None:
    """k = −c (x − a) ((x − a)² − 3 ε) turned into an equilibrium: folds at x = a ± √ε, wherever the steps fall."""
    rng = np.random.default_rng(seed)
    a, root, c = rng.uniform(-0.4, 0.4), 10 ** rng.uniform(-3, -1), rng.uniform(0.5, 2.0)
    k = sp.symbols("k")
    model = dr.first_order("folded", {x: k - c * (x - a) * ((x - a) ** 2 - 3 * root**2), v: x - v}, parameters={k: -0.5})
    branch = dr.stability.continuation(model, "k", start={"x": -1.0}, between=(-0.5, 0.5))
    np.testing.assert_allclose(sorted(p.value for p in branch.points("fold")), [-2 * c * root**3, 2 * c * root**3], rtol=1e-5)


def test_a_map_refuses_values_outside() -> None:
    found = dr.stability.stability_map(
        dr.gallery.bicycle(), {"speed": (0, 10, 11), "trail": (0.0, 0.2, 11)}, states=("lean", "steer")
    )
    assert found.at(speed=10.0, trail=0.0) == found.kinds[found.kind[-1, 0]]
    for values in ({"speed": 50.0, "trail": 0.1}, {"speed": 5.0, "trail": -0.01}, {"speed": float("nan"), "trail": 0.1}):
        with pytest.raises(dr.errors.ArgumentError, match="is outside"):
            found.at(**values)
