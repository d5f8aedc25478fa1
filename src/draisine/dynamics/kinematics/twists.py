"""Twists, their rates and poses, propagated outward step by step (Mauny, Porez & Boyer 2017, eqs 2 and 4).

A twist η = (V, Ω) belongs to a frame and is expressed in the frame's own axes; its rate η̇ is taken in those moving axes. The
same functions propagate an actual motion and a *column*: the motion in which one independent velocity is 1 and the others are 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import casadi as ca

from draisine.dynamics.kinematics.tree import AxisRotation, BallRotation, FreeMotion, Link, Step, Translation, build_tree
from draisine.dynamics.linear_algebra import (
    NULL,
    UNIT,
    ZERO,
    Mat,
    Vec,
    add,
    along,
    cross,
    is_zero_vector,
    mul,
    product,
    scale,
    sub,
    times,
)
from draisine.dynamics.lowering import Scope
from draisine.dynamics.templates import NO_TEMPLATES, TemplateCache
from draisine.model.model import Model
from draisine.model.system import System
from draisine.program.program import Program

Rates = Mapping[str, ca.SX]  # velocity name → value; missing names are zero


@dataclass(frozen=True)
class Twist:
    """Linear and angular velocity (or their rates) of a frame, in its axes; the linear part is that at the point `reference`."""

    linear: Vec
    angular: Vec
    reference: Vec = NULL

    def at(self, point: Vec) -> Vec:
        """Velocity of the material point at `point`: V + Ω × r."""
        return add(self.linear, cross(self.angular, sub(point, self.reference)))

    @property
    def origin(self) -> Vec:
        return self.at(NULL)


ZERO_TWIST = Twist(NULL, NULL)


def _rate(rates: Rates, name: str | None) -> ca.SX:
    return ZERO if name is None else rates.get(name, ZERO)


def _rates3(rates: Rates, names: tuple[str | None, str | None, str | None]) -> Vec:
    return (_rate(rates, names[0]), _rate(rates, names[1]), _rate(rates, names[2]))


def _slide(step: Translation, rates: Rates) -> Vec:
    total = NULL
    for name, direction in step.drives:
        total = add(total, scale(_rate(rates, name), direction))
    return total


def _spin(step: AxisRotation | BallRotation, rates: Rates) -> Vec:
    """Angular velocity of the child relative to the parent, in the child's axes."""
    if isinstance(step, AxisRotation):
        return along(step.axis, mul(step.scale, _rate(rates, step.velocity))) if step.velocity else NULL
    return _rates3(rates, step.velocities)


def propagate(step: Step, twist: Twist, rates: Rates) -> Twist:
    """Twist of the frame after one step, from that of the frame before it."""
    if isinstance(step, Translation):
        return Twist(add(twist.at(step.by), _slide(step, rates)), twist.angular)
    if isinstance(step, FreeMotion):
        return Twist(_rates3(rates, step.linear), _rates3(rates, step.angular))
    return Twist(step.inward(twist.origin), add(step.inward(twist.angular), _spin(step, rates)))


def propagate_rate(step: Step, before: Twist, after: Twist, change: Twist, rates: Rates, accelerations: Rates) -> Twist:
    """η̇ after one step. The velocity products are ζ of eq. 5, one elementary step at a time."""
    if isinstance(step, Translation):
        slide = _slide(step, rates)
        linear = add(add(change.at(step.by), cross(before.angular, slide)), _slide(step, accelerations))
        return Twist(linear, change.angular)
    if isinstance(step, FreeMotion):
        return Twist(_rates3(accelerations, step.linear), _rates3(accelerations, step.angular))
    spin = _spin(step, rates)
    linear = add(step.inward(change.origin), cross(after.origin, spin) if not is_zero_vector(spin) else NULL)
    angular = add(
        add(step.inward(change.angular), cross(after.angular, spin) if not is_zero_vector(spin) else NULL),
        _spin(step, accelerations),
    )
    return Twist(linear, angular)


def twists(links: list[Link], rates: Rates, whole: bool = False, templates: TemplateCache = NO_TEMPLATES) -> dict[str, Twist]:
    """Twist of every link; `whole` includes the spin of rotors."""
    found: dict[str, Twist] = {}
    for link in links:
        twist = found[link.parent.name] if link.parent else ZERO_TWIST
        steps = link.all_steps if whole else link.steps
        found[link.name] = templates(_carried, steps, twist, own_rates(steps, rates))
    return found


def _carried(steps: list[Step], twist: Twist, rates: Rates) -> Twist:
    for step in steps:
        twist = propagate(step, twist, rates)
    return twist


def own_rates(steps: list[Step], rates: Rates) -> dict[str, ca.SX]:
    """Rates of the velocities that drive some steps."""
    found = {}
    for step in steps:
        for name in step.driven:
            if name in rates:
                found[name] = rates[name]
    return found


def directions(links: list[Link], world: Vec, templates: TemplateCache = NO_TEMPLATES) -> dict[str, Vec]:
    """A fixed direction of the world in the axes of every link (rotors: before their spin)."""
    found: dict[str, Vec] = {}
    for link in links:
        found[link.name] = templates(_turned_inward, link.steps, found[link.parent.name] if link.parent else world)
    return found


def _turned_inward(steps: list[Step], direction: Vec) -> Vec:
    for step in steps:
        direction = _turn_inward(step, direction)
    return direction


def _turn_inward(step: Step, direction: Vec) -> Vec:
    if isinstance(step, FreeMotion):
        return times(tuple(tuple(step.matrix[j][i] for j in range(3)) for i in range(3)), direction)  # type: ignore[arg-type]
    return step.inward(direction) if isinstance(step, AxisRotation | BallRotation) else direction


@dataclass(frozen=True)
class Pose:
    """Pose of a body in the world: position of its frame's origin, and body-to-world rotation."""

    position: Vec
    rotation: Mat

    def of(self, point: Vec) -> Vec:
        return add(self.position, times(self.rotation, point))


IDENTITY_POSE = Pose(NULL, UNIT)


def poses(links: list[Link], templates: TemplateCache = NO_TEMPLATES) -> dict[str, Pose]:
    """Pose of every body, spins included."""
    found: dict[str, Pose] = {}
    for link in links:
        found[link.name] = templates(along_steps, found[link.parent.name] if link.parent else IDENTITY_POSE, link.all_steps)
    return found


def follow(pose: Pose, link: Link) -> Pose:
    """Pose of a link from that of its parent, in the same axes."""
    return along_steps(pose, link.all_steps)


def along_steps(pose: Pose, steps: list[Step]) -> Pose:
    """The pose after some steps."""
    for step in steps:
        if isinstance(step, Translation):
            pose = Pose(pose.of(step.by), pose.rotation)
        elif isinstance(step, FreeMotion):
            pose = Pose(step.position, step.matrix)
        else:
            pose = Pose(pose.position, product(pose.rotation, step.matrix))
    return pose


def body_poses(model: Model | System) -> Program:
    """(t, q, p) → for each body, by its name, the 3 × 4 matrix [R | r]: rotation to world axes, and origin.

    >>> from draisine.model.model import Model
    >>> m = Model("pendulum")
    >>> _ = m.revolute("swing", "ground", m.body("bob", mass=1.0), axis="y", at=(0, 0, 2.0))
    >>> (body_poses(m)([0.0], [0.0], [])[0] + 0.0).tolist()
    [[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 2.0]]
    """
    system = model.freeze() if isinstance(model, Model) else model
    scope = Scope(system)
    found = poses(build_tree(system, scope))
    matrices = {
        name: ca.densify(ca.vertcat(*[ca.horzcat(*pose.rotation[k], pose.position[k]) for k in range(3)]))
        for name, pose in found.items()
    }
    arguments = {"t": (scope.t, ["t"]), "q": (scope.q, scope.coordinates), "p": (scope.p, scope.parameters)}
    return Program.build(f"{system.name}_places", arguments, matrices)
