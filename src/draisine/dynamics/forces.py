"""Applied forces as generalized forces: joint forces, springs, wrenches, potentials and tangential contact laws, by virtual
power.

Tangential laws act against slip and are bounded by friction (source D, 5.6). Each is smooth in slip and in the normal force N, at
zero slip too: the bound of Shen, Hedrick and Elkins multiplies a linear force F̃ by ε(u) = 1 − u/3 + u²/27, u = |F̃|/(μN), and by
1/u from u = 3 on, where both agree to the second derivative.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import casadi as ca

from draisine.dynamics.constraints.smoothness import check_smooth, may_switch, uncounted
from draisine.dynamics.contact.ground_contacts import WheelOnGround
from draisine.dynamics.contact.residual_contacts import ResidualContact
from draisine.dynamics.contact.tire_contact import TireForce
from draisine.dynamics.kinematics.measures import Measures
from draisine.dynamics.kinematics.newton_euler import project_wrench
from draisine.dynamics.linear_algebra import NULL, ZERO, Mat, Vec, add, cross, dot, times, transposed
from draisine.dynamics.lowering import Scope
from draisine.expr.expression import Expr, Name
from draisine.expr.safe_functions import absolute, guard, length, root, where
from draisine.model.contact.laws import Coulomb, Creep, ShenHedrickElkins
from draisine.model.contact_items import mode_entries
from draisine.model.quantities import Amount, expression_of

LEAST = 1e-9  # N; smallest load at which a wheel has tangential forces


def bounded(along: ca.SX, across: ca.SX, most: ca.SX) -> tuple[ca.SX, ca.SX]:
    """A force bounded smoothly by `most`; zero where that is not positive."""
    carries = most > LEAST
    u = length([along, across]) / guard(carries, most, 1.0)
    slides = u >= 3
    share = where(slides, 1 / guard(slides, u, 1.0), 1 - u / 3 + u * u / 27)
    return carries * share * along, carries * share * across


@dataclass(frozen=True, eq=False)
class Tangential:
    """Longitudinal and lateral force on a wheel (or the first of two bodies) by its law."""

    contact: ResidualContact
    scope: Scope
    normal: ca.SX | None  # N, for laws that depend on it

    def _value(self, amount: Amount) -> ca.SX:
        return self.scope.value(expression_of(amount, f"law of contact {self.contact.name!r}"))

    @property
    def _load(self) -> ca.SX:
        assert self.normal is not None  # given for laws that depend on it
        return self.normal

    def _speed(self, law: Creep | ShenHedrickElkins) -> ca.SX:
        return absolute(self.contact.rolling_speed, self._value(law.speed))

    @property
    def _touches(self) -> ca.SX | None:
        """Whether a contact that may open is closed, 0 or 1."""
        if self.contact.friction is None:
            return None
        return self.scope.symbol(mode_entries(self.contact.name)[0].name)

    @property
    def force(self) -> tuple[ca.SX, ca.SX]:
        """Zero while the contact is open."""
        along, across = self._force_of_slip
        closed = self._touches
        return (along, across) if closed is None else (closed * along, closed * across)

    @property
    def _force_of_slip(self) -> tuple[ca.SX, ca.SX]:
        law, slip = self.contact.law, self.contact.slip
        if isinstance(law, Coulomb):
            most = self._most(law.friction, ca.fmax(self._load, 0)) / length([*slip, self._value(law.speed)], regular=True)
            return -most * slip[0], -most * slip[1]
        if isinstance(law, ShenHedrickElkins):
            return self._steel(law)
        assert isinstance(law, Creep)
        stiffness = (law.longitudinal, law.lateral)
        along, across = (-self._value(c) * s / self._speed(law) for c, s in zip(stiffness, slip, strict=True))
        return (along, across) if law.friction is None else bounded(along, across, self._most(law.friction))

    def _steel(self, law: ShenHedrickElkins) -> tuple[ca.SX, ca.SX]:
        speed, slip = self._speed(law), self.contact.slip
        spin = dot(self.contact.normal, self.contact.angular) / speed
        grown = root(ca.fmax(self._load, 0) / self._value(law.reference), 3)
        area = self._value(law.a) * self._value(law.b) * grown * grown
        stiff = area * self._value(law.shear)
        along = -stiff * self._value(law.c11) * slip[0] / speed
        across = -stiff * (self._value(law.c22) * slip[1] / speed + root(area) * self._value(law.c23) * spin)
        return bounded(along, across, self._most(law.friction))

    def _most(self, friction: Amount, load: ca.SX | None = None) -> ca.SX:
        """The largest force of friction at a normal force, on the ground with its relative coefficient."""
        most = self._value(friction) * (self._load if load is None else load)
        return most * self.contact.ground_friction if isinstance(self.contact, WheelOnGround) else most

    @property
    def generalized_forces(self) -> ca.SX:
        """Generalized forces on all velocities, with the power of the slip."""
        v = self.scope.v
        forces = zip(self.contact.slip, self.force, strict=True)
        return sum((ca.densify(ca.jacobian(slip, v)).T * force for slip, force in forces), ca.SX.zeros(v.numel()))


class AppliedForces(NamedTuple):
    """Generalized forces on all velocities (in the order of `Scope.velocities`), and the potential energy besides gravity."""

    driven: ca.SX  # joint forces and wrenches: inputs and dampers
    conservative: ca.SX  # of potentials
    potential: ca.SX
    warnings: tuple[str, ...] = ()  # about jumps of potentials in time

    @property
    def total(self) -> ca.SX:
        return self.driven + self.conservative


def acts_without_inputs(driven: ca.SX, u: ca.SX) -> bool:
    """Whether forces besides those of potentials act while all inputs are zero, so that the energy changes by their work."""
    left = ca.densify(ca.substitute(driven, u, ca.SX.zeros(u.shape)))
    return any(not left[i].is_zero() for i in range(left.numel()))


def applied_forces(scope: Scope, measures: Measures, laws: Sequence[Tangential | TireForce] = ()) -> AppliedForces:
    """Generalized forces of joint forces, wrenches, potentials and tangential contact laws."""
    v = scope.v
    rates = {c.name: c.rate for c in scope.system.coordinates if c.rate}
    driven = ca.SX.zeros(v.numel())
    for given in scope.system.generalized_forces:
        amount = scope.value(given.amount)
        if isinstance(given.measure, Name) and given.measure.identifier in rates:
            row = scope.velocity_index(rates[given.measure.identifier])
            driven[row] = driven[row] + amount
        else:
            where = f"the measure of generalized force {given.name!r}"
            _jumps_in_time(scope, where, given.measure)
            driven += _along(measures, given.measure, where) * amount
    tires = [law for law in laws if isinstance(law, TireForce)]
    if scope.system.wrenches or tires:
        driven += _wrench_forces(scope, measures, tires)
    for law in laws:
        driven += law.generalized_forces if isinstance(law, Tangential) else ca.SX.zeros(v.numel())
    potential, conservative, warnings = ca.SX(0), ca.SX.zeros(v.numel()), list[str]()
    for field in scope.system.potentials:
        warnings += uncounted(f"potential {field.name!r}", _jumps_in_time(scope, f"potential {field.name!r}", field.energy))
        potential = potential + scope.value(field.energy)
        conservative -= _along(measures, field.energy, f"potential {field.name!r}")
    return AppliedForces(driven, conservative, potential, tuple(warnings))


def _jumps_in_time(scope: Scope, what: str, quantity: Expr) -> list[str]:
    """Jumps in time of an energy or of the place of a force. A jump in the coordinates would be an impulse and is refused."""
    return check_smooth(scope, what, scope.value(quantity), "energy") if may_switch(scope, quantity) else []


def _along(measures: Measures, quantity: Expr, where: str) -> ca.SX:
    """Derivative of the rate of a position quantity by each velocity."""
    scope = measures.scope
    rate = measures.rate(scope.value(quantity), where)
    used = scope.used_in(rate).velocities
    gains = ca.SX.zeros(len(scope.velocities))
    if used:
        slope = ca.densify(ca.jacobian(rate, scope.vector(used)))
        for i, name in enumerate(used):
            gains[scope.velocity_index(name)] = slope[i]
    return gains


def _wrench_forces(scope: Scope, measures: Measures, tires: Sequence[TireForce]) -> ca.SX:
    """All wrenches, propagated inward along the tree and projected on the velocities of every step. Those of tires on wheels that
    are rotors act on the axes before the spin."""
    carried: dict[str, tuple[Vec, Vec]] = {}
    on_carriers: dict[str, tuple[Vec, Vec]] = {}

    def carry(group: dict[str, tuple[Vec, Vec]], body: str, turn: Mat, at: Vec, force: Vec, torque: Vec) -> None:
        force, torque = times(turn, force), times(turn, torque)
        before = group.get(body, (NULL, NULL))
        group[body] = add(before[0], force), add(before[1], add(torque, cross(at, force)))

    for wrench in scope.system.wrenches:
        body, at = measures.locate(wrench.point)
        # into the axes of the body, where its motion is given
        turn = transposed(measures.poses[body].rotation) if wrench.axes == "world" else measures.turn(wrench.point)
        carry(carried, body, turn, at, _lowered(scope, wrench.force), _lowered(scope, wrench.torque))
    for tire in tires:
        contact = tire.contact
        group = on_carriers if contact.before_spin else carried
        carry(group, contact.wheel.body, transposed(contact.pose.rotation), contact.local_center, *tire.hub_wrench)
    generalized_forces: dict[str, ca.SX] = {name: ZERO for name in scope.velocities}
    for link in reversed(measures.links.values()):
        if link.name not in carried and link.name not in on_carriers:
            continue
        force, moment = carried.get(link.name, (NULL, NULL))
        if link.spin is not None and link.name in carried:
            force, moment = project_wrench(link.spin, force, moment, generalized_forces)
        if link.name in on_carriers and link.spin is not None:
            own = on_carriers[link.name]
            project_wrench(link.spin, *own, generalized_forces)  # on the spin alone
            force, moment = add(force, own[0]), add(moment, own[1])
        for step in reversed(link.steps):
            force, moment = project_wrench(step, force, moment, generalized_forces)
        if link.parent is not None:
            before = carried.get(link.parent.name, (NULL, NULL))
            carried[link.parent.name] = add(before[0], force), add(before[1], moment)
    return ca.vertcat(*generalized_forces.values())


def _lowered(scope: Scope, vector: Sequence[Expr]) -> Vec:
    return tuple(scope.value(c) for c in vector)  # type: ignore[return-value]
