"""Environments by name: they pass Gymnasium's checks, and known controllers solve them."""

from __future__ import annotations

import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import draisine as dr
from draisine.gallery import environments


@pytest.mark.parametrize("name", environments.NAMES)
def test_they_are_made_and_pass_the_check(name):
    env = gymnasium.make(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check_env(env.unwrapped)
    many = gymnasium.make_vec(name, num_envs=5)
    seen, _ = many.reset(seed=0)
    assert seen.shape == (5, *env.observation_space.shape)
    seen, reward, *_ = many.step(many.action_space.sample())
    assert many.observation_space.contains(seen) and np.isfinite(reward).all()


def ridden(env, policy, seed=0):
    """Rewards and the last info of an episode."""
    seen, _ = env.reset(seed=seed)
    total = []
    while True:
        seen, reward, terminated, truncated, info = env.step(policy(seen))
        total.append(reward)
        if terminated or truncated:
            return total, info


def test_the_regulator_balances():
    env = gymnasium.make("draisine/BicycleBalance-v0", until=4.0)
    weights = {"lean": 10.0, "steer": 1.0}
    law = dr.lqr(dr.gallery.bicycle(), {"speed": 2.0}, weights=weights, input_weights={"steer_torque": 0.05})
    rewards, info = ridden(env, lambda seen: -law.K @ seen)
    assert info["status"] == "FINISHED: reached t = 4 s" and rewards[-1] > 0.9999
    rewards, info = ridden(env, lambda seen: np.zeros(1))
    assert info["status"].startswith("EVENT: fell at")


def test_the_law_of_the_gallery_rides_the_slalom():
    """The cones are those of the study `slalom`, whose law passes them with 0.6 m to spare."""
    from draisine.gallery.entries import slalom

    bike = dr.gallery.bicycle()
    law = dr.lqr(bike, {"speed": 4.0}, weights=slalom.WEIGHTS, input_weights=slalom.INPUT_WEIGHTS)
    rate = np.pi * slalom.SPEED / slalom.APART
    phase = f"{np.pi / slalom.APART!r}*rear_wheel_contact_x"
    winding = law.following("rear_wheel_contact_y", slalom.GROWING, rate, phase=phase)
    names = ["steer_torque", "pedal_torque"]
    env = gymnasium.make(
        "draisine/BicycleSlalom-v0",
        act={"push": 1.0},
        inputs={name: winding[name] for name in names},
        reset={"speed": 4.0},
        reward="sin(pi*rear_wheel_contact_x/7)*rear_wheel_contact_y",
        until=12.0,
    )
    rewards, info = ridden(env, lambda seen: np.zeros(1))
    assert info["status"] == "FINISHED: reached t = 12 s"
    assert np.mean(rewards[600:]) > 0.3  # 0.4 is the mean of 0.8 sin²
    straight = gymnasium.make("draisine/BicycleSlalom-v0", speed=5.0, reset={"speed": 5.0})
    assert ridden(straight, lambda seen: np.zeros(1))[1]["status"].startswith("EVENT: hit a cone at t = 3")


def test_parking_ends_where_it_should():
    near = {"vehicle_x": 0.05, "vehicle_y": 0.02, "vehicle_heading": 0.02, "hitch1": 0.0}
    for reset, said in ((near, "parked"), (near | {"hitch1": 1.41}, "jackknifed"), (near | {"vehicle_x": 12.5}, "left the yard")):
        env = gymnasium.make("draisine/TrailerParking-v0", reset=reset)
        assert ridden(env, lambda seen: np.zeros(2))[1]["status"] == f"EVENT: {said} at t = 0.02 s"


def test_driven_backwards_the_trailer_jackknifes():
    """L θ̇ = v sin(hitch): in reverse the angle of the hitch grows like exp(|v| t / L)."""
    env = gymnasium.make("draisine/TrailerParking-v0", reset={"vehicle_x": 6.0, "vehicle_vx": -1.0, "hitch1": 0.01})
    seen, _ = env.reset()
    for _ in range(100):
        seen, *_ = env.step(np.zeros(2))
    assert seen[2] == pytest.approx(2 * np.arctan(np.tan(0.005) * np.exp(2.0)), rel=0.02)
