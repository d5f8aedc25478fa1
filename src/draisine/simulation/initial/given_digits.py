"""Values given to systems 0 = F with a limited number of digits: what residual of the constraints their rounding explains.

A number such as −2.8573e-4 stands for all numbers that round to it. Given values are accepted where consistent ones round to
them: they violate a constraint g = 0 by no more than Σ |∂g/∂y| · (half a unit of the last digit).
"""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import numpy as np

from draisine.errors import StartError
from draisine.simulation.initial.evaluation import Bools, Reals
from draisine.simulation.initial.memory import FULFILLED
from draisine.simulation.initial.solver import Level, Solution

FEWEST, MOST = 3, 15  # significant digits of a rounded number; with fewer it is exact (0.5), with more rounding is negligible
HARMLESS = 1e-8  # relative residual of constraints on differential unknowns that does not disturb a run
EDGE = 1e-6  # relative; a digit that was rounded up or down
NAMED = 6  # values that a message names


def half_digit(value: float) -> float:
    """Half a unit of the last digit of a number as it is written shortest; 0 for one that counts as exact.

    >>> half_digit(-2.8573e-4), half_digit(0.5), half_digit(0.0)
    (5e-09, 0.0, 0.0)
    """
    if value == 0.0 or not np.isfinite(value):
        return 0.0
    _, digits, exponent = Decimal(repr(float(value))).normalize().as_tuple()
    assert isinstance(exponent, int)  # a finite number
    return float(Decimal(5).scaleb(exponent - 1)) if FEWEST <= len(digits) <= MOST else 0.0


def within_digits(level: Level, given: Bools, values: Reals, differential: Bools) -> Solution | None:
    """A consistent start from which the given values result by rounding; None if there is none.

    Values that are exact as written stay fixed, the changes of rounded ones are least in half units of their last digits, all
    others are free. If changes of n values by half units suffice, the least squares are at most n. The given values
    are then kept as they are, except differential unknowns whose residuals would disturb a run (HARMLESS).
    """
    half = np.array([half_digit(value) if fixed else 0.0 for value, fixed in zip(values, given, strict=True)])
    exact = {
        name: float(value) for name, value, fixed in zip(level.unknowns, values, given & (half == 0.0), strict=True) if fixed
    }
    scaled = replace(level, prescribed=exact, reference=values, scale=np.where(half > 0.0, half, level.scale))
    found = scaled.full_system.find(scaled.without_targets, thorough=False)
    rounded = half > 0.0
    changes = (found.y - values)[rounded] / half[rounded]
    if not found.fulfilled or changes @ changes > (1.0 + EDGE) * np.count_nonzero(rounded):
        return None
    system = replace(level, prescribed={}, reference=values).full_system
    for kept in (given, given & ~differential):
        point = system.at_unknowns(np.where(kept, values, found.y))
        harmful = np.abs(point.residual) > HARMLESS * point.weight
        if not np.any(harmful[~_with_algebraic(level, differential)]):
            return point
    return found


def _with_algebraic(level: Level, differential: Bools) -> Bools:
    """Rows that contain algebraic unknowns, which a run solves for at its start."""
    layout, found = level.full_system.layout, np.zeros(len(level.full_system.layout.take), dtype=bool)
    found[layout.row[~differential[layout.column]]] = True
    return found


def refusal(level: Level, given: Bools, values: Reals, nearest: Solution, differential: Bools) -> StartError:
    """The error for given values that violate the constraints by more than their digits explain."""
    e, names, system = level.problem.equations, level.unknowns, level.full_system
    moved = [
        (name, value, new)
        for name, fixed, value, new in zip(names, given.tolist(), values.tolist(), nearest.y.tolist(), strict=True)
        if fixed and abs(new - value) > 1e-12 * max(abs(value), abs(new))
    ]
    listed = ", ".join(f"{name} = {new:.12g} (not {value:.12g})" for name, value, new in moved[:NAMED])
    kept = np.where(given, values, nearest.y)
    point = system.at_unknowns(kept)
    shares = np.abs(point.residual) / point.weight
    plain = np.where(_with_algebraic(level, differential), 0.0, shares)  # others follow from these
    worst = int(np.argmax(plain if plain.max(initial=0.0) > FULFILLED else shares))
    broken = tuple(label for label, share in zip(system.labels, shares, strict=True) if share > FULFILLED)
    return StartError(
        f"{e.name}: the given values violate {system.labels[worst]!r} by {abs(point.residual[worst]):.3g}, more than the "
        f"rounding of their digits explains; the nearest consistent values have {listed}; give these, or InitialGuess(value) for "
        "values that may change",
        None,
        level.name,
        tuple(name for name, _, _ in moved),
        broken,
        {name: new for name, _, new in moved},
        dict(zip(system.labels, point.residual.tolist(), strict=True)),
    )
