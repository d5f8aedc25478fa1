"""Delebecque & Nikoukhah's minimum-time turn on the full nonlinear bicycle: bang-bang, countersteer first."""

import math

import numpy as np
import pytest

import draisine as dr


@pytest.fixture(scope="module")
def turn():
    stated = (
        dr.maneuver(dr.gallery.bicycle())
        .start(speed=8)
        .finish(heading=math.pi / 4, lean=0, steer=0, rates=0)
        .bounds(steer_torque=(-5, 5), pedal_torque=(-30, 30), lean=(-1, 1))
        .duration(0.3, 5)
        .minimize("time")
    )
    return stated.solve(dr.optimal.Collocation(intervals=60))


def test_it_is_solved_and_confirmed(turn):
    assert turn.converged
    assert turn.kkt_error < 1e-7
    assert turn.discrepancy < 1e-3
    assert 1.4 < turn.duration < 1.65
    final = turn.trajectory.final
    assert final["heading"] == pytest.approx(math.pi / 4, abs=1e-3)
    assert [final[n] for n in ("lean", "steer", "roll_rate", "steer_rate", "yaw_rate")] == pytest.approx([0] * 5, abs=2e-2)
    assert turn.trajectory.constraint_residual["holonomic"] < 1e-8
    assert turn.trajectory.energy_drift < 1e-6


def test_the_constraints_do_not_drift_at_the_nodes(turn):
    q = np.column_stack([turn.only.state(f"frame_q{c}") for c in "wxyz"])
    assert np.abs((q**2).sum(axis=1) - 1).max() < 1e-5


def test_it_is_bang_bang_and_countersteers_first(turn):
    steer, pedal = turn.only.input("steer_torque"), turn.only.input("pedal_torque")
    assert (np.abs(np.abs(steer) - 5) < 0.01).mean() > 0.9
    assert (np.abs(np.abs(pedal) - 30) < 0.1).mean() > 0.9
    assert steer[0] == pytest.approx(-5, abs=1e-3)  # to the right, for a turn to the left
    first = turn["steer"][turn.time < 0.15]
    assert first.min() < -0.002
    assert first.max() < 1e-6
    assert turn["lean"].min() < -0.3  # it leans to the left all the same
    assert pedal.min() == pytest.approx(-30, abs=0.01)  # it brakes for a while


def test_switching_function_has_the_controls_sign(turn):
    """With H = 1 + pᵀf linear in the torques, each torque is opposite to ∂H/∂u wherever that is not near zero."""
    only = turn.only
    phase = only.phase
    place = {n: i for i, n in enumerate(phase.symbols.state_names)}
    import casadi as ca

    v = phase.symbols
    rates = ca.vertcat(*[v.rates[place[n]] for n in phase.kept])
    gain = ca.Function("gain", [v.plant.t, v.y, v.plant.inputs, v.plant.p], [ca.densify(ca.jacobian(rates, v.plant.u))])
    states = np.tile(phase.start, (len(only.costate_times), 1))
    states[:, phase.kept_indices] = only.states[only.grid.node_point]
    for j, (name, limit) in enumerate((("steer_torque", 5.0), ("pedal_torque", 30.0))):
        switching = np.array(
            [
                c @ np.asarray(gain(t, s, phase.inputs, phase.p).full())[:, j]
                for t, s, c in zip(only.costate_times, states, only.costates, strict=True)
            ]
        )
        clear = np.abs(switching) > 0.05 * np.abs(switching).max()
        assert clear.mean() > 0.5
        assert only.input(name)[clear] == pytest.approx(-limit * np.sign(switching[clear]), abs=0.01 * limit)


@pytest.mark.further
def test_wheels_stay_on_the_ground_with_grip():
    stated = (
        dr.maneuver(dr.gallery.bicycle())
        .start(speed=8)
        .finish(heading=0.5, lean=0, steer=0, rates=0)
        .bounds(steer_torque=(-5, 5), pedal_torque=(-60, 30), lean=(-1, 1), front_wheel_normal_force=(0, None))
        .along(grip="rear_wheel_longitudinal_force**2 + rear_wheel_lateral_force**2 <= (0.3*rear_wheel_normal_force)**2")
        .duration(0.3, 5)
        .minimize("time")
    )
    found = stated.solve(dr.optimal.Collocation(intervals=30))
    assert found.converged
    assert 0.29 < found["rear_wheel_friction_needed"].max() < 0.33  # at the nodes at most 0.3, a little more between them
    assert found["front_wheel_normal_force"].min() > 0
