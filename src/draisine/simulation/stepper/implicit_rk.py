"""Inside one step of an implicit method: the simplified Newton iteration that solves its stages.

Restricted Python, like `stages`, whose implicit counterparts these functions are. The iteration follows the code RADAU5
(Hairer & Wanner II, section IV.8): Jacobians and factors are kept as long as it converges well, and its rate θ says how long
that is. In runs with a fixed step it goes on to rounding error instead.
"""

from __future__ import annotations

import math

from draisine.simulation.stepper.explicit_rk import copy, first_bad
from draisine.simulation.stepper.implicit_systems import (
    PATIENCE,
    blame_equation,
    clear,
    factorize,
    make_jacobians,
    residual,
    size_of,
    solve_complex,
    solve_real,
    weigh_unknowns,
)
from draisine.simulation.stepper.layout import DIVERGED, SINGULAR_MATRIX, SOLVED, Stepper, Tableau

EPSILON = 2.220446049250313e-16
SLOWEST = 0.99  # rate of convergence beyond which an iteration is given up


def predict(s: Stepper, m: Tableau, h: float) -> None:
    """Increments of the stages by the polynomial of the step before, continued; zero if there was none."""
    count, width, z, past, nodes = m.solved, s.width, s.stage, s.past_stage, m.nodes
    for i in range(count):
        clear(z[i], width)
    if s.predicts == 0:
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


def load_stage(s: Stepper, m: Tableau, h: float, i: int) -> None:
    """The residual of stage i."""
    width, z, x, point, rate = s.width, s.stage, s.x, s.point, s.rate
    for l in range(width):
        point[l] = x[l] + z[i, l]
        rate[l] = 0.0
    for j in range(m.solved):
        weight = m.weights[i, j] / h
        for l in range(width):
            rate[l] += weight * z[j, l]
    residual(s, s.t + m.nodes[i] * h, s.load[i])


def correct_stages(s: Stepper, m: Tableau) -> float:
    """One Newton step for all stages, by the eigenvectors of A⁻¹; return its size."""
    count, n, z, load, change = m.solved, s.unknowns, s.stage, s.load, s.change
    weight, side, shared, real, pairs = s.weight, s.side, s.complex_side, m.real, m.pairs
    for i in range(count):
        clear(change[i], s.width)
    for k in range(m.real_systems):
        for l in range(n):
            total = 0.0
            for i in range(count):
                total -= real[k, 1 + i] * load[i, l]
            side[l] = total
        solve_real(s, side)
        for i in range(count):
            for l in range(n):
                change[i, l] += real[k, 1 + count + i] * side[l]
    for k in range(m.pair_systems):
        for l in range(n):
            shares = 0.0j
            for i in range(count):
                shares -= pairs[k, 1 + i] * load[i, l]
            shared[l] = shares
        solve_complex(s, k)
        for i in range(count):
            right = 2.0 * pairs[k, 1 + count + i]
            for l in range(n):
                change[i, l] += right.real * shared[l].real - right.imag * shared[l].imag
    total = 0.0
    for i in range(count):
        for l in range(n):
            z[i, l] += change[i, l]
            total += (change[i, l] * weight[l]) ** 2
    return math.sqrt(total / (count * s.states))


def iterate_coupled(s: Stepper, m: Tableau, h: float) -> int:
    """All stages together."""
    before, rate_before, rate = 0.0, 1.0, 1.0
    for turn in range(most_turns(s, m)):
        for i in range(m.solved):
            load_stage(s, m, h, i)
            if s.aborted != 0:
                return SOLVED
            bad = first_bad(s.load[i], s.unknowns)
            if bad >= 0:
                return blame_equation(s, bad)
        size = correct_stages(s, m)
        if not math.isfinite(size):
            s.relief = 0.5
            return SINGULAR_MATRIX
        rate, rate_before = rate_of(turn, size, before, rate, rate_before)
        verdict = judge(s, m, turn, size, before, rate)
        if verdict >= 0:
            return verdict
        before = max(size, EPSILON * 1e-10)
    s.relief = 0.5
    return DIVERGED


def most_turns(s: Stepper, m: Tableau) -> int:
    if s.newton_tolerance == 0.0:
        return PATIENCE
    return 7 + (5 * max(0, m.solved - 3)) // 2


def rate_of(turn: int, size: float, before: float, rate: float, rate_before: float) -> tuple[float, float]:
    """The rate of convergence, smoothed over two turns, and the bare one."""
    if turn == 0:
        return 1.0, 1.0
    bare = size / before
    return (bare if turn == 1 else math.sqrt(bare * rate_before)), bare


def judge(s: Stepper, m: Tableau, turn: int, size: float, before: float, rate: float) -> int:
    """SOLVED or DIVERGED after a turn of the iteration, −1 to go on."""
    if s.newton_tolerance == 0.0:
        return judge_exact(s, turn, size, before)
    if turn > 0:
        if rate >= SLOWEST:
            s.convergence, s.relief = rate, 0.5
            return DIVERGED
        s.convergence = rate
        s.carried = rate / (1.0 - rate)
        turns_left = most_turns(s, m) - 1 - turn
        expected = s.carried * size * rate ** float(turns_left) / s.newton_tolerance
        if expected >= 1.0 and turns_left > 0:
            expected = max(1e-4, min(20.0, expected))
            s.relief = 0.8 * expected ** (-1.0 / (4.0 + turns_left))
            return DIVERGED
    s.iterations = turn + 1
    if s.carried * size <= s.newton_tolerance:
        return SOLVED
    return -1


def judge_exact(s: Stepper, turn: int, size: float, before: float) -> int:
    """Solved when a turn changes nothing any more, or rounding keeps it from changing less; `carried` is the least change yet."""
    s.iterations = turn + 1
    s.carried = size if turn == 0 else min(size, s.carried)
    if turn > 0 and before > 1e-12:
        s.convergence = max(s.convergence if turn > 1 else 0.0, size / before)
    if size <= 0.25 * EPSILON or (turn > 0 and before <= size < 1e-9):
        return SOLVED
    if size > 1e3 * s.carried:
        s.relief = 0.5
        return DIVERGED
    return -1


# ------------------------------------------------------------------------------------------- one stage after the other


def iterate_diagonal(s: Stepper, m: Tableau, h: float) -> int:
    """The stages in turn; rates k of the stages stand in the rows of derivatives, the known one first."""
    count, width = m.solved, s.width
    slowest, turns = 0.0, 0
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
        slowest, turns = max(slowest, s.convergence), turns + s.iterations
    s.convergence, s.iterations = slowest, turns
    copy(s.k[count], s.k[m.stages], width)
    return SOLVED


def iterate_stage(s: Stepper, m: Tableau, h: float, i: int, gamma: float) -> int:
    """F(t + c h, x + base + hγ k, k) = 0 for k."""
    width, n = s.width, s.unknowns
    x, base, k, point, side = s.x, s.stage[i], s.k[i + 1], s.point, s.side
    time = s.t + m.nodes[i] * h
    before, rate_before, rate = 0.0, 1.0, 1.0
    s.convergence = 0.0
    for turn in range(most_turns(s, m)):
        for l in range(width):
            point[l] = x[l] + base[l] + h * gamma * k[l]
        copy(k, s.rate, width)
        residual(s, time, side)
        if s.aborted != 0:
            return SOLVED
        bad = first_bad(side, n)
        if bad >= 0:
            return blame_equation(s, bad)
        solve_real(s, side)
        size = size_of(s, side)
        if not math.isfinite(size):
            s.relief = 0.5
            return SINGULAR_MATRIX
        for l in range(n):
            k[l] -= side[l] / (h * gamma)
        rate, rate_before = rate_of(turn, size, before, rate, rate_before)
        verdict = judge(s, m, turn, size, before, rate)
        if verdict >= 0:
            return verdict
        before = max(size, EPSILON * 1e-10)
    s.relief = 0.5
    return DIVERGED


# ------------------------------------------------------------------------------------------------------ the whole step


def attempt_implicit(s: Stepper, m: Tableau, h: float) -> int:
    """Solve the stages of a step; the new state and the rate there."""
    if s.old != 0:
        outcome = make_jacobians(s)
        if outcome != SOLVED:
            return outcome
    outcome = factorize(s, m, h)
    if outcome != SOLVED:
        s.relief = 0.5
        return outcome
    weigh_unknowns(s, h)
    s.carried = max(s.carried, EPSILON) ** 0.8
    s.convergence = 0.0  # nothing bad is known of it
    if m.coupled != 0:
        predict(s, m, h)
        outcome = iterate_coupled(s, m, h)
    else:
        outcome = iterate_diagonal(s, m, h)
    if outcome == SOLVED and s.aborted == 0:
        finish(s, m, h)
    return outcome


def finish(s: Stepper, m: Tableau, h: float) -> None:
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
