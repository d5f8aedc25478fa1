"""The split of forces between laws whose effects on a sliding motion are not independent. Restricted Python.

Laws whose switching functions are zero on one surface, such as the brakes of all wheels of a cart at rest, hold the motion
together: their resultant is determined, the split between them is not, as with redundant constraints. With weights σ_k = ½ + φ_k
of the laws and the jumps c_k of the field, the motion determines Σ_k c_k φ_k. Of all φ with this sum and |φ_k| ≤ ½, those are
taken for which Σ_k φ_k² √h_k is least, h_k = c_kᵀ (C Cᵀ)⁺ c_k. Laws along one line then have equal fractions of their ranges.
The factors h do not depend on the coordinates of the field, so that all formulations give one split, and h_k = 1 if a law is
determined by the motion.
"""

from __future__ import annotations

import math

from draisine.codegen.restricted.types import call_kernel
from draisine.simulation.stepper.dense_matrices import lu_decompose, lu_solve
from draisine.simulation.stepper.layout import MOST_SPLIT, Stepper

REACH = 1e-3  # a time along the jump of the field, in which a switching function leaves zero
NEAR = 1e-6  # of a switching function, relative to its change in that time: still zero
ZERO = 1e-13  # … and absolute
STAYS = 1e-7  # rate of a switching function that stays zero, relative to its jump
NOISE = 1e-8  # jump of a component of the field by rounding or drift (the power at a joint at rest), relative to the largest
PARALLEL = 1e-8  # part of an effect that is independent of others, relative to the effect
DETERMINED = 1e-6  # 1 − h of a law that is determined


def find_laws(s: Stepper) -> int:
    """List the laws in whose switching functions the motion stays at zero; their number, 0 if it is known that none shares."""
    count = 0
    for i in range(s.sliding):
        s.split_law[count] = s.margin_branch[int(s.sliding_margin[i])]
        count += 1
    further = 0
    for j in range(s.branch_margins):
        if may_share(s, j):
            further += 1
    if further > 0:
        measure_reach(s)
        call_kernel(s.mixed_rates, (s.time, s.point, s.u, s.mixed_parameters), (s.mixed_rate,))
        for j in range(s.branch_margins):
            if count < MOST_SPLIT and count < len(s.branch) and may_share(s, j) and stays_at_zero(s, j):
                s.split_law[count] = s.margin_branch[j]
                count += 1
    return count if count > 1 else 0


def may_share(s: Stepper, row: int) -> bool:
    """Whether a margin is that of a jump with two sides, on which the run does not slide by itself."""
    branch = int(s.margin_branch[row])
    if s.margin_step[row] != 0 or s.switch_jumps[branch] == 0:
        return False
    known = 0
    for i in range(s.sliding):
        if int(s.margin_branch[int(s.sliding_margin[i])]) == branch:
            known += 1
    return known == 0


def measure_reach(s: Stepper) -> None:
    """The margins at (time, point), and their largest changes along the jumps of the field at the surfaces."""
    call_kernel(s.margin_kernel, (s.time, s.point, s.u, s.sliding_parameters[0]), (s.split_margin[0],))
    for j in range(s.branch_margins):
        s.split_margin[2, j] = 0.0
    for i in range(s.sliding):
        for l in range(s.width):
            s.split_point[l] = s.point[l]
        for l in range(s.plain_states):
            s.split_point[l] += REACH * (s.sliding_field[i + 1, l] - s.sliding_field[0, l])
        call_kernel(s.margin_kernel, (s.time, s.split_point, s.u, s.sliding_parameters[0]), (s.split_margin[1],))
        for j in range(s.branch_margins):
            s.split_margin[2, j] = max(s.split_margin[2, j], abs(s.split_margin[1, j] - s.split_margin[0, j]))


def stays_at_zero(s: Stepper, row: int) -> bool:
    """Whether a switching function is zero together with those of the surfaces, and remains so."""
    branch, reach = int(s.margin_branch[row]), s.split_margin[2, row]
    value, jump = abs(s.split_margin[0, row]), 0.0
    for i in range(s.sliding):
        jump = max(jump, abs(s.sliding_rate[i + 1, branch] - s.sliding_rate[0, branch]))
    if not reach > ZERO + value or not value <= ZERO + NEAR * reach:
        return False
    return abs(s.mixed_rate[branch]) <= ZERO + STAYS * jump


def find_effects(s: Stepper, count: int) -> int:
    """The jumps of the field with the listed laws, relative to the largest of each component; the number of laws with an effect.

    The list is shortened to these.
    """
    effect = s.split_effect
    for k in range(count):
        entry = s.first_branch + int(s.split_law[k])
        present = s.mixed_parameters[entry]
        s.mixed_parameters[entry] = 1.0
        call_kernel(s.mixed_dynamics, (s.time, s.point, s.u, s.mixed_parameters), (effect[k],))
        s.mixed_parameters[entry] = 0.0
        call_kernel(s.mixed_dynamics, (s.time, s.point, s.u, s.mixed_parameters), (s.split_point,))
        s.mixed_parameters[entry] = present
        for l in range(s.plain_states):
            effect[k, l] -= s.split_point[l]
    largest = 0.0
    for k in range(count):
        for l in range(s.plain_states):
            largest = max(largest, abs(effect[k, l]))
    for l in range(s.plain_states):
        size = 0.0
        for k in range(count):
            size = max(size, abs(effect[k, l]))
        s.split_scale[l] = 1.0 / size if size > NOISE * (abs(s.sliding_motion[l]) + largest) else 0.0
        for k in range(count):
            effect[k, l] *= s.split_scale[l]
    kept = 0
    for k in range(count):
        size = 0.0
        for l in range(s.plain_states):
            size = max(size, abs(effect[k, l]))
        if size > NOISE:
            s.split_law[kept] = s.split_law[k]
            for l in range(s.plain_states):
                effect[kept, l] = effect[k, l]
            kept += 1
    return kept


def find_basis(s: Stepper, count: int) -> int:
    """Orthonormal directions that span the effects; their number. `split_part` has the components of the effects."""
    effect, basis, rank = s.split_effect, s.split_basis, 0
    for k in range(count):
        whole = 0.0
        for l in range(s.plain_states):
            basis[rank, l] = effect[k, l]
            whole += effect[k, l] * effect[k, l]
        for _ in range(2):  # the second time for rounding
            for r in range(rank):
                along = 0.0
                for l in range(s.plain_states):
                    along += basis[r, l] * basis[rank, l]
                for l in range(s.plain_states):
                    basis[rank, l] -= along * basis[r, l]
        rest = 0.0
        for l in range(s.plain_states):
            rest += basis[rank, l] * basis[rank, l]
        if rest > PARALLEL * PARALLEL * whole:
            for l in range(s.plain_states):
                basis[rank, l] /= math.sqrt(rest)
            rank += 1
    for r in range(rank):
        for k in range(count):
            along = 0.0
            for l in range(s.plain_states):
                along += basis[r, l] * effect[k, l]
            s.split_part[r, k] = along
    return rank


def prepare_matrix(s: Stepper, count: int, rank: int) -> bool:
    """Decompose Σ_k c_k c_kᵀ/w_k over the laws that are free; whether that is possible."""
    a, part = s.split_matrix, s.split_part
    for r in range(rank):
        for q in range(rank):
            a[r, q] = 0.0
            for k in range(count):
                if s.split_fixed[k] == 0:
                    a[r, q] += part[r, k] * part[q, k] / s.split_weight[k]
    return lu_decompose(a, s.split_pivot, rank) < 0


def find_weights(s: Stepper, count: int, rank: int) -> bool:
    """The factors √h, and which laws the motion does not determine (`split_named`); whether they exist."""
    for k in range(count):
        s.split_fixed[k], s.split_weight[k] = 0, 1.0
    if not prepare_matrix(s, count, rank):
        return False
    for k in range(count):
        for r in range(rank):
            s.split_sum[r] = s.split_part[r, k]
        lu_solve(s.split_matrix, s.split_pivot, rank, s.split_sum)
        h = 0.0
        for r in range(rank):
            h += s.split_part[r, k] * s.split_sum[r]
        s.split_deviation[k] = h
    for k in range(count):
        h = s.split_deviation[k]
        if not h > 0.0:
            return False
        s.split_weight[k] = math.sqrt(h)
        if h < 1.0 - DETERMINED:
            s.split_named[int(s.split_law[k])] = 1
    return True


def share_sum(s: Stepper, count: int, rank: int) -> bool:
    """The deviations φ with the least weighted norm that have the sum of the motion, within their ranges; whether there are."""
    part, phi = s.split_part, s.split_deviation
    for _ in range(count):
        if not prepare_matrix(s, count, rank):
            return False
        for r in range(rank):
            total = s.split_need[r]
            for k in range(count):
                if s.split_fixed[k] != 0:
                    total -= part[r, k] * phi[k]
            s.split_sum[r] = total
        lu_solve(s.split_matrix, s.split_pivot, rank, s.split_sum)
        worst, excess = -1, 1e-9
        for k in range(count):
            if s.split_fixed[k] == 0:
                phi[k] = 0.0
                for r in range(rank):
                    phi[k] += part[r, k] * s.split_sum[r] / s.split_weight[k]
                if abs(phi[k]) - 0.5 > excess:
                    worst, excess = k, abs(phi[k]) - 0.5
        if worst < 0:
            return True
        s.split_fixed[worst], phi[worst] = 1, math.copysign(0.5, phi[worst])
    return False


def split_forces(s: Stepper, listed: int) -> bool:
    """Take the split of the listed laws in `mixed_parameters` that gives `sliding_motion`; False if there is none to take.

    The field with the present branches is in `mixed_field`; it differs from the motion if the field is not affine in the laws.
    """
    count = find_effects(s, listed)
    rank = find_basis(s, count)
    if rank == count or not find_weights(s, count, rank):
        return False
    for r in range(rank):
        need = 0.0
        for k in range(count):
            need += s.split_part[r, k] * (s.mixed_parameters[s.first_branch + int(s.split_law[k])] - 0.5)
        for l in range(s.plain_states):
            need += s.split_basis[r, l] * s.split_scale[l] * (s.sliding_motion[l] - s.mixed_field[l])
        s.split_need[r] = need
    s.splits += 1
    if s.splits == 1:
        s.split_time = s.time[0]
    if not share_sum(s, count, rank):
        s.split_failures += 1
        return False
    for k in range(count):
        s.mixed_parameters[s.first_branch + int(s.split_law[k])] = 0.5 + s.split_deviation[k]
    return True
