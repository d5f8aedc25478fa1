"""Sensitivities across switches, against closed forms and against central differences of runs to tight tolerances."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy as sp
from numpy.testing import assert_allclose
from sympy.physics.mechanics import dynamicsymbols

import draisine as dr
from draisine.errors import ArgumentError
from draisine.expr.expression import Name, Number
from draisine.model.items import Coordinate, Rotate, Translate
from draisine.program.equations import Equations
from draisine.program.variational import Direction
from draisine.results.status import Ending
from draisine.simulation.run import integrate
from draisine.simulation.sensitivity import VariedRun, integrate_varied

x, y, v, w = sp.symbols("x y v w")
a, b, c, r = sp.symbols("a b c r")
t = dynamicsymbols._t
TIGHT = dr.methods.DOP853(rtol=1e-12, atol=1e-13)
METHODS = {
    "DOP853": (TIGHT, 1e-9),
    "Radau": (dr.methods.Radau(rtol=1e-11, atol=1e-12), 1e-8),
    "RK4": (dr.methods.RK4(step=0.005), 1e-8),
    "CVODE": (dr.methods.CVODE(rtol=1e-10, atol=1e-12), 1e-6),
}
every_method = pytest.mark.parametrize("name", METHODS)


def _method(name: str) -> tuple[object, float]:
    if name == "CVODE":
        pytest.importorskip("sksundae")
    return METHODS[name]


def varied(equations: Equations, start: list[float], until: float, method: object = TIGHT, samples: object = None) -> VariedRun:
    """A run with derivatives by all start values, then by all parameters."""
    states = [Direction(f"start of {q.name}", "x") for q in equations.states]
    given = [Direction(q.name, "p", i) for i, q in enumerate(equations.parameters)]
    first = np.hstack([np.eye(len(states)), np.zeros((len(states), len(given)))])
    return integrate_varied(equations, start, first, until, [*states, *given], method=method, samples=samples)


def differences(equations: Equations, start: list[float], until: float, step: float = 1e-5) -> np.ndarray:
    """Fourth-order central differences of the final state by all start values, then by all parameters."""
    p = equations.default_parameters
    base = np.concatenate([start, p])

    def end(values: np.ndarray) -> np.ndarray:
        run = integrate(equations, values[: len(start)], until, parameters=values[len(start) :], method=TIGHT, samples=[until])
        assert run.status.kind == Ending.FINISHED
        return run.final_state

    columns = []
    for row in np.eye(len(base)) * step:
        f = {k: end(base + k * row) for k in (-2, -1, 1, 2)}
        columns.append((8 * (f[1] - f[-1]) - (f[2] - f[-2])) / (12 * step))
    return np.column_stack(columns)


# ---------------------------------------------------------------------------------------------------------- closed forms


def test_beginning_of_a_pulse() -> None:
    bicycle = dr.gallery.model("bicycle")
    bicycle.parameter("t_on", 2.0, "s")

    def run(**how: object) -> dr.Trajectory:
        law = {"steer_torque": "where(t > t_on, where(t < 2.1, 1, 0), 0)"}
        return dr.simulate(bicycle, 5, start={"speed": 5}, inputs=law, method=TIGHT, samples=[0.0, 1.0, 3.0, 5.0], **how)

    found = run(sensitivity=["t_on"])
    lean = {k: run(parameters={"t_on": 2.0 + k * 1e-3})["lean"] for k in (-2, -1, 1, 2)}
    expected = (8 * (lean[1] - lean[-1]) - (lean[2] - lean[-2])) / 12e-3
    assert_allclose(found.sensitivity["lean", "t_on"], expected, atol=1e-9)
    assert found.sensitivity["lean", "t_on"][-1] == pytest.approx(-0.1191, abs=5e-5)
    assert found.status.kind == Ending.FINISHED and not found.status.warnings


@every_method
def test_bang_bang(name: str) -> None:
    """ẍ = −a sign(x − c) from x₀, v₀: parabolas, whose crossing depends on everything."""
    method, error = _method(name)
    equations = dr.first_order("bang_bang", {x: v, v: -a * sp.sign(x - c)}, parameters={a: 1.0, c: 0.1})
    s, x0, v0 = sp.symbols("s x0 v0")
    crossing = (v0 + sp.sqrt(v0**2 + 2 * a * (x0 - c))) / a
    speed = v0 - a * crossing
    final = sp.Matrix([c + speed * (s - crossing) + a * (s - crossing) ** 2 / 2, speed + a * (s - crossing)])
    numbers = {x0: 1.0, v0: 0.2, a: 1.0, c: 0.1, s: 2.5}
    expected = np.array(final.jacobian([x0, v0, a, c]).subs(numbers), dtype=float)
    run = varied(equations, [1.0, 0.2], 2.5, method)
    assert len(run.run.switches) == 1
    assert_allclose(run.final[1], expected, atol=10 * error)


@every_method
def test_sliding_relay(name: str) -> None:
    """ẋ = r − sign(x − c), ẏ = x + sign(x − c): it slides from (x₀ − c)/(1 − r) on, where the sign is r on average."""
    method, error = _method(name)
    equations = dr.first_order("relay", {x: r - sp.sign(x - c), y: x + sp.sign(x - c)}, parameters={r: 0.3, c: 0.2})
    s, x0, y0 = sp.symbols("s x0 y0")
    begins = (x0 - c) / (1 - r)
    final = sp.Matrix([c, y0 + (x0 + 1) * begins - (1 - r) * begins**2 / 2 + (s - begins) * (c + r)])
    expected = np.array(final.jacobian([x0, y0, r, c]).subs({x0: 1.0, y0: 0.0, r: 0.3, c: 0.2, s: 3.0}), dtype=float)
    run = varied(equations, [1.0, 0.0], 3.0, method)
    assert [switch.sliding for switch in run.run.switches] == ["begins"]
    assert_allclose(run.final[1], expected, atol=10 * error)


@every_method
def test_dry_friction(name: str) -> None:
    """ẍ = −x − μ sign(ẋ) from rest at x₀: every half swing takes 2 μ off the amplitude, until it sticks after four."""
    method, error = _method(name)
    equations = dr.first_order("dry_friction", {x: v, v: -x - a * sp.sign(v)}, parameters={a: 0.13})
    run = varied(equations, [1.0, 0.0], 20.0, method, samples=[2.0, 4.0, 8.0, 20.0])
    for moment, (position, speed) in zip([2.0, 4.0, 8.0], [run.derivatives()[0][i][:, 2] for i in range(3)], strict=True):
        n = int(moment // np.pi)  # x = (−1)ⁿ (1 − (2 n + 1) μ) cos(t − n π) + (−1)ⁿ μ
        assert position == pytest.approx((-1) ** n * (1 - (2 * n + 1) * np.cos(moment - n * np.pi)), abs=10 * error)
        assert speed == pytest.approx((-1) ** n * (2 * n + 1) * np.sin(moment - n * np.pi), abs=10 * error)
    assert_allclose(run.final[1][:, [0, 2]], [[1.0, -8.0], [0.0, 0.0]], atol=20 * error)


def test_leaving_a_surface() -> None:
    """A block on a belt that begins to pull: it sticks until c t = r, then slides with the friction r."""
    equations = dr.first_order("block", {x: v, v: c * t - r * sp.sign(v) + sp.Rational(0)}, parameters={c: 2.0, r: 1.0})
    run = varied(equations, [0.0, 0.0], 1.5)
    s = sp.Symbol("s")
    later = s - r / c
    final = sp.Matrix([c * later**3 / 6, c * later**2 / 2])
    expected = np.array(final.jacobian([r, c]).subs({c: 2.0, r: 1.0, s: 1.5}), dtype=float)
    assert [switch.sliding for switch in run.run.switches][-1] == "ends"
    names = [d.name for d in run.directions]
    assert_allclose(run.final[1][:, [names.index("r"), names.index("c")]], expected, atol=1e-9)


def test_a_start_at_rest() -> None:
    """A block that sticks: a speed at the start is gone at once, and where the force grows it slides from 1 + r/c on."""
    rates = {x: v, v: c * sp.Max(t - 1, 0) - r * sp.sign(v)}
    run = varied(dr.first_order("block", rates, parameters={c: 0.5, r: 0.13}), [0.1, 0.0], 3.0)
    s = sp.Symbol("s")
    later = s - 1 - r / c
    final = sp.Matrix([c * later**3 / 6, c * later**2 / 2])
    expected = np.array(final.jacobian([c, r]).subs({c: 0.5, r: 0.13, s: 3.0}), dtype=float)
    assert_allclose(run.final[1], np.hstack([[[1.0, 0.0], [0.0, 0.0]], expected]), atol=1e-9)
    assert "starts on the switching surface of sign(v)" in run.run.status.warnings[0]


# ---------------------------------------------------------------------------------------------------------- random members


def _oscillator(rng: np.random.Generator) -> Equations:
    """Two coupled oscillators, linear on each side of surfaces of random direction that depend on parameters and time."""
    k, d, f = (rng.uniform(low, high, 4) for low, high in ((0.5, 2.0), (0.0, 0.2), (-1.0, 1.0)))
    n = rng.uniform(-1.0, 1.0, (2, 4))
    state = (x, y, v, w)
    one = sum(float(n[0, i]) * q for i, q in enumerate(state)) - a
    other = sum(float(n[1, i]) * q for i, q in enumerate(state)) - b * sp.sin(t) - 0.2
    pulse = sp.Piecewise((c, t > 1 + r), (0, True))
    spring = float(k[0]) + float(k[1]) * sp.Heaviside(one, 0)
    side = sp.Piecewise((float(f[0]) * b, other > 0), (float(f[1]) * x, True))
    return dr.first_order(
        "random",
        {
            x: v,
            y: w,
            v: -spring * x + 0.3 * (y - x) - float(d[0]) * v + pulse,
            w: -float(k[2]) * y + 0.3 * (x - y) - float(d[1]) * w + side + float(f[2]) * sp.Abs(y - a),
        },
        parameters={a: 0.3, b: 0.7, c: 0.5, r: 0.4},
    )


@pytest.mark.parametrize("seed", range(8))
def test_random_oscillators(seed: int) -> None:
    rng = np.random.default_rng(seed)
    equations = _oscillator(rng)
    start = rng.uniform(-1.0, 1.0, 4).tolist()
    run = varied(equations, start, 6.0)
    assert run.run.status.kind == Ending.FINISHED
    if not run.run.status.warnings:
        assert len(run.run.switches) > 2
        expected = differences(equations, start, 6.0)
        assert_allclose(run.final[1], expected, atol=2e-6 * max(1.0, float(np.abs(expected).max())))


@pytest.mark.parametrize("seed", range(6))
def test_random_friction(seed: int) -> None:
    """Two driven blocks with friction, joined by a spring, that stick and slip, alone and together."""
    rng = np.random.default_rng(seed)
    f, g, k, d = (float(rng.uniform(*limits)) for limits in ((0.4, 1.2), (0.7, 2.0), (0.5, 2.0), (0.05, 0.3)))
    rates = {
        x: v,
        v: k * (y - x) - d * v + f * sp.sin(g * t) - a * sp.sign(v - r),
        y: w,
        w: k * (x - y) - d * w - x * b - c * sp.sign(w),
    }
    equations = dr.first_order("blocks", rates, parameters={a: 0.3, b: 0.4, c: 0.25, r: 0.1})
    start = rng.uniform(-1.0, 1.0, 4).tolist()
    run = varied(equations, start, 8.0)
    assert run.run.status.kind == Ending.FINISHED and not run.run.status.warnings
    expected = differences(equations, start, 8.0)
    assert_allclose(run.final[1], expected, atol=1e-6 * max(1.0, float(np.abs(expected).max())))


# ---------------------------------------------------------------------------------------------------------- models and laws


def _compared(model: dr.Model, until: float, names: list[str], by: dict[str, float], given: dict[str, Any]) -> None:
    """All derivatives at the end against central differences."""
    run = dr.simulate(model, until, **given, samples=[0.0, until], sensitivity=list(by))
    assert run.status.kind == Ending.FINISHED and not run.status.warnings
    for one, value in by.items():
        step = 1e-4
        ends = {}
        for k in (-2, -1, 1, 2):
            changed = {**given, "parameters": {**given.get("parameters", {}), one: value + k * step}}
            ends[k] = dr.simulate(model, until, **changed, samples=[0.0, until]).final
        for name in names:
            expected = (8 * (ends[1][name] - ends[-1][name]) - (ends[2][name] - ends[-2][name])) / (12 * step)
            assert run.sensitivity[name, one][-1] == pytest.approx(expected, abs=2e-6 * max(1.0, abs(expected))), (name, one)


def _sleigh() -> dr.Model:
    model = dr.Model("sleigh")
    model.gravity(0)
    model.input("turn", "N*m")
    for name, value in {"push": 2.0, "begin": 0.5, "drag": 0.3, "wall": 0.7}.items():
        model.parameter(name, value)
    sleigh = model.body("sleigh", mass=2.0, center_of_mass=(0.25, 0, 0), inertia=(0.245, 0.245, 0.245))
    along = (Coordinate("x", "x_rate", "m"), Coordinate("y", "y_rate", "m"), Coordinate("heading", "turn_rate", "rad"))
    chain = (Translate((Name("x"), Name("y"), Number(0.0))), Rotate("z", Name("heading")))
    model.joint("motion", "ground", sleigh, chain, along)
    model.knife_edge(sleigh, name="blade")
    model.generalized_force("heading", "turn")
    model.output("speed", "body_velocity_x(sleigh)", "m/s")
    return model


@pytest.mark.parametrize("formulation", [None, dr.formulations.Augmented()], ids=["reduced", "augmented"])
def test_sleigh(formulation: object) -> None:
    """Independent velocities change between switches; with multipliers a linear system is solved in every evaluation."""
    law = {"turn": "where(t > begin, where(t < 0.9, push, 0), 0) - drag*sign(turn_rate - 0.5) + where(x > wall, 1, 0)"}
    given = {"start": {"speed": 1.0, "turn_rate": 0.2}, "inputs": law, "method": TIGHT, "formulation": formulation}
    by = {"begin": 0.5, "push": 2.0, "drag": 0.3, "wall": 0.7}
    _compared(_sleigh(), 4.0, ["x", "y", "heading", "speed"], by, given)


def test_a_delayed_table() -> None:
    """Kinks of a table of time that move with a parameter: rates of derivatives jump, and no spike is missed."""
    model = dr.Model("cart")
    model.input("push", "N")
    model.parameter("delay", 0.3, "s")
    knots = np.arange(0.0, 5.001, 0.02)
    model.table("logged", knots, np.where(np.arange(knots.size) == 100, 1.0, 0.0) + np.sin(knots), "linear")
    cart = model.body("cart", mass=2.0)
    model.prismatic("x", "ground", cart, rate="speed")
    model.generalized_force("x", "push")
    given = {"inputs": {"push": "logged(t - delay) + where(t > 2*delay, 1, 0)"}, "method": TIGHT}
    _compared(model, 4.0, ["x", "speed"], {"delay": 0.3}, given)


# ---------------------------------------------------------------------------------------------------------- one side


@pytest.mark.parametrize(
    ("rates", "start", "words"),
    [
        ({x: 2 - a * sp.sign(x)}, [0.0], "starts on the switching surface of sign(x)"),
        ({x: 1, y: 1, v: sp.Piecewise((a, sp.And(x > 1, y > 1)), (0, True))}, [0.0, 0.0, 0.0], "x > 1 and y > 1 switch at the"),
        ({x: sp.Piecewise((a, sp.And(t > b, t < c)), (0, True))}, [0.0], "and their order matters"),
        ({x: 1, v: sp.Piecewise((a, sp.And(x > 1, t < c)), (0, True))}, [0.0, 0.0], "and their order matters"),
        ({x: 1, y: 1, v: sp.Piecewise((a, sp.And(x > 1, y < 1)), (0, True))}, [0.0, 0.0, 0.0], "and their order matters"),
    ],
)
def test_derivatives_of_one_side_are_reported(rates: dict[Any, Any], start: list[float], words: str) -> None:
    run = varied(dr.first_order("one_side", rates, parameters={a: 1.0, b: 1.0, c: 1.0}), start, 2.0).run
    assert run.status.kind == Ending.FINISHED and len(run.status.warnings) == 1
    assert words in run.status.warnings[0]


def test_coinciding_switches_whose_order_does_not_matter() -> None:
    step = sp.Piecewise((a, t > b), (0, True)) + sp.Piecewise((1, t > c), (0, True))
    run = varied(dr.first_order("two_steps", {x: step}, parameters={a: 1.5, b: 1.0, c: 1.0}), [0.0], 3.0)
    assert not run.run.status.warnings
    assert_allclose(run.final[1], [[1.0, 2.0, -1.5, -1.0]], atol=1e-12)


def test_implicit_equations_are_refused() -> None:
    p, q = dynamicsymbols("p q")
    relay = dr.symbolic.implicit("relay", {"p": p.diff() - q, "q": q.diff() + sp.sign(p)}, [p, q])
    with pytest.raises(ArgumentError, match=r"relay: derivatives of its motion jump at sign\(p\)"):
        varied(relay, [1.0, 0.0], 1.0)
    kink = dr.symbolic.implicit("kink", {"p": p.diff() - q, "q": q.diff() + p + sp.Abs(p)}, [p, q])
    run = varied(kink, [1.0, 0.0], 3.0, dr.methods.Radau(rtol=1e-10, atol=1e-12))
    angle, rate = np.cos(np.pi / 2), -np.sqrt(2.0)  # a harmonic half swing, then free flight
    assert_allclose(run.run.final_state[:2], [rate * (3.0 - np.pi / np.sqrt(8.0)) + angle, rate], atol=1e-8)
    assert_allclose(run.final[1][:, 0], run.run.final_state[:2], atol=1e-7)  # linear in the start


def test_a_switching_function_that_jumps() -> None:
    """A condition that becomes true because another one does has its time."""
    condition = x + sp.sign(x - c) > 1.3
    push = sp.Piecewise((a, condition), (0, True))
    both = dr.first_order("both", {x: 1, y: push + sp.Rational(3, 10) * sp.sign(x - c)}, parameters={a: 2.0, c: 1.0})
    run = varied(both, [0.2, 0.0], 2.0)
    assert not run.run.status.warnings
    assert_allclose(run.final[1][1], [2.6, 1.0, 2.0 - 0.8, -2.6], atol=1e-10)
    alone = varied(dr.first_order("alone", {x: 1, y: push}, parameters={a: 2.0, c: 1.0}), [0.2, 0.0], 2.0)
    assert not alone.run.status.warnings
    assert_allclose(alone.final[1][1], [2.0, 1.0, 2.0 - 0.8, -2.0], atol=1e-10)
