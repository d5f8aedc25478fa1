"""Steady motions over a grid of two fixed quantities, solved row by row, each row as a batch from the previous one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from draisine.numerics.newton_batch import BatchNewton, Indices, solve_each
from draisine.stability.batch_evaluation import BatchProgram
from draisine.stability.continuation.problem import drifting_coordinates
from draisine.stability.deviations import deviations_of
from draisine.stability.steady_problem import SteadyMotion, SteadyProblem

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]

PARTS = 8
# steps this small are squared by the last iteration; residuals relative to the largest entry of the Jacobian
NEWTON = BatchNewton(step_tolerance=1e-8, acceptable=1e-8, max_iterations=12)
LONGEST = 12.0  # largest change of an unknown in a step
LEAP = 0.5  # rad or relative: a larger change between rows means another family of motions


@dataclass(frozen=True)
class Grid:
    """Names and values of the two quantities."""

    names: tuple[str, str]
    first: Array
    second: Array


@dataclass(frozen=True)
class GridSolution:
    """x, u and p at every point of a grid (first, second, …), and whether a steady motion was found."""

    x: Array
    u: Array
    p: Array
    exists: Flags


class SteadyGridSolver:
    """The steady problem of a grid."""

    def __init__(self, base: SteadyMotion, grid: Grid, fixed: Mapping[str, float], free: Sequence[str]) -> None:
        e = base.equations
        self.base, self.grid = base, grid
        deviations = deviations_of(e)
        derivatives = deviations.derivatives(0.0, base.x[None], base.u[None], base.p[None])
        names = deviations.choose(derivatives).names
        values = dict(zip(deviations.candidates, derivatives.values[0].tolist(), strict=True))
        own = [*(i.name for i in e.inputs), *(p.name for p in e.parameters)]
        freed = [*free, *(n for n in (*fixed, *grid.names) if n in own and n not in free)]
        self.ignorable = drifting_coordinates(base, freed)
        essential = [n for n in names if n not in self.ignorable and n not in deviations.speeds]
        fixed_values = {**{n: values[n] for n in self.ignorable}, **fixed, **dict.fromkeys(grid.names, 0.0)}
        self.problem = SteadyProblem(e, essential, freed, fixed_values)
        self._program = BatchProgram(self.problem.program)
        self._targets_vector = np.array(list(fixed_values.values()))

    def solve(self) -> GridSolution:
        """All points: one row point by point from the base, the others from their neighbors."""
        first, second = self.grid.first, self.grid.second
        problem, base = self.problem, self.base
        y0 = problem.pack(base.x, base.u, base.p)
        y = np.full((len(first), len(second), len(y0)), np.nan)
        exists = np.zeros(y.shape[:2], dtype=bool)
        i, j = self._beginning()
        self._along_row(y, exists, i, j, y0)
        for step in (1, -1):
            last, slope = y[i].copy(), np.zeros_like(y[i])
            k = i + step
            while 0 <= k < len(first):
                known = np.isfinite(last).all(axis=1)
                guess = np.where(known[:, None], last + slope, y0)
                found, good = self._newton(guess, np.full(len(second), first[k]), second)
                good &= known & (_leap(found, last) < LEAP)
                again = known & ~good & exists[k - step]
                if again.any():
                    found[again], good[again] = self._in_parts(last[again], first[k - step], first[k], second[again])
                y[k][good], exists[k] = found[good], good
                slope = np.where(good[:, None], found - last, 0.0)
                last = np.where(good[:, None], found, np.nan)
                k += step
        x, u, p = self._unpacked(y.reshape(-1, len(y0)))
        shape = y.shape[:2]
        return GridSolution(x.reshape(*shape, -1), u.reshape(*shape, -1), p.reshape(*shape, -1), exists)

    def _beginning(self) -> tuple[int, int]:
        """Indices of the grid point nearest to the base."""
        values = self.base.values
        return tuple(
            int(np.argmin(np.abs(points - values[name])))
            for name, points in zip(self.grid.names, (self.grid.first, self.grid.second), strict=True)
        )  # type: ignore[return-value]

    def _along_row(self, y: Array, exists: Flags, i: int, j: int, y0: Array) -> None:
        at = np.array([self.grid.first[i]])
        for step in (1, -1):
            last, k = y0, j if step == 1 else j - 1
            while 0 <= k < len(self.grid.second):
                found, good = self._newton(last[None], at, self.grid.second[k : k + 1])
                if good[0]:
                    y[i, k], exists[i, k], last = found[0], True, found[0]
                k += step

    def _in_parts(self, y: Array, begin: float, end: float, second: Array) -> tuple[Array, Flags]:
        """Repeat a failed step between rows in short parts."""
        good = np.ones(len(y), dtype=bool)
        before = y
        for value in np.linspace(begin, end, PARTS + 1)[1:]:
            guess = y + (y - before)
            found, fine = self._newton(guess, np.full(len(y), value), second)
            good &= fine & (_leap(found, y) < LEAP)
            before, y = y, np.where(good[:, None], found, y)
        return y, good

    def _newton(self, y: Array, first: Array, second: Array) -> tuple[Array, Flags]:
        """Least-squares Newton steps at all points at once, and where they converged."""
        targets_vector = np.repeat(self._targets_vector[None], len(y), axis=0)
        targets_vector[:, -2], targets_vector[:, -1] = first, second

        def evaluate(y: Array, rows: Indices) -> tuple[Array, Array]:
            residual, jacobian = self._evaluate(y, targets_vector)
            units = np.maximum(1.0, np.abs(jacobian).max(axis=(1, 2)))
            return (residual / units[:, None])[rows], (jacobian / units[:, None, None])[rows]

        found = NEWTON.solve(evaluate, y, _least_squares)
        return found.x, found.converged

    def _evaluate(self, y: Array, targets_vector: Array) -> tuple[Array, Array]:
        x, u, p = self._unpacked(y)
        own, free = self.problem.own, len(self.problem.free)
        z = y[:, own : y.shape[1] - free]
        residual, jacobian = self._program(np.zeros((len(y), 1)), x, u, p, z, targets_vector)
        return residual[..., 0], jacobian

    def _unpacked(self, y: Array) -> tuple[Array, Array, Array]:
        problem, e = self.problem, self.problem.equations
        count = len(y)
        x, u, p = (np.repeat(a[None], count, axis=0) for a in (self.base.x, self.base.u, self.base.p))
        x[:, : problem.own] = y[:, : problem.own]
        inputs, parameters = [i.name for i in e.inputs], [q.name for q in e.parameters]
        for k, name in enumerate(reversed(problem.free)):
            target, names = (u, inputs) if name in inputs else (p, parameters)
            target[:, names.index(name)] = y[:, y.shape[1] - 1 - k]
        return x, u, p


def _least_squares(residual: Array, jacobian: Array, damping: Array) -> Array:
    """Least-squares Newton steps; NaN where unknowns are not determined."""
    q, r = np.linalg.qr(jacobian)
    diagonal = np.abs(np.diagonal(r, axis1=1, axis2=2))
    r = np.where((diagonal.min(axis=1) > 1e-13 * diagonal.max(axis=1))[:, None, None], r, np.nan)
    change = solve_each(r, (q.transpose(0, 2, 1) @ residual[..., None]))[0][..., 0]
    return np.asarray(-np.clip(change, -LONGEST, LONGEST))


def _leap(new: Array, old: Array) -> Array:
    """The largest change of an unknown, relative to its magnitude where that is above one."""
    return np.asarray((np.abs(new - old) / np.maximum(1.0, np.maximum(np.abs(old), np.abs(new)))).max(axis=1))
