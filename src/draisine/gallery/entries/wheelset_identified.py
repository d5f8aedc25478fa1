"""Identification of a railway wheelset: conicity and suspension stiffness from its lateral displacement.

What it shows: estimation for a mechanism whose contact forces are solved for at every step (creep that depends on normal
forces): sensitivities include that solution and the consistent start.

What you should see: a wheelset at 40 m/s, released 4 mm off-center, returns to the center; from its lateral displacement, 200
samples with 0.1 mm of noise, the conicity is estimated to about 4 % and the stiffness of the suspension to 1 %, within their
intervals.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import draisine as dr
from draisine.gallery.entries.wheelset import centerd, wheelset
from draisine.gallery.registry import Study, entry

SPEED, NOISE = 40.0, 1e-4
TRUTH = {"conicity": 0.05, "suspension": 1.823e6}
GUESS = {"conicity": 0.04, "suspension": 1.2e6}
METHOD = dr.methods.DOP853(rtol=1e-7, atol=1e-9)


def displaced(until: float = 1.0, seed: int = 1) -> tuple[dr.Trajectory, dict[str, Any]]:
    """The run, and the measurements of a displacement sensor at 200 Hz."""
    start = {**centerd(SPEED, TRUTH["conicity"]), "lateral": 0.004}
    samples = round(200 * until) + 1
    run = dr.simulate(wheelset(), until, start=start, parameters={"speed": SPEED, **TRUTH}, samples=samples, method=METHOD)
    random = np.random.default_rng(seed)
    return run, {"time": run.time, "sensor [mm]": 1e3 * (run["lateral"] + NOISE * random.normal(size=samples))}


def identify(data: Any) -> dr.estimation.Fit:
    """Conicity, suspension stiffness, and the initial state."""
    return dr.estimate(
        wheelset(),
        data,
        {"conicity": (0.01, 0.2), "suspension": (1e5, 1e7), "start.lateral": (0.0, 0.01)},
        {"sensor": ("lateral", "0.1 mm")},
        guess=GUESS,
        parameters={"speed": SPEED},
        start={**centerd(SPEED, GUESS["conicity"]), "lateral": 0.0035},
        method=dr.estimation.SingleShooting(METHOD),
    )


@entry(level="Advanced")
def wheelset_identified(until: float = 1.0) -> Study:
    """Conicity and suspension stiffness of a wheelset from its lateral displacement."""
    run, data = displaced(until)
    fit = identify(data)
    for name, value in TRUTH.items():
        assert abs(fit[name] - value) < 4 * fit.deviations[name], name
        assert fit.deviations[name] < 0.1 * value
    figures = {"fit": fit.plot(), "intervals": fit.plot_intervals({**TRUTH, "start.lateral": 0.004})}
    return Study("A wheelset identified", {"wheelset_identified": run}, figures, (str(fit), str(fit.identifiability)))
