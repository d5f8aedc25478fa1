"""Collocation for estimation: the motion in an interval is the polynomial that satisfies the equations at the nodes.

With k_j the rates at the nodes c_j of an interval of length h that begins at x,

    0 = F(t_j, x + h Σ a_jl k_l, k_j, u, p),        x(τ) = x + h Σ b_j(τ) k_j,

F = ẋ − f for ẋ = f. The rates are eliminated from the intervals of all windows at once by Newton's method; the states between
windows of a few intervals remain, joined by continuity. Derivatives follow from the same linear systems, and are exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from draisine.codegen.jit.kernel import Kernel, compile
from draisine.errors import ArgumentError
from draisine.estimation.experiment_data import Recording
from draisine.estimation.tangent_coordinates import usual_size
from draisine.estimation.window_layout import edges_of
from draisine.numerics.direct_methods import Collocation, breaks_of
from draisine.numerics.newton_batch import BatchNewton, square_steps
from draisine.numerics.runge_kutta import gauss_nodes, lagrange_integrals, radau_nodes, runge_kutta_matrix
from draisine.program.equations import Equations
from draisine.program.program import DaeResidual, Program
from draisine.program.variational import Direction, jacobian

Reals = NDArray[np.float64]
Indices = NDArray[np.int64]

CLOSE = 1e-9  # of the duration: times closer than this coincide
TOGETHER = 8  # intervals in a window
# tolerance of the change of states; step_rounding allows for rounding, which multipliers of index 3 amplify by 1/h²
NEWTON = BatchNewton(step_tolerance=1e-12, step_rounding=1e-6, max_iterations=20)


@dataclass(frozen=True)
class CollocationScheme:
    """A collocation scheme by its nodes."""

    scheme: str
    nodes: tuple[float, ...]

    @staticmethod
    def of(method: Collocation) -> CollocationScheme:
        fixed = {"trapezoidal": (0.0, 1.0), "hermite-simpson": (0.0, 0.5, 1.0)}
        if method.scheme in fixed:
            return CollocationScheme(method.scheme, fixed[method.scheme])
        nodes = radau_nodes(method.degree) if method.scheme == "radau" else gauss_nodes(method.degree)
        return CollocationScheme(method.scheme, tuple(nodes.tolist()))

    @cached_property
    def matrix(self) -> Reals:
        return runge_kutta_matrix(np.array(self.nodes))[0]

    def weights(self, within: Reals) -> Reals:
        """b_j at positions within the interval, (positions, nodes)."""
        return lagrange_integrals(np.array(self.nodes), within)

    def check(self, equations: Equations) -> None:
        """Algebraic unknowns need a scheme with a node at the end of the interval and none at its beginning."""
        if isinstance(equations.dynamics, DaeResidual) and self.scheme != "radau":
            raise ArgumentError(
                f"{equations.name} is implicit, 0 = F(t, x, ẋ): collocation scheme {self.scheme!r} is not supported; use "
                "Collocation('radau', …)"
            )


@lru_cache(maxsize=32)
def _residual(equations: Equations, directions: tuple[Direction, ...]) -> Kernel:
    """(t, x, u, p) → f and its derivatives by x and the directions; (t, x, ẋ, u, p) → F and those by x, ẋ and the directions."""
    dynamics = equations.dynamics
    if not isinstance(dynamics, DaeResidual):
        return compile(jacobian(dynamics, directions))
    program = dynamics.residual
    symbols = {slot.name: symbol for slot, symbol in zip(program.inputs, program.symbols(), strict=True)}
    (residual,) = program.function.call(list(symbols.values()))
    by = ca.vertcat(symbols["x"], symbols["xdot"], *[symbols[d.slot][d.place] for d in directions])
    results = {"residual": residual, "jacobian": ca.densify(ca.jacobian(residual, by))}
    return compile(Program.build(f"{program.name}_slopes", symbols, results))


@dataclass(frozen=True, eq=False)
class CollocationSolver:
    """Solves the equations at the nodes of many intervals. `directions` are parameters and inputs."""

    equations: Equations
    scheme: CollocationScheme
    directions: tuple[Direction, ...]
    p: Reals

    def _at(self, t: Reals, x: Reals, k: Reals, u: Reals) -> tuple[Reals, Reals, Reals, Reals]:
        """F and its derivatives by x, ẋ and directions at points."""
        n, kernel = x.shape[1], _residual(self.equations, self.directions)
        if isinstance(self.equations.dynamics, DaeResidual):
            value, by = kernel.map(t[:, None], x, k, u, self.p)
            table = np.asarray(by).reshape(len(t), n, -1)
            return value, table[:, :, :n], table[:, :, n : 2 * n], table[:, :, 2 * n :]
        rate, by = kernel.map(t[:, None], x, u, self.p)
        table = -np.asarray(by).reshape(len(t), n, -1)
        return k - rate, table[:, :, :n], np.broadcast_to(np.eye(n), (len(t), n, n)), table[:, :, n:]

    def __call__(
        self, begins: Reals, lengths: Reals, x: Reals, initial_jacobian: Reals, inputs: Reals, within: Sequence[Reals]
    ) -> tuple[list[Reals], list[Reals]] | None:
        """States and derivatives at positions within each interval, from states x with derivatives `initial_jacobian` by
        deviations, then by the directions. None if Newton's method does not converge."""
        c, a = np.array(self.scheme.nodes), self.scheme.matrix
        (count, n), s = x.shape, len(c)
        least = usual_size(float(np.abs(x).max(initial=0.0)))
        times = begins[:, None] + lengths[:, None] * c
        # of each interval at its last evaluation
        by_x, system = np.empty((count, s, n, n)), np.empty((count, s * n, s * n))
        by = np.empty((count, s * n, len(self.directions)))

        def evaluate(flat: Reals, indices: Indices) -> tuple[Reals, Reals]:
            k = flat[indices].reshape(-1, s, n)
            points = x[indices, None] + lengths[indices, None, None] * np.einsum("jl,eln->ejn", a, k)
            given = np.repeat(inputs[indices], s, axis=0)
            value, by_state, by_k, by_direction = self._at(times[indices].ravel(), points.reshape(-1, n), k.reshape(-1, n), given)
            by_x[indices] = by_state.reshape(-1, s, n, n)
            by[indices] = by_direction.reshape(len(indices), s * n, len(self.directions))
            system[indices] = self._system(lengths[indices], by_state, by_k, len(indices))
            return value.reshape(-1, s * n), system[indices]

        def step_size(step: Reals, _: Reals, indices: Indices) -> Reals:
            """The change of states, relative to their size, or to the usual one."""
            change = np.abs(np.einsum("jl,eln->ejn", a, step.reshape(-1, s, n))).max(axis=1)
            return np.asarray((lengths[indices, None] * change / np.maximum(np.abs(x[indices]), least)).max(axis=1))

        found = NEWTON.solve(evaluate, np.zeros((count, s * n)), square_steps, step_size)
        if not found.converged.all():
            return None
        k = found.x.reshape(count, s, n)
        start = initial_jacobian.reshape(count, 1, n, -1)
        right = (by_x @ start).reshape(count, s * n, -1)
        right[:, :, right.shape[2] - len(self.directions) :] += by
        slope = np.linalg.solve(system, -right).reshape(count, s, n, -1)
        parts = np.split(self.scheme.weights(np.concatenate(within)), np.cumsum([len(indices) for indices in within])[:-1])
        weights = [part * h for part, h in zip(parts, lengths, strict=True)]
        states = [x[e] + w @ k[e] for e, w in enumerate(weights)]
        carried = [initial_jacobian[e] + np.tensordot(w, slope[e], 1) for e, w in enumerate(weights)]
        return states, carried

    def _system(self, lengths: Reals, by_x: Reals, by_k: Reals, count: int) -> Reals:
        """∂F_j/∂k_l = ∂F/∂ẋ δ_jl + h a_jl ∂F/∂x, (intervals, nodes × states, nodes × states)."""
        s, n = len(self.scheme.nodes), by_x.shape[1]
        whole = np.einsum("e,jl,ejab->ejalb", lengths, self.scheme.matrix, by_x.reshape(count, s, n, n))
        for j in range(s):
            whole[:, j, :, j] += by_k.reshape(count, s, n, n)[:, j]
        return whole.reshape(count, s * n, s * n)


def mesh_of(recording: Recording, intervals: int | tuple[float, ...]) -> tuple[Reals, Reals]:
    """Edges of windows and breaks between intervals: the requested ones, and all knots of recorded inputs; a window has several
    intervals."""
    begin, last = recording.begin, recording.end
    wanted = (
        np.linspace(begin, last, intervals + 1) if isinstance(intervals, int) else begin + (last - begin) * breaks_of(intervals)
    )
    corners = recording.knots if recording.recorded else np.zeros(0)
    stops = np.union1d(corners[(corners > begin) & (corners < last)], recording.times)
    nearest = stops[np.clip(np.searchsorted(stops, wanted - 0.5 * CLOSE * (last - begin)), 0, len(stops) - 1)]
    wanted = np.where(np.abs(nearest - wanted) <= CLOSE * (last - begin), nearest, wanted)
    breaks = np.union1d(wanted, corners[(corners > begin) & (corners < last)])
    return edges_of(recording, breaks[TOGETHER:-1:TOGETHER]), breaks
