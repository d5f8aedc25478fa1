"""Resets of vector environments: seeds of members, masks, bounds with units, ends in the last step, copies."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import draisine as dr
from draisine.errors import ArgumentError, DraisineError

gymnasium = pytest.importorskip("gymnasium")


def slide() -> dr.Model:
    m = dr.Model("slide")
    m.body("b", mass=m.parameter("mass", 1.0, "kg"))
    m.prismatic("x", "ground", "b")
    m.generalized_force("x", m.input("F", "N"))
    return m


MODEL = slide()


def env(**options):
    given = {"observe": ["x", "x_rate"], "act": {"F": 1.0}, "reward": "1", "reset": {"x": (-1.0, 1.0)}, "step": 0.1, **options}
    return dr.environment(MODEL, **given)


def test_a_seed_for_each_member() -> None:
    """A member's starts follow from its own seed, whoever is beside it, and also after its later resets."""
    many = env(num_envs=3, until=0.2, autoreset="same_step")
    seen = [many.reset(seed=[7, 8, 7])[0]]
    for _ in range(4):
        seen.append(many.step(np.zeros((3, 1)))[0])
    assert all((s[0] == s[2]).all() and s[0, 0] != s[1, 0] for s in seen)
    other = env(num_envs=2)
    assert other.reset(seed=[8, 7])[0][:, 0].tolist() == [seen[0][1, 0], seen[0][0, 0]]
    for seed in ([1, 2], [1, 2, -3], [1, 2, 0.5], "abc", -1, True):
        with pytest.raises(ArgumentError, match="seed"):
            many.reset(seed=seed)
    one = env(num_envs=3)
    assert (one.reset(seed=4)[0] == env(num_envs=3).reset(seed=4)[0]).all()


@pytest.mark.parametrize("mask", [[0, 2], np.array([1, 0, 1]), np.array([True, False]), np.ones((3, 1), dtype=bool), "all"])
def test_masks_are_truth_values_of_all_members(mask) -> None:
    many = env(num_envs=3)
    before, _ = many.reset(seed=1)
    with pytest.raises(ArgumentError, match="reset_mask is an array of 3 truth values"):
        many.reset(options={"reset_mask": mask})
    after, _ = many.reset(options={"reset_mask": np.array([False, True, False])})
    assert (after[[0, 2]] == before[[0, 2]]).all() and after[1, 0] != before[1, 0]
    assert (many.reset(options={"reset_mask": np.zeros(3, dtype=bool)})[0] == after).all()


@pytest.mark.parametrize("pair", [(1.0, -1.0), (-np.inf, np.inf), (0.0, np.nan), ("a", 1.0), (None, 1.0), (True, 2.0)])
def test_bounds_are_checked_when_the_environment_is_made(pair) -> None:
    with pytest.raises(ArgumentError, match="reset: x: the bounds"):
        env(reset={"x": pair})
    with pytest.raises(ArgumentError, match="parameters: mass: the bounds"):
        env(parameters={"mass": pair})


def test_bounds_have_units() -> None:
    lengths = env(num_envs=50, reset={"x": ("20 cm", "300 mm")}).reset(seed=0)[0][:, 0]
    assert (lengths >= 0.2).all() and (lengths <= 0.3).all() and np.ptp(lengths) > 0.05
    with pytest.raises(DraisineError, match="got '5 deg'"):
        env(reset={"x": ("5 deg", "10 deg")})


def test_unknown_names() -> None:
    with pytest.raises(DraisineError, match="no coordinate, velocity or output of slide for reset is called 'xx'"):
        env(reset={"xx": 1.0})
    with pytest.raises(DraisineError, match=r"no input of slide among the actions \(act\) is called 'G'"):
        env(act={"G": 1.0})


def test_an_end_in_the_last_step_is_both() -> None:
    ends = env(until=0.2, terminate="x > 0.5", reset={"x": 0.45, "x_rate": 0.3})
    ends.reset()
    assert ends.step([0.0])[2:4] == (False, False)
    *_, terminated, truncated, info = ends.step([0.0])
    assert terminated and truncated and info["status"].startswith("EVENT")


def test_modes_of_gymnasium() -> None:
    for mode in gymnasium.vector.AutoresetMode:
        assert env(num_envs=2, autoreset=mode).metadata["autoreset_mode"] is mode


@pytest.mark.parametrize("copied", [copy.deepcopy, copy.copy, pickle.dumps])
def test_copies_are_refused(copied) -> None:
    for made in (env(), env(num_envs=2)):
        with pytest.raises(TypeError, match="holds compiled code and cannot be copied or pickled"):
            copied(made)
