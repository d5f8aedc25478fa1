"""Whether a second-order system determines its accelerations and multipliers: independent constraints, enough mass."""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from draisine.dynamics.augmented.second_order import SecondOrder
from draisine.dynamics.constraints.degenerate import degenerate, degenerate_error
from draisine.errors import ModelError
from draisine.program.casadi_functions import evaluate

_SHIFT = 1e-7  # diagonal shift of the scaled matrix, whose entries are about 1
_ZERO = 1e-9  # eigenvalues below it count as zero
_NEARBY, _MOST_EXAMINED = 3, 60  # configurations near the default, and constraints that are examined for a vanishing rate
_INVOLVED = 1e-5  # entries of a null vector above this part of the largest take part in the dependence


def check_regular(system: SecondOrder, rows: ca.SX, names: Sequence[str]) -> None:
    """Raise if constraints are dependent or the mass matrix is singular at several configurations near the defaults.

    The symmetric matrix [M Aᵀ; A 0] is scaled and slightly shifted, and inverse iteration is applied: where it is singular, the
    iteration converges to a null vector, which names the dependent constraints or the velocities without inertia. All operations
    are sparse, and cost about as much as one evaluation of the motion.
    """
    m = len(names)
    whole = ca.vertcat(ca.horzcat(system.mass, rows.T), ca.horzcat(rows, ca.SX(m, m)))
    function = ca.Function("check", [system.t, system.q, system.p], [whole], {"allow_free": True})
    if function.has_free():
        raise ModelError(
            f"{system.name}: the mass matrix or a constraint row depends on {', '.join(function.get_free())}; it may depend on "
            "coordinates, parameters and time only"
        )
    rng = np.random.default_rng(1992)
    defaults = np.array([c.default for c in system.coordinates])
    values = np.array([p.default for p in system.parameters])
    kernel = None
    for _ in range(5):
        matrix = function(0.0, defaults + rng.uniform(-0.3, 0.3, defaults.size), values)
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
    _raise_singular(system, names, kernel[:n], kernel[n:])


def check_not_degenerate(system: SecondOrder) -> None:
    """Raise if a holonomic constraint has no rate wherever it is satisfied.

    Gaps of unilateral contacts are inequalities: they need not vanish anywhere, and may have their least value near zero."""
    gaps = {c.normal for c in system.contacts}
    examined = [(name, f) for i, (name, f) in enumerate(system.holonomic) if i not in gaps]
    if not 0 < len(examined) <= _MOST_EXAMINED:
        return
    residual = ca.vertcat(*[f for _, f in examined])
    both = [ca.densify(residual), ca.densify(ca.jacobian(residual, system.q))]
    function = ca.Function("residuals", [system.t, system.q, system.p], both)
    values = np.array([p.default for p in system.parameters])

    def residuals(q: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        f, j = evaluate(function, (0.0, q, values))
        return f[:, 0], j

    rng = np.random.default_rng(1853)
    defaults = np.array([c.default for c in system.coordinates])
    found = degenerate(residuals, (), [defaults + rng.uniform(-0.3, 0.3, defaults.size) for _ in range(_NEARBY)])
    if found:
        raise degenerate_error(system.name, [examined[i][0] for i in found])


def _kernel(matrix: ca.DM, rng: np.random.Generator) -> NDArray[np.float64] | None:
    """A null vector of a symmetric matrix, or None if it is regular."""
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
    """Symmetric scaling of rows and columns that makes the largest entry of each row about 1."""
    pattern = matrix.sparsity()
    rows, columns = (np.array(a, dtype=np.int64) for a in pattern.get_triplet())
    sizes = np.abs(np.array(matrix.nonzeros()))
    scale = np.ones(matrix.size1())
    for _ in range(8):  # Ruiz equilibration: converges quickly and keeps the symmetry
        largest = np.zeros(matrix.size1())
        np.maximum.at(largest, rows, sizes * scale[rows] * scale[columns])
        scale /= np.sqrt(np.where(largest > 0, largest, 1.0))
    return scale


def _raise_singular(
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
                f"{system.name}: constraint {involved[0]!r} has no effect: no velocity enters it (or, for f(q, t) = 0, no "
                "coordinate). Write f(q, t) = 0 as holonomic, g(q, t) · q̇ + g₀(q, t) = 0 as nonholonomic, or remove it"
            )
        listed = ", ".join(repr(name) for name in involved)
        many = f" ({len(names)} constraints for {len(velocities)} velocities)" if len(names) > len(velocities) else ""
        raise ModelError(f"{system.name}: the constraints {listed} depend on each other{many}; remove one of them")
    raise ModelError(
        f"{system.name}: the mass matrix does not determine the acceleration of {', '.join(repr(name) for name in moving)}: add "
        "kinetic energy or a constraint"
    )


def _largest(values: NDArray[np.float64]) -> float:
    return float(np.abs(values).max(initial=0.0))
