"""A fit says when its motion asks of contacts what they cannot do."""

from __future__ import annotations

import numpy as np
import pytest

import draisine as dr

WINDOWS = dr.estimation.MultipleShooting(window=0.25)


def recorded(speed: float, roll_rate: float, until: float) -> tuple[dr.Trajectory, dict[str, np.ndarray]]:
    run = dr.simulate(dr.gallery.bicycle(), until, start={"speed": speed, "roll_rate": roll_rate}, samples=51)
    random = np.random.default_rng(3)
    return run, {"time": run.time, "roll_rate": run["roll_rate"] + 0.01 * random.normal(size=51)}


@pytest.mark.parametrize("method", [None, WINDOWS])
@pytest.mark.parametrize(("speed", "roll_rate", "lifts"), [(5.0, 0.5, False), (4.5, 3.2, True)])
def test_a_fit_reports_the_ground_that_would_pull(speed, roll_rate, lifts, method):
    run, data = recorded(speed, roll_rate, 0.5)
    least = min(run[f"{wheel}_wheel_normal_force"].min() for wheel in ("rear", "front"))
    assert (least < 0.0) == lifts
    start = {"speed": speed, "roll_rate": roll_rate}
    fit = dr.estimate(dr.gallery.bicycle(), data, ["ixx_frame"], {"roll_rate": ("roll_rate", 0.01)}, start=start, method=method)
    said = [text for text in fit.warnings if "ground would have to pull" in text]
    assert bool(said) == lifts
    if lifts and method is None:
        assert float(said[0].split("force ")[1].split(" N")[0]) == pytest.approx(least, rel=0.05)
        assert said[0] in str(fit)
