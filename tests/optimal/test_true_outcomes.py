"""Outcomes of flat costs, limits that are approached, durations beyond default limits, and conditions missed by little."""

import math
import pickle

import numpy as np
import pytest
import sympy as sp

import draisine as dr

x, v, u = sp.symbols("x v u")


@pytest.fixture(scope="module")
def one():
    return dr.first_order("one", {x: u}, inputs=[u])


@pytest.fixture(scope="module")
def mass():
    return dr.first_order("mass", {x: v, v: u}, inputs=[u])


@pytest.mark.parametrize("slope", [1e-2, 1e-4, 1e-6, 1e-8])
def test_flat_costs_fall_from_where_they_seem_flat(one, slope):
    found = dr.maneuver(one).start(x=0).duration(1).minimize(final=f"x**4 - {slope!r}*x").solve()
    least = (slope / 4) ** (1 / 3)
    assert found.solved, found.status
    assert found["x"][-1] == pytest.approx(least, rel=1e-4)
    assert found.objective == pytest.approx(least**4 - slope * least, rel=1e-6)


@pytest.mark.parametrize(
    ("cost", "outcome"),
    [
        ("tanh(x)", "UNATTAINED"),
        ("1 + tanh(3*x)", "UNATTAINED"),
        ("exp(-x)", "UNATTAINED"),
        ("atan(x)", "UNATTAINED"),
        ("-log(1 + (x + 1)**2)", "UNBOUNDED"),
        ("-log(2 + x)", "UNBOUNDED"),
        ("(x - 100)**4", "SOLVED"),
        ("1 - exp(-(x - 10)**2/50)", "SOLVED"),
        ("max(0, x + 1)**2", "SOLVED"),
        ("(x - 3)**2 + tanh(x)", "SOLVED"),
    ],
)
def test_limits_are_told_from_minima_and_from_costs_without_bound(one, cost, outcome):
    found = dr.maneuver(one).start(x=0).duration(1).minimize(final=cost).solve()
    assert found.outcome == outcome, found.status


@pytest.mark.parametrize("exponent", [-14, -10, -6, 0, 6, 12])
def test_durations_beyond_default_limits(mass, exponent, tmp_path):
    """∫ u² dt + w T from rest to rest over 1: ∫ u² = 12/T³, so that T⁴ = 36/w."""
    weight = 10.0**exponent
    stated = dr.maneuver(mass).start(x=0, v=0).finish(x=1, v=0).minimize(integral="u**2", time=weight)
    found = stated.solve()
    assert found.solved, found.status
    assert found.duration == pytest.approx((36 / weight) ** 0.25, rel=1e-5)
    found.save(tmp_path / "found.nc")
    for again in (stated.load(tmp_path / "found.nc"), pickle.loads(pickle.dumps(found))):
        assert again.solved
        assert again.duration == found.duration


def test_what_goes_on_over_many_powers_of_ten_has_no_best_duration(mass):
    rest = dr.maneuver(mass).start(x=0, v=0).finish(x=1, v=0)
    longer, shorter = rest.minimize(integral="u**2").solve(), rest.minimize("time").solve()
    assert longer.outcome == "UNBOUNDED"
    assert "the longer the motion, the lower the cost" in longer.status.message
    assert shorter.outcome == "ZERO_DURATION"


@pytest.mark.parametrize("seed", range(3))
def test_a_condition_that_is_missed_by_little_is_named(mass, seed):
    """In one second, |u| ≤ 4 d leads from rest to rest over d, and not farther."""
    rng = np.random.default_rng(seed)
    distance, beyond = 10.0 ** rng.uniform(-2, 2), 10.0 ** rng.uniform(-5.5, -4)
    stated = dr.maneuver(mass).start(x=0, v=0).finish(x=distance * (1 + beyond), v=0)
    found = stated.bounds(u=(-4 * distance, 4 * distance)).duration(1).minimize(integral="u**2").solve()
    assert found.outcome == "INFEASIBLE", found.status
    assert any(conflict.startswith("finish: x (misses by") for conflict in found.conflicts)
    assert "bounds of u" in found.conflicts


def test_smooth_roots_are_not_called_kinks(one):
    late = dr.maneuver(one).start(x=0).finish(x=1).bounds(u=(-0.5, 0.5)).duration(1)
    assert "not smooth" not in late.minimize(integral="sqrt(1 + x**2)").solve().status.message
    assert "not smooth (sqrt)" in late.minimize(integral="sqrt(0.5 + x)").solve().status.message
    assert "not smooth (abs)" in late.minimize(integral="u**2 - abs(x)").solve().status.message


def test_an_arc_that_needs_milliseconds(mass):
    found = dr.maneuver(mass).start(x=0, v=0).finish(x=1e-6, v=0).bounds(u=(-1, 1)).minimize("time").solve()
    assert found.solved, found.status
    assert found.duration == pytest.approx(2 * math.sqrt(1e-6), rel=1e-6)


@pytest.mark.parametrize(
    ("cost", "outcome"),
    [
        ("exp(-x)", "UNATTAINED"),
        ("tanh(x)", "UNATTAINED"),
        ("-log(2 + x)", "UNBOUNDED"),
        ("x", "UNBOUNDED"),
        ("(x - 30)**2", "SOLVED"),
        ("exp(-x) + 1e-3*x", "SOLVED"),
    ],
)
def test_the_adjoint_method_tells_limits_from_minima(one, cost, outcome):
    found = dr.maneuver(one).start(x=0).duration(1).minimize(final=cost).solve(dr.optimal.Adjoint(pieces=5))
    assert found.outcome == outcome, found.status


def test_impulses_are_not_solutions(one, mass):
    """Infima by jumps, which no control makes: 0, 0, and tanh 1 with v as the control."""
    into, out = dr.maneuver(one).start(x=0).finish(x=1), dr.maneuver(one).start(x=1)
    stated = [into.minimize(integral="x**2"), into.minimize(integral="sqrt(1 + x**2) - u"), out.minimize(integral="x**2")]
    stated.append(dr.maneuver(mass).start(x=1, v=0).minimize(integral="x**2 + v**2"))
    for each in stated:
        found = each.duration(1).solve()
        assert found.outcome == "UNATTAINED", found.status
        assert "an impulse is best" in found.status.message
    assert found.objective == pytest.approx(math.tanh(1), rel=1e-4)
    assert stated[-1].duration(1).bounds(u=(-50, 50)).solve().solved


@pytest.mark.parametrize("seed", range(3))
def test_impulses_that_a_fine_mesh_spreads_are_not_solutions(mass, seed):
    """Least ∫|u| without bounds of u, from rest to rest over d in T: 2 d/T by impulses at both ends, a little more on meshes."""
    rng = np.random.default_rng(seed)
    distance, time = rng.uniform(0.2, 3), rng.uniform(0.5, 4)
    found = dr.maneuver(mass).start(x=0, v=0).finish(x=distance, v=0).duration(time).minimize(integral="abs(u)").solve()
    assert found.outcome == "UNATTAINED", found.status
    assert "an impulse is best" in found.status.message


def test_the_least_cost_of_ever_longer_motions_is_that_of_a_mesh_that_follows_them(one):
    """∫x² + u² from 1 to 0 in T is coth T. Within limits a million times wider, intervals of weeks see nothing of it: 5e-6."""
    found = dr.maneuver(one).start(x=1).finish(x=0).minimize(integral="x**2 + u**2").solve()
    assert found.objective == pytest.approx(1.0, rel=1e-6)
    assert found.error < 1e-6


@pytest.mark.parametrize("seed", range(3))
def test_durations_at_which_the_cost_only_rests(seed):
    """Rest costs nothing, so that the least ∫x² + u² of an oscillator never rises with its duration, and has inflections where
    u = 0 at the end. Its infimum is that of Riccati's equation."""
    from scipy.linalg import solve_continuous_are

    rng = np.random.default_rng(seed)
    frequency, begin = float(rng.uniform(0.7, 1.5)), rng.uniform(-1, 1, 2)
    system = np.array([[0.0, 1.0], [-(frequency**2), 0.0]])
    least = begin @ solve_continuous_are(system, [[0.0], [1.0]], np.diag([1.0, 0.0]), [[1.0]]) @ begin
    swing = dr.first_order("swing", {x: v, v: u - frequency**2 * x}, inputs=[u])
    stated = dr.maneuver(swing).start(x=begin[0], v=begin[1]).finish(x=0, v=0)
    found = stated.minimize(integral="x**2 + u**2", time=1e-9).solve()
    assert found.converged
    assert found.objective == pytest.approx(least, rel=2e-5)


def test_limits_of_iterations_that_are_given_are_kept(mass):
    stated = dr.maneuver(mass).start(x=0, v=0).finish(x=1, v=0).bounds(u=(-1, 1)).minimize("time")
    found = stated.solve(solver=dr.optimal.Ipopt(iterations=2))
    assert found.outcome == "TOO_MANY_ITERATIONS" and found.answer.iterations <= 2


def test_endless_searches_begin_anew():
    """A boat that does not sail against the wind: at the heading of the linear guess nothing drives it, whereto is not seen."""
    y, heading = sp.symbols("y heading")
    boat = dr.first_order("boat", {x: sp.sin(heading) ** 2 * sp.cos(heading), y: sp.sin(heading) ** 3}, inputs=[heading])
    stated = dr.maneuver(boat).start(x=0, y=0).finish(x=1, y=0).bounds(heading=(-3.2, 3.2)).minimize("time")
    found = stated.solve(dr.optimal.Collocation(intervals=10))
    assert found.converged
    assert found.duration > 1.5 * math.sqrt(3) - 1e-9  # by the best of all headings


@pytest.mark.parametrize("seed", range(3))
def test_distances_of_any_size(mass, seed):
    """Beyond 1e10 m the condition of the distance counted as dependent beside that of the speed: INFEASIBLE."""
    rng = np.random.default_rng(seed)
    distance, force = 10 ** rng.uniform(10.5, 16), 10 ** rng.uniform(-1, 2)
    found = dr.maneuver(mass).start(x=0, v=0).finish(x=distance, v=0).bounds(u=(-force, force)).minimize("time").solve()
    assert found.solved
    assert found.duration == pytest.approx(2 * math.sqrt(distance / force), rel=1e-7)
