"""A block on a slope: it slides, stops and sticks, or turns round.

What it shows: dry friction with two contacts at once. The block stands on two edges whose tangential forces are not determined
one by one while it sticks; the motion is, and so are the normal forces. All modes have one set of equations.

What you should see: pushed down the slope of 20° with μ = 0.5 it stops after 1.5949 s and stays; with μ = 0.2 it is pushed up,
turns round and comes back slower. While it slides down, the front edge carries more.

By hand, with the acceleration g (sin α ∓ μ cos α) along the slope,

    stops after v₀/(g (μ cos α − sin α)),   comes back with v₀ √((tan α − μ)/(tan α + μ)),
    normal forces of the edges while it slides down:  m g cos α (½ ± μ h/(2 w)),   with width w and height h.
"""

from __future__ import annotations

import math

import numpy as np

import draisine as dr
from draisine.gallery.entries.vertical_plane import in_vertical_plane
from draisine.gallery.registry import Study, entry, live, modes_of
from draisine.model.model import Model
from draisine.view.plots.trajectories import channel_figure

SLOPE = math.radians(20)


@live(start={"x": 0.0, "block_speed": -2.0})
def block_on_slope() -> Model:
    """A block on two edges on ground that falls along x."""
    m = Model("block_on_slope", "a block that slides and sticks on a slope")
    m.gravity(m.parameter("gravity", 9.81, "m/s^2"))
    slope = m.parameter("slope", SLOPE, "rad", "downhill along x")
    mass = m.parameter("mass", 2.0, "kg")
    w, h = m.parameter("width", 0.4, "m"), m.parameter("height", 0.2, "m")
    m.parameter("friction", 0.5, "", "coefficient between block and ground")
    m.ground(slope=-slope)
    moment = mass * (w**2 + h**2) / 12
    shape = {"kind": "box", "size": (w, 0.3, h), "at": (0, 0, h / 2)}
    body = m.body("block", mass=mass, center_of_mass=(0, 0, h / 2), inertia=(moment, moment, moment), shapes=[shape])
    in_vertical_plane(m, body, turn="turn")
    for name, side in (("front", 0.5), ("rear", -0.5)):
        m.contact(name, m.point(f"{name}_edge", body, (side * w, 0, 0)), friction="friction")
    m.output("block_speed", "x_rate*cos(slope) - z_rate*sin(slope)", "m/s", "down the slope")
    m.output("way", "x/cos(slope)", "m", "down the slope")
    return m


def on_the_slope(speed: float) -> dict[str, float]:
    """A start with both edges on the ground."""
    return {"x": 0.0, "z": 0.0, "turn": SLOPE, "turn_rate": 0.0, "block_speed": speed}


@entry(level="First steps", film="turns_round", charts=("block_speed",))
def block_slides_and_sticks(until: float = 2.0) -> Study:
    """A block slides down a slope and sticks, or is pushed up, turns round and comes back."""
    model, g = block_on_slope(), 9.81
    c, s = math.cos(SLOPE), math.sin(SLOPE)
    stops = dr.simulate(model, until, start=on_the_slope(2.0))
    turns = dr.simulate(model, until, start=on_the_slope(-2.0), parameters={"friction": 0.2})
    for run in (stops, turns):
        assert run.status.kind == "FINISHED", run.status
        assert run.energy_drift is not None and run.energy_drift < 1e-10
        assert np.max(np.abs(run["turn"] - SLOPE)) < 1e-10
    wanted = 2.0 / (g * (0.5 * c - s))
    stop = modes_of(stops)[-1].time
    assert abs(stop - wanted) < 1e-10 and modes_of(stops)[-1].modes == {"front": "stick", "rear": "stick"}
    assert abs(stops["way"][-1] - wanted) < 1e-9
    loads = [stops[f"{edge}_normal_force"][0] / (2.0 * g * c) for edge in ("front", "rear")]
    assert np.allclose(loads, [0.5 + 0.5 * 0.2 / 0.8, 0.5 - 0.5 * 0.2 / 0.8], atol=1e-12)
    turn = modes_of(turns)[1].time
    assert abs(turn - 2.0 / (g * (0.2 * c + s))) < 1e-10
    returns = turn + math.sqrt(2 * (2.0 * turn / 2) / (g * (s - 0.2 * c)))
    back = turns.at(returns)
    ratio = math.sqrt((math.tan(SLOPE) - 0.2) / (math.tan(SLOPE) + 0.2))
    assert abs(back["way"]) < 1e-9 and abs(back["block_speed"] - 2.0 * ratio) < 1e-9

    figures = {
        "stops": channel_figure(stops, "block_speed", "front_normal_force", "rear_normal_force"),
        "turns_round": channel_figure(turns, "block_speed", "way", "front_normal_force", "rear_normal_force"),
    }
    findings = (
        f"μ = 0.5: stops after {stop:.6f} s (closed form {wanted:.6f} s) and sticks",
        f"μ = 0.2: turns round after {turn:.6f} s and comes back with {back['block_speed']:.6f} m/s",
        f"sliding, the front edge carries {loads[0]:.4f} of the load, the rear edge {loads[1]:.4f}",
    )
    return Study("A block on a slope", {"stops": stops, "turns_round": turns}, figures, findings)
