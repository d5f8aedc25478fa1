"""The Whipple–Carvallo bicycle with the benchmark parameters of Meijaard, Papadopoulos, Ruina & Schwab (2007).

Four rigid bodies (rear frame with rider, fork with handlebar, two knife-edge wheels), 26 parameters, rolling without slip: nine
velocities, six constraints, three degrees of freedom. Axes are draisine's: x forward, y left, z up; so heights are
positive, a lean to the right is positive and a steer to the *left* is positive.
"""

from __future__ import annotations

import math

from draisine.expr.expression import cos, sin
from draisine.model.model import Model


def benchmark_bicycle(steer_limit: float | None = None) -> Model:
    """The benchmark bicycle, every parameter by name.

    Inputs: `steer_torque` (rear frame on fork, positive to the left), `pedal_torque` (frame on rear wheel, positive forward),
    `push` (side force on the frame at the saddle, positive to the left). With a `steer_limit` in rad, which becomes a parameter,
    runs end where the handlebar reaches it; without it the handlebar can make whole turns.
    """
    m = Model("bicycle", "Whipple–Carvallo bicycle, benchmark of Meijaard et al. 2007")
    w = m.parameter("wheelbase", 1.02, "m", "distance of the contact points, upright")
    c = m.parameter("trail", 0.08, "m", "front contact behind the intersection of steer axis and ground")
    tilt = m.parameter("steer_axis_tilt", math.pi / 10, "rad", "steer axis from the vertical, 90° minus the head angle")
    m.gravity(m.parameter("gravity", 9.81, "m/s^2"))

    r_rear = m.parameter("r_rear_wheel", 0.3, "m", "radius")
    m_rear = m.parameter("m_rear_wheel", 2.0, "kg")
    ixx_rear = m.parameter("ixx_rear_wheel", 0.0603, "kg*m^2", "about a diameter")
    iyy_rear = m.parameter("iyy_rear_wheel", 0.12, "kg*m^2", "about the axle")

    x_frame = m.parameter("x_frame", 0.3, "m", "center of mass ahead of the rear contact")
    z_frame = m.parameter("z_frame", 0.9, "m", "center of mass above the ground")
    m_frame = m.parameter("m_frame", 85.0, "kg", "rear frame with rider")
    ixx_frame = m.parameter("ixx_frame", 9.2, "kg*m^2")
    iyy_frame = m.parameter("iyy_frame", 11.0, "kg*m^2")
    izz_frame = m.parameter("izz_frame", 2.8, "kg*m^2")
    ixz_frame = m.parameter("ixz_frame", -2.4, "kg*m^2", "product of inertia; its sign depends on the direction of the z axis")

    x_fork = m.parameter("x_fork", 0.9, "m", "center of mass ahead of the rear contact")
    z_fork = m.parameter("z_fork", 0.7, "m", "center of mass above the ground")
    m_fork = m.parameter("m_fork", 4.0, "kg", "fork and handlebar")
    ixx_fork = m.parameter("ixx_fork", 0.05892, "kg*m^2", "in the frame's axes, unsteered")
    iyy_fork = m.parameter("iyy_fork", 0.06, "kg*m^2")
    izz_fork = m.parameter("izz_fork", 0.00708, "kg*m^2")
    ixz_fork = m.parameter("ixz_fork", 0.00756, "kg*m^2")

    r_front = m.parameter("r_front_wheel", 0.35, "m", "radius")
    m_front = m.parameter("m_front_wheel", 3.0, "kg")
    ixx_front = m.parameter("ixx_front_wheel", 0.1405, "kg*m^2", "about a diameter")
    iyy_front = m.parameter("iyy_front_wheel", 0.28, "kg*m^2", "about the axle")

    # Rear frame: origin at the rear hub. Fork: origin on the steer axis at the foot of the perpendicular from the front hub, z up
    # along the axis, x forward.
    s, k = sin(tilt), cos(tilt)
    offset = r_front * s - c * k  # of the front hub ahead of the steer axis
    reach = (w - offset * k, 0, r_front - r_rear - offset * s)  # of the fork's origin from the rear hub

    frame = m.body(
        "frame",
        mass=m_frame,
        center_of_mass=(x_frame, 0, z_frame - r_rear),
        inertia={"xx": ixx_frame, "yy": iyy_frame, "zz": izz_frame, "zx": ixz_frame},
    )
    # The fork's inertia is published in the frame's axes; transform it to the fork's.
    ahead, above = x_fork - reach[0], z_fork - r_rear - reach[2]
    fork = m.body(
        "fork",
        mass=m_fork,
        center_of_mass=(k * ahead + s * above, 0, k * above - s * ahead),
        inertia={
            "xx": k * k * ixx_fork + 2 * s * k * ixz_fork + s * s * izz_fork,
            "yy": iyy_fork,
            "zz": s * s * ixx_fork - 2 * s * k * ixz_fork + k * k * izz_fork,
            "zx": (k * k - s * s) * ixz_fork + s * k * (izz_fork - ixx_fork),
        },
    )
    rear = m.body("rear_wheel", mass=m_rear, inertia=(ixx_rear, iyy_rear, ixx_rear))
    front = m.body("front_wheel", mass=m_front, inertia=(ixx_front, iyy_front, ixx_front))

    m.free(frame)
    m.revolute("rear_wheel_angle", frame, rear, axis="y", rate="rear_wheel_spin")
    m.revolute("steer", frame, fork, axis="z", at=reach, orientation=[("y", -tilt)])
    m.revolute("front_wheel_angle", fork, front, axis="y", at=(offset, 0, 0), rate="front_wheel_spin")
    m.wheel("rear_wheel", rear, radius=r_rear)
    m.wheel("front_wheel", front, radius=r_front)

    m.generalized_force(
        "steer", m.input("steer_torque", "N*m", "torque of the frame (or rider) on the fork, positive to the left")
    )
    m.generalized_force(
        "rear_wheel_angle", m.input("pedal_torque", "N*m", "torque of the frame on the rear wheel, positive forward")
    )
    m.point("saddle", frame, at=(x_frame, 0, z_frame - r_rear))
    m.wrench("saddle", force=(0, m.input("push", "N", "lateral force on the frame, positive along the world's y"), 0))

    m.output("speed", "body_velocity_x(frame)", "m/s", "forward velocity of the rear hub")
    m.output("heading", "heading(frame)", "rad", "of the rear frame, positive to the left")
    m.output("lean", "lean(frame)", "rad", "of the rear frame, positive to the right")
    m.output("pitch", "pitch(frame)", "rad", "of the rear frame, positive nose down")
    m.output("roll_rate", "rate_x(frame)", "rad/s", "of the rear frame about its forward axis")
    m.output("yaw_rate", "rate_z(frame)", "rad/s")
    m.event("fell_over", "abs(lean) - 80*pi/180", description="lean passed 80°")
    if steer_limit is not None:
        m.parameter("steer_limit", steer_limit, "rad", "steer angle to either side at which a run ends")
        m.event("bar_at_limit", "abs(steer) - steer_limit", description="the steer angle reached its limit")
    return m
