"""A block on a moving belt, held by a spring: it sticks, is carried along, breaks away and slips back.

What it shows: dry friction as a given force, against the motion relative to the belt. Static friction above the kinetic one makes
the rest of the block unstable in the large: a limit cycle of stick and slip.

What you should see: straight lines of position while the block sticks and moves with the belt, arcs of an oscillation while it
slips; in the phase plane a circle about F_k/k that is cut off by the belt's velocity. Started at rest at F_k/k it would stay.

By hand, with d = (F_s − F_k)/k, ω = √(k/m) and the velocity V of the belt:

    sticks for 2 d/V,   slips for (π + 2 atan(V/(ω d)))/ω,   breaks away at F_s/k,   greatest position F_k/k + √(d² + V²/ω²).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import draisine as dr
from draisine.gallery.registry import Study, entry, live
from draisine.model.model import Model
from draisine.view.plots.canvas import single_panel
from draisine.view.plots.style import PAGE
from draisine.view.plots.trajectories import channel_figure


@live(start={"x": 0.0, "x_rate": 0.2})
def belt_oscillator() -> Model:
    """A block on a spring and on a belt that moves."""
    m = Model("belt_oscillator", "a block that sticks to a belt and slips back")
    m.gravity(0)
    m.parameter("mass", 1.0, "kg")
    m.parameter("stiffness", 100.0, "N/m")
    m.parameter("belt_speed", 0.2, "m/s")
    m.parameter("load", 9.81, "N", "that presses the block on the belt")
    m.parameter("static_friction", 0.4, "", "coefficient of static friction")
    m.parameter("kinetic_friction", 0.25, "", "coefficient of kinetic friction")
    block = m.body("block", mass="mass", shapes=[{"kind": "box", "size": (0.03, 0.02, 0.02), "at": (0, 0, 0.01)}])
    m.prismatic("x", "ground", block)
    m.spring("x", "stiffness")
    m.friction("belt", "x - belt_speed*t", ("static_friction*load", "kinetic_friction*load"), unit="m")
    return m


def limit_cycle(
    mass: float = 1.0, stiffness: float = 100.0, speed: float = 0.2, static: float = 3.924, kinetic: float = 2.4525
) -> dict[str, float]:
    """Times and positions of the limit cycle in closed form.

    >>> {name: round(value, 6) for name, value in limit_cycle().items()}
    {'stick': 0.14715, 'slip': 0.501455, 'breaks_away': 0.03924, 'greatest': 0.049355}
    """
    d, w = (static - kinetic) / stiffness, math.sqrt(stiffness / mass)
    return {
        "stick": 2 * d / speed,
        "slip": (math.pi + 2 * math.atan(speed / (w * d))) / w,
        "breaks_away": static / stiffness,
        "greatest": kinetic / stiffness + math.hypot(d, speed / w),
    }


@entry(level="First steps", film="cycle", charts=("x", "belt_force"))
def belt_sticks_and_slips(until: float = 4.0) -> Study:
    """A block on a belt sticks for 0.147 s and slips for 0.501 s, again and again."""
    method = dr.methods.DOP853(rtol=1e-12, atol=1e-14)
    run = dr.simulate(belt_oscillator(), until, start={"x": 0.0, "x_rate": 0.2}, method=method, samples=2001)
    assert run.status.kind == "FINISHED", run.status
    assert run.energy_drift is not None and run.energy_drift < 1e-9
    known = limit_cycle()
    assert run.modes is not None
    intervals = run.modes.intervals("belt")
    times = {mode: [end - begin for begin, end, found in intervals[1:-1] if found == mode] for mode in ("stick", "slip")}
    errors = [abs(time - known[mode]) for mode in times for time in times[mode]]
    assert len(errors) > 4 and max(errors) < 1e-10
    leaves = [begin for begin, _, mode in intervals if mode == "slip"]
    assert max(abs(run.at(t)["x"] - known["breaks_away"]) for t in leaves) < 1e-10
    assert abs(float(np.max(run["x"])) - known["greatest"]) < 1e-6
    figures = {"motion": channel_figure(run, "x", "x_rate", "belt_force"), "phases": _phases(run)}
    findings = (
        f"sticks for {times['stick'][0]:.9f} s, slips for {times['slip'][0]:.9f} s",
        f"closed form {known['stick']:.9f} s and {known['slip']:.9f} s; difference at most {max(errors):.0e} s",
        f"breaks away at {1000 * known['breaks_away']:.3f} mm",
    )
    return Study("A block on a belt", {"cycle": run}, figures, findings)


def _phases(run: dr.Trajectory) -> Any:
    with single_panel("position [m]", "velocity [m/s]", width=0.6 * PAGE, height=0.45 * PAGE) as (figure, axes):
        axes.plot(run["x"], run["x_rate"])
    return figure
