"""What inputs reach and outputs see: known decompositions, and the rolling conditions of a bicycle by name."""

from __future__ import annotations

import numpy as np
import pytest

import draisine as dr

from .conftest import linear


def parted_matrices(inside, rng):
    """A, B with the eigenvalues `inside` out of reach, in mixed coordinates; and the rows wᵀ that go with them."""
    reached = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [2.0, -1.0, 0.5]])
    n = 3 + len(inside)
    a = np.zeros((n, n))
    a[:3, :3] = reached
    a[:3, 3:] = rng.normal(size=(3, len(inside)))
    a[3:, 3:] = np.diag(inside)
    b = np.zeros((n, 1))
    b[2] = 1.0
    mix = np.linalg.qr(rng.normal(size=(n, n)))[0] @ np.diag(rng.uniform(0.5, 2.0, n))
    return mix @ a @ np.linalg.inv(mix), mix @ b, np.linalg.inv(mix)[3:]


def test_modes_out_of_reach_are_found_with_what_they_are_made_of():
    rng = np.random.default_rng(3)
    a, b, rows = parted_matrices([-1.5, 0.0, 0.7], rng)
    found = linear(a, b).controllability()
    assert found.rank == 3 and not found.complete
    assert [round(h.eigenvalue.real, 9) for h in found.hidden] == [0.7, 0.0, -1.5]
    for hidden, row in zip(found.hidden, rows[[2, 1, 0]], strict=True):
        reported = np.array([hidden.combination.get(f"x{i}", 0.0) for i in range(6)])
        np.testing.assert_allclose(reported, row / row[np.argmax(np.abs(row))], atol=1e-8)
    assert [h.neutral for h in found.hidden] == [False, True, False]
    assert [h.unstable for h in found.hidden] == [True, False, False]
    assert len(found.constant) == 1 and len(found.moving) == 2


def test_what_is_reached_is_an_invariant_subspace_that_holds_the_inputs():
    a, b, _ = parted_matrices([-1.5, 0.0, 0.7], np.random.default_rng(4))
    basis = linear(a, b).controllability().basis
    project = basis @ basis.T
    np.testing.assert_allclose(project @ b, b, atol=1e-10)
    np.testing.assert_allclose(project @ a @ basis, a @ basis, atol=1e-9)


def test_seeing_is_the_dual_of_reaching():
    a, b, _ = parted_matrices([-1.5, 0.0, 0.7], np.random.default_rng(5))
    reached = linear(a, b).controllability()
    seen = linear(a.T, np.zeros((6, 0)), b.T).observability()
    assert seen.rank == reached.rank
    for one, other in zip(seen.hidden, reached.hidden, strict=True):
        assert one.eigenvalue == pytest.approx(other.eigenvalue)
        assert one.combination == pytest.approx(other.combination)


def test_a_swinging_pair_is_reported_once():
    a = np.zeros((3, 3))
    a[0, 1], a[1, 0], a[2, 2] = 2.0, -2.0, -1.0
    (pair,) = linear(a, [[0], [0], [1.0]]).controllability().hidden
    assert pair.eigenvalue == pytest.approx(2j)
    assert set(pair.combination) == {"x0", "x1"} and pair.unstable


def test_steering_moves_neither_speed_nor_the_angles_of_wheels(straight):
    found = straight.controllability(["steer_torque"])
    assert found.rank == 6
    assert all(h.neutral for h in found.hidden) and len(found.hidden) == 4
    constant = [set(h.combination) for h in found.hidden if not h.driven]
    assert constant == [{"front_wheel_angle", "rear_wheel_angle"}, {"frame_x", "rear_wheel_angle"}, {"front_wheel_spin"}]


def test_rolling_couples_angles_of_wheels_to_the_way_for_every_input(straight):
    found = straight.controllability()
    assert found.rank == 8
    wheels, way = (h.combination for h in found.hidden)
    assert way == pytest.approx({"frame_x": 1.0, "rear_wheel_angle": -0.3})  # the radius of the rear wheel
    assert wheels == pytest.approx({"front_wheel_angle": 1.0, "rear_wheel_angle": -0.3 / 0.35})


def test_in_a_turn_steering_leaves_the_energy(bike):
    """Without pedalling the family of steady turns is out of reach: what stays is the energy, whose slope the combination is."""
    turn = dr.steady(bike, {"speed": 5.0, "lean": 0.1}, free=("steer_torque", "pedal_torque"))
    part = turn.linearize(("lean", "steer")).essential()
    (hidden,) = part.controllability(["steer_torque"]).hidden
    assert hidden.neutral and "front_wheel_spin" in hidden.combination
    assert part.controllability().complete


def test_the_text_names_everything(straight):
    text = str(straight.controllability())
    assert "8 of 10 directions are controllable by steer_torque, pedal_torque, push" in text
    assert "frame_x − 0.3 rear_wheel_angle (constant)" in text
    data = straight.controllability().as_data()
    assert data["rank"] == 8 and len(data["not_controllable"]) == 2


def test_unknown_names_are_said(straight):
    with pytest.raises(KeyError, match="no input 'torque'; it has steer_torque"):
        straight.controllability(["torque"])
    with pytest.raises(KeyError, match="no state or output 'leen'"):
        straight.observability(["leen"])


def test_a_state_that_others_need_cannot_be_left_out(straight):
    assert straight.with_states(("lean", "steer", "frame_wx", "steer_rate")).states == ("lean", "steer", "frame_wx", "steer_rate")
    with pytest.raises(ValueError, match="'lean' depends on 'frame_wx', which would be left out; include it"):
        straight.with_states(("lean", "steer"))


def test_at_rest_the_heading_goes_with_the_steering(bike):
    """ψ̇ = (v δ + c δ̇) cos λ/w: without speed, heading less c cos λ/w times steer stays; and the frame leans about its track."""
    rest = dr.linearize(bike, at={"speed": 0.0}, states=("lean", "steer", "heading"))
    reported = {next(iter(h.combination)): h.combination for h in rest.controllability().hidden}
    assert reported["heading"] == pytest.approx({"heading": 1.0, "steer": -0.08 * np.cos(np.pi / 10) / 1.02})
    assert reported["frame_y"] == pytest.approx({"frame_y": 1.0, "lean": 0.3})
    assert len(reported) == 4
