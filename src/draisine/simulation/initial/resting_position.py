"""Where a joint would have to stand to rest: with a yaw rate but no steer angle given, a bicycle starts with a steer rate.

Positions are solved before velocities, and coordinates that are not given stay at their defaults. A rate that is not zero because
of that is named with the position at which it is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping

from draisine.errors import StartError
from draisine.numerics.root_finding import bracketed_root
from draisine.program.equations import Equations

Rates = Callable[[str, float], Mapping[str, float]]  # all velocities of the start in which a coordinate has this value

REACH = math.pi / 2  # radians, or lengths of the model, within which the position is sought
FIRST, GROWTH = 0.02, 2.0
RESTS = 1e-6  # of the rate, what may be left


def coordinate_of(e: Equations, velocity: str) -> str | None:
    """The coordinate of a joint whose rate is named after it."""
    name = velocity.removesuffix("_rate")
    return name if name != velocity and any(c.name == name for c in e.coordinates) else None


def resting_position(
    e: Equations, velocity: str, rate: float, position: float, given: Collection[str], rates: Rates, size: float
) -> tuple[str, float] | None:
    """The coordinate of a joint, and the value nearest to its position at which the rate is zero; None if there is none."""
    name = coordinate_of(e, velocity)
    if name is None or name in given:
        return None

    def moving(value: float) -> float:
        try:
            return rates(name, value)[velocity]
        except StartError:
            return math.nan

    reached = {1.0: position, -1.0: position}
    step = FIRST * size
    while reached and step < REACH * size:
        for sign, before in list(reached.items()):
            after = reached[sign] = position + sign * step
            found = moving(after)
            if found * rate <= 0.0:
                value = bracketed_root(moving, *sorted((before, after)))
                return (name, value) if abs(moving(value)) <= RESTS * abs(rate) else None
            if not math.isfinite(found):
                reached.pop(sign)
        step *= GROWTH
    return None
