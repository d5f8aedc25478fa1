"""Jumps of rates and cost: a motion that crosses one is no minimum for that its conditions hold, one at a given time is found."""

from __future__ import annotations

import math

import numpy as np
import pytest
import sympy as sp
from scipy.optimize import minimize_scalar

import draisine as dr
from draisine.optimal.ipopt import Outcome

x, y, v, u, heading, speed = sp.symbols("x y v u heading speed")
POINT = dr.first_order("point", {x: u}, inputs=[u])


@pytest.mark.parametrize("seed", range(3))
def test_light_through_an_interface(seed):
    """Snell: straight on is a stationary point of the transcribed problem, and slower by some percent. In two phases the least
    time is that of the best point of the interface."""
    random = np.random.default_rng(seed)
    fast, aside, above = random.uniform(1.5, 3.0), random.uniform(2.0, 4.0), random.uniform(0.5, 1.5)
    least = minimize_scalar(
        lambda q: math.hypot(q, 1.0) + math.hypot(aside - q, above) / fast, bounds=(0, aside), options={"xatol": 1e-12}
    ).fun
    through = sp.Piecewise((1, y < 0), (fast, True))
    both = dr.first_order("media", {x: through * sp.cos(heading), y: through * sp.sin(heading)}, inputs=[heading])
    stated = dr.maneuver(both).start(x=0, y=-1).finish(x=aside, y=above).bounds(heading=(-3, 3)).minimize("time")
    found = stated.solve()
    assert found.duration > 1.01 * least
    assert found.outcome is Outcome.SOLVED_ON_MESH and found.converged and not found.solved
    assert [c.name for c in found.crossed] == ["y < 0"]
    k = int(np.searchsorted(np.sign(found["y"]), 0.0))
    assert found.time[k - 1] - 0.1 < found.crossed[0].time < found.time[k] + 0.1
    assert "jump where the motion crosses y < 0" in found.status.message and ".then(" in found.status.message

    rates = {x: speed * sp.cos(heading), y: speed * sp.sin(heading)}
    each = dr.first_order("medium", rates, inputs=[heading], parameters={speed: 1.0})
    below = dr.maneuver(each).start(x=0, y=-1).finish(y=0).bounds(heading=(-3, 3)).minimize("time")
    beyond = dr.maneuver(each).parameters(speed=fast).finish(x=aside, y=above).bounds(heading=(-3, 3)).minimize("time")
    split = below.then(beyond).solve()
    assert split.solved and not split.crossed
    assert split.duration == pytest.approx(least, rel=1e-7)


@pytest.mark.parametrize("as_state", [False, True])
def test_a_zone_that_costs(as_state):
    """The least time in a zone is that at full speed, 0.3; at any constant speed nodes see no slope of the cost."""
    inside = "where(x > 0.3, where(x < 0.6, 1, 0), 0)"
    if as_state:
        counted = dr.first_order("zone", {x: u, y: sp.Piecewise((1, (x > 0.3) & (x < 0.6)), (0, True))}, inputs=[u])
        stated = dr.maneuver(counted).start(x=0, y=0).minimize(final="y")
    else:
        stated = dr.maneuver(POINT).start(x=0).minimize(integral=inside)
    stated = stated.finish(x=1).bounds(u=(-1, 1)).duration(2)
    found = stated.solve(dr.optimal.Collocation(intervals=12), refine=True)
    assert found.objective > 0.31 and found.outcome is Outcome.SOLVED_ON_MESH
    names = ["x > 0.3", "x < 0.6"] if as_state else ["jump 1 of the cost", "jump 2 of the cost"]
    assert [c.name for c in found.crossed] == names and "an earlier or later crossing may cost less" in found.status.message


def test_jumps_that_are_not_crossed():
    """Dry friction jumps at rest, where this motion begins and ends: from rest to rest in √(2 d (1/a + 1/b))."""
    block = dr.first_order("block", {x: v, v: u - 0.3 * sp.sign(v)}, inputs=[u])
    found = dr.maneuver(block).start(x=0, v=0).finish(x=1, v=0).bounds(u=(-1, 1)).minimize("time").solve()
    assert found.solved and not found.crossed
    assert found.duration == pytest.approx(math.sqrt(2 * (1 / 0.7 + 1 / 1.3)), rel=1e-6)


@pytest.mark.parametrize("seed", range(4))
def test_tariffs_that_change_at_a_time(seed):
    """Least ∫ w u² from 0 to 1 is 1/∫ dt/w. A polynomial that passes the change of w in an interval costs up to a ten-thousandth
    more, however well it meets the equations; `mesh_cost` tells, and refinement goes on."""
    random = np.random.default_rng(seed)
    when, dear = float(random.uniform(0.1, 0.9)), float(random.uniform(2.0, 5.0))
    stated = dr.maneuver(POINT).start(x=0).finish(x=1).duration(1)
    found = stated.minimize(integral=f"u**2*where(t < {when}, 1, {dear})").solve()
    exact = 1.0 / (when + (1.0 - when) / dear)
    assert found.solved and not found.crossed
    assert found.objective == pytest.approx(exact, rel=2e-6)
    assert found.mesh_cost < 2e-6 * exact


def test_the_cost_of_a_mesh_that_is_not_refined_further_is_reported():
    stated = dr.maneuver(POINT).start(x=0).finish(x=1).duration(1).minimize(integral="u**2*where(t < 0.6543, 1, 3)")
    exact = 1.0 / (0.6543 + 0.3457 / 3.0)
    found = stated.solve(refine=dr.optimal.Refinement(rounds=1))
    excess = found.objective - exact
    assert excess > 1e-5
    assert 0.3 * excess < found.mesh_cost < 3.0 * excess
