"""A tricycle that takes a turn too fast: its inner wheel lifts off, and comes down again if the rider steers out of the turn.

What it shows: wheels that open, among redundant ones. While three wheels roll, one of the two lateral rows of the rear axle is
redundant; on two wheels all rows are independent. The same equations go through both, and through the impact of the landing.

What you should see: the tricycle of `tricycle_corners` gains speed on a circle. Its inner rear wheel lifts off where its load by
hand vanishes, to the last digits of the time. If the rider goes on it tips over; if he straightens the handlebar it comes down,
strikes the ground, rocks from wheel to wheel, and rides on with three.

By hand: see `tricycle`. With the torques τ on both rear wheels v̇ = 2 τ/(r M), and the load of the inner wheel is linear in v².
"""

from __future__ import annotations

import math

import numpy as np

import draisine as dr
from draisine.gallery.entries.tricycle import ClosedForm, tricycle
from draisine.gallery.registry import Study, entry, live, modes_of
from draisine.model.model import Model
from draisine.view.plots.trajectories import channel_figure

STEER, SPEED, TORQUE = 0.35, 3.0, 60.0


@live(start={"speed": SPEED})
def tipping_tricycle() -> Model:
    """The tricycle in a turn, on wheels that lift off and land; from `opens_at` on it is steered out of the turn."""
    m = tricycle(friction=math.inf)
    m.name = "tipping_tricycle"
    m.parameter("drive", TORQUE, "N*m", "torque on each rear wheel")
    m.parameter("opens_at", 10.0, "s", "when the rider straightens the handlebar, in 0.4 s")
    m.prescribe("handlebar", "steer", f"{STEER}*(1 - clip((t - opens_at)/0.4, 0, 1)^2*(3 - 2*clip((t - opens_at)/0.4, 0, 1)))")
    for side in ("left", "right"):
        m.generalized_force(f"{side}_spin", "where(t < opens_at, drive, 0)", name=f"{side}_pedal")
    return m


def lifts_at(parameters: dict[str, float]) -> tuple[float, float]:
    """Time and speed at which the inner wheel has no load, by hand."""
    exact = ClosedForm(parameters, STEER)
    acceleration = 2 * TORQUE / exact.p["wheel_radius"] / exact.inertia
    speed = exact.tipping_speed(acceleration)
    return (speed - SPEED) / acceleration, speed


@entry(level="Intermediate", film="saved", charts=("rear_left_gap", "speed"))
def tricycle_on_two_wheels() -> Study:
    """The inner wheel of a tricycle lifts off at the speed of statics; it tips over, or steers out of the turn and lands."""
    model, method = tipping_tricycle(), dr.methods.DOP853(rtol=1e-11, atol=1e-12)
    tips = dr.simulate(model, 0.75, start={"speed": SPEED}, method=method)
    saved = dr.simulate(model, 2.0, start={"speed": SPEED}, parameters={"opens_at": 0.4}, method=method)
    assert tips.status.kind == saved.status.kind == "FINISHED", (tips.status, saved.status)
    time, speed = lifts_at(dict(tips.parameters))
    for run in (tips, saved):
        lifted = modes_of(run)[1]
        assert list(lifted.modes.values()) == ["open", "stick", "stick"]
        assert abs(lifted.time - time) < 1e-9 and abs(float(run.at(lifted.time)["speed"]) - speed) < 1e-8
    assert tips["rear_left_gap"][-1] > 0.1 and np.all(np.diff(tips["rear_left_gap"][tips.time > time + 0.05]) > 0)
    landed = modes_of(saved).impacts[0]
    assert landed.lost > 0 and set(modes_of(saved)[-1].modes.values()) == {"stick"} and abs(saved["rear_left_gap"][-1]) < 1e-10
    assert saved.energy_drift is not None and saved.energy_drift < 1e-8
    high = float(saved["rear_left_gap"].max())
    figures = {"lands": channel_figure(saved, "rear_left_gap", "rear_right_gap", "front_gap", "rear_left_normal_force", "speed")}
    findings = (
        f"the inner wheel lifts off at {modes_of(tips)[1].time:.10f} s; by hand {time:.10f} s, at {speed:.6f} m/s",
        f"with {TORQUE:.0f} N·m on each wheel it tips over; steered out from 0.4 s on, it comes down from {100 * high:.1f} cm",
        f"it lands after {landed.time:.4f} s, loses {landed.lost:.1f} J there, and rocks until {modes_of(saved)[-1].time:.4f} s",
    )
    return Study("A tricycle on two wheels", {"saved": saved, "tips_over": tips}, figures, findings)
