"""Events are zeros: where a function changes its sign at a pole or at the cut of an angle, there is none."""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp

import draisine as dr


def test_poles_and_cuts_are_no_zeros() -> None:
    """On cos t: zeros in closed form, beside poles and cuts."""
    x, v = sp.symbols("x v")
    circle = dr.first_order("circle", {x: v, v: -x})
    rng = np.random.default_rng(4)
    turn = np.arange(1, 4) * np.pi
    for expression, zeros in (
        ("1/x", []),
        ("tan(t)", turn),
        ("1/(x - 0.5) + 2", [np.pi / 2, 3 * np.pi / 2, 5 * np.pi / 2]),
        ("atan2(-v, x)", [2 * np.pi]),
        ("sign(x)", [np.pi / 2, 3 * np.pi / 2, 5 * np.pi / 2]),
        *((f"1/(x - {pole:.6f})", []) for pole in rng.uniform(-0.9, 0.9, 5)),
    ):
        run = dr.simulate(circle, 10.0, start={"x": 1.0}, events=[dr.Event("zero", expression)])
        assert [event.time for event in run.events] == pytest.approx(list(zeros), abs=1e-5), expression


def test_the_wrap_of_a_heading_is_no_zero() -> None:
    model = dr.Model("top")
    model.body("top", 1.0, inertia=(1, 1, 1))
    model.free("top")
    for offset in (0.0, 1.0, -2.0):
        run = dr.simulate(model, 10.0, start={"top_wz": 2.0}, events=[dr.Event("north", f"heading(top) - ({offset})")])
        first = (offset % (2 * np.pi) or 2 * np.pi) / 2
        assert [event.time for event in run.events] == pytest.approx(np.arange(first, 10.0, np.pi), abs=1e-6)


@pytest.mark.parametrize("stiffness", [1e3, 1e6])
def test_zeros_in_steps_near_the_rounding_error_of_time_are_events(stiffness: float) -> None:
    """Van der Pol's relaxation oscillation passes zero in steps of 1e-12 s; its half period is (3 − 2 ln 2)/2."""
    x, y = sp.symbols("x y")
    relaxed = dr.first_order("relaxed", {x: y, y: ((1 - x**2) * y - x) * stiffness**2})
    half = (3.0 - 2.0 * np.log(2.0)) / 2 + 1.5 * 2.338107 * stiffness ** (-4 / 3)
    method = dr.methods.Radau(rtol=1e-8, atol=1e-10)
    for expression in ("x", "sin(x)", "tanh(3*x)"):
        run = dr.simulate(relaxed, 4.0, start={"x": 2.0, "y": 0.0}, events=[dr.Event("zero", expression)], method=method)
        times = [event.time for event in run.events]
        assert len(times) == 4
        assert np.diff(times) == pytest.approx([half] * 3, abs=1e-4), expression
