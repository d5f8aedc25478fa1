"""Path conditions on controls and forces where controls are constant pieces: they hold at both edges of every interval.

With ẋ = v, v̇ = u and pieces of u, the condition |u + a v| ≤ c is linear in time within a piece: it holds everywhere if it holds
at the edges. The best pieces are then those of a linear program, which SciPy solves.
"""

import math

import numpy as np
import pytest
import sympy as sp
from scipy.optimize import linprog
from sympy.physics.mechanics import dynamicsymbols

import draisine as dr
from draisine.optimal.ipopt import Outcome

X, V, U = sp.symbols("x v u")
MASS = dr.first_order("mass", {X: V, V: U}, inputs=[U])


def farthest(pieces: int, span: float, a: float, c: float, speed: float) -> float:
    """The largest x(T) with v(T) = 0 and |u + a v| ≤ c everywhere, from x = 0 with the given speed."""
    h = span / pieces
    v = np.vstack([np.zeros(pieces), h * np.tril(np.ones((pieces, pieces)))])  # v at the mesh points, by the pieces
    rows = np.vstack([a * v[:-1] + np.eye(pieces), a * v[1:] + np.eye(pieces)])
    x = (h * v[:-1] + 0.5 * h**2 * np.eye(pieces)).sum(axis=0)
    limits = np.concatenate([np.full(2 * pieces, c - a * speed), np.full(2 * pieces, c + a * speed)])
    found = linprog(-x, np.vstack([rows, -rows]), limits, v[-1:], [-speed], bounds=(-5, 5))
    assert found.status == 0
    return float(-found.fun + speed * span)


METHODS = [
    lambda n: dr.optimal.Collocation(intervals=n, constant_controls=True),
    lambda n: dr.optimal.Collocation("gauss", 2, n, constant_controls=True),
    lambda n: dr.optimal.MultipleShooting(n, 2),
]


@pytest.mark.parametrize("method", METHODS, ids=["radau", "gauss", "shooting"])
@pytest.mark.parametrize("seed", range(4))
def test_random_linear_programs(seed, method):
    rng = np.random.default_rng(seed)
    pieces, span = int(rng.integers(3, 12)), float(rng.uniform(1, 4))
    a, c, speed = float(rng.uniform(-2, 2)), float(rng.uniform(0.5, 2)), float(rng.uniform(-0.2, 0.2))
    stated = dr.maneuver(MASS).start(x=0, v=speed).finish(v=0).bounds(u=(-5, 5)).duration(span)
    stated = stated.along(upper=f"u + {a}*v <= {c}", lower=f"u + {a}*v >= {-c}").minimize(final="-x")
    found = stated.solve(method(pieces), solver=dr.optimal.Ipopt(tolerance=1e-10))
    assert found.solved, found.status
    assert -found.objective == pytest.approx(farthest(pieces, span, a, c, speed), rel=1e-6, abs=1e-7)
    u = found.only.input("u")
    v = np.concatenate([[speed], speed + np.cumsum(u) * span / pieces])
    assert max(np.abs(u + a * v[:-1]).max(), np.abs(u + a * v[1:]).max()) <= c * (1 + 1e-6)


def test_active_pieces_are_counted_whole():
    """Speeding up at full u + v ≤ 1 in every piece but those of braking: one edge of each is at the bound."""
    stated = dr.maneuver(MASS).start(x=0, v=0).bounds(u=(-5, 5)).duration(2).along(limit="u + v <= 1").minimize(final="-x")
    found = stated.solve(dr.optimal.Collocation(intervals=10, constant_controls=True))
    (active,) = [a for a in found.optimality.active if a.name == "limit"]
    assert active.share == pytest.approx(1.0)


TENSION = 22.0  # N, the largest in the rod; without the limit 25.3 N
PIECES = dr.optimal.Collocation(degree=5, intervals=12, constant_controls=True)


def least_effort(pendulum, **limits):
    """A swing from the bottom to the horizontal in 1.5 s by a horizontal force at the end of the rod."""
    return dr.maneuver(pendulum).duration(1.5).minimize(integral="side**2").along(**limits)


@pytest.fixture(scope="module")
def in_its_angle():
    angle, side = dynamicsymbols("angle"), sp.Symbol("side")
    energies = {"kinetic": angle.diff() ** 2 / 2, "potential": -9.81 * sp.cos(angle)}
    one = dr.lagrangian("one", [angle], forces={angle: side * sp.cos(angle)}, inputs=[side], **energies)
    tension = f"angle_rate**2 + 9.81*cos(angle) + side*sin(angle) <= {TENSION}"
    return least_effort(one, tension=tension).start(angle=0).finish(angle=math.pi / 2, rates=0).solve(PIECES)


def test_forces_that_are_unknowns(in_its_angle):
    """The rod's tension as a multiplier at nodes and edges, −2 λ with x² + y² = 1, gives the motion of the angle."""
    a, b, side = *dynamicsymbols("x y"), sp.Symbol("side")
    rod = dr.lagrangian(
        "rod",
        [a, b],
        kinetic=(a.diff() ** 2 + b.diff() ** 2) / 2,
        potential=9.81 * b,
        holonomic={"length": a**2 + b**2 - 1},
        start={b: -1},
        forces={a: side},
        inputs=[side],
    )
    found = least_effort(rod, tension=f"-2*length_multiplier <= {TENSION}").start(x=0, y=-1).finish(y=0, rates=0).solve(PIECES)
    assert found.converged, found.status
    assert found.objective == pytest.approx(in_its_angle.objective, rel=1e-5)
    assert found.only.input("side") == pytest.approx(in_its_angle.only.input("side"), abs=1e-3)
    edges = -2 * found["length_multiplier"]
    assert TENSION - 1e-3 < edges.max() < TENSION * (1 + 1e-3)  # between nodes and edges a little more


def test_refinement_keeps_the_pieces_and_the_motion_holds(in_its_angle):
    """Nodes are added to the same pieces, then pieces are split, until the dense motion holds."""
    stated = in_its_angle.maneuver
    found = stated.solve(dr.optimal.Collocation(intervals=12, constant_controls=True), refine=dr.optimal.Refinement())
    assert found.outcome is Outcome.SOLVED, found.status
    only = found.only
    run = dr.simulate(only.phase.equations, found.duration, start={"angle": 0}, inputs=found.feedforward, samples=20_001)
    tension = run["angle_rate"] ** 2 + 9.81 * np.cos(run["angle"]) + run["side"] * np.sin(run["angle"])
    assert tension.max() <= TENSION * (1 + 1.1e-6)  # 66 times as many samples as the verdict has
    assert found.objective == pytest.approx(in_its_angle.objective, rel=5e-2)


def test_a_mesh_that_steps_over_a_condition_is_not_solved():
    """No speed between 0.45 and 0.55: from rest to 1 there is no motion, but nodes on both sides of the gap."""
    stated = dr.maneuver(MASS).start(x=0, v=0).finish(v=1).bounds(u=(-5, 5)).duration(2)
    stated = stated.along(gap="4*v*(1 - v) + 1e-9*u <= 0.99").minimize(integral="u**2")
    found = stated.solve(
        dr.optimal.Collocation("radau", 2, 4, constant_controls=True), guess=dr.guess.LinearGuess(inputs={"u": 0.5})
    )
    assert found.outcome is not Outcome.SOLVED
    assert found.outcome is Outcome.SOLVED_ON_MESH
    assert "condition gap by 0.01" in str(found.verdict)
