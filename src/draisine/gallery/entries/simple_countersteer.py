"""Countersteering of a simple bicycle model: an inverted pendulum on a path given by the steer angle.

What it shows: the countersteering problem of opty's gallery (J. K. Moore and others, example "Bicycle Countersteering"), on
C. Bourlet's model of 1899 in D. Karnopp's words (2004). The rear contact moves at v = 5 m/s and turns with r = v tan δ / b;
the mass m is at height h above a point a ahead of it, whose acceleration to the side is v r + a ṙ, so that

    (I₁ + m h²) φ̈ = m g h sin φ + m h cos φ (v r + a ṙ) − (I₃ − I₂ − m h²) r² sin φ cos φ,      φ to the right, r to the left.

The steer rate is the control, within ±200°/s; the roll rate stays within ±100°/s. The maneuver is the minimum-time turn by 90°,
straight and upright at both ends. The example's code has v²/v tan δ instead of v r = v²/b tan δ, a fifth of it with these
numbers; both are solved here.

What you should see: for a left turn the bar goes right first, by more than 20°. The turn takes 1.1154 s; with the example's
smaller coupling, 1.3093 s. Either the steer rate or the roll rate is at a bound almost all the time.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
import sympy as sp

import draisine as dr
from draisine.gallery.registry import Study, entry, live
from draisine.view.plots.canvas import new_figure
from draisine.view.plots.labels import legend_above
from draisine.view.plots.style import COLORS, FAINT, PAGE, style

CONSTANTS = {"I_roll": 9.2, "I_pitch": 11.0, "I_yaw": 2.8, "a": 0.5, "b": 1.0, "g": 9.81, "h": 1.0, "m": 87.0, "v": 5.0}
UNITS = {
    "I_roll": "kg*m^2",
    "I_pitch": "kg*m^2",
    "I_yaw": "kg*m^2",
    "a": "m",
    "b": "m",
    "g": "m/s^2",
    "h": "m",
    "m": "kg",
    "v": "m/s",
}
STEER_RATE, ROLL_RATE = math.radians(200), math.radians(100)  # rad/s


@live(start={"lean": 0.05})
def simple_bicycle(as_printed: bool = False) -> dr.Equations:
    """An inverted pendulum on a steered path, after Bourlet and Karnopp; lean is positive to the right, steer to the left."""
    lean, roll_rate, x, y, heading, steer, steer_rate = sp.symbols("lean roll_rate x y heading steer steer_rate")
    roll, pitch, yaw, a, b, g, h, m, v = (sp.Symbol(name) for name in CONSTANTS)
    turn = v * sp.tan(steer) / b
    inward = v * sp.tan(steer) if as_printed else v * turn
    aside = inward + a * v / (b * sp.cos(steer) ** 2) * steer_rate
    moment = (
        m * g * h * sp.sin(lean) + m * h * sp.cos(lean) * aside - (yaw - pitch - m * h**2) * turn**2 * sp.sin(lean) * sp.cos(lean)
    )
    rates = {
        lean: roll_rate,
        roll_rate: moment / (roll + m * h**2),
        x: v * sp.cos(heading),
        y: v * sp.sin(heading),
        heading: turn,
        steer: steer_rate,
    }
    units = {lean: "rad", roll_rate: "rad/s", x: "m", y: "m", heading: "rad", steer: "rad", steer_rate: "rad/s"}
    return dr.first_order(
        "simple_bicycle_as_printed" if as_printed else "simple_bicycle",
        rates,
        inputs=[steer_rate],
        parameters={sp.Symbol(name): value for name, value in CONSTANTS.items()},
        units={**UNITS, **{str(symbol): unit for symbol, unit in units.items()}},
    )


@cache
def quickest(as_printed: bool = False) -> dr.optimal.Solution:
    """The fastest turn by 90° to the left; 100 intervals with a constant steer rate in each."""
    stated = dr.maneuver(simple_bicycle(as_printed)).start(lean=0, roll_rate=0, heading=0, steer=0, x=0, y=0)
    stated = stated.finish(lean=0, roll_rate=0, heading=math.pi / 2, steer=0).duration(0.2, 20).minimize("time")
    stated = stated.bounds(steer_rate=(-STEER_RATE, STEER_RATE), roll_rate=(-ROLL_RATE, ROLL_RATE), lean=(-1.57, 1.57))
    return stated.bounds(steer=(-1.5, 1.5)).solve(
        dr.optimal.Collocation("gauss", 3, 100, constant_controls=True), guess=dr.guess.LinearGuess(duration=2.0)
    )


@entry(level="Intermediate")
def simple_bicycle_countersteers() -> Study:
    """Minimum-time turn of a simple bicycle by 90°: the bar goes to the other side first."""
    found, printed = quickest(), quickest(True)
    for one in (found, printed):
        run = one.trajectory
        early = run.time < 0.1 * one.duration
        assert one.converged and one.discrepancy < 1e-6
        assert run["steer"].min() < -math.radians(20) and run["steer"][early].max() <= 0 and run["lean"][early].max() <= 0
        steering, rolling = np.abs(run["steer_rate"]) / STEER_RATE, np.abs(run["roll_rate"]) / ROLL_RATE
        assert (np.maximum(steering, rolling) > 0.999).mean() > 0.9
    bar, nose = (math.degrees(-found[name].min()) for name in ("steer", "heading"))
    findings = (
        f"turn by 90° at 5 m/s in {found.duration:.4f} s; as printed in the example {printed.duration:.4f} s",
        f"first the bar goes {bar:.1f}° to the right, and the heading {nose:.1f}°",
        f"simulated motions depart from the nodes by {max(found.discrepancy, printed.discrepancy):.0e}",
    )
    runs = {"simple_bicycle": found.trajectory, "simple_bicycle_as_printed": printed.trajectory}
    return Study("The simplest bicycle countersteers", runs, {"turn": _turn(found, printed)}, findings)


def _turn(found: dr.optimal.Solution, printed: dr.optimal.Solution) -> Any:
    with style():
        drawing = new_figure(PAGE, 0.5 * PAGE)
        above, angles = drawing.subplots(1, 2)
        for one, color, label in ((printed, FAINT, "as printed"), (found, COLORS[0], "v²/b")):
            above.plot(one["x"], one["y"], color=color, label=f"{label}: {one.duration:.3f} s")
        for t in np.linspace(0, found.duration, 15):
            x, y, heading, steer = (float(np.interp(t, found.time, found[name])) for name in ("x", "y", "heading", "steer"))
            ahead = x + math.cos(heading), y + math.sin(heading)
            above.plot([x, ahead[0]], [y, ahead[1]], color="0.3", lw=1.2, alpha=0.7)
            bar = 0.2 * math.cos(heading + steer), 0.2 * math.sin(heading + steer)
            above.plot([ahead[0] - bar[0], ahead[0] + bar[0]], [ahead[1] - bar[1], ahead[1] + bar[1]], color=COLORS[1], lw=2.2)
        above.set_aspect("equal")
        above.set_xlabel("x [m]")
        above.set_ylabel("y [m]")
        legend_above(above, 3.4)
        for k, name in enumerate(("heading", "steer", "lean")):
            angles.plot(found.time, np.degrees(found[name]), color=COLORS[k], label=name)
        angles.axhline(90, color=COLORS[0], lw=0.8, ls=":")
        angles.set_xlabel("time [s]")
        angles.set_ylabel("angle [°]")
        legend_above(angles, 3.4)
    return drawing
