"""One step of an implicit Runge–Kutta method: simplified Newton iteration, error estimate, interpolant.

Restricted Python, the implicit counterpart of `explicit_rk`. The iteration follows the code RADAU5 (Hairer & Wanner II, section
IV.8): Jacobians and factors are kept as long as it converges well, and its convergence rate θ decides how long that is. In runs
with a fixed step it continues to rounding error instead.
"""

from __future__ import annotations

import math

from draisine.simulation.stepper.dense_matrices import clear
from draisine.simulation.stepper.explicit_rk import copy, first_nonfinite
from draisine.simulation.stepper.implicit_systems import (
    MAX_ITERATIONS,
    factorize,
    make_jacobians,
    multiply_rate_jacobian,
    record_nonfinite_equation,
    residual,
    set_error_weights,
    solve_complex,
    solve_real,
    weighted_rms,
    widen_scale,
)
from draisine.simulation.stepper.layout import DIVERGED, SINGULAR_MATRIX, SOLVED, Stepper, Tableau
from draisine.simulation.stepper.slow_slips import match_slips

EPSILON = 2.220446049250313e-16
SLOWEST = 0.99  # convergence rate above which an iteration is stopped


def predict(s: Stepper, m: Tableau, h: float) -> None:
    """Increments of the stages by extrapolation of the last step's polynomial; zero if there is none."""
    count, width, z, past, nodes = m.solved, s.width, s.stage, s.past_stage, m.nodes
    for i in range(count):
        clear(z[i], width)
    if s.past_stage_valid == 0:
        return
    for i in range(count):
        theta = 1.0 + nodes[i] * h / s.past_h
        for j in range(count):
            weight = theta / nodes[j]
            for k in range(count):
                if k != j:
                    weight *= (theta - nodes[k]) / (nodes[j] - nodes[k])
            weight -= m.update[j]
            for l in range(width):
                z[i, l] += weight * past[j, l]


def evaluate_stage_residual(s: Stepper, m: Tableau, h: float, i: int) -> None:
    """The residual of stage i."""
    width, z, x, point, rate = s.width, s.stage, s.x, s.point, s.rate
    for l in range(width):
        point[l] = x[l] + z[i, l]
        rate[l] = 0.0
    for j in range(m.solved):
        weight = m.weights[i, j] / h
        for l in range(width):
            rate[l] += weight * z[j, l]
    residual(s, s.t + m.nodes[i] * h, s.stage_residual[i])
    if s.unilateral != 0 and s.modes.system_kernel != 0:
        match_slips(s, m.filter / h, s.stage_residual[i])


def newton_step(s: Stepper, m: Tableau) -> float:
    """One Newton step for all stages, by the eigenvectors of A⁻¹; return its size."""
    count, n, z, residuals, change = m.solved, s.unknowns, s.stage, s.stage_residual, s.change
    weight, rhs, shared, real, pairs = s.weight, s.rhs, s.complex_rhs, m.real, m.pairs
    for i in range(count):
        clear(change[i], s.width)
    for k in range(m.real_systems):
        for l in range(n):
            total = 0.0
            for i in range(count):
                total -= real[k, 1 + i] * residuals[i, l]
            rhs[l] = total
        solve_real(s, rhs)
        for i in range(count):
            for l in range(n):
                change[i, l] += real[k, 1 + count + i] * rhs[l]
    for k in range(m.pair_systems):
        for l in range(n):
            shares = 0.0j
            for i in range(count):
                shares -= pairs[k, 1 + i] * residuals[i, l]
            shared[l] = shares
        solve_complex(s, k)
        for i in range(count):
            right = 2.0 * pairs[k, 1 + count + i]
            for l in range(n):
                change[i, l] += right.real * shared[l].real - right.imag * shared[l].imag
    for i in range(count):
        for l in range(n):
            z[i, l] += change[i, l]
    if s.adaptive == 0:
        for l in range(s.states):
            largest = 0.0
            for i in range(count):
                largest = max(largest, abs(z[i, l]))
            widen_scale(s, l, largest)
    total = 0.0
    for i in range(count):
        for l in range(n):
            total += (change[i, l] * weight[l]) ** 2
    return math.sqrt(total / (count * s.states))


def iterate_coupled(s: Stepper, m: Tableau, h: float) -> int:
    """Newton iteration for all stages together."""
    before, rate_before, rate = 0.0, 1.0, 1.0
    for iteration in range(max_iterations(s, m)):
        for i in range(m.solved):
            evaluate_stage_residual(s, m, h, i)
            if s.aborted != 0:
                return SOLVED
            bad = first_nonfinite(s.stage_residual[i], s.unknowns)
            if bad >= 0:
                return record_nonfinite_equation(s, bad)
        size = newton_step(s, m)
        if not math.isfinite(size):
            s.shrink_factor = 0.5
            return SINGULAR_MATRIX
        rate, rate_before = convergence_rate(iteration, size, before, rate, rate_before)
        outcome = check_convergence(s, m, iteration, size, before, rate)
        if outcome >= 0:
            return outcome
        before = max(size, EPSILON * 1e-10)
    s.shrink_factor = 0.5
    return DIVERGED


def max_iterations(s: Stepper, m: Tableau) -> int:
    if s.newton_tolerance == 0.0:
        return MAX_ITERATIONS
    return 7 + (5 * max(0, m.solved - 3)) // 2


def convergence_rate(iteration: int, size: float, before: float, rate: float, rate_before: float) -> tuple[float, float]:
    """The convergence rate, smoothed over two iterations, and the plain one."""
    if iteration == 0:
        return 1.0, 1.0
    bare = size / before
    return (bare if iteration == 1 else math.sqrt(bare * rate_before)), bare


def check_convergence(s: Stepper, m: Tableau, iteration: int, size: float, before: float, rate: float) -> int:
    """SOLVED or DIVERGED after an iteration, −1 to continue."""
    if s.newton_tolerance == 0.0:
        return check_exact_convergence(s, iteration, size, before)
    if iteration > 0:
        if rate >= SLOWEST:
            s.convergence, s.shrink_factor = rate, 0.5
            return DIVERGED
        s.convergence = rate
        s.newton_factor = rate / (1.0 - rate)
        iterations_left = max_iterations(s, m) - 1 - iteration
        expected = s.newton_factor * size * rate ** float(iterations_left) / s.newton_tolerance
        if expected >= 1.0 and iterations_left > 0:
            expected = max(1e-4, min(20.0, expected))
            s.shrink_factor = 0.8 * expected ** (-1.0 / (4.0 + iterations_left))
            return DIVERGED
    s.iterations = iteration + 1
    if s.newton_factor * size <= s.newton_tolerance:
        return SOLVED
    return -1


def check_exact_convergence(s: Stepper, iteration: int, size: float, before: float) -> int:
    """Solved when the corrections reach rounding error; `newton_factor` is the smallest correction so far."""
    s.iterations = iteration + 1
    s.newton_factor = size if iteration == 0 else min(size, s.newton_factor)
    if iteration > 0 and before > 1e-12:
        s.convergence = max(s.convergence if iteration > 1 else 0.0, size / before)
    if size <= 0.25 * EPSILON or (iteration > 0 and before <= size < 1e-9):
        return SOLVED
    if size > 1e3 * s.newton_factor:
        s.shrink_factor = 0.5
        return DIVERGED
    return -1


# ------------------------------------------------------------------------------------------- one stage after the other


def iterate_diagonal(s: Stepper, m: Tableau, h: float) -> int:
    """Newton iteration stage by stage; the rates k of the stages are the rows of derivatives, the known one first."""
    count, width = m.solved, s.width
    slowest, iterations = 0.0, 0
    for i in range(count):
        weights, base, k = m.weights[i], s.stage[i], s.k[i + 1]
        clear(base, width)
        for j in range(i + 1):
            known = s.k[j]
            for l in range(width):
                base[l] += h * weights[j] * known[l]
        copy(s.k[i], k, width)
        outcome = iterate_stage(s, m, h, i, weights[i + 1])
        if outcome != SOLVED or s.aborted != 0:
            return outcome
        for l in range(width):
            base[l] += h * weights[i + 1] * k[l]
        slowest, iterations = max(slowest, s.convergence), iterations + s.iterations
    s.convergence, s.iterations = slowest, iterations
    copy(s.k[count], s.k[m.stages], width)
    return SOLVED


def iterate_stage(s: Stepper, m: Tableau, h: float, i: int, gamma: float) -> int:
    """Solve F(t + c h, x + base + hγ k, k) = 0 for k."""
    width, n = s.width, s.unknowns
    x, base, k, point, rhs = s.x, s.stage[i], s.k[i + 1], s.point, s.rhs
    time = s.t + m.nodes[i] * h
    before, rate_before, rate = 0.0, 1.0, 1.0
    s.convergence = 0.0
    for iteration in range(max_iterations(s, m)):
        for l in range(width):
            point[l] = x[l] + base[l] + h * gamma * k[l]
        copy(k, s.rate, width)
        residual(s, time, rhs)
        if s.aborted != 0:
            return SOLVED
        bad = first_nonfinite(rhs, n)
        if bad >= 0:
            return record_nonfinite_equation(s, bad)
        solve_real(s, rhs)
        if s.adaptive == 0:
            for l in range(s.states):
                widen_scale(s, l, abs(rhs[l]))
        size = weighted_rms(s, rhs)
        if not math.isfinite(size):
            s.shrink_factor = 0.5
            return SINGULAR_MATRIX
        for l in range(n):
            k[l] -= rhs[l] / (h * gamma)
        rate, rate_before = convergence_rate(iteration, size, before, rate, rate_before)
        outcome = check_convergence(s, m, iteration, size, before, rate)
        if outcome >= 0:
            return outcome
        before = max(size, EPSILON * 1e-10)
    s.shrink_factor = 0.5
    return DIVERGED


# ------------------------------------------------------------------------------------------------------ the whole step


def attempt_implicit(s: Stepper, m: Tableau, h: float) -> int:
    """Solve the stages of a step; compute the new state and its rate."""
    if s.jacobian_old != 0:
        outcome = make_jacobians(s)
        if outcome != SOLVED:
            return outcome
    outcome = factorize(s, m, h)
    if outcome != SOLVED:
        s.shrink_factor = 0.5
        return outcome
    set_error_weights(s, h)
    # of ẋ = f an old Jacobian is wrong by O(h), as it enters with h; of 0 = F by O(1), and one iteration shows nothing
    s.newton_factor = max(s.newton_factor, EPSILON) ** 0.8 if s.residual_form == 0 else 1.0
    s.convergence = 0.0  # no iteration yet
    if m.coupled != 0:
        predict(s, m, h)
        outcome = iterate_coupled(s, m, h)
    else:
        outcome = iterate_diagonal(s, m, h)
    if outcome == SOLVED and s.aborted == 0:
        update_state(s, m, h)
    return outcome


def update_state(s: Stepper, m: Tableau, h: float) -> None:
    """x + Σ update Z, and Σ end_rate Z / h."""
    count, width, z, x, new, end = m.solved, s.width, s.stage, s.x, s.new, s.k[m.stages]
    update, end_rate = m.update, m.end_rate
    for l in range(width):
        total = 0.0
        for j in range(count):
            total += update[j] * z[j, l]
        new[l] = x[l] + total
    if m.coupled != 0:
        for l in range(width):
            total = 0.0
            for j in range(count):
                total += end_rate[j] * z[j, l]
            end[l] = total / h


def implicit_error_size(s: Stepper, m: Tableau, h: float) -> float:
    """The error of the step in units of the tolerance: at its end by the filtered estimate, inside by the interpolants."""
    size = coupled_error_size(s, m, h) if m.coupled != 0 else diagonal_error_size(s, m, h)
    if s.smooth != 0 and m.evaluates_end == 0 and size < 1.0:
        size = max(size, mismatch_size(s, m, h))
    return size


def mismatch_size(s: Stepper, m: Tableau, h: float) -> float:
    """The difference of two interpolants of the step."""
    count, width = m.solved, s.width
    z, mismatch, start, end, gap = s.stage, m.mismatch, s.k[0], s.k[m.stages], s.rhs
    for l in range(width):
        gap[l] = h * (mismatch[count] * start[l] + mismatch[count + 1] * end[l])
    for j in range(count):
        for l in range(width):
            gap[l] += mismatch[j] * z[j, l]
    return weighted_rms(s, gap)


def coupled_error_size(s: Stepper, m: Tableau, h: float) -> float:
    """The estimate of collocation methods, filtered a second time if the first would reject the first or a repeated step."""
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
        if s.unilateral != 0 and s.modes.system_kernel != 0:
            match_slips(s, m.filter / h, error)
        for l in range(width):
            error[l] = -error[l]
        solve_real(s, error)
        size = weighted_rms(s, error)
        if size < 1.0 or (s.accepted > 0 and s.last_rejected == 0):
            break
    return size


def diagonal_error_size(s: Stepper, m: Tableau, h: float) -> float:
    """The filtered difference of the two formulas."""
    count, width = m.solved, s.width
    estimate, difference, error = m.estimate, s.rhs, s.error[0]
    clear(difference, width)
    for j in range(count + 1):
        k = s.k[j]
        for l in range(width):
            difference[l] += m.filter * estimate[j] * k[l]
    multiply_rate_jacobian(s, difference, error)
    solve_real(s, error)
    return weighted_rms(s, error)


def prepare_polynomial(s: Stepper, m: Tableau, h: float) -> None:
    """Compute all coefficients of the interpolant."""
    count, width = m.solved, s.width
    z, f, start, end = s.stage, s.dense, s.k[0], s.k[m.stages]
    weights = m.dense if s.smooth != 0 else m.rough
    for term in range(m.terms):
        for l in range(width):
            f[term, l] = h * (weights[term, count] * start[l] + weights[term, count + 1] * end[l])
        for j in range(count):
            for l in range(width):
                f[term, l] += weights[term, j] * z[j, l]
    s.dense_ready = 1
