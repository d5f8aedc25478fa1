"""What is left of the motion when the path is kept: the remaining dynamics, its growth, and its unstable directions.

On a path x(t) lies on the manifold c(t, x) = 0 of all constraints. Small deviations along it, x = … + Z ζ with ∂c/∂x Z = 0,
follow ζ̇ = A ζ, A = Zᵀ(∂F/∂x) Z where the motion is steady. An eigenvalue of A with positive real part means that the path can be
kept and the rest runs away: the lean of a bicycle, the pole of a cart (unstable zero dynamics, non-minimum phase).
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

IDLE = 1e-13  # of the largest slope: what has canceled but for rounding
ONTO = Newton(step_tolerance=1e-13, max_iterations=20)


@dataclass(frozen=True, eq=False)
class Remaining:
    """Equations on a path, ẋ = F(t, x), with inputs and parameters in place."""

    equations: Equations
    inputs: Reals
    p: Reals

    @cached_property
    def _rates(self) -> Kernel:
        return compile(self.equations.explicit)

    @cached_property
    def _jacobian(self) -> Kernel:
        return compile(self.equations.explicit.jacobian("xdot", "x"))

    @cached_property
    def _constraints(self) -> Kernel:
        return compile(self.equations.motion)

    @cached_property
    def _normals(self) -> Kernel:
        return compile(self.equations.motion.jacobian("residuals", "q"))

    def rates(self, t: Reals, x: Reals) -> Reals:
        """F at each of several instants: (n) and (n, states)."""
        return self._rates.map(t[:, None], x, self.inputs, self.p)[0]

    def jacobian(self, t: Reals, x: Reals) -> Reals:
        """∂F/∂x (n, states, states)."""
        return self._jacobian.map(t[:, None], x, self.inputs, self.p)[0]

    def constraints(self, t: float, x: Reals) -> Reals:
        return self._constraints([t], x, np.zeros(0), self.inputs, self.p)[0]

    def normals(self, t: float, x: Reals) -> Reals:
        """∂c/∂x."""
        return self._normals([t], x, np.zeros(0), self.inputs, self.p)[0]

    def onto(self, t: float, x: Reals) -> Reals:
        """The closest state that fulfils all constraints."""

        def evaluate(x: Reals) -> tuple[Reals, Reals]:
            return self.constraints(t, x), np.atleast_2d(self.normals(t, x))

        return ONTO.solve(evaluate, x, LeastNorm()).point.x

    def parted(self, t: float, x: Reals, least: float) -> Parted:
        """Directions that grow faster than `least`, and the others, at a state."""
        from scipy.linalg import schur

        slope, normals = self.jacobian(np.array([t]), x[None])[0], np.atleast_2d(self.normals(t, x))
        # what nothing depends on (work done, a wheel's angle) is pinned by itself, and no part of what grows or rests
        felt = np.abs(np.vstack([slope, normals])).max(axis=0)
        idle = np.eye(len(x))[:, felt <= IDLE * felt.max()]
        free = null_space(unit_rows(np.vstack([normals, idle.T])))
        matrix = free.T @ slope @ free

        def grows(real: float, imaginary: float) -> bool:
            return real > least

        def rests(real: float, imaginary: float) -> bool:
            return not real > least

        _, right, count = schur(matrix, output="real", sort=grows)
        _, left, _ = schur(matrix.T, output="real", sort=grows)
        _, still, _ = schur(matrix.T, output="real", sort=rests)
        others = len(matrix) - count
        return Parted(
            np.linalg.eigvals(matrix),
            free @ right[:, :count],
            free @ left[:, :count],
            np.hstack([free @ still[:, :others], idle]),
            slope,
        )


@dataclass(frozen=True, eq=False)
class Parted:
    """The remaining dynamics at a state; directions are columns in the states."""

    eigenvalues: NDArray[np.complex128]
    unstable: Reals  # ways in which the motion runs away
    growing: Reals  # measures of them: left vectors, which nothing else moves
    others: Reals  # measures of all the rest
    slope: Reals  # ∂F/∂x

    @property
    def count(self) -> int:
        return self.unstable.shape[1]

    @property
    def growth(self) -> float:
        """The largest real part."""
        return float(self.eigenvalues.real.max(initial=-np.inf))
