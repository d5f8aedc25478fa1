"""Downhill along solutions: the start closest to the references, or the one in which targets are missed least.

The closest: z ← A⁺(A z − r), again and again, is Newton's iteration as far as residuals go and slides along the solutions; where
it stands still r = 0 and z lies in the span of the rows. Where the solutions are too curved for that, and for targets that are
missed, Newton's method on the surface of solutions. Its second derivatives are differences of the exact first ones; its linear
systems are solved by conjugate gradients inside a region of trust (Steihaug 1983), so that a surface of any dimension will do;
every step is brought back onto the surface by `restore`.
"""

from __future__ import annotations

import math

from draisine.codegen.restricted.types import Vector
from draisine.simulation.initial.memory import FULFILLED, Point, System
from draisine.simulation.initial.newton import MOST_STEPS, least_norm, multipliers_of, prepare, project, restore, restore_here
from draisine.simulation.initial.residual_system import (
    copy,
    dot,
    evaluate,
    evaluate_rows,
    go_to,
    larger,
    move_here,
    norm,
    place_unknowns,
    square,
)

MOST_SLIDES = 60
STILL = 1e-10  # a change of z below this part of it: the distance is then exact to rounding
SLOW = 0.7  # slides that shrink less than this from one to the next take too long
STEEP = 1e-8  # the slope along the surface, as a part of the whole, at which a minimum is reached: its value is then exact
MOST_DESCENTS = 60
MOST_DIRECTIONS = 40
TRUSTED = 0.5  # how far, in scales, one walks at once where no minimum is in sight
NUDGE = 1e-7  # for differences of the exact Jacobian

# what is to be made small on the surface of solutions
DISTANCE = 0  # ½|z|², from the references
MISSED = 1  # ½ of the sum of squares of what is missing of targets, in units of their weights at the beginning


def find_closest(s: System) -> None:
    """From a solution to the one that is closest to the references."""
    copy(s.here.z, s.kept)
    if not slide(s):
        go_to(s, s.kept)
        descend(s, s, DISTANCE)


def slide(s: System) -> bool:
    """z ← A⁺(A z − r) until it stands still; whether it does."""
    before = math.inf
    for turn in range(MOST_SLIDES):
        prepare(s)
        least_norm(s, s.here.residual, s.step)
        copy(s.here.z, s.slope)
        project(s, s.slope)
        change, size = 0.0, 0.0
        for k in range(s.free):
            s.trial.z[k] = s.here.z[k] - s.slope[k] - s.step[k]
            change = larger(change, abs(s.slope[k] + s.step[k]))
            size = larger(size, abs(s.trial.z[k]))
        if change <= STILL * size + 1e-15 and s.here.share <= FULFILLED:
            return restore_here(s, MOST_STEPS)
        if turn > 2 and change > SLOW * before:
            return False
        before = change
        evaluate(s, s.trial)
        if not s.trial.share < math.inf:
            return False
        move_here(s, s.trial)
    return False


def descend(s: System, aim: System, what: int) -> None:
    """From a solution to one where the aim is smallest among its neighbors."""
    value = objective(s, aim, what, s.here, s.gradient)
    trust = math.inf
    for _ in range(MOST_DESCENTS):
        if not s.here.share < math.inf:
            return
        prepare(s)
        copy(s.gradient, s.slope)
        project(s, s.slope)
        if norm(s.slope) <= STEEP * norm(s.gradient) + 1e-14:
            return
        promised = best_step_inside(s, aim, what, trust)
        length = norm(s.step)
        copy(s.here.z, s.kept)
        for k in range(s.free):
            s.here.z[k] += s.step[k]
        fulfilled = restore(s, MOST_STEPS)
        new = objective(s, aim, what, s.here, s.new_gradient)
        if not fulfilled or not value - new > 0.1 * promised:
            trust = 0.25 * (length if length < trust else trust)
            go_to(s, s.kept)
            if trust <= 1e-12 * (1.0 + norm(s.here.z)):
                return
            continue
        if value - new > 0.75 * promised:
            trust = larger(trust, 3.0 * length)
        value = new
        copy(s.new_gradient, s.gradient)


def objective(s: System, aim: System, what: int, p: Point, gradient: Vector) -> float:
    """The aim at a point whose unknowns are known, and its gradient by z."""
    if what == DISTANCE:
        copy(p.z, gradient)
        return 0.5 * dot(p.z, p.z)
    a = aim.trial
    copy(p.y, a.y)
    evaluate_rows(aim, a)
    for k in range(s.free):
        gradient[k] = 0.0
    value = 0.0
    for i in range(aim.rows):
        if aim.targeted[i] == 1:
            missed = a.residual[i] / aim.aim_weight[i]
            value += 0.5 * missed * missed
            for k in range(s.free):
                gradient[k] += missed / aim.aim_weight[i] * a.jacobian[i, s.columns[k]] * s.scale[s.columns[k]]
    for k in range(s.free):
        j = s.columns[k]
        if aim.held[j] == 1:
            missed = (p.y[j] - aim.reference[j]) / aim.held_weight[j]
            value += 0.5 * missed * missed
            gradient[k] += missed / aim.held_weight[j] * s.scale[j]
    return value


def weigh_targets(s: System, aim: System) -> None:
    """Units for what is missing of the targets of `aim`, from where `s` is."""
    copy(s.here.y, aim.trial.y)
    evaluate_rows(aim, aim.trial)
    for i in range(aim.rows):
        weight = abs(aim.target[i])
        for j in range(aim.unknowns):
            weight += abs(aim.trial.jacobian[i, j]) * larger(aim.least[j], abs(s.here.y[j]))
        aim.aim_weight[i] = weight if weight != 0.0 else 1.0
    for j in range(aim.unknowns):
        aim.held_weight[j] = abs(aim.reference[j]) + larger(aim.least[j], abs(s.here.y[j]))


def best_step_inside(s: System, aim: System, what: int, trust: float) -> float:
    """The step that a quadratic model likes best within the region of trust; what it promises."""
    multipliers_of(s, s.gradient, s.multipliers)
    for k in range(s.free):
        s.step[k] = 0.0
        s.bent[k] = 0.0  # the second derivative times the step
        s.left[k] = -s.slope[k]
        s.direction[k] = s.left[k]
    before = dot(s.left, s.left)
    enough = 1e-8 * before
    edge = trust if trust < TRUSTED else TRUSTED  # where the surface bends the wrong way one walks to the edge of trust
    for _ in range(s.free if s.free < MOST_DIRECTIONS else MOST_DIRECTIONS):
        bend(s, aim, what)
        curvature = dot(s.direction, s.turned)
        if not curvature > 1e-12 * dot(s.direction, s.direction):
            step_to_edge(s, edge)
            break
        length = before / curvature
        reach = 0.0
        for k in range(s.free):
            reach += square(s.step[k] + length * s.direction[k])
        if math.sqrt(reach) >= trust:
            step_to_edge(s, trust)
            break
        for k in range(s.free):
            s.step[k] += length * s.direction[k]
            s.bent[k] += length * s.turned[k]
            s.left[k] -= length * s.turned[k]
        project(s, s.left)
        new = dot(s.left, s.left)
        if new <= enough:
            break
        for k in range(s.free):
            s.direction[k] = s.left[k] + (new / before) * s.direction[k]
        before = new
    return -dot(s.slope, s.step) - 0.5 * dot(s.step, s.bent)


def bend(s: System, aim: System, what: int) -> None:
    """The second derivative of the aim along the surface, times the direction: that of the Lagrangian."""
    length = NUDGE * (1.0 + norm(s.here.z)) / norm(s.direction)
    for k in range(s.free):
        s.trial.z[k] = s.here.z[k] + length * s.direction[k]
    place_unknowns(s, s.trial)
    evaluate_rows(s, s.trial)
    for k in range(s.free):
        total = 0.0
        for i in range(s.rows):
            total -= s.multipliers[i] * (s.trial.jacobian[i, s.columns[k]] - s.here.jacobian[i, s.columns[k]])
        s.turned[k] = total * s.scale[s.columns[k]] / length
    if what == DISTANCE:
        for k in range(s.free):
            s.turned[k] += s.direction[k]
    else:
        objective(s, aim, what, s.trial, s.new_gradient)
        for k in range(s.free):
            s.turned[k] += (s.new_gradient[k] - s.gradient[k]) / length
    project(s, s.turned)


def step_to_edge(s: System, edge: float) -> None:
    """Along the direction to where the step is as long as is trusted."""
    a, b = dot(s.direction, s.direction), dot(s.step, s.direction)
    c = dot(s.step, s.step) - edge * edge
    under = b * b - a * c
    length = (-b + math.sqrt(under if under > 0.0 else 0.0)) / a
    for k in range(s.free):
        s.step[k] += length * s.direction[k]
        s.bent[k] += length * s.turned[k]
