"""Stops and dry friction of joints as unilateral contacts: a normal row without tangential ones, and a tangential row without a
normal one, whose friction is a given force."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import casadi as ca

from draisine.dynamics.constraints.smoothness import check_smooth, may_switch
from draisine.dynamics.kinematics.measures import Measures
from draisine.model.contact.dry_friction import DryFriction
from draisine.model.contact_items import JointFriction, Stop
from draisine.model.items import ResidualConstraint


@dataclass(frozen=True, eq=False)
class _OfJoint:
    """What stops and dry friction have in common."""

    item: Stop | JointFriction
    measures: Measures

    @property
    def name(self) -> str:
        return self.item.name

    @property
    def friction(self) -> DryFriction:
        return self.item.friction

    def residual_constraints(self) -> list[ResidualConstraint]:
        return [self.item.residual()]


@dataclass(frozen=True, eq=False)
class JointStop(_OfJoint):
    """A stop of a measure: gap, and no slip."""

    item: Stop

    @cached_property
    def gap(self) -> tuple[ca.SX]:
        return (self.measures.scope.value(self.item.gap),)

    @property
    def slip(self) -> tuple[ca.SX, ...]:
        return ()


@dataclass(frozen=True, eq=False)
class JointSlip(_OfJoint):
    """Dry friction against the rate of a measure: slip, and no gap that could open."""

    item: JointFriction

    @property
    def gap(self) -> tuple[ca.SX]:
        return (ca.SX(1),)

    @cached_property
    def slip(self) -> tuple[ca.SX, ...]:
        return (self.measures.scope.value(self.item.slip),)


JointContact = JointStop | JointSlip


def joint_contacts(measures: Measures) -> list[JointContact]:
    """The stops of a description, then its dry friction, as `System.unilateral` has them. Bounds that jump, and measures whose
    rate jumps, are refused."""
    scope = measures.scope
    stops = [JointStop(stop, measures) for stop in scope.system.stops]
    slips = [JointSlip(friction, measures) for friction in scope.system.joint_frictions]
    for stop in stops:
        if may_switch(scope, stop.item.gap):
            check_smooth(scope, f"stop {stop.name!r}", stop.gap[0])
    for slip in slips:
        if may_switch(scope, slip.item.measure):
            check_smooth(scope, f"the slip of friction {slip.name!r}", slip.slip[0], "velocity")
    return [*stops, *slips]


def exclusive_rows(contacts: list[JointContact]) -> set[str]:
    """Rows of stops that are never closed together with another one: the upper bounds of measures that also have a lower one."""
    lower = {contact.item.measure for contact in contacts if isinstance(contact.item, Stop) and not contact.item.upper}
    upper = [contact for contact in contacts if isinstance(contact.item, Stop) and contact.item.upper]
    return {f"{contact.name}_normal" for contact in upper if contact.item.measure in lower}
