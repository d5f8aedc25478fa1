"""Where a joint would have to stand to rest: with a yaw rate but no steer angle given, a bicycle starts with a steer rate.

Positions are solved before velocities, and coordinates that are not given stay at their defaults. A rate that is not zero because
of that is named with the position at which it is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from draisine.errors import StartError
from draisine.numerics.root_finding import bracketed_root
from draisine.program.equations import Equations
from draisine.simulation.initial.result import Start

# the start without the target of an output, and with another value of a coordinate if one is given
Solve = Callable[[str, Mapping[str, float]], Start]

REACH = math.pi / 2  # radians, or lengths of the model, within which the position is sought
FIRST, GROWTH = 0.02, 2.0
RESTS = 1e-9  # of the rate, what may be left without the target


def coordinate_of(e: Equations, velocity: str) -> str | None:
    """The coordinate of a joint whose rate is named after it."""
    name = velocity.removesuffix("_rate")
    return name if name != velocity and any(c.name == name for c in e.coordinates) else None


def resting_position(
    velocity: str, rate: float, coordinate: str, position: float, targets: Mapping[str, float], solve: Solve, size: float
) -> float | None:
    """The value of a coordinate nearest to its position at which the joint rests and the targets are met: one of the outputs that
    are given moves the joint, and has its value there by itself. None if there is none."""
    for output, target in targets.items():
        try:
            if abs(solve(output, {}).velocities[velocity]) > RESTS * abs(rate):
                continue
        except StartError:
            continue

        def missing(value: float, output: str = output, target: float = target) -> float:
            try:
                return solve(output, {coordinate: value}).outputs[output] - target
            except StartError:
                return math.nan

        found = _nearest_root(missing, position, size)
        if found is not None:
            return found
    return None


def _nearest_root(function: Callable[[float], float], position: float, size: float) -> float | None:
    """The root closest to a position, in steps that grow to both sides."""
    reached, step, here = {1.0: position, -1.0: position}, FIRST * size, function(position)
    while reached and step < REACH * size:
        for sign, before in list(reached.items()):
            after = reached[sign] = position + sign * step
            found = function(after)
            if found * here <= 0.0:
                root = bracketed_root(function, *sorted((before, after)))
                return root if math.isfinite(root) else None
            if not math.isfinite(found):
                reached.pop(sign)
        step *= GROWTH
    return None
