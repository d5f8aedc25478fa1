"""Optimal control of plants that switch: adjoint gradients against central differences, and what other methods say."""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp
from sympy.physics.mechanics import dynamicsymbols

import draisine as dr

x, v, force, friction, begin = sp.symbols("x v force friction begin")
t = dynamicsymbols._t
FORCES = np.array([1.2, 2.0, -3.0, -2.0, 0.1])


def _cost(
    friction_value: float = 0.3, begin_value: float = 0.55, at: float = 0.0, speed: float = 0.1
) -> dr.OptimalControlProblem:
    """A cart with friction, a step of the ground and a push, whose cost jumps too."""
    push = force - friction * sp.sign(v) - sp.Piecewise((1, x > 0.4), (0, True)) + sp.Piecewise((0.5, t > begin), (0, True))
    values = {friction: friction_value, begin: begin_value}
    cart = dr.first_order("cart", {x: v, v: push}, inputs=[force], parameters=values)
    return dr.maneuver(cart).start(x=at, v=speed).minimize(final="x", integral="where(v > 0.9, 1, 0) + 0.1*v^2")


def test_gradient() -> None:
    found = dr.optimal.gradient(_cost(), {"force": FORCES}, duration=2.0)

    def value(forces: np.ndarray = FORCES, duration: float = 2.0, **given: float) -> float:
        return dr.optimal.gradient(_cost(**given), {"force": forces}, duration=duration).value

    h = 1e-5
    expected = [(value(FORCES + row) - value(FORCES - row)) / (2 * h) for row in h * np.eye(5)]
    np.testing.assert_allclose(found.controls["force"], expected, atol=1e-7)
    assert found.duration == pytest.approx((value(duration=2 + h) - value(duration=2 - h)) / (2 * h), abs=1e-7)
    for name, nominal, gradient in (
        ("friction_value", 0.3, found.parameters["friction"]),
        ("begin_value", 0.55, found.parameters["begin"]),
        ("at", 0.0, found.start["x"]),
        ("speed", 0.1, found.start["v"]),
    ):
        difference = (value(**{name: nominal + h}) - value(**{name: nominal - h})) / (2 * h)
        assert gradient == pytest.approx(difference, abs=1e-7), name
    assert not found.notes


def test_a_start_on_a_surface_is_noted() -> None:
    found = dr.optimal.gradient(_cost(speed=0.0), {"force": FORCES}, duration=2.0)
    assert any("starts on the switching surface of sign(v)" in note for note in found.notes)


def test_descent_across_switches() -> None:
    """The least effort to swing a block to a place against dry friction, by the adjoint method; collocation notes the jumps."""
    block = dr.first_order("block", {x: v, v: force - x - friction * sp.sign(v)}, inputs=[force], parameters={friction: 0.2})
    swing = dr.maneuver(block).start(x=1.0, v=0.1).finish(x=0.5, v=0.0).duration(6.0).minimize(integral="force^2")
    found = swing.solve(dr.optimal.Adjoint(pieces=6))
    assert found.solved and found.kkt_error < 1e-5 and found.discrepancy < 1e-8
    forces = found.only.input("force")
    assert np.ptp(np.sign(found.trajectory["v"])) == 2.0 and len(forces) >= 6  # it swings back and forth
    coarse = swing.solve(dr.optimal.Collocation("radau", 2, 4))
    assert any("rates jump at sign(v)" in note for note in coarse.notes)


@pytest.mark.parametrize(
    "law",
    [
        "a*tanh((t - c)/w)",
        "a*exp(-((t - c)/w)^2) - a*max(x - 0.1, 0)",
        "a*where(t < c, 0, where(t < c + w, sin(pi*(t - c)/w)^2, 0))",
        "-a*max(x - 0.1, 0)*x",
        "a*logged(t - c)",
    ],
)
def test_gradients_of_short_pulses_and_kinks(law: str) -> None:
    """Equal steps would pass over a pulse, or converge slowly: derivatives are those of forward sensitivities."""
    m = dr.Model("block")
    m.gravity(0)
    m.body("block", 1.0, inertia=(1, 1, 1))
    m.prismatic("x", "ground", "block")
    m.generalized_force("x", m.input("f", "N"))
    for name, value in (("a", 1.3), ("c", 1.234567), ("w", 0.002)):
        m.parameter(name, value)
    m.table("logged", [-9.0, -0.01, 0.0, 0.01, 9.0], [0.0, 0.0, 5.0, 0.0, 0.0], "linear")
    m.generalized_force("x", f"{law} - 3*x + 2*sin(2*t)")
    start, names = {"x": 0.4, "x_rate": -0.2}, ["a", "c", "w"]
    exact = dr.methods.DOP853(rtol=1e-11, atol=1e-12)
    run = dr.simulate(m, 3.0, start=start, sensitivity=names, method=exact, samples=2)
    found = dr.optimal.gradient(dr.maneuver(m).start(**start).minimize(final="x"), {"f": [0.0, 0.0]}, duration=3.0)
    assert found.value == pytest.approx(run["x"][-1], abs=1e-8)
    for name in names:
        assert found.parameters[name] == pytest.approx(run.sensitivity["x", name][-1], rel=1e-6, abs=1e-7), name
