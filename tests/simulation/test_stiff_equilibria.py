"""Runs from stiff equilibria: errors of steps are zero there, and steps grow until they amplify rounding errors."""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp

import draisine as dr
from draisine.simulation.stepper.explicit_rk import MOST_APART


@pytest.mark.parametrize("method", [None, dr.methods.DOP853()])
@pytest.mark.parametrize("seed", range(12))
def test_what_is_at_rest_stays_there_between_steps(seed: int, method: object) -> None:
    """ẋ = −T R tanh(T⁻¹ x/w) with bounded rates, from rounding errors beside x = 0: samples, too, stay there
    within what the interpolant may be off; one state that moves, ż = cos t, shows that time goes on."""
    rng = np.random.default_rng([seed, 853])
    n = int(rng.integers(2, 5))
    x, z, t = sp.symbols(f"x:{n}"), sp.Symbol("z"), sp.Symbol("t")
    u, _, v = np.linalg.svd(rng.normal(size=(n, n)))
    turned = u @ np.diag(np.geomspace(1, 3, n)) @ v
    inner = sp.Matrix(np.linalg.inv(turned)) * sp.Matrix(x)
    width, bound = 10.0 ** rng.uniform(-3, -1), rng.uniform(1, 20, n)
    rates = -sp.Matrix(turned) * sp.Matrix([b * sp.tanh(one / width) for b, one in zip(bound, inner, strict=True)])
    model = dr.first_order("rest", {**dict(zip(x, rates, strict=True)), z: sp.cos(t)})
    start = dict(zip(map(str, x), (1e-15 * rng.normal(size=n)).tolist(), strict=True))
    run = dr.simulate(model, 3.0, start=start, method=method, samples=601)
    assert run.status.complete
    assert max(np.abs(run[str(one)]).max() for one in x) < 2 * MOST_APART * 1e-10 * np.sqrt(n + 1)  # the absolute tolerance
    np.testing.assert_allclose(run["z"], np.sin(run.time), atol=1e-7)


@pytest.mark.parametrize("speed", np.random.default_rng(8).uniform(3, 9, 8).tolist())
def test_a_bicycle_on_tires_goes_straight_ahead(speed: float) -> None:
    run = dr.simulate(dr.gallery.sliding_bicycle(), 1.0, start={"speed": speed}, samples=401)
    assert run.status.complete and not run.status.warnings
    np.testing.assert_allclose(run["speed"], speed, atol=1e-6)
    np.testing.assert_allclose(run["front_wheel_normal_force"], run["front_wheel_normal_force"][0], rtol=1e-3)
