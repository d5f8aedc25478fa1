"""Inertias of the tree, and inverse dynamics by the Newton–Euler recursion (Mauny, Porez & Boyer 2017, section 4).

Balanced rotors are merged into their carriers as gyrostats: one rigid body (all masses, rotors locked) less the rotors' axial
moments J, plus a disc of moment J that turns at the absolute axial rate a·ω + ṡ. The kinetic energy is then
½ m V_G² + ½ ωᵀ I′ ω + Σ ½ J (a·ω + ṡ)².

Inverse dynamics takes every body by itself, spins included; nothing is merged or reduced. Unit accelerations give the mass matrix
column by column (section 6.1); the reduced equations, which are formed in another way, are tested against it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import casadi as ca

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
from draisine.dynamics.kinematics.twists import ZERO_TWIST, Rates, Twist, own_rates, propagate, propagate_rate
from draisine.dynamics.linear_algebra import (
    NULL,
    ZERO,
    Mat,
    Vec,
    add,
    cross,
    dot,
    minus,
    mul,
    plus,
    scale,
    sub,
    times,
    transposed,
)
from draisine.dynamics.lowering import Scope
from draisine.dynamics.templates import NO_TEMPLATES, TemplateCache
from draisine.model.items import Body


class Disc(NamedTuple):
    """A spinning moment about an axis of its carrier."""

    axis: int
    velocity: str
    moment: ca.SX


@dataclass
class Mass:
    """A rigid mass in the frame of a link: mass, center of mass, central inertia; and its discs."""

    link: Link
    mass: ca.SX
    center: Vec
    inertia: Mat
    discs: list[Disc] = field(default_factory=list)


def mass_of(body: Body, scope: Scope) -> tuple[ca.SX, Vec, Mat]:
    """Mass, center of mass and inertia tensor of a body in symbols, lowered once."""
    same = (body.mass, body.center_of_mass, body.inertia)  # equal bodies share the symbols
    if same in scope.masses:
        return scope.masses[same]
    i = body.inertia
    xx, yy, zz, xy, yz, zx = (scope.value(e) for e in (i.xx, i.yy, i.zz, i.xy, i.yz, i.zx))
    center: Vec = tuple(scope.value(c) for c in body.center_of_mass)  # type: ignore[assignment]
    found = scope.masses[same] = (scope.value(body.mass), center, ((xx, xy, zx), (xy, yy, yz), (zx, yz, zz)))
    return found


def masses_of(links: list[Link], scope: Scope) -> list[Mass]:
    """One mass per link that is not a merged rotor; massless links are left out."""
    found: dict[str, Mass] = {}
    for link in links:
        mass, center, inertia = mass_of(link.body, scope)
        if link.spin is None:
            found[link.name] = Mass(link, mass, center, inertia)
            continue
        axis = link.spin.axis
        velocity = link.spin.velocity
        assert velocity is not None  # a rotor has a spin velocity by definition
        disc = Disc(axis, velocity, inertia[axis][axis])
        locked = _less_axial(inertia, axis)
        carrier = found.get(link.parent.name) if link.parent else None
        if carrier is not None and only_translates(link.steps):
            _merge(carrier, mass, add(total_translation(link.steps), center), locked)
            carrier.discs.append(disc)
        else:
            found[link.name] = Mass(link, mass, center, locked, [disc])
    return [
        m for m in found.values() if not (m.mass.is_zero() and all(x.is_zero() for row in m.inertia for x in row) and not m.discs)
    ]


def _less_axial(inertia: Mat, axis: int) -> Mat:
    return tuple(tuple(ZERO if i == j == axis else x for j, x in enumerate(row)) for i, row in enumerate(inertia))  # type: ignore[return-value]


def _merge(carrier: Mass, mass: ca.SX, center: Vec, inertia: Mat) -> None:
    """Add a mass to the carrier: by the reduced mass m₁m₂/(m₁+m₂) at the distance of the two centers of mass."""
    total = carrier.mass + mass
    share = ZERO if mass.is_zero() else mass / total
    apart = sub(center, carrier.center)
    reduced = carrier.mass * share
    weighted = scale(reduced, apart)
    combined = [list(row) for row in carrier.inertia]
    for i in range(3):
        for j in range(3):
            combined[i][j] = plus(combined[i][j], inertia[i][j])
            if i != j:
                combined[i][j] = minus(combined[i][j], mul(weighted[max(i, j)], apart[min(i, j)]))
        j, k = (i + 1) % 3, (i + 2) % 3
        combined[i][i] = plus(
            combined[i][i], plus(mul(weighted[min(j, k)], apart[min(j, k)]), mul(weighted[max(j, k)], apart[max(j, k)]))
        )
    carrier.center = add(carrier.center, scale(share, apart))
    carrier.inertia = tuple(tuple(row) for row in combined)  # type: ignore[assignment]
    carrier.mass = total


def inverse_dynamics(
    links: list[Link],
    scope: Scope,
    rates: Rates,
    accelerations: Rates,
    gravity: ca.SX,
    up: Vec,
    templates: TemplateCache = NO_TEMPLATES,
) -> dict[str, ca.SX]:
    """M(q) v̇ + h(q, v): generalized forces that the motion requires, gravity included, without other forces."""
    motion: dict[str, Twist] = {}
    change: dict[str, Twist] = {}
    vertical: dict[str, Vec] = {}
    for link in links:
        parent = link.parent.name if link.parent else None
        before = (motion[parent], change[parent], vertical[parent]) if parent else (ZERO_TWIST, ZERO_TWIST, up)
        steps = link.all_steps
        own = own_rates(steps, rates), own_rates(steps, accelerations)
        motion[link.name], change[link.name], vertical[link.name] = templates(_outward, steps, *before, *own)

    wrench: dict[str, tuple[Vec, Vec]] = {}
    generalized_forces: dict[str, ca.SX] = {name: ZERO for name in scope.velocities}
    for link in reversed(links):
        reported = motion[link.name], change[link.name], gravity, vertical[link.name]
        force, moment = templates(_needed, mass_of(link.body, scope), *reported)
        passed = wrench.get(link.name, (NULL, NULL))
        force, moment = add(force, passed[0]), add(moment, passed[1])
        force, moment, own_forces = templates(_gathered, link.all_steps, force, moment)
        generalized_forces |= {name: plus(generalized_forces[name], share) for name, share in own_forces.items()}
        if link.parent is not None:
            before_it = wrench.get(link.parent.name, (NULL, NULL))
            wrench[link.parent.name] = (add(before_it[0], force), add(before_it[1], moment))
    return generalized_forces


def _outward(
    steps: list[Step], twist: Twist, rate: Twist, plumb: Vec, rates: Rates, accelerations: Rates
) -> tuple[Twist, Twist, Vec]:
    for step in steps:
        after = propagate(step, twist, rates)
        rate = propagate_rate(step, twist, after, rate, rates, accelerations)
        twist = after
        plumb = _inward(step, plumb)
    return twist, rate, plumb


def _gathered(steps: list[Step], force: Vec, moment: Vec) -> tuple[Vec, Vec, dict[str, ca.SX]]:
    generalized_forces: dict[str, ca.SX] = {name: ZERO for step in steps for name in step.driven}
    for step in reversed(steps):
        force, moment = project_wrench(step, force, moment, generalized_forces)
    return force, moment, generalized_forces


def _inward(step: Step, direction: Vec) -> Vec:
    if isinstance(step, FreeMotion):
        return times(transposed(step.matrix), direction)
    return step.inward(direction) if isinstance(step, AxisRotation | BallRotation) else direction


def _needed(body: tuple[ca.SX, Vec, Mat], motion: Twist, change: Twist, gravity: ca.SX, up: Vec) -> tuple[Vec, Vec]:
    """Force and moment about the frame's origin that the motion of the body requires (eqs 6–8)."""
    mass, center, inertia = body
    velocity = motion.at(center)
    acceleration = add(change.at(center), cross(motion.angular, velocity))
    force = scale(mass, add(acceleration, scale(gravity, up)))
    spin = times(inertia, motion.angular)
    moment = add(times(inertia, change.angular), cross(motion.angular, spin))
    return force, add(moment, cross(center, force))


def project_wrench(step: Step, force: Vec, moment: Vec, generalized_forces: dict[str, ca.SX]) -> tuple[Vec, Vec]:
    """Project a wrench on the velocities of a step, and transform it to the frame before the step."""
    if isinstance(step, Translation):
        for name, direction in step.drives:
            generalized_forces[name] = plus(generalized_forces[name], dot(direction, force))
        return force, add(moment, cross(step.by, force))
    if isinstance(step, FreeMotion):
        for names, part in ((step.linear, force), (step.angular, moment)):
            for own, component in zip(names, part, strict=True):
                if own is not None:
                    generalized_forces[own] = plus(generalized_forces[own], component)
        return NULL, NULL
    if isinstance(step, BallRotation):
        for name, component in zip(step.velocities, moment, strict=True):
            generalized_forces[name] = plus(generalized_forces[name], component)
    elif step.velocity is not None:
        generalized_forces[step.velocity] = plus(generalized_forces[step.velocity], mul(step.scale, moment[step.axis]))
    return step.outward(force), step.outward(moment)
