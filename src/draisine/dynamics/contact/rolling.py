"""Rolling and knife-edge constraints on a plane at rest: rows of A(q) v = 0.

The contact point of a wheel is explicit: the lowest point of its circle is found by projecting the ground's normal onto the
wheel's plane; no quartic is solved. Its material point has zero velocity: three rows, of which the normal one is the rate of a
position constraint. The rows of a wheel are expressed in the axes of the reference body, so its linear velocity enters with unit
coefficients, and a multiplier is the force of the ground on the wheel in those axes.
"""

from __future__ import annotations

from typing import NamedTuple

import casadi as ca

from draisine.dynamics.constraints.rows import Rows
from draisine.dynamics.kinematics.tree import (
    AxisRotation,
    BallRotation,
    FreeMotion,
    Link,
    Step,
    Translation,
    only_translates,
    total_translation,
)
from draisine.dynamics.kinematics.twists import ZERO_TWIST, Pose, Rates, Twist, propagate, propagate_rate
from draisine.dynamics.linear_algebra import (
    AXIS,
    NULL,
    UNIT,
    ZERO,
    Vec,
    add,
    along,
    cross,
    dot,
    is_zero,
    is_zero_vector,
    neg,
    scale,
    sub,
)
from draisine.dynamics.lowering import Scope
from draisine.errors import ModelError
from draisine.model.contact_items import KnifeEdge, Wheel


class WheelContact(NamedTuple):
    """Contact of a wheel in the axes of its link: center C, arm ρ from C to the contact point, ground normal n."""

    wheel: Wheel
    link: Link
    axis: int
    center: Vec
    normal: Vec
    arm: Vec
    radius: ca.SX
    tube: ca.SX
    tilt: ca.SX  # s = length of the normal's projection on the wheel's plane; the cosine of the wheel's lean
    radial: Vec  # unit vector in the wheel's plane, away from the ground

    @property
    def name(self) -> str:
        return self.wheel.name

    def wheel_rate(self, angular: Vec, rates: Rates) -> Vec:
        """Angular velocity of the wheel: that of its link plus the spin of a rotor."""
        spin = self.link.spin
        if spin is None or spin.velocity is None:
            return angular
        return add(angular, along(spin.axis, rates.get(spin.velocity, ZERO)))

    def arm_rate(self, angular: Vec) -> Vec:
        """ρ̇ in the link's axes: the contact point moves along the wheel as the link rotates relative to the vertical."""
        i, j, k = self.axis, (self.axis + 1) % 3, (self.axis + 2) % 3
        # angle ψ of the radial direction in the wheel's plane: ψ̇ = (n_i/s)(e_j ω_j + e_k ω_k) − ω_i
        turning = (self.normal[i] / self.tilt) * (self.radial[j] * angular[j] + self.radial[k] * angular[k]) - angular[i]
        rate = [ZERO, ZERO, ZERO]
        rate[j] = self.radius * turning * self.radial[k]
        rate[k] = -(self.radius * turning * self.radial[j])
        total: Vec = tuple(rate)  # type: ignore[assignment]
        if not self.tube.is_zero():
            total = sub(total, scale(self.tube, cross(self.normal, angular)))
        return total

    @property
    def arm_spin(self) -> Vec:
        """a × ρ: velocity of the rim at the contact per unit of spin."""
        return cross(UNIT[self.axis], self.arm)


def wheel_contact(wheel: Wheel, link: Link, normal: Vec, scope: Scope) -> WheelContact:
    axis = AXIS[wheel.axis]
    j, k = (axis + 1) % 3, (axis + 2) % 3
    radius, tube = scope.value(wheel.radius), scope.value(wheel.tube)
    # The projection is zero only for a wheel that lies flat, where a run has already ended as fallen.
    tilt = ca.sqrt(normal[j] * normal[j] + normal[k] * normal[k])
    if is_zero(tilt):
        raise ModelError(f"wheel {wheel.name!r} lies flat on the ground in every configuration; check its axis, {wheel.axis!r}")
    away = 1 / tilt
    radial = [ZERO, ZERO, ZERO]
    radial[j], radial[k] = normal[j] * away, normal[k] * away
    e: Vec = tuple(radial)  # type: ignore[assignment]
    arm = neg(scale(radius, e))
    if not tube.is_zero():
        arm = sub(arm, scale(tube, normal))
    center: Vec = tuple(scope.value(c) for c in wheel.center)  # type: ignore[assignment]
    return WheelContact(wheel, link, axis, center, normal, arm, radius, tube, tilt, e)


class EdgeContact(NamedTuple):
    """A knife edge: direction across the blade in the ground's plane, in the axes of its link."""

    edge: KnifeEdge
    link: Link
    point: Vec
    normal: Vec
    across: Vec
    reach: ca.SX  # length of the blade's projection on the ground

    @property
    def name(self) -> str:
        return self.edge.name

    def across_rate(self, angular: Vec) -> Vec:
        """Rate of the unit vector across the blade, in the link's axes, from ṅ = n × ω; without its component along that
        vector, which is multiplied by zero velocity."""
        blade = UNIT[AXIS[self.edge.along]]
        change = cross(cross(self.normal, angular), blade)
        return NULL if is_zero_vector(change) else scale(1 / self.reach, change)


def edge_contact(edge: KnifeEdge, link: Link, normal: Vec, scope: Scope) -> EdgeContact:
    sideways = cross(normal, UNIT[AXIS[edge.along]])
    reach = ca.sqrt(dot(sideways, sideways))
    if is_zero(reach):
        raise ModelError(f"knife edge {edge.name!r} stands on end in every configuration; check its direction, {edge.along!r}")
    across = scale(1 / reach, sideways)
    point: Vec = tuple(scope.value(c) for c in edge.at)  # type: ignore[assignment]
    return EdgeContact(edge, link, point, normal, across, reach)


def contact_rows(contact: WheelContact | EdgeContact) -> Rows:
    if isinstance(contact, WheelContact):
        columns = _point_columns(contact.link, add(contact.center, contact.arm))
        if contact.link.spin is not None and contact.link.spin.velocity is not None:
            columns[contact.link.spin.velocity] = to_reference(contact.link, contact.arm_spin)
        names = tuple(f"{contact.name}_{axis}" for axis in "xyz")
        kept = tuple(i for i in range(3) if any(not is_zero(c[i]) for c in columns.values()))
        filled = {v: [c[i] for i in kept] for v, c in columns.items()}
        return Rows(contact, tuple(names[i] for i in kept), filled, (ZERO,) * len(kept), kept)
    directions = [to_reference(contact.link, contact.across)]
    names = (f"{contact.name}_across",)
    if contact.edge.on_ground:
        directions.append(to_reference(contact.link, contact.normal))
        names = (*names, f"{contact.name}_normal")
    columns = _point_columns(contact.link, contact.point)
    filled = {v: [dot(d, c) for d in directions] for v, c in columns.items()}
    return Rows(contact, names, filled, (ZERO,) * len(names), tuple(range(len(names))))


def row_bias(rows: Rows, contact: WheelContact | EdgeContact, twist: Twist, zero: Twist, rates: Rates) -> list[ca.SX]:
    """Ȧ v: rate of the rows' residuals at zero accelerations.

    `twist` is the link's, `zero` its rate with v̇ = 0 (products of velocities only), both in the link's axes. Since the residual
    itself is zero, its rate may be taken in the link's axes and then rotated.
    """
    if isinstance(contact, WheelContact):
        # the rotor's axis is fixed in its link, so ω_w has no further rate there
        change = add(zero.at(contact.center), cross(zero.angular, contact.arm))
        change = add(change, cross(contact.wheel_rate(twist.angular, rates), contact.arm_rate(twist.angular)))
        turned = to_reference(contact.link, change)
        return [turned[i] for i in rows.kept]
    velocity = twist.at(contact.point)
    change = zero.at(contact.point)
    bias = [dot(contact.across, change) + dot(contact.across_rate(twist.angular), velocity)]
    if contact.edge.on_ground:
        bias.append(dot(contact.normal, change) + dot(cross(contact.normal, twist.angular), velocity))
    return [bias[i] for i in rows.kept]


def height_above_ground(contact: WheelContact | EdgeContact, poses: dict[str, Pose], ground_normal: Vec) -> ca.SX | None:
    """The position constraint of which the normal row is the rate: height of the lowest point above the ground."""
    pose = poses[contact.link.name]
    if isinstance(contact, WheelContact):
        return dot(ground_normal, pose.of(contact.center)) - contact.radius * contact.tilt - contact.tube
    return dot(ground_normal, pose.of(contact.point)) if contact.edge.on_ground else None


# ---------------------------------------------------------------- changes of axes along the tree


def _path_steps(link: Link) -> tuple[list[Step], FreeMotion | None]:
    """Steps from the reference axes (those of a free body, or the world's) to the link's frame."""
    steps: list[Step] = [step for member in link.path() for step in member.steps]
    if steps and isinstance(steps[0], FreeMotion):
        return steps[1:], steps[0]
    return steps, None


def to_reference(link: Link, vector: Vec) -> Vec:
    """A vector of the link in the axes of the reference body (or of the world, for a tree fixed to the ground)."""
    steps, _ = _path_steps(link)
    for step in reversed(steps):
        if isinstance(step, AxisRotation | BallRotation):
            vector = step.outward(vector)
    return vector


def _point_columns(link: Link, point: Vec) -> dict[str, Vec]:
    """Velocity of a point of the link per unit of each velocity, in the reference axes (a geometric Jacobian)."""
    steps, launch = _path_steps(link)
    arm = point
    found: list[tuple[str, Vec]] = []

    def turned(vectors: list[tuple[str, Vec]], step: AxisRotation | BallRotation) -> list[tuple[str, Vec]]:
        return [(name, step.outward(vector)) for name, vector in vectors]

    for step in reversed(steps):
        if isinstance(step, Translation):
            found += step.drives
            arm = add(step.by, arm)
        elif isinstance(step, BallRotation):
            found = turned([*found, *((name, cross(UNIT[i], arm)) for i, name in enumerate(step.velocities))], step)
            arm = step.outward(arm)
        elif isinstance(step, AxisRotation):
            found = turned(found, step)
            arm = step.outward(arm)
            if step.velocity is not None:
                found.append((step.velocity, scale(step.scale, cross(UNIT[step.axis], arm))))
    if launch is not None:
        found += [(name, UNIT[i]) for i, name in enumerate(launch.linear) if name]
        found += [(name, cross(UNIT[i], arm)) for i, name in enumerate(launch.angular) if name]
    columns: dict[str, Vec] = {}
    for name, vector in found:
        columns[name] = add(columns[name], vector) if name in columns else vector
    return columns


def link_twists(links: list[Link], contacts: list[WheelContact], rates: Rates) -> dict[str, Twist]:
    """Twists of an admissible motion. A link that carries a rolling wheel takes its linear velocity from its own contact,
    V_C = −ω_w × ρ, instead of from its parent: fewer operations, and the same by the constraint."""
    own = _own_contacts(contacts)
    found: dict[str, Twist] = {}
    for link in links:
        twist = found[link.parent.name] if link.parent else ZERO_TWIST
        for step in link.steps:
            twist = propagate(step, twist, rates)
        if link.name in own:
            contact, center = own[link.name]
            # the link rotates about the contact point, which moves with the spin
            twist = Twist(neg(_rim(contact, rates)), twist.angular, add(center, contact.arm))
        found[link.name] = twist
    return found


def link_twist_rates(
    links: list[Link], contacts: list[WheelContact], twists: dict[str, Twist], rates: Rates, accelerations: Rates
) -> dict[str, Twist]:
    """Rates of the twists for given accelerations: by recursion, and from their own contact for the links in `contacts`."""
    own = _own_contacts(contacts)
    found: dict[str, Twist] = {}
    for link in links:
        before = twists[link.parent.name] if link.parent else ZERO_TWIST
        change = found[link.parent.name] if link.parent else ZERO_TWIST
        for index, step in enumerate(link.steps):
            after = twists[link.name] if index == len(link.steps) - 1 else propagate(step, before, rates)
            change = propagate_rate(step, before, after, change, rates, accelerations)
            before = after
        if link.name in own:
            contact, center = own[link.name]
            angular = twists[link.name].angular
            moved = cross(contact.wheel_rate(angular, rates), contact.arm_rate(angular))
            linear = neg(add(_rim(contact, accelerations), moved))
            change = Twist(linear, change.angular, add(center, contact.arm))
        found[link.name] = change
    return found


def _rim(contact: WheelContact, rates: Rates) -> Vec:
    """Velocity of a rotor's rim at the contact, relative to its carrier."""
    spin = contact.link.spin
    if spin is None or spin.velocity is None:
        return NULL
    return scale(rates.get(spin.velocity, ZERO), contact.arm_spin)


def _own_contacts(contacts: list[WheelContact]) -> dict[str, tuple[WheelContact, Vec]]:
    """Links whose linear velocity follows from a contact: the wheel's link, or the carrier of a rotor reached by translations
    only. The vector is the wheel's center in the link's axes."""
    own: dict[str, tuple[WheelContact, Vec]] = {}
    for contact in contacts:
        link = contact.link
        own.setdefault(link.name, (contact, contact.center))
        if link.is_rotor and link.parent is not None and only_translates(link.steps):
            own.setdefault(link.parent.name, (contact, add(contact.center, total_translation(link.steps))))
    return own
