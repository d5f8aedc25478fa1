"""Equations from Lagrangians: closed forms, minimal against redundant coordinates, and errors."""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp
from sympy.physics.mechanics import dynamicsymbols

import draisine as dr
from draisine.dynamics.stabilization import Baumgarte
from draisine.errors import ModelError
from draisine.symbolic.lagrangian import lagrangian

m, g, l = sp.symbols("m g l", positive=True)
VALUES = {m: 1.3, g: 9.81, l: 0.7}
x, y = dynamicsymbols("x y")
theta = dynamicsymbols("theta")


def cartesian_pendulum(**options):
    """A bob on a rod, in Cartesian coordinates: index three, the multiplier is the rod's force."""
    return lagrangian(
        "rod",
        [x, y],
        kinetic=m * (x.diff() ** 2 + y.diff() ** 2) / 2,
        potential=m * g * y,
        holonomic={"rod": (x**2 + y**2 - l**2) / (2 * l)},
        parameters=VALUES,
        start={x: 0.7, y: 0.0},
        **options,
    )


def minimal_pendulum():
    return lagrangian("angle", [theta], m * l**2 * theta.diff() ** 2 / 2 + m * g * l * sp.cos(theta), parameters=VALUES)


def test_accelerations_and_tension_by_hand():
    e = cartesian_pendulum()
    p = e.default_parameters
    for angle, rate in ((0.0, 0.0), (0.4, -1.3), (2.9, 5.0), (np.pi / 2, 2.0)):
        place = 0.7 * np.array([np.sin(angle), -np.cos(angle)])
        along = np.array([np.cos(angle), np.sin(angle)])
        state = np.concatenate([place, 0.7 * rate * along])
        reported = dict(zip((s.name for s in e.report.outputs), e.report([0.0], state, [], p), strict=True))
        turning = -9.81 / 0.7 * np.sin(angle)
        expected = 0.7 * turning * along - 0.7 * rate**2 * place / 0.7
        assert reported["vdot"] == pytest.approx(expected, abs=1e-12)
        tension = 1.3 * (9.81 * np.cos(angle) + 0.7 * rate**2)
        assert reported["multipliers"] == pytest.approx([-tension], abs=1e-12)  # the rod pulls inward


def test_redundant_and_minimal_coordinates_move_alike():
    method = dr.methods.DOP853(rtol=1e-11, atol=1e-13)
    whole = dr.simulate(cartesian_pendulum(), 5.0, start={"x": 0.0, "x_rate": 3.0, "y": -0.7}, method=method)
    angle = dr.simulate(minimal_pendulum(), 5.0, start={"theta": 0.0, "theta_rate": 3.0 / 0.7}, method=method)
    assert whole["x"] == pytest.approx(0.7 * np.sin(angle["theta"]), abs=1e-8)
    assert whole["y"] == pytest.approx(-0.7 * np.cos(angle["theta"]), abs=1e-8)
    assert whole.energy_drift < 1e-9
    assert whole.constraint_residual["holonomic"] < 1e-10
    assert whole.constraint_residual["holonomic_velocity"] < 1e-10


def test_baumgarte_pulls_back_what_is_off():
    """Without projection an error of the start dies away under the feedback terms, and stays without them."""
    from dataclasses import replace

    def error(stabilization):
        e = replace(cartesian_pendulum(stabilization=stabilization), project=None)
        state = np.array([0.7 + 1e-4, 0.0, 0.0, 0.0])
        from draisine.simulation.run import integrate

        final = integrate(e, state, 2.0, method=dr.methods.DOP853(rtol=1e-11, atol=1e-13)).final_state
        return abs(final[0] ** 2 + final[1] ** 2 - 0.7**2)

    assert error(Baumgarte(20.0, 400.0, 20.0)) < 1e-12
    assert error(None) > 1e-4


def test_cart_and_pole_by_hand():
    cart, pole, u = dynamicsymbols("cart"), dynamicsymbols("pole"), sp.Symbol("u")
    big, small = sp.symbols("M_cart m_pole")
    kinetic = (
        (big + small) * cart.diff() ** 2 / 2
        + small * l * cart.diff() * pole.diff() * sp.cos(pole)
        + small * l**2 * pole.diff() ** 2 / 2
    )
    e = lagrangian(
        "cart_pole",
        [cart, pole],
        kinetic=kinetic,
        potential=small * g * l * sp.cos(pole),
        forces={cart: u},
        inputs=[u],
        parameters={big: 2.0, small: 0.5, l: 0.7, g: 9.81},
        work=True,
    )
    q, w, push = 0.6, -1.2, 3.0
    s, c = np.sin(q), np.cos(q)
    matrix = np.array([[2.5, 0.5 * 0.7 * c], [0.5 * 0.7 * c, 0.5 * 0.49]])
    side = np.array([push + 0.5 * 0.7 * s * w**2, 0.5 * 9.81 * 0.7 * s])
    slope = e.dynamics([0.0], [0.1, q, 0.4, w, 0.0], [push], e.default_parameters)[0]
    assert slope[2:4] == pytest.approx(np.linalg.solve(matrix, side), rel=1e-13)
    assert slope[4] == pytest.approx(push * 0.4)  # power of the push
    run = dr.simulate(e, 2.0, start={"pole": 0.3}, inputs={"u": 1.0}, method=dr.methods.DOP853(rtol=1e-10, atol=1e-12))
    assert run.energy_drift < 1e-9


def test_nonholonomic_skate_equals_the_graph():
    """A skate on a slope, from its Lagrangian and from the graph."""
    turn = dynamicsymbols("turn")
    inertia, slope = sp.symbols("J slope")
    kinetic = m * (x.diff() ** 2 + y.diff() ** 2) / 2 + inertia * turn.diff() ** 2 / 2
    e = lagrangian(
        "skate",
        [x, y, turn],
        kinetic=kinetic,
        potential=m * g * sp.sin(slope) * x,
        nonholonomic={"blade": -sp.sin(turn) * x.diff() + sp.cos(turn) * y.diff()},
        parameters={m: 1.3, inertia: 0.2, g: 9.81, slope: 0.3},
    )
    run = dr.simulate(e, 3.0, start={"turn": 0.4, "turn_rate": 1.7}, method=dr.methods.DOP853(rtol=1e-11, atol=1e-13))
    # closed form: ω constant, speed along the blade v̇ = −g sin α cos θ
    angle = 0.4 + 1.7 * run.time
    speed = -9.81 * np.sin(0.3) * (np.sin(angle) - np.sin(0.4)) / 1.7
    assert run["x_rate"] == pytest.approx(speed * np.cos(angle), abs=1e-9)
    assert run["y_rate"] == pytest.approx(speed * np.sin(angle), abs=1e-9)
    assert run.energy_drift < 1e-9


def test_double_pendulum_keeps_its_energy_and_a_moving_support_does_not():
    a, b = dynamicsymbols("a b")
    t = dynamicsymbols._t
    xs = [l * sp.sin(a), l * sp.sin(a) + l * sp.sin(b)]
    ys = [-l * sp.cos(a), -l * sp.cos(a) - l * sp.cos(b)]
    kinetic = sum(m * (sp.diff(u, t) ** 2 + sp.diff(w, t) ** 2) / 2 for u, w in zip(xs, ys, strict=True))
    e = lagrangian("double", [a, b], kinetic=kinetic, potential=sum(m * g * w for w in ys), parameters=VALUES)
    run = dr.simulate(e, 10.0, start={"a": 2.0, "b": -1.0}, method=dr.methods.DOP853(rtol=1e-11, atol=1e-13))
    assert run.energy_drift < 1e-9
    # rheonomic: the support shakes; ∂L/∂t and ∂p/∂t enter. θ̈ = −(g + s̈) sin θ / l with s = h cos Ωt
    shake = sp.cos(40 * t) / 100
    moving = lagrangian(
        "shaken",
        [theta],
        kinetic=m * (sp.diff(l * sp.sin(theta), t) ** 2 + sp.diff(shake - l * sp.cos(theta), t) ** 2) / 2,
        potential=m * g * (shake - l * sp.cos(theta)),
        parameters=VALUES,
    )
    now, angle = 0.37, 0.8
    slope = moving.dynamics([now], [angle, 1.1, 0.0], [], moving.default_parameters)[0]
    assert slope[1] == pytest.approx(-(9.81 - 16.0 * np.cos(40 * now)) * np.sin(angle) / 0.7, rel=1e-12)


def test_units_reach_the_results():
    e = lagrangian(
        "falling", [x], m * x.diff() ** 2 / 2 - m * g * x, parameters={m: 1.0, g: 9.81}, outputs={"fall": -x},
        units={x: "m", g: "m/s^2", "fall": "m"},
    )  # fmt: skip
    run = dr.simulate(e, 1.0)
    assert [run.channel(name).unit for name in ("x", "x_rate", "fall")] == ["m", "m/s", "m"]
    assert [p.unit for p in e.parameters] == ["", "m/s^2"]


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda: lagrangian("s", [x], m * x.diff() ** 2 - sp.Symbol("k") * x, parameters={m: 1.0}), "'k'.*neither a coordinate"),
        (lambda: lagrangian("s", [x, y], m * x.diff() ** 2, parameters={m: 1.0}), "coordinate 'y' does not appear"),
        (lambda: lagrangian("s", [x, y], m * x.diff() ** 2 - y, parameters={m: 1.0}), "determine the acceleration of 'y_rate'"),
        (
            lambda: lagrangian("s", [x, y], x.diff() ** 2 + y.diff() ** 2, nonholonomic={"odd": x.diff() * y.diff()}),
            "constraint 'odd' is not linear in the velocities",
        ),
        (
            lambda: lagrangian("s", [x, y], x.diff() ** 2 + y.diff() ** 2, holonomic={"a": x + y, "b": 2 * x + 2 * y}),
            "'a', 'b' depend on each other",
        ),
        (lambda: lagrangian("s", [x], x.diff() ** 2, holonomic={"late": x.diff()}), "'late' depends on velocities"),
        (lambda: lagrangian("s", [sp.Symbol("z")], 1), "dynamicsymbols"),
        (lambda: lagrangian("s", [x, x], x.diff() ** 2), "each once"),
        (lambda: lagrangian("s", [x], x.diff() ** 2, forces={y: 1}), "'y', which is not a coordinate"),
        (lambda: lagrangian("s", [x], x.diff(dynamicsymbols._t, 2)), "acceleration"),
        (lambda: lagrangian("s", [x]), "either a Lagrangian"),
        (lambda: lagrangian("s", [x], x.diff() ** 2, start={y: 1.0}), "a start is given for 'y', which is not a coordinate"),
        (lambda: lagrangian("s", [x], x.diff() ** 2, units={"z": "m"}), "a unit is given for 'z', which does not exist"),
        (lambda: lagrangian("s", [x], x.diff() ** 2, units={x: "mm"}), "must be SI: 'm'"),
        (lambda: lagrangian("s", [x], sp.Symbol("m") * x.diff() ** 2, parameters={m: 1.0}), "with other assumptions"),
        (lambda: Baumgarte(alpha=-1.0), "alpha must be positive"),
    ],
)
def test_complaints_name_the_thing(spoil, said):
    with pytest.raises((ModelError, ValueError), match=said):
        spoil()
