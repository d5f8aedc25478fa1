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

import math
from collections.abc import Mapping, Set
from dataclasses import dataclass, fields
from typing import Any

from draisine.errors import ModelError
from draisine.expr.expression import Expr, Number, names, substitute
from draisine.model.quantities import Amount, amount_in

_UNITS = {"speed": "m/s", "relaxation": "m", "a": "m", "b": "m", "reference": "N", "shear": "Pa"}
_FORCES = ("longitudinal", "lateral", "cornering", "camber")

__all__ = ["Coulomb", "Creep", "DryFriction", "LinearTire", "Rolling", "ShenHedrickElkins", "TangentialLaw"]


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
    """Linear tire with relaxation length σ and camber thrust: σ/V Ḟ + F = cornering·α + camber·γ, to the side it leans to.

    Its states s, along and across, follow σ ṡ + |V| s = slip, across with |V| γ camber/cornering in addition; the force is
    −stiffness·s. So it also works at rest, as a spring, and backwards. `cornering` is the lateral stiffness per radian of slip
    angle, `longitudinal` that along the track, by default the same, `camber` that per radian of inclination of the wheel's plane.
    |V| is V tanh(V/speed), which differs from it by less than 1e-15 from 18·speed on.
    """

    cornering: Amount
    relaxation: Amount
    longitudinal: Amount | None = None
    friction: Amount | None = None
    speed: Amount = 0.01
    camber: Amount | None = None

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


PLASTIC = Number(0.0)  # restitution of a body that does not bounce


@dataclass(frozen=True)
class DryFriction:
    """Coulomb's law and the law of impact of a unilateral contact, which may stick, slip, open and land.

    It sticks while the tangential force is at most static·N, and slips against kinetic·N; None is infinite. `restitution` is the
    coefficient of the law `impact`: "energetic" (Stronge), "poisson" or "newton"; `tangential_restitution` is that of the slip.
    """

    static: Expr | None
    kinetic: Expr | None
    restitution: Expr = PLASTIC
    impact: str = "energetic"
    tangential_restitution: Expr = PLASTIC

    def amounts(self) -> dict[str, Expr]:
        """The coefficients, by name, without infinite ones."""
        every = {"static friction": self.static, "kinetic friction": self.kinetic, "restitution": self.restitution}
        every["tangential restitution"] = self.tangential_restitution
        if self.depends_on_slip:
            del every["kinetic friction"]
        return {name: amount for name, amount in every.items() if amount is not None}

    @property
    def depends_on_slip(self) -> bool:
        """Whether the kinetic coefficient is a function of the slip, as Stribeck's curve."""
        return self.kinetic is not None and SLIP in names(self.kinetic)


SLIP = "slip"  # the speed of a slip, in coefficients of friction
IMPACTS = ("energetic", "poisson", "newton")
IMPACT_ORDERS = ("simultaneous", "sequential")


def dry_friction(
    friction: Any, restitution: Amount, impact: str, where: str, tangential_restitution: Amount = 0.0
) -> DryFriction | None:
    """The laws of a contact from the arguments of a builder: a coefficient, or those of sticking and of slipping; None for a
    contact that is ideal and permanent."""
    if friction is None:
        for amount in (restitution, tangential_restitution):
            if not (isinstance(amount, int | float) and amount == 0):
                raise ModelError(f"{where}: restitution belongs to a contact that can open; give friction=, 0 if it has none")
        if impact != "energetic":
            raise ModelError(f"{where}: an impact law belongs to a contact that can open; give friction=, 0 if it has none")
        return None
    one = isinstance(friction, str | Expr) or not hasattr(friction, "__len__")
    pair = (friction, friction) if one else tuple(friction)
    if len(pair) != 2 or isinstance(friction, Mapping | Set):
        raise ModelError(f"{where}: friction is a coefficient, or a pair (static, kinetic), got {friction!r}")
    if impact not in IMPACTS:
        raise ModelError(f"{where}: impact must be one of {', '.join(map(repr, IMPACTS))}, got {impact!r}")
    static, kinetic = (None if _is_infinite(c) else amount_in(c, "", f"friction of {where}") for c in pair)
    if static is not None and SLIP in names(static):
        static = substitute(static, {SLIP: Number(0.0)})
    for what, amount in (("static", static), ("kinetic", kinetic)):
        if isinstance(amount, Number) and amount.value < 0.0:
            raise ModelError(f"{where}: its {what} friction is {amount.value:g}; it must not be negative")
    if (static is not None and kinetic is None) or _exceeds(kinetic, static):
        raise ModelError(
            f"{where}: its kinetic friction, {pair[1]}, exceeds the static one, {pair[0]}: a body that starts to slip "
            "would stick at once; give (static, kinetic) in this order"
        )
    bounced = _restitution(restitution, "restitution", where)
    returned = _restitution(tangential_restitution, "tangential restitution", where)
    if returned != PLASTIC and impact != "newton":
        raise ModelError(
            f"{where}: tangential restitution relates velocities before and after an impact, as Newton's law; give impact='newton'"
        )
    return DryFriction(static, kinetic, bounced, impact, returned)


def _restitution(given: Amount, what: str, where: str) -> Expr:
    amount = amount_in(given, "", f"{what} of {where}")
    if isinstance(amount, Number) and not 0.0 <= amount.value <= 1.0:
        raise ModelError(f"{where}: its {what} is {amount.value:g}; it lies between 0 and 1")
    return amount


def _is_infinite(coefficient: Any) -> bool:
    return isinstance(coefficient, int | float) and coefficient == math.inf


def _exceeds(one: Expr | None, other: Expr | None) -> bool:
    """Whether a number is larger than another."""
    return isinstance(one, Number) and isinstance(other, Number) and one.value > other.value


LAWS: dict[str, type[TangentialLaw]] = {
    "rolling": Rolling,
    "creep": Creep,
    "tire": LinearTire,
    "coulomb": Coulomb,
    "shen_hedrick_elkins": ShenHedrickElkins,
}
