"""Tangential contact laws of wheels: ideal rolling, creep, tire and friction forces.

Slip is the velocity of the wheel's material at the contact relative to the ground's. Creep is slip divided by the rolling speed
V, which is regularized as √(V² + speed²). The force on the wheel opposes the slip; N is the normal force, a multiplier of the
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

__all__ = ["Coulomb", "Creep", "LinearTire", "Rolling", "ShenHedrickElkins", "TangentialLaw"]


def unit_of_amount(name: str) -> str:
    """The unit of a parameter of a law."""
    return "N" if name in _FORCES else _UNITS.get(name, "")


@dataclass(frozen=True)
class TangentialLaw:
    """Base class of the laws: converts parameters to expressions."""

    def __post_init__(self) -> None:
        for field in fields(self):
            given = getattr(self, field.name)
            unit = unit_of_amount(field.name)
            if given is not None:
                where = f"{field.name} of {type(self).__name__}"
                object.__setattr__(self, field.name, amount_in(given, unit, where))

    @property
    def relaxes(self) -> bool:
        """Whether the law has relaxation states."""
        return False

    @property
    def bounded(self) -> bool:
        """Whether the force depends on the normal force."""
        return False

    def amounts(self) -> dict[str, Expr]:
        """The parameters of the law, by name."""
        return {field.name: getattr(self, field.name) for field in fields(self) if getattr(self, field.name) is not None}


@dataclass(frozen=True)
class Rolling(TangentialLaw):
    """Rolling without slip."""


ROLLING = Rolling()


@dataclass(frozen=True)
class Creep(TangentialLaw):
    """Linear creep force: −longitudinal·ξ₁ along the track, −lateral·ξ₂ across it."""

    longitudinal: Amount
    lateral: Amount
    friction: Amount | None = None
    speed: Amount = 0.01

    @property
    def bounded(self) -> bool:
        return self.friction is not None


@dataclass(frozen=True)
class LinearTire(TangentialLaw):
    """Linear tire with relaxation length σ: σ ṡ + |V| s = slip, force −stiffness·s.

    `cornering` is the lateral stiffness per radian of slip angle; `longitudinal` that along the track, by default the same.
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
    """Regularized Coulomb friction: −friction·N·slip/√(slip² + speed²); smooth at rest, with a small slip under any load."""

    friction: Amount
    speed: Amount = 0.001

    @property
    def bounded(self) -> bool:
        return True


@dataclass(frozen=True)
class ShenHedrickElkins(TangentialLaw):
    """Creep of steel on steel: Kalker's coefficients over an elliptic contact with half axes a, b, given at the reference load
    and proportional to N^⅓; with spin creep; bounded by friction·N (source D, 5.6)."""

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
