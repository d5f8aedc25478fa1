"""After a step of an implicit method: the estimate of its error, and the interpolant.

Restricted Python, like `stages`.
"""

from __future__ import annotations

from draisine.simulation.stepper.implicit_systems import clear, residual, size_of, solve_real, times_rate_slope
from draisine.simulation.stepper.layout import Stepper, Tableau


def implicit_error_size(s: Stepper, m: Tableau, h: float) -> float:
    """The error of the step in units of the tolerance: at its end by the filtered estimate, before it by the interpolants."""
    size = coupled_error_size(s, m, h) if m.coupled != 0 else diagonal_error_size(s, m, h)
    if s.smooth != 0 and m.evaluates_end == 0 and size < 1.0:
        size = max(size, mismatch_size(s, m, h))
    return size


def mismatch_size(s: Stepper, m: Tableau, h: float) -> float:
    """By how much two interpolants of the step differ."""
    count, width = m.solved, s.width
    z, mismatch, start, end, gap = s.stage, m.mismatch, s.k[0], s.k[m.stages], s.side
    for l in range(width):
        gap[l] = h * (mismatch[count] * start[l] + mismatch[count + 1] * end[l])
    for j in range(count):
        for l in range(width):
            gap[l] += mismatch[j] * z[j, l]
    return size_of(s, gap)


def coupled_error_size(s: Stepper, m: Tableau, h: float) -> float:
    """The estimate of collocation methods; a second, filtered look if the first one would reject a suspect step."""
    count, width = m.solved, s.width
    z, estimate, x, error, point, rate = s.stage, m.estimate, s.x, s.error[0], s.point, s.rate
    clear(error, width)
    size = 0.0
    for _ in range(2):
        for l in range(width):
            point[l] = x[l] + error[l]
            total = 0.0
            for j in range(count):
                total += estimate[j] * z[j, l]
            rate[l] = total / h
        residual(s, s.t, error)
        if s.aborted != 0:
            return 0.0
        for l in range(width):
            error[l] = -error[l]
        solve_real(s, error)
        size = size_of(s, error)
        if size < 1.0 or (s.accepted > 0 and s.rejecting == 0):
            break
    return size


def diagonal_error_size(s: Stepper, m: Tableau, h: float) -> float:
    """The difference of the two formulas, filtered."""
    count, width = m.solved, s.width
    estimate, difference, error = m.estimate, s.side, s.error[0]
    clear(difference, width)
    for j in range(count + 1):
        k = s.k[j]
        for l in range(width):
            difference[l] += m.filter * estimate[j] * k[l]
    times_rate_slope(s, difference, error)
    solve_real(s, error)
    return size_of(s, error)


def prepare_polynomial(s: Stepper, m: Tableau, h: float) -> None:
    """All coefficients of the interpolant."""
    count, width = m.solved, s.width
    z, f, start, end = s.stage, s.dense, s.k[0], s.k[m.stages]
    weights = m.dense if s.smooth != 0 else m.rough
    for term in range(m.terms):
        for l in range(width):
            f[term, l] = h * (weights[term, count] * start[l] + weights[term, count + 1] * end[l])
        for j in range(count):
            for l in range(width):
                f[term, l] += weights[term, j] * z[j, l]
    s.ready = 1
