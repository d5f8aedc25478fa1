"""Inverse dynamics by the Newton–Euler recursion (Mauny, Porez & Boyer 2017, section 4): efforts for a given motion.

Every body by itself, spins included, nothing merged or reduced. Fed with unit accelerations it gives the mass matrix column by
column (their section 6.1); the reduced dynamics, which take another way, are tested against it.
"""

from __future__ import annotations

import casadi as ca

from draisine.dynamics.kinematics.newton_euler import mass_of
from draisine.dynamics.kinematics.tree import Launch, Link, Shift, Spin3, Step, Turn
from draisine.dynamics.kinematics.twists import REST, Rates, Twist, carry, carry_rate, own_rates
from draisine.dynamics.linear_algebra import NULL, ZERO, Mat, Vec, add, cross, dot, mul, plus, scale, times, transposed
from draisine.dynamics.lowering import Scope
from draisine.dynamics.templates import ONCE, Repeated


def inverse_dynamics(
    links: list[Link],
    scope: Scope,
    rates: Rates,
    accelerations: Rates,
    gravity: ca.SX,
    up: Vec,
    repeated: Repeated = ONCE,
) -> dict[str, ca.SX]:
    """M(q) v̇ + h(q, v): the effort on each velocity that the motion needs, gravity included, no other forces."""
    motion: dict[str, Twist] = {}
    change: dict[str, Twist] = {}
    vertical: dict[str, Vec] = {}
    for link in links:
        parent = link.parent.name if link.parent else None
        before = (motion[parent], change[parent], vertical[parent]) if parent else (REST, REST, up)
        steps = link.all_steps
        own = own_rates(steps, rates), own_rates(steps, accelerations)
        motion[link.name], change[link.name], vertical[link.name] = repeated(_outward, steps, *before, *own)

    wrench: dict[str, tuple[Vec, Vec]] = {}
    generalized_forces: dict[str, ca.SX] = {name: ZERO for name in scope.velocities}
    for link in reversed(links):
        reported = motion[link.name], change[link.name], gravity, vertical[link.name]
        force, moment = repeated(_needed, mass_of(link.body, scope), *reported)
        passed = wrench.get(link.name, (NULL, NULL))
        force, moment = add(force, passed[0]), add(moment, passed[1])
        force, moment, own_efforts = repeated(_gathered, link.all_steps, force, moment)
        generalized_forces |= {name: plus(generalized_forces[name], effort) for name, effort in own_efforts.items()}
        if link.parent is not None:
            before_it = wrench.get(link.parent.name, (NULL, NULL))
            wrench[link.parent.name] = (add(before_it[0], force), add(before_it[1], moment))
    return generalized_forces


def _outward(
    steps: list[Step], twist: Twist, rate: Twist, plumb: Vec, rates: Rates, accelerations: Rates
) -> tuple[Twist, Twist, Vec]:
    for step in steps:
        after = carry(step, twist, rates)
        rate = carry_rate(step, twist, after, rate, rates, accelerations)
        twist = after
        plumb = _inward(step, plumb)
    return twist, rate, plumb


def _gathered(steps: list[Step], force: Vec, moment: Vec) -> tuple[Vec, Vec, dict[str, ca.SX]]:
    generalized_forces: dict[str, ca.SX] = {name: ZERO for step in steps for name in step.driven}
    for step in reversed(steps):
        force, moment = collected(step, force, moment, generalized_forces)
    return force, moment, generalized_forces


def _inward(step: Step, direction: Vec) -> Vec:
    if isinstance(step, Launch):
        return times(transposed(step.matrix), direction)
    return step.inward(direction) if isinstance(step, Turn | Spin3) else direction


def _needed(body: tuple[ca.SX, Vec, Mat], motion: Twist, change: Twist, gravity: ca.SX, up: Vec) -> tuple[Vec, Vec]:
    """Force and moment about the frame's origin that the body's own motion needs (eqs 6–8)."""
    mass, center, inertia = body
    velocity = motion.at(center)
    acceleration = add(change.at(center), cross(motion.angular, velocity))
    force = scale(mass, add(acceleration, scale(gravity, up)))
    spin = times(inertia, motion.angular)
    moment = add(times(inertia, change.angular), cross(motion.angular, spin))
    return force, add(moment, cross(center, force))


def collected(step: Step, force: Vec, moment: Vec, generalized_forces: dict[str, ca.SX]) -> tuple[Vec, Vec]:
    """Take the effort of a step's velocities out of the wrench and carry it to the frame before the step."""
    if isinstance(step, Shift):
        for name, direction in step.drives:
            generalized_forces[name] = plus(generalized_forces[name], dot(direction, force))
        return force, add(moment, cross(step.by, force))
    if isinstance(step, Launch):
        for names, part in ((step.linear, force), (step.angular, moment)):
            for own, component in zip(names, part, strict=True):
                if own is not None:
                    generalized_forces[own] = plus(generalized_forces[own], component)
        return NULL, NULL
    if isinstance(step, Spin3):
        for name, component in zip(step.velocities, moment, strict=True):
            generalized_forces[name] = plus(generalized_forces[name], component)
    elif step.velocity is not None:
        generalized_forces[step.velocity] = plus(generalized_forces[step.velocity], mul(step.scale, moment[step.axis]))
    return step.outward(force), step.outward(moment)
