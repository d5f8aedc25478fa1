"""Structural and differential index of systems whose index is known."""

from __future__ import annotations

import json

import numpy as np
import pytest
import sympy as sp
from known_index import hessenberg, kronecker, pendulum, reissig, robot
from sympy.physics.mechanics import dynamicsymbols

import draisine as dr
from draisine.dynamics.dae.derivative_array import DerivativeArray, FixedArguments
from draisine.errors import ArgumentError, ModelError

t = sp.Symbol("t")
NOTHING = np.zeros(0)


def test_derivative_array_is_sympy_s():
    """Values and Jacobian of [F; Ḟ; F̈; F⃛] of a nonlinear implicit system, differentiated by hand in SymPy."""
    y1, y2, a = *dynamicsymbols("y1 y2"), sp.Symbol("a")
    rows = [y1.diff() * sp.exp(y2) - a * sp.sin(t * y1), y2.diff() * y1**2 + sp.sqrt(3 + y2) - t]
    e = dr.symbolic.implicit("two", {"f": rows[0], "g": rows[1]}, [y1, y2], parameters={a: 1.3})
    jets = np.random.default_rng(3).normal(size=(5, 2)) * 0.5
    names = [[sp.Symbol(f"j{k}_{i}") for i in range(2)] for k in range(5)]
    order = [(y.diff(t, k) if k else y, names[k][i]) for k in range(4, -1, -1) for i, y in enumerate((y1, y2))]
    wanted = [row.diff(t, k).subs(order) for k in range(4) for row in rows]
    flat = [name for level in names for name in level]
    numbers = {a: 1.3, t: 0.4, **dict(zip(flat, jets.ravel(), strict=True))}
    values, slope = DerivativeArray(e.dynamics, 3).evaluate(jets, FixedArguments(0.4, NOTHING, np.array([1.3])))
    assert values == pytest.approx([float(w.subs(numbers)) for w in wanted], rel=1e-12)
    assert slope == pytest.approx(
        np.array([[float(w.diff(j).subs(numbers)) for j in flat] for w in wanted]), rel=1e-12, abs=1e-13
    )


def test_pendulum_in_words():
    report = dr.dae.index_of(pendulum())
    assert (report.structural, report.differential, report.perturbation, report.freedoms) == (3, 3, 3, 2)
    assert report.unknowns == {"x": 1, "y": 1, "vx": 2, "vy": 2, "pull": 3}
    assert [str(step) for step in report.steps] == [
        "'length' undifferentiated: a condition on x, y",
        "'length' differentiated once: a hidden condition on vx, vy",
        "'length' differentiated twice gives pull",
    ]
    assert [(p.times, p.conditions, p.open) for p in report.rounds] == [
        (0, 1, ("pull",)),
        (1, 2, ("pull",)),
        (2, 3, ("pull",)),
        (3, 3, ()),
    ]
    assert report.margin is not None and report.margin[0] > 1e-3 and report.margin[1] < 1e-14
    assert "differential index 3" in str(report)
    assert json.loads(json.dumps(report.as_data()))["steps"][1]["said"].endswith("on vx, vy")


def test_the_point_is_consistent_and_close():
    report = dr.dae.index_of(pendulum(), {"x": 0.6, "vx": 0.5})
    p = report.point
    assert (p["x"], p["vx"]) == (0.6, 0.5)
    assert p["x"] ** 2 + p["y"] ** 2 == pytest.approx(1.0) and p["x"] * p["vx"] + p["y"] * p["vy"] == pytest.approx(0, abs=1e-9)
    assert p["pull"] == pytest.approx(p["vx"] ** 2 + p["vy"] ** 2 - 10 * p["y"])


@pytest.mark.parametrize("index", [2, 3, 4])
def test_hessenberg_forms(index):
    report = dr.dae.index_of(hessenberg(index), elsewhere=0)
    assert (report.structural, report.differential, report.perturbation, report.freedoms) == (index,) * 3 + (0,)
    assert report.unknowns == {f"x{k}": k for k in range(1, index)} | {"z": index}


@pytest.mark.parametrize("index", [1, 2, 3, 4])
def test_pencils_of_known_index(index):
    """Behind full matrices structure sees an ordinary system; ranks see Kronecker's index, and so does the pencil itself."""
    equations, e, a = kronecker(index, seed=index)
    report = dr.dae.index_of(equations, elsewhere=0)
    assert (report.structural, report.differential, report.perturbation, report.freedoms) == (0, index, index, 2)
    assert any("terms cancel" in s for s in report.sentences)
    # the index of a pencil: powers of (E s + A)⁻¹E stop losing rank there
    shifted = np.linalg.solve(3.7 * e + a, e)
    ranks = [np.linalg.matrix_rank(np.linalg.matrix_power(shifted, k), tol=1e-9) for k in range(index + 2)]
    assert next(k for k in range(index + 1) if ranks[k] == ranks[k + 1]) == index


def test_circuits():
    """A voltage source across a capacitor: the current needs the source's rate, index 2; with a resistor between, index 1."""
    e1, e2, i = dynamicsymbols("e1 e2 i")
    c, r = sp.symbols("c r")
    values = {c: 1e-6, r: 1e3}
    loop = dr.symbolic.implicit(
        "loop", {"node": c * e1.diff() + i, "source": e1 - sp.sin(t)}, [e1, i], parameters={c: 1e-6}, start={i: 0.0}
    )
    series = dr.symbolic.implicit(
        "series",
        {"first": (e1 - e2) / r + i, "second": (e2 - e1) / r + c * e2.diff(), "source": e1 - sp.sin(t)},
        [e1, e2, i],
        parameters=values,
    )
    assert [(rep.structural, rep.differential) for rep in (dr.dae.index_of(loop), dr.dae.index_of(series))] == [(2, 2), (1, 1)]
    assert dr.dae.index_of(loop).unknowns == {"e1": 1, "i": 2}


def test_structure_may_ask_for_too_much():
    report = dr.dae.index_of(reissig(), elsewhere=0)
    assert (report.structural, report.differential, report.perturbation, report.freedoms) == (3, 1, 1, 2)
    assert any("requires 3 differentiations where 1 suffice" in s for s in report.sentences)


def test_structure_may_promise_too_much():
    report = dr.dae.index_of(robot(), elsewhere=0)
    assert (report.structural, report.differential, report.freedoms) == (3, 5, 0)
    assert report.point["v1"] == pytest.approx(-1.0) and report.point["v3"] == pytest.approx(0.0, abs=1e-9)  # x₁ = 1 − eᵗ
    assert [p.conditions for p in report.rounds] == [2, 4, 6, 7, 8, 8]
    assert report.steps == () and any("the structural index is 3" in s for s in report.sentences)
    with pytest.raises(ModelError, match="Combine the equations by hand"):
        dr.dae.reduce_index(robot())


def test_the_index_changes_between_branches():
    equations = dr.gallery.singular_constraint()
    first, second = (dr.dae.index_of(equations, {"y2": branch}) for branch in (0.0, 1.0))
    assert (first.differential, second.differential) == (1, 2) and first.structural == second.structural == 1
    assert (first.freedoms, second.freedoms) == (1, 0)
    assert [place.differential for place in first.elsewhere] == [2]
    assert any("the index changes: it is 2 at" in s for s in first.sentences)
    assert any("'y3' is not in 'blend'" in s for s in second.sentences)
    assert second.perturbation is None  # a disturbance may leave the branch


def test_ordinary_equations_have_index_zero():
    y, k = dynamicsymbols("y"), sp.Symbol("k")
    implicit = dr.dae.index_of(dr.symbolic.implicit("decay", {"law": k * y.diff() + y}, [y], parameters={k: 2.0}))
    assert (implicit.structural, implicit.differential, implicit.perturbation) == (0, 0, 0)
    assert dr.dae.index_of(dr.gallery.van_der_pol()).differential == 0


def test_mechanisms_as_posed():
    """Equations with multipliers and described models are posed first: holonomic constraints make index 3, blades alone 2."""
    by_hand = dr.dae.index_of(dr.gallery.spherical_pendulum(), elsewhere=0)
    assert (by_hand.structural, by_hand.differential, by_hand.freedoms) == (3, 3, 4)
    sleigh = dr.dae.index_of(dr.gallery.chaplygin_sleigh())
    assert (sleigh.structural, sleigh.differential) == (2, 2)


def test_masses_and_constraints_settle_the_index_of_mechanisms():
    """Counted by hand: a bicycle has 9 coordinates, 2 heights and 4 rolling conditions, so that a start chooses 7 + 3 numbers."""
    report = dr.dae.index_of(dr.gallery.bicycle())
    assert (report.structural, report.differential, report.perturbation, report.freedoms) == (3, 3, 3, 10)
    assert report.rounds == () and "DAE with multipliers" in report.sentences[0]  # no derivative array was needed
    # targets are held, the others move onto the constraints
    leaning = dr.dae.index_of(dr.gallery.simple_pendulum(), {"z1": -0.6})
    assert (leaning.point["x1"], leaning.point["z1"]) == pytest.approx((0.8, -0.6), abs=1e-12)
    assert leaning.differential == 3
    # what holds a multiplier, and who asks for other points, is left to derivative arrays
    assert dr.dae.index_of(dr.gallery.simple_pendulum(), elsewhere=1).rounds


def test_mechanisms_without_enough_mass_are_left_to_derivative_arrays():
    """0 = −∂V/∂y gives y, its first derivative the rate of y, its second that of the rate."""
    x, y = dynamicsymbols("x y")
    m = sp.Symbol("m")
    energies = {"kinetic": (x.diff() ** 2 + m * y.diff() ** 2) / 2, "potential": (y - x) ** 2 + x**2 / 2 + y**2}
    chain = dr.lagrangian("chain", [x, y], **energies, parameters={m: 1.0})
    assert [dr.dae.index_of(chain, parameters={"m": mass}).differential for mass in (1.0, 0.0)] == [0, 2]
    tied = dr.lagrangian("tied", [x, y], **energies, holonomic={"held": x - y**3}, parameters={m: 1.0}, start={x: 1, y: 1})
    # without its mass the balance of y gives the multiplier as it stands: the index is lower though accelerations are determined
    assert [dr.dae.index_of(tied, parameters={"m": mass}).differential for mass in (1.0, 0.0)] == [3, 2]
    assert dr.diagnose(tied, parameters={"m": 0.0}).index.differential == 2


def test_laws_count():
    """ẋ = z, x = u: with the law put in, the index is the same; the point moves with it."""
    from draisine.dynamics.input_laws import with_laws
    from draisine.expr.expression import parse

    x, z, u = sp.symbols("x z u")
    e = dr.symbolic.semi_explicit("follower", {x: z}, constraints={"path": x - u}, unknowns=[z], inputs=[u])
    assert dr.dae.index_of(e, inputs={"u": 0.7}).point == pytest.approx({"x": 0.7, "z": 0.0})
    driven = dr.dae.index_of(with_laws(e, {"u": parse("sin(3*t)")}), time=0.2)
    assert driven.differential == 2 and driven.point == pytest.approx({"x": np.sin(0.6), "z": 3 * np.cos(0.6)})


def test_no_consistent_point_is_said():
    x, z = sp.symbols("x z")
    e = dr.symbolic.semi_explicit("never", {x: z}, constraints={"c": x**2 + z**2 + 1}, unknowns=[z], start={z: 1.0})
    report = dr.dae.index_of(e, elsewhere=0)
    assert report.differential is None and any("no consistent point" in s for s in report.sentences)


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (lambda: dr.dae.index_of(pendulum(), {"xx": 1.0}), "no unknown 'xx'"),
        (lambda: dr.dae.index_of(pendulum(), [1.0, 2.0]), "a point has 5 numbers"),
        (lambda: dr.dae.index_of(pendulum(), parameters={"m": 1.0}), "no parameter 'm'"),
    ],
)
def test_complaints(ask, said):
    with pytest.raises(ArgumentError, match=said):
        ask()
