"""A bicycle that brakes with its front wheel: it rolls, lifts the rear wheel, or skids until the front wheel stands still.

What it shows: the benchmark bicycle (Meijaard et al. 2007) with friction at its wheels in place of ideal rolling: the same
bodies and parameters, wheels that roll, slip, lift off and land. A torque of the front brake acts between fork and wheel.

What you should see: with a friction coefficient of 1 and a torque that grows slowly, the rear wheel begins to slip shortly
before it lifts off, at 257.684 N·m (7.6464 m/s²). With 0.5 the front wheel skids before that, at 95.960 N·m, and soon stands
still. Both runs are straight and upright.

By hand, with the mass m, the center of mass x ahead of the rear contact and z above the ground, wheelbase w:

    lifts at the deceleration  a = m g (w − x)/(m z + I_F/r_F),   with the torque  a (m r_F + I_F/r_F),   needs μ ≥ a/g.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import draisine as dr
from draisine.gallery.entries.bicycle import bicycle
from draisine.gallery.registry import Study, entry, live, modes_of
from draisine.model.contact.dry_friction import dry_friction
from draisine.model.items import Parameter
from draisine.model.model import Model
from draisine.view.plots.contact_modes import mode_figure
from draisine.view.plots.trajectories import channel_figure

WHEELS = ("rear_wheel", "front_wheel")


@live(start={"speed": 6.0})
def braking_bicycle() -> Model:
    """The benchmark bicycle with friction at its wheels, which roll, slip, lift off and land, and with a front brake."""
    ideal = bicycle().freeze()
    law = dry_friction("grip", 0.0, "energetic", "wheels")
    wheels = tuple(wheel._replace(friction=law) for wheel in ideal.wheels)
    grip = Parameter("grip", 1.0, "", "friction coefficient between wheels and ground")
    description = "Whipple–Carvallo bicycle, benchmark of Meijaard et al. 2007, with dry friction and a front brake"
    named = replace(ideal, name="braking_bicycle", description=description, independent=())
    m = Model.of(replace(named, parameters=(*ideal.parameters, grip), wheels=wheels))
    brake = m.input("front_brake", "N*m", "torque of the fork on the front wheel, positive where it brakes")
    m.generalized_force("front_wheel_angle", -brake)
    return m


def lift_off() -> tuple[float, float]:
    """Deceleration and torque of the front brake at which the rear wheel lifts, in closed form.

    >>> [round(part, 5) for part in lift_off()]
    [7.6464, 257.68368]
    """
    masses, ahead, above = np.array([2.0, 85.0, 4.0, 3.0]), np.array([0.0, 0.3, 0.9, 1.02]), np.array([0.3, 0.9, 0.7, 0.35])
    m, x, z = masses.sum(), masses @ ahead / masses.sum(), masses @ above / masses.sum()
    a = m * 9.81 * (1.02 - x) / (m * z + 0.28 / 0.35)
    return float(a), float(a * (m * 0.35 + 0.28 / 0.35))


@entry(level="Intermediate", film="stoppie", charts=("rear_wheel_normal_force",))
def bicycle_brakes(until: float = 1.5) -> Study:
    """A bicycle brakes with its front wheel: the rear wheel lifts off at 7.6464 m/s², or the front wheel skids."""
    model, method = braking_bicycle(), dr.methods.DOP853(rtol=1e-11, atol=1e-12)
    start = {"speed": 10.0, "lean": 0.0, "steer": 0.0, "roll_rate": 0.0, "steer_rate": 0.0, "yaw_rate": 0.0}
    grows = {"front_brake": "250*t"}
    stoppie = dr.simulate(model, until, start=start, inputs=grows, method=method)
    locks = dr.Event("front wheel stands still", "front_wheel_spin", "stop", -1)
    skid = dr.simulate(model, until, start=start, inputs=grows, parameters={"grip": 0.5}, events=[locks], method=method)
    for run, kind in ((stoppie, "FINISHED"), (skid, "EVENT")):
        assert run.status.kind == kind, run.status
        assert run.energy_drift is not None and run.energy_drift < 1e-9
        assert np.max(np.abs(run["lean"])) < 1e-9
        assert min(run[f"{wheel}_gap"].min() for wheel in WHEELS) > -1e-10
    deceleration, torque = lift_off()
    lifts = next(change.time for change in modes_of(stoppie) if change.modes["rear_wheel"] == "open")
    slips = next(change.time for change in modes_of(stoppie) if change.modes["rear_wheel"] == "slip")
    assert abs(250 * lifts - torque) < 1e-7 and slips < lifts
    assert abs(stoppie.at(lifts)["front_wheel_longitudinal_force"] / -94.0 - deceleration) < 1e-8
    skids = next(change.time for change in modes_of(skid) if change.modes["front_wheel"] == "slip")
    sliding = skid["front_wheel_mode"] == 1
    used = -skid["front_wheel_longitudinal_force"][sliding] / skid["front_wheel_normal_force"][sliding]
    assert np.max(np.abs(used - 0.5)) < 1e-9

    names = ("speed", "pitch", "rear_wheel_normal_force", "front_wheel_normal_force", "front_wheel_slip_along")
    figures = {
        "stoppie": channel_figure(stoppie, *names[:4]),
        "skid": channel_figure(skid, *names),
        "modes": mode_figure(modes_of(stoppie)),
    }
    findings = (
        f"friction 1: the rear wheel slips from {250 * slips:.4f} N·m, lifts at {250 * lifts:.6f} N·m; closed form {torque:.6f}",
        f"deceleration there {deceleration:.4f} m/s²; {np.degrees(stoppie['pitch'][-1]):.1f}° nose down after {until:g} s",
        f"friction 0.5: the front wheel skids from {250 * skids:.4f} N·m on and stands still at {skid.time[-1]:.4f} s",
    )
    return Study("A bicycle brakes", {"stoppie": stoppie, "skid": skid}, figures, findings)
