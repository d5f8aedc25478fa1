"""Constrained minimization on the solution manifold: the start closest to the references, or with the smallest error of targets.

The fixed-point iteration z ← A⁺(A z − r) is Newton's iteration for the residuals and slides along the solutions; at its fixed
point r = 0 and z lies in the span of the rows. Where the solutions are too curved for it, and for the error of targets, a
trust-region Newton method on the manifold is used. Second derivatives are differences of the exact first ones; linear systems are
solved by truncated conjugate gradients (Steihaug 1983), for manifolds of any dimension; `restore` brings every step back onto the
manifold.
"""

from __future__ import annotations

import math

from draisine.codegen.restricted.types import Vector
from draisine.simulation.initial.memory import FULFILLED, Point, System
from draisine.simulation.initial.newton import MAX_STEPS, least_norm, multipliers_of, prepare, project, restore, restore_here
from draisine.simulation.initial.residual_system import (
    accept_point,
    copy,
    dot,
    evaluate,
    evaluate_rows,
    maximum,
    norm,
    set_current,
    set_unknowns,
    square,
)

MAX_SLIDES = 60
CHANGE_TOLERANCE = 1e-10  # relative change of z at which the iteration has converged
SLOWEST_RATE = 0.7  # convergence rate above which the iteration is stopped
GRADIENT_TOLERANCE = 1e-8  # projected gradient relative to the gradient at a minimum
MAX_DESCENTS = 60
MAX_DIRECTIONS = 40
MAX_RADIUS = 0.5  # trust radius in directions of negative curvature
DIFFERENCE = 1e-7  # relative step of differences of the exact Jacobian

# objectives
DISTANCE = 0  # ½|z|², from the references
MISSED = 1  # ½ Σ (error of a target / its weight at the beginning)²


def move_to_closest(s: System) -> None:
    """Move from a solution to the one closest to the references."""
    copy(s.current.z, s.saved)
    if not iterate_to_closest(s):
        set_current(s, s.saved)
        descend(s, s, DISTANCE)


def iterate_to_closest(s: System) -> bool:
    """Iterate z ← A⁺(A z − r) to its fixed point; whether it converged."""
    before = math.inf
    for iteration in range(MAX_SLIDES):
        prepare(s)
        least_norm(s, s.current.residual, s.step)
        copy(s.current.z, s.projected_gradient)
        project(s, s.projected_gradient)
        change, size = 0.0, 0.0
        for k in range(s.free):
            s.trial.z[k] = s.current.z[k] - s.projected_gradient[k] - s.step[k]
            change = maximum(change, abs(s.projected_gradient[k] + s.step[k]))
            size = maximum(size, abs(s.trial.z[k]))
        if change <= CHANGE_TOLERANCE * size + 1e-15 and s.current.relative_residual <= FULFILLED:
            return restore_here(s, MAX_STEPS)
        if iteration > 2 and change > SLOWEST_RATE * before:
            return False
        before = change
        evaluate(s, s.trial)
        if not s.trial.relative_residual < math.inf:
            return False
        accept_point(s, s.trial)
    return False


def descend(s: System, aim: System, what: int) -> None:
    """Move from a solution to a local minimum of the objective on the manifold."""
    value = objective(s, aim, what, s.current, s.gradient)
    trust = math.inf
    for _ in range(MAX_DESCENTS):
        if not s.current.relative_residual < math.inf:
            return
        prepare(s)
        copy(s.gradient, s.projected_gradient)
        project(s, s.projected_gradient)
        if norm(s.projected_gradient) <= GRADIENT_TOLERANCE * norm(s.gradient) + 1e-14:
            return
        predicted = trust_region_step(s, aim, what, trust)
        length = norm(s.step)
        copy(s.current.z, s.saved)
        for k in range(s.free):
            s.current.z[k] += s.step[k]
        fulfilled = restore(s, MAX_STEPS)
        new = objective(s, aim, what, s.current, s.new_gradient)
        if not fulfilled or not value - new > 0.1 * predicted:
            trust = 0.25 * (length if length < trust else trust)
            set_current(s, s.saved)
            if trust <= 1e-12 * (1.0 + norm(s.current.z)):
                return
            continue
        if value - new > 0.75 * predicted:
            trust = maximum(trust, 3.0 * length)
        value = new
        copy(s.new_gradient, s.gradient)


def objective(s: System, aim: System, what: int, p: Point, gradient: Vector) -> float:
    """The objective at a point with known unknowns, and its gradient by z."""
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
        if aim.prescribed[j] == 1:
            missed = (p.y[j] - aim.reference[j]) / aim.prescribed_weight[j]
            value += 0.5 * missed * missed
            gradient[k] += missed / aim.prescribed_weight[j] * s.scale[j]
    return value


def set_target_weights(s: System, aim: System) -> None:
    """Weights of the targets of `aim` at the current point of `s`."""
    copy(s.current.y, aim.trial.y)
    evaluate_rows(aim, aim.trial)
    for i in range(aim.rows):
        weight = abs(aim.target[i])
        for j in range(aim.unknowns):
            weight += abs(aim.trial.jacobian[i, j]) * maximum(aim.least_size[j], abs(s.current.y[j]))
        aim.aim_weight[i] = weight if weight != 0.0 else 1.0
    for j in range(aim.unknowns):
        aim.prescribed_weight[j] = abs(aim.reference[j]) + maximum(aim.least_size[j], abs(s.current.y[j]))


def trust_region_step(s: System, aim: System, what: int, trust: float) -> float:
    """The step that minimizes the quadratic model within the trust region; return the predicted decrease."""
    multipliers_of(s, s.gradient, s.multipliers)
    for k in range(s.free):
        s.step[k] = 0.0
        s.hessian_step[k] = 0.0  # Hessian times step
        s.cg_residual[k] = -s.projected_gradient[k]
        s.direction[k] = s.cg_residual[k]
    before = dot(s.cg_residual, s.cg_residual)
    enough = 1e-8 * before
    boundary = trust if trust < MAX_RADIUS else MAX_RADIUS  # for negative curvature
    for _ in range(s.free if s.free < MAX_DIRECTIONS else MAX_DIRECTIONS):
        hessian_product(s, aim, what)
        curvature = dot(s.direction, s.hessian_direction)
        if not curvature > 1e-12 * dot(s.direction, s.direction):
            step_to_boundary(s, boundary)
            break
        length = before / curvature
        reach = 0.0
        for k in range(s.free):
            reach += square(s.step[k] + length * s.direction[k])
        if math.sqrt(reach) >= trust:
            step_to_boundary(s, trust)
            break
        for k in range(s.free):
            s.step[k] += length * s.direction[k]
            s.hessian_step[k] += length * s.hessian_direction[k]
            s.cg_residual[k] -= length * s.hessian_direction[k]
        project(s, s.cg_residual)
        new = dot(s.cg_residual, s.cg_residual)
        if new <= enough:
            break
        for k in range(s.free):
            s.direction[k] = s.cg_residual[k] + (new / before) * s.direction[k]
        before = new
    return -dot(s.projected_gradient, s.step) - 0.5 * dot(s.step, s.hessian_step)


def hessian_product(s: System, aim: System, what: int) -> None:
    """The projected Hessian of the Lagrangian times the direction."""
    length = DIFFERENCE * (1.0 + norm(s.current.z)) / norm(s.direction)
    for k in range(s.free):
        s.trial.z[k] = s.current.z[k] + length * s.direction[k]
    set_unknowns(s, s.trial)
    evaluate_rows(s, s.trial)
    for k in range(s.free):
        total = 0.0
        for i in range(s.rows):
            total -= s.multipliers[i] * (s.trial.jacobian[i, s.columns[k]] - s.current.jacobian[i, s.columns[k]])
        s.hessian_direction[k] = total * s.scale[s.columns[k]] / length
    if what == DISTANCE:
        for k in range(s.free):
            s.hessian_direction[k] += s.direction[k]
    else:
        objective(s, aim, what, s.trial, s.new_gradient)
        for k in range(s.free):
            s.hessian_direction[k] += (s.new_gradient[k] - s.gradient[k]) / length
    project(s, s.hessian_direction)


def step_to_boundary(s: System, boundary: float) -> None:
    """Extend the step along the direction to the boundary of the trust region."""
    a, b = dot(s.direction, s.direction), dot(s.step, s.direction)
    c = dot(s.step, s.step) - boundary * boundary
    under = b * b - a * c
    length = (-b + math.sqrt(under if under > 0.0 else 0.0)) / a
    for k in range(s.free):
        s.step[k] += length * s.direction[k]
        s.hessian_step[k] += length * s.hessian_direction[k]
