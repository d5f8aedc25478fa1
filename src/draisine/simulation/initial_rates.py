"""Rates and multipliers at the start of equations whose index is above 1.

Constraints posed as they are say nothing about the multipliers; their derivatives do. The residual is differentiated as often as
the index declares, and all of it is solved for the algebraic unknowns and the derivatives of all unknowns (the derivative
array of S. L. Campbell; see Hairer & Wanner II, section VII.2). Differential unknowns are held: they are what a start is
given by.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from draisine.errors import StartError
from draisine.numerics.newton import LeastNorm, Newton
from draisine.numerics.rank import RTOL
from draisine.program.dae_residual import DaeResidual

if TYPE_CHECKING:
    import casadi as ca

Reals = NDArray[np.float64]

LARGEST = 900  # rows up to which the array is solved; beyond, a run begins with the values it is given
NEWTON = Newton(step_tolerance=1e-13)
FULFILLED = 1e-6


@dataclass(frozen=True, eq=False)
class DerivativeArray:
    """The residual and its derivatives by time, as equations for what is not known at a start."""

    form: DaeResidual

    @property
    def order(self) -> int:
        """How often the residual is differentiated."""
        return max(self.form.index, default=1) - 1

    @property
    def solvable(self) -> bool:
        return (self.order + 1) * self.form.size <= LARGEST

    @cached_property
    def function(self) -> ca.Function:
        """(t, x, derivatives of x one after the other, u, p) → the array, and its Jacobian by x and by the derivatives."""
        import casadi as ca

        t, x, rate, u, p = self.form.residual.symbols()
        derivatives = [rate, *(ca.SX.sym(f"d{k}", x.numel()) for k in range(2, self.order + 2))]
        (row,) = self.form.residual.function.call([t, x, rate, u, p])
        rows = [row]
        chain = [x, *derivatives]
        for _ in range(self.order):
            along = [ca.SX(1), *chain[1:]]
            row = ca.jtimes(row, ca.vertcat(t, *chain[:-1]), ca.vertcat(*along))
            rows.append(row)
        array, unknowns = ca.vertcat(*rows), ca.vertcat(x, *derivatives)
        return ca.Function("array", [t, x, ca.vertcat(*derivatives), u, p], [array, ca.jacobian(array, unknowns)])

    def solve(self, t: float, x: Reals, u: Reals, p: Reals) -> tuple[Reals, Reals]:
        """x with its algebraic unknowns solved for, and ẋ; ValueError if the differential ones contradict hidden constraints."""
        n = self.form.size
        free = np.concatenate([~np.array(self.form.differential), np.ones((self.order + 1) * n, dtype=bool)])
        y = np.concatenate([x, np.zeros((self.order + 1) * n)])
        found = NEWTON.solve(lambda y: self._evaluate(t, y, u, p), y, LeastNorm(RTOL, free.astype(float))).point
        y = found.x
        self._complain(found.residual, found.jacobian, y)
        return y[:n], y[n : 2 * n]

    def _evaluate(self, t: float, y: Reals, u: Reals, p: Reals) -> tuple[Reals, Reals]:
        n = self.form.size
        values, jacobian = self.function(t, y[:n], y[n:], u, p)
        return np.asarray(values.full()[:, 0]), np.asarray(jacobian.full())

    def _complain(self, values: Reals, jacobian: Reals, y: Reals) -> None:
        """Least squares share out what contradicts each other; all that have a good share of it are named."""
        left = np.abs(values) / (1.0 + np.abs(jacobian) @ np.abs(y))
        if np.max(left) <= FULFILLED:
            return
        involved = [self._called(int(row)) for row in np.flatnonzero(left > 0.2 * np.max(left))]
        raise StartError(
            f"{self.form.name}: the start contradicts its constraints: no rates and multipliers fulfil "
            f"{' and '.join(involved[:5])}"
            f"{', …' if len(involved) > 5 else ''} together. Positions and velocities must fulfil the constraints and their "
            "derivatives; let consistent_start find them"
        )

    def _called(self, row: int) -> str:
        times, place = divmod(row, self.form.size)
        labels = self.form.residual.output("residual").labels
        name = repr(labels[place]) if labels else f"the equation of {self.form.residual.input('x').labels[place]!r}"
        return name + ("", ", differentiated once,", ", differentiated twice,")[times]
