"""Applied forces as efforts on the velocities: joint torques, springs, wrenches, potentials, by virtual power."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import casadi as ca

from draisine.dynamics.forces import Tangential
from draisine.dynamics.kinematics.measures import Measures
from draisine.dynamics.kinematics.newton_euler import collected
from draisine.dynamics.linear_algebra import NULL, ZERO, Vec, add, cross, times, transposed
from draisine.dynamics.lowering import Scope
from draisine.expr.expression import Expr, Name


@dataclass(frozen=True)
class AppliedForces:
    """Efforts on all velocities (in the order of `Scope.velocities`), and the potential energy besides gravity."""

    driven: ca.SX  # of efforts and wrenches: what inputs and dampers do
    conservative: ca.SX  # of potentials
    potential: ca.SX

    @property
    def total(self) -> ca.SX:
        return self.driven + self.conservative


def applied_forces(scope: Scope, measures: Measures, laws: Sequence[Tangential] = ()) -> AppliedForces:
    """Of efforts, wrenches and potentials, and of the tangential laws of wheels."""
    v = scope.v
    rates = {c.name: c.rate for c in scope.system.coordinates if c.rate}
    driven = ca.SX.zeros(v.numel())
    for effort in scope.system.generalized_forces:
        amount = scope.value(effort.amount)
        if isinstance(effort.measure, Name) and effort.measure.identifier in rates:
            row = scope.velocity_place(rates[effort.measure.identifier])
            driven[row] = driven[row] + amount
        else:
            driven += _along(measures, effort.measure, f"the measure of generalized force {effort.name!r}") * amount
    if scope.system.wrenches:
        driven += _wrench_efforts(scope, measures)
    for law in laws:
        driven += law.generalized_forces
    potential, conservative = ca.SX(0), ca.SX.zeros(v.numel())
    for field in scope.system.potentials:
        potential = potential + scope.value(field.energy)
        conservative -= _along(measures, field.energy, f"potential {field.name!r}")
    return AppliedForces(driven, conservative, potential)


def _along(measures: Measures, quantity: Expr, where: str) -> ca.SX:
    """What a quantity of position gains per unit of each velocity."""
    scope = measures.scope
    rate = measures.rate(scope.value(quantity), where)
    used = scope.used_in(rate).velocities
    gains = ca.SX.zeros(len(scope.velocities))
    if used:
        slope = ca.densify(ca.jacobian(rate, scope.vector(used)))
        for i, name in enumerate(used):
            gains[scope.velocity_place(name)] = slope[i]
    return gains


def _wrench_efforts(scope: Scope, measures: Measures) -> ca.SX:
    """All wrenches, carried inward along the tree; the velocities of every step take their share."""
    carried: dict[str, tuple[Vec, Vec]] = {}
    for wrench in scope.system.wrenches:
        body, at = measures.place(wrench.point)
        # into the axes of the body, where its motion is given
        turn = transposed(measures.poses[body].rotation) if wrench.axes == "world" else measures.turn(wrench.point)
        force, torque = (times(turn, _lowered(scope, part)) for part in (wrench.force, wrench.torque))
        before = carried.get(body, (NULL, NULL))
        carried[body] = add(before[0], force), add(before[1], add(torque, cross(at, force)))
    generalized_forces: dict[str, ca.SX] = {name: ZERO for name in scope.velocities}
    for link in reversed(measures.links.values()):
        if link.name not in carried:
            continue
        force, moment = carried[link.name]
        for step in reversed(link.all_steps):
            force, moment = collected(step, force, moment, generalized_forces)
        if link.parent is not None:
            before = carried.get(link.parent.name, (NULL, NULL))
            carried[link.parent.name] = add(before[0], force), add(before[1], moment)
    return ca.vertcat(*generalized_forces.values())


def _lowered(scope: Scope, vector: Sequence[Expr]) -> Vec:
    return tuple(scope.value(c) for c in vector)  # type: ignore[return-value]
