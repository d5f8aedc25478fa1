"""The shortest solution of linear equations, some of which may be redundant.

A is the Jacobian by z at `here`, its rows of lengths Λ. They are made orthonormal one after the other, that first of which most
is new (Gram and Schmidt with pivots): Λ⁻¹A = L Q. A row of length one of which less than RANK is new repeats the others. The
pseudo-inverse is then A⁺ = Qᵀ L⁻¹ Λ⁻¹; where rows are redundant L has more rows than columns, and with L = U R, U of
orthonormal columns, it is A⁺ = Qᵀ R⁻¹ Uᵀ Λ⁻¹: least squares in rows of length one.
"""

from __future__ import annotations

import math

from draisine.codegen.restricted.types import Matrix, Vector
from draisine.simulation.initial.memory import Factors, System
from draisine.simulation.initial.residual_system import dot, norm

RANK = 1e-10  # rows of length one of which less than this is new count as redundant
UNSURE = 0.1  # where less than this is left of a row, it is made orthogonal a second time


def prepare(s: System) -> None:
    """Factors of the rows at `here`, if they are not known."""
    if s.factors.fresh == 0:
        factorize(s)


def factorize(s: System) -> None:
    """Factors of the rows at `here`; columns that are fixed count as zero."""
    f = s.factors
    for i in range(s.rows):
        for k in range(s.free):
            f.basis[i, k] = s.here.jacobian[i, s.columns[k]] * s.scale[s.columns[k]] if s.fixed[k] == 0 else 0.0
        length = norm(f.basis[i])
        f.order[i] = i
        f.rest[i] = 1.0 if length > 0.0 else 0.0
        f.lengths[i] = length if length > 0.0 else 1.0
        for k in range(s.free):
            f.basis[i, k] /= f.lengths[i]
        for k in range(s.rows):
            f.lower[i, k] = 0.0
    f.rank = 0
    while f.rank < s.rows and f.rank < s.free and next_of_basis(s, f):
        f.rank += 1
    if f.rank < s.rows:
        factorize_lower(s, f)
    f.fresh = 1


def next_of_basis(s: System, f: Factors) -> bool:
    """Take the row of which most is new into the basis, and its part out of the others; whether anything was new."""
    k, best = f.rank, f.rank
    for i in range(k + 1, s.rows):
        if f.rest[f.order[i]] > f.rest[f.order[best]]:
            best = i
    row = f.order[best]
    f.order[best] = f.order[k]
    f.order[k] = row
    size = norm(f.basis[row])
    if size < UNSURE:
        for i in range(k):
            f.lower[row, i] += take_out(f.basis[row], f.basis[f.order[i]])
        size = norm(f.basis[row])
    if not size > RANK:
        return False
    f.lower[row, k] = size
    for j in range(s.free):
        f.basis[row, j] /= size
    for i in range(k + 1, s.rows):
        other = f.order[i]
        f.lower[other, k] = take_out(f.basis[other], f.basis[row])
        f.rest[other] = norm(f.basis[other])
    return True


def take_out(a: Vector, unit: Vector) -> float:
    """Take from a vector its part along another of length one, and tell how much that was."""
    share = dot(a, unit)
    for j in range(len(a)):
        a[j] -= share * unit[j]
    return share


def factorize_lower(s: System, f: Factors) -> None:
    """L = U R by columns, each made orthogonal to those before it twice; U takes the place of L."""
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
    """(A⁺)ᵀ gradient: what the rows would have to be weighted with to make the gradient of them."""
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
    """Leave of a direction the part in which no residual changes."""
    f = s.factors
    for k in range(s.free):
        if s.fixed[k] == 1:
            direction[k] = 0.0
    for k in range(f.rank):
        take_out(direction, f.basis[f.order[k]])


def solve_positive(matrix: Matrix, side: Vector) -> bool:
    """Solve with a symmetric positive matrix in place, by Cholesky's method; whether it is one."""
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
