"""A typed constraint whose slope jumps on the way: the velocity would have to jump, and the run ends there."""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp

import draisine as dr
from draisine.results.status import Ending

t = sp.symbols("t")
x, y = (sp.Function(name)(t) for name in "xy")
METHODS = [None, dr.methods.RK4(step=1e-3), dr.methods.Radau()]


def roof(before: float, after: float, where: float) -> dr.Equations:
    """A particle without gravity on two straight lines that meet at x = `where`."""
    height = sp.Piecewise((before * (x - where), x < where), (after * (x - where), True))
    return dr.lagrangian("roof", [x, y], (x.diff(t) ** 2 + y.diff(t) ** 2) / 2, holonomic=[y - height])


def slopes() -> list[tuple[float, float, float, float]]:
    rng = np.random.default_rng(17)
    found = []
    for _ in range(12):
        before, change = rng.uniform(-2, 2), rng.choice([-1, 1]) * 10 ** rng.uniform(-4, 0.3)
        found.append((before, before + change, rng.uniform(0.2, 1.0), rng.uniform(0.5, 2.0)))
    return found


@pytest.mark.parametrize("case", slopes())
@pytest.mark.parametrize("method", METHODS, ids=["default", "RK4", "Radau"])
def test_a_run_ends_where_the_slope_of_its_constraint_jumps(case, method):
    before, after, where, speed = case
    run = dr.simulate(
        roof(before, after, where), 3.0, start={"x": 0.0, "x_rate": speed}, **({} if method is None else {"method": method})
    )
    assert run.status.kind is Ending.CONSTRAINTS_BROKEN and "impact" in run.status.message
    assert run.time[-1] == pytest.approx(where / speed, abs=2e-3)
    exact = where + speed * (run.time - where / speed)  # the motion before is uniform
    np.testing.assert_allclose(run["x"][:-1], exact[:-1], rtol=0, atol=1e-9)


def test_an_ensemble_ends_there_too():
    before, after, where, speed = slopes()[0]
    equations = roof(before, after, where)
    speeds = np.array([speed, 0.1 * where, -speed])  # the others do not arrive within 3 s
    many = dr.ensemble(equations, 3.0, start={"x": 0.0}, over={"x_rate": speeds})
    assert list(many["status"]) == ["CONSTRAINTS_BROKEN", "FINISHED", "FINISHED"]


def test_no_jump_of_the_slope_no_end():
    run = dr.simulate(roof(0.5, 0.5 + 1e-14, 0.7), 3.0, start={"x": 0.0, "x_rate": 1.0})
    assert run.status.kind is Ending.FINISHED
    np.testing.assert_allclose(run["x"], run.time, rtol=0, atol=1e-9)


def test_a_constraint_with_continuous_slope_is_passed():
    """y = x |x|: the curvature jumps, which is an ordinary switch of the accelerations; energy is kept."""
    equations = dr.lagrangian("bend", [x, y], (x.diff(t) ** 2 + y.diff(t) ** 2) / 2, holonomic=[y - x * sp.Abs(x)])
    run = dr.simulate(equations, 3.0, start={"x": -1.0, "x_rate": 1.0})
    assert run.status.kind is Ending.FINISHED and run["x"][-1] > 0.5
    energy = (run["x_rate"] ** 2 + run["y_rate"] ** 2) / 2
    np.testing.assert_allclose(energy, energy[0], rtol=1e-8)


def test_a_constraint_whose_slope_jumps_in_time_ends_the_run():
    lift = sp.Piecewise((0, t < 1), (t - 1, True))
    equations = dr.lagrangian("lift", [x, y], (x.diff(t) ** 2 + y.diff(t) ** 2) / 2, holonomic=[y - lift])
    run = dr.simulate(equations, 3.0, start={"x": 0.0, "x_rate": 1.0})
    assert run.status.kind is Ending.CONSTRAINTS_BROKEN
    assert run.time[-1] == pytest.approx(1.0, abs=1e-2)
