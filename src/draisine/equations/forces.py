"""Applied forces as efforts on the velocities: joint torques, springs, wrenches, potentials, by virtual power."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import casadi as ca

from draisine.equations.lowering import Scope
from draisine.equations.measures import Measures
from draisine.equations.tangential import Tangential
from draisine.equations.vectors import Vec, times, transposed, vanishes
from draisine.program.expression import Expr, Name


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
    for effort in scope.system.efforts:
        amount = scope.value(effort.amount)
        if isinstance(effort.measure, Name) and effort.measure.identifier in rates:
            row = scope.velocities.index(rates[effort.measure.identifier])
            driven[row] = driven[row] + amount
        else:
            driven += _along(measures, effort.measure, f"the measure of effort {effort.name!r}") * amount
    for wrench in scope.system.wrenches:
        driven += _wrench_efforts(scope, measures, wrench.point, wrench.axes, wrench.force, wrench.torque)
    for law in laws:
        driven += law.efforts
    potential, conservative = ca.SX(0), ca.SX.zeros(v.numel())
    for field in scope.system.potentials:
        potential = potential + scope.value(field.energy)
        conservative -= _along(measures, field.energy, f"potential {field.name!r}")
    return AppliedForces(driven, conservative, potential)


def _along(measures: Measures, quantity: Expr, where: str) -> ca.SX:
    """What a quantity of position gains per unit of each velocity."""
    scope = measures.scope
    return ca.densify(ca.jacobian(measures.rate(scope.value(quantity), where), scope.v)).T


def _wrench_efforts(scope: Scope, measures: Measures, point: str, axes: str, force_in: tuple, torque_in: tuple) -> ca.SX:  # type: ignore[type-arg]
    body, at = measures.place(point)
    force: Vec = tuple(scope.value(c) for c in force_in)  # type: ignore[assignment]
    torque: Vec = tuple(scope.value(c) for c in torque_in)  # type: ignore[assignment]
    # into the axes of the body, where its twist is given
    turn = transposed(measures.poses[body].rotation) if axes == "world" else measures.turn(point)
    force, torque = times(turn, force), times(turn, torque)
    twist = measures.twists[body]
    efforts = ca.SX.zeros(len(scope.velocities))
    for amount, motion in ((force, twist.at(at)), (torque, twist.angular)):
        if not vanishes(amount):
            efforts += ca.jacobian(ca.vertcat(*motion), scope.v).T @ ca.vertcat(*amount)
    return efforts
