"""Double pendulums whose end lands and slides, with impulses through both joints: a time-stepping program in the two angles,
which shares nothing with ours, converges to our runs."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

import draisine as dr

G, HEIGHT = 9.81, 0.6
TIGHT = dr.methods.DOP853(rtol=1e-11, atol=1e-12)
Reals = NDArray[np.float64]


def double_pendulum(length: float, friction: float) -> dr.Model:
    m = dr.Model("double_pendulum")
    m.gravity(G)
    parent, at, moment = "ground", (0.0, 0.0, HEIGHT), length**2 / 12
    for k in range(2):
        body = m.body(f"rod{k}", mass=1.0, center_of_mass=(0, 0, -length / 2), inertia=(moment, moment, 1e-3))
        m.revolute(f"turn{k}", parent, body, axis="y", at=at)
        parent, at = body, (0.0, 0.0, -length)
    m.contact("end", m.point("tip", parent, (0, 0, -length)), friction=friction)
    return m


def stepped(length: float, friction: float, q: Reals, v: Reals, until: float, steps: int) -> Reals:
    """Moreau's midpoint scheme: an impulse in every step in which the end is at the ground and approaches."""
    h = until / steps
    for _ in range(steps):
        q = q + h / 2 * v
        first, second = q[0], q[0] + q[1]
        down = length * np.array([[-np.cos(first), 0.0], [np.sin(first), 0.0]])  # velocity of the elbow by both rates
        swing = length * np.outer([-np.cos(second), np.sin(second)], [1.0, 1.0])
        turning = length * v[0] ** 2 * np.array([np.sin(first), np.cos(first)])
        turning_on = length * (v[0] + v[1]) ** 2 * np.array([np.sin(second), np.cos(second)])
        upper, lower, tip = down / 2, down + swing / 2, down + swing
        mass = upper.T @ upper + lower.T @ lower + length**2 / 12 * np.array([[2.0, 1.0], [1.0, 1.0]])
        weight = np.array([0.0, -G])
        force = upper.T @ (weight - turning / 2) + lower.T @ (weight - turning - turning_on / 2)
        new = v + h * np.linalg.solve(mass, force)
        if HEIGHT - length * (np.cos(first) + np.cos(second)) <= 0.0 and (tip @ new)[1] < 0.0:
            response = tip @ np.linalg.solve(mass, tip.T)
            impulse = np.linalg.solve(response, -tip @ new)
            if abs(impulse[0]) > friction * impulse[1]:
                direction = np.array([-friction * np.sign((tip @ v)[0]), 1.0])
                impulse = -(tip @ new)[1] / (response[1] @ direction) * direction
            new = new + np.linalg.solve(mass, tip.T @ impulse)
        q, v = q + h / 2 * new, new
    return np.concatenate([q, v])


@pytest.mark.parametrize("seed", range(3))
def test_time_stepping_converges_to_the_run(seed: int) -> None:
    rng = np.random.default_rng(seed)
    length, friction = float(rng.uniform(0.5, 0.58)), float(rng.uniform(0.1, 0.5))
    q, v = np.array([rng.uniform(1.5, 1.9), rng.uniform(-0.5, 0.1)]), np.array([0.0, 0.5 * rng.normal()])
    names = ("turn0", "turn1", "turn0_rate", "turn1_rate")
    start = dict(zip(names, [*q.tolist(), *v.tolist()], strict=True))
    run = dr.simulate(double_pendulum(length, friction), 0.6, start=start, method=TIGHT)
    assert run.status.kind == "FINISHED", run.status
    assert run.modes.impacts and run.modes[-1].modes["end"] == "slip"
    ours = np.array([run[name][-1] for name in names])
    coarse, fine = (float(np.abs(stepped(length, friction, q, v, 0.6, steps) - ours).max()) for steps in (500, 8000))
    assert fine < 0.25 * coarse and fine < 2e-3, (coarse, fine)
