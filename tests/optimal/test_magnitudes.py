"""Costs with magnitudes, |u|, max and min: closed forms of least fuel, and the epigraph form of random expressions."""

import math

import casadi as ca
import numpy as np
import pytest
import sympy as sp

import draisine as dr
from draisine.optimal import Adjoint, Collocation, MultipleShooting
from draisine.optimal.epigraph import epigraph
from draisine.optimal.ipopt import Outcome

X, V, U = sp.symbols("x v u")
MASS = dr.first_order("mass", {X: V, V: U}, inputs=[U])
LINE = dr.first_order("line", {X: U}, inputs=[U])


def there(distance, limit, time):
    return dr.maneuver(MASS).start(x=0, v=0).finish(x=distance, v=0).bounds(u=(-limit, limit)).duration(time)


def burn(distance, limit, time):
    """Bang-off-bang: full thrust during t₁ at both ends, limit · t₁ (time − t₁) = distance."""
    return (time - math.sqrt(time**2 - 4 * distance / limit)) / 2


def test_least_fuel_is_bang_off_bang():
    found = there(1, 1, 3).minimize(integral="abs(u)").solve()
    assert found.outcome is Outcome.SOLVED, found.status
    assert found.objective == pytest.approx(3 - math.sqrt(5), rel=1e-6)
    t1 = burn(1, 1, 3)
    times = np.array([0.05, 0.5 * t1, 0.9 * t1, 1.1 * t1, 1.5, 3 - 1.1 * t1, 3 - 0.9 * t1, 2.95])
    assert found.only.inputs_at(times)[:, 0] == pytest.approx([1, 1, 1, 0, 0, 0, -1, -1], abs=1e-4)
    assert "not smooth" not in found.status.message


@pytest.mark.parametrize("seed", range(6))
def test_random_least_fuel_with_thrust_dearer_backwards(seed):
    rng = np.random.default_rng(seed)
    limit, time, dear, cheap = rng.uniform(0.2, 20), rng.uniform(0.5, 10), rng.uniform(0.5, 5), rng.uniform(0.5, 5)
    distance = rng.uniform(0.2, 0.8) * limit * time**2 / 4 * (1 if seed % 2 else -1)
    cost = f"max({cheap}*u, -{dear}*u)" if seed % 3 else f"{(cheap + dear) / 2}*abs(u) + {(cheap - dear) / 2}*u"
    stated = there(distance, limit, time).minimize(integral=cost)
    exact = limit * burn(abs(distance), limit, time) * (cheap + dear)
    for method in (Collocation(intervals=40, constant_controls=True), MultipleShooting(40)):
        found = stated.solve(method)
        assert found.converged, found.status
        assert exact * (1 - 1e-7) < found.objective < exact * 1.02
        assert found.mesh_cost is not None and found.objective - exact < 1.5 * found.mesh_cost + 1e-9
    refined = stated.solve()
    assert refined.outcome is Outcome.SOLVED, refined.status
    assert refined.objective == pytest.approx(exact, rel=2e-6)


def test_fuel_of_a_decaying_motion_is_spent_at_the_end():
    """ẋ = −x + u from 0 to 1 with |u| ≤ 2: full thrust during τ at the end, 1 = 2 (1 − e^−τ)."""
    decay = dr.first_order("decay", {X: -X + U}, inputs=[U])
    stated = dr.maneuver(decay).start(x=0).finish(x=1).bounds(u=(-2, 2)).duration(2).minimize(integral="abs(u)")
    found = stated.solve()
    assert found.outcome is Outcome.SOLVED, found.status
    assert found.objective == pytest.approx(2 * math.log(2), rel=1e-6)


def test_magnitudes_of_states():
    """∫ |x − 1| dt from 0 with |u| ≤ 1 in 2 s: 1/2. Shooting, which has no unknowns between mesh points, does not replace it."""
    stated = dr.maneuver(LINE).start(x=0).bounds(u=(-1, 1)).duration(2).minimize(integral="abs(x - 1)")
    found = stated.solve()
    assert found.outcome is Outcome.SOLVED, found.status
    assert found.objective == pytest.approx(0.5, rel=1e-6)
    phase = found.only.phase
    assert [phase.kinks(scheme) for scheme in (Collocation(), MultipleShooting(), Adjoint())] == [(), ("abs",), ("abs",)]


@pytest.mark.parametrize("method", [Collocation(intervals=5), MultipleShooting(5)])
def test_magnitudes_at_the_end(method):
    """|x − 2| + ∫ u² dt in 1 s: u = 1/2. With a weight of 10 on the miss, x = 2 exactly."""
    stated = dr.maneuver(LINE).start(x=0).controls("u").duration(1)
    found = stated.minimize(final="abs(x - 2)", integral="u**2").solve(method)
    assert found.outcome is Outcome.SOLVED, found.status
    assert found.objective == pytest.approx(1.75, rel=1e-8)
    found = stated.minimize(final="10*max(x - 2, 2 - x)", integral="u**2").solve(method)
    assert found.outcome is Outcome.SOLVED, found.status
    assert found.objective == pytest.approx(4.0, rel=1e-7)
    assert found.trajectory.final["x"] == pytest.approx(2.0, abs=1e-7)


def test_squares_of_magnitudes_and_parameters():
    """|u|² is u², from rest to rest 12; a weight that is a parameter is known to be positive."""
    found = there(1, 100, 1).minimize(integral="abs(u)**2").solve(Collocation(intervals=10))
    assert found.outcome is Outcome.SOLVED, found.status
    assert found.objective == pytest.approx(12.0, rel=1e-7)
    price = sp.Symbol("price")
    priced = dr.first_order("priced", {X: U}, inputs=[U], parameters={price: 3.0})
    stated = dr.maneuver(priced).start(x=0).finish(x=1).bounds(u=(-5, 5)).duration(1).minimize(integral="price*abs(u)")
    assert stated.solve(Collocation(intervals=4)).objective == pytest.approx(3.0, rel=1e-7)


def test_what_is_not_convex_stays_as_it_is():
    """−|u| falls with the magnitude, |‖u| − 1| and |x|·|u| with x of any sign are not proven to rise with it."""
    u, x = ca.SX.sym("u"), ca.SX.sym("x")
    for cost in (-ca.fabs(u), ca.fmin(u, 1), ca.if_else(ca.fabs(u) < 1, 0, u), ca.sign(u), u**2, x * ca.fabs(u)):
        assert epigraph(cost, {}) is None
    known = epigraph(x * ca.fabs(u), {x.element_hash(): (0.5, 2.0)})
    assert known is not None and known.slacks.numel() == 1
    inner = epigraph(ca.fabs(ca.fabs(u) - 1), {})
    assert inner is None  # its cost falls with the inner magnitude where that is small


@pytest.mark.parametrize("seed", range(6))
def test_a_kink_is_not_taken_for_a_minimum(seed):
    """−|u|, −|u − c| and min(u, c): the derivative at the kink is taken as zero, but the minimum is at a bound."""
    rng = np.random.default_rng(seed)
    c = [0.0, *rng.uniform(-0.9, 0.9, 5)][seed]
    cost, least = ((f"-abs(u - ({c}))", -1 - abs(c)), (f"min(u, {c})", -1.0))[seed % 2]
    stated = dr.maneuver(LINE).start(x=0).bounds(u=(-1, 1), x=(-5, 5)).duration(1).minimize(integral=cost)
    found = stated.solve(Collocation(intervals=4), guess=dr.guess.ConstantGuess(inputs={"u": c}))
    assert found.objective == pytest.approx(least, rel=1e-6), found.status


@pytest.mark.parametrize("seed", range(40))
def test_random_expressions_are_equal_at_the_magnitudes_and_rise(seed):
    rng = np.random.default_rng(seed)
    w = ca.SX.sym("w", 3)

    def smooth(depth):
        if depth == 0:
            return w[int(rng.integers(3))] if rng.random() < 0.7 else ca.SX(float(rng.normal()))
        a, b = smooth(depth - 1), smooth(depth - 1)
        return [a + b, a - b, a * b, ca.sin(a), a**2][int(rng.integers(5))]

    cost = ca.SX(0)
    for _ in range(int(rng.integers(1, 4))):
        a, b = smooth(2), smooth(1)
        part = [ca.fabs(a), ca.fmax(a, b), ca.fmin(a, b), ca.fabs(a) ** 2, ca.exp(ca.fabs(a) / 10)][int(rng.integers(5))]
        cost = cost + [float(rng.uniform(-1, 2)), b**2, b, ca.exp(a / 10)][int(rng.integers(4))] * part
    made = epigraph(cost, {})
    if made is None:
        return
    count = made.slacks.numel()
    slope = ca.jacobian(made.cost, made.slacks)
    compare = ca.Function("compare", [w, made.slacks], [cost, made.cost, made.arguments, slope])
    for _ in range(20):
        point = rng.normal(size=3) * 3
        e = np.asarray(compare(point, np.zeros(count))[2].full()).ravel()
        original, replaced, _, _ = (np.asarray(part.full()) for part in compare(point, np.abs(e)))
        assert replaced == pytest.approx(original, rel=1e-12, abs=1e-12)
        assert np.asarray(compare(point, rng.exponential(size=count) * 5)[3].full()).min() >= 0.0


@pytest.mark.parametrize("margin", [1e-6, 1.8e-6, 6e-6, 4e-5])
def test_least_fuel_with_hardly_more_time_than_needed(margin):
    """T − √(T² − 4 d) with a coast of milliseconds, whose length decides the cost: a switch 1e-4 s earlier is dear."""
    x, v, u = sp.symbols("x v u")
    mass = dr.first_order("mass", {x: v, v: u}, inputs=[u])
    time = 2 * (1 + margin)
    stated = dr.maneuver(mass).start(x=0, v=0).finish(x=1, v=0).bounds(u=(-1, 1)).duration(time)
    found = stated.minimize(integral="abs(u)").solve()
    assert found.outcome == "SOLVED", found.status
    assert found.objective == pytest.approx(time - math.sqrt(time**2 - 4), rel=2e-6)
    assert found.mesh_cost < 1e-5
