"""Families of steady motions in closed form, as one short program: values of the varied quantities → A.

Straight running of a two-wheeler is such a family: over speed and any parameter, lean and steer are zero and the spins are the
speed over the radius. A linear prediction gives it, or one symbolic step of Newton's method. Substituted into the exact program,
the zeros leave a few hundred of many thousand operations. The residual of the motion is computed along with A at each point;
where it is not zero, the family corrects the motion numerically.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from draisine.dynamics.linear_algebra import fold_constant, solve
from draisine.program.program import Program
from draisine.stability.batch_evaluation import BatchProgram, program_without_cse

if TYPE_CHECKING:
    from draisine.stability.steady_family import Family

Array = NDArray[np.float64]

LARGEST = 50  # unknowns of a motion, besides the varied quantities, beyond which no closed form is attempted
FEW = 24  # points at which the prediction is tested
EXACT = 1e-10  # residual, relative to the Jacobian, below which a predicted motion needs no correction
NEARLY = 1e-13  # numbers this close to an integer are rounded to it


class ClosedFormFamily:
    """A, or its characteristic polynomial, and the residual norm (`misfit`) of the motion, at values of the varied quantities."""

    def __init__(self, family: Family, corrected: bool) -> None:
        self.family = family
        self._corrected = corrected
        self._points = ca.SX.sym("points", len(family.vary))

    @staticmethod
    def of(family: Family) -> ClosedFormFamily | None:
        """The family in closed form; None where the motion has none near the first one."""
        if len(family._y) - len(family.vary) > LARGEST:
            return None
        rng = np.random.default_rng(2007)
        size = np.maximum(np.abs(family._at), 0.1)
        points = family._at + rng.uniform(-1e-3, 1e-3, (FEW, len(family._at))) * size
        candidates = [
            ClosedFormFamily(family, corrected=False),
            *([ClosedFormFamily(family, corrected=True)] if _aligned(family._idle) else []),
        ]
        return next((one for one in candidates if one.matrices(points)[1].mean() > 0.5), None)

    @cached_property
    def _written(self) -> tuple[ca.SX, ca.SX]:
        """A and the misfit as symbols."""
        f = self.family
        shift = self._points - ca.DM(f._at)
        y = ca.SX(ca.DM(_rounded(f._y))) + ca.SX(ca.sparsify(ca.DM(_rounded(f._sensitivity)))) @ shift
        if self._corrected:
            residual, jacobian = f.problem.program.function.call(self._arguments(y))
            columns = np.flatnonzero(np.abs(f._idle).sum(axis=0) < NEARLY).tolist()
            y[columns] -= ca.vertcat(*_solved(jacobian[f._rows.tolist(), columns], [residual[f._rows.tolist()]])[0])
        arguments = self._arguments(y)
        (residual,) = f._residual.program.function.call(arguments)
        (square,) = f.linear.span_matrix.function.call(arguments[:5])
        directions = _solved(square, [ca.SX(column) for column in f.linear.sides.T])
        (a,) = f.linear.jacobian_along.function.call(
            [*arguments[:5], ca.horzcat(*[ca.vertcat(*column) for column in directions])]
        )
        # a sum, since a maximum would hide NaN
        return ca.densify(a), ca.sum1(ca.fabs(residual) / ca.DM(np.maximum(f._units, 1.0)))

    def _arguments(self, y: ca.SX) -> list[ca.SX]:
        """t, x, u, p, z and targets, as symbols where they vary."""
        f = self.family
        problem = f.problem
        x, u, p = (ca.SX(ca.DM(_rounded(part))) for part in (f.base.x, f.base.u, f.base.p))
        x[: problem.own] = y[: problem.own]
        solved = y.numel() - problem.own - len(problem.free)
        for k, name in enumerate(problem.free):
            target, names = (u, f._inputs) if name in f._inputs else (p, f._parameters)
            target[names.index(name)] = y[problem.own + solved + k]
        targets = ca.SX(ca.DM(list(problem.fixed.values())))
        for k, name in enumerate(f.vary):
            targets[list(problem.fixed).index(name)] = self._points[k]
        return [ca.SX(0), x, u, p, y[problem.own : problem.own + solved], targets]

    @cached_property
    def _matrix(self) -> BatchProgram:
        a, misfit = self._written
        name = f"{self.family.equations.name}_straight"
        return BatchProgram(program_without_cse(name, {"points": self._points}, {"A": a, "misfit": misfit}))

    @cached_property
    def _polynomial(self) -> BatchProgram:
        a, misfit = self._written
        name = f"{self.family.equations.name}_straight_polynomial"
        return BatchProgram(
            program_without_cse(name, {"points": self._points}, {"coefficients": _characteristic(a), "misfit": misfit})
        )

    @property
    def program(self) -> Program:
        """(points) → A and the misfit of the motion; exact where the misfit is at most `EXACT`."""
        return self._matrix.program

    def matrices(self, points: Array) -> tuple[Array, NDArray[np.bool_]]:
        a, misfit = self._matrix(points)
        found = self._exact(a, misfit)
        return np.where(found[:, None, None], a, np.nan), found

    def polynomials(self, points: Array) -> tuple[Array, NDArray[np.bool_]]:
        """Coefficients of det(λ − A) below the first, highest power first (points, states)."""
        coefficients, misfit = self._polynomial(points)
        return coefficients[..., 0], self._exact(coefficients, misfit)

    def _exact(self, values: Array, misfit: Array) -> NDArray[np.bool_]:
        return np.asarray((misfit[:, 0, 0] <= EXACT) & np.isfinite(values).all(axis=(1, 2)))


def _aligned(idle: Array) -> bool:
    """Whether each undetermined direction is a single unknown."""
    shares = np.diag(idle.T @ idle)
    return bool(np.all((shares < NEARLY) | (np.abs(shares - 1) < NEARLY)))


def _solved(square: ca.SX, sides: Sequence[ca.SX]) -> list[list[ca.SX]]:
    rows = [[fold_constant(square[i, j]) for j in range(square.shape[1])] for i in range(square.shape[0])]
    return solve(rows, [[fold_constant(side[i]) for i in range(side.numel())] for side in sides])


def _rounded(values: Array) -> Array:
    """The values with near-integers rounded: exact zeros and ones make the program short."""
    whole = np.round(values)
    return np.where(np.abs(values - whole) <= NEARLY * np.maximum(np.abs(whole), 1.0), whole, values)


def _characteristic(a: ca.SX) -> ca.SX:
    """By Faddeev and LeVerrier."""
    k = a.shape[0]
    coefficients = [ca.SX(1)]
    m = ca.SX(k, k)
    for j in range(1, k + 1):
        m = a @ m + coefficients[-1] * ca.SX.eye(k)
        coefficients.append(-ca.trace(a @ m) / j)
    return ca.vertcat(*coefficients[1:])
