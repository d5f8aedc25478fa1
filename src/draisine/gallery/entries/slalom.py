"""Slalom of a riderless bicycle under linear feedback.

What it shows: one linear law, designed for straight running at 4 m/s, follows a path that is far from straight. The law
controls lateral position, heading, lean and speed; `following` computes the lean, steer and torque of a periodic reference at
its frequency, so that there is no lag. The phase is a function of the position along the course, not of time. The whole law is
one expression compiled into the nonlinear equations.

What you should see: from above, the tracks of both wheels wind through the cones, alternately left and right of them, the rear
one inside; the first swings grow from nothing. The bicycle leans into every turn by some 11° and steers after its lean, with a
torque on the bar of half a newton meter.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

import draisine as dr
from draisine.gallery.entries.bicycle import bicycle
from draisine.gallery.registry import Study, entry
from draisine.view.plots.style import COLORS
from draisine.view.plots.tracks import track_figure
from draisine.view.plots.trajectories import channel_figure

SPEED, APART, SWING = 4.0, 7.0, 0.8  # m/s, distance of the cones, amplitude in m
LENGTH = 60.0  # m, of the course
WEIGHTS = {"rear_wheel_contact_y": 2.0, "heading": 1.0, "lean": 1.0, "steer": 1.0, "speed": 1.0}
INPUT_WEIGHTS = {"steer_torque": 0.1, "pedal_torque": 0.01}
GROWING = f"{SWING}*(1 - exp(-(rear_wheel_contact_x/8)^2))"


@entry(level="Intermediate", film="slalom", charts=("lean", "steer"))
def slalom(until: float = LENGTH / SPEED) -> Study:
    """A riderless bicycle at 4 m/s rides a slalom under a compiled linear law."""
    bike = bicycle()
    law = dr.lqr(bike, {"speed": SPEED}, weights=WEIGHTS, input_weights=INPUT_WEIGHTS, limits={"steer_torque": 5.0})
    rate = math.pi * SPEED / APART
    winding = law.following("rear_wheel_contact_y", GROWING, rate, phase=f"{math.pi / APART!r}*rear_wheel_contact_x")
    run = dr.simulate(bike, until, start={"speed": SPEED}, inputs=winding)
    cones = np.arange(2.5 * APART, run["rear_wheel_contact_x"][-1], APART)
    beside = np.interp(cones, run["rear_wheel_contact_x"], run["rear_wheel_contact_y"])
    sides = np.sign(np.sin(math.pi * cones / APART))

    assert run.time[-1] == until and run.energy_drift is not None and run.energy_drift < 1e-7
    assert np.all(sides * beside > 0.6), beside  # alternately left and right of the cones, and clear of them
    assert abs(run["speed"] - SPEED).max() < 0.1

    figures = {
        "path": _seen_from_above(run, cones),
        "lean_and_steer": channel_figure(run, "lean", "steer", "heading"),
        "steer_torque": channel_figure(run, "steer_torque"),
    }
    findings = (
        str(law),
        f"cones passed at {', '.join(f'{y:+.2f}' for y in beside)} m",
        f"leans by {math.degrees(np.abs(run['lean']).max()):.1f}°, steers by {math.degrees(np.abs(run['steer']).max()):.1f}°, "
        f"torque up to {np.abs(run['steer_torque']).max():.2f} N·m, {run['speed'].min():.3f} to {run['speed'].max():.3f} m/s",
    )
    return Study("Riderless slalom", {"slalom": run}, figures, findings)


def _seen_from_above(run: dr.Trajectory, cones: NDArray[np.float64]) -> Any:
    drawing = track_figure(run, snapshots=1.0)
    drawing.set_figheight(1.45)
    axes = drawing.axes[0]
    axes.set_ylim(-3, 3)
    axes.plot(cones, 0 * cones, "^", color=COLORS[1], markersize=6, zorder=5)
    return drawing
