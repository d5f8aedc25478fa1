"""As few velocities moved from their references as will do.

Who asks for a speed with the bar turned does not ask for a steer rate. Of the velocities that fulfil all rows those of least
change are known; one velocity of a group after the other is put to rest, that first which asks least of the others, and one
group after the other. Those that are needed, or whose rest would drive the others beyond reason, stay as they are.
"""

from __future__ import annotations

import math

from draisine.simulation.initial.descent import find_closest
from draisine.simulation.initial.memory import System
from draisine.simulation.initial.newton import MOST_STEPS, prepare, restore
from draisine.simulation.initial.residual_system import EXACT, copy, go_to, norm, square

REASON = 10.0  # the change may grow by this factor for the sake of few velocities
DECIDED = 1e-10  # a velocity with less freedom than this is decided by the rows


def put_to_rest(s: System) -> None:
    """The same targets with as few of the velocities of each group moved as will do."""
    if s.groups == 0:
        return
    bound = REASON * norm(s.here.z)
    copy(s.here.z, s.best)
    for group in range(1, s.groups + 1):
        rest_of_group(s, group, bound)
    for k in range(s.free):
        s.fixed[k] = 0
    s.factors.fresh = 0


def rest_of_group(s: System, group: int, bound: float) -> None:
    """One group, those of earlier groups being fixed; `best` are the changes before and after."""
    count, moving = 0, 0
    for k in range(s.free):
        if s.group[k] == group:
            s.chosen[count] = k
            count += 1
            if s.best[k] != 0.0:
                moving += 1
    if moving == 0:
        return
    prepare(s)
    rested = sequence_to_rest(s, count, bound)
    while rested > 0:
        for c in range(count):
            if s.best[s.chosen[c]] == 0.0:
                s.fixed[s.chosen[c]] = 1
        for n in range(rested):
            s.fixed[s.chosen[s.sequence[n]]] = 1
        if with_fixed(s, rested - 1, bound):
            copy(s.here.z, s.best)
            return
        for c in range(count):
            s.fixed[s.chosen[c]] = 0
        rested -= 1  # rows that are not linear in the velocities may refuse what their tangents allow
    go_to(s, s.best)


def sequence_to_rest(s: System, count: int, bound: float) -> int:
    """Which of the chosen can be at rest, judged by the rows' tangents, and the changes once they are; how many.

    P = 1 − QᵀQ projects on the changes that the rows allow. To hold one at rest moves the others along its row of P, and takes
    the row out of P.
    """
    f = s.factors
    for c in range(count):
        own = s.chosen[c]
        for k in range(s.free):
            s.allowed[c, k] = 1.0 if k == own else 0.0
        for i in range(f.rank):
            share = f.basis[f.order[i], own]
            for k in range(s.free):
                s.allowed[c, k] -= share * f.basis[f.order[i], k]
    for c in range(count):
        if s.best[s.chosen[c]] == 0.0:
            hold(s, c, count)
    copy(s.best, s.step)
    rested = 0
    while rested < count:
        best = next_to_rest(s, count, bound)
        if best < 0:
            break
        own = s.chosen[best]
        factor = s.step[own] / s.allowed[best, own]
        for k in range(s.free):
            s.step[k] -= factor * s.allowed[best, k]
        s.step[own] = 0.0
        hold(s, best, count)
        s.sequence[rested] = best
        copy(s.step, s.rests[rested])
        rested += 1
    return rested


def hold(s: System, c: int, count: int) -> None:
    """Hold one of the chosen: its changes are taken out of those that the rows allow."""
    own = s.chosen[c]
    pivot = s.allowed[c, own]
    if pivot > DECIDED:
        for other in range(count):
            if other != c:
                factor = s.allowed[other, own] / pivot
                for k in range(s.free):
                    s.allowed[other, k] -= factor * s.allowed[c, k]
    for k in range(s.free):
        s.allowed[c, k] = 0.0


def next_to_rest(s: System, count: int, bound: float) -> int:
    """The one of the chosen whose rest asks least of the others, or −1."""
    best, least = -1, math.inf
    for c in range(count):
        own = s.chosen[c]
        if not s.allowed[c, own] > DECIDED:
            continue
        factor = s.step[own] / s.allowed[c, own]
        for k in range(s.free):
            s.direction[k] = s.step[k] - factor * s.allowed[c, k]
        size = 0.0
        for other in range(count):
            size += square(s.direction[s.chosen[other]])
        if size < least and norm(s.direction) <= bound:
            best = c
            least = size
    return best


def with_fixed(s: System, last: int, bound: float) -> bool:
    """The solution with what is fixed at rest, from the changes that the tangents predict, if there is one within reason."""
    for k in range(s.free):
        s.here.z[k] = s.rests[last, k] if s.fixed[k] == 0 else 0.0
    go_to(s, s.here.z)
    if s.here.strict_share <= EXACT and norm(s.here.z) <= bound:
        return True  # linear rows, as they mostly are
    if not restore(s, MOST_STEPS) or norm(s.here.z) > bound:
        return False
    find_closest(s)
    return True
