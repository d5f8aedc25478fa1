"""Regulators against closed forms, the bare Riccati equation, and the nonlinear loop they are put into."""

from __future__ import annotations

import json
import sys
from dataclasses import replace

import numpy as np
import pytest
import scipy.linalg

import draisine as dr
from draisine.errors import ArgumentError, SolverError
from draisine.expr.expression import evaluate_number, parse

from .conftest import linear


@pytest.mark.parametrize(("q", "r"), [(1.0, 1.0), (9.0, 0.25), (0.3, 20.0)])
def test_a_double_integrator_has_the_gains_of_the_books(q, r):
    cart = linear([[0, 1], [0, 0]], [[0], [1]], states=("x", "v"))
    law = dr.lqr(cart, weights={"x": q}, input_weights={"u0": r})
    stiff = np.sqrt(q / r)
    np.testing.assert_allclose(law.K, [[stiff, np.sqrt(2 * stiff)]], rtol=1e-10)


def test_the_gains_are_those_of_the_riccati_equation(straight, hold):
    part = hold.linear
    b = part.B[:, [0]]
    p = scipy.linalg.solve_continuous_are(part.A, b, np.diag([10.0, 1.0, 0.0, 0.0]), [[0.1]])
    np.testing.assert_allclose(hold.K, b.T @ p / 0.1, rtol=1e-9)
    assert part.states == ("lean", "steer", "frame_wx", "steer_rate")
    assert straight.essential().states == part.states


def eigenvalues_of_loop(equations, at, states=("lean", "steer")):
    return dr.linearize(equations, at=at, states=states).eigenvalues


def assert_among(values, all_values, tolerance=1e-9):
    """Each value once among the others."""
    left = list(all_values)
    for value in values:
        nearest = min(left, key=lambda z: abs(z - value))
        assert abs(nearest - value) < tolerance, (value, all_values)
        left.remove(nearest)
    return np.array(left)


def test_the_nonlinear_loop_has_the_eigenvalues_of_the_design(bike, hold):
    """The law compiled in, the closed loop linearized anew: A − B K."""
    assert not hold.linear.stable and hold.closed.stable
    rest = assert_among(hold.eigenvalues, eigenvalues_of_loop(hold.on(bike), {"speed": 2.0}))
    np.testing.assert_allclose(rest, 0, atol=1e-9)  # places, heading, angles, speed


def test_place_heading_and_speed_are_held_where_they_have_weights(bike):
    law = dr.lqr(
        bike,
        {"speed": 3.0},
        weights={"rear_wheel_contact_y": 1.0, "heading": 1.0, "lean": 10.0, "speed": 1.0},
        input_weights={"steer_torque": 0.1, "pedal_torque": 0.01},
    )
    assert {"rear_wheel_contact_y", "heading", "lean", "speed"} < set(law.states)
    rest = assert_among(law.eigenvalues, eigenvalues_of_loop(law.on(bike), {"speed": 3.0}))
    assert len(rest) == 3 and np.abs(rest).max() < 1e-9
    assert law.closed.stable


def test_a_law_may_speak_of_a_quaternion_s_angles(bike):
    law = dr.lqr(bike, {"speed": 2.0}, weights={"frame_lean": 10.0, "steer": 1.0}, input_weights={"steer_torque": 0.1})
    assert "asin(" in str(law["steer_torque"]) and "frame_lean" in law.states
    assert_among(law.eigenvalues, eigenvalues_of_loop(law.on(bike), {"speed": 2.0}))


def test_a_turn_is_held_by_steering_alone(bike):
    """The family of turns is out of reach and stays; the gains allow for it as those of a family that died away slowly would."""
    turn = dr.steady(bike, {"speed": 3.0, "lean": 0.1}, free=("steer_torque", "pedal_torque"))
    law = dr.lqr(turn, weights={"lean": 10.0, "steer": 1.0}, input_weights={"steer_torque": 0.1})
    part, structure = law.linear, law.structure
    assert structure.rank == 4 and len(structure.constant) == 1 and not structure.moving
    rest = scipy.linalg.null_space(structure.basis.T)
    q = np.diag([10.0 if s == "lean" else 1.0 if s == "steer" else 0.0 for s in part.states])
    nearly = []
    for slow in (2e-5, 1e-5):
        a = part.A - slow * rest @ rest.T
        p = scipy.linalg.solve_continuous_are(a, part.B[:, [0]], q, [[0.1]])
        nearly.append(part.B[:, [0]].T @ p / 0.1)
    np.testing.assert_allclose(law.K, 2 * nearly[1] - nearly[0], rtol=1e-5, atol=1e-6)
    assert abs(turn["pedal_torque"]) < 1e-12  # rolling takes no power: it may be left out of the law
    assert "pedal_torque" not in law or evaluate_number(law["pedal_torque"]) == turn["pedal_torque"]
    closed = dr.steady(law.on(bike), {"speed": 3.0, "lean": 0.1}, near={"speed": 3.0, "lean": 0.1, "steer": -0.1})
    assert closed["steer"] == pytest.approx(turn["steer"], abs=1e-9)
    assert_among(law.eigenvalues, closed.linearize(("lean", "steer")).essential().eigenvalues, 1e-8)


def test_what_is_out_of_reach_and_dies_away_counts_as_in_the_whole_riccati_equation():
    rng = np.random.default_rng(8)
    a = np.zeros((4, 4))
    a[:2, :2], a[:2, 2:], a[2:, 2:] = [[0.0, 1.0], [2.0, 0.3]], rng.normal(size=(2, 2)), [[-1.0, 2.0], [-2.0, -1.0]]
    mix = rng.normal(size=(4, 4))
    a, b = mix @ a @ np.linalg.inv(mix), mix @ [[0.0], [1.0], [0.0], [0.0]]
    law = dr.lqr(linear(a, b), weights={"x0": 1.0, "x1": 2.0, "x2": 3.0, "x3": 4.0}, input_weights={"u0": 0.5})
    assert law.structure.rank == 2 and len(law.structure.moving) == 1
    p = scipy.linalg.solve_continuous_are(a, b, np.diag([1.0, 2.0, 3.0, 4.0]), [[0.5]])
    np.testing.assert_allclose(law.K, b.T @ p / 0.5, rtol=1e-8)


def test_an_output_that_feels_the_input_directly_is_weighed_with_it():
    a, b, c, d = np.array([[0.0, 1.0], [3.0, 0.0]]), np.array([[0.0], [1.0]]), np.array([[1.0, 0.5]]), np.array([[0.7]])
    model = replace(linear(a, b, c), D=d)
    law = dr.lqr(model, weights={"y0": 2.0}, input_weights={"u0": 0.3})
    r = 0.3 + 2.0 * d.T @ d
    p = scipy.linalg.solve_continuous_are(a, b, 2.0 * c.T @ c, r, s=2.0 * c.T @ d)
    np.testing.assert_allclose(law.K, np.linalg.solve(r, b.T @ p + 2.0 * d.T @ c), rtol=1e-9)


def test_no_other_gain_costs_less(hold):
    """Cost from a random start, by a Lyapunov equation, for gains beside the optimum."""
    part, q, r = hold.linear, np.diag([10.0, 1.0, 0.0, 0.0]), 0.1

    def cost(k):
        closed = part.A - part.B[:, [0]] @ k
        return np.trace(scipy.linalg.solve_continuous_lyapunov(closed.T, -(q + k.T @ k * r)))

    rng, least = np.random.default_rng(1), cost(hold.K)
    for _ in range(8):
        step = 1e-3 * rng.normal(size=(1, 4)) * np.abs(hold.K)
        assert cost(hold.K + step) > least
        assert abs(cost(hold.K + step) + cost(hold.K - step) - 2 * least) > 20 * abs(cost(hold.K + step) - cost(hold.K - step))


@pytest.mark.parametrize(
    ("controls", "poles"),
    [(["steer_torque"], [-3, -4, -2 + 1j, -2 - 1j]), (["steer_torque"], [-3] * 4), (["steer_torque", "push"], [-3, -4, -5, -6])],
)
def test_poles_are_where_they_were_placed(bike, controls, poles):
    law = dr.control.pole_placement(bike, {"speed": 2.0}, poles=poles, controls=controls, states=("lean", "steer"))
    wanted = np.poly(poles)
    np.testing.assert_allclose(np.poly(law.closed.A), wanted, rtol=1e-9)
    loop = dr.linearize(law.on(bike), at={"speed": 2.0}, states=("lean", "steer")).essential()
    np.testing.assert_allclose(np.poly(loop.A), wanted, rtol=1e-8)


def test_the_law_rides_where_the_bicycle_alone_falls(bike, hold):
    start = {"speed": 2.0, "lean": 0.1}
    alone = dr.simulate(bike, 5.0, start=start)
    ridden = dr.simulate(bike, 5.0, start=start, inputs=hold)
    assert alone.time[-1] < 3.0  # fell over
    assert ridden.time[-1] == 5.0 and abs(ridden["lean"][-1]) < 1e-4
    assert ridden.energy_drift < 1e-7
    # the law is the expression it says it is
    torque = sum(-gain * ridden[name] for name, gain in zip(hold.states, hold.K[0], strict=True))
    np.testing.assert_allclose(ridden["steer_torque"], torque, atol=1e-9)


def test_limits_cut_the_law_off(bike, hold):
    run = dr.simulate(bike, 3.0, start={"speed": 2.0, "lean": 0.05}, inputs=hold.with_limits({"steer_torque": 1.5}))
    assert run.time[-1] == 3.0
    assert run["steer_torque"].min() == -1.5 and run["steer_torque"].max() <= 1.5
    assert abs(run["lean"][-1]) < 0.01


def test_a_reference_in_time_is_followed(bike):
    law = dr.lqr(
        bike,
        {"speed": 4.0},
        weights={"heading": 5.0, "lean": 1.0, "speed": 1.0},
        input_weights={"steer_torque": 0.05, "pedal_torque": 0.01},
        reference={"heading": "0.3*(1 - exp(-t))"},
    )
    run = dr.simulate(bike, 12.0, start={"speed": 4.0}, inputs=law)
    assert run.time[-1] == 12.0
    assert run["heading"][-1] == pytest.approx(0.3, abs=2e-4)
    assert run["lean"][-1] == pytest.approx(0.0, abs=2e-4)


def test_a_running_heading_is_compared_the_short_way_round(bike):
    """Steady turning goes round more than once; the heading reported between −π and π jumps, the torque must not."""
    turn = dr.steady(bike, {"speed": 5.0, "lean": 0.3}, free=("steer_torque", "pedal_torque"))
    law = dr.lqr(
        turn, weights={"heading": 1.0, "lean": 1.0, "speed": 1.0}, input_weights={"steer_torque": 0.1, "pedal_torque": 0.1}
    )
    rate = turn.linearize(("heading", "lean", "speed")).rates["heading"]
    until = 1.3 * 2 * np.pi / abs(rate)
    start = {name: turn[name] for name in ("speed", "lean", "steer", "heading", "frame_wx", "steer_rate")}
    run = dr.simulate(bike, until, start=start, inputs=law)
    assert run.time[-1] == until
    assert np.abs(run["steer_torque"] - turn["steer_torque"]).max() < 1e-4
    assert np.abs(run["lean"] - 0.3).max() < 1e-5


def test_a_swinging_reference_does_not_lag(bike):
    """A small lateral swing is followed to second order in its size."""
    law = dr.lqr(
        bike,
        {"speed": 4.0},
        weights={"rear_wheel_contact_y": 1.0, "heading": 1.0, "lean": 1.0, "speed": 1.0},
        input_weights={"steer_torque": 0.1, "pedal_torque": 0.01},
    )
    errors = []
    for size in (0.2, 0.1):
        swing = law.following("rear_wheel_contact_y", f"{size}*(1 - exp(-t))", rate=1.2)
        run = dr.simulate(bike, 32.0, start={"speed": 4.0}, inputs=swing)
        late = run.time > 26.0
        errors.append(np.abs(run["rear_wheel_contact_y"] - size * np.sin(1.2 * run.time))[late].max() / size)
    assert errors[1] < 1e-3 and errors[1] < 0.3 * errors[0], errors


def test_what_is_reported_and_kept(hold):
    text = str(hold)
    assert "feedback to steer_torque" in text and "lean" in text and "closed loop" in text
    data = json.loads(json.dumps(hold.as_data()))
    assert data["gains"]["steer_torque"]["lean"] == pytest.approx(hold.K[0, 0])
    assert dict(hold) == {"steer_torque": hold["steer_torque"]} and len(hold) == 1
    assert parse(data["laws"]["steer_torque"]) == hold["steer_torque"]


def test_a_computer_that_samples_often_does_the_same(bike, hold):
    start = {"speed": 2.0, "lean": 0.05}
    smooth = dr.simulate(bike, 2.0, start=start, inputs=hold)
    apart = []
    for rate in (100.0, 200.0):
        held = dr.simulate(bike, 2.0, start=start, control=hold.sampled(rate))
        assert held.time[-1] == 2.0
        apart.append(np.abs(held["lean"] - smooth["lean"]).max())
    assert apart[1] < 1e-3 and 1.7 < apart[0] / apart[1] < 2.3  # half a sample's delay


def test_the_law_goes_into_equations_that_were_derived_before(bike, hold):
    plain = dr.derive(bike, work=True)
    one, other = (dr.simulate(e, 1.0, start={"speed": 2.0, "lean": 0.05}) for e in (hold.on(plain), hold.on(bike)))
    np.testing.assert_allclose(one["lean"], other["lean"], atol=1e-9)
    np.testing.assert_allclose(one["steer_torque"], other["steer_torque"], atol=1e-7)


def test_the_law_goes_into_equations_in_which_nothing_was_eliminated(bike, hold):
    whole = dr.derive(bike, formulation=dr.formulations.Augmented(), work=True)
    one = dr.simulate(hold.on(whole), 1.0, start={"speed": 2.0, "lean": 0.05})
    other = dr.simulate(hold.on(bike), 1.0, start={"speed": 2.0, "lean": 0.05})
    np.testing.assert_allclose(one["lean"], other["lean"], atol=1e-8)
    again = dr.lqr(whole, {"speed": 2.0}, weights={"lean": 10.0, "steer": 1.0}, input_weights={"steer_torque": 0.1})
    assert again.states != hold.states  # in other velocities
    np.testing.assert_allclose(again.eigenvalues, hold.eigenvalues, rtol=1e-9)


def test_heading_may_be_kept_among_placed_poles(bike):
    law = dr.control.pole_placement(
        bike, {"speed": 3.0}, poles=[-1, -2, -3, -4, -5], controls=["steer_torque"], keep=["heading", "lean"]
    )
    assert "heading" in law.states
    np.testing.assert_allclose(np.poly(law.closed.A), np.poly([-1, -2, -3, -4, -5]), rtol=1e-9)


def test_without_python_control_the_cure_is_said(hold, monkeypatch):
    monkeypatch.setitem(sys.modules, "control", None)
    with pytest.raises(ImportError, match=r"place needs control.*pip install control"):
        dr.control.pole_placement(hold.linear, poles=[-1, -2, -3, -4], controls=["steer_torque"])


# ---------------------------------------------------------------- bad input


def test_an_unstable_mode_out_of_reach_is_named_with_the_input_that_reaches_it():
    a = np.diag([1.0, -1.0, 0.5])
    b = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    with pytest.raises(
        SolverError, match=r"not stabilizable: x2 \(eigenvalue 0.5\) grows, .*'u1' in addition it is stabilizable"
    ) as caught:
        dr.lqr(linear(a, b), weights={"x0": 1.0, "x2": 1.0}, input_weights={"u0": 1.0})
    assert caught.value.mode.combination == {"x2": 1.0}
    with pytest.raises(SolverError, match=r"none of the inputs \(u0\) controls it"):
        dr.lqr(linear(a, b[:, :1]), weights={"x2": 1.0}, input_weights={"u0": 1.0})


def test_pedalling_does_not_hold_a_bicycle_upright(bike):
    with pytest.raises(SolverError, match=r"whatever pedal_torque does.*'steer_torque' or 'push' in addition"):
        dr.lqr(bike, {"speed": 2.0}, weights={"lean": 1.0}, input_weights={"pedal_torque": 1.0})


def test_wrong_names_and_numbers_are_said(bike, hold):
    with pytest.raises(ArgumentError, match="no state or output of motion 'leen'; did you mean 'lean'"):
        dr.lqr(bike, {"speed": 2.0}, weights={"leen": 1.0}, input_weights={"steer_torque": 1.0})
    with pytest.raises(ArgumentError, match="no input 'steer_torqe'; did you mean 'steer_torque'"):
        dr.lqr(hold.linear, weights={"lean": 1.0}, input_weights={"steer_torqe": 1.0})
    with pytest.raises(ArgumentError, match="weight of 'lean' is -1; it must be a positive number"):
        dr.lqr(hold.linear, weights={"lean": -1.0}, input_weights={"steer_torque": 1.0})
    with pytest.raises(ArgumentError, match="input weight of 'steer_torque' is 0"):
        dr.lqr(hold.linear, weights={"lean": 1.0}, input_weights={"steer_torque": 0.0})
    with pytest.raises(ArgumentError, match="no quantity has a weight"):
        dr.lqr(hold.linear, weights={}, input_weights={"steer_torque": 1.0})
    with pytest.raises(ArgumentError, match="name an input for the law to set"):
        dr.lqr(hold.linear, weights={"lean": 1.0}, input_weights={})
    with pytest.raises(ArgumentError, match="'heading' is not a state of the law"):
        hold.with_reference({"heading": "t"})
    with pytest.raises(ArgumentError, match="limits of 'push', which the law does not set"):
        hold.with_limits({"push": 1.0})
    with pytest.raises(ArgumentError, match=r"limits of 'steer_torque' are \(2, 1\)"):
        hold.with_limits({"steer_torque": (2.0, 1.0)})
    with pytest.raises(KeyError, match="sets no input 'push'"):
        hold["push"]


def test_a_motion_that_is_not_steady_is_refused_with_the_cure(bike):
    with pytest.raises(ArgumentError, match=r"not steady: .*changes at .*dr\.steady"):
        dr.lqr(bike, {"speed": 2.0, "lean": 0.1}, weights={"lean": 1.0}, input_weights={"steer_torque": 1.0})


def test_a_state_without_weight_that_would_stay_for_ever_is_named():
    apart = linear(np.zeros((2, 2)), np.eye(2), [[1, -1]])  # only the distance of two points has a weight
    with pytest.raises(ArgumentError, match=r"no weight depends on a deviation along 'x0'.*weights=\{…, 'x0': w\}"):
        dr.lqr(apart, weights={"y0": 1.0}, input_weights={"u0": 1.0, "u1": 1.0})
    assert dr.lqr(apart, weights={"y0": 1.0, "x0": 1.0}, input_weights={"u0": 1.0, "u1": 1.0}).closed.stable


def test_poles_must_be_as_many_as_directions_and_conjugate(bike):
    with pytest.raises(ArgumentError, match=r"3 poles are given for 4 directions of .* that steer_torque controls"):
        dr.control.pole_placement(bike, {"speed": 2.0}, poles=[-1, -2, -3], controls=["steer_torque"])
    for beyond in (np.nan, -np.inf):
        with pytest.raises(ArgumentError, match=r"the pole .* is not finite; poles are numbers in 1/s"):
            dr.control.pole_placement(bike, {"speed": 2.0}, poles=[-1, -2, -3, beyond], controls=["steer_torque"])
    with pytest.raises(ArgumentError, match="has no conjugate"):
        dr.control.pole_placement(bike, {"speed": 2.0}, poles=[-1, -2, -3, -1 + 1j], controls=["steer_torque"])
    with pytest.raises(ArgumentError, match="given 3 times, but 2 controls can place it only 2 times"):
        dr.control.pole_placement(bike, {"speed": 2.0}, poles=[-1, -1, -1, -2], controls=["steer_torque", "push"])
