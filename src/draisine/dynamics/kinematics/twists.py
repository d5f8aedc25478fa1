"""Twists and their rates, carried outward step by step (Mauny, Porez & Boyer 2017, eqs 2 and 4).

A twist η = (V, Ω) is that of a frame, in the frame's own axes; its rate η̇ is taken in those moving axes. The same functions
carry an actual motion and a *column*: the motion in which one independent velocity is 1 and the others are 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import casadi as ca

from draisine.dynamics.kinematics.tree import Launch, Link, Shift, Spin3, Step, Turn
from draisine.dynamics.linear_algebra import (
    NULL,
    UNIT,
    ZERO,
    Mat,
    Vec,
    add,
    along,
    cross,
    mul,
    product,
    scale,
    sub,
    times,
    vanishes,
)
from draisine.dynamics.templates import ONCE, Repeated

Rates = Mapping[str, ca.SX]  # velocity name → value; missing names are zero


@dataclass(frozen=True)
class Twist:
    """Linear and angular velocity (or their rates) of a frame, in its axes; the linear part is that at the point `description`."""

    linear: Vec
    angular: Vec
    description: Vec = NULL

    def at(self, point: Vec) -> Vec:
        """Velocity of the material point at `point`: V + Ω × r."""
        return add(self.linear, cross(self.angular, sub(point, self.description)))

    @property
    def origin(self) -> Vec:
        return self.at(NULL)


REST = Twist(NULL, NULL)


def _rate(rates: Rates, name: str | None) -> ca.SX:
    return ZERO if name is None else rates.get(name, ZERO)


def _rates3(rates: Rates, names: tuple[str | None, str | None, str | None]) -> Vec:
    return (_rate(rates, names[0]), _rate(rates, names[1]), _rate(rates, names[2]))


def _slide(step: Shift, rates: Rates) -> Vec:
    total = NULL
    for name, direction in step.drives:
        total = add(total, scale(_rate(rates, name), direction))
    return total


def _spin(step: Turn | Spin3, rates: Rates) -> Vec:
    """Angular velocity of the child relative to the parent, in the child's axes."""
    if isinstance(step, Turn):
        return along(step.axis, mul(step.scale, _rate(rates, step.velocity))) if step.velocity else NULL
    return _rates3(rates, step.velocities)


def carry(step: Step, twist: Twist, rates: Rates) -> Twist:
    """Twist of the frame after one step, from that of the frame before it."""
    if isinstance(step, Shift):
        return Twist(add(twist.at(step.by), _slide(step, rates)), twist.angular)
    if isinstance(step, Launch):
        return Twist(_rates3(rates, step.linear), _rates3(rates, step.angular))
    return Twist(step.inward(twist.origin), add(step.inward(twist.angular), _spin(step, rates)))


def carry_rate(step: Step, before: Twist, after: Twist, change: Twist, rates: Rates, accelerations: Rates) -> Twist:
    """η̇ after one step. The products of velocities are Mauny's ζ (eq. 5), one elementary step at a time."""
    if isinstance(step, Shift):
        slide = _slide(step, rates)
        linear = add(add(change.at(step.by), cross(before.angular, slide)), _slide(step, accelerations))
        return Twist(linear, change.angular)
    if isinstance(step, Launch):
        return Twist(_rates3(accelerations, step.linear), _rates3(accelerations, step.angular))
    spin = _spin(step, rates)
    linear = add(step.inward(change.origin), cross(after.origin, spin) if not vanishes(spin) else NULL)
    angular = add(
        add(step.inward(change.angular), cross(after.angular, spin) if not vanishes(spin) else NULL), _spin(step, accelerations)
    )
    return Twist(linear, angular)


def twists(links: list[Link], rates: Rates, whole: bool = False, repeated: Repeated = ONCE) -> dict[str, Twist]:
    """Twist of every link; `whole` includes the spin of rotors, so that it is the body's own."""
    found: dict[str, Twist] = {}
    for link in links:
        twist = found[link.parent.name] if link.parent else REST
        steps = link.all_steps if whole else link.steps
        found[link.name] = repeated(_carried, steps, twist, own_rates(steps, rates))
    return found


def _carried(steps: list[Step], twist: Twist, rates: Rates) -> Twist:
    for step in steps:
        twist = carry(step, twist, rates)
    return twist


def own_rates(steps: list[Step], rates: Rates) -> dict[str, ca.SX]:
    """Those of the velocities that drive some steps."""
    found = {}
    for step in steps:
        for name in step.driven:
            if name in rates:
                found[name] = rates[name]
    return found


def directions(links: list[Link], world: Vec, repeated: Repeated = ONCE) -> dict[str, Vec]:
    """A fixed direction of the world in the axes of every link (rotors: before their spin)."""
    found: dict[str, Vec] = {}
    for link in links:
        found[link.name] = repeated(_turned_inward, link.steps, found[link.parent.name] if link.parent else world)
    return found


def _turned_inward(steps: list[Step], direction: Vec) -> Vec:
    for step in steps:
        direction = _turn_inward(step, direction)
    return direction


def _turn_inward(step: Step, direction: Vec) -> Vec:
    if isinstance(step, Launch):
        return times(tuple(tuple(step.matrix[j][i] for j in range(3)) for i in range(3)), direction)  # type: ignore[arg-type]
    return step.inward(direction) if isinstance(step, Turn | Spin3) else direction


@dataclass(frozen=True)
class Pose:
    """Where a body is in the world: position of its frame's origin, and body-to-world rotation."""

    position: Vec
    rotation: Mat

    def of(self, point: Vec) -> Vec:
        return add(self.position, times(self.rotation, point))


STANDING = Pose(NULL, UNIT)


def poses(links: list[Link], repeated: Repeated = ONCE) -> dict[str, Pose]:
    """Pose of every body, spins included."""
    found: dict[str, Pose] = {}
    for link in links:
        found[link.name] = repeated(_followed, found[link.parent.name] if link.parent else STANDING, link.all_steps)
    return found


def follow(pose: Pose, link: Link) -> Pose:
    """Pose of a link from that of its parent, in the same axes."""
    return _followed(pose, link.all_steps)


def _followed(pose: Pose, steps: list[Step]) -> Pose:
    for step in steps:
        if isinstance(step, Shift):
            pose = Pose(pose.of(step.by), pose.rotation)
        elif isinstance(step, Launch):
            pose = Pose(step.position, step.matrix)
        else:
            pose = Pose(pose.position, product(pose.rotation, step.matrix))
    return pose
