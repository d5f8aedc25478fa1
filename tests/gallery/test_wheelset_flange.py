"""The wheelset between flanges: its equations by hand, and impacts at other speeds and coefficients of restitution."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import expm

import draisine as dr
from draisine.gallery.entries.wheelset_flange import VALUES, critical_speed, matrix, wheelset_between_flanges

TIGHT = dr.methods.DOP853(rtol=1e-11, atol=1e-13)
NAMES = ("lateral", "yaw", "lateral_rate", "yaw_rate")


def test_before_the_first_impact_it_is_a_matrix_exponential() -> None:
    start = {"lateral": 0.001, "yaw": 0.0005, "lateral_rate": 0.01, "yaw_rate": -0.02}
    run = dr.simulate(wheelset_between_flanges(), 0.3, start=start, parameters={"speed": 40.0}, method=TIGHT)
    expected = expm(0.3 * matrix(40.0)) @ np.array([start[name] for name in NAMES])
    np.testing.assert_allclose([run[name][-1] for name in NAMES], expected, rtol=1e-8, atol=1e-13)


@pytest.mark.parametrize(("speed", "restitution"), [(55.0, 0.3), (60.0, 0.7), (60.0, 0.85)])
def test_impacts_follow_each_other_as_the_exponential_says(speed: float, restitution: float) -> None:
    """From every impact on, the linear flow reaches the other flange at the time of the next one, and not before."""
    given = {"speed": speed, "restitution": restitution}
    start = dict.fromkeys(NAMES, 0.0) | {"lateral": 0.006}
    run = dr.simulate(wheelset_between_flanges(), 4.0, start=start, parameters=given, method=TIGHT)
    assert run.status.kind == "FINISHED", run.status
    times = [change.time for change in run.modes.impacts]
    assert len(times) > 5
    a, clearance = matrix(speed), VALUES["clearance"]
    for first, second in zip(times[-6:-1], times[-5:], strict=True):
        after = run.at(np.nextafter(first, np.inf))
        state = np.array([float(after[name]) for name in NAMES])
        assert abs((expm(a * (second - first)) @ state)[0]) == pytest.approx(clearance, abs=1e-10)
        inside = [abs((expm(a * share * (second - first)) @ state)[0]) for share in np.linspace(0.05, 0.95, 19)]
        assert max(inside) < clearance
    assert np.abs(run["lateral"]).max() < clearance + 1e-10


def test_below_the_critical_speed_it_returns_to_the_middle() -> None:
    start = dict.fromkeys(NAMES, 0.0) | {"lateral": 0.006}
    for speed, grows in ((0.97 * critical_speed(), False), (1.03 * critical_speed(), True)):
        run = dr.simulate(wheelset_between_flanges(), 6.0, start=start, parameters={"speed": speed}, method=TIGHT)
        assert bool(run.modes.impacts) == grows
