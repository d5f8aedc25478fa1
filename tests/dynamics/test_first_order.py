"""First-order systems typed by hand."""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp
from sympy.physics.mechanics import dynamicsymbols

import draisine as dr
from draisine.errors import ModelError
from draisine.symbolic.first_order import first_order

x, y, mu, k, u = sp.symbols("x y mu k u")
t = sp.Symbol("t")
EXACT = dr.methods.DOP853(rtol=1e-11, atol=1e-13)


def van_der_pol(**options):
    return first_order("van_der_pol", {x: y, y: mu * (1 - x**2) * y - x}, parameters={mu: 5.0}, start={x: 2.0}, **options)


def test_van_der_pol_against_scipy():
    from scipy.integrate import solve_ivp

    def slope(_, s):
        return [s[1], 5.0 * (1 - s[0] ** 2) * s[1] - s[0]]

    run = dr.simulate(van_der_pol(), 20.0, method=EXACT)
    other = solve_ivp(slope, (0.0, 20.0), [2.0, 0.0], method="LSODA", rtol=1e-12, atol=1e-13, t_eval=run.time)
    assert run["x"] == pytest.approx(other.y[0], abs=2e-7)
    assert run["y"] == pytest.approx(other.y[1], abs=2e-6)
    assert run.energy_drift is None and run.constraint_residual == {}


def test_van_der_pol_ends_in_its_cycle():
    """Amplitude 2.0215 and period 11.6122 for μ = 5, from whatever start; by LSODA at rtol 1e-12 the same digits."""
    rising = dr.Event("rising", "x", "record", 1)
    run = dr.simulate(van_der_pol(), 60.0, start={"x": 0.1}, method=EXACT, events=[rising])
    times = [event.time for event in run.events]
    assert np.diff(times)[-2:] == pytest.approx([11.6122, 11.6122], abs=1e-4)
    assert run["x"][run.time > 30].max() == pytest.approx(2.0215, abs=1e-3)


def test_lotka_volterra_keeps_its_invariant():
    prey, hunters = dynamicsymbols("prey hunters")  # functions of time serve as well
    a, b = sp.symbols("growth death", positive=True)
    invariant = prey - b * sp.log(prey) + hunters - a * sp.log(hunters)
    e = first_order(
        "lotka_volterra",
        {prey: prey * (a - hunters), hunters: hunters * (prey - b)},
        parameters={a: 1.5, b: 1.0},
        outputs={"invariant": invariant},
        start={prey: 1.0, hunters: 0.5},
    )
    run = dr.simulate(e, 50.0, method=EXACT)
    assert np.ptp(run["invariant"]) < 1e-9
    assert np.ptp(run["prey"]) > 1.0  # it does move
    # the invariant is one of these parameters only
    other = dr.simulate(e, 50.0, parameters={"growth": 2.0}, method=EXACT)
    assert np.ptp(other["invariant"]) < 1e-9 and abs(other["invariant"][0] - run["invariant"][0]) > 0.1


def test_inputs_and_time():
    """ẋ = −k (x − u) + sin t, with u constant, by a law, and by Python."""
    e = first_order(
        "lag", {x: -k * (x - u) + sp.sin(t)}, parameters={k: 2.0}, inputs=[u], start={x: 1.0}, units={x: "m", k: "1/s"}
    )
    run = dr.simulate(e, 3.0, inputs={"u": 0.5}, method=EXACT)
    driven = (2.0 * np.sin(run.time) - np.cos(run.time)) / 5.0
    exact = 0.5 + driven + (1.0 - 0.5 + 0.2) * np.exp(-2.0 * run.time)
    assert run["x"] == pytest.approx(exact, abs=1e-9)
    assert (run.channel("x").unit, run["u"][5]) == ("m", 0.5)
    law = dr.simulate(e, 3.0, inputs={"u": "x - cos(t)/k"}, method=EXACT)  # what is left: ẋ = −cos t + sin t
    assert law["x"] == pytest.approx(2.0 - np.sin(law.time) - np.cos(law.time), abs=1e-9)
    asked = dr.simulate(e, 3.0, control=lambda now, s: {"u": s["x"] - np.cos(now) / 2.0}, method=EXACT)
    assert asked["x"] == pytest.approx(law["x"], abs=1e-8)
    assert law["u"] == pytest.approx(law["x"] - np.cos(law.time) / 2.0, abs=1e-12)


def test_outputs_can_be_targeted_for():
    e = first_order("turn", {x: -y, y: x}, outputs={"radius": sp.sqrt(x**2 + y**2)}, start={x: 1.0, y: 0.5})
    run = dr.simulate(e, 1.0, start={"radius": 3.0, "y": 1.0})
    assert run["radius"] == pytest.approx(np.full_like(run.time, 3.0), abs=1e-6) and run["y"][0] == 1.0


def test_derivatives_are_exact():
    e = van_der_pol()
    jacobian = e.dynamics.jacobian("xdot", "x")([0.0], [1.5, -0.4], [], [5.0])[0]
    assert jacobian == pytest.approx(np.array([[0.0, 1.0], [-2 * 5 * 1.5 * -0.4 - 1, 5 * (1 - 1.5**2)]]))


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda: first_order("s", {x: k * x}), "the rate of 'x' uses 'k', which is neither a state"),
        (lambda: first_order("s", {x: sp.Symbol("mu", positive=True) * x}, parameters={mu: 1.0}), "with other assumptions"),
        (lambda: first_order("s", {}), "at least one state"),
        (lambda: first_order("s", {x: -x}, parameters={x: 1.0}), "'x' is both a state and a parameter"),
        (lambda: first_order("s", {x: -x}, outputs={"x": 2 * x}), "'x' is both a state and an output"),
        (lambda: first_order("s", {t: sp.Integer(1)}), "'t' is both time and a state"),
        (lambda: first_order("s", {x: -x}, start={y: 1.0}), "'y', which is not a state"),
        (lambda: first_order("s", {x: -x}, units={y: "m"}), "'y', which does not exist"),
        (lambda: first_order("s", {x: -x}, units={x: "cm"}), "must be SI: 'm'"),
        (lambda: first_order("s", {x: -x}, units={x: "furlongs_"}), "unit of 'x'"),
        (lambda: first_order("s", {x: sp.gamma(x)}), "the rate of 'x': gamma has no counterpart"),
    ],
)
def test_complaints_name_the_thing(spoil, said):
    with pytest.raises(ModelError, match=said):
        spoil()
