"""Atlas of steady turns of a bicycle: torque, friction, loads, stability, and hands-free circles.

What it shows: steady motions as branches and as a map. Hands-free circles of the benchmark bicycle are continued from straight
running by pseudo-arclength; Basu-Mandal, Chatterjee & Papadopoulos (2007) describe three families of them. Then the steer
torque, the friction needed, the loads of both wheels and the stability of turns are mapped over lean and speed.

What you should see: turns bifurcate from straight running at the capsize speed, 6.024 m/s, and continue to slower and tighter
circles, all unstable, until the speed is zero with the front wheel almost across. With the bar reversed there is another
family, which begins at 7.899 m/s, has a stable part near 5 m/s and ends almost flat on the ground. A third family pivots about
the rear wheel. In the atlas the heavy line of zero torque is the first of these families (the second line, at the edge of what
exists, is the third one's part with the bar forward); inside it the steer torque acts against the turn, beyond it into the
turn. Friction needed is about the tangent of the lean; above 39° it exceeds that of dry asphalt. Hatched regions have no steady
turn: at 2 m/s no turn leans more than 24.5°.
"""

from __future__ import annotations

import math

import numpy as np

import draisine as dr
from draisine.gallery.entries.bicycle import bicycle
from draisine.gallery.registry import Study, entry
from draisine.view.plots.branches import atlas_figure, branch_figure

ASPHALT = 0.8  # coefficient of friction, dry


@entry(level="Advanced")
def turning_atlas(points: int = 61) -> Study:
    """Hands-free circles of the benchmark bicycle, and a map of all turns: torque, friction, loads, stability."""
    bike = dr.derive(bicycle(), work=False)
    families = dr.bicycle.hands_free_turns(bike, speed=(0.0, 12.0))
    turning, reversed_turns = families["turning"], families["turning, bar reversed"]
    fork = turning.points("branch point")[0]
    assert abs(fork.value - 6.024262015388) < 1e-9  # the capsize speed of straight running
    assert np.abs(turning["steer_torque"]).max() == 0.0 and turning["speed"].max() < fork.value + 1e-9
    assert not turning.stable[np.abs(turning["lean"]) > 1e-6].any()
    assert reversed_turns.stable.any() and families["pivoting"].stable.any()

    atlas = dr.bicycle.turning_atlas(bike, lean=np.linspace(0.0, 0.9, points), speed=np.linspace(0.8, 10.0, points))
    there = atlas.exists
    weight = 94 * 9.81
    load = atlas["rear_wheel_normal_force"] + atlas["front_wheel_normal_force"]
    assert np.abs(load[there] / weight - 1).max() < 1e-9  # the ground carries the weight in every turn
    assert np.abs(atlas["pedal_torque"][there]).max() < 1e-8  # and power is zero
    fast = atlas.second > 6.0
    assert np.abs(atlas.friction[:, fast] / np.tan(np.maximum(atlas.first, 1e-9))[:, None] - 1)[1:].max() < 0.1
    assert float(np.nanmin(atlas.load)) > 0  # no wheel lifts off
    on_asphalt = atlas.possible(ASPHALT)
    steepest = float(atlas.first[on_asphalt.any(axis=1)].max())

    figures = {
        "atlas": atlas_figure(atlas, friction=ASPHALT),
        "hands_free_families": branch_figure(families, "lean", "steer", limits=(0.0, 12.0)),
    }
    lean = turning["lean"]
    widest = int(np.argmax(np.abs(lean)))
    findings = (
        f"hands-free turns leave straight running at {fork.value:.9f} m/s, lean at most {math.degrees(abs(lean[widest])):.2f}° "
        f"(at {turning['speed'][widest]:.2f} m/s), and end at rest with the bar at {math.degrees(abs(turning['steer'][0])):.2f}°",
        f"with the bar reversed they leave it at {reversed_turns.points('branch point')[0].value:.9f} m/s",
        f"{int(there.sum())} of {there.size} turns of the grid exist, {int(atlas.stable.sum())} of them with no mode that grows",
        f"on dry asphalt ({ASPHALT:g}) a bicycle leans up to {math.degrees(steepest):.1f}°; the least load of a wheel in any "
        f"turn is {np.nanmin(atlas.load):.0f} N",
        f"torques on the bar from {np.nanmin(atlas['steer_torque']):.2f} to {np.nanmax(atlas['steer_torque']):.2f} N·m",
    )
    return Study("Turns of the benchmark bicycle", {}, figures, findings)
