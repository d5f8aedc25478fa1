"""Search for a start close to the references, also where targets lie far from them; `run` is the entry of the start solver.

Newton's method from the references; if it fails, from small fixed perturbations of them (a length has no gradient at zero, nor
does a stretched arm to fold); then continuation, in which targets are moved from the values that the constraints alone give to
the values required; then descent along the constraints in the error of the targets; then a few restarts, the same in every run.
Each solution found is moved along the solution manifold to the point closest to the references.
"""

from __future__ import annotations

import math

from draisine.codegen.restricted.types import Vector
from draisine.simulation.initial.descent import MISSED, descend, move_to_closest, set_target_weights
from draisine.simulation.initial.ground_pose import align_references
from draisine.simulation.initial.memory import (
    ALIGN,
    BATCH,
    CONTINUATION,
    CONTINUE,
    DESCEND,
    DESCENT,
    EVALUATE,
    FIND,
    FIND_ALONE,
    FIND_FAR,
    FULFILLED,
    NEWTON,
    PERTURBED,
    REST,
    RESTARTED,
    RESTORE,
    Batch,
    System,
    Task,
)
from draisine.simulation.initial.newton import MAX_STEPS, least_norm, prepare, restore
from draisine.simulation.initial.residual_system import (
    changes_from,
    copy,
    evaluate_rows,
    norm,
    set_current,
    set_sizes,
    set_unknowns,
    square,
)
from draisine.simulation.initial.rest_velocities import rest_velocities

PERTURBATIONS = 3  # 10⁻³, 10⁻², 10⁻¹
SMALLEST_PERTURBATION = 1e-3
LARGEST_PERTURBATION = 0.1
SEED = 1992  # of restarts
SHORTEST_PART = 1e-4  # of the continuation
MAX_PARTS = 100


def find_near(s: System) -> bool:
    """Newton from the references and from perturbations of them; whether the search is finished."""
    align_references(s)
    for k in range(s.free):
        s.current.z[k] = 0.0
        s.fixed[k] = 0
    s.way = 0
    s.best_share = math.inf
    s.best_size = math.inf
    set_sizes(s)
    fulfilled = restore(s, MAX_STEPS)
    undamped, curved = s.damped == 0, s.curved
    if fulfilled:
        if curved == 1 or not undamped:
            move_to_closest(s)
        keep_if_better(s, NEWTON)
        return undamped  # a solution found by damped steps need not be the closest one
    keep_if_better(s, NEWTON)
    if is_linear(s):
        return True  # linear equations: least squares are the best result
    size = SMALLEST_PERTURBATION
    for _ in range(PERTURBATIONS):
        perturb(s, size, s.current.z)
        fulfilled = restore(s, MAX_STEPS)
        keep_closest(s, PERTURBED)
        if fulfilled:
            return False
        size *= 10.0
    return False


def find_far(s: System, base: System, with_base: int, thorough: int) -> None:
    """The rest of the search; `base` is the system without targets."""
    if with_base == 1:
        continue_from_constraints(s, base)
    if thorough == 1 and not s.best_share <= FULFILLED:
        restarts(s)


def take_best(s: System) -> bool:
    """Make the best point of all attempts current; whether it is a solution."""
    if distance(s.current.z, s.best) > 0.0 or s.current.relative_residual != s.best_share:
        set_current(s, s.best)
    return s.current.relative_residual <= FULFILLED


def keep_closest(s: System, way: int) -> None:
    """Move a solution to the closest one, and keep it if it is better."""
    if s.current.relative_residual <= FULFILLED:
        move_to_closest(s)
    keep_if_better(s, way)


def keep_if_better(s: System, way: int) -> None:
    """Keep a solution that is closer to the references, or, while there is none, a point with smaller residuals."""
    size = norm(s.current.z)
    if s.current.relative_residual <= FULFILLED:
        if s.best_share <= FULFILLED and size >= s.best_size:
            return
    elif s.way != 0 and not s.current.relative_residual < s.best_share:
        return
    copy(s.current.z, s.best)
    s.best_share = s.current.relative_residual
    s.best_size = size
    s.way = way


def perturb(s: System, size: float, z: Vector) -> None:
    """A change in a direction without symmetry, the same in every run."""
    for k in range(s.free):
        z[k] = size * math.cos(1.0 + 2.4 * float(k))


def is_linear(s: System) -> bool:
    """Whether the Jacobian is constant near the references."""
    for k in range(s.free):
        s.current.z[k] = 0.0
    set_unknowns(s, s.current)
    evaluate_rows(s, s.current)
    s.current.relative_residual = math.inf  # it is not weighed
    perturb(s, LARGEST_PERTURBATION, s.trial.z)
    set_unknowns(s, s.trial)
    evaluate_rows(s, s.trial)
    for i in range(s.rows):
        for k in range(s.free):
            if s.current.jacobian[i, s.columns[k]] != s.trial.jacobian[i, s.columns[k]]:
                return False
    return True


def restarts(s: System) -> None:
    """Random restarts in growing regions until one succeeds, by the minimal standard generator of Park and Miller."""
    state = SEED
    for radius_index in range(3):
        size = 0.3 if radius_index == 0 else (1.0 if radius_index == 1 else 3.0)
        for _ in range(6 if radius_index == 0 else (8 if radius_index == 1 else 12)):
            for k in range(s.free):
                state = state * 16807 % 2147483647
                s.current.z[k] = size * (2.0 * float(state) / 2147483647.0 - 1.0)
            restore(s, MAX_STEPS)
            keep_closest(s, RESTARTED)
        if s.best_share <= FULFILLED:
            return


# ------------------------------------------------------------------------------------------------------ continuation


def continue_from_constraints(s: System, base: System) -> None:
    """From a solution without targets: continuation towards them; if that fails, descent in their error."""
    for j in range(s.unknowns):
        if s.prescribed[j] == 0:
            base.reference[j] = s.reference[j]  # as turned and shifted
    find_near(base)
    if not take_best(base):
        return
    copy(base.current.y, s.begin)
    continuation(s)
    if restore(s, MAX_STEPS) or not has_targets(s):
        keep_closest(s, CONTINUATION)
        return
    set_target_weights(base, s)
    for iteration in range(2):
        copy(base.best, base.current.z)
        if iteration == 1:
            for k in range(base.free):
                base.current.z[k] += LARGEST_PERTURBATION * math.cos(1.0 + 2.4 * float(k))
        if restore(base, MAX_STEPS):
            descend(base, s, MISSED)
        changes_from(s, base.current.y, s.current.z)
        restore(s, MAX_STEPS)
        keep_closest(s, DESCENT)
        if s.best_share <= FULFILLED:
            return


def has_targets(s: System) -> bool:
    """Whether there is any target."""
    for i in range(s.rows):
        if s.targeted[i] == 1:
            return True
    return s.free < s.unknowns


def continuation(s: System) -> None:
    """Move targets stepwise from their values at `begin` to the required values.

    `current` is the last point; it satisfies all rows if the continuation reached its end.
    """
    copy(s.target, s.last_target)
    copy(s.reference, s.last_reference)
    copy(s.begin, s.trial.y)
    evaluate_rows(s, s.trial)
    for i in range(s.rows):
        s.values_at_begin[i] = s.trial.residual[i] + s.target[i]
    copy(s.begin, s.current.y)
    done, length, perturbations_left = 0.0, 1.0, 3
    for _ in range(MAX_PARTS):
        if done == 1.0 or length < SHORTEST_PART:
            break
        next_part = done + length if done + length < 1.0 else 1.0
        set_targets(s, next_part)
        copy(s.current.y, s.last_y)
        ahead = continuation_step(s)
        if not ahead and length <= 0.25 and perturbations_left > 0:
            copy(s.last_y, s.current.y)
            ahead = perturbed_continuation_step(s)
            perturbations_left -= 1
        if ahead:
            done = next_part
            length *= 2.0
        else:
            copy(s.last_y, s.current.y)
            length *= 0.5
    copy(s.current.y, s.last_y)
    set_targets(s, 1.0)
    changes_from(s, s.last_y, s.current.z)


def set_targets(s: System, part: float) -> None:
    """Interpolate targets between their values at `begin` and the required values."""
    for i in range(s.rows):
        s.target[i] = s.last_target[i]
        if s.targeted[i] == 1 and part < 1.0:
            s.target[i] = (1.0 - part) * s.values_at_begin[i] + part * s.last_target[i]
    for j in range(s.unknowns):
        s.reference[j] = s.last_reference[j]
        if s.prescribed[j] == 1 and part < 1.0:
            s.reference[j] = (1.0 - part) * s.begin[j] + part * s.last_reference[j]
    set_sizes(s)


def continuation_step(s: System) -> bool:
    """Tangent predictor and Newton corrector; refused if the correction is large."""
    changes_from(s, s.current.y, s.saved)
    set_current(s, s.saved)
    if not s.current.relative_residual < math.inf:
        return False
    prepare(s)
    least_norm(s, s.current.residual, s.step)
    moved = norm(s.step)
    for k in range(s.free):
        s.current.z[k] -= s.step[k]
    copy(s.current.z, s.saved)
    if not restore(s, 8):
        return False
    return distance(s.current.z, s.saved) <= 0.5 * moved + 1e-6


def perturbed_continuation_step(s: System) -> bool:
    """A step from a small perturbation: at a symmetric point no tangent leaves the symmetry."""
    changes_from(s, s.current.y, s.saved)
    size = SMALLEST_PERTURBATION
    for _ in range(PERTURBATIONS):
        perturb(s, size, s.current.z)
        for k in range(s.free):
            s.current.z[k] += s.saved[k]
        if restore(s, 30) and distance(s.current.z, s.saved) <= 1.0:
            return True
        size *= 10.0
    return False


def distance(a: Vector, b: Vector) -> float:
    """The distance of two vectors."""
    total = 0.0
    for k in range(len(a)):
        total += square(a[k] - b[k])
    return math.sqrt(total)


def run(task: Task) -> int:
    """Run a task: the entry of the compiled solver."""
    s = task.system
    done = True
    if task.what == FIND:
        done = solve_near(s)
    if task.what == FIND_FAR or task.what == FIND_ALONE:
        find_far(s, task.other, 1 if task.what == FIND_FAR else 0, task.thorough)
        take_best(s)
    if task.what == REST:
        rest_velocities(s)
    if task.what == RESTORE:
        set_sizes(s)
        restore(s, MAX_STEPS)
    if task.what == CONTINUE:
        continuation(s)
    if task.what == DESCEND:
        set_sizes(task.other)
        set_target_weights(s, task.other)
        descend(s, task.other, MISSED)
    if task.what == EVALUATE:
        set_sizes(s)
        set_current(s, s.current.z)
    if task.what == ALIGN:
        align_references(s)
        set_current(s, s.current.z)
    if task.what == BATCH:
        return solve_batch(s, task.other, task.batch)
    prepare(s)
    return 1 if done else 0


def solve_near(s: System) -> bool:
    """Search near the references; take the best point if the search is finished."""
    done = find_near(s)
    if done:
        take_best(s)
    return done


def solve_batch(s: System, base: System, b: Batch) -> int:
    """Solve the starts of a batch; return the number of solutions."""
    found = 0
    for member in range(b.members):
        copy(b.q[member], s.motion.q)
        copy(b.v[member], s.motion.v)
        copy(b.u[member], s.motion.u)
        copy(b.p[member], s.motion.p)
        copy(b.reference[member], s.reference)
        copy(b.scale[member], s.scale)
        copy(b.target[member], s.target)
        s.length = b.length[member]
        if not solve_near(s):
            copy(b.scale[member], base.scale)
            find_far(s, base, 1, 1)
            take_best(s)
        if s.current.relative_residual <= FULFILLED:
            found += 1
            b.way[member] = s.way
            if s.homogeneous == 1:
                prepare(s)
                b.full_rank[member] = 1 if s.factors.rank == s.rows else 0
                rest_velocities(s)
        else:
            b.way[member] = 0
        copy(s.current.y, b.found[member])
    return found
