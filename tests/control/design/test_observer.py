"""Observers: duality with the regulator, the loop they are put into, and what they cannot see."""

from __future__ import annotations

import json

import numpy as np
import pytest
import scipy.linalg

import draisine as dr
from draisine.errors import ArgumentError

from .conftest import linear

MEASURED, NOISE = {"steer": 1e-4, "roll_rate": 2e-4}, {"push": 100.0, "steer_torque": 0.1}


@pytest.fixture(scope="module")
def observer(hold):
    return dr.control.kalman(hold.linear, measured=MEASURED, noise=NOISE)


@pytest.fixture(scope="module")
def loop(hold, observer):
    return dr.control.with_observer(hold, observer)


def test_the_filter_is_the_dual_of_the_regulator(hold, observer):
    part = hold.linear
    c = np.array([part.row("steer"), part.row("roll_rate")])
    push = part.B[:, [part.inputs.index(name) for name in NOISE]]
    dual = linear(part.A.T, c.T)
    spread = push @ np.diag(list(NOISE.values())) @ push.T
    p = scipy.linalg.solve_continuous_are(part.A.T, c.T, spread, np.diag(list(MEASURED.values())))
    np.testing.assert_allclose(observer.L, p @ c.T / list(MEASURED.values()), rtol=1e-8)
    assert dual.controllability().rank == observer.structure.rank == 4


def test_a_random_walk_seen_through_noise_has_the_gain_of_the_books():
    """ẋ = w, y = x + n: L = √(W/V)."""
    walk = linear([[0.0]], [[1.0]], states=("x",))
    assert dr.control.kalman(walk, measured={"x": 4.0}, noise={"u0": 9.0}).L[0, 0] == pytest.approx(1.5, rel=1e-10)
    assert dr.control.kalman(walk, measured={"x": 4.0}, noise={"x": 9.0}).L[0, 0] == pytest.approx(1.5, rel=1e-10)


def test_the_nonlinear_loop_has_the_eigenvalues_of_law_and_observer(bike, loop):
    found = dr.linearize(loop.on(bike), at={"speed": 2.0}, states=("lean", "steer")).essential()
    assert {q.name for q in loop.own_states} < set(found.states)
    np.testing.assert_allclose(found.eigenvalues, loop.eigenvalues, rtol=1e-9)
    assert found.stable


def test_the_estimate_comes_to_the_truth_and_the_bicycle_stays_up(bike, loop):
    pushed = loop.on(bike, inputs={"push": "where(t < 1, 0, where(t < 1.5, 20, 0))"})
    run = dr.simulate(pushed, 8.0, start={"speed": 2.0, "lean": 0.03, "lean_estimate": 0.0})
    assert run.time[-1] == 8.0
    assert run["lean_estimate"][0] == 0.0 and run["lean"][0] == pytest.approx(0.03)
    assert abs(run["lean"][-1]) < 1e-4
    for name in loop.law.states:
        assert abs(run[f"{name}_estimate"][-1] - run[name][-1]) < 1e-4
    assert run.energy_drift < 1e-7
    torque = sum(-gain * run[f"{name}_estimate"] for name, gain in zip(loop.law.states, loop.law.K[0], strict=True))
    np.testing.assert_allclose(run["steer_torque"], torque, atol=1e-9)


def test_about_a_turn_estimates_are_those_of_the_motion_itself(bike):
    turn = dr.steady(bike, {"speed": 4.0, "lean": 0.1}, free=("steer_torque", "pedal_torque"))
    weights = {"lean": 10.0, "speed": 1.0}
    law = dr.lqr(
        turn, weights=weights, input_weights={"steer_torque": 0.1, "pedal_torque": 0.1}, states=("lean", "steer", "speed")
    )
    observer = dr.control.kalman(
        law.linear, measured={"steer": 1e-4, "yaw_rate": 1e-4, "speed": 1e-3}, noise={"push": 10.0, "pedal_torque": 1.0}
    )
    both = dr.control.with_observer(law, observer)
    start = {name: turn[name] for name in ("speed", "lean", "steer", "frame_wx", "steer_rate")}
    run = dr.simulate(both.on(bike), 3.0, start=start)
    assert run.time[-1] == 3.0
    assert np.abs(run["lean"] - 0.1).max() < 1e-6 and np.abs(run["lean_estimate"] - 0.1).max() < 1e-6
    assert np.abs(run["steer_torque"] - turn["steer_torque"]).max() < 1e-5


def test_a_turn_s_pedalling_comes_with_its_law(bike):
    turn = dr.steady(bike, {"speed": 4.0, "lean": 0.1}, free=("steer_torque", "pedal_torque"))
    law = dr.lqr(turn, weights={"lean": 10.0}, input_weights={"steer_torque": 0.1})
    both = dr.control.with_observer(
        law,
        dr.control.kalman(
            law.linear, measured={"lean": 1e-4, "yaw_rate": 1e-4, "speed": 1e-3}, noise=NOISE | {"pedal_torque": 1.0}
        ),
    )
    run = dr.simulate(both.on(bike), 1.0, start={"speed": 4.0, "lean": 0.1, "steer": turn["steer"]})
    np.testing.assert_allclose(run["pedal_torque"], turn["pedal_torque"], rtol=1e-12)
    held = dr.lqr(turn, weights={"lean": 10.0, "heading": 1.0}, input_weights={"steer_torque": 0.1})
    with pytest.raises(ArgumentError, match="heading drifts in the reference motion"):
        dr.control.with_observer(
            held, dr.control.kalman(held.linear, measured={"heading": 1e-4, "speed": 1e-3}, noise=NOISE | {"pedal_torque": 1.0})
        )


def test_what_is_reported(observer, loop):
    assert "observer from steer, roll_rate" in str(observer)
    data = json.loads(json.dumps(loop.as_data()))
    assert data["observer"]["gains"]["lean"]["steer"] == pytest.approx(observer.gains["lean"]["steer"])


def test_what_is_not_seen_is_named(straight, hold):
    with pytest.raises(ArgumentError, match=r"does not observe .*heading.*measure"):
        dr.control.kalman(
            straight.with_states(("lean", "steer", "heading", "frame_wx", "steer_rate")),
            measured={"steer": 1.0},
            noise={"push": 1.0},
        )
    with pytest.raises(ArgumentError, match="no input or state 'wind'"):
        dr.control.kalman(hold.linear, measured={"steer": 1.0}, noise={"wind": 1.0})
    with pytest.raises(ArgumentError, match="noise of the measured 'steer' is 0"):
        dr.control.kalman(hold.linear, measured={"steer": 0.0}, noise={"push": 1.0})
    with pytest.raises(ArgumentError, match="the law needs lean, frame_wx, which the observer does not estimate"):
        small = linear([[0.0, 1.0], [0.0, 0.0]], [[0.0], [1.0]], states=("steer", "steer_rate"))
        dr.control.with_observer(hold, dr.control.kalman(small, measured={"steer": 1.0}, noise={"u0": 1.0}))


def test_an_input_set_twice_is_refused(bike, loop):
    with pytest.raises(ArgumentError, match="'steer_torque' is set by the controller"):
        loop.on(bike, inputs={"steer_torque": "1"})
