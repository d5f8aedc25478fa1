"""Figures of environments: steps of bicycles side by side, and of a chain without contact beside MuJoCo's `rollout`.

Processor time is measured, not time on the clock, so that other work on the machine counts little; rates on two cores are twice
those of one second of processor time, which both threads share. The best of several rounds is taken.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import draisine as dr
from figure import AtLeast, AtMost, Figure

MANY, STEP, STEPS, CORES = 4096, 0.01, 100, 2
LINKS = 9  # as many velocities as the bicycle has
RIDE = {
    "observe": ["lean", "steer", "roll_rate", "steer_rate"],
    "act": {"steer_torque": 5.0},
    "reward": "1 - lean^2 - 0.01*steer_torque^2",
    "reset": {"speed": 4.6, "lean": (-0.02, 0.02)},
    "terminate": "abs(lean) > 0.8",
    "step": STEP,
}


def figures(wanted: bool = True, rounds: int = 7) -> Iterator[Figure]:
    """Steps of bicycles, then of the chain."""
    env = dr.environment(dr.gallery.bicycle(), **RIDE, num_envs=MANY, threads=CORES)
    env.reset(seed=0)
    torque = np.random.default_rng(0).uniform(-0.2, 0.2, (MANY, 1))
    yield Figure("a step against `simulate` with RK4, largest difference of a state", _difference(), "", AtMost(1e-14))
    steps = CORES * MANY * STEPS / 1e6
    batch = env.unwrapped.episodes.batch
    kernel = _least(lambda: batch.advance(torque), STEPS, rounds)
    env.reset(seed=0)
    whole = _least(lambda: env.step(torque), STEPS, rounds)
    many = f"{MANY:,} bicycles, RK4, {1e3 * STEP:.0f} ms"
    name = f"{many}: million steps per second on {CORES} cores, compiled steps with observations"
    yield Figure(name, steps / kernel, "", AtLeast(5))
    yield Figure("the same through `VectorEnv.step`", steps / whole, "", AtLeast(5))
    with tempfile.TemporaryDirectory() as folder:
        yield from _chain(Path(folder) / "chain.xml", wanted, rounds)


def _least(run: Callable[[], Any], times: int, rounds: int) -> float:
    """The least processor time of so many calls, in seconds; their results are dropped at once."""
    run()
    found = []
    for _ in range(rounds):
        began = time.process_time()
        for _ in range(times):
            run()
        found.append(time.process_time() - began)
    return min(found)


def _difference() -> float:
    """Twenty steps of one environment, and the run of `simulate` with the same constant torque."""
    bike = dr.derive(dr.gallery.bicycle(), work=False)
    env = dr.environment(bike, **{**RIDE, "reset": {"speed": 4.6, "lean": 0.02}})
    env.reset()
    for _ in range(20):
        env.step([0.3])
    run = dr.simulate(
        bike, 0.2, start={"speed": 4.6, "lean": 0.02}, inputs={"steer_torque": 0.3}, method=dr.methods.RK4(STEP), samples=[0.2]
    )
    return max(abs(value - run[name][-1]) for name, value in env.state.items())


def chain_text() -> str:
    """A chain of hinges with alternating axes, without contact, as an MJCF file."""
    inside = ""
    for k in reversed(range(LINKS)):
        place, axis = 0.3 if k else 0.0, "0 1 0" if k % 2 == 0 else "0 0 1"
        body = '<inertial pos="0.15 0 0" mass="1" diaginertia="0.002 0.008 0.008"/>'
        joint = f'<joint name="hinge{k}" type="hinge" axis="{axis}"/>'
        inside = f'<body name="link{k}" pos="{place} 0 0">{joint}{body}{inside}</body>'
    option = f'<option timestep="{STEP}" integrator="RK4"><flag contact="disable"/></option>'
    motor = '<actuator><motor name="torque" joint="hinge0" ctrllimited="true" ctrlrange="-5 5"/></actuator>'
    return f'<mujoco model="chain">{option}<worldbody>{inside}</worldbody>{motor}</mujoco>'


def _chain(path: Path, wanted: bool, rounds: int) -> Iterator[Figure]:
    path.write_text(chain_text(), encoding="utf-8")
    angles = [f"hinge{k}" for k in range(LINKS)]
    env = dr.environment(
        dr.read_mjcf(path),
        observe=angles,
        act={"torque": 5.0},
        reward="-hinge0^2",
        reset=dict.fromkeys(angles, (-0.3, 0.3)),
        step=STEP,
        num_envs=MANY,
        threads=CORES,
    )
    seen, _ = env.reset(seed=1)
    first, batch = np.array(seen), env.unwrapped.episodes.batch
    torque = np.random.default_rng(0).uniform(-1.0, 1.0, (MANY, 1))
    for _ in range(10):
        batch.advance(torque)
    after = batch.values[:MANY, :LINKS].copy()
    ours = _least(lambda: batch.advance(torque), 20, rounds) / 20 / MANY
    theirs, apart = _rollouts(path, first, after, torque, rounds) if wanted else (None, float("nan"))
    if wanted:
        name = f"chain of {LINKS} hinges, 10 steps: largest difference of an angle from MuJoCo's"
        yield Figure(name, apart, "rad", AtMost(1e-8))
    name = f"chain of {LINKS} hinges, RK4, {MANY:,} side by side: processor time of a step, beside MuJoCo's `rollout`"
    yield Figure(name, 1e6 * ours, "µs", peer=None if theirs is None else 1e6 * theirs)


def _rollouts(path: Path, first: Any, after: Any, torque: Any, rounds: int) -> tuple[float, float]:
    """MuJoCo's processor time of a step, and the largest difference of an angle after ten of them."""
    import mujoco
    from mujoco import rollout

    model = mujoco.MjModel.from_xml_path(str(path))
    state = np.zeros((MANY, mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_FULLPHYSICS)))
    state[:, 1 : 1 + LINKS] = first  # time, angles, rates
    control = np.repeat(torque[:, None], 20, axis=1)
    with rollout.Rollout(nthread=CORES) as runner:
        datas = [mujoco.MjData(model) for _ in range(CORES)]

        def run() -> Any:
            return runner.rollout(model, datas, state, control)[0]

        seconds = _least(run, 1, rounds)
        found = run()[:, 9, 1 : 1 + LINKS]
    return seconds / 20 / MANY, float(np.abs(found - after).max())
