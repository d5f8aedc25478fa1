"""Searches that begin at maxima and saddles: a cost that is even in its controls is stationary where they vanish."""

import math

import numpy as np
import pytest
import sympy as sp

import draisine as dr
from draisine.optimal import Adjoint, Collocation, MultipleShooting
from draisine.optimal.ipopt import Outcome

X, V, U = sp.symbols("x v u")
METHODS = [None, Collocation(intervals=10), Collocation("hermite-simpson", intervals=10), MultipleShooting(10), Adjoint(10)]


@pytest.fixture(scope="module")
def one():
    return dr.first_order("one", {X: U}, inputs=[U])


@pytest.mark.parametrize("method", METHODS, ids=lambda m: type(m).__name__)
@pytest.mark.parametrize(
    ("cost", "least"), [({"integral": "-u**2"}, -1.0), ({"final": "-x**2"}, -1.0), ({"integral": "(u**2-1)**2"}, 0.0)]
)
def test_maxima_are_left(one, method, cost, least):
    found = dr.maneuver(one).start(x=0).bounds(u=(-1, 1)).duration(1).minimize(**cost).solve(method)
    assert found.solved, found.status
    assert found.objective == pytest.approx(least, abs=2e-6)


@pytest.mark.parametrize("seed", range(6))
def test_random_double_wells(one, seed):
    """∫ c (u² − a²)² dt from u = 0: the minimum is zero at |u| = a, in all units."""
    rng = np.random.default_rng(seed)
    a, c, t = (10.0 ** rng.uniform(-3, 3, 3)).tolist()
    stated = dr.maneuver(one).start(x=0).bounds(u=(-2 * a, 3 * a)).duration(t)
    found = stated.minimize(integral=f"{c / a**4!r}*(u**2-{a!r}**2)**2").solve()
    assert found.solved, found.status
    assert found.objective < 1e-6 * c * t
    assert np.abs(np.abs(found["u"]) / a - 1).max() < 1e-3


@pytest.mark.parametrize("duration", [0.5, 3.1, 3.2, 7.0])
def test_conjugate_points(one, duration):
    """∫ u² − x² dt with x = 0 at both ends: the minimum is zero up to the conjugate point after π, beyond it there is none."""
    stated = dr.maneuver(one).start(x=0).finish(x=0).controls("u").duration(duration).minimize(integral="u**2-x**2")
    found = stated.solve()
    if duration < math.pi:
        assert found.outcome is Outcome.SOLVED, found.status
        assert found.objective == pytest.approx(0.0, abs=1e-9)
    else:
        assert found.outcome in (Outcome.UNBOUNDED, Outcome.SADDLE), found.status
    by_adjoint = stated.solve(Adjoint(20))
    assert by_adjoint.solved == (duration < math.pi), by_adjoint.status


def test_costs_without_a_minimum_are_unbounded(one):
    stated = dr.maneuver(one).start(x=0).controls("u").duration(1)
    for method in (None, MultipleShooting(5), Adjoint(5)):
        found = stated.minimize(integral="-u**2").solve(method)
        assert found.outcome is Outcome.UNBOUNDED, found.status


def test_minima_stay():
    """A minimum with a singular Hessian, and one with none, are not taken for saddles: least time, and ∫x² dt."""
    mass = dr.first_order("mass", {X: V, V: U}, inputs=[U])
    stated = dr.maneuver(mass).start(x=1, v=0).bounds(u=(-1, 1)).duration(5).minimize(integral="x**2")
    fuller = [stated.solve(method) for method in (None, MultipleShooting(60), Adjoint(60))]
    assert all(found.converged for found in fuller), [found.status for found in fuller]
    assert fuller[1].objective == pytest.approx(fuller[0].objective, rel=2e-3)
    assert fuller[2].objective == pytest.approx(fuller[0].objective, rel=2e-3)


def test_minimum_fuel():
    """∫|u| dt from rest to rest over 1 in 3 s with |u| ≤ 1: full thrust during t₁ at both ends, t₁ (3 − t₁) = 1. Two inputs that
    are not negative, for thrust ahead and back, give the same as the magnitude."""
    ahead, back = sp.symbols("ahead back")
    rocket = dr.first_order("rocket", {X: V, V: ahead - back}, inputs=[ahead, back])
    stated = dr.maneuver(rocket).start(x=0, v=0).finish(x=1, v=0).bounds(ahead=(0, 1), back=(0, 1)).duration(3)
    mass = dr.first_order("mass", {X: V, V: U}, inputs=[U])
    one = dr.maneuver(mass).start(x=0, v=0).finish(x=1, v=0).bounds(u=(-1, 1)).duration(3)
    for found in (stated.minimize(integral="ahead + back").solve(), one.minimize(integral="abs(u)").solve()):
        assert found.outcome is Outcome.SOLVED, found.status
        assert found.objective == pytest.approx(3 - math.sqrt(5), rel=1e-6)


@pytest.mark.parametrize(
    "method", [Collocation("hermite-simpson", intervals=9), Collocation(intervals=9, constant_controls=True), MultipleShooting(5)]
)
def test_the_cost_of_a_mesh_is_estimated(method):
    """Least time over a unit distance (2 s) and least effort (12): what a given mesh adds is known."""
    mass = dr.first_order("mass", {X: V, V: U}, inputs=[U])
    there = dr.maneuver(mass).start(x=0, v=0).finish(x=1, v=0)
    for stated, least in (
        (there.bounds(u=(-1, 1)).minimize("time"), 2.0),
        (there.controls("u").duration(1).minimize(integral="u**2"), 12.0),
    ):
        found = stated.solve(method)
        assert found.mesh_cost == pytest.approx(found.objective - least, rel=0.1, abs=1e-9)
        coarse = found.objective - least > 1e-3 * least
        assert found.outcome is (Outcome.SOLVED_ON_MESH if coarse else Outcome.SOLVED), found.status
        assert ("may lower the cost by up to" in found.status.message) == coarse
        refined = stated.solve()
        assert refined.outcome is Outcome.SOLVED and refined.objective == pytest.approx(least, rel=1e-6)


def test_advice_after_refinement_is_not_to_refine():
    """A refinement that ends at its limit names the limit."""
    swing = dr.first_order("swing", {X: V, V: U - sp.sin(X)}, inputs=[U])
    stated = dr.maneuver(swing).start(x=0, v=0).finish(x=3, v=0).bounds(u=(-0.5, 0.5)).duration(5, 10).minimize("time")
    found = stated.solve(Collocation(intervals=7), refine=dr.optimal.Refinement(rounds=1))
    assert found.outcome is Outcome.SOLVED_ON_MESH
    assert "refinement stopped at its limit of 1 rounds" in found.status.message
    assert "solve() or refine" not in found.status.message
    assert "solve() or refine" in stated.solve(Collocation(intervals=7)).status.message


@pytest.mark.parametrize("seed", range(4))
def test_controls_are_compared_with_all_values_on_the_first_mesh(one, seed):
    """∫ a u² + b u⁴ + c cos 3u dt: the least of all constant controls, also where u = 0 is a local minimum."""
    a, b, c = np.random.default_rng(seed).normal(size=3).tolist()
    u = np.linspace(-1, 1, 20001)
    least = (a * u**2 + b * u**4 + c * np.cos(3 * u)).min()
    stated = dr.maneuver(one).start(x=0).bounds(u=(-1, 1)).duration(1)
    found = stated.minimize(integral=f"{a!r}*u**2 + {b!r}*u**4 + {c!r}*cos(3*u)").solve()
    assert found.solved, found.status
    assert found.objective == pytest.approx(least, abs=1e-5)


FLAT = {"-abs(x)": -1.0, "-x**4": -1.0, "x**3": -1.0, "min(x, -x)": -1.0, "-sqrt(abs(x))": -1.0, "x**2": 0.0}


@pytest.mark.parametrize("final", FLAT)
def test_flat_points_that_are_no_minima_are_left(final):
    """ẋ = u, |u| ≤ 1, from 0 in a second: derivatives of the cost vanish at x = 0, or do not exist and count as zero."""
    x, u = sp.symbols("x u")
    found = dr.maneuver(dr.first_order("one", {x: u}, inputs=[u])).start(x=0).bounds(u=(-1, 1)).duration(1)
    found = found.minimize(final=final).solve()
    assert found.solved and found.objective == pytest.approx(FLAT[final], abs=1e-5)
    assert any("flat point" in note for note in found.notes) == (FLAT[final] < 0)


@pytest.mark.parametrize(("integral", "least"), [("-abs(x)", -0.5), ("-x**4", -0.2), ("x**2 + u**2", 0.0)])
def test_integrals_that_are_flat_at_first(integral, least):
    x, u = sp.symbols("x u")
    found = dr.maneuver(dr.first_order("one", {x: u}, inputs=[u])).start(x=0).bounds(u=(-1, 1)).duration(1)
    found = found.minimize(integral=integral).solve()
    assert found.solved and found.objective == pytest.approx(least, abs=1e-5)
