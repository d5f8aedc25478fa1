"""Stops and dry friction whose bounds, measures and amounts depend on time: jumps are refused, friction never drives."""

from __future__ import annotations

import pytest
from numpy.testing import assert_allclose

import draisine as dr


def mass() -> dr.Model:
    m = dr.Model("mass")
    m.gravity(9.81)
    m.prismatic("x", "ground", m.body("b", 1.0, inertia=(1, 1, 1)), axis="x")
    return m


def test_a_bound_that_jumps_is_refused():
    m = mass()
    m.stop("wall", "x", low="where(t < 1, 0, 0.1)", unit="m")
    with pytest.raises(dr.errors.ModelError, match="stop 'wall' jumps at t < 1"):
        dr.simulate(m, 2.0, start={"x": 0.05})


@pytest.mark.parametrize("measure", ["x - where(t < 1, t, 2 - t)", "x - abs(t - 1)"])
def test_a_belt_whose_speed_jumps_is_refused(measure):
    m = mass()
    m.friction("belt", measure, 1.0, unit="m")
    with pytest.raises(dr.errors.ModelError, match="the slip of friction 'belt' jumps"):
        dr.simulate(m, 2.0)


def test_ground_whose_velocity_jumps_is_refused():
    m = dr.Model("block")
    m.gravity(9.81)
    m.ground(velocity=("where(t < 1, 1, -1)", 0))
    body = m.body("b", 1.0, inertia=(1, 1, 1))
    m.free(body)
    m.contact("foot", body, friction=0.4)
    with pytest.raises(dr.errors.ModelError, match="the velocity of the ground jumps"):
        dr.simulate(m, 2.0)


def test_friction_does_not_drive():
    """1 − t newtons of friction slow a kilogram down for one second; then there is none: v = 3 − 1/2."""
    m = mass()
    m.friction("pad", "x", "1 - t", unit="m")
    run = dr.simulate(m, 3.0, start={"x_rate": 3.0})
    assert run.status.kind.name == "FINISHED", run.status
    assert_allclose(run["x_rate"][-1], 2.5, atol=1e-7)
