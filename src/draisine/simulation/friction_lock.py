"""Friction that locks contacts as they slip, where a run has ended.

With the friction −μ λ_n d of contacts that slip along d, the normal forces follow from (A_n M⁻¹ (A_n − μ d A_t)ᵀ) λ_n = −c. As a
motion comes to Painlevé's paradox this matrix becomes singular. Normal forces may grow without bound on the way; where the right
side vanishes with it they do not (Génot & Brogliato 1999), and the equations have no value there all the same.
"""

from __future__ import annotations

import numpy as np

from draisine.simulation.stepper.contact_laws import has_normal, respond, respond_along_rows, solve_choice
from draisine.simulation.stepper.contact_layout import OPEN, SLIP, STICK
from draisine.simulation.stepper.contact_slip import has_direction, load_terms, mode_of, present_direction
from draisine.simulation.stepper.layout import Stepper

SINGULAR = 1e-5  # smallest singular value of the matrix, relative to that without friction, where friction locks
PART = 0.1  # of the largest entry of the singular vector: the contacts that lock


def locked_by_friction(s: Stepper) -> list[int]:
    """The contacts that friction locks at (t, x) in the present modes; none where the equations are regular."""
    c = s.modes
    if not any(mode_of(c, i) == SLIP and has_direction(c, i) for i in range(c.contacts)):
        return []
    load_terms(s)
    if not respond(c):
        return []
    respond_along_rows(c, False)
    rows: list[int] = []
    for i in range(c.contacts):
        c.choice[i] = mode_of(c, i)
        c.active[i] = 1 if c.choice[i] != OPEN else 0
        c.direction[i, :] = 0.0
        if c.choice[i] != OPEN:
            rows += [i] if has_normal(c, i) else []
            rows += [-1] * int(c.ways[i]) if c.choice[i] == STICK else []
    size = len(rows)
    solve_choice(c)
    smooth = np.linalg.svd(c.small_copy[:size, :size], compute_uv=False)
    for i in range(c.contacts):
        if c.choice[i] == SLIP and has_direction(c, i):
            present_direction(c, i)
    solve_choice(c)
    matrix = np.array(c.small_copy[:size, :size])
    if not size or not np.isfinite(matrix).all():
        return []
    _, values, right = np.linalg.svd(matrix)
    if not values[-1] < SINGULAR * smooth[-1]:
        return []
    shape = np.abs(right[-1])
    return [i for i, part in zip(rows, shape, strict=True) if i >= 0 and part > PART * shape.max()]
