"""Implicit systems linearized as they stand against the explicit and the essential form of the same mechanisms."""

from __future__ import annotations

import numpy as np
import pytest

import draisine as dr
from draisine.stability.descriptor import descriptor
from draisine.stability.deviations import deviations_of
from draisine.stability.linearization import motion_at


def _response(linear, inputs, row, frequency):
    """From inputs to a combination of states at a complex frequency; what no input reaches has no part in it."""
    columns = linear.B[:, [linear.inputs.index(name) for name in inputs]]
    return row @ np.linalg.solve(frequency * np.eye(len(linear.A)) - linear.A, columns)


def _unit(linear, name):
    return np.eye(len(linear.states))[linear.states.index(name)]


def test_bicycle_with_its_multipliers():
    """Six multipliers, angles for the quaternion, Lagrange's equations: the same answers to torques as the essential form."""
    bike = dr.gallery.bicycle()
    essential = dr.linearize(bike, {"speed": 5.0}, states=("lean", "steer")).essential()
    implicit = descriptor(bike, {"speed": 5.0})
    regular = implicit.regular()
    torques = ("steer_torque", "push")
    for frequency in (0.3 + 2.0j, -1.0 + 7.0j, 3.0 + 0.5j):
        for ours, theirs in (("lean", "frame_lean"), ("steer", "steer")):
            expected = _response(essential, torques, _unit(essential, ours), frequency)
            np.testing.assert_allclose(_response(regular, torques, _unit(regular, theirs), frequency), expected, rtol=1e-9)
    finite = implicit.eigenvalues
    for value in essential.eigenvalues:
        assert np.abs(finite - value).min() < 1e-9
    assert len(finite) == len(regular.states)
    # the forces of the contacts are its outputs; at rest they carry the weight
    assert regular.at["rear_wheel_height_multiplier"] == pytest.approx(612.836, abs=1e-3)


def test_delebecques_bicycle():
    """The source's own: 23 coordinates, 20 multipliers. Its A and B (eqs. 24–25) are those of the explicit form in every entry,
    and the bicycle as a graph has the same modes."""
    typed = dr.gallery.delebecque_bicycle()
    motion = motion_at(typed, {"speed": 6.5})
    derivatives = deviations_of(typed).derivatives(0.0, motion.x[None], motion.u[None], motion.p[None])
    names = [q.name for q in (*typed.coordinates, *typed.velocities)]  # the work done so far is bookkeeping
    regular = descriptor(typed, dict(zip(names, motion.x.tolist(), strict=False))).regular()
    assert list(regular.states) == names
    np.testing.assert_allclose(regular.A, derivatives.by_state[0], rtol=0, atol=1e-9 * np.abs(regular.A).max())
    np.testing.assert_allclose(regular.B, derivatives.by_input[0], rtol=0, atol=1e-9 * np.abs(regular.B).max())
    graph = dr.linearize(dr.gallery.delebecque_graph(), {"speed": 6.5}, states=("lean", "steer")).essential()
    essential = dr.linearize(motion).essential()
    for value in graph.eigenvalues:
        assert np.abs(essential.eigenvalues - value).min() < 1e-9
        assert np.abs(regular.eigenvalues - value).min() < 1e-7  # among 42 zeros, most of them defective


def test_pendulum_at_every_index():
    """√(g/l) is among the finite eigenvalues at index 1, 2 and 3; only at index 1 can it be solved for its rates."""
    pendulum, down = dr.gallery.simple_pendulum(), {"x1": 0.0, "z1": -1.0}
    frequency = np.sqrt(9.81)
    one = descriptor(pendulum, down)
    assert np.abs(one.eigenvalues - 1j * frequency).min() < 1e-9
    assert np.abs(one.regular().eigenvalues - 1j * frequency).min() < 1e-9
    three = descriptor(dr.dae.as_dae(pendulum, index=3), down)
    assert np.abs(three.eigenvalues - 1j * frequency).min() < 1e-6
    with pytest.raises(dr.errors.ModelError, match=r"do not determine dz1_rate/dt, rod1_multiplier, .*index is above one"):
        three.regular()
