"""Numbers in the statement of a maneuver, from Python and from files: numbers, quantities with a unit, expressions of numbers.

A quantity keeps its unit until the name it belongs to is resolved in the model; there the unit is checked.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from draisine.errors import ArgumentError, ExpressionError, UnitError
from draisine.expr.expression import evaluate_number, parse
from draisine.expr.units import Measured
from draisine.program.arguments import number_in
from draisine.program.equations import Equations

_SIDES = {"inf": math.inf, "+inf": math.inf, "-inf": -math.inf}


def stated_number(value: Any, where: str) -> float:
    """A number; of "17 deg" the number in SI units, which keeps its text.

    >>> stated_number("17 deg", "finish(lean=…)").text, round(stated_number("pi/4", "finish(heading=…)"), 4)
    ('17 deg', 0.7854)
    """
    if isinstance(value, str):
        if value.strip() in _SIDES:
            return _SIDES[value.strip()]
        try:
            with_unit = Measured.read(value)
            return evaluate_number(parse(value)) if with_unit is None else with_unit
        except (UnitError, ExpressionError, ValueError) as problem:
            raise ArgumentError(f"{where}: {value!r} is not a number ({problem})") from None
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | float | np.integer | np.floating):
        raise ArgumentError(f"{where}: give a number, or a text with a unit such as '5 deg', got {value!r}")
    return value if isinstance(value, Measured) else float(value)


def stated_range(pair: Any, where: str) -> tuple[float, float]:
    """Both bounds, infinite for None."""
    if not isinstance(pair, tuple | list) or len(pair) != 2:
        raise ArgumentError(f"{where}: give a pair (low, high), with None for no bound, got {pair!r}")
    low, high = (side if b is None else stated_number(b, where) for b, side in zip(pair, (-math.inf, math.inf), strict=True))
    if not low <= high:
        raise ArgumentError(f"{where}: {pair!r} has its lower bound above its upper bound")
    return low, high


def stated_seconds(value: Any, where: str) -> float:
    """A time in seconds.

    >>> stated_seconds("1.5 min", "duration")
    90.0
    """
    return checked_number(stated_number(value, where), "s", where)


def checked_number(value: float, unit: str | None, where: str) -> float:
    """A stated number in the unit of its quantity; a unit of another dimension is refused. None: the unit is not known."""
    number = number_in(value, unit, where)
    assert number is not None  # a number, by `stated_number`
    return number


def checked_numbers(values: Sequence[float], unit: str | None, where: str) -> tuple[float, ...]:
    return tuple(checked_number(value, unit, where) for value in values)


@lru_cache(maxsize=32)
def units_of(equations: Equations) -> dict[str, str]:
    """Units of all quantities that a maneuver can name."""
    e = equations
    groups = (e.parameters, e.inputs, e.multipliers, e.outputs, e.velocities, e.coordinates, e.states)
    return {q.name: q.unit for group in groups for q in group}


def rate_unit(unit: str | None) -> str | None:
    """The unit of a time derivative.

    >>> rate_unit("m/s"), rate_unit("")
    ('m/s/s', '1/s')
    """
    return None if unit is None else f"{unit or '1'}/s"
