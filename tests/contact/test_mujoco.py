"""MuJoCo as an independent judge: its soft contacts converge to our rigid ones as step and time constant go to zero."""

from __future__ import annotations

import math

import numpy as np
import pytest

import draisine as dr

mujoco = pytest.importorskip("mujoco", reason="MuJoCo is not installed: pip install draisine[robots]")

G = 9.81
TIGHT = dr.methods.DOP853(rtol=1e-11, atol=1e-12)


def judged(body: str, until: float, step: float, friction: float, qvel: list[float], tilt: float = 0.0) -> np.ndarray:
    """Position and velocity of a free body at the end: a contact whose time constant is two steps, and an elliptic cone."""
    text = f"""
    <mujoco>
      <option timestep="{step}" cone="elliptic" impratio="1000" integrator="implicitfast" tolerance="0" iterations="100"
              gravity="{G * math.sin(tilt)} 0 {-G * math.cos(tilt)}" noslip_iterations="50"/>
      <default><geom solref="{2 * step} 1" solimp="0.99 0.999 1e-5" friction="{friction} 0 0" condim="3"/></default>
      <worldbody><geom type="plane" size="9 9 1"/>{body}</worldbody>
    </mujoco>"""
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    data.qvel[:] = qvel
    for _ in range(round(until / step)):
        mujoco.mj_step(model, data)
    return np.array([*data.qpos[:3], *data.qvel[:3]])


def ball(radius: float, height: float) -> str:
    moments = " ".join([str(0.4 * radius**2)] * 3)
    inertia = f'<inertial pos="0 0 0" mass="1" diaginertia="{moments}"/>'
    return f'<body pos="0 0 {height}"><freejoint/>{inertia}<geom type="sphere" size="{radius}"/></body>'


def converges(errors: list[float], bound: float) -> None:
    assert errors[-1] < 0.5 * errors[0] and errors[-1] < bound, errors


def test_ball_slides_and_rolls() -> None:
    """A cue ball: x and velocity after it has begun to roll."""
    radius, mu = 0.1, 0.2
    m = dr.Model("ball")
    m.gravity(G)
    body = m.body("ball", mass=1.0, inertia=(0.4 * radius**2,) * 3)
    m.free(body)
    m.contact("floor", body, radius=radius, friction=mu)
    start = {"ball_z": radius, "ball_vx": 2.0, "ball_vy": 0.0, "ball_vz": 0.0, "ball_wx": 0, "ball_wy": 0.0, "ball_wz": 0.0}
    run = dr.simulate(m, 0.6, start=start, method=TIGHT)
    errors = [
        abs(judged(ball(radius, radius), 0.6, step, mu, [2.0, 0, 0, 0, 0, 0])[0] - run["ball_x"][-1]) for step in (2e-3, 2e-4)
    ]
    converges(errors, 2e-3)


def test_ball_falls_on_a_slope() -> None:
    """It lands without a bounce, slips and rolls down."""
    radius, mu, tilt = 0.1, 0.15, 0.3
    m = dr.Model("ball")
    m.gravity((G * math.sin(tilt), 0, -G * math.cos(tilt)))
    body = m.body("ball", mass=1.0, inertia=(0.4 * radius**2,) * 3)
    m.free(body)
    m.contact("floor", body, radius=radius, friction=mu)
    start = {"ball_z": radius + 0.1, "ball_vx": -0.5, "ball_wy": 15.0}
    run = dr.simulate(m, 0.7, start=start, method=TIGHT)
    assert run.status.kind == "FINISHED", run.status
    errors = [
        abs(judged(ball(radius, radius + 0.1), 0.7, step, mu, [-0.5, 0, 0, 0, 15.0, 0], tilt)[0] - run["ball_x"][-1])
        for step in (2e-3, 2e-4)
    ]
    converges(errors, 5e-3)


def test_block_slides_to_rest() -> None:
    """A box on its four lower corners: the way that it slides."""
    mu, half = 0.3, 0.1
    m = dr.Model("block")
    m.gravity(G)
    carriage = m.body("carriage", mass=0.0)
    m.prismatic("x", "ground", carriage, axis="x")
    m.prismatic("z", carriage, m.body("block", mass=1.0), axis="z")
    m.contact("floor", "block", friction=mu)
    run = dr.simulate(m, 1.0, start={"x": 0, "z": 0, "x_rate": 1.5, "z_rate": 0}, method=TIGHT)
    assert run["x"][-1] == pytest.approx(1.5**2 / (2 * mu * G), rel=1e-9)
    box = f'<body pos="0 0 {half}"><freejoint/><geom type="box" size="{3 * half} {2 * half} {half}" mass="1"/></body>'
    errors = [abs(judged(box, 1.0, step, mu, [1.5, 0, 0, 0, 0, 0])[0] - run["x"][-1]) for step in (2e-3, 2e-4)]
    converges(errors, 2e-3)
