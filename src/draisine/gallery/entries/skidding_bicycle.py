"""A bicycle with brakes of dry friction: a wheel that locks skids; with much torque on the pedals the front wheel lifts.

What it shows: two kinds of dry friction in one mechanism. A brake is friction between wheel and frame, with a torque that is an
input: the wheel turns, or is locked, as the forces decide. Wheels have friction on the ground. Which of both slips follows from
all forces at once.

What you should see: with the front wheel locked the bicycle slows down by 2.789 m/s², with the rear wheel locked by 2.247 m/s²,
where the friction on the ground is 0.5. Kicked sideways, the bicycle with the locked rear wheel swings around and falls: the
wheel that slides does not guide. A torque of the pedals that grows lifts the front wheel at 110.916 N·m.

By hand, with the mass m, its center x ahead of the rear contact and z above the ground, wheelbase w, μ, spin inertias I:

    front locked  a = μ m g x/((m + I_R/r_R²) w − μ (m z + I_R/r_R)),
    rear locked   a = μ m g (w − x)/((m + I_F/r_F²) w + μ (m z + I_F/r_F)),
    wheelie       a = m g x/(m z + I_R/r_R),  torque  a (m r_R + I_R/r_R).
"""

from __future__ import annotations

import numpy as np

import draisine as dr
from draisine.gallery.entries.braking_bicycle import braking_bicycle
from draisine.gallery.registry import Study, entry, live, modes_of
from draisine.model.model import Model
from draisine.view.plots.contact_modes import mode_figure
from draisine.view.plots.trajectories import channel_figure

SIDES = ("rear", "front")


@live(start={"speed": 6.0})
def skidding_bicycle() -> Model:
    """The benchmark bicycle with friction at its wheels, and with brakes that lock them: dry friction of a given torque."""
    m = Model.of(braking_bicycle().freeze())
    m.name, m.description = "skidding_bicycle", "Whipple–Carvallo bicycle with wheels that lock and skid"
    for side in SIDES:
        grip = m.input(f"{side}_lever", "N*m", f"torque of friction that the {side} brake may take")
        m.friction(f"{side}_brake", f"{side}_wheel_angle", grip)
    return m


def by_hand(friction: float) -> tuple[float, float, float]:
    """Decelerations with the front and with the rear wheel locked, and the torque of the pedals that lifts the front wheel.

    >>> [round(part, 4) for part in by_hand(0.5)]
    [2.7887, 2.2471, 110.9158]
    """
    masses, ahead, above = np.array([2.0, 85.0, 4.0, 3.0]), np.array([0.0, 0.3, 0.9, 1.02]), np.array([0.3, 0.9, 0.7, 0.35])
    m, x, z, w = masses.sum(), masses @ ahead / masses.sum(), masses @ above / masses.sum(), 1.02
    rear, front = 0.12 / 0.3, 0.28 / 0.35  # spin inertia by radius
    one = friction * m * 9.81 * x / ((m + rear / 0.3) * w - friction * (m * z + rear))
    other = friction * m * 9.81 * (w - x) / ((m + front / 0.35) * w + friction * (m * z + front))
    lifts = m * 9.81 * x / (m * z + rear)
    return float(one), float(other), float(lifts * (m * 0.3 + rear))


@entry(level="Intermediate", film="kick", charts=("lean", "heading"))
def bicycle_skids() -> Study:
    """A bicycle locks a wheel and skids, swings around when it is kicked, or lifts its front wheel."""
    model, method = skidding_bicycle(), dr.methods.DOP853(rtol=1e-9, atol=1e-11)
    start = {"speed": 6.0} | dict.fromkeys(("lean", "steer", "roll_rate", "steer_rate", "yaw_rate"), 0.0)
    slippery, front, rear = {"grip": 0.5}, {"front_lever": 200.0}, {"rear_lever": 150.0}
    runs = {
        "front_locked": dr.simulate(model, 1.0, start=start, inputs=front, parameters=slippery, method=method),
        "rear_locked": dr.simulate(model, 1.0, start=start, inputs=rear, parameters=slippery, method=method),
        "wheelie": dr.simulate(model, 1.2, start={**start, "speed": 1.0}, inputs={"pedal_torque": "100*t"}, method=method),
    }
    kicked = {**start, "yaw_rate": 0.3}
    for name, brake in (("kick", rear), ("kick_unbraked", {})):
        runs[name] = dr.simulate(model, 2.5, start=kicked, inputs=brake, parameters=slippery, method=method)
    locked_front, locked_rear, torque = by_hand(0.5)
    for name, expected in (("front_locked", locked_front), ("rear_locked", locked_rear)):
        run = runs[name]
        assert run.status.kind == "FINISHED", run.status
        assert run.energy_drift is not None and run.energy_drift < 1e-7
        side = name.removesuffix("_locked")
        sliding = (run[f"{side}_wheel_mode"] == 1) & (run[f"{side}_brake_mode"] == 2)
        assert sliding[-1]
        first = int(np.argmax(sliding))
        fall = (run["speed"][-1] - run["speed"][first]) / (run.time[-1] - run.time[first])
        assert abs(fall + expected) < 1e-6, (fall, expected)
    lifts = next(change.time for change in modes_of(runs["wheelie"]) if change.modes["front_wheel"] == "open")
    assert abs(100 * lifts - torque) < 1e-5, (100 * lifts, torque)
    fallen = runs["kick"]
    assert fallen.status.kind == "EVENT" and runs["kick_unbraked"].status.kind == "FINISHED"
    assert np.degrees(np.max(np.abs(runs["kick_unbraked"]["lean"]))) < 10
    figures = {
        "kick": channel_figure(fallen, "speed", "lean", "heading", "rear_wheel_slip_across"),
        "modes": mode_figure(modes_of(fallen)),
    }
    findings = (
        f"front wheel locked: {locked_front:.6f} m/s²; rear wheel locked: {locked_rear:.6f} m/s², with friction 0.5",
        f"the front wheel lifts at {100 * lifts:.6f} N·m of the pedals; closed form {torque:.6f} N·m",
        f"kicked with the rear wheel locked, it falls after {fallen.time[-1]:.2f} s; without a brake it goes on",
    )
    return Study("A bicycle skids", runs, figures, findings)
