"""Certified and published estimates: NIST's reference datasets that are solutions of first-order systems, and kinetics."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import sympy as sp

import draisine as dr

REFERENCE = Path(__file__).parents[1] / "reference"
NIST = json.loads((REFERENCE / "nist_strd.json").read_text())
KINETICS = json.loads((REFERENCE / "kinetics.json").read_text())
FINE = dr.methods.DOP853(rtol=1e-11, atol=1e-12)
SINGLE = dr.estimation.SingleShooting(FINE)

x, w, y, b1, b2, t = sp.symbols("x w y b1 b2 t")
MODELS = {
    "BoxBOD": ({x: b2 * (b1 - x)}, {"x": 0.0}, 0.0, {b1: 100.0, b2: 0.75}),
    "Misra1a": ({x: b2 * (b1 - x)}, {"x": 0.0}, 0.0, {b1: 250.0, b2: 5e-4}),
    "Misra1b": ({x: b1 * b2 * w**3, w: -b2 * w**2 / 2}, {"x": 0.0, "w": 1.0}, 0.0, {b1: 300.0, b2: 2e-4}),
}


@pytest.mark.parametrize("name", list(MODELS))
@pytest.mark.parametrize("method", ["single", "windows", "collocation"])
def test_nist_datasets(name, method):
    """Estimates, their standard deviations and the residual standard deviation; the data begin after the start."""
    rates, start, begin, guess = MODELS[name]
    certified, table = NIST[name], NIST["Misra1a" if name == "Misra1b" else name]
    last = table["x"][-1]
    how = {
        "single": SINGLE,
        "windows": dr.optimal.MultipleShooting(window=last / 3, integration=FINE),
        "collocation": dr.optimal.Collocation("gauss", 5, 12),
    }
    model = dr.first_order(name, rates, parameters=guess)
    found = dr.estimate(
        model, {"time": table["x"], "y": table["y"]}, ["b1", "b2"], {"y": "x"}, start=start, start_time=begin, method=how[method]
    )
    digits = 1e-5 if method == "single" else 1e-4  # windows are closed to 1e-4 of a standard deviation
    for b in ("b1", "b2"):
        value, deviation = certified[b]
        assert abs(found[b] - value) < digits * deviation, b
        assert abs(found.deviations[b] / deviation - 1.0) < 1e-4
    assert abs(found.noise["y"] / certified["deviation"] - 1.0) < 1e-5


def test_nist_power_law_from_an_unknown_start_at_one():
    """DanWood: y = b1 x^b2 is dy/dx = b2 y/x with y = b1 at x = 1: the start is an unknown that holds before the data."""
    table = NIST["DanWood"]
    power = dr.first_order("power", {y: b2 * y / t}, parameters={b2: 4.0})
    data = {"time": table["x"], "y": table["y"]}
    for method in (SINGLE, dr.optimal.MultipleShooting(window=0.2, integration=FINE)):
        found = dr.estimate(power, data, ["b2", "start.y"], {"y": "y"}, start={"y": 0.7}, start_time=1.0, method=method)
        for name, b in (("start.y", "b1"), ("b2", "b2")):
            value, deviation = table[b]
            assert abs(found[name] - value) < 1e-4 * deviation, name
            assert abs(found.deviations[name] / deviation - 1.0) < 1e-4


@pytest.mark.parametrize("given", ["argument", "model"])
def test_barnes_with_a_known_start(given):
    """2.079 by every method; with the start free, windows and one run with unknown starts agree on another estimate."""
    table = KINETICS["barnes"]
    a, b, c = sp.symbols("a b c")
    own = {x: 1.0, y: 0.3} if given == "model" else None
    model = dr.first_order("barnes", {x: a * x - b * x * y, y: b * x * y - c * y}, parameters={a: 1, b: 1, c: 1}, start=own)
    data, measured = {k: table[k] for k in ("time", "x", "y")}, {"x": ("x", 0.1), "y": ("y", 0.1)}
    start = {"x": 1.0, "y": 0.3} if given == "argument" else None
    methods = [SINGLE, dr.optimal.MultipleShooting(window=1.0, integration=FINE), dr.optimal.Collocation("gauss", 4, 20)]
    fits = [dr.estimate(model, data, ["a", "b", "c"], measured, start=start, method=m) for m in methods]
    for found in fits:
        for name, value in table["known start"].items():
            assert abs(found[name] - value) < 6e-4
            assert abs(found[name] - fits[0][name]) < 1e-4 * fits[0].deviations[name]
        assert found.estimated_start == () and found.freedom == 19


def test_pinene():
    """SSE 19.8721 and the published rates, by every method, from a guess of 1e-5 for all rates."""
    table = KINETICS["pinene"]
    z, k = sp.symbols("z1:6"), sp.symbols("k1:6")
    per = sp.Float(1e-5)  # rates in 1e-5 per minute
    rates = {
        z[0]: -per * (k[0] + k[1]) * z[0],
        z[1]: per * k[0] * z[0],
        z[2]: per * (k[1] * z[0] - (k[2] + k[3]) * z[2] + k[4] * z[4]),
        z[3]: per * k[2] * z[2],
        z[4]: per * (k[3] * z[2] - k[4] * z[4]),
    }
    model = dr.first_order("pinene", rates, parameters=dict.fromkeys(k, 1.0))
    names = [f"z{i + 1}" for i in range(5)]
    data = {"time": table["time"], **{f"y{n}": [row[i] for row in table["values"]] for i, n in enumerate(names)}}
    unknown = {f"k{i + 1}": (0.0, 100.0) for i in range(5)}
    start = dict(zip(names, map(float, table["start"]), strict=True))
    for method in (SINGLE, dr.optimal.MultipleShooting(window=6000.0, integration=FINE), dr.optimal.Collocation("gauss", 3, 60)):
        found = dr.estimate(model, data, unknown, {f"y{n}": (n, 1.0) for n in names}, start=start, method=method)
        assert abs(found.chi_square - table["squares"]) < 5e-4
        np.testing.assert_allclose([1e-5 * found[f"k{i + 1}"] for i in range(5)], table["rates"], rtol=2.5e-3)


def _pyridine(s, p):
    """Rates of the six species that react, by eleven reactions."""
    a, b, c, d, e, f = s
    forward, back = p[2] * b * c, p[9] * d * f
    pairs, split = p[3] * c**2, p[10] * e * f
    return (
        -p[0] * a + p[8] * b,
        p[0] * a - (p[1] + p[8]) * b - forward + p[6] * d + back,
        p[1] * b - forward - 2 * pairs - p[5] * c + p[7] * e + back + 2 * split,
        forward - (p[4] + p[6]) * d - back,
        pairs + p[4] * d - p[7] * e - split,
        forward + pairs + p[5] * c - back - split,
    )


def test_pyridine():
    """Eleven rates from relative errors of six species, by every method from powers of ten: the quoted rates within two standard
    deviations, and the solution of SciPy. The data begin after the start."""
    from scipy.integrate import solve_ivp
    from scipy.optimize import least_squares

    table, p, species = KINETICS["pyridine"], sp.symbols("p1:12"), sp.symbols("A:F")
    measured, times = np.log(table["values"]), table["time"]
    guess = [1.0, 1.0, 10.0, 10.0, 0.1, 1.0, 1.0, 10.0, 0.01, 1.0, 1.0]
    outputs = {f"log_{z}": sp.log(z) for z in species}
    rates = dict(zip(species, _pyridine(species, p), strict=True))
    model = dr.first_order("pyridine", rates, parameters=dict(zip(p, guess, strict=True)), outputs=outputs)
    data = {"time": times, **{f"y_{z}": measured[:, i] for i, z in enumerate(species)}}
    sensors, start = {f"y_{z}": (f"log_{z}", 1.0) for z in species}, {str(z): float(z == species[0]) for z in species}

    def residuals(logs):
        run = solve_ivp(
            lambda t, s: _pyridine(s, np.exp(logs)), (0, 5.5), [1, 0, 0, 0, 0, 0], "LSODA", times, rtol=1e-10, atol=1e-13
        )
        return (np.log(run.y.T) - measured).ravel()

    judge = least_squares(residuals, np.log(table["rates"]), x_scale="jac", xtol=1e-12, ftol=1e-12, gtol=1e-12)
    unknown = {str(q): (1e-4, 1e3) for q in p}
    for method in (SINGLE, dr.optimal.MultipleShooting(window=1.0, integration=FINE), dr.optimal.Collocation("gauss", 4, 44)):
        found = dr.estimate(model, data, unknown, sensors, start=start, method=method)
        logs = np.log([found[str(q)] for q in p])
        deviations = np.array([found.deviations[str(q)] / found[str(q)] for q in p])
        assert found.chi_square == pytest.approx(2 * judge.cost, rel=1e-6)
        assert (np.abs(logs - judge.x) < 1e-3 * deviations).all()
        assert (np.abs(logs - np.log(table["rates"])) < 2 * np.sqrt(found.chi_square / 55) * deviations).all()


def test_references_are_the_least_squares_solutions_of_scipy():
    """Whatever the papers print: with these data the numbers of the reference file are the minima, by other software."""
    from scipy.integrate import solve_ivp
    from scipy.optimize import least_squares

    def fitted(rates, start, times, measured, guess):
        def residuals(p):
            run = solve_ivp(lambda t, s: rates(s, p), (0, times[-1]), start, "LSODA", times, rtol=1e-10, atol=1e-11)
            return (run.y.T - measured).ravel()

        return least_squares(residuals, guess, x_scale=guess, xtol=1e-12, ftol=1e-12, gtol=1e-12)

    table = KINETICS["barnes"]
    measured = np.column_stack([table["x"], table["y"]])
    lotka = fitted(
        lambda s, p: (p[0] * s[0] - p[1] * s[0] * s[1], p[1] * s[0] * s[1] - p[2] * s[1]),
        measured[0],
        table["time"],
        measured,
        [1, 1, 1],
    )
    np.testing.assert_allclose(lotka.x, list(table["known start"].values()), atol=6e-4)

    def pinene(s, p):
        back = p[3] * s[2]
        return -(p[0] + p[1]) * s[0], p[0] * s[0], p[1] * s[0] - p[2] * s[2] - back + p[4] * s[4], p[2] * s[2], back - p[4] * s[4]

    table = KINETICS["pinene"]
    found = fitted(pinene, table["start"], table["time"], np.array(table["values"]), table["rates"])
    assert 2 * found.cost == pytest.approx(table["squares"], abs=1e-4)
    np.testing.assert_allclose(found.x, table["rates"], rtol=0.01)
