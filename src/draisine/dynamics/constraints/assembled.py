"""Configurations that a mechanism reaches from its start without being taken apart: on them its mobility is judged.

The equations of a loop have other solutions, too. Three parallel cranks move, but they also close crosswise, where nothing moves;
and a projection that ends at their flat position is accurate to the root of its tolerance only, so that dependent rows seem
independent. Where samples have more independent rows than the start, the motion is followed from the start, and samples that
differ from it are left out.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from draisine.dynamics.constraints.redundancy import DEPENDENT, scaled_rows
from draisine.numerics.newton import Evaluate, LeastNorm, Newton
from draisine.numerics.rank import decompose, ranks_of, unit_rows

Array = NDArray[np.float64]

CLEAR = 1e-4  # singular value of scaled rows above which they are clearly independent
WALKS, STEPS = 8, 6  # random directions from the start, and steps along each
STEP = 0.15  # radians, or lengths of the model
_ONTO = Newton(tolerance=1e-13, acceptable=1e-11, max_iterations=40, least_share=1e-3)


def followed(evaluate: Evaluate, start: Array, sizes: Array) -> list[Array]:
    """Configurations along motions from the start, by steps of fixed length that begin in the null space of the constraints.

    `evaluate` gives residuals and Jacobian; `sizes` are those of the unknowns, zero for constant ones.
    """
    rng = np.random.default_rng(1903)
    found = []
    for _ in range(WALKS):
        here, ahead = start, np.where(sizes > 0, rng.normal(size=len(start)), 0.0)
        for _ in range(STEPS):
            step = _step(evaluate, here, ahead, sizes)
            if step is None:
                break
            ahead, here = _changes(here, step, sizes), step
            found.append(here)
    return found


def _step(evaluate: Evaluate, here: Array, ahead: Array, sizes: Array) -> Array | None:
    """A configuration one step from here in the direction `ahead`; None where nothing moves that way."""
    values = evaluate(here)
    if values is None:
        return None
    free = decompose(unit_rows(values[1] * sizes, 1e-12), 0.0, DEPENDENT).null_space
    along = free @ (free.T @ ahead)
    length = float(np.linalg.norm(along))
    if length < 1e-9:
        return None
    scale = np.where(sizes > 0, sizes, 1.0)

    def at_distance(y: Array) -> tuple[Array, Array] | None:
        # without it a projection near a flat position returns to that position
        values = evaluate(y)
        if values is None:
            return None
        change = _changes(here, y, sizes)
        return (
            np.append(values[0], (change @ change - STEP**2) / (2 * STEP)),
            np.vstack([values[1], change / (STEP * scale)]),
        )

    found = _ONTO.solve(at_distance, here + STEP * sizes * along / length, LeastNorm(1e-9, sizes))
    forward = float(_changes(here, found.point.x, sizes) @ along) > 0
    return found.point.x if found.converged and forward else None


def _changes(before: Array, after: Array, sizes: Array) -> Array:
    """Changes of the unknowns in their sizes; of constant ones none."""
    return np.where(sizes > 0, (after - before) / np.where(sizes > 0, sizes, 1.0), 0.0)


def assembled(points: Array, rows_at: Callable[[Array], Array], evaluate: Evaluate, sizes: Array) -> Array:
    """The points, the first of which is the start, without those that differ from it in mobility; then further ones.

    `rows_at` gives the constraint rows at points (samples × rows × velocities).
    """
    ranks = ranks_of(scaled_rows(rows_at(points))[0], DEPENDENT)
    if ranks[0] == ranks.max():
        return points
    further = followed(evaluate, points[0], sizes)
    if not further:
        return points
    everything = np.concatenate([points, further])
    values = np.linalg.svd(scaled_rows(rows_at(everything))[0], compute_uv=False)
    rank = np.count_nonzero(values > DEPENDENT, axis=1)
    clear = rank == np.count_nonzero(values > CLEAR, axis=1)
    on_the_way = clear[len(points) :]
    if not on_the_way.any():
        return points
    generic = int(rank[len(points) :][on_the_way].min())
    if generic == ranks.max():
        return points  # the start is singular, and what it reaches is not
    kept = clear & (rank == generic)
    kept[0] = True
    return np.asarray(everything[kept])
