"""Models that several designs share."""

from __future__ import annotations

import numpy as np
import pytest

import draisine as dr
from draisine.results.linear import LinearModel


@pytest.fixture(scope="package")
def bike():
    return dr.gallery.bicycle()


@pytest.fixture(scope="package")
def straight(bike):
    """The bicycle's linear model at 2 m/s, in full."""
    return dr.linearize(bike, at={"speed": 2.0}, states=("lean", "steer", "heading"))


@pytest.fixture(scope="package")
def hold(bike):
    """The law that keeps it upright there."""
    return dr.lqr(bike, {"speed": 2.0}, weights={"lean": 10.0, "steer": 1.0}, input_weights={"steer_torque": 0.1})


@pytest.fixture(scope="package")
def arm():
    """A double pendulum with a motor in each hinge."""
    m = dr.gallery.double_pendulum_graph()
    m.generalized_force("upper", m.input("shoulder_torque", "N*m"))
    m.generalized_force("elbow", m.input("elbow_torque", "N*m"))
    return m


def linear(a, b, c=None, states=None, **more):
    """A linear model of bare matrices."""
    a, b = np.array(a, dtype=float), np.array(b, dtype=float)
    states = tuple(states or (f"x{i}" for i in range(len(a))))
    rows = np.zeros((0, len(a))) if c is None else np.array(c, dtype=float)
    outputs = tuple(f"y{i}" for i in range(len(rows)))
    inputs = tuple(f"u{i}" for i in range(b.shape[1]))
    return LinearModel("bare", states, inputs, outputs, a, b, rows, np.zeros((len(rows), b.shape[1])), **more)
