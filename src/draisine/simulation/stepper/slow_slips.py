"""Newton's iteration of implicit steps while slips are slow. Restricted Python.

The direction of a slip s in a plane turns towards that of the force at a rate κ/|s|, which is stiff while s is small, and s grows
by far within a step. Newton's iteration has the Jacobian of one point, with its slips s₀, where those of the stages would have
others. With the force F of friction, the rows P across the slips and what turns of friction change, W, these Jacobians are

    J = J₁ + W diag(F/|s|) P,

in which J₁ is not stiff. Residuals r of the stages are therefore replaced by S r with S (λ/h − J) = λ/h − J₀ but for J₁:

    S = 1 + W (1 − |s|/|s₀|) (λ/h |s|/F − P W)⁻¹ P,

and the iteration converges nearly as with Jacobians of all stages. Solutions do not depend on it.

With the factors of `contact_field` a turn of friction by a unit of its force changes forces by δλ, K δλ = Yₐᵀ D⁻¹ Y_p, and
y + Y λ by E δλ − Y_p, in which Y_p is the column across the slip.
"""

from __future__ import annotations

import math

from draisine.codegen.restricted.types import Vector
from draisine.simulation.stepper.contact_layout import MODE_ENTRIES, ContactModes
from draisine.simulation.stepper.dense_matrices import lu_decompose, lu_solve
from draisine.simulation.stepper.layout import Stepper


def note_slips(s: Stepper) -> None:
    """The slips at the point of a Jacobian, whose derivative was the last one."""
    c = s.modes
    for i in range(c.contacts):
        c.slip_then[i] = slip_size(c, i) if slips(c, i) else 0.0


def slips(c: ContactModes, i: int) -> bool:
    """Whether a contact slips in two dimensions."""
    return c.ways[i] > 1 and c.mode[MODE_ENTRIES * i] != 0.0 and c.mode[MODE_ENTRIES * i + 1] == 0.0


def slip_size(c: ContactModes, i: int) -> float:
    """The slip whose direction friction has."""
    k, size = MODE_ENTRIES * i, 0.0
    for w in range(2):
        part = c.row_speed[int(c.tangential[i]) + w] - c.mode[k + 4 + w] + c.mode[k + 7] * c.mode[k + 2 + w]
        size += part * part
    return math.sqrt(size)


def match_slips(s: Stepper, by_rate: float, target: Vector) -> None:
    """S r of a residual, at whose point the last derivative was; λ/h is `by_rate`."""
    c, n, count = s.modes, s.modes.velocities, 0
    for i in range(c.contacts):
        if slips(c, i) and c.slip_then[i] > 0.0:
            count = add_turn(c, count, i)
    if count == 0:
        return
    first, lower, motion = c.first_velocity, c.lower, c.scaled
    for i in range(n):  # Lᵀ r
        value = target[first + n - 1 - i]
        for k in range(i + 1, n):
            value += lower[i * n + k] * target[first + n - 1 - k]
        motion[i] = value
    for a in range(count):
        column, total = c.turn_column[a], 0.0
        for j in range(n):
            total += column[j] * motion[j]
        c.angle_side[a] = total
        for b in range(count):
            total, effect = 0.0, c.turn_effect[b]
            for j in range(n):
                total -= column[j] * effect[j]
            c.angle_matrix[a, b] = total
        c.angle_matrix[a, a] += by_rate * c.angle[a]
    if lu_decompose(c.angle_matrix, c.angle_pivot, count) >= 0:
        return
    lu_solve(c.angle_matrix, c.angle_pivot, count, c.angle_side)
    for j in range(n):
        motion[j] = 0.0
    for b in range(count):
        i = int(c.angle_contact[b])
        added, effect = (1.0 - slip_size(c, i) / c.slip_then[i]) * c.angle_side[b], c.turn_effect[b]
        for j in range(n):
            motion[j] += added * effect[j]
    for back in range(n):
        i = n - 1 - back
        value = motion[i]
        for k in range(i + 1, n):
            value -= lower[i * n + k] * motion[k]
        motion[i] = value
        target[first + back] += value


def add_turn(c: ContactModes, count: int, i: int) -> int:
    """One more slip, if it has friction: the column across it, what a turn of its friction changes, and |s|/F."""
    t, n, size = int(c.tangential[i]), c.velocities, c.field_size
    along, across = c.rubbing[t], c.rubbing[t + 1]
    length = math.sqrt(along * along + across * across)
    if not length > 0.0:
        return count
    force = -(along * c.multiplier[t] + across * c.multiplier[t + 1]) / length
    if not force > 0.0:
        return count
    column, effect, inverse, change = c.turn_column[count], c.turn_effect[count], c.inverse, c.field_new
    for j in range(n):
        column[j] = (along * c.columns[(t + 1) * n + j] - across * c.columns[t * n + j]) / length
        effect[j] = -column[j]
    for a in range(size):
        row, total = int(c.field_row[a]), 0.0
        for j in range(n):
            total += c.columns[row * n + j] * inverse[j] * column[j]
        change[a] = total
    lu_solve(c.field_matrix, c.field_pivot, size, change)
    for b in range(size):
        for j in range(n):
            effect[j] += change[b] * c.effect[b, j]
    for j in range(n):
        effect[j] *= inverse[j]
    c.angle_contact[count], c.angle[count] = i, slip_size(c, i) / force
    return count + 1
