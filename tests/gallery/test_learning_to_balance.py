"""Learning to balance: the return of an episode against a run of `simulate`, and the study."""

from __future__ import annotations

import numpy as np
import pytest

import draisine as dr
from draisine.gallery.entries import learning_to_balance as study

GAINS = np.array([56.6, 17.1, 16.7, 2.2])


def test_returns_are_those_of_a_sampled_law():
    """Rewards of the states after each step, and of the torque that led there."""
    env = study.riders(4, 2)
    found = study.returns(env, np.tile(GAINS, (4, 1)), seed=5)
    np.testing.assert_array_equal(found[:2], found[2:])  # two starts, which all candidates share
    env.reset(seed=5)
    begin = dict(
        zip((q.name for q in env.episodes.task.equations.states), env.episodes.batch.states(np.array([1]))[0], strict=True)
    )

    def law(t, x):
        return {"steer_torque": -float(GAINS @ [x[name] for name in study.SEEN])}

    count = round(study.DURATION / study.STEP)
    run = dr.simulate(
        dr.gallery.bicycle(),
        study.DURATION,
        start=begin,
        control=dr.control.Sampled(law, 1 / study.STEP),
        method=dr.methods.RK4(study.STEP),
        samples=count + 1,
    )
    torque = -GAINS @ [run[name][:-1] for name in study.SEEN]
    reward = 1 - 10 * run["lean"][1:] ** 2 - run["steer"][1:] ** 2 - 0.05 * torque**2
    assert found[1] == pytest.approx(reward.sum(), abs=1e-9)


def test_a_short_search_learns():
    gains, found, _ = study.search(candidates=64, starts=4, rounds=5)
    assert np.median(found[-1]) > np.median(found[0]) and found[-1].max() > 380
    assert gains[0] > 10.0  # steer into the fall


@pytest.mark.further
def test_the_learned_policy_is_as_good_as_the_regulator():
    assert study.bicycle_learns_to_balance().runs["learned"].status.complete
