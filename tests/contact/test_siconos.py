"""Siconos as an independent judge: its time stepping converges to our runs as its step goes to zero.

It is a Debian package for the system's interpreter (`apt-get install python3-siconos`); without it these tests are left out.
"""

from __future__ import annotations

import json
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import draisine as dr

G = 9.81
SYSTEM = "/usr/bin/python3"
SCENES = Path(__file__).parent / "siconos_scenes.py"
TIGHT = dr.methods.DOP853(rtol=1e-11, atol=1e-12)


@cache
def has_siconos() -> bool:
    if not Path(SYSTEM).exists():
        return False
    return subprocess.run([SYSTEM, "-c", "import siconos.kernel"], capture_output=True, check=False).returncode == 0


@pytest.fixture(autouse=True)
def _needs_siconos() -> None:
    if not has_siconos():
        pytest.skip("Siconos is not installed for /usr/bin/python3: apt-get install python3-siconos")


def judged(scene: dict[str, Any], steps: int) -> np.ndarray:
    """The last q and v."""
    text = json.dumps({**scene, "steps": steps})
    done = subprocess.run([SYSTEM, str(SCENES)], input=text, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout.splitlines()[-1])
    return np.array([*found["q"], *found["v"]])


def contact(rows: list[list[float]], offset: float, friction: float, restitution: float = 0.0) -> dict[str, Any]:
    return {"rows": rows, "offset": offset, "friction": friction, "restitution": restitution}


def converges(scene: dict[str, Any], run: dr.Trajectory, names: list[str], bound: float) -> None:
    """Errors of both states fall with the step, and the last one is below a bound."""
    assert run.status.kind == "FINISHED", run.status
    ours = np.array([run[name][-1] for name in (*names, *(f"{name}_rate" for name in names))])
    errors = [float(np.abs(judged(scene, steps) - ours).max()) for steps in (400, 6400)]
    assert errors[1] < max(0.3 * errors[0], 1e-9), errors
    assert errors[1] < bound, errors


def slides(m: dr.Model, name: str, parent: Any, body: Any) -> None:
    """A body in the x–z plane that does not turn."""
    carriage = m.body(f"{name}carriage", mass=0.0)
    m.prismatic(f"{name}x", parent, carriage, axis="x")
    m.prismatic(f"{name}z", carriage, body, axis="z")


def test_block_slides_to_rest() -> None:
    m = dr.Model("block")
    m.gravity((2.0, 0, -G))
    slides(m, "", "ground", m.body("block", mass=1.5))
    m.contact("floor", "block", friction=0.4)
    scene = {"mass": [1.5, 1.5], "force": [3.0, -1.5 * G], "q": [0.0, 0.0], "v": [2.0, 0.0], "until": 1.2}
    scene["contacts"] = [contact([[0, 1], [1, 0]], 0.0, 0.4)]
    run = dr.simulate(m, 1.2, start={"x": 0, "z": 0, "x_rate": 2.0, "z_rate": 0.0}, method=TIGHT)
    converges(scene, run, ["x", "z"], 1e-3)


def test_ball_with_spin_bounces() -> None:
    """Friction turns its spin, and then it rolls."""
    m, radius = dr.Model("ball"), 0.1
    m.gravity(G)
    lift = m.body("lift", mass=0.0)
    slides(m, "", "ground", lift)
    m.revolute("turn", lift, m.body("ball", mass=1.0, inertia=(0.4 * radius**2,) * 3), axis="y")
    m.contact("floor", "ball", radius=radius, friction=0.2, restitution=0.5, impact="newton")
    start = {"x": 0, "z": 0.3, "turn": 0, "x_rate": 1.0, "z_rate": 0, "turn_rate": -10.0}
    scene = {"mass": [1, 1, 0.4 * radius**2], "force": [0, -G, 0], "q": [0, 0.3, 0], "v": [1.0, 0, -10.0], "until": 0.55}
    scene["contacts"] = [contact([[0, 1, 0], [1, 0, -radius]], -radius, 0.2, 0.5)]
    converges(scene, dr.simulate(m, 0.55, start=start, method=TIGHT), ["x", "z", "turn"], 0.02)


@pytest.mark.parametrize("seed", range(3))
def test_blocks_on_each_other(seed: int) -> None:
    """The upper block is pulled and falls on the lower one; they slip on each other and on the ground."""
    rng = np.random.default_rng(seed)
    below, above = (float(mass) for mass in rng.uniform(0.5, 2.0, 2))
    on_ground, between = (float(mu) for mu in rng.uniform(0.1, 0.6, 2))
    pull, drop = float(rng.uniform(0, 8)), float(rng.uniform(0.05, 0.2))
    m = dr.Model("blocks")
    m.gravity(G)
    slides(m, "low_", "ground", m.body("low", mass=below))
    slides(m, "high_", "ground", m.body("high", mass=above))
    m.contact("floor", "low", friction=on_ground)
    m.contact("between", "high", on="low", friction=between)
    m.generalized_force("high_x", pull)
    start = {"low_x": 0, "low_z": 0, "high_x": 0, "high_z": drop, "low_x_rate": 0.5, "low_z_rate": 0, "high_x_rate": -0.4}
    run = dr.simulate(m, 0.8, start=start | {"high_z_rate": 0}, method=TIGHT)
    scene = {"mass": [below, below, above, above], "force": [0, -below * G, pull, -above * G], "until": 0.8}
    scene |= {"q": [0, 0, 0, drop], "v": [0.5, 0, -0.4, 0]}
    scene["contacts"] = [
        contact([[0, 1, 0, 0], [1, 0, 0, 0]], 0.0, on_ground),
        contact([[0, -1, 0, 1], [-1, 0, 1, 0]], 0.0, between),
    ]
    converges(scene, run, ["low_x", "low_z", "high_x", "high_z"], 5e-3)
