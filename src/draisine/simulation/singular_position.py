"""Singular states: where position constraints lose rank, and where implicit equations do not determine the rates.

Position constraints are singular where their Jacobian has a lower rank than at positions nearby. Examples are a parallelogram
that is flat, where a second branch of motion begins, and a slider-crank at a dead center of its rod. Redundant rows are no
singularity: their rank is as low everywhere.

0 = F(t, x, ẋ, z) determines rates and algebraic unknowns where (∂F/∂ẋ  ∂F/∂z) is regular. Across a state where its determinant
changes sign, (t − 1) ẏ = 2 y at t = 1, infinitely many motions continue the same past, and a method follows any one of them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from draisine.codegen.jit.kernel import Kernel
from draisine.numerics.rank import decompose
from draisine.program.equations import Equations
from draisine.program.interpreter import complex_step_derivatives
from draisine.program.program import DaeResidual

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


REGULAR = 1e-9  # relative singular value of a matrix whose determinant has a sign
ENTRIES = 2**22  # of matrices that are held at once


def singular_interval(
    form: DaeResidual, jacobian: Kernel, times: Reals, states: Reals, inputs: Reals, p: Reals
) -> tuple[float, float] | None:
    """The first interval between two steps in which the matrix of rates and algebraic unknowns passes through a singular one.

    Rates are differences of the states. None if there is no such interval, and where the matrix is singular throughout, as that
    of equations of higher index is.
    """
    n = form.size
    if len(times) < 3 or max(form.index, default=1) > 1:
        return None
    rates = np.gradient(states, times, axis=0)
    by_state, by_rate = jacobian.map(times[:, None], states, rates, inputs, p)
    rows, columns = form.pattern
    values = np.where(np.array(form.differential)[columns], by_rate, by_state)
    if not np.isfinite(values).all() or not np.ptp(values, axis=0).any():
        return None
    sign = np.zeros(len(times))
    count = max(1, ENTRIES // n**2)
    for first in range(0, len(times), count):
        part = values[first : first + count]
        matrices = np.zeros((len(part), n, n))
        matrices[:, rows, columns] = part
        scale = np.abs(matrices).max(axis=2, keepdims=True)
        matrices /= np.where(scale > 0.0, scale, 1.0)
        singular_values = np.linalg.svd(matrices, compute_uv=False)
        regular = singular_values[:, -1] > REGULAR * singular_values[:, 0]
        sign[first : first + len(part)] = np.where(regular, np.linalg.slogdet(matrices)[0], 0.0)
    signed = np.flatnonzero(sign)
    changes = np.flatnonzero(sign[signed[1:]] != sign[signed[:-1]])
    if not len(changes):
        return None
    return float(times[signed[changes[0]]]), float(times[signed[changes[0] + 1]])
