"""Velocities at rest: what is not given is zero, one group after the other, as far as the rows and earlier groups allow.

A target for the speed with the handlebar turned does not mean a steer rate, and a balancing robot does not pitch because its
speed is given. The rows of a group (`rest_groups`) are made as small as possible, by least squares, among the velocities that
satisfy the targets and keep the rows of all earlier groups: hierarchical least squares. The velocities of the last solution
become exactly zero where they are zero up to rounding.

With the orthonormal rows Q of all that is decided already, the rows G of a group change along B = G (1 − QᵀQ) = L Q′; Q′ comes
from Gram–Schmidt with pivoting, the row with the largest remainder first, and y from the least squares of c + L y, with c the
values of the group. Rows that are decided have no remainder.
"""

from __future__ import annotations

import math

from draisine.codegen.restricted.types import Vector
from draisine.simulation.initial.memory import System
from draisine.simulation.initial.newton import MAX_STEPS, prepare, restore
from draisine.simulation.initial.residual_system import EXACT, copy, dot, maximum, norm, set_current, square

MAX_GROWTH = 10.0  # the velocities, without free spins, may grow by this factor
DECIDED = 1e-9  # part of a row below which its remainder is a rounding error
ROUNDS = 8  # for rows that are nonlinear in the velocities
SETTLED = 1e-13  # relative change in the last round
ZERO = 1e-13  # part of the largest velocity below which one is zero
SLIP = 1  # the group whose values are zero themselves; the others differ from their references
SPINS = 6  # the group of free spins


def rest_velocities(s: System) -> None:
    """Satisfy the same targets with the velocities of each group as small as possible."""
    if s.groups == 0:
        return
    set_current(s, s.current.z)
    moving = size_of_motion(s)
    if moving == 0.0:
        return
    bound = MAX_GROWTH * moving
    for _ in range(ROUNDS):
        set_current(s, s.current.z)
        set_rest_matrix(s)
        prepare(s)
        decided = s.factors.rank
        for i in range(decided):
            copy(s.factors.basis[s.factors.order[i]], s.decided[i])
        copy(s.current.z, s.step)
        for group in range(1, s.groups + 1):
            decided = rest_group(s, group, decided, bound)
        change = 0.0
        for k in range(s.free):
            change = maximum(change, abs(s.step[k] - s.current.z[k]))
        copy(s.current.z, s.saved)
        set_current(s, s.step)
        if s.current.strict_relative_residual > EXACT and not restore(s, MAX_STEPS):
            set_current(s, s.saved)
            break
        if change <= SETTLED * norm(s.current.z):
            break
    set_zeros(s)


def size_of_motion(s: System) -> float:
    """The size of all velocities at `current` but free spins, in scales, with the slips; zero if everything is at rest."""
    total = free_size(s, s.current.z)
    for j in range(s.unknowns):
        if s.prescribed[j] == 1:
            total += abs(s.current.y[j] - s.default[j]) / s.scale[j]
    for i in range(s.rest):
        if s.rest_group[i] == SLIP:
            total += abs(s.motion.values[s.rest_value[i]]) / s.length
        elif s.rest_group[i] == SPINS and s.rest_free[i] >= 0 and s.current.z[s.rest_free[i]] != 0.0 and total == 0.0:
            total = norm(s.current.z)
    return total


def free_size(s: System, z: Vector) -> float:
    """The norm of changes without those of spins: a small wheel turns fast."""
    total = 0.0
    for i in range(s.rest):
        if s.rest_free[i] >= 0 and s.rest_group[i] != SPINS:
            total += square(z[s.rest_free[i]])
    return math.sqrt(total)


def set_rest_matrix(s: System) -> None:
    """The rows of all groups by z at `current`, and their values without the changes z."""
    for i in range(s.rest):
        for k in range(s.free):
            s.rest_matrix[i, k] = 0.0
        s.rest_offset[i] = 0.0
        if s.rest_free[i] >= 0:
            s.rest_matrix[i, s.rest_free[i]] = 1.0
        elif s.rest_group[i] == SLIP:
            s.rest_offset[i] = s.motion.values[s.rest_value[i]]
    for j in range(s.unknowns):
        s.place_of[j] = -1
    for k in range(s.free):
        s.place_of[s.columns[k]] = k
    for e in range(len(s.rest_source)):
        i, j = s.rest_row[e], s.rest_column[e]
        slope = s.derivatives[s.rest_source[e]]
        if s.rest_group[i] != SLIP:
            s.rest_offset[i] += slope * (s.current.y[j] - s.default[j])
        if s.place_of[j] >= 0:
            s.rest_matrix[i, s.place_of[j]] = slope * s.scale[j]
    for i in range(s.rest):
        if s.rest_free[i] < 0:
            if s.rest_meters[i] == 1:
                s.rest_offset[i] /= s.length
                for k in range(s.free):
                    s.rest_matrix[i, k] /= s.length
            s.rest_offset[i] -= dot(s.rest_matrix[i], s.current.z)


def rest_group(s: System, group: int, decided: int, bound: float) -> int:
    """Make the rows of a group as small as possible in `step`; return the number of directions that are decided then."""
    first, last = 0, 0
    for i in range(s.rest):
        if s.rest_group[i] < group:
            first = i + 1
        if s.rest_group[i] <= group:
            last = i + 1
    for i in range(first, last):
        copy(s.rest_matrix[i], s.remainder[i])
        s.rest_size[i] = norm(s.remainder[i])
        for _ in range(2):
            for k in range(decided):
                remove_along(s, i, k)
    count = 0
    while decided + count < s.free and add_direction(s, first, last, decided + count, count):
        count += 1
    while count > 0:
        least_squares(s, first, last, count)
        copy(s.step, s.gradient)
        for n in range(count):
            for k in range(s.free):
                s.gradient[k] += s.rest_part[n] * s.decided[decided + n, k]
        if free_size(s, s.gradient) <= bound:
            copy(s.gradient, s.step)
            return decided + count
        count -= 1  # the direction with the smallest remainder makes the others too large
    return decided


def remove_along(s: System, i: int, k: int) -> float:
    """Remove from the remainder of a row its component along a decided direction; return the component."""
    share = dot(s.remainder[i], s.decided[k])
    for j in range(s.free):
        s.remainder[i, j] -= share * s.decided[k, j]
    return share


def add_direction(s: System, first: int, last: int, place: int, count: int) -> bool:
    """Add the row with the largest remainder to the decided directions; whether there was one."""
    best, most = -1, DECIDED
    for i in range(first, last):
        if s.rest_size[i] > 0.0:
            part = norm(s.remainder[i]) / s.rest_size[i]
            if part > most:
                best = i
                most = part
    if best < 0:
        return False
    for k in range(place):
        remove_along(s, best, k)
    size = norm(s.remainder[best])
    for j in range(s.free):
        s.decided[place, j] = s.remainder[best, j] / size
    for i in range(first, last):
        s.rest_lower[i, count] = remove_along(s, i, place)
    return True


def least_squares(s: System, first: int, last: int, count: int) -> None:
    """y of the least squares of c + L y in `rest_part`, by Gram–Schmidt on the columns of L."""
    for n in range(count):
        for i in range(first, last):
            s.rest_unit[i, n] = s.rest_lower[i, n]
        for m in range(n):
            s.rest_upper[m, n] = 0.0
        for _ in range(2):
            for m in range(n):
                share = 0.0
                for i in range(first, last):
                    share += s.rest_unit[i, m] * s.rest_unit[i, n]
                s.rest_upper[m, n] += share
                for i in range(first, last):
                    s.rest_unit[i, n] -= share * s.rest_unit[i, m]
        total = 0.0
        for i in range(first, last):
            total += s.rest_unit[i, n] * s.rest_unit[i, n]
        s.rest_upper[n, n] = math.sqrt(total)
        for i in range(first, last):
            s.rest_unit[i, n] /= s.rest_upper[n, n]
    for n in range(count):
        s.rest_part[n] = 0.0
        for i in range(first, last):
            s.rest_part[n] -= s.rest_unit[i, n] * (s.rest_offset[i] + dot(s.rest_matrix[i], s.step))
    for n in range(count - 1, -1, -1):
        for m in range(n + 1, count):
            s.rest_part[n] -= s.rest_upper[n, m] * s.rest_part[m]
        s.rest_part[n] /= s.rest_upper[n, n]


def set_zeros(s: System) -> None:
    """Make velocities that are zero up to rounding exactly zero, if the rows allow it."""
    copy(s.current.z, s.best)
    largest = 0.0
    for k in range(s.free):
        largest = maximum(largest, abs(s.best[k]))
    changed = 0
    for k in range(s.free):
        if abs(s.best[k]) <= ZERO * largest:
            s.fixed[k] = 1
            if s.best[k] != 0.0:
                changed = 1
            s.current.z[k] = 0.0
    if changed == 1:
        set_current(s, s.current.z)
        if s.current.strict_relative_residual > EXACT and not restore(s, MAX_STEPS):
            set_current(s, s.best)
    for k in range(s.free):
        s.fixed[k] = 0
    s.factors.valid = 0
