"""Sparse velocities: as few as possible differ from their references.

A target for the speed with the handlebar turned does not mean a steer rate. Starting from the least-norm solution, the
velocities of a group are set to rest one after the other, first the one that changes the others least, and one group after the
other. Velocities that are needed, or whose rest would make the others too large, are not changed.
"""

from __future__ import annotations

import math

from draisine.simulation.initial.descent import move_to_closest
from draisine.simulation.initial.memory import System
from draisine.simulation.initial.newton import MAX_STEPS, prepare, restore
from draisine.simulation.initial.residual_system import EXACT, copy, norm, set_current, square

MAX_GROWTH = 10.0  # the norm of the changes may grow by this factor
DECIDED = 1e-10  # a velocity with less freedom is determined by the rows


def rest_velocities(s: System) -> None:
    """Satisfy the same targets with as few nonzero changes of each group as possible."""
    if s.groups == 0:
        return
    bound = MAX_GROWTH * norm(s.current.z)
    copy(s.current.z, s.best)
    for group in range(1, s.groups + 1):
        rest_group(s, group, bound)
    for k in range(s.free):
        s.fixed[k] = 0
    s.factors.valid = 0


def rest_group(s: System, group: int, bound: float) -> None:
    """Set one group to rest, earlier groups being fixed; `best` are the changes before and after."""
    count, moving = 0, 0
    for k in range(s.free):
        if s.group[k] == group:
            s.candidates[count] = k
            count += 1
            if s.best[k] != 0.0:
                moving += 1
    if moving == 0:
        return
    prepare(s)
    rested = rest_sequence(s, count, bound)
    while rested > 0:
        for c in range(count):
            if s.best[s.candidates[c]] == 0.0:
                s.fixed[s.candidates[c]] = 1
        for n in range(rested):
            s.fixed[s.candidates[s.sequence[n]]] = 1
        if solve_with_fixed(s, rested - 1, bound):
            copy(s.current.z, s.best)
            return
        for c in range(count):
            s.fixed[s.candidates[c]] = 0
        rested -= 1  # rows that are nonlinear in the velocities may have no solution
    set_current(s, s.best)


def rest_sequence(s: System, count: int, bound: float) -> int:
    """The candidates that can be at rest in the linearization, and the changes then; return their number.

    P = 1 − QᵀQ projects onto the changes that keep the residuals. Fixing a candidate moves the others along its row of P, and
    removes the row from P.
    """
    f = s.factors
    for c in range(count):
        own = s.candidates[c]
        for k in range(s.free):
            s.allowed_changes[c, k] = 1.0 if k == own else 0.0
        for i in range(f.rank):
            share = f.basis[f.order[i], own]
            for k in range(s.free):
                s.allowed_changes[c, k] -= share * f.basis[f.order[i], k]
    for c in range(count):
        if s.best[s.candidates[c]] == 0.0:
            fix_velocity(s, c, count)
    copy(s.best, s.step)
    rested = 0
    while rested < count:
        best = next_to_rest(s, count, bound)
        if best < 0:
            break
        own = s.candidates[best]
        factor = s.step[own] / s.allowed_changes[best, own]
        for k in range(s.free):
            s.step[k] -= factor * s.allowed_changes[best, k]
        s.step[own] = 0.0
        fix_velocity(s, best, count)
        s.sequence[rested] = best
        copy(s.step, s.rest_changes[rested])
        rested += 1
    return rested


def fix_velocity(s: System, c: int, count: int) -> None:
    """Fix a candidate: remove its changes from the allowed ones."""
    own = s.candidates[c]
    pivot = s.allowed_changes[c, own]
    if pivot > DECIDED:
        for other in range(count):
            if other != c:
                factor = s.allowed_changes[other, own] / pivot
                for k in range(s.free):
                    s.allowed_changes[other, k] -= factor * s.allowed_changes[c, k]
    for k in range(s.free):
        s.allowed_changes[c, k] = 0.0


def next_to_rest(s: System, count: int, bound: float) -> int:
    """The candidate whose rest changes the others least, or −1."""
    best, least = -1, math.inf
    for c in range(count):
        own = s.candidates[c]
        if not s.allowed_changes[c, own] > DECIDED:
            continue
        factor = s.step[own] / s.allowed_changes[c, own]
        for k in range(s.free):
            s.direction[k] = s.step[k] - factor * s.allowed_changes[c, k]
        size = 0.0
        for other in range(count):
            size += square(s.direction[s.candidates[other]])
        if size < least and norm(s.direction) <= bound:
            best = c
            least = size
    return best


def solve_with_fixed(s: System, last: int, bound: float) -> bool:
    """Solve with the fixed candidates at rest, from the predicted changes; whether there is a solution within the bound."""
    for k in range(s.free):
        s.current.z[k] = s.rest_changes[last, k] if s.fixed[k] == 0 else 0.0
    set_current(s, s.current.z)
    if s.current.strict_relative_residual <= EXACT and norm(s.current.z) <= bound:
        return True  # linear rows, the usual case
    if not restore(s, MAX_STEPS) or norm(s.current.z) > bound:
        return False
    move_to_closest(s)
    return True
