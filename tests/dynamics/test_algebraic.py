"""Differential-algebraic systems typed by hand: their equations, hidden constraints, and errors."""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp
from sympy.physics.mechanics import dynamicsymbols

import draisine as dr
from draisine.dynamics.input_laws import with_laws
from draisine.errors import ModelError
from draisine.expr.expression import parse
from draisine.program.equations import Kind
from draisine.program.program import DaeResidual
from draisine.simulation.initial.consistent_start import consistent_start

x, y, vx, vy, pull, g = sp.symbols("x y vx vy pull g")
t, z, k, u = sp.symbols("t z k u")
GRAVITY = 9.81


def pendulum(**options) -> dr.Equations:
    return dr.symbolic.semi_explicit(
        "pendulum",
        {x: vx, y: vy, vx: -x * pull, vy: -y * pull - g},
        constraints={"length": x**2 + y**2 - 1},
        unknowns=[pull],
        parameters={g: GRAVITY},
        start={x: 1.0},
        **options,
    )


def test_pendulum_as_posed():
    e = pendulum(outputs={"height": y + 1, "weight": pull * g}, units={x: "m", pull: "1/s^2"})
    assert isinstance(e.dynamics, DaeResidual)
    assert [q.name for q in e.coordinates] == ["x", "y", "vx", "vy", "pull"] and e.velocities == ()
    assert e.dynamics.differential == (True, True, True, True, False)
    rates = np.array([0.1, 0.2, 0.3, 0.4, 0.5])
    state = np.array([0.6, -0.8, 1.1, 1.2, 3.0])
    residual = e.dynamics([0.0], state, rates, [], [GRAVITY])
    wanted = [0.1 - 1.1, 0.2 - 1.2, 0.3 + 0.6 * 3, 0.4 - 0.8 * 3 + GRAVITY, 0.0]
    assert residual == pytest.approx(wanted, abs=1e-14)
    assert e.report([0.0], state, [], [GRAVITY])[3] == pytest.approx([0.2, 3 * GRAVITY])
    assert [q.unit for q in e.coordinates] == ["m", "", "", "", "1/s^2"]


def test_hidden_constraints_are_the_derivatives_by_hand():
    e = pendulum()
    assert [(c.name, c.kind) for c in e.constraints] == [
        ("length", Kind.ALGEBRAIC),
        ("length_rate", Kind.HIDDEN),
        ("length_rate_rate", Kind.HIDDEN),
    ]
    values = dict(zip((x, y, vx, vy, pull, g), (0.5, -0.7, 1.1, 0.4, 2.0, GRAVITY), strict=True))
    rates = {x: vx, y: vy, vx: -x * pull, vy: -y * pull - g}
    row, wanted = x**2 + y**2 - 1, []
    for _ in range(3):
        wanted.append(float(row.subs(values)))
        row = sum(row.diff(s) * rate for s, rate in rates.items())
    found = e.motion([0.0], [0.5, -0.7, 1.1, 0.4, 2.0], [], [], [GRAVITY])[0]
    assert found == pytest.approx(wanted, rel=1e-14)
    assert e.report([0.0], [0.5, -0.7, 1.1, 0.4, 2.0], [], [GRAVITY])[4] == pytest.approx(wanted, rel=1e-14)


def test_a_start_fulfils_what_is_hidden():
    start = consistent_start(pendulum(), {"x": 0.6, "vx": 0.8})
    px, py, wx, wy, force = start.x
    assert (px, wx) == (0.6, 0.8)
    assert px**2 + py**2 == pytest.approx(1.0) and px * wx + py * wy == pytest.approx(0.0, abs=1e-10)
    assert force == pytest.approx(wx**2 + wy**2 - GRAVITY * py)


def test_each_equation_with_its_unknown():
    e = dr.symbolic.semi_explicit("diode", {x: -z}, algebraic={z: z + k * z**3 - x}, parameters={k: 0.5}, start={x: 1.5})
    assert [c.name for c in e.constraints] == ["z_equation"] and e.dynamics.index == (1, 1)
    assert consistent_start(e, {"x": 1.5}).x[1] == pytest.approx(1.0)


def test_fully_implicit_and_the_order_of_unknowns():
    """A pendulum with a bob of mass m that nobody divides by: rates are found together with the rod's force."""
    px, py, wx, wy, rod = dynamicsymbols("px py wx wy rod")
    m = sp.Symbol("m")
    e = dr.symbolic.implicit(
        "implicit",
        {
            "length": px**2 + py**2 - 1,
            "x": px.diff() - wx,
            "y": py.diff() - wy,
            "across": m * wx.diff() + px * rod,
            "down": m * wy.diff() + py * rod + m * g,
        },
        [rod, px, py, wx, wy],
        parameters={m: 2.0, g: GRAVITY},
    )
    assert [q.name for q in e.coordinates] == ["px", "py", "wx", "wy", "rod"]
    assert e.dynamics.index == (1, 1, 2, 2, 3)
    assert [c.name for c in e.constraints] == ["length", "length_rate", "length_rate_rate"]
    # rates of wx and wy are put into the last condition: 2 (v² − rod/m − g y) for length 1
    found = e.motion([0.0], [0.6, -0.8, 0.8, 0.6, 5.0], [], [], [2.0, GRAVITY])[0]
    assert found[2] == pytest.approx(2 * (1.0 - 5.0 / 2.0 + 0.8 * GRAVITY))


def test_rates_may_be_plain_symbols():
    rate = sp.Symbol("x_dot")
    e = dr.symbolic.implicit("decay", {"law": rate + k * x}, [x], rates={x: rate}, parameters={k: 2.0})
    assert e.dynamics([0.0], [3.0], [1.0], [], [2.0]).tolist() == [7.0]


def test_singular_perturbation_keeps_its_small_number_open():
    """ε ẏ = … is a differential equation for ε > 0 and an algebraic one for ε = 0; the same equations serve both."""
    e = dr.gallery.van_der_pol_singular()
    assert e.dynamics.differential == (True, True) and e.constraints == ()
    assert [dr.dae.index_of(e, parameters={"eps": eps}).differential for eps in (1e-6, 0.0)] == [0, 1]


def test_rows_whose_rates_cancel_are_combined():
    """A capacitor between two nodes: both nodes seem to have a rate, their sum has none."""
    v1, v2 = dynamicsymbols("v1 v2")
    c, conductance = sp.symbols("c conductance")
    current = c * (v1.diff() - v2.diff())
    e = dr.symbolic.implicit(
        "nodes",
        {"first": current + conductance * (v1 - sp.sin(t)), "second": -current + conductance * v2},
        [v1, v2],
        parameters={c: 1e-6, conductance: 1e-3},
    )
    (constraint,) = e.constraints
    assert constraint.name.endswith("_combined")
    found = e.motion([0.5], [0.3, 0.4], [], [], [1e-6, 1e-3])[0]
    assert abs(found[0]) == pytest.approx(1e-3 * abs(0.3 - np.sin(0.5) + 0.4))
    assert any("'first', 'second' are structurally independent" in note for note in e.notes)


def test_laws_move_hidden_constraints():
    """ẋ = z, x = u: with u = sin 3t the hidden condition is z = 3 cos 3t; with u at rest it is z = 0."""
    e = dr.symbolic.semi_explicit("follower", {x: z}, constraints={"path": x - u}, unknowns=[z], inputs=[u])
    assert e.motion([0.2], [0.0, 0.7], [], [0.1], [])[0] == pytest.approx([-0.1, 0.7])
    driven = with_laws(e, {"u": parse("sin(3*t)")}, (dr.Event("up", "z - 1"),))
    found = driven.motion([0.2], [0.0, 0.7], [], [0.1], [])[0]
    assert found == pytest.approx([-np.sin(0.6), 0.7 - 3 * np.cos(0.6)])
    assert driven.dynamics([0.2], [0.4, 0.7], [0.5, 0.0], [9.9], []) == pytest.approx([0.5 - 0.7, 0.4 - np.sin(0.6)])
    assert driven.events is not None and driven.events([0.2], [0.0, 0.7], [0.0], [])[0] == pytest.approx([-0.3])


def test_laws_of_feedback_enter_residuals():
    e = dr.symbolic.semi_explicit("tank", {x: -z + u}, algebraic={z: z - k * x}, inputs=[u], parameters={k: 2.0})
    driven = with_laws(e, {"u": parse("k*z - x")})
    assert driven.dynamics([0.0], [1.0, 3.0], [0.0, 0.0], [5.0], [2.0]) == pytest.approx([3.0 - (6.0 - 1.0), 1.0])
    assert [c.name for c in driven.constraints] == ["z_equation"]


def test_explicit_is_refused_with_its_cure():
    with pytest.raises(ValueError, match="reduce its index first"):
        _ = pendulum().explicit


w = dynamicsymbols("w")


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (
            lambda: dr.symbolic.semi_explicit("s", {x: z}, unknowns=[z]),
            "2 unknowns and 1 equations.*found: z; .*: none. Give 1 more eq",
        ),
        (
            lambda: dr.symbolic.semi_explicit("s", {x: -x}, constraints={"c": x - 1}),
            "1 unknowns and 2 equations.*Give 1 more unknowns",
        ),
        (lambda: dr.symbolic.semi_explicit("s", {}), "at least one unknown"),
        (
            lambda: dr.symbolic.semi_explicit("s", {x: z}, constraints={"c": k - t}, unknowns=[z], parameters={k: 1}),
            "'c' contains no unknown",
        ),
        (
            lambda: dr.symbolic.semi_explicit("s", {x: -x}, constraints={"c": x - t}, unknowns=[z]),
            "unknown 'z' is in no equation",
        ),
        (
            lambda: dr.symbolic.semi_explicit("s", {x: k * z}, constraints={"c": x}, unknowns=[z]),
            "rate of 'x' uses 'k', which is neither",
        ),
        (
            lambda: dr.symbolic.semi_explicit("s", {x: z}, constraints={"c": x - w.diff()}, unknowns=[z]),
            "contains the rate .*implicit",
        ),
        (lambda: dr.symbolic.semi_explicit("s", {x: z}, algebraic={x: x - t}), "'x' is a state or unknown twice"),
        (
            lambda: dr.symbolic.semi_explicit("s", {x: z}, constraints={"c": x}, unknowns=[z], start={y: 1}),
            "'y', which is not a state or un",
        ),
        (
            lambda: dr.symbolic.implicit("s", {"a": w.diff(t, 2) + w}, [w]),
            "derivative of order 2; make the rate an unknown w_rate",
        ),
        (lambda: dr.symbolic.implicit("s", {"a": w.diff() + x}, [x]), "rate of something that is not an unknown; add 'w'"),
        (
            lambda: dr.symbolic.implicit("s", {"a": w.diff() + w}, [w], rates={x: y}),
            "a rate is given for 'x', which is not an unknown",
        ),
        (lambda: dr.symbolic.implicit("s", [w.diff() - x], [w, x]), "2 unknowns and 1 equations"),
        (
            lambda: dr.symbolic.semi_explicit("s", {x: y + z}, constraints={"a": x - t, "b": x - 2 * t}, unknowns=[y, z]),
            "the equations 'a', 'b' contain only 'x', too few for them; and 'y', 'z' are to be found from only 'x_rate'",
        ),
        (
            lambda: dr.symbolic.implicit("s", {"a": x - t, "b": x**2 - k, "c": w.diff() + z * x}, [w, x, z], parameters={k: 1.0}),
            "the equations 'a', 'b' contain only 'x', too few for them; and 'w', 'z' are to be found from only 'c'",
        ),
    ],
)
def test_complaints_name_the_thing(spoil, said):
    with pytest.raises(ModelError, match=said):
        spoil()
