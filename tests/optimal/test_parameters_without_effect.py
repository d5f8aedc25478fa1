"""Optimized parameters that change nothing are named; those that do are not."""

import pytest
import sympy as sp

import draisine as dr

X, V, Y, U, MASS, RATE = sp.symbols("x v y u mass rate")
CART = dr.first_order("cart", {X: V, V: U / MASS, Y: -RATE * Y}, inputs=[U], parameters={MASS: 1.0, RATE: 2.0})


@pytest.mark.parametrize("method", [None, dr.optimal.MultipleShooting(intervals=20)])
def test_a_parameter_without_effect_is_named(method):
    """The least time over 1 m with 1 N is 2 √mass, whatever the rate of a coordinate beside it is."""
    stated = dr.maneuver(CART).start(x=0, v=0, y=1).finish(x=1, v=0).bounds(u=(-1, 1)).minimize("time")
    found = stated.optimize(mass=(0.25, 4.0), rate=(0.5, 4.0)).solve(method)
    assert found.converged, found.status
    assert found.parameters["mass"] == pytest.approx(0.25, rel=1e-6)
    (note,) = [note for note in found.notes if "no effect" in note]
    assert note.startswith("rate has no effect on the motion, its conditions and its cost")
    ended = stated.finish(y=0.1).optimize(mass=(0.25, 4.0), rate=(0.5, 4.0)).solve(method)
    assert ended.converged, ended.status
    assert not [note for note in ended.notes if "no effect" in note]
