"""Switching functions that jump themselves: set points that step, belts that reverse, conditions on sawteeth and magnitudes.

Closed forms, and runs made piece by piece with the law of one side written out.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
import sympy as sp
from numpy.testing import assert_allclose

import draisine as dr
from draisine.results.status import Ending

X, V, S = sp.symbols("x v s")
METHODS = {"default": None, "Radau": dr.methods.Radau(rtol=1e-10, atol=1e-12), "RK4": dr.methods.RK4(step=0.01)}


def block() -> dr.Model:
    """One kilogram on a line, with a force."""
    m = dr.Model("block")
    m.gravity(0)
    m.body("b", 1.0, inertia=(1, 1, 1))
    m.prismatic("x", "ground", "b")
    m.generalized_force("x", m.input("f", "N"))
    return m


def run_of(model: dr.Model | dr.Equations, until: float, method: str = "default", **given: object) -> dr.Trajectory:
    chosen = {} if METHODS[method] is None else {"method": METHODS[method]}
    found = dr.simulate(model, until, **given, **chosen)
    assert found.status.kind is Ending.FINISHED, found.status
    return found


def on_belts(speeds: list[float], times: list[float], friction: float, until: float) -> float:
    """Where a block from rest at x = 0 is that dry friction drags along by a belt, whose speed changes at given times."""
    x = v = t = 0.0
    for speed, end in zip(speeds, [*times, until], strict=True):
        drag = min(abs(speed - v) / friction, end - t)  # how long it slides on the belt
        a = math.copysign(friction, speed - v)
        x += v * drag + a * drag**2 / 2
        v += a * drag
        x += v * (end - t - drag)
        t = end
    return x


def law_of_time(values: list[float], times: list[float]) -> str:
    law = repr(values[-1])
    for value, time in zip(values[-2::-1], times[::-1], strict=True):
        law = f"where(t < {time!r}, {value!r}, {law})"
    return law


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("seed", range(4))
def test_belts_that_change_their_speed(seed, method):
    rng = np.random.default_rng(seed)
    speeds = [float(value) for value in rng.uniform(-1.5, 1.5, 4)]
    times = sorted(float(value) for value in rng.uniform(0.5, 5.5, 3))
    friction = float(rng.uniform(0.8, 4.0))
    law = f"-{friction!r}*sign(x_rate - {law_of_time(speeds, times)})"
    run = run_of(block(), 6.0, method, inputs={"f": law})
    assert_allclose(run["x"][-1], on_belts(speeds, times, friction, 6.0), atol=1e-9)


@pytest.mark.parametrize("steps", [(0.5, 1.2), (1.2, 0.5), (0.5, 0.5 + 1e-6), (0.3, 0.9, 0.4)])
def test_a_thermostat_whose_set_point_steps(steps):
    """x' = 1 − x ± 1 with the sign of s − x slides on x = s; after a step it goes there along an exponential."""
    equations = dr.first_order("thermostat", {X: -X + 1 + sp.sign(S - X)}, inputs=[S])
    times = [2.0 + 2.0 * i for i in range(len(steps) - 1)]
    until = times[-1] + 1e-3
    run = run_of(equations, until, inputs={"s": law_of_time(list(steps), times)})
    before, after = steps[-2:]
    limit = 2.0 if after > before else 0.0
    exact = limit + (before - limit) * math.exp(-1e-3)
    if (exact - after) * (before - after) < 0.0:
        exact = after  # it has arrived
    assert_allclose(run["x"][-1], exact, atol=1e-9)


def test_a_belt_that_ends():
    """Dragged at 1 m/s up to x = 1, then dry friction on the floor: v = 0 after another 1/4 m."""
    for method in ("default", "Radau"):
        run = run_of(block(), 4.0, method, inputs={"f": "-2*sign(x_rate - where(x < 1, 1, 0))"})
        assert_allclose(run["x"][-1], 1.25, atol=1e-9)


def test_a_belt_whose_speed_is_a_linear_table():
    """While the block sticks, its acceleration is the slope of the table; where that is too large it slides."""
    m = block()
    m.table("speed", [0, 1, 1.1, 1.11, 2, 4], [0, 0.5, 0.5, -0.5, -0.5, 0.5], kind="linear")
    run = run_of(m, 3.0, inputs={"f": "-2*sign(x_rate - speed(t))"})
    # slides from 1.1 s on: 0.5 → −0.5 m/s at 2 m/s² takes 0.5 s; sticks until 3 s, where the belt rests
    x = 0.25 + 0.05 + 0.0 - 0.5 * 0.4 - 0.25
    assert_allclose(run["x"][-1], x, atol=1e-8)
    assert_allclose(run["x_rate"][-1], 0.0, atol=1e-9)


def test_sampled_belts_act_at_once():
    m = dr.Model("belt")
    m.gravity(0)
    m.body("b", 1.0, inertia=(1, 1, 1))
    m.prismatic("x", "ground", "b")
    m.input("belt", "m/s")
    m.generalized_force("x", "-2*sign(x_rate - belt)")
    law = dr.control.Sampled(lambda t, state: {"belt": 1.0 if t < 1.999 else -1.0}, rate=10)
    run = dr.simulate(m, 5.0, control=law)
    assert_allclose(run["x"][-1], -0.25, atol=1e-9)
    assert_allclose(run.at(2.05)["x_rate"], 0.9, atol=1e-9)


def test_the_derivative_by_the_time_of_a_reversal():
    m = block()
    m.parameter("t0", 2.0, "s")
    run = run_of(m, 5.0, inputs={"f": "-2*sign(x_rate - where(t < t0, 1, -1))"}, sensitivity=["t0"])
    assert_allclose(run["x"][-1], -0.25, atol=1e-9)
    assert_allclose(run.sensitivity["x", "t0"][-1], 2.0, atol=1e-9)


@pytest.mark.parametrize("share", [0.1, 0.3, 0.55])
@pytest.mark.parametrize("form", ["x - floor(x) < {}", "sawtooth"])
def test_pushes_in_a_part_of_every_meter(share, form):
    """The energy grows by the push times its part of every meter."""
    if form == "sawtooth":
        equations = dr.first_order("teeth", {X: V, V: sp.Piecewise((1, sp.Mod(X, 1) < share), (0, True))})
        run, x, v = run_of(equations, 6.0, start={"x": 0.0, "v": 1.0}), "x", "v"
    else:
        run, x, v = run_of(block(), 6.0, start={"x_rate": 1.0}, inputs={"f": f"where({form.format(share)}, 1, 0)"}), "x", "x_rate"
    whole = np.floor(run[x])
    work = share * whole + np.minimum(run[x] - whole, share)
    assert run[x][-1] > 8
    assert_allclose(run[v] ** 2, 1.0 + 2.0 * work, rtol=1e-8)


@pytest.mark.parametrize("width", [0.3, 0.005, 1e-5])
@pytest.mark.parametrize(
    "law", ["abs(x - 3.123) < {0}", "max(x - 3.123, 3.123 - x) < {0}", "min({0} - x + 3.123, x - 3.123 + {0}) > 0"]
)
def test_windows_written_with_magnitudes(law, width):
    push = 0.1 / width
    run = run_of(block(), 6.0, start={"x_rate": 1.0}, inputs={"f": f"where({law.format(width)}, {push!r}, 0)"})
    assert_allclose(run["x_rate"][-1], math.sqrt(1.0 + 2.0 * push * 2.0 * width), rtol=1e-9)


@pytest.mark.parametrize(
    "law",
    ["-2*sign(x_rate - where(t < t0, 1, -1))", "-2*sign(x_rate - sin(t)*t0) - 0.3*sign(x)", "-sign(x_rate - cos(t0*t)) - x"],
)
def test_ensembles_do_the_same_to_the_last_bit(law):
    m = block()
    m.parameter("t0", 2.0, "s")
    cases = list(np.random.default_rng(3).uniform(0.5, 4.0, 6))
    many = dr.ensemble(m, 5.0, over={"t0": cases}, inputs={"f": law}, outputs=["x", "x_rate"])
    single = [dr.simulate(m, 5.0, parameters={"t0": t0}, inputs={"f": law}) for t0 in cases]
    for name in ("x", "x_rate"):
        assert list(many[f"{name}.end"]) == [run[name][-1] for run in single]
