"""Whether the position constraints are singular at a state: their Jacobian has a lower rank than at positions nearby.

Examples are a parallelogram that is flat, where a second branch of motion begins, and a slider-crank at a dead center of its rod.
Redundant rows are no singularity: their rank is as low everywhere.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from draisine.numerics.rank import decompose
from draisine.program.equations import Equations
from draisine.program.interpreter import complex_step_derivatives

Reals = NDArray[np.float64]

NEARBY = (
    1e-3  # way to a position nearby, relative to lengths; singular values of rows that repeat each other grow with its square
)
SEPARATE = 3e-5  # relative singular value that counts there


def singular_position(equations: Equations, t: float, x: Reals, u: Reals, p: Reals) -> tuple[str, ...]:
    """The position constraints that are dependent at this state and not nearby; empty if there are none."""
    e = equations
    rows = [i for i, c in enumerate(e.constraints) if c.level == "position"]
    q, v = x[: len(e.coordinates)], np.zeros(len(e.velocities))
    if not rows or not np.isfinite(q).all() or not np.isfinite(p).all():
        return ()

    def jacobian(q: Reals) -> Reals:
        given = {"t": [t], "q": q, "v": v, "u": u, "p": p}
        arguments = [np.asarray(given[slot.name], dtype=float) for slot in e.motion.inputs]
        found = complex_step_derivatives(e.motion, arguments, {"q": np.eye(len(q))})["residuals"]
        return np.asarray(found)[rows]

    here = jacobian(q)
    if not np.isfinite(here).all():
        return ()
    own = decompose(here)
    free = own.null_space
    towards = free @ np.random.default_rng(1).normal(size=free.shape[1])
    size = float(np.abs(towards).max(initial=0.0))
    if size == 0.0:
        return ()
    there = jacobian(q + NEARBY * e.limits.length / size * towards)
    if not np.isfinite(there).all() or decompose(there, SEPARATE).rank <= own.rank:
        return ()
    involved = np.abs(own.left_null_space.T @ there).max(axis=1, initial=0.0) > SEPARATE  # combinations that vanish only here
    involved = np.abs(own.left_null_space[:, involved]).max(axis=1, initial=0.0) > SEPARATE
    return tuple(e.constraints[row].name for row, is_one in zip(rows, involved, strict=True) if is_one)
