"""The benchmark bicycle in SymPy's vectors, with the names, parameters and velocities of the gallery's graph.

Quaternion and twist of the rear frame, two rotors without angles, contact points by projection of the vertical on the wheel
planes: nothing here comes from draisine's own kinematics.
"""

from __future__ import annotations

import sympy as sp
from sympy.physics.mechanics import Point, ReferenceFrame, RigidBody, System, dynamicsymbols, inertia


def bicycle_system(parameters):
    """A `System` of four bodies, nine speeds, two heights and rolling; inputs steer_torque and pedal_torque."""
    p = {name: sp.Symbol(name) for name in parameters}
    place = dynamicsymbols("frame_x frame_y frame_z")
    quaternion = dynamicsymbols("frame_qw frame_qx frame_qy frame_qz")
    steer, steer_torque, pedal_torque = dynamicsymbols("steer steer_torque pedal_torque")
    v, w = dynamicsymbols("frame_vx frame_vy frame_vz"), dynamicsymbols("frame_wx frame_wy frame_wz")
    rear_spin, steer_rate, front_spin = dynamicsymbols("rear_wheel_spin steer_rate front_wheel_spin")

    ground, frame = ReferenceFrame("ground"), ReferenceFrame("frame")
    frame.orient_quaternion(ground, quaternion)
    frame.set_ang_vel(ground, w[0] * frame.x + w[1] * frame.y + w[2] * frame.z)
    head = ReferenceFrame("head")
    head.orient_axis(frame, frame.y, -p["steer_axis_tilt"])
    fork = ReferenceFrame("fork")
    fork.orient_axis(head, head.z, steer)
    fork.set_ang_vel(head, steer_rate * head.z)
    rear, front = ReferenceFrame("rear"), ReferenceFrame("front")
    rear.set_ang_vel(frame, rear_spin * frame.y)
    front.set_ang_vel(fork, front_spin * fork.y)

    s, c = sp.sin(p["steer_axis_tilt"]), sp.cos(p["steer_axis_tilt"])
    offset = p["r_front_wheel"] * s - p["trail"] * c
    hub = Point("rear_hub")
    hub.set_vel(ground, v[0] * frame.x + v[1] * frame.y + v[2] * frame.z)
    # upright and unsteered, the front hub is one wheelbase ahead; the steer axis passes `offset` behind it
    ahead = p["wheelbase"] * frame.x + (p["r_front_wheel"] - p["r_rear_wheel"]) * frame.z
    foot = hub.locatenew("foot", ahead - offset * head.x)
    front_hub = foot.locatenew("front_hub", offset * fork.x)
    seat = hub.locatenew("seat", p["x_frame"] * frame.x + (p["z_frame"] - p["r_rear_wheel"]) * frame.z)
    # the fork's center is published in the frame's axes, unsteered: the head's turned back
    from_foot = (p["x_fork"] * frame.x + (p["z_fork"] - p["r_rear_wheel"]) * frame.z - ahead + offset * head.x).express(head)
    bar = foot.locatenew("bar", sum((from_foot.dot(a) * b for a, b in zip(head, fork, strict=True)), start=0 * fork.x))
    for point, base, carrier in ((foot, hub, frame), (seat, hub, frame), (front_hub, foot, fork), (bar, foot, fork)):
        point.v2pt_theory(base, ground, carrier)

    published = inertia(head, 0, 0, 0) + inertia(frame, p["ixx_fork"], p["iyy_fork"], p["izz_fork"], 0, 0, p["ixz_fork"])
    about_bar = published.to_matrix(head)
    entries = (about_bar[0, 0], about_bar[1, 1], about_bar[2, 2], about_bar[0, 1], about_bar[1, 2], about_bar[2, 0])
    about_seat = inertia(frame, p["ixx_frame"], p["iyy_frame"], p["izz_frame"], 0, 0, p["ixz_frame"])
    # wheels are bodies of revolution: their inertia is written in the carriers, which do not spin
    about_rear = inertia(frame, p["ixx_rear_wheel"], p["iyy_rear_wheel"], p["ixx_rear_wheel"])
    about_front = inertia(fork, p["ixx_front_wheel"], p["iyy_front_wheel"], p["ixx_front_wheel"])
    bodies = [
        RigidBody("frame", seat, frame, p["m_frame"], (about_seat, seat)),
        RigidBody("fork", bar, fork, p["m_fork"], (inertia(fork, *entries), bar)),
        RigidBody("rear_wheel", hub, rear, p["m_rear_wheel"], (about_rear, hub)),
        RigidBody("front_wheel", front_hub, front, p["m_front_wheel"], (about_front, front_hub)),
    ]

    system = System(ground)
    system.add_bodies(*bodies)
    system.apply_uniform_gravity(-p["gravity"] * ground.z)
    system.add_loads((fork, steer_torque * head.z), (frame, -steer_torque * head.z))
    system.add_loads((rear, pedal_torque * frame.y), (frame, -pedal_torque * frame.y))
    system.add_coordinates(*place, *quaternion, steer)
    system.add_speeds(*v, *w, rear_spin, steer_rate, front_spin)
    moved = [a.diff() - hub.vel(ground).dot(e) for a, e in zip(place, ground, strict=True)]
    e0, e1, e2, e3 = quaternion
    turned = sp.Matrix([[-e1, -e2, -e3], [e0, -e3, e2], [e3, e0, -e1], [-e2, e1, e0]]) * sp.Matrix(w) / 2
    system.add_kdes(*moved, *(a.diff() - b for a, b in zip(quaternion, turned, strict=True)), steer.diff() - steer_rate)

    system.add_holonomic_constraints(sum(a**2 for a in quaternion) - 1)
    for center, carrier, wheel, radius in ((hub, frame, rear, p["r_rear_wheel"]), (front_hub, fork, front, p["r_front_wheel"])):
        along = [ground.z.dot(e) for e in carrier]  # the vertical in the carrier's axes
        length = sp.sqrt(along[0] ** 2 + along[2] ** 2)
        arm = -radius / length * (along[0] * carrier.x + along[2] * carrier.z)
        height = place[2] + (center.pos_from(hub) + arm).dot(ground.z)
        rolling = center.vel(ground) + wheel.ang_vel_in(ground).cross(arm)
        system.add_holonomic_constraints(height)
        system.add_nonholonomic_constraints(rolling.dot(ground.x), rolling.dot(ground.y))
    return system
