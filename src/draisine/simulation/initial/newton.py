"""Damped least-norm Newton method for residual systems, which may be redundant, under- or overdetermined.

Each step is the shortest that solves the linearized equations, which keeps quadratic convergence and moves little. Where a full
step does not reduce the residual, it is damped (Levenberg–Marquardt), which turns it towards steepest descent. The method is not
that of `numerics/` because it is compiled, and translated to JavaScript, together with the search around it.

A is the Jacobian by z at `current`, its rows of lengths Λ. The rows are orthonormalized by Gram–Schmidt with pivoting, the row
with the largest remainder first: Λ⁻¹A = L Q. A row of length one with a remainder below RANK is redundant; so is a row that
prescribed unknowns determine up to rounding, which would be solved by unknowns many orders above the targets. The pseudo-inverse
is then A⁺ = Qᵀ L⁻¹ Λ⁻¹; where rows are redundant L has more rows than columns, and with L = U R, U of orthonormal columns, it
is A⁺ = Qᵀ R⁻¹ Uᵀ Λ⁻¹: least squares in rows of length one.
"""

from __future__ import annotations

import math

from draisine.codegen.restricted.types import Matrix, Vector
from draisine.simulation.initial.memory import FULFILLED, RANK, Factors, System
from draisine.simulation.initial.residual_system import (
    EXACT,
    ROUNDING_ROW,
    accept_point,
    dot,
    evaluate,
    maximum,
    norm,
    set_current,
    square,
)

REORTHOGONALIZE = 0.1  # a row with a smaller remainder is orthogonalized a second time


def prepare(s: System) -> None:
    """Compute the factors of the rows at `current`, unless they are valid."""
    if s.factors.valid == 0:
        factorize(s)


def factorize(s: System) -> None:
    """Compute the factors of the rows at `current`; fixed columns are zero."""
    f = s.factors
    for i in range(s.rows):
        for k in range(s.free):
            f.basis[i, k] = s.current.jacobian[i, s.columns[k]] * s.scale[s.columns[k]] if s.fixed[k] == 0 else 0.0
        length = norm(f.basis[i])
        f.rounding[i] = 1 if is_rounding(s, i, length) else 0
        if f.rounding[i] == 1:
            length = 0.0
            for k in range(s.free):
                f.basis[i, k] = 0.0
        f.order[i] = i
        f.remainder[i] = 1.0 if length > 0.0 else 0.0
        f.lengths[i] = length if length > 0.0 else 1.0
        for k in range(s.free):
            f.basis[i, k] /= f.lengths[i]
        for k in range(s.rows):
            f.lower[i, k] = 0.0
    f.rank = 0
    while f.rank < s.rows and f.rank < s.free and extend_basis(s, f):
        f.rank += 1
    if f.rank < s.rows:
        factorize_lower(s, f)
    f.valid = 1


def is_rounding(s: System, i: int, length: float) -> bool:
    """Whether the derivatives of a row by free unknowns, of this length, are rounding error.

    They are beside those by prescribed unknowns, or where all are below the floor and the target above what they can reach.
    """
    size, least = 0.0, 1.0
    for j in range(s.unknowns):
        size += square(s.current.jacobian[i, j] * s.scale[j])
        least = s.scale[j] if s.scale[j] < least else least
    if length <= RANK * math.sqrt(size):
        return True
    return s.homogeneous == 1 and length <= ROUNDING_ROW * least * least and length <= ROUNDING_ROW * abs(s.target[i])


def extend_basis(s: System, f: Factors) -> bool:
    """Add the row with the largest remainder to the basis, remove its component from the others; whether it was independent."""
    k, best = f.rank, f.rank
    for i in range(k + 1, s.rows):
        if f.remainder[f.order[i]] > f.remainder[f.order[best]]:
            best = i
    row = f.order[best]
    f.order[best] = f.order[k]
    f.order[k] = row
    size = norm(f.basis[row])
    if size < REORTHOGONALIZE:
        for i in range(k):
            f.lower[row, i] += remove_component(f.basis[row], f.basis[f.order[i]])
        size = norm(f.basis[row])
    if not size > RANK:
        return False
    f.lower[row, k] = size
    for j in range(s.free):
        f.basis[row, j] /= size
    for i in range(k + 1, s.rows):
        other = f.order[i]
        f.lower[other, k] = remove_component(f.basis[other], f.basis[row])
        f.remainder[other] = norm(f.basis[other])
    return True


def remove_component(a: Vector, unit: Vector) -> float:
    """Remove from a vector its component along a unit vector; return the component."""
    share = dot(a, unit)
    for j in range(len(a)):
        a[j] -= share * unit[j]
    return share


def factorize_lower(s: System, f: Factors) -> None:
    """L = U R by Gram–Schmidt with reorthogonalization; U replaces L."""
    for k in range(f.rank):
        for i in range(f.rank):
            f.upper[i, k] = 0.0
        for _ in range(2):
            for j in range(k):
                share = 0.0
                for i in range(s.rows):
                    share += f.lower[i, j] * f.lower[i, k]
                f.upper[j, k] += share
                for i in range(s.rows):
                    f.lower[i, k] -= share * f.lower[i, j]
        square = 0.0
        for i in range(s.rows):
            square += f.lower[i, k] * f.lower[i, k]
        f.upper[k, k] = math.sqrt(square)
        for i in range(s.rows):
            f.lower[i, k] /= f.upper[k, k]


def least_norm(s: System, side: Vector, z: Vector) -> None:
    """z = A⁺ side."""
    f = s.factors
    if f.rank == s.rows:
        for k in range(f.rank):
            row = f.order[k]
            total = side[row] / f.lengths[row]
            for j in range(k):
                total -= f.lower[row, j] * f.part[j]
            f.part[k] = total / f.lower[row, k]
    else:
        for k in range(f.rank):
            f.part[k] = 0.0
            for i in range(s.rows):
                f.part[k] += f.lower[i, k] * (side[i] / f.lengths[i])
        for k in range(f.rank - 1, -1, -1):
            for j in range(k + 1, f.rank):
                f.part[k] -= f.upper[k, j] * f.part[j]
            f.part[k] /= f.upper[k, k]
    for j in range(s.free):
        z[j] = 0.0
    for k in range(f.rank):
        row = f.order[k]
        for j in range(s.free):
            z[j] += f.part[k] * f.basis[row, j]


def multipliers_of(s: System, gradient: Vector, multipliers: Vector) -> None:
    """Lagrange multipliers (A⁺)ᵀ gradient."""
    f = s.factors
    for k in range(f.rank):
        f.part[k] = dot(f.basis[f.order[k]], gradient)
    if f.rank == s.rows:
        for k in range(f.rank - 1, -1, -1):
            for i in range(k + 1, f.rank):
                f.part[k] -= f.lower[f.order[i], k] * f.part[i]
            f.part[k] /= f.lower[f.order[k], k]
        for k in range(f.rank):
            multipliers[f.order[k]] = f.part[k] / f.lengths[f.order[k]]
        return
    for k in range(f.rank):
        for j in range(k):
            f.part[k] -= f.upper[j, k] * f.part[j]
        f.part[k] /= f.upper[k, k]
    for i in range(s.rows):
        total = 0.0
        for k in range(f.rank):
            total += f.lower[i, k] * f.part[k]
        multipliers[i] = total / f.lengths[i]


def project(s: System, direction: Vector) -> None:
    """Project a direction onto the null space of A."""
    f = s.factors
    for k in range(s.free):
        if s.fixed[k] == 1:
            direction[k] = 0.0
    for k in range(f.rank):
        remove_component(direction, f.basis[f.order[k]])


def cholesky_solve(matrix: Matrix, side: Vector) -> bool:
    """Solve with a symmetric positive definite matrix in place by Cholesky's method; whether it is one."""
    n = len(side)
    for j in range(n):
        pivot = matrix[j, j]
        for k in range(j):
            pivot -= matrix[j, k] * matrix[j, k]
        if not pivot > 0.0:
            return False
        matrix[j, j] = math.sqrt(pivot)
        for i in range(j + 1, n):
            total = matrix[i, j]
            for k in range(j):
                total -= matrix[i, k] * matrix[j, k]
            matrix[i, j] = total / matrix[j, j]
    for i in range(n):
        for k in range(i):
            side[i] -= matrix[i, k] * side[k]
        side[i] /= matrix[i, i]
    for i in range(n - 1, -1, -1):
        for k in range(i + 1, n):
            side[i] -= matrix[k, i] * side[k]
        side[i] /= matrix[i, i]
    return True


MAX_STEPS = 80
PATIENCE = 8  # steps in which the residual must decrease by a fifth
SUFFICIENT_DECREASE = 0.1  # fraction of the predicted decrease that a step must achieve
MAX_DAMPINGS = 6  # each a hundred times the one before
LEAST_DAMPING = 1e-6  # times the sum of squares of the weighted rows


def restore(s: System, most_steps: int) -> bool:
    """Solve the residuals from the changes z of `current`; false if they cannot be reduced to zero."""
    set_current(s, s.current.z)
    return restore_here(s, most_steps)


def restore_here(s: System, most_steps: int) -> bool:
    """The same where `current` is evaluated already."""
    s.damped = 0
    s.curved = 0
    steps, lowest, before = 0, 0, math.inf
    while steps < most_steps:
        if steps % PATIENCE == PATIENCE - 1:
            if s.current.relative_residual > 0.8 * before:
                break
            before = s.current.relative_residual
        if s.free == 0 or not s.current.relative_residual > EXACT or not s.current.relative_residual < math.inf:
            break
        if not full_step(s):
            if not s.current.relative_residual > FULFILLED:
                break
            s.damped = 1
            lowest = damped_step(s, lowest)
            if lowest < 0:
                break
        steps += 1
    refine(s)
    return s.current.relative_residual <= FULFILLED


def full_step(s: System) -> bool:
    """The shortest step that solves the linearized equations, limited in length, if it reduces the residual."""
    prepare(s)
    least_norm(s, s.current.residual, s.step)
    for k in range(s.free):
        s.step[k] = -s.step[k]
    limit_step(s, s.step)
    return step_if_better(s, s.step)


def limit_step(s: System, step: Vector) -> None:
    """Shorten a step so that no unknown changes by more than its maximum step."""
    excess = 0.0
    for k in range(s.free):
        excess = maximum(excess, abs(step[k]) / s.max_change[k])
    if excess > 1.0:
        for k in range(s.free):
            step[k] /= excess


def damped_step(s: System, lowest: int) -> int:
    """A Levenberg–Marquardt step; return the first damping to try next time, or −1 if none reduced the residual."""
    h, f = s.current, s.factors
    trace = 0.0
    for i in range(s.rows):
        for j in range(i + 1):
            total = 0.0
            for k in range(s.free):
                c = s.columns[k]
                if s.fixed[k] == 0 and f.rounding[i] == 0 and f.rounding[j] == 0:
                    total += (h.jacobian[i, c] * s.scale[c]) * (h.jacobian[j, c] * s.scale[c])
            s.products[i, j] = total / (h.weight[i] * h.weight[j])
        trace += s.products[i, i]
    if not trace > 0.0:
        return -1
    damping = LEAST_DAMPING
    for n in range(MAX_DAMPINGS):
        if n > 0:
            damping *= 100.0
        if n < lowest:
            continue
        for i in range(s.rows):
            for j in range(i + 1):
                s.damping[i, j] = s.products[i, j]
            s.damping[i, i] += damping * trace
            s.rhs[i] = h.residual[i] / h.weight[i]
        if not cholesky_solve(s.damping, s.rhs):
            continue
        for k in range(s.free):
            c = s.columns[k]
            total = 0.0
            if s.fixed[k] == 0:
                for i in range(s.rows):
                    if f.rounding[i] == 0:
                        total += h.jacobian[i, c] * s.scale[c] / h.weight[i] * s.rhs[i]
            s.step[k] = -total
        limit_step(s, s.step)
        if step_if_better(s, s.step):
            return n - 1 if n > 0 else 0
    return -1


def step_if_better(s: System, step: Vector) -> bool:
    """Accept a step if the residual decreases by a sufficient part of the prediction."""
    h = s.current
    now, linear = 0.0, 0.0
    for i in range(s.rows):
        change = 0.0
        for k in range(s.free):
            change += h.jacobian[i, s.columns[k]] * (s.scale[s.columns[k]] * step[k])
        now += square(h.residual[i] / h.weight[i])
        linear += square((h.residual[i] + change) / h.weight[i])
    size = math.sqrt(now)
    predicted = size - math.sqrt(linear)
    if not predicted > 1e-3 * size:
        return False
    for k in range(s.free):
        s.trial.z[k] = h.z[k] + step[k]
    evaluate(s, s.trial)
    if not s.trial.relative_residual < math.inf:
        return False
    there = 0.0
    for i in range(s.rows):
        there += square(s.trial.residual[i] / h.weight[i])
    if math.sqrt(there) > size - SUFFICIENT_DECREASE * predicted:
        return False
    accept_point(s, s.trial)
    return True


def refine(s: System) -> None:
    """Iterative refinement of small targets beside large unknowns."""
    for _ in range(3):
        h = s.current
        if s.free == 0 or h.relative_residual > FULFILLED or h.strict_relative_residual <= EXACT:
            return
        prepare(s)
        least_norm(s, h.residual, s.step)
        for k in range(s.free):
            s.trial.z[k] = h.z[k] - s.step[k]
        evaluate(s, s.trial)
        if not (s.trial.relative_residual <= FULFILLED and s.trial.strict_relative_residual < 0.5 * h.strict_relative_residual):
            return
        accept_point(s, s.trial)
