"""The one entry of the solver of starts: a task, for one start or a batch of them."""

from __future__ import annotations

from draisine.simulation.initial.descent import MISSED, descend, weigh_targets
from draisine.simulation.initial.memory import (
    BATCH,
    DESCEND,
    EVALUATE,
    FIND,
    FIND_ALONE,
    FIND_FAR,
    FULFILLED,
    REST,
    RESTORE,
    WALK,
    Batch,
    System,
    Task,
)
from draisine.simulation.initial.newton import MOST_STEPS, prepare, restore
from draisine.simulation.initial.residual_system import copy, go_to, size_up
from draisine.simulation.initial.rest_velocities import put_to_rest
from draisine.simulation.initial.search import find_far, find_near, take_best, walk


def run(task: Task) -> int:
    """Do a task."""
    s = task.system
    done = True
    if task.what == FIND:
        done = finish_near(s)
    if task.what == FIND_FAR or task.what == FIND_ALONE:
        find_far(s, task.other, 1 if task.what == FIND_FAR else 0, task.thorough)
        take_best(s)
    if task.what == REST:
        put_to_rest(s)
    if task.what == RESTORE:
        size_up(s)
        restore(s, MOST_STEPS)
    if task.what == WALK:
        walk(s)
    if task.what == DESCEND:
        size_up(task.other)
        weigh_targets(s, task.other)
        descend(s, task.other, MISSED)
    if task.what == EVALUATE:
        size_up(s)
        go_to(s, s.here.z)
    if task.what == BATCH:
        return solve_batch(s, task.other, task.batch)
    prepare(s)
    return 1 if done else 0


def finish_near(s: System) -> bool:
    """Near solutions; the best of them is taken if nothing else can be tried."""
    done = find_near(s)
    if done:
        take_best(s)
    return done


def solve_batch(s: System, base: System, b: Batch) -> int:
    """One start after the other; how many were found."""
    found = 0
    for member in range(b.members):
        copy(b.q[member], s.motion.q)
        copy(b.v[member], s.motion.v)
        copy(b.u[member], s.motion.u)
        copy(b.p[member], s.motion.p)
        copy(b.reference[member], s.reference)
        copy(b.scale[member], s.scale)
        copy(b.target[member], s.target)
        if not finish_near(s):
            copy(b.scale[member], base.scale)
            find_far(s, base, 1, 1)
            take_best(s)
        if s.here.share <= FULFILLED:
            found += 1
            b.way[member] = s.way
            if s.homogeneous == 1:
                prepare(s)
                b.full_rank[member] = 1 if s.factors.rank == s.rows else 0
                put_to_rest(s)
        else:
            b.way[member] = 0
        copy(s.here.y, b.found[member])
    return found
