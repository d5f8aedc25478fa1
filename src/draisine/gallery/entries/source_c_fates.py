"""Long-time behavior of a riderless bicycle after a steer torque pulse, at four speeds (Delebecque & Nikoukhah 1992).

What it shows: the riderless bicycle of that paper (as a graph, with chosen parameters) after the same torque pulse from 0.1 to
0.3 s at four speeds, simulated for two minutes without dissipation or steering.

What you should see: at 8 m/s it recovers and goes straight on. Below 5.94 m/s straight running is unstable, and it approaches a
symmetric limit cycle, a zig-zag. Below 5.27 m/s the cycle is asymmetric: it leans further to one side than to the other, and
its mean path is a circle. Below 5.1 m/s it falls.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

import draisine as dr
from draisine.gallery.entries.delebecque_bicycle import delebecque_graph, pulse
from draisine.gallery.registry import Study, entry
from draisine.view.plots.canvas import new_figure, panels, single_panel
from draisine.view.plots.style import COLORS, PAGE, style

FATES = {"rights itself": 8.0, "zig-zag": 5.6, "circle": 5.15, "fall": 5.0}
WHEELS = ("rear_wheel", "front_wheel")


def ride(speed: float, until: float) -> dr.Trajectory:
    """The bicycle after the pulse, until it has fallen or the time is over."""
    fallen = dr.Event("fell_over", "abs(lean) - 80*pi/180", "stop", description="lean passed 80°")
    return dr.simulate(
        delebecque_graph(),
        until,
        start={"speed": speed},
        events=[fallen],
        control=dr.control.Sampled(pulse, rate=10.0),
        method=dr.methods.DOP853(rtol=1e-9, atol=1e-11),
        samples=int(20 * until) + 1,
    )


def late_swing(run: dr.Trajectory) -> tuple[float, float, float]:
    """Largest lean to the left and to the right (rad), and mean rate of turn (rad/s), over the second half."""
    late = run.time >= 0.5 * run.time[-1]
    turn = run["rear_heading"][late]
    return (
        -float(run["lean"][late].min()),
        float(run["lean"][late].max()),
        float(turn[-1] - turn[0]) / float(np.ptp(run.time[late])),
    )


@entry(level="Intermediate")
def delebecque_fates(until: float = 120.0) -> Study:
    """A steer torque pulse at four speeds: the riderless bicycle recovers, zig-zags, circles, or falls."""
    runs = {fate: ride(speed, until) for fate, speed in FATES.items()}
    swings = {fate: late_swing(run) for fate, run in runs.items() if fate != "fall"}
    for fate in swings:
        run = runs[fate]
        assert run.status.complete and run.energy_drift is not None and run.energy_drift < 1e-6, run.status
        assert min(float(run[f"{wheel}_normal_force"].min()) for wheel in WHEELS) > 0  # no wheel lifts
    assert max(swings["rights itself"][:2]) < 1e-3
    left, right, turn = swings["zig-zag"]
    assert abs(left - right) < 1e-3 * right and right > math.radians(15) and abs(turn) < 0.01
    left, right, turn = swings["circle"]
    assert abs(left - right) > math.radians(8) and 0.15 < abs(turn) < 0.2
    assert [e.name for e in runs["fall"].events] == ["fell_over"]

    speeds = np.linspace(5.1, 6.3, 25)
    table = np.array([late_swing(ride(float(v), until)) for v in speeds])
    weave = next(
        c
        for c in dr.modes(delebecque_graph(), speed=np.linspace(4, 8, 41), states=("lean", "steer")).critical()
        if c.kind == "weave"
    )
    assert np.all(table[speeds > weave.value + 0.1, :2].max(axis=1) < 0.05)  # slow to die near the critical speed
    figures = {"paths": _paths(runs), "leans": _leans(runs), "swing": _swing(speeds, table, weave.value)}
    findings = (
        f"straight running is stable above {weave.value:.4f} m/s",
        *(f"{FATES[f]:g} m/s, {f}: {math.degrees(a):.1f}° left, {math.degrees(b):.1f}° right" for f, (a, b, _) in swings.items()),
        f"the circle's radius is {FATES['circle'] / abs(turn):.0f} m",
        f"at {FATES['fall']:g} m/s it falls within {runs['fall'].time[-1]:.1f} s",
    )
    return Study(
        "Fates of a riderless bicycle", {f.replace(" ", "_").replace("-", "_"): r for f, r in runs.items()}, figures, findings
    )


def _paths(runs: dict[str, dr.Trajectory]) -> Any:
    with style():
        drawing = new_figure(PAGE, 0.5 * PAGE)
        for axes, (k, (fate, run)) in zip(drawing.subplots(1, len(runs)), enumerate(runs.items()), strict=True):
            shown = run.time <= (60.0 if fate == "circle" else 12.0)
            axes.plot(run["rear_wheel_contact_x"][shown], run["rear_wheel_contact_y"][shown], color=COLORS[k], lw=1.0)
            axes.plot([0], [0], "o", color="0.2", ms=4)
            axes.set_aspect("equal", adjustable="datalim")
            axes.set_title(f"{fate}, {FATES[fate]:g} m/s")
            axes.set_xlabel("x [m]")
        drawing.axes[0].set_ylabel("y [m]")
    return drawing


def _leans(runs: dict[str, dr.Trajectory]) -> Any:
    with style():
        drawing, rows = panels(len(runs), PAGE, 0.8 * PAGE)
        for axes, (k, (fate, run)) in zip(rows, enumerate(runs.items()), strict=True):
            shown = run.time <= 30.0
            axes.plot(run.time[shown], np.degrees(run["lean"][shown]), color=COLORS[k])
            axes.set_ylabel("lean [°]")
            axes.set_title(f"{fate}, {FATES[fate]:g} m/s", loc="left")
        rows[-1].set_xlabel("time [s]")
    return drawing


def _swing(speeds: NDArray[np.float64], table: NDArray[np.float64], weave: float) -> Any:
    with single_panel("speed [m/s]", "largest lean [°]", width=0.8 * PAGE, height=0.45 * PAGE) as (drawing, axes):
        for column, word in ((0, "to the left"), (1, "to the right")):
            axes.plot(speeds, np.degrees(table[:, column]), "o-", ms=3, label=f"lean {word}, after a minute")
        axes.axvline(weave, color="0.5", ls=":", lw=0.8)
    return drawing
