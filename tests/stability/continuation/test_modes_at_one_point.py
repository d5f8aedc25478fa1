"""Special points of several modes at one point or next to each other: all are listed, against families with exact answers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy as sp

import draisine as dr

P = sp.symbols("p")
DISTANCES = (0.0, 0.0, 5e-10, 1e-7, 1e-5, 1e-3)  # one below the tolerance of values


def branch_of(modes: list[tuple[float, float, float]], turned: Any, start: float) -> Any:
    """ẋ = T (D(p) q − q³), q = T⁻¹ x: modes with slope, critical value and frequency, and one that decays, mixed."""
    n = len(turned)
    d, k = sp.zeros(n, n), 0
    for slope, at, rate in modes:
        size = 2 if rate else 1
        d[k : k + size, k : k + size] = slope * (P - at) * sp.eye(size) + (
            sp.Matrix([[0, -rate], [rate, 0]]) if rate else sp.zeros(1)
        )
        k += size
    d[k, k] = -1.5
    x = sp.symbols(f"x:{n}")
    q = sp.Matrix(np.linalg.inv(turned)) * sp.Matrix(x)
    rates = sp.Matrix(turned) * (d * q - q.applyfunc(lambda one: one**3))
    model = dr.first_order("several", dict(zip(x, rates, strict=True)), parameters={P: start})
    return dr.stability.continuation(model, "p", between=(start - 0.5, start + 1.5))


@pytest.mark.parametrize("distance", [0.0, 1e-9, 1e-5, -1e-5, 1e-3])
def test_a_hopf_point_next_to_a_branch_point(distance: float) -> None:
    branch = branch_of([(1.0, 0.274, 0.41), (1.0, 0.274 + distance, 0.0)], np.eye(4), 0.274 - 0.5)
    found = {point.kind: point.value for point in branch.special}
    assert len(branch.special) == 2
    assert found == {"Hopf point": pytest.approx(0.274, abs=1e-12), "branch point": pytest.approx(0.274 + distance, abs=1e-12)}


@pytest.mark.parametrize("seed", range(20))
def test_every_special_point_is_listed(seed: int) -> None:
    """Two or three modes, real ones and pairs, cross at one point or near it, in any direction: simple ones of real modes are
    branch points; where several coincide, zero crossings."""
    rng = np.random.default_rng([seed, 2])
    at, rate = float(rng.uniform(0.2, 0.8)), float(rng.uniform(0.4, 3))
    modes = []
    for k in range(2 + seed % 2):
        slope = float(rng.choice([1.0, rng.uniform(0.3, 3)]) * rng.choice([-1, 1]))
        modes.append(
            (slope, at + (float(rng.choice(DISTANCES)) if k else 0.0), float(rng.choice([0.0, rate, rng.uniform(0.4, 3)])))
        )
    n = 1 + sum(2 if w else 1 for _, _, w in modes)
    u, _, v = np.linalg.svd(rng.normal(size=(n, n)))
    branch = branch_of(modes, u @ np.diag(np.geomspace(1.0, 3.0, n)) @ v, at - 0.5)
    swings = sorted((c, w) for _, c, w in modes if w)
    hopf = sorted((point.value, point.frequency) for point in branch.points("Hopf point"))
    np.testing.assert_allclose(np.sort([c for c, _ in hopf]), np.sort([c for c, _ in swings]), rtol=0, atol=1e-9)
    np.testing.assert_allclose(np.sort([w for _, w in hopf]), np.sort([w for _, w in swings]), rtol=0, atol=1e-6)
    real = [point.value for point in branch.special if point.kind != "Hopf point"]
    np.testing.assert_allclose(np.sort(real), np.sort([c for _, c, w in modes if not w]), rtol=0, atol=1e-9)
    assert branch.unstable[-1] - branch.unstable[0] == sum((2 if w else 1) * np.sign(slope) for slope, _, w in modes)
