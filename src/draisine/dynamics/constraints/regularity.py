"""Whether masses and constraints determine the motion, looked at near the defaults before anything runs.

The matrix [M Aᵀ; A 0] must have an inverse. It is scaled, shifted by very little, and iterated with: where it has a kernel, the
iteration lands in it, and the vector found tells which constraints depend on each other, or which velocities nothing holds.
All of it is sparse, and costs about as much as one evaluation of the motion.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from draisine.errors import ModelError

if TYPE_CHECKING:
    from draisine.dynamics.augmented.second_order_system import SecondOrder

_SHIFT = 1e-7  # of the scaled matrix, whose entries are about 1
_ZERO = 1e-9  # eigenvalues below it count as zero
_INVOLVED = 1e-5  # of the largest entry of a kernel's vector


def check_regular(system: SecondOrder, rows: ca.SX, names: Sequence[str]) -> None:
    """Complain about dependent constraints and about masses that no equation holds, at a few configurations near the defaults."""
    m = len(names)
    whole = ca.vertcat(ca.horzcat(system.mass, rows.T), ca.horzcat(rows, ca.SX(m, m)))
    evaluate = ca.Function("check", [system.t, system.q, system.p], [whole], {"allow_free": True})
    if evaluate.has_free():
        raise ModelError(
            f"{system.name}: the mass matrix or a constraint row depends on {', '.join(evaluate.get_free())}; it may depend on "
            "coordinates, parameters and time alone"
        )
    rng = np.random.default_rng(1992)
    defaults = np.array([c.default for c in system.coordinates])
    values = np.array([p.default for p in system.parameters])
    kernel = None
    for _ in range(5):
        matrix = evaluate(0.0, defaults + rng.uniform(-0.3, 0.3, defaults.size), values)
        if np.isfinite(matrix.nonzeros()).all():
            kernel = _kernel(matrix, rng)
            if kernel is None:
                return
    n = system.v.numel()
    if kernel is None:
        raise ModelError(
            f"{system.name}: the mass matrix or a constraint row is not finite near the default configuration; give coordinates "
            "defaults where it is"
        )
    _complain(system, names, kernel[:n], kernel[n:])


def _kernel(matrix: ca.DM, rng: np.random.Generator) -> NDArray[np.float64] | None:
    """A vector that a symmetric matrix takes to zero, or None if it is regular."""
    scale = _scales(matrix)
    pattern = matrix.sparsity() + ca.Sparsity.diag(matrix.size1())
    rows, columns = pattern.get_triplet()
    values = np.array(ca.project(matrix, pattern).nonzeros()) * scale[rows] * scale[columns]
    scaled = ca.DM(pattern, values)
    solver = ca.Linsol("inverse", "qr", pattern)
    shifted = scaled - _SHIFT * ca.DM.eye(matrix.size1())
    vector = ca.DM(rng.normal(size=matrix.size1()))
    for _ in range(3):
        vector = solver.solve(shifted, vector)
        vector /= ca.norm_2(vector)
    if not float(ca.norm_2(scaled @ vector)) < _ZERO:
        return None
    return np.asarray(vector.full()[:, 0] * scale, dtype=np.float64)


def _scales(matrix: ca.DM) -> NDArray[np.float64]:
    """Factors of rows and columns alike that make the largest entry of each row about 1."""
    pattern = matrix.sparsity()
    rows, columns = (np.array(a, dtype=np.int64) for a in pattern.get_triplet())
    sizes = np.abs(np.array(matrix.nonzeros()))
    scale = np.ones(matrix.size1())
    for _ in range(8):  # Ruiz's equilibration: converges quickly, and keeps the symmetry
        largest = np.zeros(matrix.size1())
        np.maximum.at(largest, rows, sizes * scale[rows] * scale[columns])
        scale /= np.sqrt(np.where(largest > 0, largest, 1.0))
    return scale


def _complain(
    system: SecondOrder, names: Sequence[str], velocities: NDArray[np.float64], multipliers: NDArray[np.float64]
) -> None:
    moving = [
        v.name for v, share in zip(system.velocities, np.abs(velocities), strict=True) if share > _INVOLVED * _largest(velocities)
    ]
    if _largest(velocities) < _INVOLVED * _largest(multipliers):
        involved = [
            name for name, share in zip(names, np.abs(multipliers), strict=True) if share > _INVOLVED * _largest(multipliers)
        ]
        if len(involved) == 1:
            raise ModelError(
                f"{system.name}: constraint {involved[0]!r} holds nothing: no velocity enters it (or, for f(q, t) = 0, no "
                "coordinate). Write f(q, t) = 0 as holonomic, g(q, t) · q̇ + g₀(q, t) = 0 as nonholonomic, or leave it out"
            )
        listed = ", ".join(repr(name) for name in involved)
        many = f" ({len(names)} constraints for {len(velocities)} velocities)" if len(names) > len(velocities) else ""
        raise ModelError(f"{system.name}: the constraints {listed} depend on each other{many}; leave one of them out")
    raise ModelError(
        f"{system.name}: the mass matrix leaves the acceleration of {', '.join(repr(name) for name in moving)} open: give it "
        "kinetic energy, or a constraint that holds it"
    )


def _largest(values: NDArray[np.float64]) -> float:
    return float(np.abs(values).max(initial=0.0))
