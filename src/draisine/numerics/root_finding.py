"""Root finding in one variable: Brent's method for sign changes, bisection for those of many functions and for conditions,
multisection for conditions that many points share the cost of.

The compiled loop locates events by Chandrupatla's method in restricted Python (`simulation/stepper/events_and_samples.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.float64]


def bracketed_root(
    function: Callable[[float], float], low: float, high: float, rtol: float = 8.0 * float(np.finfo(float).eps)
) -> float:
    """The root in a bracket, by Brent's method to rounding; NaN if the signs at the ends do not differ or the function is not
    finite at an iterate.

    >>> bracketed_root(lambda x: x * x - 2.0, 1.0, 2.0)
    1.414213562373095
    >>> abs(bracketed_root(lambda x: x**3 + x, -1.0, 0.7)) < 1e-15
    True
    """
    from scipy.optimize import brentq

    @cache  # the ends are evaluated twice
    def finite(x: float) -> float:
        value = function(x)
        if not np.isfinite(value):
            raise ArithmeticError
        return value

    try:
        if finite(low) * finite(high) > 0:
            return float("nan")
        found, result = brentq(finite, low, high, xtol=1e-300, rtol=rtol, maxiter=200, full_output=True, disp=False)
        if not result.converged:  # towards a root at zero the relative tolerance is never met
            found = brentq(finite, low, high, xtol=float(np.finfo(float).eps) * (high - low), rtol=rtol, maxiter=500)
        return float(found)
    except ArithmeticError:
        return float("nan")


def bracketed_roots(function: Callable[[Reals], Reals], low: Reals, high: Reals) -> Reals:
    """The roots of many functions, each in its own bracket, by bisection to the rounding of its ends.

    The function takes and returns one number per bracket. Without a change of sign the result is an end of the bracket.

    >>> low, high = np.array([1.0, 1.0]), np.array([2.0, 5.0])
    >>> bracketed_roots(lambda x: x * x - np.array([2.0, 9.0]), low, high).round(12).tolist()
    [1.414213562373, 3.0]
    """
    resolution = float(np.finfo(float).eps) * np.maximum(np.abs(low), np.abs(high))
    at_low, at_high = function(low), function(high)
    while (high - low > resolution).any():
        middle = 0.5 * (low + high)
        if ((middle <= low) | (middle >= high)).all():
            break
        value = function(middle)
        before = (np.sign(value) == np.sign(at_low)) & (at_low != 0.0)
        low, at_low = np.where(before, middle, low), np.where(before, value, at_low)
        high, at_high = np.where(before, high, middle), np.where(before, at_high, value)
    return np.where(np.abs(at_low) < np.abs(at_high), low, high)


def bisect(holds: Callable[[float], bool], low: float, high: float, rounds: int) -> tuple[float, float]:
    """Bisection of a condition that holds at `low` and not at `high`: the last point where it holds, the first where it does not.

    >>> bisect(lambda x: x < 0.3, 0.0, 1.0, 2)
    (0.25, 0.5)
    """
    for _ in range(rounds):
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low, high


def multisect(
    holds: Callable[[Reals], NDArray[np.bool_]], low: float, high: float, halvings: int, points: int = 15
) -> tuple[float, float]:
    """Like `bisect`, for a condition that is evaluated at many points for little more than at one: each round divides the bracket
    by equally spaced points, 15 for four halvings, and goes on before the first at which the condition does not hold. It ends
    after so many halvings, or where no number lies between the ends.

    >>> multisect(lambda x: x < 0.3, 0.0, 1.0, 2, points=3)
    (0.25, 0.5)
    """
    shares = np.arange(1, points + 1) / (points + 1)
    for _ in range(int(np.ceil(halvings / np.log2(points + 1)))):
        inside = low + shares * (high - low)
        inside = inside[(inside > low) & (inside < high)]
        if not len(inside):
            break
        fails = np.flatnonzero(~holds(inside))
        first = int(fails[0]) if len(fails) else len(inside)
        low, high = float(inside[first - 1]) if first else low, float(inside[first]) if first < len(inside) else high
    return low, high
