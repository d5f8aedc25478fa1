"""A bicycle on two skates: the Whipple–Carvallo bicycle with wheels of radius, mass and inertia zero.

Blades take the place of wheels. They touch the ground at one point each and have no velocity across; nothing spins. With point
masses it is the two-mass-skate bicycle of Kooijman, Meijaard, Papadopoulos, Ruina & Schwab (2011).
"""

from __future__ import annotations

import math

from draisine.expr.expression import Name, Number
from draisine.model.items import Coordinate, Rotate, Translate
from draisine.model.model import Model


def skate_bicycle() -> Model:
    """A bicycle on skates, every parameter by name; the defaults are those of the two-mass-skate bicycle."""
    m = Model("skate_bicycle", "bicycle on two skates")
    w = m.parameter("wheelbase", 1.0, "m", "distance of the contact points, upright")
    c = m.parameter("trail", 0.0, "m", "front contact behind the intersection of steer axis and ground")
    tilt = m.parameter("steer_axis_tilt", math.radians(5.0), "rad", "steer axis from the vertical")
    m.gravity(m.parameter("gravity", 9.81, "m/s^2"))
    x_frame = m.parameter("x_frame", 1.2, "m", "center of mass ahead of the rear contact")
    z_frame = m.parameter("z_frame", 0.4, "m", "center of mass above the ground")
    m_frame = m.parameter("m_frame", 10.0, "kg", "rear frame")
    frame_inertia = {
        axes: m.parameter(f"i{name}_frame", 0.0, "kg*m^2")
        for axes, name in (("xx", "xx"), ("yy", "yy"), ("zz", "zz"), ("zx", "xz"))
    }
    x_fork = m.parameter("x_fork", 1.02, "m", "center of mass ahead of the rear contact")
    z_fork = m.parameter("z_fork", 0.2, "m", "center of mass above the ground")
    m_fork = m.parameter("m_fork", 1.0, "kg", "fork and handlebar")
    fork_inertia = {
        axes: m.parameter(f"i{name}_fork", 0.0, "kg*m^2")
        for axes, name in (("xx", "xx"), ("yy", "yy"), ("zz", "zz"), ("zx", "xz"))
    }
    # Rear frame: origin at the rear contact. Fork: origin where the steer axis meets the ground; unsteered, its axes are the
    # frame's, so that its blade lies along the ground.
    frame = m.body("frame", mass=m_frame, center_of_mass=(x_frame, 0, z_frame), inertia=frame_inertia)
    fork = m.body("fork", mass=m_fork, center_of_mass=(x_fork - w - c, 0, z_fork), inertia=fork_inertia)
    m.free(frame)
    chain = (Translate((w + c, Number(0.0), Number(0.0))), Rotate("y", -tilt), Rotate("z", Name("steer")), Rotate("y", tilt))
    m.joint("steer", frame, fork, chain, (Coordinate("steer", "steer_rate", "rad"),))
    m.knife_edge(frame, name="rear_blade", on_ground=True)
    m.knife_edge(fork, at=(-c, 0, 0), name="front_blade", on_ground=True)
    m.generalized_force(
        "steer", m.input("steer_torque", "N*m", "torque of the frame (or rider) on the fork, positive to the left")
    )
    m.output("speed", "body_velocity_x(frame)", "m/s", "forward velocity of the rear contact")
    m.output("heading", "heading(frame)", "rad", "of the rear frame, positive to the left")
    m.output("lean", "lean(frame)", "rad", "of the rear frame, positive to the right")
    m.output("roll_rate", "rate_x(frame)", "rad/s", "of the rear frame about its forward axis")
    m.output("yaw_rate", "rate(heading(frame))", "rad/s", "rate of the heading, positive to the left")
    m.event("fell_over", "abs(lean) - 80*pi/180", description="lean passed 80°")
    return m
