"""What runs need to solve for the forces of closed contacts alone: accelerations are eliminated from the system of all modes.

With M = L D Lᵀ, which needs no pivots, Y = L⁻¹ Aᵀ and y = L⁻¹ F, the accelerations are L⁻ᵀ D⁻¹ (y + Y λ), and along the rows

    A v̇ = Yᵀ D⁻¹ y + (Yᵀ D⁻¹ Y) λ,

in which Yᵀ D⁻¹ Y is Delassus' matrix. The stepping loop (`simulation/stepper/contact_field.py`) forms it for the rows of the
present modes, far fewer than there are velocities and rows. Leaves of the tree are eliminated first: L keeps the zeros of M.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from draisine.dynamics.linear_algebra import ZERO, dot, fold_constant, minus, mul

MOST_VELOCITIES = 16  # up to which L is short
_TRIED = 4  # configurations near the defaults
_DEFINITE = 1e-9  # least eigenvalue of a mass matrix with a diagonal of ones


@dataclass(frozen=True)
class MassFactors:
    """L and D of a mass matrix, the last velocity first."""

    mass: ca.SX

    @cached_property
    def _both(self) -> tuple[list[list[ca.SX]], list[ca.SX]]:
        n = self.mass.shape[0]
        low: list[list[ca.SX]] = [[ZERO] * n for _ in range(n)]
        scaled: list[list[ca.SX]] = [[ZERO] * n for _ in range(n)]  # L D
        inverse: list[ca.SX] = []
        for j in range(n):
            for i in range(j, n):
                entry = minus(fold_constant(self.mass[n - 1 - i, n - 1 - j]), dot(scaled[i][:j], low[j][:j]))
                if i == j:
                    inverse.append(1 / entry)
                else:
                    scaled[i][j], low[i][j] = entry, mul(entry, inverse[j])
        return low, inverse

    @property
    def lower(self) -> ca.SX:
        """L below its diagonal, one column after the other."""
        low, n = self._both[0], self.mass.shape[0]
        return ca.vertcat(*[low[i][j] for j in range(n) for i in range(n)])

    @property
    def inverse(self) -> ca.SX:
        """The diagonal of D⁻¹."""
        return ca.vertcat(*self._both[1])

    def solved(self, side: ca.SX) -> ca.SX:
        """L⁻¹ of a column."""
        low, n = self._both[0], self.mass.shape[0]
        dense, found = ca.densify(side), list[ca.SX]()
        for i in range(n):
            found.append(minus(fold_constant(dense[n - 1 - i]), dot(low[i][:i], found)))
        return ca.vertcat(*found)

    def solution(self, side: ca.SX) -> ca.SX:
        """M⁻¹ of a column: L⁻ᵀ D⁻¹ L⁻¹."""
        (low, inverse), n = self._both, self.mass.shape[0]
        forward, found = self.solved(side), [ZERO] * n
        for i in reversed(range(n)):
            later = dot([low[k][i] for k in range(i + 1, n)], found[i + 1 :])
            found[i] = minus(mul(fold_constant(forward[i]), inverse[i]), later)
        return ca.vertcat(*reversed(found))


def has_factors(mass: ca.SX, arguments: Sequence[ca.SX], values: Sequence[NDArray[np.float64]]) -> bool:
    """Whether a mass matrix has such factors: mechanisms that are small enough, all of whose motions have inertia.

    `arguments` are the symbols of time, coordinates and parameters, `values` their defaults.
    """
    if not 0 < mass.shape[0] <= MOST_VELOCITIES:
        return False
    function = ca.Function("mass", list(arguments), [ca.densify(mass)], {"allow_free": True})
    if function.has_free():
        return False
    rng = np.random.default_rng(1851)
    for _ in range(_TRIED):
        t, q, p = values
        found = function(t, q + rng.uniform(-0.3, 0.3, q.size), p).full()
        if not np.isfinite(found).all() or not (np.diag(found) > 0.0).all():
            return False
        size = np.sqrt(np.diag(found))
        if not np.linalg.eigvalsh(found / np.outer(size, size))[0] > _DEFINITE:
            return False
    return True
