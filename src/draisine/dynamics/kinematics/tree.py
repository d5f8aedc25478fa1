"""The kinematic tree in symbols: frames, elementary steps between them, and rotors.

A balanced wheel is a body of revolution about its hinge: its spin angle does not enter, so its frame is taken *before* the spin,
on the carrier, and the wheel becomes a rotor of the carrier. This is decided from the description (equal expressions for the
transverse moments, center of mass and contacts on the axis).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import casadi as ca

from draisine.dynamics.linear_algebra import (
    AXIS,
    NULL,
    ZERO,
    Mat,
    Vec,
    add,
    is_zero,
    is_zero_vector,
    minus,
    mul,
    plus,
    quaternion_rotation,
    rotation,
    times,
    transposed,
)
from draisine.dynamics.lowering import Scope, affine
from draisine.expr.expression import Number
from draisine.model.items import GROUND, Ball, Body, Float, Glide, Joint, Rotate, Translate
from draisine.model.system import System


@dataclass(frozen=True)
class AxisRotation:
    """A rotation about an axis at the rate `scale` × `velocity`."""

    axis: int
    c: ca.SX
    s: ca.SX
    velocity: str | None
    scale: ca.SX

    def inward(self, a: Vec) -> Vec:
        """Components in the child's axes."""
        return self._turned(a, self.s)

    def outward(self, a: Vec) -> Vec:
        """Components in the parent's axes."""
        return self._turned(a, -self.s)

    def _turned(self, a: Vec, s: ca.SX) -> Vec:
        j, k = (self.axis + 1) % 3, (self.axis + 2) % 3
        turned = list(a)
        turned[j] = plus(mul(self.c, a[j]), mul(s, a[k]))
        turned[k] = minus(mul(self.c, a[k]), mul(s, a[j]))
        return tuple(turned)  # type: ignore[return-value]

    @property
    def matrix(self) -> Mat:
        return rotation(self.axis, self.c, self.s)

    @property
    def driven(self) -> tuple[str, ...]:
        """Velocities that drive it."""
        return () if self.velocity is None else (self.velocity,)


@dataclass(frozen=True)
class BallRotation:
    """A free rotation by a quaternion, with three rates in body axes."""

    matrix: Mat
    velocities: tuple[str, str, str]

    def inward(self, a: Vec) -> Vec:
        return times(transposed(self.matrix), a)

    def outward(self, a: Vec) -> Vec:
        return times(self.matrix, a)

    @property
    def driven(self) -> tuple[str, ...]:
        return self.velocities


@dataclass(frozen=True)
class Translation:
    """A translation; `drives` gives its rate per unit of each velocity."""

    by: Vec
    drives: tuple[tuple[str, Vec], ...] = ()

    @property
    def driven(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.drives)


@dataclass(frozen=True)
class FreeMotion:
    """Free motion relative to the ground: the components of the frame's twist are velocities; None where planar motion has
    none."""

    position: Vec
    matrix: Mat
    linear: tuple[str | None, str | None, str | None]
    angular: tuple[str | None, str | None, str | None]

    @property
    def driven(self) -> tuple[str, ...]:
        return tuple(name for name in (*self.linear, *self.angular) if name is not None)


Step = AxisRotation | BallRotation | Translation | FreeMotion


@dataclass
class Link:
    """A body in the tree with the steps that lead to its frame from its parent's."""

    body: Body
    joint: Joint
    parent: Link | None
    steps: list[Step]
    spin: AxisRotation | None = None  # of a rotor: the last rotation, not in `steps`
    children: list[Link] = field(default_factory=list)
    depth: int = 1  # links from the ground to this one

    @property
    def name(self) -> str:
        return self.body.name

    @property
    def is_rotor(self) -> bool:
        return self.spin is not None

    @property
    def all_steps(self) -> list[Step]:
        return [*self.steps, self.spin] if self.spin is not None else self.steps

    @property
    def root(self) -> Link:
        link = self
        while link.parent is not None:
            link = link.parent
        return link

    def path(self) -> list[Link]:
        """From the root of the tree to this link."""
        links: list[Link] = []
        link: Link | None = self
        while link is not None:
            links.append(link)
            link = link.parent
        return links[::-1]


def build_tree(system: System, scope: Scope) -> list[Link]:
    """The links, parents first."""
    bodies = {body.name: body for body in system.bodies}
    borne: dict[str, list[tuple[int, Joint]]] = {}  # joints by parent body
    for number, joint in enumerate(system.joints):
        borne.setdefault(joint.parent, []).append((number, joint))
    links: dict[str, Link] = {}
    ready = borne.get(GROUND, [])
    while ready:  # level by level
        for _, joint in ready:
            parent = links.get(joint.parent)
            depth = 1 if parent is None else parent.depth + 1
            link = Link(bodies[joint.child], joint, parent, _steps(joint, scope), depth=depth)
            if parent is not None:
                parent.children.append(link)
            links[joint.child] = link
        ready = sorted((pair for _, j in ready for pair in borne.get(j.child, ())), key=lambda pair: pair[0])
    for link in links.values():
        if _is_rotor(system, link):
            link.spin = link.steps.pop()  # type: ignore[assignment]
    return list(links.values())


def _steps(joint: Joint, scope: Scope) -> list[Step]:
    names = {c.name: c for c in joint.coordinates}
    steps: list[Step] = []
    for displacement in joint.chain:
        if isinstance(displacement, Rotate):
            amount, driver, gain = affine(displacement.angle, names, scope, f"joint {joint.name!r}")
            steps.append(AxisRotation(AXIS[displacement.axis], ca.cos(amount), ca.sin(amount), driver, gain))
        elif isinstance(displacement, Translate):
            parts = [affine(component, names, scope, f"joint {joint.name!r}") for component in displacement.by]
            drives: dict[str, list[ca.SX]] = {}
            for i, (_, driver, gain) in enumerate(parts):
                if driver is not None:
                    drives.setdefault(driver, [*NULL])[i] = gain
            offset: Vec = tuple(part[0] for part in parts)  # type: ignore[assignment]
            steps.append(Translation(offset, tuple((d, tuple(v)) for d, v in drives.items())))  # type: ignore[misc]
        elif isinstance(displacement, Ball):
            turn = quaternion_rotation([scope.symbol(n) for n in displacement.quaternion])
            steps.append(BallRotation(turn, displacement.rates))
        elif isinstance(displacement, Float):
            position: Vec = tuple(scope.symbol(n) for n in displacement.position)  # type: ignore[assignment]
            turn = quaternion_rotation([scope.symbol(n) for n in displacement.quaternion])
            steps.append(FreeMotion(position, turn, displacement.velocity, displacement.rates))
        elif isinstance(displacement, Glide):
            x, y = (scope.symbol(n) for n in displacement.position)
            heading = scope.symbol(displacement.heading)
            turn = rotation(AXIS["z"], ca.cos(heading), ca.sin(heading))
            linear, rate = displacement.velocity, names[displacement.heading].rate
            steps.append(FreeMotion((x, y, ZERO), turn, (*linear, None), (None, None, rate)))
    return steps


def _is_rotor(system: System, link: Link) -> bool:
    """A leaf body of revolution about its own hinge, whose contacts lie on the axis."""
    if link.parent is None or link.children or not link.joint.chain:
        return False
    last = link.joint.chain[-1]
    if not isinstance(last, Rotate) or not isinstance(link.steps[-1], AxisRotation) or link.steps[-1].velocity is None:
        return False
    if any(isinstance(s, AxisRotation | BallRotation) and getattr(s, "velocity", "ball") is not None for s in link.steps[:-1]):
        return False
    if any(isinstance(s, Translation) and s.drives for s in link.steps):
        return False
    axis = AXIS[last.axis]
    inertia, zero = link.body.inertia, Number(0.0)
    moments = (inertia.xx, inertia.yy, inertia.zz)
    j, k = (axis + 1) % 3, (axis + 2) % 3
    balanced = (
        moments[j] == moments[k]
        and (inertia.xy, inertia.yz, inertia.zx) == (zero, zero, zero)
        and all(_is_zero_expression(link.body.center_of_mass[i]) for i in (j, k))
    )
    on_axis = all(
        wheel.axis == last.axis and all(_is_zero_expression(wheel.center[i]) for i in (j, k))
        for wheel in system.wheels
        if wheel.body == link.name
    )
    if any(edge.body == link.name for edge in system.edges):
        return False
    return balanced and on_axis and is_zero(link.steps[-1].scale - 1)


def _is_zero_expression(expression: object) -> bool:
    return expression == Number(0.0)


def only_translates(steps: list[Step]) -> bool:
    """Whether all steps are translations."""
    return all(isinstance(step, Translation) for step in steps)


def total_translation(steps: list[Step]) -> Vec:
    """Sum of the translations."""
    total = NULL
    for step in steps:
        if isinstance(step, Translation) and not is_zero_vector(step.by):
            total = add(total, step.by)
    return total
