"""Switches of the state with more than two branches, `floor` and tables: against closed forms and sums of conditions."""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp
from numpy.testing import assert_allclose
from scipy.integrate import solve_ivp

import draisine as dr

x, v = sp.symbols("x v")
TIGHT = dr.methods.DOP853(rtol=1e-12, atol=1e-12)
METHODS = {
    "DOP853": (TIGHT, 1e-9),
    "Radau": (dr.methods.Radau(rtol=1e-11, atol=1e-12), 1e-9),
    "RK4": (dr.methods.RK4(step=0.01), 1e-8),
    "Gauss": (dr.methods.Gauss(step=0.02), 1e-8),
}
every_method = pytest.mark.parametrize("name", METHODS)


@every_method
@pytest.mark.parametrize("direction", [1, -1])
def test_stairs(name: str, direction: int) -> None:
    """ẋ = ±1, v̇ = ⌊x⌋: the integral of a staircase."""
    method, allowed = METHODS[name]
    run = dr.simulate(dr.first_order("stairs", {x: direction, v: sp.floor(x)}), 3.0, start={"x": 0.3}, method=method)
    expected = 0.7 * 0 + 1 + 2 + 0.3 * 3 if direction > 0 else -1 * 1.0 - 2 * 1.0 - 3 * 0.7
    assert run.status.kind == "FINISHED"
    assert_allclose(run["v"][-1], expected, atol=allowed)
    assert len(run.switches) == 3


@every_method
@pytest.mark.parametrize(("begin", "switches"), [(0.25, 2), (4.5, 3)])
def test_sliding_on_a_stair(name: str, begin: float, switches: int) -> None:
    """v̇ = 1.5 − ⌊v⌋ comes to v = 2 from both sides and stays."""
    method, allowed = METHODS[name]
    run = dr.simulate(dr.first_order("drag", {x: v, v: 1.5 - sp.floor(v)}), 5.0, start={"v": begin}, method=method)
    pieces = [(0.25, 1.5), (1.0, 0.5)] if begin < 1.0 else [(4.5, -2.5), (4.0, -1.5), (3.0, -0.5)]
    ends = [1.0, 2.0] if begin < 1.0 else [4.0, 3.0, 2.0]
    lengths = [(end - start) / rate for (start, rate), end in zip(pieces, ends, strict=True)]
    covered = sum((start + end) / 2 * length for (start, _), end, length in zip(pieces, ends, lengths, strict=True))
    assert run.status.kind == "FINISHED"
    assert_allclose([run["v"][-1], run["x"][-1]], [2.0, covered + 2.0 * (5.0 - sum(lengths))], atol=allowed)
    assert len(run.switches) == switches


@pytest.mark.parametrize("seed", range(12))
def test_floor_is_a_sum_of_conditions(seed: int) -> None:
    random = np.random.default_rng(seed)
    a, b, c, size = random.uniform(0.5, 2.0), random.uniform(-1, 1), random.uniform(-0.5, 0.5), random.uniform(-0.4, 0.4)
    argument = a * x + b * v + c
    steps = sum(sp.Piecewise((1, argument >= k), (0, True)) for k in range(-14, 16)) - 15
    start = {"x": random.uniform(-2, 2), "v": random.uniform(-2, 2)}
    ends = []
    for stairs in (sp.floor(argument), steps):
        run = dr.simulate(dr.first_order("f", {x: v, v: -x - 0.1 * v + size * stairs}), 4.0, start=start, method=TIGHT)
        ends.append((str(run.status.kind), run.time[-1], run["x"][-1], run["v"][-1]))
    assert ends[0][0] == ends[1][0]
    assert_allclose(ends[0][1:], ends[1][1:], atol=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_table_of_a_position(seed: int) -> None:
    """A spring with a linear table against a sum of kinks."""
    random = np.random.default_rng(seed)
    knots = np.cumsum(random.uniform(0.2, 0.6, 8)) - 1.6
    values = -np.sort(random.uniform(-3, 3, 8))
    ends = []
    slopes = np.diff(values) / np.diff(knots)
    kinks = " + ".join(
        f"({d!r})*max(position - ({k!r}), 0)" for d, k in zip(np.diff(slopes).tolist(), knots[1:-1].tolist(), strict=True)
    )
    for force in (
        "spring(position)",
        f"{values[0].item()!r} + ({slopes[0].item()!r})*(position - ({knots[0].item()!r})) + {kinks}",
    ):
        model = dr.Model("cart")
        model.table("spring", knots, values, "linear")
        cart = model.body("cart", mass=1.0)
        model.prismatic("position", "ground", cart, rate="speed")
        model.generalized_force("position", force)
        run = dr.simulate(model, 4.0, start={"position": 0.1, "speed": 0.9}, method=TIGHT)
        assert run.status.kind == "FINISHED", run.status.message
        ends.append((run["position"][-1], run["speed"][-1]))
    assert_allclose(ends[0], ends[1], atol=1e-9)


def test_an_arm_whose_joints_all_stick():
    """Nine hinges with dry friction at rest: eight stick against gravity, the last one gives way as a pendulum."""
    model = dr.Model("arm")
    model.gravity(9.81)
    last, count = "ground", 9
    for i in range(count):
        body = model.body(f"link{i}", mass=1.0, center_of_mass=(0.25, 0, 0), inertia=(0.01, 0.02, 0.02))
        model.revolute(f"q{i}", last, body, axis="y", at=(0.5 if i else 0.0, 0, 0))
        model.generalized_force(f"q{i}", f"-{1.0 if i == count - 1 else 400.0}*sign(q{i}_rate)")
        last = body
    run = dr.simulate(model, 0.1)
    assert run.status.kind.name == "FINISHED", run.status
    assert max(np.abs(run[f"q{i}"]).max() for i in range(count - 1)) < 1e-9
    alone = solve_ivp(
        lambda t, y: [y[1], (9.81 * 0.25 * np.cos(y[0]) - 1.0) / (0.02 + 0.25**2)], (0, 0.1), [0.0, 0.0], rtol=1e-11, atol=1e-12
    )
    np.testing.assert_allclose(run["q8"][-1], alone.y[0, -1], rtol=1e-7)
