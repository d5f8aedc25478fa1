"""Free durations without a best one are told from those that have one: linear-quadratic problems, whose least cost over each
duration follows from the two extreme solutions of the Riccati equation, and problems that end in finite time."""

import numpy as np
import pytest
import scipy.linalg as sl
import sympy as sp

import draisine as dr
from draisine.optimal.ipopt import Outcome

X, V, U = sp.symbols("x v u")
ONE = dr.first_order("integrator", {X: U}, inputs=[U])
TWO = dr.first_order("mass", {X: V, V: U}, inputs=[U])


def least_costs(a, b, q, r, start, finish):
    """J(T) between two states, and its limit: x = e^(A₊t) α + e^(A₋(t−T)) β, costates P₊ and P₋ of these parts."""
    s, n = b @ np.linalg.solve(r, b.T), len(a)
    stable, unstable = sl.solve_continuous_are(a, b, q, r), -sl.solve_continuous_are(-a, b, q, r)

    def cost(duration):
        there, back = sl.expm((a - s @ stable) * duration), sl.expm(-(a - s @ unstable) * duration)
        parts = np.linalg.solve(np.block([[np.eye(n), back], [there, np.eye(n)]]), np.concatenate([start, finish]))
        alpha, beta = parts[:n], parts[n:]
        return start @ (stable @ alpha + unstable @ back @ beta) - finish @ (stable @ there @ alpha + unstable @ beta)

    return cost, start @ stable @ start - finish @ unstable @ finish


@pytest.mark.parametrize("seed", range(10))
def test_linear_quadratic_problems(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 4))
    m, scale = int(rng.integers(1, n + 1)), 10 ** rng.uniform(-0.5, 1)
    a, b, c = scale * rng.normal(size=(n, n)), scale * rng.normal(size=(n, m)), rng.normal(size=(n, n))
    q, r = c @ c.T / n, np.diag(10 ** rng.uniform(-1, 1, m))
    start, finish = rng.normal(size=n), rng.normal(size=n) * rng.integers(0, 2)
    cost, limit = least_costs(a, b, q, r, start, finish)
    x, u = sp.symbols(f"x:{n}"), sp.symbols(f"u:{m}")
    rates = sp.Matrix(a) * sp.Matrix(x) + sp.Matrix(b) * sp.Matrix(u)
    plant = dr.first_order("plant", dict(zip(x, rates, strict=True)), inputs=list(u))
    begin, end = (dict(zip(map(str, x), values, strict=True)) for values in (start, finish))
    stated = dr.maneuver(plant).start(**begin).finish(**end)
    integrand = sum(q[i, j] * x[i] * x[j] for i in range(n) for j in range(n)) + sum(r[j, j] * u[j] ** 2 for j in range(m))
    found = stated.minimize(integral=str(sp.expand(integrand))).solve()
    at = found.duration
    assert found.objective == pytest.approx(cost(at), rel=1e-6)
    if found.outcome is Outcome.SOLVED:
        assert cost(at) < min(cost(0.98 * at), cost(1.02 * at), cost(1.5 * at))
    else:
        assert found.outcome is Outcome.UNBOUNDED, found.status
        assert "the longer the motion, the lower the cost" in found.status.message
        assert cost(at) == pytest.approx(limit, rel=1e-6) or at > 99
        assert limit <= min(cost(share * at) for share in (0.1, 0.2, 0.5, 0.8, 1.0)) * (1 + 1e-7)


@pytest.mark.parametrize("seed", range(3))
def test_costs_that_are_approached_by_controls_at_bounds_and_on_singular_arcs(seed):
    """|u| ≤ m: ∫x² + u² from x₀ > m nears (x₀³ − m³)/(3m) + m (x₀ − m), until the bound is left at x = m, and m² from there.
    With ∫x² + v², x + v = 0 is singular, and followed for ever."""
    rng = np.random.default_rng(seed)
    most = rng.uniform(0.5, 2)
    begin = most * rng.uniform(1.2, 3)
    bounded = dr.maneuver(ONE).start(x=begin).finish(x=0).bounds(u=(-most, most)).minimize(integral="x**2 + u**2").solve()
    assert bounded.outcome in (Outcome.UNBOUNDED, Outcome.SOLVED_ON_MESH), bounded.status
    assert bounded.objective == pytest.approx((begin**3 - most**3) / (3 * most) + most * (begin - most) + most**2, rel=1e-5)
    if seed == 0:
        ever = dr.maneuver(TWO).start(x=1, v=0).finish(x=0, v=0).bounds(u=(-1, 1)).minimize(integral="x**2 + v**2").solve()
        assert ever.outcome is Outcome.UNBOUNDED, ever.status


@pytest.mark.parametrize("seed", range(2))
def test_what_is_reached_in_finite_time_is_a_minimum_although_waiting_costs_nothing(seed):
    rng = np.random.default_rng(seed)
    begin, most, power = rng.uniform(0.5, 2), rng.uniform(0.5, 2), rng.integers(1, 3)
    found = dr.maneuver(ONE).start(x=begin).finish(x=0).bounds(u=(-most, most)).minimize(integral=f"abs(x)**{power}").solve()
    assert found.outcome is Outcome.SOLVED, found.status
    assert found.objective == pytest.approx(begin ** (power + 1) / (power + 1) / most, rel=1e-5)


def test_a_plateau_on_the_way_to_lower_costs_is_left():
    """From rest beside an equilibrium with little damping the least ∫u² falls with the duration in steps."""
    oscillator = dr.first_order("oscillator", {X: V, V: -X - V / 20 + U}, inputs=[U])
    found = dr.maneuver(oscillator).start(x=1, v=0).finish(x=0, v=0).minimize(integral="u**2").solve()
    assert found.outcome is Outcome.UNBOUNDED, found.status


def test_a_stated_limit_of_the_duration_has_a_minimum(tmp_path):
    stated = dr.maneuver(ONE).start(x=1).finish(x=0)
    found = stated.duration(0.1, 50).minimize(integral="x**2 + u**2").solve()
    assert found.outcome is Outcome.SOLVED, found.status
    assert found.objective == pytest.approx(1, rel=1e-7)
    free = stated.minimize(integral="x**2 + u**2")
    endless = free.solve()
    endless.save(tmp_path / "endless.nc")
    assert free.load(tmp_path / "endless.nc").status.message == endless.status.message
