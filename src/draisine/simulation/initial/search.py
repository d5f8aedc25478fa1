"""A solution close to the reference, also where wishes lie far from it.

Newton from the reference; if it fails, from small fixed moves away from it (a length has no gradient at zero, a stretched arm
none to fold); then continuation, in which the wishes are walked from what the constraints alone give to what was asked for; then
downhill along the constraints in what is missing of the wishes; then a few restarts, the same in every run. What is found slides
along the solutions to the place closest to the reference.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np

from draisine.simulation.initial.descent import Distance, Missing, descend
from draisine.simulation.initial.newton import restore
from draisine.simulation.initial.residual_system import Level, Point, Reals

NUDGES = (1e-3, 1e-2, 1e-1)
RESTARTS = ((0.3, 6), (1.0, 8), (3.0, 12))  # how far, in scales, and how often
SHORTEST = 1e-4  # of the way, in continuation
MOST_STEPS = 100


class Way(StrEnum):
    """How a start was found."""

    NEWTON = "Newton from the defaults"
    NUDGE = "Newton from beside the defaults"
    CONTINUATION = "continuation in the wishes"
    DESCENT = "descent towards the wishes"
    RESTART = "Newton from elsewhere"


@dataclass(frozen=True, eq=False)
class Found:
    """What a search ended with. If it failed, `point` has the smallest residuals met."""

    point: Point
    way: Way

    @property
    def fulfilled(self) -> bool:
        return self.point.fulfilled


def find(level: Level, base: Callable[[], Level] | None = None, thorough: bool = True) -> Found:
    """A solution of the level; `base` gives the same without its wishes, where continuation begins."""
    first = restore(level, level.origin)
    if first.fulfilled and not first.damped:
        return Found(first.point if first.shortest else _closest(first.point), Way.NEWTON)
    tries = [Found(_closest(first.point), Way.NEWTON)]
    if not first.fulfilled:
        tries += _beside(level)
        if np.array_equal(level.slope(level.origin), level.slope(NUDGES[-1] * aside(len(level.columns)))):
            return tries[0]  # linear equations: their least squares are the last word
    # a solution that full steps did not lead to need not be the closest one
    if base is not None:
        tries += _by_wishes(level, base())
    if thorough and not any(found.fulfilled for found in tries):
        tries += _elsewhere(level)
    solved = [found for found in tries if found.fulfilled]
    if solved:
        return min(solved, key=lambda found: float(np.linalg.norm(found.point.z)))
    return min(tries, key=lambda found: found.point.share)


def _closest(point: Point) -> Point:
    return descend(point, Distance()) if point.fulfilled else point


def _by_wishes(level: Level, base: Level) -> list[Found]:
    """From a solution without wishes: walk towards them, and if that fails, go downhill in what is missing of them."""
    start = find(base, thorough=False)
    if not start.fulfilled:
        return []
    walked = restore(level, level.changes(walk(level, start.point))).point
    if walked.fulfilled or not level.wishful:
        return [Found(_closest(walked), Way.CONTINUATION)]
    asked = level.asked(base)
    aim = Missing(asked, asked.at(start.point.z).weight)
    found = []
    for begin in (start.point, restore(base, start.point.z + NUDGES[-1] * aside(len(start.point.z))).point):
        end = descend(begin, aim) if begin.fulfilled else begin
        found.append(Found(_closest(restore(level, level.changes(end.y)).point), Way.DESCENT))
        if found[-1].fulfilled:
            break
    return found


def aside(count: int) -> Reals:
    """A direction that no symmetry has, the same in every run."""
    return np.cos(1.0 + 2.4 * np.arange(count))


def _beside(level: Level) -> list[Found]:
    found = []
    for size in NUDGES:
        there = restore(level, size * aside(len(level.columns)))
        found.append(Found(_closest(there.point), Way.NUDGE))
        if there.fulfilled:
            break
    return found


def _elsewhere(level: Level) -> list[Found]:
    """Restarts, ever farther from the reference until one succeeds."""
    random = np.random.default_rng(1992)
    found: list[Found] = []
    for size, count in RESTARTS:
        for _ in range(count):
            there = restore(level, size * random.uniform(-1.0, 1.0, len(level.columns)))
            found.append(Found(_closest(there.point), Way.RESTART))
        if any(f.fulfilled for f in found):
            break
    return found


# ------------------------------------------------------------------------------------------------------ continuation


def walk(level: Level, start: Point) -> Reals:
    """All unknowns where wishes, moved step by step from what they are at the start towards what they should be, came to.

    They fulfil the level if the way was walked to its end.
    """
    path = _Path(level, start.y)
    y, done, step, looks = start.y, 0.0, 1.0, 3
    for _ in range(MOST_STEPS):
        if done == 1.0 or step < SHORTEST:
            break
        wanted = min(done + step, 1.0)
        ahead = path.step(y, wanted)
        if ahead is None and step <= 0.25 and looks:
            ahead, looks = path.step_beside(y, wanted), looks - 1
        if ahead is None:
            step *= 0.5
            continue
        y, done, step = ahead.y, wanted, 2.0 * step
    return y


@dataclass(frozen=True, eq=False)
class _Path:
    """Levels between a solution without wishes and one with them."""

    level: Level
    begin: Reals  # all unknowns at the solution without wishes

    def at(self, part: float) -> Level:
        """The level with wishes a part of the way from where they are to where they should be."""
        if part == 1.0:
            return self.level
        level = self.level
        held = ~level.free
        reference = level.reference.copy()
        reference[held] = (1.0 - part) * self.begin[held] + part * level.reference[held]
        now = level.call(self.begin)[0][level.take]
        target = np.where(level.wished, (1.0 - part) * now + part * level.target, level.target)
        return replace(level, reference=reference, target=target)

    def step(self, y: Reals, wanted: float) -> Point | None:
        """Along the tangent, then by Newton; refused if Newton has to correct much of it."""
        there = self.at(wanted)
        here = there.at(there.changes(y))
        if not here.finite:
            return None
        guess = here.z - here.inverse @ here.residual
        moved = float(np.linalg.norm(guess - here.z))
        point = restore(there, guess, most_steps=8).point
        if not point.fulfilled or np.linalg.norm(point.z - guess) > 0.5 * moved + 1e-6:
            return None
        return point

    def step_beside(self, y: Reals, wanted: float) -> Point | None:
        """From a fixed small move beside the path: where it begins in a symmetry, no tangent leads out of it."""
        there = self.at(wanted)
        z = there.changes(y)
        for size in NUDGES:
            point = restore(there, z + size * aside(len(z)), most_steps=30).point
            if point.fulfilled and np.linalg.norm(point.z - z) <= 1.0:
                return point
        return None
