"""Sweeps across poles of the linear model, sweeps near a given motion, and cycles whose multipliers are not known well enough."""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp
from scipy.special import ellipk

import draisine as dr

p, r, v, x, y, z = sp.symbols("p r v x y z")


@pytest.mark.parametrize("seed", range(6))
def test_a_pole_is_no_crossing_of_zero(seed: int) -> None:
    """λ = c/(p − a) + 0.1 has a pole at a and a zero at a − 10 c; beside it a mode of its own."""
    rng = np.random.default_rng(seed)
    a, c = float(rng.uniform(0.2, 0.8)), float(rng.uniform(0.01, 0.03) * rng.choice([-1, 1]))
    model = dr.first_order("pole", {x: (c / (p - a) + 0.1) * x, y: -y}, parameters={p: 0.0})
    found = dr.modes(model, p=np.linspace(-0.5, 1.5, int(rng.integers(2, 60)))).critical()
    expected = sorted([(a, "a mode passes through infinity"), (a - 10 * c, "a mode crosses zero")])
    assert [e.kind for e in found] == [kind for _, kind in expected]
    assert [e.value for e in found] == pytest.approx([value for value, _ in expected], abs=1e-9)
    assert str(found[0]) and "infinity" in " ".join(map(str, found))


def test_a_spring_that_is_infinite_at_one_value() -> None:
    """The stiffness 1/(p − 1) changes its sign through infinity: falling becomes oscillation."""
    model = dr.first_order("spring", {x: v, v: -x / (p - 1) - v / 10}, parameters={p: 0.0})
    (found,) = dr.modes(model, p=[0.0, 2.1]).critical()
    assert found.kind == "a mode passes through infinity" and found.change == -1
    assert found.value == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("side", [1.0, -1.0])
@pytest.mark.parametrize("values", [[1.0, 0.2], [0.2, 1.0], np.linspace(-0.9, 1.0, 7), np.linspace(1.0, 0.1, 12)])
def test_a_sweep_begins_at_the_motion_that_is_named(side: float, values: list[float]) -> None:
    """ẋ = p x − x³: the motions x = ±√p have λ = −2p; x = 0, which is there at every value, has λ = p."""
    model = dr.first_order("fork", {x: p * x - x**3}, parameters={p: 0.5})
    found = dr.modes(model, p=values, near={"x": side}).eigenvalues[:, 0].real
    known = np.asarray(values, dtype=float)
    assert found[known > 0] == pytest.approx(-2.0 * known[known > 0], rel=1e-9)


def test_motions_of_lorenz_from_their_beginning() -> None:
    """C₊ named at the first value of the sweep: the Hopf point σ(σ + β + 3)/(σ − β − 1) = 470/19."""
    rates = {x: 10 * (y - x), y: x * (r - z) - y, z: x * y - sp.Rational(8, 3) * z}
    model, edge = dr.first_order("lorenz", rates, parameters={r: 20.0}), (8 / 3 * 0.1) ** 0.5
    found = dr.modes(model, r=np.linspace(1.1, 30.0, 10), near={"x": edge, "y": edge, "z": 0.1}).critical()
    (hopf,) = [e for e in found if e.change]
    assert hopf.value == pytest.approx(470 / 19, rel=1e-9)


@pytest.mark.parametrize("amplitude", [1.0, 3.0, 3.135, 3.14, 3.1415])
def test_swings_of_a_pendulum_are_not_called_stable(amplitude: float) -> None:
    """Close to the upright position integration has few digits: multipliers of exactly one are computed as 0.999."""
    model, period = dr.first_order("pendulum", {x: v, v: -sp.sin(x)}), 4.0 * ellipk(np.sin(amplitude / 2) ** 2)
    fixed = {"x": amplitude, "v": 0.0}
    assert dr.stability.limit_cycle(model, start=fixed, period=period, fixed=fixed).stable is None


@pytest.mark.parametrize(("rate", "stable"), [(-1e-5, True), (1e-5, False), (-1e-9, None)])
def test_slow_decay_is_decided_where_digits_suffice(rate: float, stable: bool | None) -> None:
    """A mode beside the unit circle with the multiplier exp(2π rate)."""
    around = {x: x * (1 - x**2 - v**2) - v, v: v * (1 - x**2 - v**2) + x, z: rate * z}
    found = dr.stability.limit_cycle(dr.first_order("circle", around), start={"x": 1.0, "v": 0.0}, period=6.28)
    assert found.stable is stable
