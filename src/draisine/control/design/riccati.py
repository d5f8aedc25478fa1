"""Linear-quadratic problems: Riccati equations on what inputs reach, and linear ones for what they do not.

In z = T (z_c, z_u), T = [reached, rest], the matrix A has the blocks A_c, A_12, 0, A_u, and inputs enter z_c alone. The first
block of a Riccati equation is then one for z_c, with the gain K_c, and the second one is linear in P_12. Both hold whether or not
the rest dies away.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from draisine.control.design.discretization import held, held_cost
from draisine.results.linear import python_control

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Quadratic:
    """The cost zᵀQ z + 2 zᵀN u + uᵀR u, its integral along ż = A z + B u, or its sum along z⁺ = A z + B u."""

    A: Array
    B: Array
    Q: Array
    N: Array
    R: Array

    def held(self, period: float) -> Quadratic:
        """The problem from sample to sample while inputs are held; costs of both are the same."""
        return Quadratic(*held(self.A, self.B, period), *held_cost(self.A, self.B, self.Q, self.N, self.R, period))

    def gains(self, reached: Array, rest: Array) -> tuple[Array, Array]:
        """K_c and K_u in continuous time: (A_c − B_c K_c)ᵀ P_12 + P_12 A_u + P_11 A_12 + Q_12 − K_cᵀ N_uᵀ = 0."""
        from scipy.linalg import solve_sylvester

        a, b, q, n = self._inner(reached)
        gain, p, _ = python_control("lqr").lqr(a, b, q, self.R, n)
        gain, p = np.asarray(gain), np.asarray(p)
        if not rest.shape[1]:
            return gain, np.zeros((len(gain), 0))
        side = p @ (reached.T @ self.A @ rest) + reached.T @ self.Q @ rest - gain.T @ (rest.T @ self.N).T
        beyond = solve_sylvester((a - b @ gain).T, rest.T @ self.A @ rest, -side)
        return gain, np.linalg.solve(self.R, b.T @ beyond + (rest.T @ self.N).T)

    def sampled_gains(self, reached: Array, rest: Array) -> tuple[Array, Array]:
        """K_c and K_u from sample to sample: P_12 = (A_c − B_c K_c)ᵀ (P_11 A_12 + P_12 A_u) + Q_12 − K_cᵀ N_uᵀ."""
        a, b, q, n = self._inner(reached)
        gain, p, _ = python_control("lqr").dlqr(a, b, q, self.R, n)
        gain, p = np.asarray(gain), np.asarray(p)
        if np.abs(np.linalg.eigvals(a - b @ gain)).max() >= 1.0:
            raise np.linalg.LinAlgError("the loop would not be stable")
        if not rest.shape[1]:
            return gain, np.zeros((len(gain), 0))
        left, onward, across = (a - b @ gain).T, rest.T @ self.A @ rest, reached.T @ self.A @ rest
        side = left @ p @ across + reached.T @ self.Q @ rest - gain.T @ (rest.T @ self.N).T
        matrix = np.eye(side.size) - np.kron(left, onward.T)  # of P_12 read row by row
        beyond = np.linalg.solve(matrix, side.ravel()).reshape(side.shape)
        return gain, np.linalg.solve(self.R + b.T @ p @ b, b.T @ (p @ across + beyond @ onward) + (rest.T @ self.N).T)

    def _inner(self, reached: Array) -> tuple[Array, Array, Array, Array]:
        """A_c, B_c, Q_11 and N_c."""
        q = reached.T @ self.Q @ reached
        return reached.T @ self.A @ reached, reached.T @ self.B, (q + q.T) / 2, reached.T @ self.N
