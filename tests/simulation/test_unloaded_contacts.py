"""Contacts without load: rounding errors of forces are no forces."""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp

import draisine as dr


@pytest.mark.parametrize("slope", [0.2, -0.13, 0.31])
def test_a_guided_wheel_carries_no_load(slope: float) -> None:
    """The guide along the slope carries the weight: the normal force is zero, and rolling needs a tangential one."""
    model = dr.Model("guided")
    model.body("carrier", 0.0)
    at = (-0.3 * np.sin(slope), 0, 0.3 * np.cos(slope))
    model.prismatic("x", "ground", "carrier", axis=(np.cos(slope), 0, np.sin(slope)), at=at)
    model.body("wheel", 2.0, inertia=(0.05, 0.09, 0.05))
    model.revolute("s", "carrier", "wheel", axis="y", rate="spin")
    model.wheel("rim", "wheel", 0.3)
    model.ground(slope=slope)
    run = dr.simulate(model, 1.0, start={"x_rate": 1.0})
    acceleration = -2 * 9.81 * np.sin(slope) / (2 + 0.09 / 0.3**2)
    assert run["x"][-1] == pytest.approx(1.0 + acceleration / 2, abs=1e-9)
    texts = [str(warning) for warning in run.status.warnings]
    assert not any("would lift off" in text for text in texts)
    (friction,) = [text for text in texts if "friction" in text]
    assert "its normal force is zero up to rounding: it would slip" in friction


def test_an_ensemble_of_one_state_one_input_and_no_parameter_slides() -> None:
    """All slots of the report have one number, and so has the batch."""
    x, s = sp.symbols("x s")
    thermostat = dr.first_order("thermostat", {x: -x + 1 + sp.sign(s - x)}, inputs=[s])
    many = dr.ensemble(thermostat, 5.0, {"x": [0.0, 0.2]}, inputs={"s": 0.5}, outputs=["x"])
    assert many["x.end"] == pytest.approx([0.5, 0.5], abs=1e-12)
