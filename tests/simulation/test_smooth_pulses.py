"""Smooth pulses of time that are written with conditions are not passed over: the momentum is the area below the force."""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp
from sympy.physics.mechanics import dynamicsymbols

import draisine as dr
from draisine.expr.expression import parse
from draisine.program.switching import graph_of_time
from draisine.simulation.run import integrate

roads = dr.contact.roads
END = 20.0
T, V = dynamicsymbols._t, sp.Symbol("v")

# pulses between a and a + w with their areas relative to w: all begin and end with zero value and slope
SHAPES = {
    "where(t < {a}, 0, where(t < {a} + {w}, sin(pi*(t - {a})/{w})^2, 0))": 1 / 2,
    "30*clip((t - {a})/{w}, 0, 1)^2*(1 - clip((t - {a})/{w}, 0, 1))^2": 1.0,
    "max(0, 1 - (2*(t - {a})/{w} - 1)^2)^2": 8 / 15,
    "(min(abs((t - {a})/{w} - 0.5), 0.5) - 0.5)^2": 1 / 12,  # with a corner in the middle
    "where(t < {a}, 0, where(t < {a} + {w}, (t - {a})*sin(2*pi*(t - {a})/{w})/{w}, 0))": -1 / (2 * np.pi),  # with a kink
    "where(abs(t - {a} - {w}/2) < {w}/2, sin(2*pi*(t - {a})/{w})^2, 0)": 1 / 2,  # zero in the middle
}


def block() -> dr.Model:
    """A mass of 1 kg on a line: the velocity is the integral of the force."""
    model = dr.Model("block")
    model.gravity(0)
    model.body("block", 1.0, inertia=(1, 1, 1))
    model.prismatic("x", "ground", "block")
    model.generalized_force("x", model.input("f", "N"))
    return model


def draw(rng: np.random.Generator, count: int) -> tuple[str, float, float]:
    """A sum of pulses as a text, its integral, and the sum of the areas without signs."""
    texts, area, size = [], 0.0, 0.0
    for _ in range(count):
        a, w, h = round(rng.uniform(0.5, 18.0), 6), round(10 ** rng.uniform(-3.0, 0.0), 6), round(10 ** rng.uniform(-1, 1), 6)
        text, share = list(SHAPES.items())[rng.integers(len(SHAPES))]
        texts.append(f"{h}*{text.format(a=a, w=w)}")
        area, size = area + h * w * share, size + h * w * abs(share)
    return " + ".join(texts), area, size


@pytest.mark.parametrize("shape", SHAPES)
def test_one_pulse_from_rest(shape: str) -> None:
    model = block()
    for a, w in ((7.0, 1.0), (12.345, 0.003)):
        run = dr.simulate(model, END, inputs={"f": f"10*{shape.format(a=a, w=w)}"}, samples=2)
        assert run["x_rate"][-1] == pytest.approx(10 * w * SHAPES[shape], rel=1e-4)
        assert run.status.complete


METHODS = {
    "DOP853": (dr.methods.DOP853(), 1e-4),
    "Radau": (dr.methods.Radau(), 1e-4),
    "ESDIRK23": (dr.methods.ESDIRK23(), 1e-3),
    "CVODE": (dr.methods.CVODE(), 1e-3),
    "RK4": (dr.methods.RK4(0.02), 0.03),
    "PredictorCorrector": (dr.methods.PredictorCorrector(0.02), 0.05),
}


@pytest.mark.parametrize("name", METHODS)
def test_random_pulses(name: str) -> None:
    """One to three pulses of 1 ms to 1 s in 20 s. A fixed step of 20 ms is long for a short pulse: a tenth of it is compared."""
    method, allowed = METHODS[name]
    rng = np.random.default_rng(len(name))
    model = block()
    for count in (1, 2, 3):
        law, area, size = draw(rng, count)
        run = dr.simulate(model, END, inputs={"f": law}, method=method, samples=2)
        if name in ("RK4", "PredictorCorrector"):
            assert run["x_rate"][-1] != 0.0
            fine = dr.simulate(model, END, inputs={"f": law}, method=type(method)(0.002), samples=2)
            assert fine["x_rate"][-1] == pytest.approx(area, abs=allowed * size), law
        else:
            assert run["x_rate"][-1] == pytest.approx(area, abs=allowed * size), law


def test_a_gust_of_time() -> None:
    """Of the issue: a cart of 10 kg, and the bicycle, whose lean is that of a run with short steps."""
    model = block()
    for start, duration in ((7.0, 1.0), (15.0, 0.01)):
        run = dr.simulate(model, END, inputs={"f": roads.gust(10.0, start, duration)}, samples=2)
        assert run["x_rate"][-1] == pytest.approx(5.0 * duration, rel=1e-5)
    pushed = {"push": roads.gust(50.0, 10.0, 0.5)}
    run = dr.simulate(dr.gallery.bicycle(), 12.0, start={"speed": 5.0}, inputs=pushed)
    short = dr.simulate(dr.gallery.bicycle(), 12.0, start={"speed": 5.0}, inputs=pushed, method=dr.methods.DOP853(max_step=0.05))
    assert np.abs(run["lean"]).max() == pytest.approx(np.abs(short["lean"]).max(), rel=1e-3) != 0.0


def test_backwards() -> None:
    """The state before two pulses, from the one behind them."""
    pulses = sum(sp.Max(0, 1 - ((T - middle) / width) ** 2) ** 2 for middle, width in ((7, 0.01), (sp.Rational(31, 2), 0.2)))
    equations = dr.first_order("pulses", {V: pulses})
    run = integrate(equations, [0.0], END)
    assert run.final_state == pytest.approx([16 / 15 * 0.21], rel=1e-5)
    assert integrate(equations, run.final_state, 0.0, start=END).final_state == pytest.approx([0.0], abs=1e-6)


def test_pulses_with_parameters_and_sensitivities() -> None:
    """A pulse that is shifted keeps its momentum; one that is scaled scales it."""
    model = block()
    model.parameter("begin", 7.0, "s")
    model.parameter("size", 10.0, "N")
    law = "size*sin(pi*clip((t - begin)/0.1, 0, 1))^2"
    run = dr.simulate(model, END, inputs={"f": law}, sensitivity=["begin", "size"], samples=2)
    assert run["x_rate"][-1] == pytest.approx(0.5, rel=1e-6)
    assert run.sensitivity["x_rate", "size"][-1] == pytest.approx(0.05, rel=1e-6)
    assert run.sensitivity["x_rate", "begin"][-1] == pytest.approx(0.0, abs=1e-5)
    assert run.sensitivity["x", "begin"][-1] == pytest.approx(-0.5, rel=1e-5)


def test_pulses_beside_switches() -> None:
    """With jumps of time and dry friction in the same equations."""
    model = block()
    pulse = "10*sin(pi*clip((t - 12)/0.1, 0, 1))^2"
    run = dr.simulate(model, END, inputs={"f": f"{pulse} + where(t > 19, 1, 0)"}, samples=2)
    assert run["x_rate"][-1] == pytest.approx(0.5 + 1.0, rel=1e-6)
    assert [switch.name for switch in run.switches] == ["t > 19"]
    run = dr.simulate(model, 14.0, inputs={"f": f"{pulse} - 0.01*sign(x_rate)"}, samples=2)
    assert run["x_rate"][-1] == pytest.approx(0.5 - 0.01 * 2.0, abs=2e-4)


def test_ensembles_are_the_same_as_single_runs() -> None:
    """Stepped side by side where all runs have one pulse, singly where its time varies; fixed steps too."""
    model = block()
    model.parameter("begin", 7.0, "s")
    law = "10*sin(pi*clip((t - begin)/0.1, 0, 1))^2"
    for method in (None, dr.methods.RK4(0.3)):
        for varied in ({"x_rate": [0.0, 0.2, 0.5]}, {"begin": [1.0, 7.3, 18.0]}):
            many = dr.ensemble(model, END, varied, inputs={"f": law}, outputs=["x_rate"], method=method)
            name, numbers = next(iter(varied.items()))
            for k, number in enumerate(numbers):
                kind = "start" if name == "x_rate" else "parameters"
                one = dr.simulate(model, END, inputs={"f": law}, samples=2, method=method, **{kind: {name: number}})
                assert many["x_rate.end"][k] == one["x_rate"][-1]
                gained = one["x_rate"][-1] - (number if name == "x_rate" else 0.0)
                assert gained == pytest.approx(0.5, rel=1e-6 if method is None else 0.4)


def test_times_are_marked_only_where_conditions_of_time_are() -> None:
    model = block()
    for law, marked in (
        ("sin(3*t)", False),
        ("max(0, x)^3*sin(t)", False),
        ("max(0, t - 3)^2", True),
        ("abs(t - 3)*(t - 3)", True),
    ):
        equations = dr.derive(model, {"f": parse(law)})
        assert (graph_of_time(equations) is not None) == marked, law
