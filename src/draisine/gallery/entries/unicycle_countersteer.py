"""Countersteering of a unicycle: the minimum-time turn to the left begins with a turn to the right.

What it shows: a maneuver of the nonlinear unicycle in the names of its model: from upright at 3 m/s, turn by 45° to the left in
minimum time and end upright, torso straight, at the same speed. Both torques are bounded: pedals within ±40 N·m, twist within
±30 N·m; the torso may twist by ±90°.

What you should see: the torso twists to the left, which turns the wheel to the right by 32°. The track moves to the right and
the rider falls to the left; only then is the wheel steered to the left, into the fall. A bicycle turns in the same way
(`simple_countersteer.py`, the problem of opty's gallery). Since there is no friction the motion is reversible, and the optimal
turn is symmetric in time: lean and speed are even, twist and torques odd.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np

import draisine as dr
from draisine.gallery.entries.unicycle import unicycle
from draisine.gallery.registry import Study, entry
from draisine.view.plots.canvas import panels
from draisine.view.plots.labels import legend_above
from draisine.view.plots.style import COLORS, PAGE, style
from draisine.view.plots.tracks import track_figure

SPEED, TURN = 3.0, math.pi / 4  # m/s, rad
PEDALS, TWIST = 40.0, 30.0  # N·m


@cache
def quickest_turn() -> dr.optimal.Solution:
    """Sixty intervals with constant torques in each; Gauss points are symmetric in time, as the solution is."""
    upright = {"lean": 0, "pitch": 0, "twist": 0}
    stated = dr.maneuver(unicycle()).start(speed=SPEED, pitch_rate=0).finish(heading=TURN, **upright, rates=0).finish(speed=SPEED)
    stated = stated.bounds(pedal_torque=(-PEDALS, PEDALS), twist_torque=(-TWIST, TWIST), twist=(-math.pi / 2, math.pi / 2))
    stated = stated.bounds(lean=(-0.8, 0.8), pitch=(-0.8, 0.8)).duration(0.3, 5).minimize("time")
    return stated.solve(dr.optimal.Collocation("gauss", 3, 60, constant_controls=True), guess=dr.guess.LinearGuess(duration=1.5))


def asymmetry(found: dr.optimal.Solution, name: str, sign: int) -> float:
    """Distance of a quantity from being even or odd in time, relative to its range."""
    only = found.only
    run, times = found.trajectory, only.begin + only.duration * np.linspace(0, 1, 201)
    value = np.interp(times, run.time, run[name])
    return float(np.abs(value - sign * value[::-1]).max() / np.ptp(value))


@entry(level="Advanced", film="unicycle_countersteers")
def unicycle_countersteers() -> Study:
    """A unicycle's minimum-time turn to the left begins with a turn to the right, and is symmetric in time."""
    found = quickest_turn()
    run = found.trajectory
    early = run.time < 0.15 * found.duration
    assert found.converged and found.discrepancy < 1e-3
    assert run["heading"][early].max() < 1e-9 and run["heading"].min() < -0.4  # to the right first
    assert run["lean"][early].max() < 1e-9 and run["lean"].min() < -0.3  # which lets it fall to the left
    twisting = found.only.input("twist_torque")
    assert (np.abs(np.abs(twisting) - TWIST) < 0.01 * TWIST).mean() > 0.9 and twisting[0] > 0
    image = {
        "lean": asymmetry(found, "lean", 1),
        "speed": asymmetry(found, "speed", 1),
        "twist": asymmetry(found, "twist", -1),
    }
    assert max(image.values()) < 1e-3, image
    final, right, lean = run.final, math.degrees(-run["heading"].min()), math.degrees(-run["lean"].min())
    findings = (
        f"by {math.degrees(final['heading']):.3f}° to the left in {found.duration:.4f} s, upright to "
        f"{max(abs(final['lean']), abs(final['pitch'])):.0e} rad, at {final['speed']:.4f} m/s",
        f"first {right:.1f}° to the right; it leans {lean:.1f}° to the left",
        f"the simulated motion departs from the nodes by {found.discrepancy:.0e}",
        "from the other end: " + ", ".join(f"{name} differs by {value:.0e}" for name, value in image.items()),
    )
    figures = {
        "turn": _turn(found),
        "path": track_figure(run, ["wheel_contact", "chest"], snapshots=0.2),
    }
    return Study("A unicycle countersteers", {"unicycle_countersteers": run}, figures, findings)


def _turn(found: dr.optimal.Solution) -> Any:
    run = found.trajectory
    with style():
        drawing, (angles, speed, torques) = panels(3, PAGE, 0.85 * PAGE, [2.0, 1.0, 1.4])
        for k, name in enumerate(("heading", "lean", "twist", "pitch")):
            angles.plot(run.time, np.degrees(run[name]), color=COLORS[k], label=name)
        angles.axhline(45, color=COLORS[0], lw=0.8, ls=":")
        angles.set_ylabel("angle [°]")
        legend_above(angles, PAGE)
        speed.plot(*run.curve("speed"), color=COLORS[4])
        speed.set_ylabel("speed [m/s]")
        torques.plot(*run.curve("twist_torque"), color=COLORS[2], label="twist")
        torques.plot(*run.curve("pedal_torque"), color=COLORS[4], label="pedals")
        torques.set_ylabel("torque [N·m]")
        torques.set_xlabel("time [s]")
        torques.margins(x=0)
        legend_above(torques, PAGE)
    return drawing
