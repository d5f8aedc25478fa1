"""A motorcycle of eleven freedoms: suspension, flexible frame, rider, chain, brakes, aerodynamics, tires that slip.

What it shows: a machine of parts as vehicle dynamicists build it. The frame moves freely (6), the head twists against it, the fork
steers and slides, the swing arm turns, the rider's upper body leans against a spring, and both wheels spin: thirteen
coordinates, less the two contacts, which are rigid vertically. Tires have side forces by slip angle and camber that build up over a
relaxation length. The numbers are of the size of a sport motorcycle, not those of a particular one.

What you should see: trim in one call, at speed, in a turn and while braking in it: loads, travels, torques. Upright, weave, wobble and
capsize over the speed, with the motions in the plane (bounce, pitch) apart from them; in a turn all modes are coupled, and the weave
takes the suspension with it (cornering weave). The steering damper raises the damping of the wobble and lowers that of the weave.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import draisine as dr
from draisine.gallery.registry import Study, entry, live
from draisine.model.contact.tires import LinearTire
from draisine.model.model import Model
from draisine.view.plots.canvas import panels
from draisine.view.plots.labels import legend_above
from draisine.view.plots.style import PAGE, style
from draisine.view.plots.trajectories import channel_figure

STATES = ("lean", "steer", "fork_travel", "arm_angle", "twist_angle", "rider_angle")
HELD = ("drive_torque", "steer_torque")
TIRES = {"front": (14e3, 1250.0, 0.2), "rear": (18e3, 1500.0, 0.25)}  # cornering and camber stiffness, relaxation length


@live(start={"speed": 25.0})
def motorcycle() -> Model:
    """A sport motorcycle with rider from parts: eleven freedoms, inputs for steering, throttle and both brakes."""
    parts = dr.parts
    m = Model("motorcycle", "sport motorcycle with suspension, flexible frame, rider, chain, brakes, aerodynamics and tires")
    points = {"pivot": (0.56, 0.4), "gearbox": (0.65, 0.43), "saddle": (0.55, 0.82), "nose": (0.95, 0.8)}
    frame = parts.frame(
        m, "frame", mass=168, center_of_mass=(0.68, 0.52), inertia={"xx": 12, "yy": 30, "zz": 24, "zx": -2.5}, wheelbase=1.4,
        trail=0.1, steer_axis_tilt="24 deg", head_height=0.85, points=points,
    )  # fmt: skip
    twist = parts.flexure(m, "twist", frame["head"], axis="x", stiffness="60 kN*m/rad", damping=60, at=(1.0, 0.55))
    axle = ("frame_wheelbase", "front_radius + front_tube")
    fork = parts.telescopic_fork(
        m, "fork", twist["end"], axle=axle, mass=10, center_of_mass=(1.16, 0.78), inertia=(0.5, 0.4, 0.35), lower_mass=8,
        stiffness="18 kN/m", preload="1067 N", damping=1200,
    )  # fmt: skip
    arm = parts.swing_arm(
        m, "arm", frame["pivot"], axle=(0, "rear_radius + rear_tube"), mass=9, stiffness="16 kN*m/rad", preload="652 N*m", damping=850
    )
    for name, on, radius, tube, mass, inertia in (
        ("front", fork["axle"], 0.24, 0.06, 12, (0.28, 0.48)), ("rear", arm["axle"], 0.22, 0.09, 15, (0.4, 0.65)),
    ):  # fmt: skip
        cornering, camber, relaxation = TIRES[name]
        tire = LinearTire(
            m.parameter(f"{name}_cornering", cornering, "N", "side force per radian of slip angle"),
            m.parameter(f"{name}_relaxation", relaxation, "m", "way over which the force of the tire builds up"),
            m.parameter(f"{name}_slip_stiffness", 1.5 * cornering, "N", "force along the track per unit of slip"),
            camber=m.parameter(f"{name}_camber", camber, "N", "side force per radian of camber"),
        )
        parts.wheel(m, name, on, radius=radius, tube=tube, mass=mass, inertia=inertia, tire=tire)
        parts.brake(m, f"{name}_brake", name)
    parts.chain(m, "chain", frame["gearbox"], "rear", pinion=0.04, sprocket=0.1)
    parts.steering_damper(m, "damper", damping=5)
    parts.aerodynamics(m, "air", frame["nose"], drag=0.5, lift=0.05, pitching=0.02)
    rider = parts.flexure(m, "rider", frame["saddle"], axis="x", stiffness="3 kN*m/rad", damping=150)
    torso = m.body(
        "torso", mass=45, center_of_mass=(0.08, 0, 0.28), inertia=(1.9, 1.8, 0.8), shapes=[
            {"kind": "tube", "path": [(0, 0, 0.08), (0.22, 0, 0.42)], "radius": 0.13, "color": "#4A4F55"},
            {"kind": "sphere", "at": (0.36, 0, 0.58), "radius": 0.13, "color": "#D55E00"},
        ],
    )  # fmt: skip
    m.fixed("hips", rider["body"], torso)
    parts.anti_squat(m, "squat", arm["body"], chain="chain")
    return m
