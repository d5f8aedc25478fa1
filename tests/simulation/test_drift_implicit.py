"""Drift control by implicit methods: the stabilized form of index 2, and Gauss–Legendre in coordinates and momenta."""

from __future__ import annotations

import numpy as np
import pytest

import draisine as dr
from draisine.simulation.simulate import compute

EXACT = dr.methods.DOP853(rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize(
    ("make", "start", "name"),
    [
        ("simple_pendulum", {}, "x1"),
        ("four_bar", {"crank_angle_rate": 5.0}, "rocker_angle"),
        pytest.param("bicycle", {"speed": 4.6, "roll_rate": 0.5}, "roll_rate"),  # in angles there, with a quaternion here
    ],
)
def test_ggl_is_the_motion_that_projection_gives(make: str, start: dict[str, float], name: str) -> None:
    model = dr.gallery.model(make)
    stabilized = dr.simulate(
        model, 2.0, start=start, method=dr.methods.Radau(rtol=1e-10, atol=1e-12), drift=dr.stabilization.GGL(), samples=101
    )
    projected = dr.simulate(model, 2.0, start=start, method=EXACT, drift=dr.stabilization.Projection(limit=1e-14), samples=101)
    assert np.max(np.abs(stabilized[name] - projected[name])) < 1e-8
    kept = stabilized.constraint_residual
    assert kept["holonomic"] < 1e-8 and kept["holonomic_velocity"] < 1e-6  # between steps too, where samples are


@pytest.mark.parametrize("order", [2, 4, 6])
def test_gauss_in_momenta_has_its_order(order: int) -> None:
    """A double pendulum in angles, whose masses change with its shape."""
    pendulum = dr.gallery.n_pendulum_by_angles(2)
    start = {c.name: value for c, value in zip(pendulum.coordinates, (0.7, -0.4), strict=True)}
    exact = compute(pendulum, 1.0, start=start, method=EXACT).run.final_state
    errors = [
        np.max(
            np.abs(compute(pendulum, 1.0, start=start, drift=dr.stabilization.Symplectic(step, order)).run.final_state - exact)
        )
        for step in (0.025, 0.0125)
    ]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.1)


def test_its_energy_does_not_drift() -> None:
    pendulum = dr.gallery.n_pendulum_by_angles(2)
    start = {c.name: value for c, value in zip(pendulum.coordinates, (0.3, -0.2), strict=True)}
    run = dr.simulate(pendulum, 200.0, start=start, drift=dr.stabilization.Symplectic(0.05, 2), samples=4001)
    error = np.abs(run["total_energy"] - run["total_energy"][0])
    assert error[:2000].max() > 1e-6
    assert error[2000:].max() < 1.1 * error[:2000].max()
