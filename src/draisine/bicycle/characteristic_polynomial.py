"""Characteristic polynomial of a two-wheeler, P = det(M λ² + v C₁ λ + g K₀ + v² K₂), with exact derivatives.

All arguments may have leading axes (samples, speeds), which broadcast.
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from draisine.bicycle.whipple_matrices import Naming, whipple_program
from draisine.program.equations import Equations

Array = NDArray[np.float64]
Complex = NDArray[np.complex128]


@dataclass(frozen=True, eq=False)
class Pencil:
    """Matrices (…, 2, 2); `stiffness` is g K₀, the part independent of speed, `by_square` is K₂."""

    mass: Array
    damping: Array
    stiffness: Array
    by_square: Array

    def companion(self, speed: ArrayLike) -> Array:
        """The state matrix of (q, q̇), (…, 4, 4)."""
        v = np.asarray(speed, dtype=float)[..., None, None]
        below = -np.linalg.solve(
            self.mass, np.concatenate(np.broadcast_arrays(self.stiffness + v**2 * self.by_square, v * self.damping), axis=-1)
        )
        above = np.broadcast_to(np.eye(2, 4, 2), below.shape)
        return np.concatenate([above, below], axis=-2)

    def at(self, root: ArrayLike, speed: ArrayLike) -> PencilAt:
        """P and its derivatives at λ and v."""
        r, v = np.asarray(root)[..., None, None], np.asarray(speed, dtype=float)[..., None, None]
        matrix = self.mass * r**2 + v * self.damping * r + self.stiffness + v**2 * self.by_square
        by_root = 2 * self.mass * r + v * self.damping
        by_speed = self.damping * r + 2 * v * self.by_square
        return PencilAt(
            _polar(matrix, matrix) / 2,
            _polar(matrix, by_root),
            _polar(matrix, by_speed),
            _polar(matrix, 2 * self.mass) + _polar(by_root, by_root),
            _polar(matrix, self.damping) + _polar(by_root, by_speed),
        )

    def by_parameters(self, jacobians: Pencil, root: ArrayLike, speed: ArrayLike) -> Complex:
        """∂P/∂p (…, parameters); the matrices of `slopes` are ∂/∂p, (parameters, 2, 2)."""
        r, v = np.asarray(root)[..., None, None, None], np.asarray(speed, dtype=float)[..., None, None, None]
        matrix = self.mass * r**2 + v * self.damping * r + self.stiffness + v**2 * self.by_square
        change = jacobians.mass * r**2 + v * jacobians.damping * r + jacobians.stiffness + v**2 * jacobians.by_square
        return np.asarray(_polar(matrix, change), dtype=np.complex128)


@dataclass(frozen=True, eq=False)
class PencilAt:
    """P, ∂P/∂λ, ∂P/∂v, ∂²P/∂λ², ∂²P/∂λ∂v."""

    value: Complex
    by_root: Complex
    by_speed: Complex
    by_root_twice: Complex
    by_both: Complex


def _polar(a: NDArray[np.generic], b: NDArray[np.generic]) -> Complex:
    """The polar form of the determinant: det′ = polar(E, E′), det = polar(E, E)/2."""
    return np.asarray(
        a[..., 0, 0] * b[..., 1, 1] + a[..., 1, 1] * b[..., 0, 0] - a[..., 0, 1] * b[..., 1, 0] - a[..., 1, 0] * b[..., 0, 1],  # type: ignore[operator]
        dtype=np.complex128,
    )


class TwoWheeler:
    """M, C₁, g K₀ and K₂ of a two-wheeler for batches of parameters, and their derivatives for one set."""

    def __init__(self, equations: Equations) -> None:
        program = whipple_program(equations)
        (p,) = program.symbols()
        m, c1, k0, k2 = program.function.call([p])
        g = p[[q.name for q in equations.parameters].index(Naming().gravity)]
        parts = [m, c1, g * k0, k2]
        self._value = ca.Function("matrices", [p], [ca.densify(ca.vec(part)) for part in parts])
        self._slope = ca.Function("jacobian", [p], [ca.densify(ca.jacobian(ca.vec(part), p)) for part in parts])

    def pencil(self, p: Array) -> Pencil:
        """The matrices for one set of parameters, or for many in rows."""
        return Pencil(*(_square(part.full().T, p.shape[:-1]) for part in self._value(p.T)))

    def jacobians(self, p: Array) -> Pencil:
        return Pencil(*(_square(part.full().T, (len(p),)) for part in self._slope(p)))


def _square(columns: Array, leading: tuple[int, ...]) -> Array:
    """Matrices from rows that contain them in column-major order."""
    return np.swapaxes(columns.reshape(*leading, 2, 2), -1, -2)
