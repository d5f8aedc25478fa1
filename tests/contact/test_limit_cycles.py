"""Periodic motions across modes of contacts: closed forms, and return maps of an independent program (`hybrid_map`)."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from hybrid_map import compass, rimless, simplest_walker
from package_cases import after
from package_models import TIGHT, oscillator, rimless_wheel, walker
from package_walkers import MASSES, limit

import draisine as dr
from draisine.errors import ArgumentError, SolverError
from draisine.expr.expression import parse
from reference import cases


def numbers(name: str) -> dict[str, Any]:
    case = cases()[name]
    return {key: case[key] for key in case.numbers}


def apart(found: Any, expected: Any) -> float:
    """The distance of two sets of multipliers, whatever their order."""
    found, expected = np.asarray(found), np.asarray(expected)
    return max(max(np.abs(found - one).min() for one in expected), max(np.abs(expected - one).min() for one in found))


# ----------------------------------------------------------------------------------------------------------- closed forms


def test_stick_slip_on_a_belt() -> None:
    """While it sticks there is one deviation, along the motion; while it slips a second one, whose multiplier is zero."""
    model, expected = oscillator(1.0, 100.0, (0.4, 0.25), 0.2), numbers("C02f")
    sticks = dr.stability.limit_cycle(model, start={"x": 0.02, "x_rate": 0.2, "z": 0.0}, period=0.65)
    assert abs(sticks.period - expected["period"]) < 1e-10 and sticks.multipliers.size == 0 and sticks.stable
    slips = dr.stability.limit_cycle(model, start={"x": 0.045, "x_rate": 0.0, "z": 0.0}, period=0.65)
    assert abs(slips.period - expected["period"]) < 1e-10
    assert np.abs(slips.multipliers).max() < 1e-9 and slips.multipliers.size == 1
    assert [change.modes["floor"] for change in slips.trajectory.modes] == ["slip", "stick", "slip"]
    # the motion passes its extremes only to the spacing of samples
    assert slips.trajectory["x"].max() == pytest.approx(expected["x_max"], abs=1e-6)


def on_table() -> dr.Model:
    m = dr.Model("on_table")
    m.gravity(9.81)
    m.parameter("e", 0.8)
    m.parameter("amplitude", 0.05, "m")
    m.prismatic("z", "ground", m.body("ball", mass=1.0), axis="z")
    m.stop("table", "z", low="amplitude*sin(10*t)", restitution="e")
    return m


@cache
def _table() -> Any:
    return dr.derive(on_table())


@pytest.mark.parametrize("seed", range(3))
def test_ball_on_an_oscillating_table(seed: int) -> None:
    """One bounce per period at the phase φ, cos φ = (1 − e)/(1 + e) g T/2 / (A ω): the return map has the determinant e² and the
    trace 1 + e² − (1 + e)² A ω² sin φ / g."""
    rng = np.random.default_rng(seed)
    g, omega, e = 9.81, 10.0, float(rng.uniform(0.6, 0.85))
    least = (1 - e) / (1 + e) * g * np.pi / omega**2
    amplitude = float(least * rng.uniform(1.05, 1.25))
    period = 2 * np.pi / omega
    phase = np.arccos(least / amplitude)
    left, speed = period - phase / omega, g * period / 2
    start = {"z": amplitude * np.sin(phase) + speed * left - g * left**2 / 2, "z_rate": speed - g * left}
    cycle = dr.stability.limit_cycle(
        _table(),
        start={"z": start["z"] + 1e-3, "z_rate": start["z_rate"]},
        period=period,
        parameters={"e": e, "amplitude": amplitude},
    )
    np.testing.assert_allclose([cycle.values["z"], cycle.values["z_rate"]], list(start.values()), rtol=0, atol=1e-9)
    trace = 1 + e**2 - (1 + e) ** 2 * amplitude * omega**2 * np.sin(phase) / g
    assert apart(cycle.multipliers, np.roots([1, -trace, e**2])) < 1e-9
    with pytest.raises(ArgumentError, match="not the same after period"):
        dr.stability.limit_cycle(_table(), start=start, period=0.5)


def test_forced_oscillation_with_dry_friction() -> None:
    """Den Hartog 1931, without stops: x₀² = (P/k)² V² − (F/k)² U², V = 1/(1 − β²), U = sin(π/β)/(β (1 + cos(π/β)))."""
    m = dr.Model("rubs")
    m.gravity(0)
    m.prismatic("x", "ground", m.body("body", mass=1.0), axis="x")
    m.spring("x", 100.0)
    m.friction("rub", "x", 1.0)
    m.generalized_force("x", m.input("push", "N"))
    period, beta = 2 * np.pi / 8, 0.8
    equations = dr.derive(m, {"push": parse("3*cos(8*t)")})
    cycle = dr.stability.limit_cycle(equations, start={"x": 0.05, "x_rate": -0.3}, period=period, settle=10 * period)
    dynamic, lost = 1 / (1 - beta**2), np.sin(np.pi / beta) / (beta * (1 + np.cos(np.pi / beta)))
    assert cycle.stable and cycle.amplitude("x") == pytest.approx(np.sqrt((0.03 * dynamic) ** 2 - (0.01 * lost) ** 2), abs=1e-8)


def test_rimless_wheel() -> None:
    """The wheel turns by one spoke; the multiplier is the square of the ratio of its rates at an impact."""
    expected, a = numbers("C08b"), np.pi / 8
    start = {"turn": -a + 0.1, "turn_rate": 1.08, "spoke_0_gap": 0.0, "spoke_0_slip_along": 0.0}
    model = rimless_wheel(8, 0.08, 0.25, 2.0)
    cycle = dr.stability.limit_cycle(model, start=start, period=0.8, advance={"turn": 2 * a})
    assert abs(cycle.period - expected["step_period"]) < 1e-10 and cycle.ignorable == ("x",)
    np.testing.assert_allclose(cycle.multipliers, expected["floquet_multiplier"], rtol=0, atol=1e-9)
    _, multipliers, period, _ = rimless(8, 0.08, 0.25, 9.81).fixed_point([-1.1])
    np.testing.assert_allclose([cycle.period, cycle.multipliers[0].real], [period, multipliers[0].real], rtol=0, atol=1e-9)


# ----------------------------------------------------------------------------------------------------------- walkers


def after_heel_strike(angle: float, stance: float, swing: float) -> dict[str, float]:
    """A start; angles are positive where a foot is ahead of the hip."""
    start = {"left_turn": -angle, "right_turn": angle, "left_turn_rate": -stance, "right_turn_rate": -swing}
    return start | {"x": -np.sin(angle), "z": np.cos(angle), "x_rate": -np.cos(angle) * stance, "z_rate": -np.sin(angle) * stance}


@cache
def _compass(hip: float, mass: float, along: float, slope: float, g: float) -> Any:
    return dr.derive(walker(hip, mass, along, slope, g))


def stepping(equations: Any, state: Any, period: float, **options: Any) -> Any:
    """The gait near a state just after a heel strike, by the step."""
    options = {"exchange": {"left": "right"}} | options
    return dr.stability.limit_cycle(equations, start=after_heel_strike(*state), period=period, **options)


@pytest.mark.parametrize("name", ["C08h", "C08j"])
def test_compass_gait(name: str) -> None:
    expected = numbers(name)
    masses = (1000.0, 1.0, 1.0, 0.009, 1.0) if name == "C08h" else (10.0, 5.0, 0.5, np.radians(3.0), 9.8)
    state = expected["stance_angle_from_slope_normal"], expected["stance_rate"], expected["swing_rate"]
    cycle = stepping(_compass(*masses), np.array(state) * [1.0, 1.002, 1.0], expected["period"])
    assert abs(cycle.period - expected["period"]) < 1e-10
    known = [entry["re"] + 1j * entry["im"] for entry in expected["floquet"]]
    assert apart(cycle.multipliers, known) < 1e-9 and cycle.stable
    assert cycle.floquet.digits > 9
    # the gait itself, just after the heel strikes
    run = dr.simulate(_compass(*masses), cycle.period, start=cycle, method=TIGHT)
    at = after(run, run.modes.impacts[0].time)
    found = [-at["right_turn"], -at["right_turn_rate"], -at["left_turn_rate"]]
    np.testing.assert_allclose(found, state, rtol=0, atol=1e-9)


def test_random_compass_gaits() -> None:
    """Against the return map of an independent program, in other coordinates."""
    rng = np.random.default_rng(20)
    hip, mass, along, slope = rng.uniform([8, 4, 0.4, 0.045], [12, 6, 0.55, 0.055])
    point, multipliers, period, _ = compass(hip, mass, along, slope, 9.81).fixed_point((0.271, -1.09, -0.377))
    cycle = stepping(_compass(hip, mass, along, slope, 9.81), point, period)
    assert abs(cycle.period - period) < 1e-9 and apart(cycle.multipliers, multipliers) < 1e-9
    # two steps have the squares as their multipliers
    both = stepping(_compass(hip, mass, along, slope, 9.81), point, 2 * period, exchange=None)
    assert abs(both.period - 2 * period) < 1e-9 and apart(both.multipliers, multipliers**2) < 1e-8


@pytest.mark.parametrize("name", ["C08d", "C08e"])
def test_simplest_walker(name: str) -> None:
    """Garcia, Chatterjee, Ruina & Coleman 1998: feet without mass, the limit of light ones; a stable and an unstable gait."""
    expected, slope = numbers(name), 0.009
    theta, rate = expected["theta"], expected["theta_dot"]
    equations, found = _compass(1.0, 1e-3, 1.0, slope, 1.0), []
    for mass in MASSES:
        cycle = stepping(equations, (theta, rate, rate * np.cos(2 * theta)), expected["period"], parameters={"leg_mass": mass})
        assert cycle.stable is (name == "C08d")
        large = cycle.multipliers[np.abs(cycle.multipliers) > 1e-6]
        found.append([cycle.period, large.sum(), large.prod()])
    period, trace, determinant = limit(found)
    guess = (0.2, -0.2) if name == "C08d" else (0.194, -0.204)
    _, multipliers, own, _ = simplest_walker(slope).fixed_point(guess)
    assert abs(period - expected["period"]) < 1e-9 and abs(period - own) < 1e-9
    np.testing.assert_allclose([trace, determinant], [multipliers.sum(), multipliers.prod()], rtol=0, atol=2e-9)


# ----------------------------------------------------------------------------------------------------------- refusals


def test_exchanges_that_are_none() -> None:
    equations = _compass(10.0, 5.0, 0.5, float(np.radians(3.0)), 9.8)
    state = (0.271, -1.09, -0.377)
    with pytest.raises(ArgumentError, match="no two coordinates of walker are exchanged"):
        stepping(equations, state, 0.7347, exchange={"front": "rear"})
    m = walker(10.0, 5.0, 0.5, float(np.radians(3.0)), 9.8)
    m.spring("left_turn", 1.0)
    with pytest.raises(ArgumentError, match="is not the same with its parts exchanged"):
        stepping(m, state, 0.7347)


def test_modes_that_differ_at_the_end() -> None:
    with pytest.raises(SolverError, match="contacts that are closed or stick differ at the begin and the end"):
        dr.stability.limit_cycle(oscillator(1.0, 100.0, (0.4, 0.25), 0.2), start={"x": 0.02, "x_rate": 0.2, "z": 0.0}, period=0.3)
