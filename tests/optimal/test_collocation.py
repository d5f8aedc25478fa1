"""Schemes: exactness of their polynomials, order of what they integrate, meshes."""

import math

import numpy as np
import pytest
import sympy as sp

import draisine as dr
from draisine.errors import ArgumentError

SCHEMES = [
    (dr.optimal.Collocation("radau", 1), 1),
    (dr.optimal.Collocation("radau", 2), 3),
    (dr.optimal.Collocation("radau", 3), 5),
    (dr.optimal.Collocation("gauss", 1), 2),
    (dr.optimal.Collocation("gauss", 2), 4),
    (dr.optimal.Collocation("hermite-simpson"), 4),
    (dr.optimal.Collocation("trapezoidal"), 2),
    (dr.optimal.MultipleShooting(steps=1), 4),
]


@pytest.mark.parametrize(("scheme", "order"), SCHEMES, ids=str)
def test_states_at_the_end_converge_with_the_order(scheme, order):
    """ẋ = x cos t from 1: x(1) = exp(sin 1). Nothing is to be chosen; the problem is square."""
    x, t = sp.symbols("x t")
    system = dr.first_order("growth", {x: x * sp.cos(t)})
    stated = dr.maneuver(system).start(x=1).duration(1).minimize(final="x")
    counts = (4, 8) if order > 3 else (16, 32)
    errors = [abs(stated.solve(scheme.on(np.linspace(0, 1, n + 1))).objective - math.exp(math.sin(1))) for n in counts]
    assert scheme.order == order
    assert math.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.35)


def test_meshes_are_checked():
    for wrong in (0, (0.0, 0.5), (0.0, 0.6, 0.4, 1.0), (0.1, 1.0)):
        with pytest.raises(ArgumentError):
            dr.optimal.Collocation(intervals=wrong)
        with pytest.raises(ArgumentError):
            dr.optimal.MultipleShooting(intervals=wrong)
    with pytest.raises(ArgumentError, match="choose one of"):
        dr.optimal.Collocation("simpson")
    with pytest.raises(ArgumentError, match="degree"):
        dr.optimal.Collocation(degree=0)


def test_refinement_splits_where_the_error_is():
    scheme = dr.optimal.Collocation(intervals=4)
    finer = dr.optimal.Refinement(1e-6).finer(scheme, np.array([1e-7, 1e-5, 1e-7, 1.0]))
    assert finer.grid.breaks.tolist() == [0, 0.25, 0.375, 0.5, 0.75, 0.8125, 0.875, 0.9375, 1]
    assert dr.optimal.Refinement(1e-6).finer(scheme, np.full(4, 1e-7)) is None
    assert dr.optimal.Refinement(1e-6, most=5).finer(scheme, np.ones(4)) is None


def test_estimated_errors_are_of_the_size_of_the_true_ones():
    x, v, push = sp.symbols("x v push")
    swing = dr.first_order("swing", {x: v, v: push - sp.sin(x)}, inputs=[push])
    stated = dr.maneuver(swing).start(x=0, v=0).finish(x=2, v=0).duration(3).minimize(integral="push**2")
    for scheme in (dr.optimal.Collocation(degree=2, intervals=15), dr.optimal.MultipleShooting(15, 1)):
        found = stated.solve(scheme)
        assert found.discrepancy / 30 < found.error < 300 * found.discrepancy
        fine = stated.solve(scheme, refine=dr.optimal.Refinement(found.error / 50))
        assert fine.error <= found.error / 50
        assert fine.discrepancy < found.discrepancy / 3
