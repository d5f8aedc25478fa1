"""Starts of a mechanism with its multipliers as unknowns are those of the mechanism itself, for random targets."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import draisine as dr
from draisine.simulation.initial.consistent_start import consistent_start
from draisine.simulation.initial.problem import StartProblem
from simulation.test_expected_starts import balancing_robot, car, castor_cart, skateboard

MEMBERS: list[tuple[Callable[[], dr.Model], dict[str, tuple[float, float]]]] = [
    (dr.gallery.bicycle, {"speed": (1.0, 8.0), "steer": (-0.5, 0.5), "lean": (-0.4, 0.4), "heading": (-3.0, 3.0)}),
    (dr.gallery.bicycle, {"speed": (1.0, 8.0), "roll_rate": (-1.0, 1.0)}),
    (dr.gallery.sliding_bicycle, {"speed": (1.0, 8.0), "steer": (-0.4, 0.4), "lean": (-0.3, 0.3)}),
    (dr.gallery.snakeboard, {"speed": (0.5, 2.0), "front_steer": (0.1, 0.5)}),
    (dr.gallery.four_bar, {"crank_angle": (0.6, 1.2), "crank_angle_rate": (1.0, 4.0)}),
    (balancing_robot, {"speed": (0.5, 2.0), "yaw_rate": (-1.0, 1.0)}),
    (skateboard, {"speed": (1.0, 4.0), "lean": (-0.2, 0.2)}),
    (car, {"speed": (1.0, 4.0), "steer": (-0.4, 0.4)}),
    (castor_cart, {"speed": (0.5, 2.0), "fl_swivel": (-0.5, 0.5)}),
]


@pytest.mark.parametrize(("model", "ranges"), MEMBERS)
def test_starts_with_multipliers_as_unknowns_are_those_of_the_mechanism(model, ranges) -> None:
    described, random = model(), np.random.default_rng(2)
    # interpreted: compiled starts are the same bits (test_start_modes), and three starts do not pay for the compilation
    problem, posed = (StartProblem(e, compiled=False) for e in (dr.derive(described), dr.dae.as_dae(described)))
    for _ in range(3):
        targets = {name: float(random.uniform(*within)) for name, within in ranges.items()}
        start, other = consistent_start(problem, targets), consistent_start(posed, targets)
        found = other.coordinates
        shared = [v for v in start.velocities if v in found]
        assert shared
        size = float(np.abs(start.v).max())
        for name in shared:
            assert found[name] == pytest.approx(start.velocities[name], rel=1e-8, abs=1e-9 * size), (name, targets)
        for name, value in start.outputs.items():
            if name in other.outputs and "force" not in name and "multiplier" not in name:
                assert other.outputs[name] == pytest.approx(value, rel=1e-7, abs=1e-8 * size), (name, targets)


def test_the_steer_rate_of_a_turned_bicycle_is_zero() -> None:
    """Not −0.57 rad/s, which would be the least of all velocities together."""
    start = dr.consistent_start(dr.dae.as_dae(dr.gallery.bicycle()), {"speed": 5.0, "steer": 0.2})
    assert start.coordinates["steer_rate"] == 0.0
    assert any("at rest: steer_rate" in line for line in start.report.rest)
