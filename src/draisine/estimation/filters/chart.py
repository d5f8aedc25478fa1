"""Charts of the constraint manifold: coordinates about a state that satisfies the constraints.

About a state x on the constraints c = 0 let T be an orthonormal basis of the tangent space, ∂c/∂x T = 0, and N one of the normal
space. The state with coordinates ξ is

    y = x + T ξ + N μ,    c(y) = 0,    and so    ξ = Tᵀ(y − x),

exact inverses of each other; unit quaternions stay on their sphere, and no attitude is singular. With another state x' as origin,
small changes are mapped by dξ = (Tᵀ T') dξ'. Without constraints T = 1.

In 0 = F(t, x, ẋ) some unknowns are algebraic. With D the selection of the differential ones, T is chosen such that D T is
orthonormal, ξ = (D T)ᵀ D (y − x) = Lᵀ(y − x), and N spans the kernel of Lᵀ: algebraic unknowns follow.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from draisine.codegen.jit.kernel import Kernel, compile
from draisine.errors import SolverError
from draisine.estimation.tangent_coordinates import named_deviations
from draisine.numerics.newton_batch import BatchNewton, LeastNormSteps
from draisine.numerics.rank import decompose
from draisine.program.equations import Equations
from draisine.program.program import DaeResidual, Program

Reals = NDArray[np.float64]
Indices = NDArray[np.int64]

# projection onto the constraints; residuals relative to the norms of their gradients
NEWTON = BatchNewton(tolerance=1e-13, acceptable=1e-11, max_iterations=20)
DEPENDENT = 1e-7  # relative size below which a constraint's gradient counts as dependent


@dataclass(frozen=True, eq=False)
class Chart:
    """Coordinates about a state."""

    t: float
    x: Reals  # (states,)
    p: Reals  # parameters, with the modes of contacts that open
    tangent: Reals  # T, (states, coordinates)
    normal: Reals  # N, (states, constraints)
    reading: Reals  # L, (states, coordinates); equals T unless unknowns are algebraic

    def coordinates(self, y: Reals) -> Reals:
        """ξ of a state, or of states (points, states)."""
        return np.asarray((y - self.x) @ self.reading)

    def onto(self, other: Chart) -> Reals:
        """∂ξ'/∂ξ at the origin of the other chart."""
        return np.asarray(np.linalg.inv(self.reading.T @ other.tangent))

    def including(self, other: Chart, covariance: Reals) -> Reals:
        """A covariance in the coordinates of another chart about the same state, which has more constraints."""
        if other is self:
            return covariance
        map_ = self.reading.T @ other.tangent
        return symmetric(map_ @ covariance @ map_.T)

    def carried(self, covariance: Reals, other: Chart) -> Reals:
        """A covariance transformed to the coordinates of the other chart."""
        if other is self:
            return covariance
        map_ = self.onto(other)
        return symmetric(map_ @ covariance @ map_.T)


@lru_cache(maxsize=32)
def _constraint_kernel(equations: Equations) -> Kernel | None:
    """(t, x, u, p) → residuals of the constraints and their gradient by coordinates and independent velocities."""
    if not equations.constraints:
        return None
    d = named_deviations(equations, ())
    own = d._x[: len(equations.coordinates) + len(equations.independent)]
    inputs = {"t": d._t, "x": d._x, "u": d._u, "p": d._p}
    results = {"residuals": d._motion[0], "gradient": ca.jacobian(d._motion[0], own)}
    return compile(Program.build(f"{equations.name}_constraints", inputs, results))


@dataclass(frozen=True, eq=False)
class Manifold:
    """All states that satisfy the constraints, for any parameters, and modes of contacts that open."""

    equations: Equations

    @cached_property
    def _own(self) -> int:
        """Number of states with deviations: without bookkeeping such as accumulated work."""
        return len(self.equations.coordinates) + len(self.equations.independent)

    def _constraints(self, t: float, x: Reals, u: Reals, p: Reals) -> tuple[Reals, Reals]:
        """Residuals (points, rows) and gradients (points, rows, own states), relative to the norms of the gradients."""
        kernel = _constraint_kernel(self.equations)
        if kernel is None:
            return np.zeros((len(x), 0)), np.zeros((len(x), 0, self._own))
        r, g = kernel.map([t], x, u, p)
        residuals, gradient = r.reshape(len(x), -1), np.asarray(g).reshape(len(x), -1, self._own)
        lengths = np.linalg.norm(gradient, axis=2)
        counts = lengths > 1e-9  # rates of eliminated velocities have only rounding, rows of open contacts are zero
        scale = np.where(counts, 1.0 / np.where(counts, lengths, 1.0), 0.0)
        return residuals * scale, gradient * scale[..., None]

    def chart(self, t: float, x: Reals, u: Reals, p: Reals) -> Chart:
        """The chart about a state on the constraints."""
        _, (gradient,) = self._constraints(t, x[None], u, p)
        if not np.isfinite(x).all() or not np.isfinite(gradient).all():
            raise SolverError(
                f"{self.equations.name}: the constraints are not finite at t = {t:g} s; the motion is singular there"
            )
        own, states = self._own, len(x)
        rank, rows = 0, np.eye(own)
        if len(gradient):
            split = decompose(gradient, DEPENDENT)
            rank, rows = split.rank, split.right
        wide = np.zeros((states, own))
        wide[:own] = rows.T
        if isinstance(self.equations.dynamics, DaeResidual):
            return self._chart_of_differential(self.equations.dynamics, float(t), np.array(x), p, wide[:, rank:])
        return Chart(float(t), np.array(x), p, wide[:, rank:], wide[:, :rank], wide[:, rank:])

    def _chart_of_differential(self, dynamics: DaeResidual, t: float, x: Reals, p: Reals, tangent: Reals) -> Chart:
        """The chart in which differential unknowns determine the algebraic ones."""
        counts = np.array(dynamics.differential)
        reported, factor = np.linalg.qr(tangent * counts[:, None])
        if np.abs(np.diag(factor)).min(initial=1.0) < DEPENDENT:
            free = ", ".join(q.name for q, c in zip(self.equations.coordinates, counts, strict=True) if not c)
            raise SolverError(
                f"{self.equations.name}: at t = {t:g} s the other unknowns do not determine {free}; the motion is singular, or "
                "not all of its constraints are known"
            )
        normal = np.linalg.qr(reported, mode="complete")[0][:, reported.shape[1] :]
        return Chart(t, x, p, tangent @ np.linalg.inv(factor), normal, reported)

    def points(self, chart: Chart, changes: Reals, u: Reals) -> Reals:
        """The states with coordinates ξ, (points, coordinates)."""
        base = chart.x + changes @ chart.tangent.T
        if not base.size or not chart.normal.shape[1]:
            return base  # no constraints, or no points: a state without freedom has no sigma points

        def evaluate(across: Reals, indices: Indices) -> tuple[Reals, Reals]:
            residuals, gradients = self._constraints(chart.t, base[indices] + across[indices] @ chart.normal.T, u, chart.p)
            return residuals, gradients @ chart.normal[: self._own]

        # rows may be dependent: least-norm steps
        found = NEWTON.solve(evaluate, np.zeros((len(base), chart.normal.shape[1])), LeastNormSteps(DEPENDENT))
        if found.converged.all():
            return np.asarray(base + found.x @ chart.normal.T)
        raise SolverError(
            f"{self.equations.name}: at t = {chart.t:g} s the estimate is so uncertain that states within its spread cannot "
            "satisfy the constraints; give a smaller spread at the start, or less process noise"
        )


def symmetric(matrix: Reals) -> Reals:
    """The symmetric part, without the asymmetry of rounding."""
    return np.asarray(0.5 * (matrix + np.swapaxes(matrix, -1, -2)))
