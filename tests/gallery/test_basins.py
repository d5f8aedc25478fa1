"""Basins of a riderless bicycle, on a coarse grid: the study's own assertions, and a run of its border by hand."""

from __future__ import annotations

import numpy as np

import draisine as dr
from draisine.gallery.entries.basins import basins


def test_basins_are_as_single_runs_say():
    study = basins(points=13)
    assert set(study.figures) == {"basins"}
    reported = {float(line.split(" m/s")[0]): float(line.split()[-3]) for line in study.findings[2:]}
    speed = min(reported, key=lambda v: abs(v - 4.5))
    exact = float(np.linspace(2.5, 8.0, 13)[np.argmin(np.abs(np.linspace(2.5, 8.0, 13) - speed))])
    step = 8.0 / 12
    least = step * round(reported[speed] / step)
    for knock, survives in ((least, False), (least - step, True)):
        run = dr.simulate(dr.gallery.bicycle(steer_limit=np.radians(100)), 10.0, start={"speed": exact, "roll_rate": knock})
        lifts = min(run["rear_wheel_normal_force"].min(), run["front_wheel_normal_force"].min()) < 0.0
        assert (run.status.kind == "FINISHED" and not lifts) == survives, (exact, knock, run.status)
