"""A unicycle: one wheel, a frame on its hub, and a rider who pedals and twists the torso.

What it shows: feedback laws as inputs. A unicycle is unstable in pitch and roll; two laws, written as expressions and compiled,
stabilize it. Pedalling moves the wheel under the rider: to accelerate it must first roll *back*, so that the rider pitches
forward. Twisting the torso one way turns the frame the other way, since the ground transmits no moment about the vertical: so
the rider steers into a fall.

What you should see: from rest, the speed first goes below zero, the rider pitches forward by 17° and accelerates to 3 m/s in
one plane. Pushed to the left at 3 m/s, the unicycle leans to the left, the torso twists to the right, the track turns to the
left under the rider, and within four seconds it is upright again, in almost the old direction. With the pedalling law alone it
falls after the same push.
"""

from __future__ import annotations

import math

import numpy as np

import draisine as dr
from draisine.gallery.registry import Study, entry, live
from draisine.model.model import Model
from draisine.view.plots.tracks import track_figure
from draisine.view.plots.trajectories import channel_figure, energy_figure

# Gains by linear-quadratic design at 3 m/s, rounded. The speed enters with a plus: nonminimum phase: it rolls back to accelerate.
PEDALLING = "430*pitch + 90*pitch_rate + 30*(speed - 3)"
TWISTING = "60*lean + 23*lean_rate + 6*twist - 7*twist_rate"
PUSH = "200*exp(-((t - 1)/0.1)^2)"  # N, for about 0.2 s


@live(start={"speed": 1.5})
def unicycle() -> Model:
    """A wheel, a frame with the rider's legs on its hub, and the rider's twisting torso.

    Inputs: `pedal_torque` (frame on wheel, positive forward), `twist_torque` (frame on torso, positive turns the torso to the
    left), `push` (side force on the torso, positive along the world's y).
    """
    m = Model("unicycle", "wheeled unicycle whose rider pedals and twists")
    m.gravity(m.parameter("gravity", 9.81, "m/s^2"))
    radius = m.parameter("wheel_radius", 0.3, "m")
    m_wheel = m.parameter("m_wheel", 3.0, "kg")
    ixx_wheel = m.parameter("ixx_wheel", 0.1, "kg*m^2", "about a diameter")
    iyy_wheel = m.parameter("iyy_wheel", 0.2, "kg*m^2", "about the axle")
    z_frame = m.parameter("z_frame", 0.5, "m", "center of mass above the hub")
    m_frame = m.parameter("m_frame", 35.0, "kg", "frame, saddle and legs")
    ixx_frame = m.parameter("ixx_frame", 3.0, "kg*m^2")
    iyy_frame = m.parameter("iyy_frame", 3.0, "kg*m^2")
    izz_frame = m.parameter("izz_frame", 0.8, "kg*m^2")
    z_torso = m.parameter("z_torso", 1.0, "m", "center of mass above the hub")
    m_torso = m.parameter("m_torso", 40.0, "kg", "torso with arms spread")
    ixx_torso = m.parameter("ixx_torso", 2.5, "kg*m^2", "about any horizontal axis")
    izz_torso = m.parameter("izz_torso", 1.6, "kg*m^2", "about the axis of the twist")

    frame = m.body("frame", mass=m_frame, center_of_mass=(0, 0, z_frame), inertia=(ixx_frame, iyy_frame, izz_frame))
    wheel = m.body("wheel", mass=m_wheel, inertia=(ixx_wheel, iyy_wheel, ixx_wheel))
    torso = m.body("torso", mass=m_torso, inertia=(ixx_torso, ixx_torso, izz_torso))
    m.free(frame)
    m.revolute("wheel_angle", frame, wheel, axis="y", rate="wheel_spin")
    m.revolute("twist", frame, torso, axis="z", at=(0, 0, z_torso))
    m.wheel("wheel", wheel, radius=radius)

    m.generalized_force("wheel_angle", m.input("pedal_torque", "N*m", "of the frame on the wheel, positive forward"))
    m.generalized_force("twist", m.input("twist_torque", "N*m", "of the frame on the torso, positive to the left"))
    m.point("chest", frame, at=(0, 0, z_torso))
    m.wrench("chest", force=(0, m.input("push", "N", "sideways on the rider, positive along the world's y"), 0))

    m.output("heading", "heading(frame)", "rad", "positive to the left")
    m.output("lean", "lean(frame)", "rad", "positive to the right")
    m.output("pitch", "pitch(frame)", "rad", "positive forward")
    m.output("speed", "velocity_x(frame)*cos(heading) + velocity_y(frame)*sin(heading)", "m/s", "forward velocity of the hub")
    m.output("turn_rate", "rate(heading)", "rad/s", "positive to the left")
    m.output("lean_rate", "rate(lean)", "rad/s")
    m.output("pitch_rate", "rate(pitch)", "rad/s")
    m.output("chest_x", "position_x(chest)", "m", "seen from above, beside the contact where it leans")
    m.output("chest_y", "position_y(chest)", "m")
    m.event("fell_sideways", "abs(lean) - 60*pi/180", description="lean passed 60°")
    m.event("fell_forward", "abs(pitch) - 60*pi/180", description="pitch passed 60°")
    return m


@entry(level="Intermediate", film="unicycle_pushed")
def unicycle_ride(until: float = 10.0) -> Study:
    """A unicycle starts under a pedalling law, recovers from a push with a twisting law, and falls without it."""
    model, method = unicycle(), dr.methods.DOP853(rtol=1e-11, atol=1e-13)
    rolling = {"speed": 3.0, "pitch_rate": 0.0}
    laws = {"pedal_torque": PEDALLING, "twist_torque": TWISTING, "push": PUSH}
    ride = dr.simulate(model, until, inputs={"pedal_torque": PEDALLING}, method=method)
    pushed = dr.simulate(model, until, start=rolling, inputs=laws, method=method)
    falls = dr.simulate(model, until, start=rolling, inputs={"pedal_torque": PEDALLING, "push": PUSH}, method=method)
    runs = {"unicycle_ride_off": ride, "unicycle_pushed": pushed, "unicycle_falls": falls}

    for run in runs.values():
        assert run.energy_drift is not None and run.energy_drift < 1e-9  # the work of the inputs is in the balance
    assert ride.status.kind == pushed.status.kind == "FINISHED", (ride.status, pushed.status)
    assert ride["speed"].min() < -0.5 and np.all(ride["lean"] == 0.0)  # back first, and never out of the plane
    if until >= 10.0:
        assert abs(ride["speed"][-1] - 3) < 1e-3 and abs(ride["pitch"][-1]) < 1e-3
        assert abs(pushed["lean"][-1]) < 1e-3 and abs(pushed["twist"][-1]) < 1e-2
        assert [event.name for event in falls.events] == ["fell_sideways"] and falls["lean"][-1] < -1.0
    if until >= 2.0:
        first = int(np.argmax(abs(pushed["lean"]) > 0.01))
        assert pushed["lean"][first] < 0 and pushed["heading"].max() > 0.3 and pushed["twist"].min() < -0.4  # into the fall

    figures = {
        "unicycle_ride_off": channel_figure(ride, "pitch", "speed", "pedal_torque"),
        "unicycle_pushed": channel_figure(pushed, "lean", "twist", "heading", "speed", "twist_torque", "pedal_torque"),
        "unicycle_pushed_path": track_figure(pushed, ["wheel_contact"]),
        "unicycle_falls_path": track_figure(falls, ["wheel_contact", "chest"], snapshots=0.1),
        "unicycle_ride_off_energy": energy_figure(ride),
    }
    findings = (
        f"riding off: back at {-ride['speed'].min():.2f} m/s, forward lean of {math.degrees(ride['pitch'].max()):.1f}°, "
        f"{ride['speed'][-1]:.4f} m/s at the end",
        f"pushed: leans {math.degrees(-pushed['lean'].min()):.1f}° to the left, "
        f"twists {math.degrees(-pushed['twist'].min()):.0f}° to the right, "
        f"turns {math.degrees(pushed['heading'].max()):.0f}° to the left; "
        f"largest twisting torque {abs(pushed['twist_torque']).max():.1f} N·m",
        f"without twisting: {falls.status.message}",
    )
    return Study("A unicycle and its rider", runs, figures, findings)
