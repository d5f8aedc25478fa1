"""Coulomb's law and the law of impact of contacts that stick, slip, open and land.

>>> str(dry_friction(0.8, 0.0, "energetic", "contact 'foot'").static)
'0.8'
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Set
from typing import Any, NamedTuple

from draisine.errors import ModelError
from draisine.expr.expression import Expr, Number, names, substitute
from draisine.model.quantities import Amount, amount_in

PLASTIC = Number(0.0)  # restitution of a body that does not bounce


class DryFriction(NamedTuple):
    """Coulomb's law and the law of impact of a unilateral contact, which may stick, slip, open and land.

    It sticks while the tangential force is at most static·N, and slips against kinetic·N; None is infinite. `restitution` is the
    coefficient of the law `impact`: "energetic" (Stronge), "poisson" or "newton"; `tangential_restitution` is that of the slip.
    Resistances to rolling and drilling are lever arms in m: moments of at most so much times N; None for none.
    """

    static: Expr | None
    kinetic: Expr | None
    restitution: Expr = PLASTIC
    impact: str = "energetic"
    tangential_restitution: Expr = PLASTIC
    rolling_resistance: Expr | None = None
    drilling_resistance: Expr | None = None

    def amounts(self) -> dict[str, Expr]:
        """The coefficients and lever arms, by name, without infinite ones and those that it does not have."""
        every = {"static friction": self.static, "kinetic friction": self.kinetic, "restitution": self.restitution}
        every["tangential restitution"] = self.tangential_restitution
        every |= {"rolling resistance": self.rolling_resistance, "drilling resistance": self.drilling_resistance}
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
    friction: Any,
    restitution: Amount,
    impact: str,
    where: str,
    tangential_restitution: Amount = 0.0,
    rolling_resistance: Amount = 0.0,
    drilling_resistance: Amount = 0.0,
) -> DryFriction | None:
    """The laws of a contact from the arguments of a builder: a coefficient, or those of sticking and of slipping; None for a
    contact that is ideal and permanent."""
    levers = [
        _lever(rolling_resistance, "rolling resistance", where),
        _lever(drilling_resistance, "drilling resistance", where),
    ]
    if friction is None:
        if any(lever is not None for lever in levers):
            raise ModelError(
                f"{where}: resistance to rolling or drilling needs a contact that can open; give friction=, or math.inf"
            )
        for given in (restitution, tangential_restitution):
            if not (isinstance(given, int | float) and given == 0):
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
            f"{where}: tangential restitution relates velocities before and after impacts, as Newton's law; give impact='newton'"
        )
    if any(lever is not None for lever in levers) and bounced != PLASTIC and impact != "newton":
        raise ModelError(
            f"{where}: moments that resist rolling and drilling take their impulses with velocities before and after impacts, as "
            "Newton's law; give impact='newton', or no restitution"
        )
    return DryFriction(static, kinetic, bounced, impact, returned, *levers)


def _lever(given: Amount, what: str, where: str) -> Expr | None:
    """A lever arm; None if it is zero."""
    amount = amount_in(given, "m", f"{what} of {where}")
    if isinstance(amount, Number) and not amount.value >= 0.0:
        raise ModelError(f"{where}: its {what} is {amount.value:g} m; it must not be negative")
    return None if amount == PLASTIC else amount


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
