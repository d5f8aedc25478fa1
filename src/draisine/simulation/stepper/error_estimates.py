"""After a step of an implicit method: the estimate of its error, and the interpolant.

Compiled as they stand, like `stages`.
"""

from __future__ import annotations

from typing import Any

from draisine.simulation.stepper.dae_residuals import residual, size_of
from draisine.simulation.stepper.explicit_rk import row_at
from draisine.simulation.stepper.layout import TERMS
from draisine.simulation.stepper.linear_solver import clear, solve_real, times_rate_slope
from draisine.simulation.stepper.native import matrix_at, reals_at


def implicit_error_size(s: Any, m: Any, h: float) -> float:
    """The error of the step in units of the tolerance: at its end by the filtered estimate, before it by the interpolants."""
    size = coupled_error_size(s, m, h) if m.coupled != 0 else diagonal_error_size(s, m, h)
    if s.smooth != 0 and m.evaluates_end == 0 and size < 1.0:
        size = max(size, mismatch_size(s, m, h))
    return size


def mismatch_size(s: Any, m: Any, h: float) -> float:
    """By how much two interpolants of the step differ."""
    count, width = m.solved, s.width
    z, mismatch = matrix_at(s.stage_at, count, width), reals_at(m.mismatch_at, count + 2)
    start, end, gap = reals_at(row_at(s, 0), width), reals_at(row_at(s, m.stages), width), reals_at(s.side_at, width)
    for l in range(width):
        gap[l] = h * (mismatch[count] * start[l] + mismatch[count + 1] * end[l])
    for j in range(count):
        for l in range(width):
            gap[l] += mismatch[j] * z[j, l]
    return size_of(s, s.side_at)


def coupled_error_size(s: Any, m: Any, h: float) -> float:
    """The estimate of collocation methods; a second, filtered look if the first one would reject a suspect step."""
    count, width = m.solved, s.width
    z, estimate = matrix_at(s.stage_at, count, width), reals_at(m.estimate_at, count)
    x, error = reals_at(s.x_at, width), reals_at(s.error_at, width)
    point, rate = reals_at(s.point_at, width), reals_at(s.rate_at, width)
    clear(s.error_at, width)
    size = 0.0
    for _ in range(2):
        for l in range(width):
            point[l] = x[l] + error[l]
            total = 0.0
            for j in range(count):
                total += estimate[j] * z[j, l]
            rate[l] = total / h
        residual(s, s.t, s.error_at)
        if s.aborted != 0:
            return 0.0
        for l in range(width):
            error[l] = -error[l]
        solve_real(s, s.error_at)
        size = size_of(s, s.error_at)
        if size < 1.0 or (s.accepted > 0 and s.rejecting == 0):
            break
    return size


def diagonal_error_size(s: Any, m: Any, h: float) -> float:
    """The difference of the two formulas, filtered."""
    count, width = m.solved, s.width
    estimate, difference = reals_at(m.estimate_at, count + 1), reals_at(s.side_at, width)
    clear(s.side_at, width)
    for j in range(count + 1):
        k = reals_at(row_at(s, j), width)
        for l in range(width):
            difference[l] += m.filter * estimate[j] * k[l]
    times_rate_slope(s, s.side_at, s.error_at)
    solve_real(s, s.error_at)
    return size_of(s, s.error_at)


def prepare_polynomial(s: Any, m: Any, h: float) -> None:
    """All coefficients of the interpolant."""
    count, width = m.solved, s.width
    z, f = matrix_at(s.stage_at, count, width), matrix_at(s.dense_at, TERMS, width)
    start, end = reals_at(row_at(s, 0), width), reals_at(row_at(s, m.stages), width)
    weights = matrix_at(m.dense_at if s.smooth != 0 else m.rough_at, m.terms, count + 2)
    for term in range(m.terms):
        for l in range(width):
            f[term, l] = h * (weights[term, count] * start[l] + weights[term, count + 1] * end[l])
        for j in range(count):
            for l in range(width):
                f[term, l] += weights[term, j] * z[j, l]
    s.ready = 1
