"""Units do not matter: scaling states, time, inputs and costs scales the solution."""

import math

import numpy as np
import pytest
import sympy as sp

import draisine as dr
from draisine.optimal import Collocation, MultipleShooting
from draisine.optimal.ipopt import Outcome

X, V, U = sp.symbols("x v u")


@pytest.fixture(scope="module")
def mass():
    return dr.first_order("mass", {X: V, V: U}, inputs=[U])


def scaled_mass(x, v, u, t, spring=0.0):
    """v' = u − spring sin x, in which states, input and time are multiplied by these factors."""
    rate = v / t * (U / u - spring * sp.sin(X / x))
    return dr.first_order("mass", {X: x / (t * v) * V, V: rate}, inputs=[U])


def random_scales(seed, most=6.0):
    return 10.0 ** np.random.default_rng(seed).uniform(-most, most, 5)


@pytest.mark.parametrize("factor", [1e-12, 1e-9, 1e-4, 1e5, 1e9])
def test_a_factor_of_the_cost_does_not_change_the_solution(mass, factor):
    rest = dr.maneuver(mass).start(x=0, v=0)
    farthest = rest.bounds(u=(-1, 1)).duration(1).minimize(final=f"-{factor!r}*x").solve()
    assert farthest.solved
    assert farthest.objective == pytest.approx(-0.5 * factor, rel=1e-5)
    quickest = rest.finish(x=1, v=0).bounds(u=(-1, 1)).minimize(time=factor).solve()
    assert quickest.solved
    assert quickest.duration == pytest.approx(2.0, rel=1e-5)
    easiest = rest.finish(x=1, v=0).controls("u").duration(1).minimize(integral=f"{factor!r}*u**2").solve()
    assert easiest.solved
    assert easiest.objective == pytest.approx(12.0 * factor, rel=1e-6)
    assert np.abs(easiest["u"] - (6 - 12 * easiest.time)).max() < 1e-5
    assert easiest.optimality.kkt.stationarity < 1e-6 * max(1.0, factor)
    assert easiest.costate("x") == pytest.approx(np.full(len(easiest.costate("x")), -24.0 * factor), rel=1e-6)


@pytest.mark.parametrize("seed", range(6))
def test_random_units_of_the_quickest_displacement(seed):
    """x = 1 is reached with |u| ≤ 1 in 2 s; no scale is given but start, end and bounds."""
    x, v, u, t, cost = random_scales(seed)
    stated = dr.maneuver(scaled_mass(x, v, u, t)).start(x=0, v=0).finish(x=x, v=0).bounds(u=(-u, u))
    found = stated.minimize(time=cost).solve()
    assert found.outcome is Outcome.SOLVED, found.status
    assert found.duration == pytest.approx(2.0 * t, rel=1e-5)
    assert found.objective == pytest.approx(2.0 * t * cost, rel=1e-5)
    assert found["x"][-1] == pytest.approx(x, rel=1e-5)
    assert found["v"].max() == pytest.approx(v, rel=1e-3)
    switching = found.optimality["u"]
    assert switching.agreement > 0.95
    assert switching.crossings == pytest.approx([t], rel=1e-2)
    assert found.optimality.hamiltonian[0].mean == pytest.approx(-cost, rel=1e-2)


@pytest.mark.parametrize("method", [None, Collocation("hermite-simpson", intervals=20), MultipleShooting(40)])
@pytest.mark.parametrize("seed", range(10, 13))
def test_random_units_of_a_pendulum(seed, method):
    """The least ∫u² that swings a pendulum to 1 rad in 2 s: the same in all units, with controls that have no bounds."""

    def least(x, v, u, t, cost):
        stated = dr.maneuver(scaled_mass(x, v, u, t, spring=1.0)).start(x=0, v=0).finish(x=x, v=0).controls("u").duration(2 * t)
        found = stated.minimize(integral=f"{cost / u**2!r}*u**2").solve(method)
        assert found.converged, found.status
        assert found.discrepancy < 1e-4
        return found.objective / (cost * t)

    assert least(*random_scales(seed).tolist()) == pytest.approx(least(1.0, 1.0, 1.0, 1.0, 1.0), rel=1e-5)


@pytest.mark.parametrize("distance", [1e-12, 1e-6, 1e-3, 3e3, 1e4, 1e9])
def test_default_limits_of_the_duration_suit_the_distance(mass, distance):
    stated = dr.maneuver(mass).start(x=0, v=0).bounds(u=(-1, 1)).minimize("time")
    found = stated.finish(x=distance, v=0).solve()
    assert found.outcome is Outcome.SOLVED, found.status
    assert found.duration == pytest.approx(2 * math.sqrt(distance), rel=1e-5)


def test_a_small_displacement_takes_its_time(mass):
    """The reproducer: with a scale of 1 m, 1e-9 m seemed to be reached at once."""
    stated = dr.maneuver(mass).start(x=0, v=0).finish(x=1e-9, v=0).bounds(u=(-1e-8, 1e-8)).duration(0.01, 10)
    found = stated.minimize("time").solve()
    assert found.outcome is Outcome.SOLVED
    assert found.duration == pytest.approx(2 * math.sqrt(0.1), rel=1e-5)
    by_adjoint = stated.minimize("time").solve(dr.optimal.Adjoint(20))
    assert by_adjoint.duration == pytest.approx(2 * math.sqrt(0.1), rel=1e-4)


def test_verdicts_do_not_overlook_small_misses(mass):
    """A motion that stays where it is misses an end of 1e-9 m entirely."""
    stated = dr.maneuver(mass).start(x=0, v=0).finish(x=1e-9, v=0).bounds(u=(-1e-12, 1e-12)).duration(1).minimize("time")
    found = stated.solve()
    assert found.outcome is Outcome.INFEASIBLE
    assert not found.verdict.holds


def test_small_path_conditions_hold(mass):
    """|v| ≤ 1e-9 m/s as a condition along the path: 1e-9 m take longer than a second."""
    stated = dr.maneuver(mass).start(x=0, v=0).finish(x=1e-9, v=0).bounds(u=(-1e-8, 1e-8)).along("v <= 1e-9")
    found = stated.duration(0.01, 100).minimize("time").solve()
    assert found.outcome is Outcome.SOLVED, found.status
    assert found.duration == pytest.approx(1.1, rel=1e-4)  # 0.1 s to the speed limit, and from it
    assert found["v"].max() < 1e-9 * (1 + 1e-4)


def test_one_limit_of_the_duration(mass):
    stated = dr.maneuver(mass).start(x=0, v=0).finish(x=1, v=0).bounds(u=(-1, 1)).minimize("time")
    assert stated.duration(0.1, None).solve().duration == pytest.approx(2.0, rel=1e-5)
    assert stated.duration(None, 5).solve().duration == pytest.approx(2.0, rel=1e-5)
    assert stated.duration(3, None).solve().duration == pytest.approx(3.0, rel=1e-5)
    for wrong in ((3, 1), (None,), (-1, 2), (0,), (1, math.inf)):
        with pytest.raises(dr.errors.ArgumentError, match="positive number of seconds"):
            stated.duration(*wrong)


@pytest.mark.parametrize("guess", [1.0, 5.0, 45.0])
def test_a_parameter_far_from_its_optimum(guess):
    """A spring that returns a mass to rest after a second: k = π², the least."""
    k = sp.Symbol("k")
    oscillator = dr.first_order("oscillator", {X: V, V: -k * X}, parameters={k: guess})
    stated = dr.maneuver(oscillator).start(x=1, v=0).finish(v=0).optimize(k=(1, 50)).duration(1).minimize(final="k")
    found = stated.solve()
    assert found.solved, found.status
    assert found.parameters["k"] == pytest.approx(math.pi**2, rel=1e-6)


def test_factors_of_the_cost_of_a_mechanism():
    cart = dr.maneuver(dr.gallery.cart_pole()).start(pole=math.pi).finish(pole=0, cart=0, rates=0).duration(2)
    costs = {}
    for factor in (1.0, 1e-9, 1e6):
        stated = cart.bounds(push=(-20, 20), cart=(-2, 2)).minimize(integral=f"{factor!r}*push**2")
        found = stated.solve(Collocation(intervals=30))
        assert found.converged, found.status
        costs[factor] = found.objective / factor
    assert list(costs.values()) == pytest.approx([costs[1.0]] * 3, rel=1e-8)


@pytest.mark.parametrize("seed", range(20, 24))
def test_random_units_of_time_against_effort(seed):
    """c ∫ 1 + u² dt over a unit distance from rest to rest takes T = 36^¼, and costs T + 12/T³."""
    x, v, u, t, cost = random_scales(seed, 4.0).tolist()
    stated = dr.maneuver(scaled_mass(x, v, u, t)).start(x=0, v=0).finish(x=x, v=0).controls("u").duration(0.05 * t, 50 * t)
    found = stated.minimize(integral=f"{cost / u**2!r}*u**2", time=cost).solve()
    assert found.outcome is Outcome.SOLVED, found.status
    assert found.duration / t == pytest.approx(36**0.25, rel=1e-5)
    assert found.objective / (cost * t) == pytest.approx(36**0.25 + 12 / 36**0.75, rel=1e-7)
