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
from draisine.dynamics.contact.ground_contacts import ResidualContact, WheelOnGround
from draisine.dynamics.contact.surface_pair import SurfacePair
from draisine.dynamics.kinematics.measures import Measures
from draisine.dynamics.kinematics.newton_euler import project_wrench
from draisine.dynamics.linear_algebra import NULL, ZERO, Vec, add, cross, dot, times, transposed
from draisine.dynamics.lowering import Scope
from draisine.errors import ModelError
from draisine.expr.expression import Expr, Name
from draisine.expr.safe_functions import absolute, guard, length, root, where
from draisine.model.contact import Coulomb, Creep, LinearTire, ShenHedrickElkins
from draisine.model.items import mode_entries
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
    """Longitudinal and lateral force on a wheel (or the first of two bodies) by its law, and rates of relaxation states."""

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
        if isinstance(self.contact, SurfacePair) or self.contact.friction is None:
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
            most = self._value(law.friction) * ca.fmax(self._load, 0) / length([*slip, self._value(law.speed)], regular=True)
            return -most * slip[0], -most * slip[1]
        if isinstance(law, ShenHedrickElkins):
            return self._steel(law)
        if isinstance(law, LinearTire):
            creep = [self.scope.symbol(lag.name) for lag in self.contact.lags]
            stiffness = (law.longitudinal if law.longitudinal is not None else law.cornering, law.cornering)
        else:
            assert isinstance(law, Creep)
            creep = [s / self._speed(law) for s in slip]
            stiffness = (law.longitudinal, law.lateral)
        along, across = (-self._value(c) * s for c, s in zip(stiffness, creep, strict=True))
        return (along, across) if law.friction is None else bounded(along, across, self._value(law.friction) * self._load)

    def _steel(self, law: ShenHedrickElkins) -> tuple[ca.SX, ca.SX]:
        speed, slip = self._speed(law), self.contact.slip
        spin = dot(self.contact.normal, self.contact.angular) / speed
        grown = root(ca.fmax(self._load, 0) / self._value(law.reference), 3)
        area = self._value(law.a) * self._value(law.b) * grown * grown
        stiff = area * self._value(law.shear)
        along = -stiff * self._value(law.c11) * slip[0] / speed
        across = -stiff * (self._value(law.c22) * slip[1] / speed + root(area) * self._value(law.c23) * spin)
        return bounded(along, across, self._value(law.friction) * self._load)

    @property
    def rates(self) -> dict[str, ca.SX]:
        """σ ṡ = slip − |V| (s − γ camber/cornering); without slip and camber while the contact is open."""
        law, closed = self.contact.law, self._touches
        if not isinstance(law, LinearTire):
            return {}
        rolling, width = self.contact.rolling_speed, self._value(law.speed)
        speed = rolling * ca.tanh(rolling / width)  # nothing is divided by it
        along, across = self.contact.slip
        if law.camber is not None:
            across = across + speed * self._value(law.camber) / self._value(law.cornering) * self._inclination
        if closed is not None:
            along, across = closed * along, closed * across
        pairs = zip(self.contact.lags, (along, across), strict=True)
        return {lag.name: (slip - speed * self.scope.symbol(lag.name)) / self._value(law.relaxation) for lag, slip in pairs}

    @property
    def _inclination(self) -> ca.SX:
        """Angle between the wheel's plane and the normal, positive for a lean to the right."""
        if not isinstance(self.contact, WheelOnGround):
            raise ModelError(f"contact {self.contact.name!r}: the tire has camber thrust, which only wheels on the ground have")
        return self.contact.inclination

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


def applied_forces(scope: Scope, measures: Measures, laws: Sequence[Tangential] = ()) -> AppliedForces:
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
    if scope.system.wrenches:
        driven += _wrench_forces(scope, measures)
    for law in laws:
        driven += law.generalized_forces
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


def _wrench_forces(scope: Scope, measures: Measures) -> ca.SX:
    """All wrenches, propagated inward along the tree and projected on the velocities of every step."""
    carried: dict[str, tuple[Vec, Vec]] = {}
    for wrench in scope.system.wrenches:
        body, at = measures.locate(wrench.point)
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
            force, moment = project_wrench(step, force, moment, generalized_forces)
        if link.parent is not None:
            before = carried.get(link.parent.name, (NULL, NULL))
            carried[link.parent.name] = add(before[0], force), add(before[1], moment)
    return ca.vertcat(*generalized_forces.values())


def _lowered(scope: Scope, vector: Sequence[Expr]) -> Vec:
    return tuple(scope.value(c) for c in vector)  # type: ignore[return-value]
