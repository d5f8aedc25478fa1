"""Applied forces as efforts on the velocities: joint torques, springs, wrenches, potentials, by virtual power."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

from draisine.equations.lowering import Scope
from draisine.equations.measures import Measures
from draisine.equations.vectors import Vec, times, transposed, vanishes
from draisine.program.expression import Name


@dataclass(frozen=True)
class AppliedForces:
    """Efforts on all velocities (in the order of `Scope.velocities`), and the potential energy besides gravity."""

    driven: ca.SX  # of efforts and wrenches: what inputs and dampers do
    conservative: ca.SX  # of potentials
    potential: ca.SX

    @property
    def total(self) -> ca.SX:
        return self.driven + self.conservative


def applied_forces(scope: Scope, measures: Measures) -> AppliedForces:
    v = scope.v
    rates = {c.name: c.rate for c in scope.system.coordinates if c.rate}
    driven = ca.SX.zeros(v.numel())
    for effort in scope.system.efforts:
        amount = scope.value(effort.amount)
        if isinstance(effort.measure, Name) and effort.measure.identifier in rates:
            row = scope.velocities.index(rates[effort.measure.identifier])
            driven[row] = driven[row] + amount
        else:
            driven += ca.jacobian(measures.rate(scope.value(effort.measure)), v).T * amount
    for wrench in scope.system.wrenches:
        driven += _wrench_efforts(scope, measures, wrench.point, wrench.axes, wrench.force, wrench.torque)
    potential = ca.SX(0)
    for field in scope.system.potentials:
        potential = potential + scope.value(field.energy)
    conservative = -ca.densify(ca.jacobian(measures.rate(potential), v)).T if scope.system.potentials else ca.SX.zeros(v.numel())
    return AppliedForces(driven, conservative, potential)


def _wrench_efforts(scope: Scope, measures: Measures, point: str, axes: str, force_in: tuple, torque_in: tuple) -> ca.SX:  # type: ignore[type-arg]
    body, at = measures.place(point)
    force: Vec = tuple(scope.value(c) for c in force_in)  # type: ignore[assignment]
    torque: Vec = tuple(scope.value(c) for c in torque_in)  # type: ignore[assignment]
    if axes == "world":
        inward = transposed(measures.poses[body].rotation)
        force, torque = times(inward, force), times(inward, torque)
    twist = measures.twists[body]
    efforts = ca.SX.zeros(len(scope.velocities))
    for amount, motion in ((force, twist.at(at)), (torque, twist.angular)):
        if not vanishes(amount):
            efforts += ca.jacobian(ca.vertcat(*motion), scope.v).T @ ca.vertcat(*amount)
    return efforts
