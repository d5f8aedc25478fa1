"""Residuals of a stage and their Jacobian, and how much of a residual counts as zero.

Restricted Python, as all of `least_norm`, `newton`, `descent`, `search` and `rest_velocities`: it runs as it stands, as machine
code, and as JavaScript in a page.
"""

from __future__ import annotations

import math

from draisine.codegen.restricted.record import call_kernel
from draisine.codegen.restricted.types import Vector
from draisine.simulation.initial.memory import Point, System

EXACT = 5e-15  # a share that steps need not better
FAR = 1e3
SAME = 1e-13  # rows of Jacobians that differ by less, as a part of their largest entry, are the same


def place_unknowns(s: System, p: Point) -> None:
    """All unknowns at the changes z."""
    copy(s.reference, p.y)
    for k in range(s.free):
        p.y[s.columns[k]] += s.scale[s.columns[k]] * p.z[k]


def changes_to(s: System, y: Vector, z: Vector) -> None:
    """The changes that lead to y, as far as its free entries go."""
    for k in range(s.free):
        z[k] = (y[s.columns[k]] - s.reference[s.columns[k]]) / s.scale[s.columns[k]]


def evaluate(s: System, p: Point) -> None:
    """All that is known of a point, from its changes z."""
    place_unknowns(s, p)
    evaluate_rows(s, p)
    judge(s, p)


def go_to(s: System, z: Vector) -> None:
    """Let the search go on from the changes z."""
    copy(z, s.here.z)
    evaluate(s, s.here)
    s.factors.fresh = 0


def evaluate_rows(s: System, p: Point) -> None:
    """Residuals and their Jacobian at the unknowns y."""
    m, nonlinear = s.motion, s.rows - s.linear
    if nonlinear > 0:
        copy(p.y, s.argument)
        call_kernel(m.kernel, (m.t, m.q, m.v, m.u, m.p), (m.values, m.by_q, m.by_v))
    for i in range(nonlinear):
        p.residual[i] = m.values[s.take[i]] - s.target[i]
    for k in range(s.entries):
        p.jacobian[s.row[k], s.column[k]] = s.derivatives[s.source[k]]
    for i in range(s.linear):
        total = 0.0
        for j in range(s.unknowns):
            total += s.matrix[i, j] * p.y[j]
            p.jacobian[nonlinear + i, j] = s.matrix[i, j]
        p.residual[nonlinear + i] = total - s.target[nonlinear + i]


def larger(a: float, b: float) -> float:
    """The larger of two; the first where the second is not a number."""
    return b if b > a else a


def judge(s: System, p: Point) -> None:
    """The weights of the residuals, and their largest share."""
    share, strict = 0.0, 0.0
    for i in range(s.rows):
        weight = abs(s.target[i])
        for j in range(s.unknowns):
            weight += abs(p.jacobian[i, j]) * larger(s.least[j], abs(p.y[j]))
        p.weight[i] = weight if weight != 0.0 else 1.0
        part = abs(p.residual[i]) / p.weight[i]
        share = larger(share, part) if part == part else math.inf
        if s.targeted[i] == 1 and s.target[i] != 0.0:
            strict = larger(strict, abs(p.residual[i]) / abs(s.target[i]))
    p.share = share
    p.strict_share = larger(share, strict)


def size_up(s: System) -> None:
    """What counts as large: of unknowns their scales, of velocities what is asked for; and how long a step may be."""
    size = 1.0
    if s.homogeneous == 1:
        size = size_of_velocities(s)
    for j in range(s.unknowns):
        s.least[j] = size * s.scale[j]
    known = 0.0
    for j in range(s.unknowns):
        known = larger(known, larger(s.scale[j], abs(s.reference[j])))
    for i in range(s.rows):
        known = larger(known, abs(s.target[i]))
    for k in range(s.free):
        column = s.columns[k]
        leap = s.leap[column]
        if s.homogeneous == 0 and FAR * known < leap:
            leap = FAR * known  # not far beyond all that is known of the sizes of coordinates
        s.furthest[k] = leap / s.scale[column]


def size_of_velocities(s: System) -> float:
    """How many scales are needed for what is asked for, or are in the references."""
    p = s.trial
    copy(s.reference, p.y)
    evaluate_rows(s, p)
    size = 0.0
    for i in range(s.rows):
        rate = 0.0
        for j in range(s.unknowns):
            rate += abs(p.jacobian[i, j]) * s.scale[j]
        if rate > 0.0:
            size = larger(size, larger(abs(s.target[i]), abs(p.residual[i])) / rate)
    for j in range(s.unknowns):
        size = larger(size, abs(s.reference[j]) / s.scale[j])
    return size if size > 0.0 and size < math.inf else 1.0


def move_here(s: System, p: Point) -> None:
    """Make a point the one where the search is. Factors of a Jacobian that has not changed stay good."""
    h = s.here
    for i in range(s.rows):
        difference, largest = 0.0, 0.0
        for j in range(s.unknowns):
            difference = larger(difference, abs(p.jacobian[i, j] - h.jacobian[i, j]))
            largest = larger(largest, abs(p.jacobian[i, j]))
            h.jacobian[i, j] = p.jacobian[i, j]
        if not difference <= SAME * largest:
            s.factors.fresh = 0
            s.curved = 1
        h.residual[i] = p.residual[i]
        h.weight[i] = p.weight[i]
    copy(p.y, h.y)
    copy(p.z, h.z)
    h.share = p.share
    h.strict_share = p.strict_share


def square(a: float) -> float:
    return a * a


def copy(a: Vector, b: Vector) -> None:
    """b = a."""
    for i in range(len(a)):
        b[i] = a[i]


def norm(a: Vector) -> float:
    """The length of a vector."""
    return math.sqrt(dot(a, a))


def dot(a: Vector, b: Vector) -> float:
    """The scalar product, by four sums side by side: one alone would wait for itself."""
    n = len(a)
    first, second, third, fourth = 0.0, 0.0, 0.0, 0.0
    k = 0
    while k + 4 <= n:
        first += a[k] * b[k]
        second += a[k + 1] * b[k + 1]
        third += a[k + 2] * b[k + 2]
        fourth += a[k + 3] * b[k + 3]
        k += 4
    while k < n:
        first += a[k] * b[k]
        k += 1
    return (first + second) + (third + fourth)
