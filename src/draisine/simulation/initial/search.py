"""A solution close to the references, also where targets lie far from them.

Newton from the references; if it fails, from small fixed moves away from them (a length has no gradient at zero, a stretched arm
none to fold); then continuation, in which targets are moved from what the constraints alone give to what was asked for; then
downhill along the constraints in what is missing of the targets; then a few restarts, the same in every run. What is found slides
along the solutions to the place closest to the references.
"""

from __future__ import annotations

import math

from draisine.codegen.restricted.types import Vector
from draisine.simulation.initial.descent import MISSED, descend, find_closest, weigh_targets
from draisine.simulation.initial.memory import CONTINUATION, DESCENT, FULFILLED, NEWTON, NUDGED, RESTARTED, System
from draisine.simulation.initial.newton import MOST_STEPS, least_norm, prepare, restore
from draisine.simulation.initial.residual_system import (
    changes_to,
    copy,
    evaluate_rows,
    go_to,
    norm,
    place_unknowns,
    size_up,
    square,
)

NUDGES = 3  # 10⁻³, 10⁻², 10⁻¹
LEAST_NUDGE = 1e-3
LARGEST_NUDGE = 0.1
SEED = 1992  # of restarts
SHORTEST = 1e-4  # of the way, in continuation
MOST_PARTS = 100


def find_near(s: System) -> bool:
    """Newton from the references and from beside them; whether nothing remains to be tried."""
    for k in range(s.free):
        s.here.z[k] = 0.0
        s.fixed[k] = 0
    s.way = 0
    s.best_share = math.inf
    s.best_size = math.inf
    size_up(s)
    fulfilled = restore(s, MOST_STEPS)
    undamped, curved = s.damped == 0, s.curved
    if fulfilled:
        if curved == 1 or not undamped:
            find_closest(s)
        offer(s, NEWTON)
        return undamped  # a solution that full steps did not lead to need not be the closest one
    offer(s, NEWTON)
    if is_linear(s):
        return True  # least squares of linear equations are the last word
    size = LEAST_NUDGE
    for _ in range(NUDGES):
        beside(s, size, s.here.z)
        fulfilled = restore(s, MOST_STEPS)
        close_in(s, NUDGED)
        if fulfilled:
            return False
        size *= 10.0
    return False


def find_far(s: System, base: System, with_base: int, thorough: int) -> None:
    """What remains to be tried; `base` is the system without targets."""
    if with_base == 1:
        by_targets(s, base)
    if thorough == 1 and not s.best_share <= FULFILLED:
        elsewhere(s)


def take_best(s: System) -> bool:
    """Go to the best end of all tries; whether it is a solution."""
    if distance(s.here.z, s.best) > 0.0 or s.here.share != s.best_share:
        go_to(s, s.best)
    return s.here.share <= FULFILLED


def close_in(s: System, way: int) -> None:
    """Slide along the solutions, if this is one, and offer what is found."""
    if s.here.share <= FULFILLED:
        find_closest(s)
    offer(s, way)


def offer(s: System, way: int) -> None:
    """Keep an end if it is a solution closer to the references than those before, or as long as there is none, if it is closer
    to being one."""
    size = norm(s.here.z)
    if s.here.share <= FULFILLED:
        if s.best_share <= FULFILLED and size >= s.best_size:
            return
    elif s.way != 0 and not s.here.share < s.best_share:
        return
    copy(s.here.z, s.best)
    s.best_share = s.here.share
    s.best_size = size
    s.way = way


def beside(s: System, size: float, z: Vector) -> None:
    """A move from the references in a direction that no symmetry has, the same in every run."""
    for k in range(s.free):
        z[k] = size * math.cos(1.0 + 2.4 * float(k))


def is_linear(s: System) -> bool:
    """Whether the Jacobian is the same beside the references."""
    for k in range(s.free):
        s.here.z[k] = 0.0
    place_unknowns(s, s.here)
    evaluate_rows(s, s.here)
    s.here.share = math.inf  # it is not judged
    beside(s, LARGEST_NUDGE, s.trial.z)
    place_unknowns(s, s.trial)
    evaluate_rows(s, s.trial)
    for i in range(s.rows):
        for k in range(s.free):
            if s.here.jacobian[i, s.columns[k]] != s.trial.jacobian[i, s.columns[k]]:
                return False
    return True


def elsewhere(s: System) -> None:
    """Restarts, ever farther from the references until one succeeds; by the minimal standard generator of Park and Miller."""
    state = SEED
    for ring in range(3):
        size = 0.3 if ring == 0 else (1.0 if ring == 1 else 3.0)
        for _ in range(6 if ring == 0 else (8 if ring == 1 else 12)):
            for k in range(s.free):
                state = state * 16807 % 2147483647
                s.here.z[k] = size * (2.0 * float(state) / 2147483647.0 - 1.0)
            restore(s, MOST_STEPS)
            close_in(s, RESTARTED)
        if s.best_share <= FULFILLED:
            return


# ------------------------------------------------------------------------------------------------------ from no targets


def by_targets(s: System, base: System) -> None:
    """From a solution without targets: walk towards them, and if that fails, go downhill in what is missing of them."""
    find_near(base)
    if not take_best(base):
        return
    copy(base.here.y, s.begin)
    walk(s)
    if restore(s, MOST_STEPS) or not has_targets(s):
        close_in(s, CONTINUATION)
        return
    weigh_targets(base, s)
    for turn in range(2):
        copy(base.best, base.here.z)
        if turn == 1:
            for k in range(base.free):
                base.here.z[k] += LARGEST_NUDGE * math.cos(1.0 + 2.4 * float(k))
        if restore(base, MOST_STEPS):
            descend(base, s, MISSED)
        changes_to(s, base.here.y, s.here.z)
        restore(s, MOST_STEPS)
        close_in(s, DESCENT)
        if s.best_share <= FULFILLED:
            return


def has_targets(s: System) -> bool:
    """Whether anything is asked for."""
    for i in range(s.rows):
        if s.targeted[i] == 1:
            return True
    return s.free < s.unknowns


def walk(s: System) -> None:
    """Move targets step by step from what they are at `begin` to what they should be.

    `here` is then where that came to; it fulfils all rows if the way was walked to its end.
    """
    copy(s.target, s.last_target)
    copy(s.reference, s.last_reference)
    copy(s.begin, s.trial.y)
    evaluate_rows(s, s.trial)
    for i in range(s.rows):
        s.values_there[i] = s.trial.residual[i] + s.target[i]
    copy(s.begin, s.here.y)
    done, length, looks = 0.0, 1.0, 3
    for _ in range(MOST_PARTS):
        if done == 1.0 or length < SHORTEST:
            break
        wanted = done + length if done + length < 1.0 else 1.0
        set_targets(s, wanted)
        copy(s.here.y, s.last_y)
        ahead = walk_along(s)
        if not ahead and length <= 0.25 and looks > 0:
            copy(s.last_y, s.here.y)
            ahead = walk_beside(s)
            looks -= 1
        if ahead:
            done = wanted
            length *= 2.0
        else:
            copy(s.last_y, s.here.y)
            length *= 0.5
    copy(s.here.y, s.last_y)
    set_targets(s, 1.0)
    changes_to(s, s.last_y, s.here.z)


def set_targets(s: System, part: float) -> None:
    """Targets a part of the way from where they are to where they should be."""
    for i in range(s.rows):
        s.target[i] = s.last_target[i]
        if s.targeted[i] == 1 and part < 1.0:
            s.target[i] = (1.0 - part) * s.values_there[i] + part * s.last_target[i]
    for j in range(s.unknowns):
        s.reference[j] = s.last_reference[j]
        if s.held[j] == 1 and part < 1.0:
            s.reference[j] = (1.0 - part) * s.begin[j] + part * s.last_reference[j]
    size_up(s)


def walk_along(s: System) -> bool:
    """From the unknowns of `here` along the tangent, then by Newton; refused if Newton has to correct much of it."""
    changes_to(s, s.here.y, s.kept)
    go_to(s, s.kept)
    if not s.here.share < math.inf:
        return False
    prepare(s)
    least_norm(s, s.here.residual, s.step)
    moved = norm(s.step)
    for k in range(s.free):
        s.here.z[k] -= s.step[k]
    copy(s.here.z, s.kept)
    if not restore(s, 8):
        return False
    return distance(s.here.z, s.kept) <= 0.5 * moved + 1e-6


def walk_beside(s: System) -> bool:
    """From a fixed small move beside the path: where it begins in a symmetry, no tangent leads out of it."""
    changes_to(s, s.here.y, s.kept)
    size = LEAST_NUDGE
    for _ in range(NUDGES):
        beside(s, size, s.here.z)
        for k in range(s.free):
            s.here.z[k] += s.kept[k]
        if restore(s, 30) and distance(s.here.z, s.kept) <= 1.0:
            return True
        size *= 10.0
    return False


def distance(a: Vector, b: Vector) -> float:
    """Of two vectors."""
    total = 0.0
    for k in range(len(a)):
        total += square(a[k] - b[k])
    return math.sqrt(total)
