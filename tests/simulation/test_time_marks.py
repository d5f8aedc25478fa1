"""Pulses in tables of time are not passed over, whatever their kind; the reference is the integral of SciPy's spline."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.interpolate import CubicSpline

import draisine as dr

ROWS = np.linspace(0.0, 10.0, 1001)


def block() -> dr.Model:
    """A mass of 1 kg on a line: the velocity is the integral of the force."""
    model = dr.Model("block")
    model.gravity(0)
    model.body("block", 1.0, inertia=(1, 1, 1))
    model.prismatic("x", "ground", "block")
    model.generalized_force("x", model.input("f", "N"))
    return model


def pulses(rng: np.random.Generator, count: int) -> np.ndarray:
    values = np.zeros(ROWS.size)
    for _ in range(count):
        first = int(rng.integers(5, ROWS.size - 40))
        values[first : first + int(rng.integers(1, 30))] += rng.uniform(0.3, 2.0) * rng.choice([-1, 1])
    return values


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("outside", ["slope", "hold"])
def test_no_pulse_of_a_spline_is_lost(seed: int, outside: str) -> None:
    """One to three pulses of 1 to 30 rows of 10 ms in 10 s, by every kind of method."""
    rng = np.random.default_rng(seed)
    values = pulses(rng, 1 + seed % 3)
    model = block()
    model.table("g", list(ROWS), list(values), outside=outside)
    spline = CubicSpline(ROWS, values, bc_type="natural")
    exact, double = spline.antiderivative()(10.0), spline.antiderivative(2)(10.0)
    size = np.abs(values).sum() * 0.01
    methods = [dr.methods.DOP853(), dr.methods.Radau(), dr.methods.RK4(0.03)]
    for method in methods:
        run = dr.simulate(model, 10.0, inputs={"f": "g(t)"}, method=method)
        allowed = 2e-3 if isinstance(method, dr.methods.RK4) else 3e-5
        assert run["x_rate"][-1] == pytest.approx(exact, abs=allowed * size), method
        assert run["x"][-1] == pytest.approx(double, abs=10 * allowed * size), method


def test_shifted_and_scaled_arguments_and_the_table_within_an_expression() -> None:
    rng = np.random.default_rng(17)
    values = pulses(rng, 1)
    spline = CubicSpline(ROWS, values, bc_type="natural")
    model = block()
    model.parameter("late", 0.7, "s")
    model.table("g", list(ROWS), list(values))
    whole = spline.antiderivative()
    laws = {
        "g(t - late)": whole(9.3) - whole(-0.7),
        "g(2*t)": whole(20.0) / 2,
        "3*g(t) + sin(t)": 3 * whole(10.0) + 1 - np.cos(10),
    }
    for law, exact in laws.items():
        run = dr.simulate(model, 10.0, inputs={"f": law})
        assert run["x_rate"][-1] == pytest.approx(exact, abs=2e-6), law


def test_pulses_beside_switches_of_time_and_state() -> None:
    values = np.zeros(ROWS.size)
    values[777:787] = 1.0
    model = block()
    model.table("g", list(ROWS), list(values))
    exact = CubicSpline(ROWS, values, bc_type="natural").antiderivative()(10.0)
    run = dr.simulate(model, 10.0, inputs={"f": "g(t) + where(t > 9, 1, 0)"})
    assert run["x_rate"][-1] == pytest.approx(exact + 1.0, abs=1e-6)
    run = dr.simulate(model, 10.0, inputs={"f": "g(t) - 0.01*sign(x_rate)"})
    assert run["x_rate"][-1] == pytest.approx(exact - 0.01 * (10.0 - 7.77), abs=1e-3)
    assert [switch.name for switch in run.switches]


def test_sensitivities() -> None:
    values = np.zeros(ROWS.size)
    values[777:787] = 1.0
    model = block()
    model.parameter("size", 1.0)
    model.table("g", list(ROWS), list(values))
    exact = CubicSpline(ROWS, values, bc_type="natural").antiderivative()(10.0)
    run = dr.simulate(model, 10.0, inputs={"f": "size*g(t)"}, sensitivity=["size"])
    assert run["x_rate"][-1] == pytest.approx(exact, abs=1e-6)
    assert run.sensitivity["x_rate", "size"][-1] == pytest.approx(exact, abs=1e-6)


def test_ensembles_are_the_same_as_single_runs() -> None:
    """Stepped side by side where all runs have one table, singly where it is scaled."""
    values = np.zeros(ROWS.size)
    values[777:787] = 1.0
    model = block()
    model.parameter("size", 1.0)
    model.table("g", list(ROWS), list(values))
    for law, varied in (("g(t)", {"x_rate": [0.0, 0.2, 0.5]}), ("size*g(t)", {"size": [1.0, 2.0, 3.0]})):
        many = dr.ensemble(model, 10.0, varied, inputs={"f": law}, outputs=["x_rate"])
        name, numbers = next(iter(varied.items()))
        for k, number in enumerate(numbers):
            kind = "start" if name == "x_rate" else "parameters"
            one = dr.simulate(model, 10.0, inputs={"f": law}, samples=2, **{kind: {name: number}})
            assert many["x_rate.end"][k] == one["x_rate"][-1]
            assert many["steps"][k] == one.statistics.accepted + one.statistics.rejected


@pytest.mark.parametrize("rows", [60, 2001])
def test_smooth_tables_cost_what_the_functions_cost(rows: int) -> None:
    """A table of a sum of sines, coarse or fine, takes about the evaluations of the sines themselves."""
    times = np.linspace(0.0, 10.0, rows)
    model = block()
    model.table("g", list(times), list(np.sin(3 * times) + 0.4 * np.cos(1.3 * times)))
    laws = ("g(t) - 4*x - 0.3*x_rate", "sin(3*t) + 0.4*cos(1.3*t) - 4*x - 0.3*x_rate")
    counts = [dr.simulate(model, 10.0, inputs={"f": law}).statistics.evaluations for law in laws]
    if rows > 1000:
        assert counts[0] <= 1.2 * counts[1]
    else:
        assert counts[0] <= 4 * counts[1]  # the third derivative jumps at every row
