"""Residuals of a level, their Jacobian, and the weights that decide when a residual counts as zero.

Restricted Python, like `newton`, `descent`, `search` and `rest_velocities`: it runs in the interpreter, as machine code, and as
JavaScript in a web page.
"""

from __future__ import annotations

import math

from draisine.codegen.restricted.types import Vector, call_kernel
from draisine.simulation.initial.memory import Point, System

EXACT = 5e-15  # a relative residual that needs no further step
FAR = 1e3
# Size of a row up to which it is rounding error, as in a tie of points that coincide anyway, over the square of the model's
# length: residuals are lengths, or squares of them.
ROUNDING_ROW = 1e-11
SAME = 1e-13  # relative difference below which rows of Jacobians are equal


def set_unknowns(s: System, p: Point) -> None:
    """Compute the unknowns from the changes z."""
    copy(s.reference, p.y)
    for k in range(s.free):
        p.y[s.columns[k]] += s.scale[s.columns[k]] * p.z[k]


def changes_from(s: System, y: Vector, z: Vector) -> None:
    """The changes z of the free unknowns of y."""
    for k in range(s.free):
        z[k] = (y[s.columns[k]] - s.reference[s.columns[k]]) / s.scale[s.columns[k]]


def evaluate(s: System, p: Point) -> None:
    """Evaluate a point from its changes z."""
    set_unknowns(s, p)
    evaluate_rows(s, p)
    weigh_residuals(s, p)


def set_current(s: System, z: Vector) -> None:
    """Continue the search from the changes z."""
    copy(z, s.current.z)
    evaluate(s, s.current)
    s.factors.valid = 0


def evaluate_rows(s: System, p: Point) -> None:
    """Residuals and their Jacobian at the unknowns y."""
    m, nonlinear = s.motion, s.rows - s.linear
    if nonlinear > 0 or s.rest > 0:  # values that are set to rest are read after this
        copy(p.y, s.argument)
        call_kernel(m.kernel, (m.t, m.q, m.v, m.u, m.p), (m.values, m.by_q, m.by_v))
    for i in range(nonlinear):
        p.residual[i] = m.values[s.take[i]] - s.target[i]
        if abs(p.residual[i]) > 0.5 * s.period[i] and s.period[i] > 0.0:
            p.residual[i] -= s.period[i] * float(math.floor(p.residual[i] / s.period[i] + 0.5))
    for k in range(s.entries):
        p.jacobian[s.row[k], s.column[k]] = s.derivatives[s.source[k]]
    for i in range(s.linear):
        total = 0.0
        for j in range(s.unknowns):
            total += s.matrix[i, j] * p.y[j]
            p.jacobian[nonlinear + i, j] = s.matrix[i, j]
        p.residual[nonlinear + i] = total - s.target[nonlinear + i]


def maximum(a: float, b: float) -> float:
    """The larger of two numbers; the first if the second is NaN."""
    return b if b > a else a


def weigh_residuals(s: System, p: Point) -> None:
    """The weights of the residuals, and the largest relative residual."""
    share, strict, length = 0.0, 0.0, 1.0
    for j in range(s.unknowns):
        length = s.scale[j] if s.scale[j] < length else length
    for i in range(s.rows):
        weight, size = abs(s.target[i]), abs(s.target[i])
        for j in range(s.unknowns):
            weight += abs(p.jacobian[i, j]) * maximum(s.least_size[j], abs(p.y[j]))
            size += abs(p.jacobian[i, j]) * s.scale[j]
        p.weight[i] = weight if weight != 0.0 and size > ROUNDING_ROW * length * length else 1.0
        part = abs(p.residual[i]) / p.weight[i]
        share = maximum(share, part) if part == part else math.inf
        if s.targeted[i] == 1 and s.target[i] != 0.0:
            strict = maximum(strict, abs(p.residual[i]) / abs(s.target[i]))
    p.relative_residual = share
    p.strict_relative_residual = maximum(share, strict)


def set_sizes(s: System) -> None:
    """Set the sizes of the unknowns, from scales or for velocities from the targets, and the largest steps."""
    size = 1.0
    if s.homogeneous == 1:
        size = size_of_velocities(s)
    for j in range(s.unknowns):
        s.least_size[j] = size * s.scale[j]
    known = 0.0
    for j in range(s.unknowns):
        known = maximum(known, maximum(s.scale[j], abs(s.reference[j])))
    for i in range(s.rows):
        known = maximum(known, abs(s.target[i]))
    for k in range(s.free):
        column = s.columns[k]
        leap = s.max_step[column]
        if s.homogeneous == 0 and FAR * known < leap:
            leap = FAR * known  # not far beyond the known sizes of coordinates
        s.max_change[k] = leap / s.scale[column]


def size_of_velocities(s: System) -> float:
    """The size of the velocities, in scales, from targets, residuals and references."""
    p = s.trial
    copy(s.reference, p.y)
    evaluate_rows(s, p)
    size = 0.0
    for i in range(s.rows):
        rate = 0.0
        for j in range(s.unknowns):
            rate += abs(p.jacobian[i, j]) * s.scale[j]
        if rate > 0.0:
            size = maximum(size, maximum(abs(s.target[i]), abs(p.residual[i])) / rate)
    for j in range(s.unknowns):
        size = maximum(size, abs(s.reference[j]) / s.scale[j])
    return size if size > 0.0 and size < math.inf else 1.0


def accept_point(s: System, p: Point) -> None:
    """Make a point the current one. Factors of an unchanged Jacobian remain valid."""
    h = s.current
    for i in range(s.rows):
        difference, largest = 0.0, 0.0
        for j in range(s.unknowns):
            difference = maximum(difference, abs(p.jacobian[i, j] - h.jacobian[i, j]))
            largest = maximum(largest, abs(p.jacobian[i, j]))
            h.jacobian[i, j] = p.jacobian[i, j]
        if not difference <= SAME * largest:
            s.factors.valid = 0
            s.curved = 1
        h.residual[i] = p.residual[i]
        h.weight[i] = p.weight[i]
    copy(p.y, h.y)
    copy(p.z, h.z)
    h.relative_residual = p.relative_residual
    h.strict_relative_residual = p.strict_relative_residual


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
    """The scalar product by four independent sums, which is faster than one."""
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
