"""Tangential contact laws of wheels: ideal rolling, creep and friction; `tires` has the tires.

Slip is the velocity of the wheel's material at the contact relative to the ground's. Creep is slip divided by the rolling speed
V, which is regularized as √(V² + speed²). The force on the wheel opposes the slip; N is the normal force, a multiplier of the
contact. With `friction` a law is bounded by friction·N, by Shen, Hedrick and Elkins' cubic (source D, chapter 5).

    >>> str(Coulomb(0.8).friction)
    '0.8'
    >>> Creep(1e5, 8e4, friction="mu").bounded
    True
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import ClassVar

from draisine.expr.expression import Expr
from draisine.model.quantities import Amount, amount_in


@dataclass(frozen=True)
class TangentialLaw:
    """Base class of the laws: converts parameters to expressions.

    `units` has those of parameters that are not pure numbers, `positive` the parameters that must not be zero. None is negative,
    except for those in `signed`.
    """

    units: ClassVar[Mapping[str, str]] = {}
    positive: ClassVar[frozenset[str]] = frozenset()
    signed: ClassVar[frozenset[str]] = frozenset()
    options: ClassVar[tuple[str, ...]] = ()  # fields that are no amounts: texts and switches

    def __post_init__(self) -> None:
        for field in fields(self):
            given = getattr(self, field.name)
            if given is not None and field.name not in self.options:
                where = f"{field.name} of {type(self).__name__}"
                object.__setattr__(self, field.name, amount_in(given, self.unit_of(field.name), where))

    def unit_of(self, name: str) -> str:
        """The unit of a parameter."""
        return self.units.get(name, "")

    @property
    def relaxes(self) -> bool:
        """Whether the law has relaxation states."""
        return False

    @property
    def bounded(self) -> bool:
        """Whether the force depends on the normal force."""
        return False

    @property
    def compliant(self) -> bool:
        """Whether the law gives the normal force, as a function of the deflection, in the place of a constraint."""
        return False

    def amounts(self) -> dict[str, Expr]:
        """The parameters of the law, by name."""
        given = {field.name: getattr(self, field.name) for field in fields(self) if field.name not in self.options}
        return {name: amount for name, amount in given.items() if amount is not None}


@dataclass(frozen=True)
class Rolling(TangentialLaw):
    """Rolling without slip."""


ROLLING = Rolling()


@dataclass(frozen=True)
class Creep(TangentialLaw):
    """Linear creep force: −longitudinal·ξ₁ along the track, −lateral·ξ₂ across it."""

    units: ClassVar[Mapping[str, str]] = {"longitudinal": "N", "lateral": "N", "speed": "m/s"}
    positive: ClassVar[frozenset[str]] = frozenset({"friction", "speed"})

    longitudinal: Amount
    lateral: Amount
    friction: Amount | None = None
    speed: Amount = 0.01

    @property
    def bounded(self) -> bool:
        return self.friction is not None


@dataclass(frozen=True)
class Coulomb(TangentialLaw):
    """Regularized Coulomb friction: −friction·N·slip/√(slip² + speed²); smooth at rest, with a small slip under any load."""

    units: ClassVar[Mapping[str, str]] = {"speed": "m/s"}
    positive: ClassVar[frozenset[str]] = frozenset({"friction", "speed"})

    friction: Amount
    speed: Amount = 0.001

    @property
    def bounded(self) -> bool:
        return True


@dataclass(frozen=True)
class ShenHedrickElkins(TangentialLaw):
    """Creep of steel on steel: Kalker's coefficients over an elliptic contact with half axes a, b, given at the reference load
    and proportional to N^⅓; with spin creep; bounded by friction·N (source D, 5.6)."""

    units: ClassVar[Mapping[str, str]] = {"a": "m", "b": "m", "reference": "N", "shear": "Pa", "speed": "m/s"}
    positive: ClassVar[frozenset[str]] = frozenset({"friction", "a", "b", "reference", "shear", "speed"})

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
