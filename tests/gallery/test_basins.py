"""Basins of a riderless bicycle, on a coarse grid: the study's own assertions, and a run of its border by hand."""

from __future__ import annotations

import numpy as np

import draisine as dr
from draisine.gallery.entries.basins import basins


def test_basins_are_as_single_runs_say():
    study = basins(points=13)
    assert set(study.figures) == {"basins"}
    reported = {float(line.split(" m/s")[0]): float(line.split()[-3]) for line in study.findings[1:]}
    speed = min(reported, key=lambda v: abs(v - 4.5))
    exact = float(np.linspace(2.5, 8.0, 13)[np.argmin(np.abs(np.linspace(2.5, 8.0, 13) - speed))])
    step = 8.0 / 12
    least = step * round(reported[speed] / step)
    for knock, ending in ((least, "EVENT"), (least - step, "FINISHED")):
        run = dr.simulate(dr.gallery.bicycle(), 10.0, start={"speed": exact, "roll_rate": knock})
        assert run.status.kind == ending, (exact, knock, run.status)
