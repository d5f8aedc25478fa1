"""Infinitely many switches in a finite time: closed forms of the limit, and how the motion continues there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy as sp

import draisine as dr
from draisine.results.status import Ending

x, v, y, t = sp.symbols("x v y t")
TIGHT: dict[str, Any] = {"method": dr.methods.DOP853(rtol=1e-11, atol=1e-13, max_steps=20_000)}


def limit_of(run: dr.Trajectory) -> float:
    """The time of the last switch."""
    return float(run.switches[-1].time)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("written", ["sign", "where"])
def test_twisting_arrives_in_the_time_of_its_geometric_series(seed: int, written: str) -> None:
    """ẍ = −a sign(x) − b sign(ẋ), a > b > 0, from (x₀, 0): amplitudes fall by q = (a − b)/(a + b) every half turn, times by
    √q. From rest at A it goes to zero with a − b, and out with a + b."""
    rng = np.random.default_rng(seed)
    b = rng.uniform(0.3, 2.0)
    a, x0 = b * rng.uniform(1.3, 4.0), rng.uniform(0.2, 3.0)

    def sign(z: sp.Expr) -> sp.Expr:
        return sp.sign(z) if written == "sign" else sp.Piecewise((1, z > 0), (-1, True))

    run = dr.simulate(dr.first_order("twisting", {x: v, v: -a * sign(x) - b * sign(v)}), 50.0, start={"x": x0}, **TIGHT)
    q = (a - b) / (a + b)
    half = np.sqrt(2 * x0 / (a - b)) + np.sqrt(2 * x0 * (a - b)) / (a + b)
    assert run.status.kind == Ending.FINISHED and not run.warnings
    assert limit_of(run) == pytest.approx(half / (1 - np.sqrt(q)), rel=1e-9)
    late = run.time > limit_of(run)
    assert late.any() and abs(run["x"][late]).max() < 1e-11 and abs(run["v"][late]).max() < 1e-11
    assert run.statistics.accepted < 5000


@pytest.mark.parametrize("x0", [0.3, 1.0, 2.0, 5.0])
def test_time_optimal_relay_arrives_in_minimum_time_and_stays(x0: float) -> None:
    """ẍ = −sign(x + |ẋ| ẋ/2) from (x₀, 0): 2 √x₀."""
    relay = dr.first_order("optimal", {x: v, v: -sp.sign(x + sp.Abs(v) * v / 2)}, outputs={"u": -sp.sign(x + sp.Abs(v) * v / 2)})
    run = dr.simulate(relay, 4 * np.sqrt(x0), start={"x": x0}, **TIGHT)
    late = run.time > limit_of(run)
    assert run.status.kind == Ending.FINISHED and not run.warnings
    assert limit_of(run) == pytest.approx(2 * np.sqrt(x0), rel=1e-8)
    assert late.sum() > 5 and abs(run["x"][late]).max() < 1e-12 and abs(run["u"][late]).max() < 1e-6


def test_fullers_problem() -> None:
    """The switching curve x = −C ẋ|ẋ| with Fuller's constant C = 0.4446…: successive intervals between switches have the ratio of
    the optimal chattering, 1/4.13016…."""
    c = np.sqrt((np.sqrt(33) - 1) / 24)
    run = dr.simulate(dr.first_order("fuller", {x: v, v: -sp.sign(x + c * sp.Abs(v) * v)}), 6.0, start={"x": 1.0}, **TIGHT)
    times = np.array([s.time for s in run.switches if "sliding" not in s.name])
    ratios = np.diff(times)[1:8] / np.diff(times)[:7]
    np.testing.assert_allclose(ratios, 1 / 4.13016, rtol=1e-5)
    assert run.status.kind == Ending.FINISHED
    assert limit_of(run) == pytest.approx(times[0] + (times[1] - times[0]) / (1 - ratios[0]), rel=1e-8)


@pytest.mark.parametrize("force", [0.5, 1.5, 3.5])
def test_a_load_is_held_behind_the_limit_until_it_exceeds_both_laws(force: float) -> None:
    """Twisting with a load that begins after the limit: held up to a + b = 4, all of it with both laws in equal parts, which is a
    choice that the run names: the motion determines their resultant alone."""
    a, b = 3, 1
    ramp = sp.Piecewise((0, t < 6), (force * sp.Min(t - 6, 1), True))
    system = dr.first_order(
        "loaded", {x: v, v: ramp - a * sp.sign(x) - b * sp.sign(v)}, outputs={"held": -a * sp.sign(x) - b * sp.sign(v)}
    )
    run = dr.simulate(system, 9.0, start={"x": 1.0}, **TIGHT)
    late = run.time > 7.0
    assert run.status.kind == Ending.FINISHED
    (warning,) = run.warnings
    assert "held by sign(x) and sign(v) together" in warning and "equal fraction" in warning
    np.testing.assert_allclose(run["held"][late], -force, atol=1e-9)
    assert abs(run["x"][late]).max() < 1e-11


def test_a_load_beyond_both_laws_moves_on() -> None:
    """ẍ = F − a − b from the time at which the load F = t − 6 exceeds 4: x = (t − 10)³/6."""
    load = sp.Max(t - 6, 0)
    system = dr.first_order("overloaded", {x: v, v: load - 3 * sp.sign(x) - sp.sign(v)})
    run = dr.simulate(system, 12.0, start={"x": 1.0}, **TIGHT)
    assert run.status.kind == Ending.FINISHED
    assert run["x"][-1] == pytest.approx(2.0**3 / 6, rel=1e-6)


def test_other_states_move_on() -> None:
    """The same beside a state that does not rest: the motion on both surfaces is unique."""
    system = dr.first_order("beside", {x: v, v: -3 * sp.sign(x) - sp.sign(v), y: 1 + x})
    run = dr.simulate(system, 8.0, start={"x": 1.0}, **TIGHT)
    assert run.status.kind == Ending.FINISHED
    before = run.time <= limit_of(run)
    y_limit = np.interp(limit_of(run), run.time[before], run["y"][before])
    assert run["y"][-1] - y_limit == pytest.approx(8.0 - limit_of(run), abs=1e-2)
    assert abs(run["x"][-1]) < 1e-11


def test_the_run_ends_at_the_limit_where_the_motion_is_not_known() -> None:
    """The time-optimal relay beside a state that moves: where it goes on is not determined by the rates of its surface."""
    system = dr.first_order("relay", {x: v, v: -sp.sign(x + sp.Rational(2, 5) * sp.Abs(v) * v), y: 1 + x**2})
    run = dr.simulate(system, 10.0, start={"x": 1.0}, **TIGHT)
    assert run.status.kind == Ending.SWITCHES_ACCUMULATE
    assert "infinitely often before t = " in run.status.message and "sign(x + " in run.status.message
    assert run.time[-1] == pytest.approx(limit_of(run), rel=1e-12)
    assert abs(run["x"][-1]) < 1e-12 and run.statistics.accepted < 2000
    with_derivatives = dr.simulate(system, 10.0, start={"x": 1.0}, sensitivity=["start.x"], **TIGHT)
    assert with_derivatives.status.kind == Ending.SWITCHES_ACCUMULATE


def test_one_surface_written_twice() -> None:
    """Two laws on one surface, sign(x) and sign(2 x + t − t): the motion slides, and only their sum is determined."""
    system = dr.first_order("twice", {x: sp.cos(t) - sp.sign(x) - sp.sign(x + sp.sin(t) ** 2 + sp.cos(t) ** 2 - 1)}, outputs={})
    run = dr.simulate(system, 3.0, start={"x": 0.5}, **TIGHT)
    assert run.status.kind == Ending.FINISHED
    assert abs(run["x"][-1]) < 1e-9


def test_many_switches_that_do_not_accumulate() -> None:
    """A relay with a delay element that switches 2,000 times in a second is followed to the end."""
    fast = dr.first_order("fast", {x: sp.sign(sp.sin(2000 * sp.pi * t)), y: -y})
    run = dr.simulate(fast, 1.0, start={"y": 1.0})
    assert run.status.kind == Ending.FINISHED and len(run.switches) >= 1990
    assert abs(run["x"][-1]) < 1e-6
