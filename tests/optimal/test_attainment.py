"""Costs without a minimum are not SOLVED, and those with one at any size are: closed forms, random members of each class."""

import math

import numpy as np
import pytest
import sympy as sp

import draisine as dr
from draisine.optimal.ipopt import Outcome

X, V, U = sp.symbols("x v u")


def integrator(gain):
    return dr.first_order("integrator", {X: gain * U}, inputs=[U])


def lag(rate):
    return dr.first_order("lag", {X: rate * (U - X)}, inputs=[U])


def drag(share):
    return dr.first_order("drag", {X: V, V: U - share * V**2}, inputs=[U])


@pytest.mark.parametrize("seed", range(2))
def test_what_is_approached_for_ever_is_not_reached(seed):
    """A lag reaches its asymptote, and a body against drag its final speed, only by the slack of a solver."""
    rng = np.random.default_rng(seed)
    rate, most, begin = rng.uniform(0.2, 5), 10 ** rng.uniform(-3, 3), rng.uniform(-3, 0.9)
    never = dr.maneuver(lag(rate)).start(x=begin * most).finish(x=most).bounds(u=(-most, most)).minimize("time").solve()
    assert never.outcome is Outcome.UNATTAINED, never.status
    assert not never.solved
    assert "met only within the tolerance of the solver" in never.status.message
    speed = 10 ** rng.uniform(-2, 2)
    force = rate * speed**2
    never = dr.maneuver(drag(rate)).start(x=0, v=0).finish(v=speed).bounds(u=(-force, force)).minimize("time").solve()
    assert never.outcome is Outcome.UNATTAINED, never.status


@pytest.mark.parametrize("seed", range(3))
def test_what_lies_a_little_before_an_asymptote_is_reached_in_its_exact_time(seed):
    """T = ln((1 − x₀)/ε)/k and artanh(1 − ε)/(k v): slack of 1e-8 in the bounds changed the seventh to third digit."""
    rng = np.random.default_rng(100 + seed)
    rate, most, begin, short = rng.uniform(0.2, 5), 10 ** rng.uniform(-3, 3), rng.uniform(-3, 0.9), 10 ** -rng.uniform(2, 6.5)
    stated = dr.maneuver(lag(rate)).start(x=begin * most).finish(x=(1 - short) * most).bounds(u=(-most, most))
    found = stated.minimize("time").solve()
    assert found.outcome is Outcome.SOLVED, found.status
    assert found.duration == pytest.approx(np.log((1 - begin) / short) / rate, rel=1e-6)
    speed, short = 10 ** rng.uniform(-2, 2), 10 ** -rng.uniform(2, 5)
    force = rate * speed**2
    stated = dr.maneuver(drag(rate)).start(x=0, v=0).finish(v=(1 - short) * speed).bounds(u=(-force, force))
    found = stated.minimize("time").solve()
    assert found.outcome is Outcome.SOLVED, found.status
    assert found.duration == pytest.approx(np.arctanh(1 - short) / (rate * speed), rel=1e-5)


@pytest.mark.parametrize("cost", ["exp(-x)", "1 + exp(-x)", "1/(2 + x)", "1/(1 + x**2)"])
def test_an_infimum_at_infinity_is_not_a_minimum(cost):
    gain = 10 ** np.random.default_rng(len(cost)).uniform(-3, 3)
    found = dr.maneuver(integrator(gain)).start(x=0.2).duration(1.5).minimize(final=cost).solve()
    assert found.outcome is Outcome.UNATTAINED, found.status
    assert "the cost falls ever more slowly and without end" in found.status.message


def test_of_controls_too():
    found = dr.maneuver(integrator(1.0)).start(x=0).duration(1).minimize(integral="exp(-u)").solve()
    assert found.outcome is Outcome.UNATTAINED, found.status


@pytest.mark.parametrize(
    ("cost", "least"),
    [("(x - 3)**8", 0.0), ("(x - 1e5)**2", 0.0), ("exp(-x) + 1e-6*x", 1e-6 * (1 + np.log(1e6))), ("sqrt(1 + x**2)", 1)],
)
def test_flat_and_far_minima_are_attained(cost, least):
    found = dr.maneuver(integrator(1.0)).start(x=0.2).duration(1.5).minimize(final=cost).solve()
    assert found.outcome is Outcome.SOLVED, found.status
    assert found.objective == pytest.approx(least, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_minima_of_any_size_are_found(seed):
    """c ∫u² − x: −(g² T)/(4c) for ẋ = g u."""
    rng = np.random.default_rng(seed)
    weight, gain, span = 10 ** rng.uniform(-15, -6), 10 ** rng.uniform(-2, 2), rng.uniform(0.3, 4)
    found = dr.maneuver(integrator(gain)).start(x=0).duration(span).minimize(integral=f"{weight}*u**2", final="-x").solve()
    assert found.outcome is Outcome.SOLVED, found.status
    assert found.objective == pytest.approx(-(gain**2) * span / (4 * weight), rel=1e-8)


@pytest.mark.parametrize("cost", ["-x", "-x**2", "-1e-9*x"])
def test_what_falls_at_every_size_is_unbounded(cost):
    found = dr.maneuver(integrator(1.0)).start(x=0.1).duration(1).minimize(final=cost).solve()
    assert found.outcome is Outcome.UNBOUNDED, found.status


def test_a_loaded_solution_says_the_same(tmp_path):
    stated = dr.maneuver(lag(1.0)).start(x=0).finish(x=1).bounds(u=(-1, 1)).minimize("time")
    found = stated.solve()
    found.save(tmp_path / "never.nc")
    loaded = stated.load(tmp_path / "never.nc")
    assert loaded.outcome is Outcome.UNATTAINED
    assert loaded.status.message == found.status.message


@pytest.mark.parametrize(
    ("cost", "start", "place"),
    [
        ("exp(-x) + 1e-12*x", 0.0, 12 * math.log(10)),
        ("sqrt(1 + x**2) + 0.999999*x", 0.0, -0.999999 / math.sqrt(1 - 0.999999**2)),
        ("-log(x) + 1e-6*x", 1.0, 1e6),
        ("1/x + 1e-8*x", 1.0, 1e4),
        ("-atan(x) + 1e-6*x", 1.0, math.sqrt(1e6 - 1)),
        ("6*exp(-x/160) + 2e-7*x", 0.0, 160 * math.log(6 / 160 / 2e-7)),
        ("abs(x - 2)", 0.0, 2.0),
        ("abs(x)", 1.0, 0.0),
    ],
)
def test_a_minimum_far_away_or_of_no_cost_is_one(cost, start, place):
    x, u = sp.symbols("x u")
    integrator = dr.first_order("integrator", {x: u}, inputs=[u])
    found = dr.maneuver(integrator).start(x=start).duration(1).minimize(final=cost).solve()
    least = float(sp.sympify(cost, locals={"x": x, "abs": sp.Abs}).subs(x, place))
    assert found.outcome == "SOLVED", found.status
    assert abs(found.objective - least) < 1e-9 * max(abs(least), 1.0)
    assert found["x"][-1] == pytest.approx(place, rel=2e-3, abs=1e-9)


def test_a_cost_that_ends_on_a_bound_far_away_is_attained():
    x, u = sp.symbols("x u")
    integrator = dr.first_order("integrator", {x: u}, inputs=[u])
    found = dr.maneuver(integrator).start(x=0).bounds(u=(-100, 100)).duration(1).minimize(final="exp(-x)").solve()
    assert found.outcome == "SOLVED" and 0 < found.objective < 1e-15


@pytest.mark.parametrize(("cost", "outcome", "least"), [("x**3", "UNBOUNDED", None), ("x**4 + x**3", "SOLVED", -27 / 256)])
def test_flat_points_of_odd_order_are_no_minima(cost, outcome, least):
    x, u = sp.symbols("x u")
    integrator = dr.first_order("integrator", {x: u}, inputs=[u])
    found = dr.maneuver(integrator).start(x=0).duration(1).minimize(final=cost).solve()
    assert found.outcome == outcome
    assert least is None or found.objective == pytest.approx(least, rel=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_impulses_of_costs_that_are_curved_in_the_control(seed):
    """Least ∫|t − c|ᵏ u² dt from 1 to 0 (Weierstrass: k = 2) has the infimum zero for k ≥ 1, by an impulse where that is free,
    at an end or inside. For k < 1 and c = 0 the peak t⁻ᵏ is integrable, and the least 1 − k is attained."""
    rng = np.random.default_rng(seed)
    stated = dr.maneuver(integrator(1.0)).start(x=1).finish(x=0).duration(1)
    for place, power in ((0.0, float(rng.uniform(1.2, 3))), (float(rng.uniform(0.2, 0.8)), 2.0)):
        never = stated.minimize(integral=f"abs(t - {place})**{power}*u**2").solve()
        assert never.outcome is Outcome.UNATTAINED, never.status
        assert "an impulse is best" in never.status.message
    power = float(rng.uniform(0.1, 0.4))
    found = stated.minimize(integral=f"t**{power}*u**2").solve()
    assert found.solved
    assert found.objective == pytest.approx(1 - power, rel=1e-5)
