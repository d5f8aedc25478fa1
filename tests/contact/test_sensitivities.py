"""Sensitivities across modes of contacts: closed forms, and differences of runs, which know nothing of saltation."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from package_models import TIGHT, block, cradle, plane
from random_scenes import random_scene

import draisine as dr
from draisine.numerics.dual_numbers import Dual, DualMath

G = 9.81
STEP = 1e-5


def bouncing() -> dr.Model:
    m = dr.Model("bouncing")
    m.gravity("g")
    m.parameter("g", G, "m/s^2")
    m.parameter("e", 0.8)
    body = m.body("body", mass=1.0)
    m.prismatic("z", "ground", body, axis="z")
    m.contact("floor", body, restitution="e")
    return m


def sliding(jump: bool = False) -> dr.Model:
    m, carriage = plane("sliding")
    m.parameter("mu", 0.3)
    if jump:
        m.parameter("tau", 0.4)
    body = m.body("body", mass=2.0)
    m.fixed("held", carriage, body)
    m.contact("floor", body, friction=("1.3*mu", "mu"))
    m.generalized_force("x", m.input("pull", "N"))
    return m


def on_belt() -> dr.Model:
    m, carriage = plane("on_belt")
    for name, value in (("k", 100.0), ("static", 0.4), ("kinetic", 0.25), ("mass", 1.0)):
        m.parameter(name, value)
    body = m.body("body", mass="mass")
    m.fixed("held", carriage, body)
    m.contact("floor", body, friction=("static", "kinetic"))
    m.spring("x", "k")
    m.ground(velocity=(0.2, 0))
    return m


def falling_rod(law: str) -> dr.Model:
    m, carriage = plane("falling_rod")
    for name, value in (("mu", 0.3), ("e", 0.5), ("length", 1.0)):
        m.parameter(name, value)
    moment = "length^2/12"
    body = m.body("rod", mass=1.0, center_of_mass=(0, 0, "length/2"), inertia=(moment, moment, 1e-9))
    m.revolute("theta", carriage, body, axis="y")
    for name, at in (("foot", 0), ("tip", "length")):
        m.contact(name, m.point(f"{name}_end", body, (0, 0, at)), friction="mu", restitution="e", impact=law)
    return m


def chain() -> dr.Model:
    """Stops and dry friction of joints; rows that depend on each other."""
    m = dr.Model("chain")
    m.gravity(G)
    m.parameter("F", 0.4)
    m.parameter("e", 0.5)
    upper = m.body("upper", mass=1.0, center_of_mass=(0, 0, -0.5), inertia=(0.1, 0.1, 0.1))
    lower = m.body("lower", mass=0.5, center_of_mass=(0, 0, -0.4), inertia=(0.05, 0.05, 0.05))
    m.revolute("p", "ground", upper, axis="y", limits=("-40 deg", "50 deg"), restitution="e", friction="F")
    m.revolute("q", upper, lower, axis="y", at=(0, 0, -1.0), friction=("0.9*F", "0.5*F"))
    return m


def rolls_on() -> dr.Model:
    m, carriage = plane("rolls_on")
    m.parameter("e", 0.5)
    m.parameter("mu", 0.1)
    body = m.body("ball", mass=1.0, inertia=(0.004,) * 3)
    m.revolute("turn", carriage, body, axis="y")
    m.contact("floor", body, radius=0.1, friction="mu", restitution="e")
    return m


def cue_ball() -> dr.Model:
    m = dr.Model("cue_ball")
    m.gravity(G)
    m.parameter("mu", 0.2)
    body = m.body("ball", mass=0.17, inertia=(0.4 * 0.17 * 0.03**2,) * 3)
    m.free(body)
    m.contact("table", body, radius=0.03, friction="mu")
    return m


CASES: dict[str, tuple[Any, float, dict[str, float], list[str], dict[str, Any]]] = {
    "sliding": (sliding, 2.0, {"x_rate": 1.0, "z": 0.0}, ["mu", "start.x_rate"], {"inputs": {"pull": "9*sin(3*t)"}}),
    "a force that jumps": (
        lambda: sliding(jump=True),
        1.5,
        {"x": 0.0, "x_rate": 0.0, "z": 0.0},
        ["mu", "tau"],
        {"inputs": {"pull": "where(t > tau, 9, 0) - where(t > 2.1*tau, 18, 0)"}},
    ),
    "on_belt": (on_belt, 1.5, {"x": 0.02, "x_rate": 0.2, "z": 0.0}, ["k", "static", "kinetic", "mass", "start.x"], {}),
    **{
        f"rod, {law}": (
            lambda law=law: falling_rod(law),
            0.7,
            {"z": 0.3, "x": 0.0, "theta": 0.5, "x_rate": 0.5, "z_rate": -0.5, "theta_rate": 0.3},
            ["mu", "e", "length", "start.theta"],
            {},
        )
        for law in ("energetic", "poisson", "newton")
    },
    "block": (lambda: block(0.4, 1.0, 0.8), 0.9, {"right_gap": 0.0, "tilt": 0.1, "x": 0.0, "tilt_rate": 0.0}, ["start.tilt"], {}),
    "chain": (chain, 1.2, {"p": 0.6, "q": 0.3, "p_rate": 2.0, "q_rate": 0.0}, ["F", "e", "start.p", "start.q"], {}),
    "infinitely many bounces": (
        rolls_on,
        1.9,
        {"z": 0.4, "x_rate": 3.0, "z_rate": 0.0, "turn_rate": 0.0},
        ["e", "mu", "start.z", "start.x_rate"],
        {},
    ),
    "cradle": (
        lambda: cradle([1.0, 1.2, 0.9], 0.7),
        1.0,
        {"x_0": 0.0, "x_1": 0.3, "x_2": 0.7, "x_0_rate": 1.0, "x_1_rate": 0.0, "x_2_rate": -0.2},
        ["start.x_0", "start.x_2_rate"],
        {},
    ),
}


def differences(model: dr.Model, until: float, start: dict[str, float], name: str, step: float, options: dict[str, Any]) -> Any:
    """The derivative of the final state by differences of four runs, and the modes of these runs."""
    states, modes, p = [q.name for q in dr.derive(model).states], [], {q.name: q.default for q in dr.derive(model).parameters}
    values = []
    for k in (-2, -1, 1, 2):
        given, parameters = dict(start), {}
        if name.startswith("start."):
            given[name[6:]] += k * step
        else:
            parameters = {name: p[name] + k * step * max(1.0, p[name])}
        run = dr.simulate(model, until, start=given, parameters=parameters, samples=3, **options)
        modes.append([tuple(change.modes.values()) for change in run.modes])
        values.append(np.array([run[state][-1] for state in states]))
    size = 1.0 if name.startswith("start.") else max(1.0, p[name])
    return states, (values[0] - 8 * values[1] + 8 * values[2] - values[3]) / (12 * step * size), modes


@pytest.mark.parametrize("case", CASES)
def test_differences_of_runs(case: str) -> None:
    make, until, start, names, options = CASES[case]
    model, options = make(), {"method": TIGHT, **options}
    run = dr.simulate(model, until, start=start, sensitivity=names, samples=3, **options)
    assert run.status.kind == "FINISHED" and not any("sensitiv" in str(w) for w in run.status.warnings), run.status
    assert len(run.modes) > 2
    for name in names:
        states, expected, modes = differences(model, until, start, name, STEP, options)
        assert all(one == [tuple(change.modes.values()) for change in run.modes] for one in modes)
        found = np.array([run.sensitivity[state, name][-1] for state in states])
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-7 * max(1.0, np.abs(expected).max()), err_msg=name)


def test_slip_in_the_plane_that_stops() -> None:
    """As it slows down, the derivative of its direction has a pole where it stops."""
    start = {"ball_z": 0.03, "ball_vx": 1.0, "ball_vy": 0.2, "ball_wx": 20.0, "ball_wy": -10.0, "ball_wz": 0.0}
    method = dr.methods.DOP853(rtol=1e-9, atol=1e-11)
    names = ["mu", "start.ball_vx", "start.ball_wx"]
    run = dr.simulate(cue_ball(), 1.0, start=start, sensitivity=names, samples=3, method=method)
    assert [change.modes["table"] for change in run.modes] == ["slip", "stick"]
    for name in names:
        states, expected, _ = differences(cue_ball(), 1.0, start, name, 1e-4, {"method": TIGHT})
        found = np.array([run.sensitivity[state, name][-1] for state in states])
        np.testing.assert_allclose(found, expected, rtol=0, atol=3e-6 * np.abs(expected).max(), err_msg=name)


def test_slip_in_the_plane_that_begins() -> None:
    """Its direction follows the force at once: the equations are stiff where it begins."""
    m = dr.Model("puck")
    m.gravity(G)
    m.parameter("mu", 0.3)
    first, second, puck = m.body("first", mass=0.0), m.body("second", mass=0.0), m.body("puck", mass=1.0)
    for axis, parent, child in (("x", "ground", first), ("y", first, second), ("z", second, puck)):
        m.prismatic(axis, parent, child, axis=axis)
    m.contact("floor", puck, friction="mu")
    for axis in "xy":
        m.generalized_force(axis, m.input(f"pull_{axis}", "N"))
    start = {"x": 0.0, "y": 0.0, "z": 0.0, "x_rate": 0.0, "y_rate": 0.0}
    laws = {"inputs": {"pull_x": "4*sin(3*t)", "pull_y": "3*t"}}
    run = dr.simulate(m, 1.5, start=start, sensitivity=["mu"], samples=3, **laws)
    assert [change.modes["floor"] for change in run.modes] == ["stick", "slip"]
    states, expected, _ = differences(m, 1.5, start, "mu", 1e-4, {"method": dr.methods.DOP853(rtol=1e-10, atol=1e-12), **laws})
    found = np.array([run.sensitivity[state, "mu"][-1] for state in states])
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6 * np.abs(expected).max())
    with pytest.raises(dr.errors.ArgumentError, match="explicit methods compute derivatives, and Radau is implicit"):
        dr.simulate(m, 1.5, start=start, sensitivity=["mu"], method=dr.methods.Radau(), **laws)


@pytest.mark.parametrize("until", [0.3, 1.0, 1.6])
def test_bouncing_ball_in_closed_form(until: float) -> None:
    """zₙ(t) = vₙ (t − tₙ) − g (t − tₙ)²/2 after n impacts, vₙ = eⁿ √(2 g h); derivatives by complex steps."""

    def height(g: complex, e: complex, h: complex) -> complex:
        t, v = np.sqrt(2 * h / g), np.sqrt(2 * g * h)
        if until < t.real:
            return h - g * until**2 / 2
        while True:
            v = e * v
            if until < (t + 2 * v / g).real:
                return v * (until - t) - g * (until - t) ** 2 / 2
            t = t + 2 * v / g

    given = {"g": G, "e": 0.8, "h": 1.0}
    run = dr.simulate(bouncing(), until, start={"z": 1.0, "z_rate": 0.0}, sensitivity=["g", "e", "start.z"], method=TIGHT)
    for name, by in (("g", "g"), ("e", "e"), ("start.z", "h")):
        expected = height(**{**given, by: given[by] + 1e-30j}).imag / 1e-30
        np.testing.assert_allclose(run.sensitivity["z", name][-1], expected, rtol=0, atol=1e-9)


@cache
def _scene(seed: int) -> Any:
    return random_scene(seed)


@pytest.mark.parametrize("seed", (0, 3, 1, 2, 5, 6, 8, 9, 10, 11))
def test_random_scenes(seed: int) -> None:
    model, start = _scene(seed)
    method = dr.methods.DOP853(rtol=1e-10, atol=1e-12)
    name = f"start.{next(iter(start))}"
    run = dr.simulate(model, 0.5, start=start, sensitivity=[name], samples=3, method=method)
    if run.status.kind != "FINISHED":
        pytest.skip(f"slip in the plane that stops: {run.status.kind}")
    found = None
    for step in (1e-4, 1e-5, 1e-6):
        states, expected, modes = differences(model, 0.5, start, name, step, {"method": method})
        if all(one == [tuple(change.modes.values()) for change in run.modes] for one in modes):
            found = np.array([run.sensitivity[state, name][-1] for state in states])
            error = np.abs(found - expected).max() / max(1.0, np.abs(expected).max())
            if error < 1e-5:
                return
    assert found is None, f"{error:.1e}"


def test_starts_with_other_modes_beside_them_are_noted() -> None:
    """A body at rest on the ground: a start above it falls, one with a velocity slips."""
    resting = {"x": 0.0, "z": 0.0, "x_rate": 0.0, "z_rate": 0.0}
    run = dr.simulate(sliding(), 0.1, start=resting, sensitivity=["start.x_rate", "start.z"])
    noted = [str(w) for w in run.status.warnings if "begin in other modes" in str(w)]
    assert ["'x_rate'" in noted[0], "'z'" in noted[1]] == [True, True]


def test_dual_numbers() -> None:
    """Against complex steps."""

    def function(x: Any, y: Any, sqrt: Any, sin: Any, cos: Any) -> Any:
        return (2.0 - x / y + y * x - 1.0) * sqrt(x * x + y) / (1.0 / y - sin(x)) + abs(-3.0 * cos(y)) - (-x)

    x, y = Dual(0.7, np.array([1.0, 0.0])), Dual(-1.3 + 2.0, np.array([0.0, 1.0]))
    found = function(x, y, DualMath.sqrt, DualMath.sin, DualMath.cos)
    for k, (a, b) in enumerate([(0.7 + 1e-30j, 0.7), (0.7, 0.7 + 1e-30j)]):
        exact = (2.0 - a / b + b * a - 1.0) * np.sqrt(a * a + b) / (1.0 / b - np.sin(a)) + 3.0 * np.cos(b) + a
        np.testing.assert_allclose([found.value, found.derivative[k]], [exact.real, exact.imag / 1e-30], rtol=1e-14)
    assert x < y + 1.0 and max(x, 0.2) is x and not DualMath.isnan(x) and DualMath.isfinite(y)
