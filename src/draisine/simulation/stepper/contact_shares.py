"""Forces of contacts that are not determined, where those of the smallest size leave the cones of friction. Restricted Python.

Rows of closed contacts may depend on each other: forces z with no effect on the motion, Gz = 0, may be added to those of a
combination. It satisfies the laws of friction if any of these forces do, which is a convex problem: with b = λ_n and τ = λ_t/μ of
a contact that sticks (b = λ_n alone where it slips, b = F for dry friction of a joint), |τ_i| ≤ b_i for all contacts i. Its
largest margin follows from

    min s   with   |τ_i| ≤ b_i + s

over z and s, by Newton's method for κ s − Σ log((b_i + s)² − |τ_i|²) with growing κ, until the margin −s is known to a factor of
two. It is positive if the contacts hold, and negative if some of them slip: those at whose cones the solution lies.
"""

from __future__ import annotations

import math

from draisine.simulation.stepper.contact_laws import (
    SLACK,
    accelerations_fit,
    forces_fit,
    has_normal,
    is_joint,
    kinetic,
    largest,
    largest_reaction,
    sliding_force,
    static,
)
from draisine.simulation.stepper.contact_layout import OPEN, SLIP, STICK, ContactModes
from draisine.simulation.stepper.dense_matrices import lu_decompose, lu_solve

DEPENDENT = 1e-10  # largest pivot that is left, relative to the first, of rows that depend on each other
INDEPENDENT = 1e5  # diagonal relative to a pivot, up to which rows are independent beyond doubt
COMPATIBLE = 1e-7  # accelerations along rows that are zero, relative to those without forces
UNCHANGED = 1e-9  # part of a force in forces of length one
GROWTH = 8.0  # of κ
MOST_GROWTHS = 16
MOST_NEWTON = 30  # of Newton's method for one κ
NEAR = 1e-3  # square of the Newton decrement at which κ grows
CLOSE = 0.5  # the same from which on the error of the margin is known
HALVINGS = 40
GIVES = 1e-6  # margin, relative to the largest force, by which a time is wrong at which contacts give way
HOLDS = 1e-12  # margin, relative to the largest force, with which contacts are sure to hold
AT_CONE = 100.0  # times the margin and its error: where a solution lies at a cone


def satisfies(c: ContactModes) -> bool:
    """Whether the solved combination satisfies its inequalities."""
    return accelerations_fit(c) and (c.dependent == 0 or are_compatible(c)) and keep_within_cones(c)


def keep_within_cones(c: ContactModes) -> bool:
    """Whether the forces of the combination `choice` are within the cones of friction; those that are not determined are chosen
    so that they are."""
    return forces_fit(c) or (c.shares != 0 and widest_margin(c) <= 0.1 * SLACK * largest_reaction(c) and forces_fit(c))


def widest_margin(c: ContactModes) -> float:
    """The least s, by which forces are beyond the cones of friction: negative if they are within. The reactions are then those of
    this solution; if it is positive they are left alone."""
    size = list_unknowns(c)
    count = find_shared_forces(c, size) if may_depend(c, size) else 0
    if count == 0 or pulls_anyway(c, count):
        return largest_reaction(c)
    scale = largest_reaction(c)
    if not scale > 0.0:
        return 0.0
    for a in range(size):
        c.unknown[a] = c.reaction[int(c.small_row[a])]
    for j in range(count + 1):
        c.shared[j] = 0.0
    c.shared[count] = scale * (1.0 + deepest(c, size, count) / scale)
    bound, error = scale, scale
    kappa = 1.0
    for _ in range(MOST_GROWTHS):
        if not minimize_barrier(c, size, count, kappa, scale):
            break
        bound, error = c.shared[count], 2.0 * count_cones(c) * scale / kappa
        if bound < -error or bound > 4.0 * error:
            break
        kappa *= GROWTH
    c.share_error = error
    if bound <= GIVES * scale:
        take_shares(c, size, count)
    return bound


def pulls_anyway(c: ContactModes, count: int) -> bool:
    """Whether a normal force that no share changes is negative."""
    slack = SLACK * largest_reaction(c)
    for i in range(c.contacts):
        if c.active[i] != 0 and c.choice[i] != OPEN and has_normal(c, i) and c.reaction[int(c.normal[i])] < -slack:
            place, change = int(c.small_place[int(c.normal[i])]), 0.0
            for j in range(count):
                change = max(change, abs(c.shared_force[j, place]))
            if change <= UNCHANGED * row_scale(c, int(c.normal[i])):
                return True
    return False


def may_depend(c: ContactModes, size: int) -> bool:
    """Whether the pivots of the combination, with its compliance, leave room for rows that depend on each other."""
    most, small = 0.0, 0.0
    for a in range(size):
        row = int(c.small_row[a])
        most, small = max(most, c.delassus[row, row]), max(small, abs(c.small[a, a]))  # its diagonal holds inverses
    return small * most > INDEPENDENT


def are_compatible(c: ContactModes) -> bool:
    """Whether the rows of the combination can all be zero: they may ask for accelerations that contradict each other, as at the
    dead point of a crank."""
    room, left = COMPATIBLE * largest(c), 0.0
    for a in range(list_unknowns(c)):
        left = max(left, abs(c.result[int(c.small_row[a])]))
    return left <= room


def take_shares(c: ContactModes, size: int, count: int) -> None:
    """The reactions of the solution."""
    for a in range(size):
        c.reaction[int(c.small_row[a])] = force_at(c, a, count)
    for i in range(c.contacts):
        if c.active[i] != 0 and c.choice[i] == SLIP:
            for w in range(c.ways[i]):
                c.reaction[int(c.tangential[i]) + w] = -c.direction[i, w] * sliding_force(c, i)
    c.is_shared = 1


def list_unknowns(c: ContactModes) -> int:
    """The rows whose forces `solve_choice` solves for, in `small_row`, and their places; return their number."""
    size = 0
    for k in range(c.rows):
        c.small_place[k] = -1
    for i in range(c.contacts):
        if c.active[i] != 0 and c.choice[i] != OPEN:
            if has_normal(c, i):
                size = place_unknown(c, size, int(c.normal[i]))
            if c.choice[i] == STICK:
                for w in range(c.ways[i]):
                    size = place_unknown(c, size, int(c.tangential[i]) + w)
    return size


def place_unknown(c: ContactModes, size: int, row: int) -> int:
    c.small_row[size], c.small_place[row] = row, size
    return size + 1


# --------------------------------------------------------------------------------- forces without effect on the motion


def find_shared_forces(c: ContactModes, size: int) -> int:
    """A basis of the forces that have no effect along any row of closed contacts, in `shared_force`; return their number. They
    are orthogonal in the metric of Delassus' diagonal."""
    rows = form_effects(c, size)
    for b in range(size):
        c.shared_column[b] = b
    rank, first = 0, 0.0
    while rank < min(rows, size):
        best, row, column = 0.0, rank, rank
        for a in range(rank, rows):
            for b in range(rank, size):
                if abs(c.shared_effect[a, b]) > best:
                    best, row, column = abs(c.shared_effect[a, b]), a, b
        first = max(first, best)
        if not best > DEPENDENT * first:
            break
        eliminate(c, rows, size, rank, row, column)
        rank += 1
    for f in range(rank, size):
        v = c.shared_force[f - rank]
        for b in range(size):
            v[b] = 0.0
        v[int(c.shared_column[f])] = 1.0
        for k in range(rank):
            v[int(c.shared_column[k])] = -c.shared_effect[k, f]
        normalize(c, size, f - rank)
    for j in range(size - rank):
        for b in range(size):
            c.shared_force[j, b] *= row_scale(c, int(c.small_row[b]))
    return size - rank


def row_scale(c: ContactModes, row: int) -> float:
    """The reciprocal of the root of Delassus' diagonal."""
    return 1.0 / math.sqrt(c.delassus[row, row]) if c.delassus[row, row] > 0.0 else 1.0


def form_effects(c: ContactModes, size: int) -> int:
    """Accelerations along all rows of closed contacts by the forces that are solved for, scaled; return the number of rows."""
    rows = 0
    for i in range(c.contacts):
        if c.active[i] == 0 or c.choice[i] == OPEN:
            continue
        first = int(c.normal[i]) if has_normal(c, i) else int(c.tangential[i])
        for place in range(1 + c.ways[i] if has_normal(c, i) else int(c.ways[i])):
            row = first if place == 0 else int(c.tangential[i]) + place - (1 if has_normal(c, i) else 0)
            for b in range(size):
                c.shared_effect[rows, b] = effect_along(c, row, int(c.small_row[b])) * row_scale(c, row)
                c.shared_effect[rows, b] *= row_scale(c, int(c.small_row[b]))
            rows += 1
    return rows


def effect_along(c: ContactModes, row: int, of: int) -> float:
    """The acceleration along a row by a unit force of another one, with the friction that it causes."""
    total = c.delassus[row, of]
    for i in range(c.contacts):
        if c.active[i] != 0 and c.choice[i] == SLIP and not is_joint(c, i) and c.pressing[i] == of:
            for w in range(c.ways[i]):
                total -= kinetic(c, i) * c.direction[i, w] * c.delassus[row, int(c.tangential[i]) + w]
    return total


def eliminate(c: ContactModes, rows: int, size: int, rank: int, row: int, column: int) -> None:
    """One step of Gauss and Jordan, with the pivot brought to its place."""
    e = c.shared_effect
    for b in range(size):
        e[rank, b], e[row, b] = e[row, b], e[rank, b]
    for a in range(rows):
        e[a, rank], e[a, column] = e[a, column], e[a, rank]
    c.shared_column[rank], c.shared_column[column] = c.shared_column[column], c.shared_column[rank]
    inverse = 1.0 / e[rank, rank]
    for b in range(rank, size):
        e[rank, b] *= inverse
    for a in range(rows):
        factor = e[a, rank]
        if a != rank and factor != 0.0:
            for b in range(rank, size):
                e[a, b] -= factor * e[rank, b]


def normalize(c: ContactModes, size: int, which: int) -> None:
    """Make a vector of the basis orthogonal to those before it, and of length one."""
    v = c.shared_force
    for j in range(which + 1):
        product = 0.0
        for b in range(size):
            product += v[j, b] * v[which, b]
        for b in range(size):
            v[which, b] = v[which, b] / math.sqrt(product) if j == which else v[which, b] - product * v[j, b]


# ------------------------------------------------------------------------------------------------------ the barrier


def force_at(c: ContactModes, place: int, count: int) -> float:
    """A force that is solved for, with the shares."""
    total = c.unknown[place]
    for j in range(count):
        total += c.shared[j] * c.shared_force[j, place]
    return total


def count_cones(c: ContactModes) -> int:
    found = 0
    for i in range(c.contacts):
        if has_cone(c, i):
            found += 1
    return found


def has_cone(c: ContactModes, i: int) -> bool:
    """Whether forces that are solved for are bounded at a contact."""
    if c.active[i] == 0 or c.choice[i] == OPEN:
        return False
    return has_normal(c, i) or (c.choice[i] == STICK and c.ways[i] > 0)


def rubs_at(c: ContactModes, i: int) -> float:
    """The factor of the tangential forces in the cone of a contact; 0 if they are free or follow from the normal one."""
    if c.choice[i] != STICK or c.ways[i] == 0 or not static(c, i) > 0.0:
        return 0.0
    return largest_reaction(c) / static(c, i) if is_joint(c, i) else 1.0 / static(c, i)


def evaluate_cone(c: ContactModes, i: int, count: int) -> float:
    """b without s and the length of τ: the first is returned, the second is in `shared_size`, with their slopes by all shares in
    `cone_slope`: b, τ_1, τ_2; τ itself in `cone_force`."""
    base, rub, total = 0.0, rubs_at(c, i), 0.0
    for k in range(3):
        for j in range(count + 1):
            c.cone_slope[k, j] = 0.0
    c.cone_slope[0, count] = 1.0
    if is_joint(c, i):
        base = largest_reaction(c)
    else:
        place = int(c.small_place[int(c.pressing[i])])
        base = force_at(c, place, count)
        for j in range(count):
            c.cone_slope[0, j] = c.shared_force[j, place]
    c.cone_force[0], c.cone_force[1] = 0.0, 0.0
    if rub > 0.0:
        for w in range(c.ways[i]):
            place = int(c.small_place[int(c.tangential[i]) + w])
            c.cone_force[w] = rub * force_at(c, place, count)
            total += c.cone_force[w] * c.cone_force[w]
            for j in range(count):
                c.cone_slope[1 + w, j] = rub * c.shared_force[j, place]
    c.shared_size = math.sqrt(total)
    return base


def deepest(c: ContactModes, size: int, count: int) -> float:
    """The largest |τ| − b."""
    found = -1e300
    for i in range(c.contacts):
        if has_cone(c, i):
            base = evaluate_cone(c, i, count)
            found = max(found, c.shared_size - base)
    return found


def barrier(c: ContactModes, count: int, kappa: float, scale: float) -> float:
    """The function that is minimized; infinite outside."""
    s = c.shared[count]
    if not s > -scale:
        return math.inf
    total = kappa * s / scale - math.log(1.0 + s / scale)
    for j in range(count):
        total += 0.5 * (c.shared[j] / c.shared_scale) * (c.shared[j] / c.shared_scale)
    for i in range(c.contacts):
        if has_cone(c, i):
            base = evaluate_cone(c, i, count) + s
            if not base > c.shared_size:
                return math.inf
            total -= math.log((base - c.shared_size) / scale) + math.log((base + c.shared_size) / scale)
    return total


def minimize_barrier(c: ContactModes, size: int, count: int, kappa: float, scale: float) -> bool:
    """Newton's method with steps that decrease the function; False if it does not get on."""
    n = count + 1
    c.shared_scale = metric_size(c, size)
    value = barrier(c, count, kappa, scale)
    for _ in range(MOST_NEWTON):
        derivatives_of_barrier(c, count, kappa, scale)
        for j in range(n):
            c.shared_step[j] = -c.barrier_slope[j]
        if lu_decompose(c.barrier_matrix, c.shared_pivot, n) >= 0:
            return False
        lu_solve(c.barrier_matrix, c.shared_pivot, n, c.shared_step)
        decrement = 0.0
        for j in range(n):
            decrement -= c.barrier_slope[j] * c.shared_step[j]
            c.shared_before[j] = c.shared[j]
        if not decrement > NEAR:
            return math.isfinite(decrement)
        length, better = 1.0, False
        for _ in range(HALVINGS):
            for j in range(n):
                c.shared[j] = c.shared_before[j] + length * c.shared_step[j]
            new = barrier(c, count, kappa, scale)
            if new <= value - 0.1 * length * decrement:
                value, better = new, True
                break
            length *= 0.5
        if not better:
            for j in range(n):
                c.shared[j] = c.shared_before[j]
            return decrement < CLOSE  # what is left is rounding error of the cones
    return True


def metric_size(c: ContactModes, size: int) -> float:
    """The size of the forces without shares, in the metric of the basis."""
    total = 0.0
    for a in range(size):
        total = max(total, abs(c.unknown[a]) / row_scale(c, int(c.small_row[a])))
    return total


def derivatives_of_barrier(c: ContactModes, count: int, kappa: float, scale: float) -> None:
    """Its gradient and Hessian."""
    n, s, g, h = count + 1, c.shared[count], c.barrier_slope, c.barrier_matrix
    for j in range(n):
        g[j] = c.shared[j] / (c.shared_scale * c.shared_scale)
        for k in range(n):
            h[j, k] = 0.0
        h[j, j] = 1.0 / (c.shared_scale * c.shared_scale)
    g[count] = kappa / scale - 1.0 / (scale + s)
    h[count, count] = 1.0 / ((scale + s) * (scale + s))
    for i in range(c.contacts):
        if not has_cone(c, i):
            continue
        base = evaluate_cone(c, i, count) + s
        room = (base - c.shared_size) * (base + c.shared_size)
        y = c.cone_slope
        for j in range(n):
            c.cone_rate[j] = 2.0 * (base * y[0, j] - c.cone_force[0] * y[1, j] - c.cone_force[1] * y[2, j]) / room
        for j in range(n):
            g[j] -= c.cone_rate[j]
            for k in range(n):
                bend = 2.0 * (y[0, j] * y[0, k] - y[1, j] * y[1, k] - y[2, j] * y[2, k]) / room
                h[j, k] += c.cone_rate[j] * c.cone_rate[k] - bend


def slips_at_cone(c: ContactModes, i: int, margin: float) -> bool:
    """Whether the solution lies at the cone of a contact that sticks, which then begins to slip against its force."""
    if not has_cone(c, i) or not rubs_at(c, i) > 0.0:
        return False
    total = 0.0
    for w in range(c.ways[i]):
        total += c.reaction[int(c.tangential[i]) + w] * c.reaction[int(c.tangential[i]) + w]
    total = rubs_at(c, i) * math.sqrt(total)
    base = largest_reaction(c) if is_joint(c, i) else c.reaction[int(c.pressing[i])]
    return base - total <= AT_CONE * (abs(margin) + c.share_error)
