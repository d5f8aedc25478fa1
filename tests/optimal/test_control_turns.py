"""Controls that are angles: a search may leave whole turns between nodes, which are no part of the solution."""

import math

import casadi as ca
import numpy as np
import pytest
import sympy as sp
from scipy.optimize import brentq

import draisine as dr
from draisine.optimal.control_turns import periods

x, y, v, angle = sp.symbols("x y v angle")


@pytest.mark.parametrize("seed", range(10, 16))
def test_crossing_of_a_uniform_current(seed):
    """At speed 1 relative to the water, which moves by c: |d − c T| = T."""
    rng = np.random.default_rng(seed)
    speed, course, far, bearing = rng.uniform(0, 0.9), rng.uniform(-np.pi, np.pi), rng.uniform(0.5, 5), rng.uniform(-np.pi, np.pi)
    current, goal = (r * np.array([math.cos(a), math.sin(a)]) for r, a in ((speed, course), (far, bearing)))
    boat = dr.first_order("boat", {x: sp.cos(angle) + current[0], y: sp.sin(angle) + current[1]}, inputs=[angle])
    found = dr.maneuver(boat).start(x=0, y=0).finish(x=goal[0], y=goal[1]).minimize("time").solve()
    assert found.outcome == "SOLVED", found.status
    assert found.duration == pytest.approx(brentq(lambda t: np.linalg.norm(goal - current * t) - t, 0, 1000), rel=1e-9)
    assert np.ptp(found.only.input("angle")) < 1e-5


@pytest.mark.parametrize(("right", "down"), [(0.44, 0.41), (1.28, 2.9), (3.4, 1.7), (2.1, 0.4)])
@pytest.mark.parametrize("unit", [1.0, math.pi / 180])
def test_brachistochrone(right, down, unit):
    """A cycloid, x = R (p − sin p), y = R (1 − cos p); the slope in radians or degrees."""
    slope = angle * sp.Float(unit) if unit != 1.0 else angle
    bead = dr.first_order("bead", {x: v * sp.cos(slope), y: v * sp.sin(slope), v: 9.81 * sp.sin(slope)}, inputs=[angle])
    found = dr.maneuver(bead).start(x=0, y=0, v=0).finish(x=right, y=down).minimize("time").solve()
    p = brentq(lambda p: (p - math.sin(p)) / (1 - math.cos(p)) - right / down, 1e-6, 2 * math.pi - 1e-6)
    assert found.outcome == "SOLVED", found.status
    assert found.duration == pytest.approx(p * math.sqrt(down / (1 - math.cos(p)) / 9.81), rel=1e-7)


def test_periods_are_proven():
    u, w = ca.SX.sym("u"), ca.SX.sym("w")
    for value, period in (
        (ca.sin(u) * w, 2 * math.pi),
        (ca.sin(2 * u + w**2), math.pi),
        (ca.vertcat(ca.sin(2 * u), ca.cos(3 * u - w)), 2 * math.pi),
        (ca.vertcat(ca.sin(0.5 * u), ca.cos(u / 3)), 12 * math.pi),
        (ca.cos(u * math.pi / 180) ** 3, 360.0),
        (ca.atan2(ca.sin(u), w + ca.cos(u)), 2 * math.pi),
        (ca.sin(ca.cos(u) + w), 2 * math.pi),
        (ca.sin(u) + u, 0.0),
        (ca.sin(u * w), 0.0),
        (ca.sin(u**2), 0.0),
        (ca.vertcat(ca.sin(u), ca.cos(ca.sqrt(2.0) * u)), 0.0),
        (ca.vertcat(ca.sin(w), w), 0.0),
    ):
        assert periods(value, [u]) == pytest.approx([period], rel=1e-12)
    assert periods(ca.sin(u) * w, [u, w]) == pytest.approx([2 * math.pi, 0.0])
