"""The bounded motion on a path whose remaining dynamics is unstable: a boundary value problem.

Forward in time the motion would run away from any start but one. The directions that grow are left open at the start and pinned
at the end, where they shall be at rest; the others begin where they are asked to. In between, ẋ = F(t, x) is collocated at Gauss
points (three in each interval, order 6 at its ends) and solved by Newton's method with exact Jacobians. The answer is judged by
shooting: from the beginning of each interval an independent method must reach the beginning of the next.

S. Devasia, D. Chen, B. Paden: Nonlinear inversion-based output tracking, IEEE Trans. Automatic Control 41 (1996) 930–942.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from draisine.control.zero_dynamics import Parted, Remaining
from draisine.errors import SolverError
from draisine.numerics.newton import Linearized, Newton, sparse_step
from draisine.numerics.rank import decompose
from draisine.numerics.runge_kutta import RK4, gauss_nodes, lagrange, runge_kutta_matrix

Reals = NDArray[np.float64]

NODES = gauss_nodes(3)
MATRIX, WEIGHTS = runge_kutta_matrix(NODES)
NEWTON = Newton(acceptable=1e-9, step_tolerance=1e-11, max_iterations=30, least_share=1e-4)
CALM = Newton(tolerance=1e-12, max_iterations=2)  # of the guess
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


class Boundary:
    """The problem: what is asked for at both ends."""

    def __init__(self, remaining: Remaining, start: Reals, span: tuple[float, float], least: float) -> None:
        self._remaining, self._start, self._least = remaining, start, least
        self.span = span
        self.first = remaining.parted(span[0], start, least)
        normals = np.atleast_2d(remaining.normals(span[0], start))
        self._rows = decompose(normals).row_combinations

    @property
    def least(self) -> float:
        return self._least

    # ---------------------------------------------------------------- a first guess

    def guess(self, count: int) -> Mesh:
        """March along the path with the growing directions where their rates vanish."""
        times = np.linspace(*self.span, count + 1)
        x = self._calm(times[0], self._start)
        states, inner = [x], []
        for k in range(count):
            instants = times[k] + (times[k + 1] - times[k]) * np.array([*NODES, 1.0])
            t, row = times[k], []
            for then in instants:
                x = self._march(t, x, then)
                t = then
                row.append(x)
            inner.append(row[:-1])
            states.append(x)
        return Mesh(times, np.array(states), np.array(inner))

    def _march(self, t: float, x: Reals, until: float) -> Reals:
        fast = float(np.abs(self._remaining.parted(t, x, self._least).eigenvalues).max(initial=0.0))
        count = max(1, int(np.ceil(min((until - t) * fast, MOST_SUBSTEPS))))
        h = (until - t) / count
        for k in range(count):
            x, _ = RK4.step(lambda t, x: self._remaining.rates(np.array([t]), x[None])[0], t + k * h, x, h)
        return self._calm(until, x)

    def _calm(self, t: float, x: Reals) -> Reals:
        """The state with the growing directions where their rates vanish, nearly."""
        if not np.isfinite(x).all():
            raise self._lost(t)

        def at(x: Reals) -> tuple[Reals, Parted, Reals]:
            x = self._remaining.onto(t, x)
            parted = self._remaining.parted(t, x, self._least)
            return x, parted, parted.growing.T @ self._remaining.rates(np.array([t]), x[None])[0]

        def step(here: tuple[Reals, Parted, Reals]) -> Reals:
            _, parted, rate = here
            inner = parted.growing.T @ parted.slope @ parted.unstable
            return np.asarray(-parted.unstable @ np.linalg.solve(inner, rate))

        found = CALM.iterate(
            at(x), size=lambda a: float(np.abs(a[2]).max(initial=0.0)), step=step, move=lambda a, change: at(a[0] + change)
        )
        return found.point[0]

    # ---------------------------------------------------------------- Newton

    def solve(self, mesh: Mesh) -> Mesh:
        """The collocated motion on a mesh. What is pinned at the end is measured as the guess has it, and no more turned."""
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
        inner = self._remaining.rates(mesh.instants.ravel(), mesh.inner.reshape(-1, n))
        return inner.reshape(mesh.inner.shape), self._remaining.rates(mesh.times[-1:], mesh.states[-1:])[0]

    def _end(self, mesh: Mesh) -> Parted:
        found = self._remaining.parted(float(mesh.times[-1]), mesh.states[-1], self._least)
        if found.count != self.first.count:
            raise SolverError(
                f"{self._remaining.equations.name}: {self.first.count} directions of the remaining motion grow at the start of "
                f"the path and {found.count} at its end; a bounded motion needs as many: end where it is as at the start"
            )
        return found

    def _residual(self, mesh: Mesh, inner: Reals, last: Reals, end: Parted) -> Reals:
        h = np.diff(mesh.times)[:, None, None]
        stages = mesh.inner - mesh.states[:-1, None] - h * np.einsum("ab,kbn->kan", MATRIX, inner)
        steps = mesh.states[1:, None] - mesh.states[:-1, None] - h * np.einsum("b,kbn->kn", WEIGHTS, inner)[:, None]
        t0 = float(mesh.times[0])
        begin = [
            self._rows @ self._remaining.constraints(t0, mesh.states[0]),
            self.first.others.T @ (mesh.states[0] - self._start),
            end.growing.T @ last,
        ]
        return np.concatenate([*begin, np.concatenate([stages, steps], axis=1).ravel()])

    def _step(self, mesh: Mesh, residual: Reals, end: Parted) -> Reals:
        """Newton's step, unknowns in the order x₀, then of each interval its three inner states and its end."""
        from scipy.sparse import coo_array

        count, n = len(mesh.times) - 1, mesh.states.shape[1]
        h = np.diff(mesh.times)
        jacobian = self._remaining.jacobian(mesh.instants.ravel(), mesh.inner.reshape(-1, n)).reshape(count, 3, n, n)
        last = self._remaining.jacobian(mesh.times[-1:], mesh.states[-1:])[0]
        blocks: list[tuple[int, int, Reals]] = []
        t0 = float(mesh.times[0])
        top = np.vstack([self._rows @ np.atleast_2d(self._remaining.normals(t0, mesh.states[0])), self.first.others.T])
        blocks.append((0, 0, top))
        blocks.append((len(top), 4 * n * count, end.growing.T @ last))
        eye = np.eye(n)
        for k in range(count):
            row, column = n + 4 * n * k, 4 * n * k
            for a in range(4):
                weights = MATRIX[a] if a < 3 else WEIGHTS
                blocks.append((row + a * n, column, -eye))
                for b in range(4):
                    part = (eye if a == b else 0.0 * eye) - (h[k] * weights[b] * jacobian[k, b] if b < 3 else 0.0)
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
            f"{self._remaining.equations.name}: no bounded motion along the path was found up to t = {t:g} s; make the path "
            "gentler, begin it straight, or shorten it and see how far it can be followed"
        )


def _moved(mesh: Mesh, step: Reals) -> Mesh:
    n, count = mesh.states.shape[1], len(mesh.times) - 1
    parts = step[n:].reshape(count, 4, n)
    states = mesh.states + np.vstack([step[:n], parts[:, 3]])
    return Mesh(mesh.times, states, mesh.inner + parts[:, :3])
