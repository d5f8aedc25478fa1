"""A bicycle that falls, slides on its grips, pedals and saddle, and comes to rest.

What it shows: a fall does not end a run where contacts open and land. Wheels roll, slip and lift; grips, pedals and the saddle
are points that land, slide and stick. In the studio it is the bicycle that lies on the ground.

What you should see: at 2 m/s, pushed over, it lands after half a second, slides and rocks for two more, and lies still on both
wheels, a grip and the saddle. The fall takes 1108 J, most of it by impacts.

By hand: at rest the normal forces carry the weight, Σ N = m g, and energy is lost by impacts and by friction alone.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import draisine as dr
from draisine.gallery.entries.skidding_bicycle import skidding_bicycle
from draisine.gallery.registry import Study, entry, live, modes_of
from draisine.model.model import Model
from draisine.view.plots.contact_modes import mode_figure
from draisine.view.plots.trajectories import channel_figure

POINTS = ("left_grip", "left_pedal", "right_grip", "right_pedal", "saddle")
MASS = 94.0  # kg


@live(start={"speed": 4.6, "roll_rate": 0.5})
def falling_bicycle() -> Model:
    """The benchmark bicycle with friction at its wheels and brakes that lock them; grips, pedals and saddle land."""
    m = Model.of(replace(skidding_bicycle().freeze(), events=()))  # a fall is no end
    m.name, m.description = "falling_bicycle", "Whipple–Carvallo bicycle that lies on the ground when it has fallen"
    m.parameter("landing", 0.6, "", "friction coefficient of grips, pedals and saddle")
    for name, side in (("left", 1), ("right", -1)):
        m.contact(f"{name}_grip", m.point(f"{name}_end", "fork", (0.1, 0.3 * side, 0.7)), friction="landing")
        m.contact(f"{name}_pedal", m.point(f"{name}_foot", "frame", (0.4, 0.15 * side, 0.0)), friction="landing")
    m.contact("saddle", m.point("top", "frame", (0.3, 0.0, 0.6)), friction="landing")
    return m


@entry(level="Intermediate", film="fall", charts=("lean", "kinetic_energy"))
def bicycle_falls() -> Study:
    """A bicycle falls, slides and comes to rest on its wheels, a grip and the saddle."""
    start = {"speed": 2.0, "roll_rate": 2.0, "steer": 0.2}
    run = dr.simulate(falling_bicycle(), 4.0, start=start, parameters={"grip": 0.6})
    assert run.status.kind == "FINISHED", run.status
    modes, contacts = modes_of(run), ("rear_wheel", "front_wheel", *POINTS)
    carried = sum(run[f"{name}_normal_force"][-1] for name in contacts)
    assert abs(carried - MASS * 9.81) < 1e-6 * carried, carried
    assert min(run[f"{name}_gap"].min() for name in contacts) > -1e-8
    energy = run["total_energy"]
    assert run["kinetic_energy"][-1] < 1e-12 and np.all(np.diff(energy) < 1e-6)
    still = next(time for time, kinetic in zip(run.time, run["kinetic_energy"], strict=True) if kinetic < 1e-9)
    on = [name for name, mode in modes[-1].modes.items() if mode != "open" and name in contacts]
    findings = (
        f"lies still from {still:.2f} s on, after {len(modes)} changes of modes, on {', '.join(on)}",
        f"lost {energy[0] - energy[-1]:.1f} J, {modes.lost:.1f} J of it by impacts",
        f"normal forces at rest {carried:.6f} N, weight {MASS * 9.81:.6f} N",
    )
    figures = {"fall": channel_figure(run, "lean", "speed", "kinetic_energy", "saddle_gap"), "modes": mode_figure(modes)}
    return Study("A bicycle falls", {"fall": run}, figures, findings)
