"""Estimation from a data logger's file of a swinging boom: time stamps, units in the header, gaps, and an outlier.

What it shows: from a logger's raw file to parameters with intervals in one call. The estimation problem is a file as well,
`swing_logger.toml`, for the command line: `draisine estimate swing_logger --data FILE`.

What you should see: length and damping of the boom, with the true values within their intervals although one sample is wrong by
30°. Without a robust loss that sample is taken for noise, and the intervals are four times as wide. The outlier is reported
either way.

The file was made from a boom of 1.12 m with a damping of 0.15 1/s, read by a sensor with 0.4° of noise.
"""

from __future__ import annotations

from pathlib import Path

import sympy as sp

import draisine as dr
from draisine.estimation.study_file import read_study
from draisine.gallery.registry import Study, entry

DATA = Path(__file__).parents[1] / "data"
TRUTH = {"length": 1.12, "damping": 0.15}


def damped_pendulum() -> dr.Equations:
    """A pendulum with viscous damping, by its angle."""
    angle, rate, length, damping, gravity = sp.symbols("angle rate length damping gravity")
    return dr.first_order(
        "damped_pendulum",
        {angle: rate, rate: -gravity / length * sp.sin(angle) - damping * rate},
        parameters={length: 1.0, damping: 0.1, gravity: 9.81},
        start={angle: 0.6, rate: 0.0},
        units={angle: "rad", rate: "rad/s", length: "m", damping: "1/s", gravity: "m/s^2"},
    )


@entry(level="Intermediate")
def logger_file_fitted() -> Study:
    """A logger's file with time stamps, units, gaps and an outlier, fitted end to end."""
    study = read_study(DATA / "swing_logger.toml")
    fit = study.fit(damped_pendulum(), DATA / "swing_logger.csv")
    for name, value in TRUTH.items():
        assert abs(fit[name] - value) < 4 * fit.deviations[name], name
    assert len(fit.outliers) == 1 and fit.outliers[0][1] == "angle"
    assert 0.3 < 57.29578 * fit.noise["angle"] < 0.5
    plain = study.fit(damped_pendulum(), DATA / "swing_logger.csv", loss=None)
    assert plain.deviations["damping"] > 3 * fit.deviations["damping"]  # one outlier of 30° is taken for noise of 1.6°
    run = dr.simulate(
        damped_pendulum(), 8.0, parameters=fit.parameters, start={"angle": fit["start.angle"], "rate": fit["start.rate"]}
    )
    figures = {"fit": fit.plot(), "intervals": fit.plot_intervals(TRUTH)}
    return Study("A logger's file", {"logger_file_fitted": run}, figures, (str(fit),))
