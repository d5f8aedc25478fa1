"""The rolling disc of SymPy's documentation in several formulations: yaw, lean and spin (3-1-2), center above the contact.

Signs are those of the gallery's disk: q1 heading, q2 lean, q3 spin angle, about z, x and y.
"""

from __future__ import annotations

import sympy as sp
from sympy.physics.mechanics import (
    KanesMethod,
    LagrangesMethod,
    Point,
    ReferenceFrame,
    RigidBody,
    dynamicsymbols,
    inertia,
)

m, r, g = sp.symbols("m r g")
q1, q2, q3, x, y, z = dynamicsymbols("q1 q2 q3 x y z")
u1, u2, u3, vx, vy, vz = dynamicsymbols("u1 u2 u3 vx vy vz")
t = dynamicsymbols._t
DISC_DEFAULTS = {m: 1.7, r: 0.4, g: 9.5}


def _frames():
    ground = ReferenceFrame("N")
    yaw = ground.orientnew("Y", "Axis", [q1, ground.z])
    lean = yaw.orientnew("L", "Axis", [q2, yaw.x])
    return ground, lean, lean.orientnew("R", "Axis", [q3, lean.y])


def _speeds(lean, disc, ground):
    """u: angular velocity in the lean frame, and the kinematic equations that say so."""
    real = disc.ang_vel_in(ground)
    wanted = u1 * lean.x + u2 * lean.y + u3 * lean.z
    disc.set_ang_vel(ground, wanted)
    return [(real - wanted).dot(e) for e in (lean.x, lean.y, lean.z)]


def _disc(center, lean, frame):
    about = inertia(lean, m * r**2 / 4, m * r**2 / 2, m * r**2 / 4)
    return RigidBody("disc", center, frame, m, (about, center))


def rolling_by_construction(form=True):
    """The contact point stands still: three speeds and no constraints."""
    ground, lean, frame = _frames()
    kinematics = _speeds(lean, frame, ground)
    contact = Point("C")
    contact.set_vel(ground, 0)
    center = contact.locatenew("center", r * lean.z)
    center.v2pt_theory(contact, ground, frame)
    method = KanesMethod(ground, [q1, q2, q3], [u1, u2, u3], kd_eqs=kinematics)
    bodies, loads = [_disc(center, lean, frame)], [(center, -m * g * ground.z)]
    if form:
        method.kanes_equations(bodies, loads)
        return method
    return KanesMethod(ground, [q1, q2, q3], [u1, u2, u3], kd_eqs=kinematics, bodies=bodies, forcelist=loads)


def rolling_by_constraints(form=True, height=None):
    """A free disc of six speeds with three velocity constraints, one of them holonomic: z is a dependent coordinate."""
    ground, lean, frame = _frames()
    kinematics = [*_speeds(lean, frame, ground), x.diff() - vx, y.diff() - vy, z.diff() - vz]
    center = Point("center")
    center.set_vel(ground, vx * ground.x + vy * ground.y + vz * ground.z)
    contact = center.locatenew("C", -r * lean.z)
    rolling = center.vel(ground) + frame.ang_vel_in(ground).cross(contact.pos_from(center))
    body = _disc(center, lean, frame)
    body.potential_energy = m * g * z
    method = KanesMethod(
        ground,
        [q1, q2, q3, x, y],
        [u1, u2, u3],
        kd_eqs=kinematics,
        q_dependent=[z],
        configuration_constraints=[z - r * sp.cos(q2)] if height is None else [height],
        u_dependent=[vx, vy, vz],
        velocity_constraints=[rolling.dot(e) for e in ground],
        bodies=[body],
        forcelist=[(center, -m * g * ground.z)],
    )
    if form:
        method.kanes_equations()
    return method


def rolling_with_contact_forces():
    """Auxiliary speeds of the contact point bring its forces into evidence, as in the documentation's second version."""
    ground, lean, frame = _frames()
    slips = dynamicsymbols("u4 u5 u6")
    f1, f2, f3 = dynamicsymbols("f1 f2 f3")
    kinematics = _speeds(lean, frame, ground)
    contact = Point("C")
    along = lean.y.cross(ground.z).normalize()  # horizontal, forward: the yaw frame's x
    axes = (lean.x, ground.z.cross(lean.x), ground.z)
    contact.set_vel(ground, sum((u * e for u, e in zip(slips, axes, strict=True)), start=0 * along))
    center = contact.locatenew("center", r * lean.z)
    center.v2pt_theory(contact, ground, frame)
    force = sum((f * e for f, e in zip((f1, f2, f3), axes, strict=True)), start=0 * along)
    method = KanesMethod(ground, [q1, q2, q3], [u1, u2, u3], kd_eqs=kinematics, u_auxiliary=slips)
    method.kanes_equations([_disc(center, lean, frame)], [(center, -m * g * ground.z), (contact, force)])
    return method, (f1, f2, f3)


def free_lagrangian():
    """T − V of a disc that is free to go anywhere, and the velocity of its lowest point."""
    ground, lean, frame = _frames()
    center = Point("center")
    center.set_vel(ground, x.diff() * ground.x + y.diff() * ground.y + z.diff() * ground.z)
    body = _disc(center, lean, frame)
    contact = center.vel(ground) + frame.ang_vel_in(ground).cross(-r * lean.z)
    return body.kinetic_energy(ground) - m * g * z, [contact.dot(e) for e in ground]


def rolling_by_lagrange(form=True):
    """Six coordinates, the height held as a position, rolling as two velocity constraints: right."""
    total, contact = free_lagrangian()
    method = LagrangesMethod(total, [x, y, z, q1, q2, q3], hol_coneqs=[z - r * sp.cos(q2)], nonhol_coneqs=contact[:2])
    if form:
        method.form_lagranges_equations()
    return method


def rolling_put_into_the_lagrangian():
    """As published: velocities of rolling put into L, three coordinates, no multipliers. Wrong."""
    ground, lean, frame = _frames()
    contact = Point("C")
    contact.set_vel(ground, 0)
    center = contact.locatenew("center", r * lean.z)
    center.v2pt_theory(contact, ground, frame)
    body = _disc(center, lean, frame)
    body.potential_energy = m * g * r * sp.cos(q2)  # the publication has the other sign, too
    return LagrangesMethod(body.kinetic_energy(ground) - body.potential_energy, [q1, q2, q3])
