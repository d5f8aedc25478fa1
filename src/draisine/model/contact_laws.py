"""How a wheel holds on to the ground: ideal rolling, or a law for the force along the ground.

Slip is the velocity of the wheel's matter at the contact against the ground's. Creep is slip divided by the rolling speed V,
which is regularized as √(V² + speed²). The force on the wheel is against the slip; N is the normal force, a multiplier of the
contact. With `friction` a law is bounded by friction·N, by Shen, Hedrick and Elkins' cubic (source D, chapter 5).

    >>> str(Coulomb(0.8).friction)
    '0.8'
    >>> Creep(1e5, 8e4, friction="mu").bounded
    True
"""

from __future__ import annotations

from dataclasses import dataclass, fields

from draisine.expr.expression import Expr
from draisine.model.quantities import Amount, amount_in

_UNITS = {"speed": "m/s", "relaxation": "m", "a": "m", "b": "m", "reference": "N", "shear": "Pa"}
_FORCES = ("longitudinal", "lateral", "cornering")


@dataclass(frozen=True)
class TangentialLaw:
    """What all laws share: amounts become expressions."""

    def __post_init__(self) -> None:
        for field in fields(self):
            given = getattr(self, field.name)
            unit = "N" if field.name in _FORCES else _UNITS.get(field.name, "")
            if given is not None:
                where = f"{field.name} of {type(self).__name__}"
                object.__setattr__(self, field.name, amount_in(given, unit, where))

    @property
    def relaxes(self) -> bool:
        """Whether it remembers slips."""
        return False

    @property
    def bounded(self) -> bool:
        """Whether its force depends on the normal force."""
        return False

    def amounts(self) -> dict[str, Expr]:
        """Everything it is made of, by name."""
        return {field.name: getattr(self, field.name) for field in fields(self) if getattr(self, field.name) is not None}


@dataclass(frozen=True)
class Rolling(TangentialLaw):
    """No slip at all."""


ROLLING = Rolling()


@dataclass(frozen=True)
class Creep(TangentialLaw):
    """Force proportional to creep: −longitudinal·ξ₁ along the track, −lateral·ξ₂ across it."""

    longitudinal: Amount
    lateral: Amount
    friction: Amount | None = None
    speed: Amount = 0.01

    @property
    def bounded(self) -> bool:
        return self.friction is not None


@dataclass(frozen=True)
class LinearTire(TangentialLaw):
    """Force proportional to a slip that lags behind creep by a relaxation length σ: σ ṡ + |V| s = slip, force −stiffness·s.

    `cornering` is the stiffness across, per radian of slip angle; `longitudinal` along the track, by default the same.
    """

    cornering: Amount
    relaxation: Amount
    longitudinal: Amount | None = None
    friction: Amount | None = None
    speed: Amount = 0.01

    @property
    def relaxes(self) -> bool:
        return True

    @property
    def bounded(self) -> bool:
        return self.friction is not None


@dataclass(frozen=True)
class Coulomb(TangentialLaw):
    """Dry friction: −friction·N·slip/√(slip² + speed²), which is smooth at rest and slips a little under any load."""

    friction: Amount
    speed: Amount = 0.001

    @property
    def bounded(self) -> bool:
        return True


@dataclass(frozen=True)
class ShenHedrickElkins(TangentialLaw):
    """Creep of steel on steel: Kalker's coefficients over an elliptic contact of half axes a, b that grow with N^⅓ from those
    at the reference load; with spin creep; bounded by friction·N (source D, 5.6)."""

    friction: Amount
    a: Amount
    b: Amount
    reference: Amount
    shear: Amount
    c11: Amount
    c22: Amount
    c23: Amount
    speed: Amount = 0.01

    @property
    def bounded(self) -> bool:
        return True


LAWS: dict[str, type[TangentialLaw]] = {
    "rolling": Rolling,
    "creep": Creep,
    "tire": LinearTire,
    "coulomb": Coulomb,
    "shen_hedrick_elkins": ShenHedrickElkins,
}
