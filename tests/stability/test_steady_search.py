"""Steady motions that Newton's method does not find from the fixed quantities alone."""

from __future__ import annotations

import numpy as np
import pytest

import draisine as dr

CAPSIZE = 6.02426201538837  # m/s, Meijaard et al. (2007): turns branch off from straight running there


def test_the_hands_free_turn_at_a_lean_is_found() -> None:
    """Speed and steer of the turn, and the same from a guess near it; a run without torques stays in the turn."""
    bike = dr.gallery.bicycle()
    turn = dr.steady(bike, {"lean": 0.1})
    assert turn["speed"] == pytest.approx(5.9929041515, abs=1e-9)
    near = dr.steady(bike, {"lean": 0.1}, near={"lean": 0.1, "speed": 6.0})
    np.testing.assert_allclose([turn["speed"], turn["steer"]], [near["speed"], near["steer"]], rtol=1e-10)
    run = dr.simulate(bike, 1.0, start=turn)
    assert not run.warnings
    for name in ("lean", "steer", "speed"):
        np.testing.assert_allclose(run[name], turn[name], atol=1e-6)
    with pytest.raises(dr.errors.SolverError, match="was found"):  # near= searches nowhere else
        dr.steady(bike, {"lean": 0.1}, near={"lean": 0.1, "speed": 1.0})


def test_random_leans_lie_on_the_branch_of_turns() -> None:
    """Against the branch of `hands_free_turns`, solved for arc lengths, not for leans; turns to both sides are mirrored."""
    bike = dr.gallery.bicycle()
    branch = dr.bicycle.hands_free_turns(bike, speed=(3.0, 9.0))["turning"]
    lean, speed = branch["lean"], branch["speed"]
    middle = int(np.argmin(np.abs(lean)))
    order = slice(middle, None) if lean[-1] > 0 else slice(middle, None, -1)
    rng = np.random.default_rng(4)
    for value in rng.uniform(0.005, 0.35, 6):
        turn = dr.steady(bike, {"lean": value})
        expected = np.interp(value, np.abs(lean[order]), speed[order])
        assert turn["speed"] == pytest.approx(expected, abs=2e-2)
        other = dr.steady(bike, {"lean": -value})
        np.testing.assert_allclose([other["speed"], other["steer"]], [turn["speed"], -turn["steer"]], rtol=1e-9)
        assert abs(turn["steer_torque"]) == abs(turn["pedal_torque"]) == 0.0
    # v(lean) is even: v = v_capsize − c lean² for small leans
    small = [CAPSIZE - dr.steady(bike, {"lean": value})["speed"] for value in (0.01, 0.02)]
    assert small[1] / small[0] == pytest.approx(4.0, abs=5e-3)


def test_turns_of_random_bicycles() -> None:
    """Their capsize speeds by `modes`, the turns by `steady`: at small leans they agree."""
    rng = np.random.default_rng(11)
    bike = dr.gallery.bicycle()
    for _ in range(3):
        parameters = {"trail": rng.uniform(0.06, 0.1), "wheelbase": rng.uniform(0.95, 1.1)}
        found = [c for c in dr.modes(bike, speed=np.linspace(0.5, 12, 60), parameters=parameters).critical() if c.kind != "weave"]
        capsize = max(c.value for c in found)
        turn = dr.steady(bike, {"lean": 1e-3}, parameters=parameters)
        assert turn["speed"] == pytest.approx(capsize, rel=1e-5)


def test_what_is_not_found_is_not_called_impossible() -> None:
    with pytest.raises(dr.errors.SolverError, match=r"no steady motion with lean = 0\.5 was found") as refused:
        dr.steady(dr.gallery.bicycle(), {"lean": 0.5})
    assert "does not exist" not in str(refused.value)
