"""Springs, dampers and bump stops of suspensions: linear ones and tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from draisine.errors import ModelError
from draisine.expr.expression import Call, Expr, Name, Number
from draisine.parts.assembly import Assembly
from draisine.parts.design_pose import ZERO

if TYPE_CHECKING:
    from draisine.model.quantities import Amount

Curve = str | Sequence[Any]  # the name of a table of the model, or pairs (knot, value)
HALF = Number(0.5)


def spring_and_damper(
    own: Assembly,
    measure: str | Expr,
    stiffness: Amount,
    spring: Curve | None,
    preload: Amount,
    damping: Amount,
    damper: Curve | None,
    *,
    angular: bool = False,
) -> None:
    """A spring and a damper that resist a measure: the compression of a fork, the angle of a swing arm."""
    m = own.model
    what = Name(measure) if isinstance(measure, str) else measure
    force, unit = ("N*m", "rad") if angular else ("N", "m")
    if spring is not None:
        if _given(stiffness) or _given(preload):
            raise ModelError(f"part {own.name!r}: give a stiffness with a preload, or a table 'spring', not both")
        m.generalized_force(what, -curve(own, "spring_table", spring)(what), name=own.named("spring"))
    elif _given(stiffness) or _given(preload):
        elastic = own.parameter("stiffness", stiffness, f"{force}/{unit}", "of the spring")
        preloaded = own.parameter("preload", preload, force, "force of the spring in the design position", keep=True)
        m.potential(own.named("spring"), preloaded * what + (HALF * elastic * what**2 if elastic != ZERO else ZERO))
    rate = Call("rate", (what,))
    if damper is not None:
        if _given(damping):
            raise ModelError(f"part {own.name!r}: give a constant 'damping', or a table 'damper', not both")
        m.generalized_force(what, -curve(own, "damper_table", damper)(rate), name=own.named("damper"))
    elif _given(damping):
        viscous = own.parameter("damping", damping, f"{force}*s/{unit}", "of the damper")
        m.generalized_force(what, -viscous * rate, name=own.named("damper"))


def _given(value: Amount) -> bool:
    return not (isinstance(value, int | float | Number) and (value.value if isinstance(value, Number) else value) == 0)


class curve:
    """A tabulated function of one variable: a table of the model by name, or one that is made of pairs."""

    def __init__(self, own: Assembly, key: str, given: Curve) -> None:
        if isinstance(given, str):
            self.name = given
            return
        rows = tuple(given)
        if len(rows) < 2 or any(isinstance(row, str) or not hasattr(row, "__len__") or len(row) != 2 for row in rows):
            raise ModelError(
                f"{key.replace('_', ' ')} of part {own.name!r}: give pairs such as [(0, 0), (0.05, 900)], or the name of a table"
            )
        knots, values = ([float(row[k]) for row in rows] for k in (0, 1))
        self.name = own.named(key)
        own.model.table(self.name, knots, values, "spline" if len(rows) > 3 else "linear")

    def __call__(self, *arguments: Expr) -> Expr:
        return Call(self.name, arguments)


def bump_stops(own: Assembly, measure: str | Expr, travel: Sequence[Amount | None] | None, unit: str | None = None) -> None:
    """Stops at the ends of the travel of a suspension, NAME_low and NAME_high; one may be None, or "none"."""
    if travel is None:
        return
    if isinstance(travel, str) or len(travel) != 2:
        raise ModelError(f"travel of part {own.name!r}: give two stops (low, high), of which one may be None; got {travel!r}")
    low, high = (None if end == "none" else end for end in travel)
    if low is not None:
        own.model.stop(own.named("low"), measure, low=low, unit=unit)
    if high is not None:
        own.model.stop(own.named("high"), measure, high=high, unit=unit)
