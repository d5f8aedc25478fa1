"""Pole placement of systems in which nothing depends on the states that the control moves."""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp

import draisine as dr
from draisine.errors import ArgumentError, SolverError

u, w = sp.symbols("u w")


def chain(count, scales, gain, name="chain"):
    """Integrators in a row with random units: ẋ_k = s_k x_{k+1}, the last driven by the control."""
    x = sp.symbols(f"x0:{count}")
    rates = {x[k]: scales[k] * x[k + 1] for k in range(count - 1)} | {x[-1]: gain * u}
    return dr.first_order(name, rates, inputs=[u])


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_chains_of_integrators(count):
    """Gains are the coefficients of the characteristic polynomial over the products of the scales."""
    rng = np.random.default_rng(count)
    for _ in range(3):
        scales, gain = rng.uniform(0.3, 3.0, count - 1), rng.uniform(0.3, 3.0)
        poles = -rng.uniform(0.5, 3.0, count)
        law = dr.control.pole_placement(chain(count, scales, gain), {}, poles=poles, controls=["u"])
        exact = np.array([np.poly(poles)[::-1][k] / (gain * np.prod(scales[k:])) for k in range(count)])
        np.testing.assert_allclose(law.K[0], exact, rtol=1e-7)
        np.testing.assert_allclose(np.sort(law.closed.eigenvalues.real), np.sort(poles), rtol=1e-4)


def test_mass_in_motion_and_beside_other_states():
    x, v, y = sp.symbols("x v y")
    place = dr.control.pole_placement
    mass = dr.first_order("mass", {x: v, v: u}, inputs=[u])
    np.testing.assert_allclose(place(mass, {}, poles=[-1, -2], controls=["u"]).K, [[2.0, 3.0]], rtol=1e-9)
    np.testing.assert_allclose(place(mass, {}, poles=[-1, -2], controls=["u"], keep=["x"]).K, [[2.0, 3.0]], rtol=1e-9)
    np.testing.assert_allclose(place(mass, {"v": 3.0}, poles=[-1, -2], controls=["u"]).K, [[2.0, 3.0]], rtol=1e-9)
    beside = dr.first_order("beside", {x: v, v: u, y: -y}, inputs=[u])
    np.testing.assert_allclose(place(beside, {}, poles=[-1, -2], controls=["u"]).K, [[2.0, 3.0, 0.0]], atol=1e-9)
    with pytest.raises(ArgumentError, match="1 poles are given for 2 directions of x, v that u controls"):
        place(mass, {}, poles=[-1], controls=["u"])
    with pytest.raises(SolverError, match=r"y .*grows, whatever u does"):
        place(dr.first_order("unstable", {x: v, v: u, y: y}, inputs=[u]), {}, poles=[-1, -2], controls=["u"])
    with pytest.raises(ArgumentError, match="u has no effect on x, v in this motion"):
        place(dr.first_order("idle", {x: v, v: w}, inputs=[u, w]), {}, poles=[-1, -2], controls=["u"])
