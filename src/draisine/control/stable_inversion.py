"""Stable inversion: the bounded motion on a path with unstable zero dynamics, by a boundary value problem.

Forward in time all but one start diverge. The unstable directions are free at the start and at rest at the end; the others start
at their given values. In between, ẋ = F(t, x) is collocated at Gauss points (three in each interval, order 6 at its ends) and
solved by Newton's method with exact Jacobians. The solution is verified by shooting from each interval to the next with an
independent method.

S. Devasia, D. Chen, B. Paden: Nonlinear inversion-based output tracking, IEEE Trans. Automatic Control 41 (1996) 930–942.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from draisine.control.zero_dynamics import StabilitySplit, ZeroDynamics
from draisine.errors import SolverError
from draisine.numerics.newton import Linearized, Newton, sparse_step
from draisine.numerics.rank import decompose
from draisine.numerics.runge_kutta import RK4, gauss_nodes, lagrange, runge_kutta_matrix

Reals = NDArray[np.float64]

NODES = gauss_nodes(3)
MATRIX, WEIGHTS = runge_kutta_matrix(NODES)
NEWTON = Newton(acceptable=1e-9, step_tolerance=1e-11, max_iterations=30, least_share=1e-4)
QUASI_STEADY = Newton(tolerance=1e-12, max_iterations=2)  # for the guess
MOST_SUBSTEPS = 50  # between two points of a guess


@dataclass(frozen=True, eq=False)
class Mesh:
    """States at the ends of intervals, and at the points in them."""

    times: Reals  # (n + 1)
    states: Reals  # (n + 1, states)
    inner: Reals  # (n, 3, states)

    @property
    def instants(self) -> Reals:
        """Of the inner states (n, 3)."""
        return np.asarray(self.times[:-1, None] + np.diff(self.times)[:, None] * NODES)

    def refined(self, split: NDArray[np.bool_]) -> Mesh:
        """Some of the intervals halved, by interpolation in the old ones."""
        times = np.sort(np.concatenate([self.times, ((self.times[:-1] + self.times[1:]) / 2)[split]]))
        old = np.clip(np.searchsorted(self.times, times, side="right") - 1, 0, len(split) - 1)
        instants = times[:-1, None] + np.diff(times)[:, None] * NODES
        inner = np.array([[self._at(k, t) for t in row] for k, row in zip(old[:-1], instants, strict=True)])
        return Mesh(times, np.array([self._at(k, t) for k, t in zip(old, times, strict=True)]), inner)

    def _at(self, k: int, t: float) -> Reals:
        """The polynomial of an interval through all its states."""
        values = np.vstack([self.states[k], self.inner[k], self.states[k + 1]])
        s = (t - self.times[k]) / (self.times[k + 1] - self.times[k])
        return np.asarray(lagrange(np.array([0.0, *NODES, 1.0]), np.array([s]))[0] @ values)


class BoundaryValueProblem:
    """Boundary conditions, initial guess and collocation equations."""

    def __init__(self, zero_dynamics: ZeroDynamics, start: Reals, span: tuple[float, float], threshold: float) -> None:
        self._zero_dynamics, self._start, self._threshold = zero_dynamics, start, threshold
        self.span = span
        self.first = zero_dynamics.split(span[0], start, threshold)
        normals = np.atleast_2d(zero_dynamics.normals(span[0], start))
        self._rows = decompose(normals).row_combinations

    @property
    def threshold(self) -> float:
        return self._threshold

    # ---------------------------------------------------------------- a first guess

    def guess(self, count: int) -> Mesh:
        """Integrate along the path with the rates of the unstable directions set to zero."""
        times = np.linspace(*self.span, count + 1)
        x = self._quasi_steady(times[0], self._start)
        states, inner = [x], []
        for k in range(count):
            instants = times[k] + (times[k + 1] - times[k]) * np.array([*NODES, 1.0])
            t, row = times[k], []
            for then in instants:
                x = self._integrate(t, x, then)
                t = then
                row.append(x)
            inner.append(row[:-1])
            states.append(x)
        return Mesh(times, np.array(states), np.array(inner))

    def _integrate(self, t: float, x: Reals, until: float) -> Reals:
        fast = float(np.abs(self._zero_dynamics.split(t, x, self._threshold).eigenvalues).max(initial=0.0))
        count = max(1, int(np.ceil(min((until - t) * fast, MOST_SUBSTEPS))))
        h = (until - t) / count
        for k in range(count):
            x, _ = RK4.step(lambda t, x: self._zero_dynamics.rates(np.array([t]), x[None])[0], t + k * h, x, h)
        return self._quasi_steady(until, x)

    def _quasi_steady(self, t: float, x: Reals) -> Reals:
        """The state in which the rates of the unstable directions nearly vanish."""
        if not np.isfinite(x).all():
            raise self._lost(t)

        def at(x: Reals) -> tuple[Reals, StabilitySplit, Reals]:
            x = self._zero_dynamics.onto(t, x)
            split = self._zero_dynamics.split(t, x, self._threshold)
            return x, split, split.unstable_left.T @ self._zero_dynamics.rates(np.array([t]), x[None])[0]

        def step(here: tuple[Reals, StabilitySplit, Reals]) -> Reals:
            _, split, rate = here
            inner = split.unstable_left.T @ split.jacobian @ split.unstable
            return np.asarray(-split.unstable @ np.linalg.solve(inner, rate))

        found = QUASI_STEADY.iterate(
            at(x), size=lambda a: float(np.abs(a[2]).max(initial=0.0)), step=step, move=lambda a, change: at(a[0] + change)
        )
        return found.point[0]

    # ---------------------------------------------------------------- Newton

    def solve(self, mesh: Mesh) -> Mesh:
        """The collocated motion on a mesh. The final condition uses the unstable directions of the guess."""
        end = self._end(mesh)

        def at(mesh: Mesh) -> tuple[Mesh, Reals]:
            return mesh, self._residual(mesh, *self._rates(mesh), end)

        def size(here: tuple[Mesh, Reals]) -> float:
            return float(np.abs(here[1]).max()) if np.isfinite(here[1]).all() else np.inf

        found = NEWTON.iterate(
            at(mesh),
            size=size,
            step=lambda here: self._step(*here, end),
            move=lambda here, change: at(_moved(here[0], change)),
            scale=lambda here: float(np.abs(here[0].states).max()),
        )
        if not found.converged:
            raise self._lost(float(mesh.times[-1]))
        return found.point[0]

    def _rates(self, mesh: Mesh) -> tuple[Reals, Reals]:
        n = mesh.states.shape[1]
        inner = self._zero_dynamics.rates(mesh.instants.ravel(), mesh.inner.reshape(-1, n))
        return inner.reshape(mesh.inner.shape), self._zero_dynamics.rates(mesh.times[-1:], mesh.states[-1:])[0]

    def _end(self, mesh: Mesh) -> StabilitySplit:
        found = self._zero_dynamics.split(float(mesh.times[-1]), mesh.states[-1], self._threshold)
        if found.count != self.first.count:
            raise SolverError(
                f"{self._zero_dynamics.equations.name}: {self.first.count} directions of the zero dynamics are unstable at the "
                f"start of the path and {found.count} at its end; a bounded motion needs equal numbers: end the path as it starts"
            )
        return found

    def _residual(self, mesh: Mesh, inner: Reals, last: Reals, end: StabilitySplit) -> Reals:
        h = np.diff(mesh.times)[:, None, None]
        stages = mesh.inner - mesh.states[:-1, None] - h * np.einsum("ab,kbn->kan", MATRIX, inner)
        steps = mesh.states[1:, None] - mesh.states[:-1, None] - h * np.einsum("b,kbn->kn", WEIGHTS, inner)[:, None]
        t0 = float(mesh.times[0])
        begin = [
            self._rows @ self._zero_dynamics.constraints(t0, mesh.states[0]),
            self.first.stable_left.T @ (mesh.states[0] - self._start),
            end.unstable_left.T @ last,
        ]
        return np.concatenate([*begin, np.concatenate([stages, steps], axis=1).ravel()])

    def _step(self, mesh: Mesh, residual: Reals, end: StabilitySplit) -> Reals:
        """The Newton step; unknowns are x₀, then the three inner states and the end of each interval."""
        from scipy.sparse import coo_array

        count, n = len(mesh.times) - 1, mesh.states.shape[1]
        h = np.diff(mesh.times)
        jacobians = self._zero_dynamics.jacobians(mesh.instants.ravel(), mesh.inner.reshape(-1, n)).reshape(count, 3, n, n)
        last = self._zero_dynamics.jacobians(mesh.times[-1:], mesh.states[-1:])[0]
        blocks: list[tuple[int, int, Reals]] = []
        t0 = float(mesh.times[0])
        top = np.vstack([self._rows @ np.atleast_2d(self._zero_dynamics.normals(t0, mesh.states[0])), self.first.stable_left.T])
        blocks.append((0, 0, top))
        blocks.append((len(top), 4 * n * count, end.unstable_left.T @ last))
        eye = np.eye(n)
        for k in range(count):
            row, column = n + 4 * n * k, 4 * n * k
            for a in range(4):
                weights = MATRIX[a] if a < 3 else WEIGHTS
                blocks.append((row + a * n, column, -eye))
                for b in range(4):
                    part = (eye if a == b else 0.0 * eye) - (h[k] * weights[b] * jacobians[k, b] if b < 3 else 0.0)
                    if a == b or b < 3:
                        blocks.append((row + a * n, column + (b + 1) * n, part))
        rows = np.concatenate([(r + np.arange(len(m)))[:, None].repeat(m.shape[1], 1).ravel() for r, _, m in blocks])
        columns = np.concatenate([np.tile(c + np.arange(m.shape[1]), len(m)) for _, c, m in blocks])
        values = np.concatenate([m.ravel() for _, _, m in blocks])
        size = n * (1 + 4 * count)
        matrix = coo_array((values, (rows, columns)), shape=(size, size)).tocsc()
        return sparse_step(Linearized(residual, residual, matrix))

    def _lost(self, t: float) -> SolverError:
        return SolverError(
            f"{self._zero_dynamics.equations.name}: no bounded motion along the path was found up to t = {t:g} s; make the path "
            "smoother, start it straight, or shorten it"
        )


def _moved(mesh: Mesh, step: Reals) -> Mesh:
    n, count = mesh.states.shape[1], len(mesh.times) - 1
    parts = step[n:].reshape(count, 4, n)
    states = mesh.states + np.vstack([step[:n], parts[:, 3]])
    return Mesh(mesh.times, states, mesh.inner + parts[:, :3])
