"""Times of switches of time alone: closed forms, and random expressions against dense sampling."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from numpy.testing import assert_allclose

from draisine.expr.tables import Table
from draisine.program.switch_times import switch_times
from draisine.program.switching import find_switching
from switching_problems import P, T, U, X, expression, system


def times(rate, t0=0.0, t1=10.0, u=0.0, p=1.0):
    return switch_times(find_switching(system(rate)), t0, t1, [u], [p])


def test_affine_functions_are_solved_exactly():
    pulse = times(ca.if_else(T > 2, ca.if_else(T < 2.1, 1, 0), 0))
    assert pulse.times.tolist() == [2.0, 2.1] and pulse.guaranteed and pulse.jumps.all()
    assert pulse.branches.tolist() == [[0, 1], [1, 1], [1, 0]]
    assert times(ca.if_else(T > P, 1, U), p=3.3).times.tolist() == [3.3]
    assert times(ca.if_else(3 * T > P, 1, 0), t0=-7.0, p=0.3).times == pytest.approx([0.1], rel=3e-16)
    back = times(ca.if_else(T > 2, ca.if_else(T < 2.1, 1, 0), 0), 5.0, 0.0)
    assert back.times.tolist() == [2.1, 2.0] and back.branches.tolist() == [[1, 0], [1, 1], [0, 1]]


def test_a_switch_at_the_ends_of_the_run_is_none_inside():
    found = times(ca.if_else(T > 2, 1, 0), 2.0, 5.0)
    assert not found.times.size and found.branches.tolist() == [[1.0]]
    found = times(ca.if_else(T > 2, 1, 0), 0.0, 2.0)
    assert not found.times.size and found.branches.tolist() == [[0.0]]


def test_periodic_switches_are_all_found():
    square = times(ca.sign(ca.sin(20 * T)), 0.0, 100.0)
    assert_allclose(square.times, np.arange(1, 637) * np.pi / 20, rtol=1e-14)
    steps = times(ca.floor(T / 0.1), 0.0, 100.0)
    assert_allclose(steps.times, np.arange(1, 1000) * 0.1, rtol=1e-15)
    assert steps.branches[:, 0].tolist() == list(range(1000))
    chirp = times(ca.sign(ca.sin(T**2)), 0.0, 60.0)
    assert_allclose(chirp.times, np.sqrt(np.pi * np.arange(1, 1146)), rtol=1e-13)
    assert all(found.guaranteed for found in (square, steps, chirp))


def test_close_pairs_are_found_and_touches_are_none():
    pair = times(ca.if_else((T - np.pi) ** 2 < 1e-16, 1, 0))
    assert_allclose(pair.times - np.pi, [-1e-8, 1e-8], rtol=1e-6)
    assert not times(ca.sign((T - 3) ** 2 * (T + 1) - 1e-9 * (T < 0))).times.size


def test_knots_of_tables_of_time():
    knots = np.linspace(0.0, 100.0, 2001)
    logged = Table("logged", tuple(knots), tuple(np.random.default_rng(0).normal(size=knots.size)))
    found = times(logged(T) * X[0], 0.0, 100.0)
    assert_allclose(found.times, knots[1:-1], rtol=1e-15)
    assert not found.jumps.any()
    delayed = times(logged(2 * T - 7), 0.0, 50.0)
    assert_allclose(delayed.times, (knots[(knots > 0) & (knots < 93)] + 7) / 2, rtol=1e-14)


def test_a_search_that_is_not_guaranteed_says_so(monkeypatch):
    monkeypatch.setattr("draisine.program.switch_times.MAX_INTERVALS", 50)
    assert not times(ca.sign(ca.sin(20 * T)), 0.0, 100.0).guaranteed


@pytest.mark.parametrize("seed", [*range(10), 11, 35])
def test_random_expressions_against_dense_sampling(seed):
    rng = np.random.default_rng(seed)
    switching = find_switching(system(expression(rng, 3, [T, ca.sin(3 * T), T - 1, U, P])))
    if switching is None:
        return
    assert all(switch.time_only for switch in switching.switches)
    assert switching.functions is None
    found = switch_times(switching, -1.0, 4.0, [0.3], [0.7])
    assert found.guaranteed
    sampled = np.linspace(-1.0, 4.0, 301)
    values = np.array([_branches(switching, t) for t in sampled])
    rows = np.searchsorted(found.times, sampled)
    clear = np.abs(found.times[:, None] - sampled[None, :]).min(axis=0, initial=1.0) > 1e-12
    assert (found.branches[rows] == values)[clear].all()
    # right before and after every time the branches are those listed
    for k, at in enumerate(found.times):
        gap = 0.4 * min(at - ([-1.0, *found.times][k]), ([*found.times, 4.0][k + 1]) - at)
        assert (_branches(switching, at - gap) == found.branches[k]).all()
        assert (_branches(switching, at + gap) == found.branches[k + 1]).all()
        assert (found.branches[k] != found.branches[k + 1]).any()


def _branches(switching, t):
    from draisine.program.branches import branches_at

    return branches_at(switching, float(t), np.zeros(2), np.array([0.3]), np.array([0.7])).values
