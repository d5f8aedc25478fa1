"""The bicycle at its rider's limit, on coarse meshes."""

import math

import numpy as np
import pytest

from draisine.gallery.entries import lane_change as entry

pytestmark = pytest.mark.long


@pytest.fixture(scope="module", params=["turn", "lane"])
def ride(request):
    made = {"turn": entry.quarter_turn, "lane": entry.next_lane}[request.param]
    return request.param, made(24, refine=False)


def test_it_gets_there_and_the_simulation_confirms_it(ride):
    name, found = ride
    assert found.converged
    assert found.discrepancy < 0.05
    final = found.trajectory.final
    wanted = {"turn": {"heading": math.pi / 2}, "lane": {"heading": 0.0, "frame_x": 18.0, "frame_y": 3.0}}[name]
    for quantity, value in wanted.items():
        assert final[quantity] == pytest.approx(value, abs=5e-3)
    assert final["lean"] == pytest.approx(0, abs=1e-2)
    assert 1.9 < found.duration < 2.4


def test_the_road_holds_it_back_and_is_never_overdrawn(ride):
    """At the nodes every cone and load is kept, some are used up, and those that are have a price of the right sign."""
    name, found = ride
    reported, path = found.only.pontryagin, found.only.phase.path
    scale = np.abs(reported.path_multipliers).max()  # the residuals at which a search ends are shares of the multipliers
    for i, condition in enumerate(path):
        assert reported.path_values[:, i].min() > condition.low - 1e-5
        assert reported.path_values[:, i].max() < condition.high + 1e-5
        if math.isfinite(condition.low) and math.isfinite(condition.high):
            continue
        sign = 1.0 if math.isfinite(condition.high) else -1.0
        assert (sign * reported.path_multipliers[:, i]).min() > -1e-6 * scale
    shares = entry.active_shares(found)
    assert shares["front_wheel_grip"] > 0.03
    if name == "lane":
        assert shares["front_wheel_normal_force"] > 0.03  # about to lift
    used = found["front_wheel_friction_needed"]
    assert np.quantile(used, 0.9) == pytest.approx(entry.GRIP, abs=0.15)


def test_pedals_are_held_by_the_road_not_by_their_bounds(ride):
    _, found = ride
    assert found.optimality["pedal_torque"].bounded < 0.2
    assert found.optimality["steer_torque"].agreement > 0.9
    assert found["steer"][found.time < 0.1 * found.duration].min() < -0.002  # countersteer
