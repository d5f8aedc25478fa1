"""Zero dynamics of a system on a path: growth rates, and stable and unstable directions.

On a path x(t) lies on the manifold c(t, x) = 0 of all constraints. Small deviations along it, x = … + Z ζ with ∂c/∂x Z = 0,
follow ζ̇ = A ζ, A = Zᵀ(∂F/∂x) Z where the motion is steady. An eigenvalue of A with positive real part means that the path can be
followed while the zero dynamics diverges: the lean of a bicycle, the pole of a cart (non-minimum phase).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from draisine.codegen.jit.kernel import Kernel, compile
from draisine.numerics.newton import LeastNorm, Newton
from draisine.numerics.rank import null_space, unit_rows
from draisine.program.equations import Equations

Reals = NDArray[np.float64]

IDLE = 1e-13  # relative to the largest entry: round-off of canceled terms
ONTO = Newton(step_tolerance=1e-13, max_iterations=20)


@dataclass(frozen=True, eq=False)
class ZeroDynamics:
    """Equations on a path, ẋ = F(t, x), with given inputs and parameters."""

    equations: Equations
    inputs: Reals
    p: Reals

    @cached_property
    def _rates(self) -> Kernel:
        return compile(self.equations.explicit)

    @cached_property
    def _jacobians(self) -> Kernel:
        return compile(self.equations.explicit.jacobian("xdot", "x"))

    @cached_property
    def _constraints(self) -> Kernel:
        return compile(self.equations.motion)

    @cached_property
    def _normals(self) -> Kernel:
        return compile(self.equations.motion.jacobian("residuals", "q"))

    def rates(self, t: Reals, x: Reals) -> Reals:
        """F at each of several instants: (n) and (n, states)."""
        if x.shape == (1, 1):  # one instant of one state is no batch
            return np.reshape(self._rates(t, x[0], self.inputs, self.p)[0], (1, 1))
        return self._rates.map(t[:, None], x, self.inputs, self.p)[0]

    def jacobians(self, t: Reals, x: Reals) -> Reals:
        """∂F/∂x (n, states, states)."""
        if x.shape == (1, 1):
            return np.reshape(self._jacobians(t, x[0], self.inputs, self.p)[0], (1, 1, 1))
        return self._jacobians.map(t[:, None], x, self.inputs, self.p)[0]

    def constraints(self, t: float, x: Reals) -> Reals:
        return self._constraints([t], x, np.zeros(0), self.inputs, self.p)[0]

    def normals(self, t: float, x: Reals) -> Reals:
        """∂c/∂x."""
        return self._normals([t], x, np.zeros(0), self.inputs, self.p)[0]

    def onto(self, t: float, x: Reals) -> Reals:
        """The nearest state that satisfies all constraints."""

        def evaluate(x: Reals) -> tuple[Reals, Reals]:
            return self.constraints(t, x), np.atleast_2d(self.normals(t, x))

        return ONTO.solve(evaluate, x, LeastNorm()).point.x

    def split(self, t: float, x: Reals, threshold: float) -> StabilitySplit:
        """Directions that grow faster than `threshold`, and the others, at a state (ordered Schur decomposition)."""
        from scipy.linalg import schur

        jacobian, normals = self.jacobians(np.array([t]), x[None])[0], np.atleast_2d(self.normals(t, x))
        # states on which nothing depends (work, the angle of a wheel) are fixed and belong to neither part
        felt = np.abs(np.vstack([jacobian, normals])).max(axis=0)
        idle = np.eye(len(x))[:, felt <= IDLE * felt.max()]
        free = null_space(unit_rows(np.vstack([normals, idle.T])))
        matrix = free.T @ jacobian @ free

        def grows(real: float, imaginary: float) -> bool:
            return real > threshold

        def rests(real: float, imaginary: float) -> bool:
            return not real > threshold

        _, right, count = schur(matrix, output="real", sort=grows)
        _, left, _ = schur(matrix.T, output="real", sort=grows)
        _, still, _ = schur(matrix.T, output="real", sort=rests)
        stable = len(matrix) - count
        return StabilitySplit(
            np.linalg.eigvals(matrix),
            free @ right[:, :count],
            free @ left[:, :count],
            np.hstack([free @ still[:, :stable], idle]),
            jacobian,
        )


@dataclass(frozen=True, eq=False)
class StabilitySplit:
    """Stable and unstable directions of the zero dynamics at a state, as columns."""

    eigenvalues: NDArray[np.complex128]
    unstable: Reals  # right vectors of the unstable subspace
    unstable_left: Reals  # its left vectors
    stable_left: Reals  # left vectors of the rest
    jacobian: Reals  # ∂F/∂x

    @property
    def count(self) -> int:
        return self.unstable.shape[1]

    @property
    def growth(self) -> float:
        """The largest real part."""
        return float(self.eigenvalues.real.max(initial=-np.inf))
