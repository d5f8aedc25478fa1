"""Forces that are not determined: contacts hold as long as any forces within the cones of friction hold them.

The independent judge is limit analysis: the largest factor of a load for which such forces exist is a linear program, since these
bodies move in a plane."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

import draisine as dr

G = 9.81
TIGHT = dr.methods.DOP853(rtol=1e-10, atol=1e-12)


def largest_load(places: np.ndarray, friction: np.ndarray, weight: float, height: float) -> float:
    """The largest horizontal force at a height, to the right, under which a body on points at z = 0 does not move: N ≥ 0,
    |T| ≤ μN, forces and moments about the origin, with the center of mass above it."""
    n = len(places)
    equal = np.zeros((3, 2 * n + 1))
    equal[0, :n] = 1.0
    equal[1, n : 2 * n], equal[1, -1] = 1.0, 1.0
    equal[2, :n], equal[2, -1] = places, -height  # N x = P h
    cones = np.zeros((2 * n, 2 * n + 1))
    for i, mu in enumerate(friction):
        cones[2 * i : 2 * i + 2, i] = -mu
        cones[2 * i, n + i], cones[2 * i + 1, n + i] = 1.0, -1.0
    bounds = [(0, None)] * n + [(None, None)] * n + [(0, None)]
    found = linprog(np.r_[np.zeros(2 * n), -1.0], cones, np.zeros(2 * n), equal, [weight, 0.0, 0.0], bounds)
    assert found.status == 0
    return float(-found.fun)


@pytest.mark.parametrize("seed", range(24))
def test_a_block_on_several_points_breaks_away(seed: int) -> None:
    """A block on two to four points with different friction, pushed by a force that grows: it moves at the load of limit
    analysis, not when the first point would slip by itself."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(2, 5))
    places = np.sort(rng.uniform(-0.5, 0.5, count))
    places[0], places[-1] = -0.5, 0.5
    friction, height = rng.uniform(0.1, 0.9, count), float(rng.uniform(0.05, 0.5))
    mass = float(rng.uniform(0.5, 3.0))
    m = dr.Model("block")
    m.gravity(G)
    m.prismatic("x", "ground", m.body("first", mass=0), axis="x")
    m.prismatic("z", "first", m.body("second", mass=0), axis="z")
    block = m.body("block", mass=mass, center_of_mass=(0, 0, 0.3), inertia=(0.1 * mass,) * 3)
    m.revolute("lean", "second", block, axis="y")
    for i in range(count):
        m.contact(f"foot_{i}", m.point(f"toe_{i}", block, (places[i], 0, 0)), friction=friction[i])
    most = largest_load(places, friction, mass * G, height)
    m.point("hook", block, (0, 0, height))
    m.generalized_force("position_x(hook)", m.input("pull", "N"))
    run = dr.simulate(m, 1.1, start={"x": 0.0, "z": 0.0, "lean": 0.0}, inputs={"pull": f"{most}*t*t"}, method=TIGHT, samples=201)
    assert run.status.kind == "FINISHED", run.status
    rest = run.time < 1.0 - 1e-6
    assert np.abs(run["x_rate"][rest]).max() < 1e-9 and np.abs(run["lean_rate"][rest]).max() < 1e-9
    assert max(abs(run["x_rate"][-1]), abs(run["lean_rate"][-1])) > 1e-3
    for i in range(count):
        pressed, sticks = run[f"foot_{i}_normal_force"], run[f"foot_{i}_mode"] == 2
        assert pressed.min() > -1e-6
        room = friction[i] * pressed - np.abs(run[f"foot_{i}_longitudinal_force"])
        assert room[sticks].min(initial=0.0) > -1e-6
