"""As few independent velocities moved from their defaults as will do.

Who wishes for a speed with the bar turned does not wish for a steer rate. Of the velocities that fulfil all rows those of least
change are known; one independent velocity after the other is put back, that first which asks least of the others. Those that
are needed, or whose absence would drive the others beyond reason, stay as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from draisine.simulation.initial.descent import Distance, descend
from draisine.simulation.initial.newton import restore
from draisine.simulation.initial.residual_system import EXACT, Places, Point, Reals

REASON = 10.0  # the change may grow by this factor for the sake of few velocities
DECIDED = 1e-10  # a velocity with less freedom than this is decided by the rows
MANY = 200  # with more velocities than this, least change is left as it is


def calmed(point: Point, independent: Sequence[str]) -> Point:
    """The same wishes with as few of the independent velocities moved as will do."""
    level = point.level
    wanted = set(independent)
    chosen = np.array([i for i, k in enumerate(level.columns) if level.unknowns[k] in wanted], dtype=np.intp)
    if not np.any(point.z[chosen]) or len(point.z) > MANY:
        return point
    bound = REASON * float(np.linalg.norm(point.z))
    at_rest = chosen[point.z[chosen] == 0.0].tolist()
    back = _put_back(point, chosen, bound)
    while back:
        held = at_rest + [i for i, _ in back]
        calm = _without(point, held, back[-1][1], bound)
        if calm is not None:
            return calm
        back.pop()  # rows that are not linear in the velocities may refuse what their tangents allow
    return point


def _put_back(point: Point, chosen: Places, bound: float) -> list[tuple[int, Reals]]:
    """Which of the chosen can be at their references, judged by the rows' tangents, and the changes once they are.

    P projects on the changes that the rows allow. To hold one at zero moves the others along its column of P, and takes the
    column out of P.
    """
    z = point.z
    candidates = [int(i) for i in chosen if z[i] != 0.0]
    allowed = np.eye(len(z)) - point.inverse @ point.slope
    for i in chosen:
        if z[i] == 0.0:
            allowed = _held(allowed, int(i))
    back: list[tuple[int, Reals]] = []
    while True:
        best, best_size, best_z = -1, np.inf, z
        for i in candidates:
            if allowed[i, i] > DECIDED:
                moved = z - (z[i] / allowed[i, i]) * allowed[:, i]
                size = float(np.linalg.norm(moved[chosen]))
                if size < best_size and np.linalg.norm(moved) <= bound:
                    best, best_size, best_z = i, size, moved
        if best < 0:
            return back
        z, allowed = best_z, _held(allowed, best)
        candidates.remove(best)
        back.append((best, z))


def _held(allowed: Reals, i: int) -> Reals:
    """The changes allowed with one more velocity held."""
    if not allowed[i, i] > DECIDED:
        return allowed
    return allowed - np.outer(allowed[:, i], allowed[:, i]) / allowed[i, i]


def _without(point: Point, held: Sequence[int], z: Reals, bound: float) -> Point | None:
    """The solution with some velocities held at their references, if there is one within reason."""
    level = point.level
    there = np.array(z)
    there[list(held)] = 0.0
    as_predicted = level.at(there)
    if as_predicted.share <= EXACT and as_predicted.strict_share <= EXACT and np.linalg.norm(there) <= bound:
        return as_predicted  # linear rows, as they mostly are
    free = level.free.copy()
    free[level.columns[list(held)]] = False
    found = restore(replace(level, free=free), np.delete(z, list(held)))
    if not found.fulfilled or np.linalg.norm(found.point.z) > bound:
        return None
    return descend(found.point, Distance())
