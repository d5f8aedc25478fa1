"""Starts made calm, lane after lane in compiled code: as few of the independent velocities moved as will do, see `start.calm`."""

from __future__ import annotations

import math

from draisine.simulation.ensemble.start_rows import (
    ALLOWED,
    CALMED,
    CHOSEN,
    ENTRIES,
    FREE,
    FRESH,
    HELD,
    MOVED,
    NEW,
    ROWS,
    SHARES,
    UNIT,
    Z,
    evaluate,
    factorise,
    judge,
    step,
)
from draisine.simulation.initial.residual_system import EXACT, FULFILLED
from draisine.simulation.initial.rest_velocities import DECIDED, REASON
from draisine.simulation.stepper.native import integers_at, matrix_at, reals_at


def calm(address: int, lane: int) -> int:
    """As few of the chosen unknowns moved as will do, see `start.calm`; 1 if that was done, or nothing is to be done."""
    table = integers_at(address, ENTRIES)
    free, count = table[FREE], table[CALMED]
    chosen, held = integers_at(table[CHOSEN], count), integers_at(table[HELD], free)
    z, calmer = reals_at(table[Z], free), reals_at(table[NEW], free)
    moving = 0
    for c in range(count):
        moving += 1 if z[chosen[c]] != 0.0 else 0
    if moving == 0:
        return 1
    if allow(address, lane) == 0:
        return 0
    bound = REASON * size_of(table[Z], free)
    for c in range(count):
        if z[chosen[c]] == 0.0:
            hold(address, c)
    for k in range(free):
        calmer[k] = z[k]
    best = next_at_rest(address, bound)
    touched = best
    while best >= 0:
        put_to_rest(address, best)
        hold(address, best)
        best = next_at_rest(address, bound)
    if touched < 0:
        return 1
    for k in range(free):
        if held[k] == 1:
            calmer[k] = 0.0
    return put_right(address, lane, bound)


def size_of(address: int, length: int) -> float:
    a = reals_at(address, length)
    total = 0.0
    for i in range(length):
        total += a[i] * a[i]
    return math.sqrt(total)


def allow(address: int, lane: int) -> int:
    """The rows of 1 − QᵀQ that belong to the chosen: how a change of one of them moves all, so that the rows stay fulfilled."""
    table = integers_at(address, ENTRIES)
    rows, free, count = table[ROWS], table[FREE], table[CALMED]
    allowed, chosen = matrix_at(table[ALLOWED], count, free), integers_at(table[CHOSEN], count)
    q, fresh = matrix_at(table[UNIT], rows, free), integers_at(table[FRESH], 1)
    if fresh[0] == 0 and rows > 0:
        fresh[0] = factorise(address, lane)
        if fresh[0] == 0:
            return 0
    for c in range(count):
        for k in range(free):
            allowed[c, k] = 1.0 if k == chosen[c] else 0.0
        for i in range(rows):
            for k in range(free):
                allowed[c, k] -= q[i, chosen[c]] * q[i, k]
    return 1


def hold(address: int, c: int) -> None:
    """Hold one of the chosen at its reference: its changes are taken out of those that the rows allow."""
    table = integers_at(address, ENTRIES)
    free, count = table[FREE], table[CALMED]
    allowed, chosen = matrix_at(table[ALLOWED], count, free), integers_at(table[CHOSEN], count)
    own = chosen[c]
    integers_at(table[HELD], free)[own] = 1
    pivot = allowed[c, own]
    if not pivot > DECIDED:
        return
    for other in range(count):
        if other != c:
            factor = allowed[other, own] / pivot
            for k in range(free):
                allowed[other, k] -= factor * allowed[c, k]
    for k in range(free):
        allowed[c, k] = 0.0


def next_at_rest(address: int, bound: float) -> int:
    """The one of the chosen whose rest asks least of the others, or −1."""
    table = integers_at(address, ENTRIES)
    free, count = table[FREE], table[CALMED]
    allowed, chosen = matrix_at(table[ALLOWED], count, free), integers_at(table[CHOSEN], count)
    calmer, moved, held = reals_at(table[NEW], free), reals_at(table[MOVED], free), integers_at(table[HELD], free)
    best, best_size = -1, math.inf
    for c in range(count):
        if held[chosen[c]] == 1 or not allowed[c, chosen[c]] > DECIDED:
            continue
        factor = calmer[chosen[c]] / allowed[c, chosen[c]]
        for k in range(free):
            moved[k] = calmer[k] - factor * allowed[c, k]
        size = 0.0
        for other in range(count):
            size += moved[chosen[other]] * moved[chosen[other]]
        if size < best_size and size_of(table[MOVED], free) <= bound:
            best, best_size = c, size
    return best


def put_to_rest(address: int, c: int) -> None:
    """The changes with one more of the chosen at its reference."""
    table = integers_at(address, ENTRIES)
    free, count = table[FREE], table[CALMED]
    allowed, own = matrix_at(table[ALLOWED], count, free), integers_at(table[CHOSEN], count)[c]
    calmer = reals_at(table[NEW], free)
    factor = calmer[own] / allowed[c, own]
    for k in range(free):
        calmer[k] -= factor * allowed[c, k]


def put_right(address: int, lane: int, bound: float) -> int:
    """What rounding left of the rows is taken away without moving what is at rest; 1 if the rows are then fulfilled."""
    table = integers_at(address, ENTRIES)
    free, rows = table[FREE], table[ROWS]
    z, calmer, shares = reals_at(table[Z], free), reals_at(table[NEW], free), reals_at(table[SHARES], 2)
    for k in range(free):
        z[k] = calmer[k]
    if rows > 0:
        evaluate(address, lane, table[Z])
        judge(address, lane)
        if shares[1] > EXACT:
            if factorise(address, lane) == 0:
                return 0
            step(address, table[Z], table[Z])
            evaluate(address, lane, table[Z])
            judge(address, lane)
            if not shares[1] <= FULFILLED:
                return 0
    return 1 if size_of(table[Z], free) <= bound else 0
