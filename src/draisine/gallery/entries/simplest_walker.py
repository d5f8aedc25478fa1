"""The simplest walker (Garcia, Chatterjee, Ruina & Coleman 1998) walks down a slope: two rigid legs, a hip, no motor.

What it shows: a walking machine with contacts that land. The swinging foot passes below the ground in the middle of a step, as a
leg without knees must; its contact counts only where the foot is ahead of the other one. Where it lands, the other foot leaves
without an impulse, by the laws of contact alone.

What you should see: from the known gait, steps that repeat to ten digits. From a start beside it, steps that come back to it, in
an oscillation: the multipliers of a step are complex, of magnitude 0.58.

Published: with feet of 1/1000 of the hip's mass, leg length 1 and g = 1, slope 0.009 (Bhounsule's program passivewalker.m):
stance angle 0.200161072169750, rate −0.199906060087682, angle rate between the legs −0.015805473227965; period 3.88194.
With feet without mass 0.2003109005 and 3.8824637529 (Garcia et al.).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import draisine as dr
from draisine.gallery.entries.vertical_plane import in_vertical_plane
from draisine.gallery.registry import Study, entry, live, modes_of
from draisine.model.model import Model
from draisine.results.trajectory import Trajectory
from draisine.view.plots.canvas import single_panel
from draisine.view.plots.style import PAGE
from draisine.view.plots.trajectories import channel_figure

SLOPE, ANGLE, RATE, BETWEEN, PERIOD = 0.009, 0.200161072169750, -0.199906060087682, -0.015805473227965, 3.88194000127686
SIDES = ("left", "right")


@live(start={"left_leg": -0.2, "right_leg": 0.2, "left_leg_rate": 0.2, "right_leg_rate": 0.184})
def simplest_walker() -> Model:
    """A hip on two rigid legs with light feet, on a slope; x along it, z normal to it."""
    m = Model("simplest_walker", "passive walking machine on a slope")
    m.parameter("gravity", 1.0, "m/s^2")
    m.parameter("slope", SLOPE, "rad")
    hip_mass, foot = m.parameter("hip", 1.0, "kg", "mass of the hip"), m.parameter("foot", 0.001, "kg", "mass of a foot")
    leg = m.parameter("leg", 1.0, "m", "length")
    m.parameter("friction", 1.0, "", "coefficient between feet and ground")
    m.gravity(("gravity*sin(slope)", 0, "-gravity*cos(slope)"))
    hip = m.body("hip", mass=hip_mass, shapes=[{"kind": "sphere", "radius": 0.08}])
    in_vertical_plane(m, hip, height=math.cos(ANGLE))
    for side in SIDES:
        shapes = [{"kind": "tube", "path": [(0, 0, 0), (0, 0, -leg)], "radius": 0.02}]
        shapes += [{"kind": "sphere", "radius": 0.03, "at": (0, 0, -leg)}]
        body = m.body(side, mass=foot, center_of_mass=(0, 0, -leg), shapes=shapes)
        m.revolute(f"{side}_leg", hip, body, axis="y")
        m.point(f"{side}_tip", body, (0, 0, -leg))
    for side, other in (SIDES, SIDES[::-1]):
        ahead = f"position_x({side}_tip) - position_x({other}_tip) - 0.1*leg"
        m.contact(f"{side}_foot", f"{side}_tip", friction="friction", lands_where=ahead)
    return m


def after_a_strike(angle: float, stance: float, swing: float) -> dict[str, float]:
    """Both feet on the ground, the left one ahead; angles are positive where a foot is ahead of the hip."""
    legs = {"left_leg": -angle, "right_leg": angle, "left_leg_rate": -stance, "right_leg_rate": -swing}
    hip = {"x": -math.sin(angle), "z": math.cos(angle)}
    return {**legs, **hip, "x_rate": -math.cos(angle) * stance, "z_rate": -math.sin(angle) * stance}


def steps_of(run: Trajectory) -> np.ndarray:
    """Time, stance angle and rate just after every strike."""
    found = []
    for k, change in enumerate(modes_of(run).impacts):
        at = run.at(np.nextafter(change.time, np.inf))
        side = SIDES[(k + 1) % 2]
        found.append((change.time, -at[f"{side}_leg"], -at[f"{side}_leg_rate"]))
    return np.array(found)


@entry(level="Intermediate", film="beside", charts=("left_leg", "right_leg"))
def simplest_walker_walks(count: int = 12) -> Study:
    """The simplest walker walks down a slope of 0.009: its gait repeats, and steps beside it come back to it."""
    model, method = simplest_walker(), dr.methods.DOP853(rtol=1e-12, atol=1e-13)
    gait = dr.simulate(model, 3.05 * PERIOD, start=after_a_strike(ANGLE, RATE, RATE - BETWEEN), method=method)
    beside = dr.simulate(model, (count + 0.5) * PERIOD, start=after_a_strike(ANGLE - 0.004, RATE, RATE - BETWEEN), method=method)
    for run in (gait, beside):
        assert run.status.kind == "FINISHED", run.status
        assert run.energy_drift is not None and run.energy_drift < 1e-8
        for change in modes_of(run).impacts:
            assert len(change.impulse) == 1  # the trailing foot takes none
    repeated, steps = steps_of(gait), steps_of(beside)
    assert np.max(np.abs(np.diff(repeated[:, 0], prepend=0.0) - PERIOD)) < 1e-8
    assert np.max(np.abs(repeated[:, 1:] - [ANGLE, RATE])) < 1e-9
    assert len(steps) == count
    away = np.hypot(steps[:, 1] - ANGLE, steps[:, 2] - RATE)
    assert away[-1] < 0.05 * away[0]
    size = float(np.exp(np.polyfit(np.arange(3, count), np.log(away[3:]), 1)[0]))
    figures = {"steps": _steps(steps), "walk": channel_figure(beside, "left_leg", "right_leg", "right_foot_gap")}
    normal, along, _ = modes_of(gait).impacts[0].impulse["right_foot"]
    findings = (
        f"period {repeated[0, 0]:.10f}, stance angle {repeated[0, 1]:.10f}; published 3.88194, 0.2001610722",
        f"a strike takes {modes_of(gait).impacts[0].lost:.4e} J and needs friction of {abs(along) / normal:.4f}",
        f"steps beside the gait come closer by {size:.2f} with every step; magnitude of the multipliers 0.579",
    )
    return Study("The simplest walker", {"gait": gait, "beside": beside}, figures, findings)


def _steps(steps: np.ndarray) -> Any:
    with single_panel("step [–]", "stance angle after the strike [rad]", width=0.7 * PAGE, height=0.4 * PAGE) as (drawing, axes):
        axes.plot(np.arange(1, len(steps) + 1), steps[:, 1], "o-", label="started beside the gait")
        axes.axhline(ANGLE, linestyle=":", color="black", label="gait")
        axes.legend()
    return drawing
