"""Identification of a double pendulum: lengths and mass ratio from a camera that tracks a marker at its tip.

What it shows: positions in millimeters with gaps where the marker was hidden; unknown initial states; and an unidentifiable
combination: the motion does not change if both masses are scaled by one factor, so that only their ratio is in the data.
`identifiability` reports this before the fit; with one mass known the other follows.

What you should see: both rods to about a millimeter and the lower mass to 0.2 %, each within its interval, from 3 s of motion
at 60 frames per second with 2 mm of noise.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import draisine as dr
from draisine.gallery.entries.double_pendulum import double_pendulum
from draisine.gallery.registry import Study, entry

TRUTH = {"l_upper": 0.93, "l_lower": 0.71, "m_lower": 0.8}
BEGIN = {"upper": 0.9, "lower": -0.4}
MEASURED = {"marker_x": ("tip_x", "2 mm"), "marker_z": ("tip_z", "2 mm")}


def filmed(until: float = 3.0, seed: int = 2) -> tuple[dr.Trajectory, dict[str, Any]]:
    """The run, and the marker's positions in millimeters, every seventh lost and a third of a second hidden."""
    frames = round(60 * until) + 1
    run = dr.simulate(double_pendulum(), until, start=BEGIN, parameters=TRUTH, samples=frames)
    random = np.random.default_rng(seed)
    columns = {f"marker_{a} [mm]": 1e3 * (run[f"tip_{a}"] + 0.002 * random.normal(size=frames)) for a in "xz"}
    for column in columns.values():
        column[::7] = np.nan
        column[60:80] = np.nan
    return run, {"time": run.time, **columns}


def identify(data: Any) -> dr.estimation.Fit:
    """Rods and lower mass, the upper mass known, and the start."""
    return dr.estimate(
        double_pendulum(),
        data,
        ["l_upper", "l_lower", "m_lower", "start.upper", "start.lower"],
        MEASURED,
        start={"upper": 0.85, "lower": -0.3, "upper_rate": 0.0, "lower_rate": 0.0},
    )


@entry(level="Advanced")
def double_pendulum_tracked(until: float = 3.0) -> Study:
    """Rods and mass ratio of a double pendulum from marker positions."""
    run, data = filmed(until)
    start = {**BEGIN, "upper_rate": 0.0, "lower_rate": 0.0}
    masses = dr.estimation.identifiability(double_pendulum(), data, ["m_upper", "m_lower"], MEASURED, start=start)
    (unidentifiable,) = masses.unidentifiable
    assert abs(unidentifiable.shares["m_upper"] - unidentifiable.shares["m_lower"]) < 1e-6  # both by the same share
    fit = identify(data)
    for name, value in TRUTH.items():
        assert abs(fit[name] - value) < 4 * fit.deviations[name], name
    figures = {"fit": fit.plot(), "intervals": fit.plot_intervals({**TRUTH, **{f"start.{k}": v for k, v in BEGIN.items()}})}
    return Study("A double pendulum filmed", {"double_pendulum_tracked": run}, figures, (f"masses: {unidentifiable}", str(fit)))
