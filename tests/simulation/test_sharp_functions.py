"""Smooth functions of time that vary suddenly are not passed over: the momentum is the area below the force, in closed form.

Functions that step size control follows by itself have no marks, and their runs are the same, evaluation for evaluation.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
import sympy as sp
from sympy.physics.mechanics import dynamicsymbols

import draisine as dr
from draisine.expr.expression import parse
from draisine.program.piecewise_inputs import with_piecewise_inputs
from draisine.program.switching import graph_of_time
from draisine.program.time_marks import marks_of_time
from draisine.simulation.compiled_equations import prepare
from draisine.simulation.run import integrate

END = 20.0
T, V = dynamicsymbols._t, sp.Symbol("v")

# shapes of s = (t − a)/w with their antiderivatives by s
SHAPES = {
    "exp(-{s}^2)": lambda s: 0.5 * math.sqrt(math.pi) * math.erf(s),
    "1 + tanh({s})": lambda s: s + abs(s) + math.log1p(math.exp(-2.0 * abs(s))) - math.log(2.0),
    "1/(1 + {s}^2)": math.atan,
    "1/cosh({s})^2": math.tanh,
    "1/(1 + exp(-{s}))": lambda s: max(s, 0.0) + math.log1p(math.exp(-abs(s))),
    "{s}*exp(-{s}^2)": lambda s: -0.5 * math.exp(-(s**2)),
    "(1 - tanh({s})^2)*tanh({s})": lambda s: 0.5 * math.tanh(s) ** 2,
}


def block() -> dr.Model:
    """A mass of 1 kg on a line: the velocity is the integral of the force. The force has its time and width as parameters."""
    model = dr.Model("block")
    model.gravity(0)
    model.body("block", 1.0, inertia=(1, 1, 1))
    model.prismatic("x", "ground", "block")
    model.generalized_force("x", model.input("f", "N"))
    for name, value, unit in (("a", 7.0, "s"), ("w", 0.01, "s"), ("b", 3.0, "s"), ("h", 1.0, "N")):
        model.parameter(name, value, unit)
    return model


MODEL = block()


def law_of(shape: str, time: str = "a") -> str:
    return shape.format(s=f"((t - {time})/w)")


def momentum(shape: str, at: float, width: float, end: float = END) -> float:
    return width * (SHAPES[shape]((end - at) / width) - SHAPES[shape](-at / width))


@pytest.mark.parametrize("shape", SHAPES)
def test_pulses_and_steps_of_any_width(shape: str) -> None:
    """Widths of 10 µs to 3 s at random times, from rest: some of them hidden, some seen by any method."""
    rng = np.random.default_rng(len(shape))
    for _ in range(8):
        at, width = rng.uniform(0.5, 19.5), 10 ** rng.uniform(-5.0, 0.5)
        run = dr.simulate(MODEL, END, inputs={"f": law_of(shape)}, parameters={"a": at, "w": width}, samples=2)
        assert run["x_rate"][-1] == pytest.approx(momentum(shape, at, width), rel=2e-6, abs=1e-9), (at, width)
        assert run.status.complete


def test_several_pulses_products_and_small_ones_beside_large_functions() -> None:
    area = math.sqrt(math.pi) * 0.01
    for law, expected in (
        ("exp(-((t - a)/w)^2) + 2*exp(-((t - b)/w)^2)", 3 * area),
        ("100*sin(t) + 0.01*exp(-((t - a)/w)^2)", 100 * (1 - math.cos(END)) + 0.01 * area),
        ("exp(-((t - a)/w)^2)*sin(t)", area * math.exp(-(0.01**2) / 4) * math.sin(7.0)),
        ("exp(-((t - a)/w)^2)*(1 + sin(400*(t - a))^2)", area * (1.5 - 0.5 * math.exp(-(8.0**2) / 4))),
        ("sin(t)^200", 6 * math.pi * math.comb(200, 100) / 2**200),  # 20 s are six half turns and a part without a pulse
        ("where(t > 1, exp(-((t - a)/w)^2), 0) - where(t > 6, 0.1, 0)", area - 1.4),
        ("max(0, t - 3)*exp(-((t - a)/w)^2)", 4 * area),
        ("where(x > 1, 0, exp(-((t - a)/w)^2))", area),
    ):
        run = dr.simulate(MODEL, END, inputs={"f": law}, samples=2)
        assert run["x_rate"][-1] == pytest.approx(expected, abs=2e-6), law


def test_many_pulses_and_blends_whose_parts_add_up_to_one() -> None:
    """Forty pulses and steps at random; logistic functions of both signs with different factors, some of them of the state."""
    rng = np.random.default_rng(8)
    texts, area = [], 0.0
    for _ in range(20):
        at, width, height = (round(number, 6) for number in (rng.uniform(1, 19), 10 ** rng.uniform(-4, -1), rng.uniform(-3, 3)))
        texts.append(f"({height})*exp(-((t - {at})/{width})^2) + ({-height})/(1 + exp(({at} - t)/{width}))")
        area += height * (width * math.sqrt(math.pi) - (END - at))
        texts.append(f"({height})/(1 + exp((t - {at})/{width}))")
        area += height * at
    run = dr.simulate(MODEL, END, inputs={"f": " + ".join(texts)}, samples=2)
    assert run["x_rate"][-1] == pytest.approx(area, abs=1e-5)


METHODS = {
    "DOP853": (dr.methods.DOP853(), 1e-6),
    "Radau": (dr.methods.Radau(), 1e-6),
    "ESDIRK23": (dr.methods.ESDIRK23(), 2e-3),
    "CVODE": (dr.methods.CVODE(), 1e-5),
    "RK4": (dr.methods.RK4(0.02), 0.05),
    "RK4, a step of many pulses": (dr.methods.RK4(1.0), 0.2),  # a pulse is seen; there is no error control
}


@pytest.mark.parametrize("name", METHODS)
def test_methods(name: str) -> None:
    if name == "CVODE":
        pytest.importorskip("sksundae")
    method, allowed = METHODS[name]
    for shape, at, width in (("exp(-{s}^2)", 7.0, 0.01), ("1/cosh({s})^2", 12.345, 0.002), ("1 + tanh({s})", 15.0, 0.001)):
        given = {"a": at, "w": width}
        run = dr.simulate(MODEL, END, inputs={"f": law_of(shape)}, parameters=given, samples=2, method=method)
        assert run["x_rate"][-1] == pytest.approx(momentum(shape, at, width), rel=allowed), shape


def test_backwards() -> None:
    equations = dr.first_order("pulses", {V: sp.exp(-(((T - 7) / sp.Rational(1, 100)) ** 2)) + sp.tanh((T - 12) * 500)})
    run = integrate(equations, [0.0], END)
    assert run.final_state == pytest.approx([0.01 * math.sqrt(math.pi) - 4.0], abs=5e-7)
    assert integrate(equations, run.final_state, 0.0, start=END).final_state == pytest.approx([0.0], abs=5e-7)


def test_sensitivities() -> None:
    """A pulse that is shifted keeps its momentum, one that is wider has more."""
    run = dr.simulate(MODEL, END, inputs={"f": "h*exp(-((t - a)/w)^2)"}, sensitivity=["a", "w", "h"], samples=2)
    area = math.sqrt(math.pi) * 0.01
    assert run.sensitivity["x_rate", "h"][-1] == pytest.approx(area, rel=1e-8)
    assert run.sensitivity["x_rate", "w"][-1] == pytest.approx(area / 0.01, rel=1e-8)
    assert run.sensitivity["x_rate", "a"][-1] == pytest.approx(0.0, abs=1e-6)
    assert run.sensitivity["x", "a"][-1] == pytest.approx(-area, rel=1e-5)


def test_ensembles_are_the_same_as_single_runs() -> None:
    """Side by side where all have one pulse or none, singly where its time or width varies."""
    rng = np.random.default_rng(4)
    for law, varied in (
        ("exp(-((t - a)/w)^2)", {"x_rate": [0.0, 0.2, 0.5]}),
        ("exp(-((t - a)/w)^2)", {"a": rng.uniform(1.0, 19.0, 5)}),
        ("exp(-((t - a)/w)^2)", {"w": [8.0, 2.0, 0.05, 1e-4]}),
        ("exp(-t/b)*sin(t)", {"b": [0.5, 2.0, 30.0]}),
    ):
        for method in (None, dr.methods.RK4(0.3)):
            many = dr.ensemble(MODEL, END, varied, inputs={"f": law}, outputs=["x_rate"], method=method)
            name, numbers = next(iter(varied.items()))
            for k, number in enumerate(numbers):
                kind = "start" if name == "x_rate" else "parameters"
                one = dr.simulate(MODEL, END, inputs={"f": law}, samples=2, method=method, **{kind: {name: number}})
                assert many["x_rate.end"][k] == one["x_rate"][-1], (law, number, method)


def marked(law: str, end: float = END) -> bool:
    equations = dr.derive(MODEL, {"f": parse(law)})
    graph = graph_of_time(equations)
    if graph is None:
        return False
    values = {"a": 7.0, "w": 0.01, "b": 3.0, "h": 1.0}
    numbers = [values[quantity.name] for quantity in equations.parameters]
    return bool(marks_of_time(graph, (0.0, end), np.zeros(len(equations.inputs)), numbers, 1e-4).times.size)


SLOW = (
    "sin(3*t), sin(t)^2*cos(3*t), (t/20)^3, sin(0.5*t^2), exp(-t), exp(-t)*sin(3*t), sin(exp(0.2*t)), 1/(1 + t), sqrt(t), "
    "tanh(t), 1 - exp(-t/w), tanh(t - 2), 1/(2 + sin(t)), t*exp(-t), log(1 + t), atan(t), exp(sin(t)), sqrt(1 + sin(t)^2), "
    "sin(20*(t - 5))/(t - 5), exp(-0.1*t)*sin(1000*t)"
)


def test_slow_functions_have_no_marks() -> None:
    for law in SLOW.split(", "):
        assert not marked(law), law
    for shape in SHAPES:
        assert marked(law_of(shape)), shape


def test_parts_of_time_in_which_bounds_do_not_help() -> None:
    """A burst of more oscillations than are looked at begins at the end of a step: the oscillations are seen."""
    law = "exp(-((t - a)/0.3)^2)*sin(30000*(t - a))^2"
    method = dr.methods.DOP853(rtol=1e-10, atol=1e-12)  # errors of 60,000 steps add up
    run = dr.simulate(MODEL, 10.0, inputs={"f": law}, samples=2, method=method)
    assert run["x_rate"][-1] == pytest.approx(0.15 * math.sqrt(math.pi), rel=1e-7)


def test_many_intervals_with_polynomial_inputs_are_foreseen_together() -> None:
    """What is noted for all intervals together is what each of them gives alone; a narrow passage through zero is a pulse."""
    y, u = dynamicsymbols("y"), sp.Symbol("u")
    system = dr.first_order("pulses", {y: sp.exp(-((u / sp.Rational(1, 100)) ** 2)) + sp.cos(u)}, inputs=[u])
    driven = with_piecewise_inputs(system, ("u",), 5)
    rng = np.random.default_rng(3)
    edges = np.sort(rng.uniform(0.0, 9.0, 31))
    coefficients = rng.normal(size=(30, 6)) * 10.0 ** rng.uniform(-3.0, 0.3, size=(30, 1))
    inputs = np.column_stack([coefficients, edges[:-1], np.diff(edges)])
    spans, p, method = np.column_stack([edges[:-1], edges[1:]]), np.zeros(0), dr.methods.DOP853(rtol=1e-10)
    alone, together = (prepare(driven).compiled(driven.choice).time_marks for _ in range(2))
    assert alone is not None and together is not None and alone is not together
    together.foresee(spans, inputs, p, method)
    marked = []
    for (begin, end), given in zip(spans, inputs, strict=True):
        one, other = (marks.tables((begin, end), given, p, method) for marks in (alone, together))
        assert one is not None and other is not None
        assert all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))
        marked.append(one.mark_time.size > 0)
    assert 3 <= sum(marked) <= 27 and len(together._smooth) == 30 - sum(marked)
