"""Forces of tangential laws at wheels' contacts: against slip, bounded by friction (source D, 5.6).

Every law is smooth in slip and in the normal force N, also where nothing slips: the bound of Shen, Hedrick and Elkins multiplies
a linear force F̃ by ε(u) = 1 − u/3 + u²/27, u = |F̃|/(μN), and by 1/u from u = 3 on, where both agree to the second derivative.
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

from draisine.dynamics.contact.ground_contacts import Contact
from draisine.dynamics.linear_algebra import dot
from draisine.dynamics.lowering import Scope
from draisine.expr.safe_functions import absolute, guard, length, root, where
from draisine.model.contact_laws import Coulomb, Creep, LinearTire, ShenHedrickElkins
from draisine.model.quantities import Amount, expression_of

LEAST = 1e-9  # N; below it a wheel carries nothing, and its laws give no force


def bounded(along: ca.SX, across: ca.SX, most: ca.SX) -> tuple[ca.SX, ca.SX]:
    """A force bounded smoothly by `most`; none where that is not positive."""
    carries = most > LEAST
    u = length([along, across]) / guard(carries, most, 1.0)
    slides = u >= 3
    share = where(slides, 1 / guard(slides, u, 1.0), 1 - u / 3 + u * u / 27)
    return carries * share * along, carries * share * across


@dataclass(frozen=True, eq=False)
class Tangential:
    """The force on a wheel (or the first of two bodies) by its law, along the track and across, and rates of what is kept."""

    contact: Contact
    scope: Scope
    normal: ca.SX | None  # N, for laws that ask for it

    def _value(self, amount: Amount) -> ca.SX:
        return self.scope.value(expression_of(amount))

    @property
    def _load(self) -> ca.SX:
        assert self.normal is not None  # laws that ask for it are given it
        return self.normal

    def _speed(self, law: Creep | LinearTire | ShenHedrickElkins) -> ca.SX:
        return absolute(self.contact.rolling_speed, self._value(law.speed))

    @property
    def force(self) -> tuple[ca.SX, ca.SX]:
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
        """σ ṡ = slip − |V| s."""
        law = self.contact.law
        if not isinstance(law, LinearTire):
            return {}
        lags, speed = self.contact.lags, self._speed(law)
        pairs = zip(lags, self.contact.slip, strict=True)
        return {lag.name: (slip - speed * self.scope.symbol(lag.name)) / self._value(law.relaxation) for lag, slip in pairs}

    @property
    def generalized_forces(self) -> ca.SX:
        """What the force does on all velocities: its power is that of the slip."""
        v = self.scope.v
        forces = zip(self.contact.slip, self.force, strict=True)
        return sum((ca.densify(ca.jacobian(slip, v)).T * force for slip, force in forces), ca.SX.zeros(v.numel()))
