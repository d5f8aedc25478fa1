"""Paths that no finite control follows: a path constraint, or a derivative of it below its relative degree, jumps in time.

The controls determine the derivative of the order of the relative degree. If a lower one jumps, as the velocity of |t − 1| does
for a force, the control would be an impulse there.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from draisine.control.plant import Plant, stacked
from draisine.control.relative_degree import Degrees, Sample
from draisine.errors import ArgumentError

Reals = NDArray[np.float64]

INTERVALS = 4000  # in which a jump is looked for
ODD = 4.0  # change in an interval, relative to those in its neighbors, that may be a jump
NARROW = 1e-11  # width of an interval across which a change is a jump, relative to the duration
JUMP = 1e-6  # change across it, relative to the largest value
MOST = 40  # intervals that are looked into, of each condition


def refuse_impulses(plant: Plant, found: Degrees, start: Sample, until: float) -> None:
    """Refuse a path whose conditions on the state jump in time, at the state of the start."""
    timed = [row for row in found.conditions if ca.depends_on(row.residual, plant.t)]
    if not timed:
        return
    function = ca.Function("conditions", plant.arguments, [ca.densify(stacked([row.residual for row in timed]))])

    def at(times: Reals) -> Reals:
        """Conditions (times, rows)."""
        count = len(times)
        point = [np.repeat(part[:, None], count, axis=1) for part in (start.x, start.inputs, start.p)]
        return np.asarray(function.map(count)(times[None], *point).full()).reshape(len(timed), count).T

    def value(row: int, t: float) -> float:
        return float(at(np.array([t]))[0, row])

    # at no simple share of the duration, where paths are often given
    times = until * (np.arange(INTERVALS + 1) / INTERVALS) ** 1.0003
    values = at(times)
    for row, column in zip(timed, values.T, strict=True):
        i = timed.index(row)
        size = max(float(np.nanmax(np.abs(column))), 1.0)
        for k in _suspicious(column)[:MOST]:
            low, high = _narrowed(partial(value, i), float(times[k]), float(times[k + 1]), until)
            change = abs(float(np.diff(at(np.array([low, high]))[:, i])[0]))
            if change > JUMP * size:
                what = {0: "it", 1: "its rate"}.get(row.times, f"its derivative of order {row.times}")
                raise ArgumentError(
                    f"{plant.equations.name}: the path {row.name!r} needs an impulse at t = {high:.6g} s, where {what} jumps "
                    f"by {change:.4g}: "
                    f"the controls determine its derivative of order {found.degrees[row.name]}; prescribe a path that is "
                    f"smooth there, or "
                    "follow the parts one after the other"
                )


def _suspicious(values: Reals) -> list[int]:
    """Intervals whose change is large beside that of their neighbors, the largest first."""
    steps = np.abs(np.diff(values))
    around = np.maximum(np.concatenate([[0.0], steps[:-1]]), np.concatenate([steps[1:], [0.0]]))
    odd = np.flatnonzero(steps > ODD * np.minimum(around, np.median(steps) + around) + 1e-300)
    return [int(k) for k in odd[np.argsort(-steps[odd])]]


def _narrowed(value: Callable[[float], float], low: float, high: float, until: float) -> tuple[float, float]:
    """The part of an interval, halved again and again, across which most of the change is."""
    first, last = value(low), value(high)
    while high - low > NARROW * until:
        middle = 0.5 * (low + high)
        if not low < middle < high:
            break
        here = value(middle)
        if abs(here - first) > abs(last - here):
            high, last = middle, here
        else:
            low, first = middle, here
    return low, high
