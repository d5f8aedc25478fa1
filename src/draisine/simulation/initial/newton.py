"""Newton's method for fewer, as many, or more equations than unknowns, some of which may be redundant.

Each step is the shortest that fulfils the linearised equations, so that quadratic convergence is kept and little is moved. Where
a full step does not help, it is damped as by Levenberg and Marquardt, which turns it towards steepest descent.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from draisine.simulation.initial.residual_system import EXACT, FULFILLED, Level, Point, Reals

MOST_STEPS = 80
PATIENCE = 8  # steps in which residuals must fall by a fifth
HELPED = 0.1  # a step is taken if it does at least this part of what the linear model promises
DAMPINGS = 10.0 ** np.arange(-6.0, 5.0, 2.0)  # times the sum of squares of the weighted rows


@dataclass(frozen=True, eq=False)
class Restored:
    """Where Newton ended; `damped` if full steps did not lead there, so that another solution may be closer.

    `shortest` if the equations were linear along the way, which then lies in the span of their rows: no solution is closer to
    where it began.
    """

    point: Point
    damped: bool
    shortest: bool

    @property
    def fulfilled(self) -> bool:
        return self.point.fulfilled


def restore(level: Level, z: Reals, most_steps: int = MOST_STEPS) -> Restored:
    """From z on to residuals that vanish, or to where they cannot be lessened any more."""
    point, damped, lowest = level.at(z), False, 0
    steps, before, linear = 0, np.inf, True
    while steps < most_steps:
        if steps % PATIENCE == PATIENCE - 1:
            if point.share > 0.8 * before:
                break
            before = point.share
        if not z.size or not EXACT < point.share < np.inf:
            break
        trial = _full_step(point)
        if trial is None and point.share > FULFILLED:
            trial, lowest = _damped_step(point, lowest)
            damped = True
        if trial is None:
            break
        point, steps, linear = trial, steps + 1, linear and trial.straight
    return Restored(_polished(point), damped, shortest=linear and not damped)


def _full_step(point: Point) -> Point | None:
    """The shortest step that fulfils the linearised equations, or as much of it as is believed, if it helps."""
    step = -point.inverse @ point.residual
    return _if_better(point, _believed(point.level, step))


def _believed(level: Level, step: Reals) -> Reals:
    """A step made so short that no unknown leaps."""
    excess = float((np.abs(step) / level.furthest).max(initial=0.0))
    return step / excess if excess > 1.0 else step


def _damped_step(point: Point, lowest: int) -> tuple[Point | None, int]:
    """A step that is shorter and turned towards steepest descent, and which damping to begin with the next time."""
    rows, side = point.slope / point.weight[:, None], point.residual / point.weight
    products = rows @ rows.T
    most = float(np.trace(products))
    for k in range(lowest, len(DAMPINGS)) if most > 0.0 else ():
        damped = products + DAMPINGS[k] * most * np.eye(len(side))
        trial = _if_better(point, _believed(point.level, -rows.T @ np.linalg.solve(damped, side)))
        if trial is not None:
            return trial, max(k - 1, 0)
    return None, 0


def _if_better(point: Point, step: Reals) -> Point | None:
    """The point a step further, if its residuals have shrunk by a fair part of what the linear model promises."""
    size = _length(point.residual / point.weight)
    promised = size - _length((point.residual + point.slope @ step) / point.weight)
    if not promised > 1e-3 * size:
        return None
    trial = point.level.at(point.z + step)
    if not trial.finite or _length(trial.residual / point.weight) > size - HELPED * promised:
        return None
    trial.inherit(point)
    return trial


def _length(vector: Reals) -> float:
    return math.sqrt(float(vector @ vector))


def _polished(point: Point) -> Point:
    """Last steps where large unknowns stand beside small ones, whose rows rounding would leave unfinished."""
    for _ in range(3):
        if not point.z.size or not point.fulfilled or point.strict_share <= EXACT:
            break
        trial = point.level.at(point.z - point.inverse @ point.residual)
        if not (trial.fulfilled and trial.strict_share < 0.5 * point.strict_share):
            break
        trial.inherit(point)
        point = trial
    return point
