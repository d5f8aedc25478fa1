"""Random rods and blocks on one end or edge: transitions up to the first impact, as the event-driven judge finds them."""

from __future__ import annotations

from functools import cache

import judge_event
import numpy as np
import pytest
import scenes
from package_models import TIGHT, block, rod

import draisine as dr

FRICTION = (0.2, 0.4, 0.7, 1.0)
WIDTH, HEIGHT = 0.3, 0.5


@cache
def model(kind: str, mu: float) -> dr.Model:
    return rod(mu) if kind == "rod" else block(WIDTH, HEIGHT, mu)


def rod_start(theta: float, rate: float, slide: float) -> tuple[list[float], list[float], dict[str, float]]:
    """State of the judge's rod, by its center, and of the package's, by its foot."""
    q = [0.5 * np.sin(theta), 0.5 * np.cos(theta), theta]
    v = [slide + 0.5 * np.cos(theta) * rate, -0.5 * np.sin(theta) * rate, rate]
    return q, v, {"theta": theta, "theta_rate": rate, "x": 0.0, "z": 0.0, "x_rate": slide, "z_rate": 0.0}


def block_start(theta: float, rate: float, slide: float) -> tuple[list[float], list[float], dict[str, float]]:
    """State of the judge's block, by its center and counter-clockwise, and of the package's, by the middle of its base."""
    edge, h, s, c = -np.sign(theta) * WIDTH / 2, HEIGHT / 2, np.sin(theta), np.cos(theta)
    arm = np.array([edge * c + h * s, edge * s - h * c])  # from the center to the edge on which it stands
    q = [-arm[0], -arm[1], theta]
    v = [slide + rate * arm[1], -rate * arm[0], rate]
    base = np.array([h * s, -h * c])
    place = {"tilt": -theta, "x": q[0] + base[0], "z": q[1] + base[1]}
    return q, v, place | {"tilt_rate": -rate, "x_rate": v[0] - rate * base[1], "z_rate": v[1] + rate * base[0]}


@pytest.mark.parametrize("seed", range(60))
def test_transitions_are_those_of_the_judge(seed: int) -> None:
    random = np.random.default_rng(seed)
    mu = float(random.choice(FRICTION))
    rate, slide = random.uniform(-3, 3, 2) * (random.random(2) < 0.8)
    if seed % 2:
        scene, kind = scenes.rod(mu), "rod"
        q, v, start = rod_start(random.uniform(-1.2, 1.2), rate, slide)
    else:
        scene, kind = scenes.rocking_block(WIDTH, HEIGHT, mu), "block"
        q, v, start = block_start(random.uniform(0.05, 0.5) * random.choice([-1, 1]), rate, slide)
    judged = judge_event.simulate(scene, q, v, 1.0, stop="impact")
    run = dr.simulate(model(kind, mu), 1.0, start=start, method=TIGHT)
    assert run.status.kind == "FINISHED", run.status
    expected = [event.t for event in judged.events if event.kind in ("slip", "stick", "lift off", "impact")]
    found = [change.time for change in run.modes][1 : 1 + len(expected)]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)
    hits = judged.of("impact")
    at = run.at(run.modes.impacts[0].time) if hits else run.at(judged.t)
    place, motion = (hits[0].q, hits[0].before) if hits else (judged.q, judged.v)
    turn = ("theta", 1.0) if kind == "rod" else ("tilt", -1.0)
    np.testing.assert_allclose(turn[1] * at[turn[0]], place[2], rtol=0, atol=1e-9)
    np.testing.assert_allclose(turn[1] * at[f"{turn[0]}_rate"], motion[2], rtol=0, atol=1e-8)
