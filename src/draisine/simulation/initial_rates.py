"""Initial rates and multipliers of equations of index 2 or 3, from the derivative array.

The constraints alone do not determine the multipliers; their time derivatives do. The residual is differentiated index − 1
times, and the array is solved for the algebraic unknowns and the derivatives of all unknowns (S. L. Campbell; see Hairer &
Wanner II, section VII.2). Differential unknowns are fixed: they define the start.
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
from draisine.program.program import DaeResidual

if TYPE_CHECKING:
    import casadi as ca

Reals = NDArray[np.float64]

LARGEST = 900  # rows up to which the array is solved; larger runs start from the given values
NEWTON = Newton(step_tolerance=1e-13)
RESIDUAL_TOLERANCE = 1e-6


@dataclass(frozen=True, eq=False)
class DerivativeArray:
    """The residual and its time derivatives, as equations for the unknown quantities of a start."""

    form: DaeResidual

    @property
    def order(self) -> int:
        """Number of differentiations of the residual."""
        return max(self.form.index, default=1) - 1

    @property
    def solvable(self) -> bool:
        return (self.order + 1) * self.form.size <= LARGEST

    @cached_property
    def function(self) -> ca.Function:
        """(t, x, stacked derivatives of x, u, p) → the array, and its Jacobian by x and the derivatives."""
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
        """x with its algebraic unknowns solved for, and ẋ; StartError if the differential ones violate hidden constraints."""
        n = self.form.size
        free = np.concatenate([~np.array(self.form.differential), np.ones((self.order + 1) * n, dtype=bool)])
        y = np.concatenate([x, np.zeros((self.order + 1) * n)])
        found = NEWTON.solve(
            lambda y: self._evaluate(t, y, u, p), y, LeastNorm(RTOL, free.astype(float), equilibrated=True)
        ).point
        y = found.x
        self._check(found.residual, found.jacobian, y)
        return y[:n], y[n : 2 * n]

    def _evaluate(self, t: float, y: Reals, u: Reals, p: Reals) -> tuple[Reals, Reals]:
        n = self.form.size
        values, jacobian = self.function(t, y[:n], y[n:], u, p)
        return np.asarray(values.full()[:, 0]), np.asarray(jacobian.full())

    def _check(self, values: Reals, jacobian: Reals, y: Reals) -> None:
        """Raise an error that names the rows with the largest residuals of the least-squares solution."""
        left = np.abs(values) / (1.0 + np.abs(jacobian) @ np.abs(y))
        if np.max(left) <= RESIDUAL_TOLERANCE:
            return
        involved = [self._row_name(int(row)) for row in np.flatnonzero(left > 0.2 * np.max(left))]
        raise StartError(
            f"{self.form.name}: the start contradicts its constraints: no rates and multipliers satisfy "
            f"{' and '.join(involved[:5])}"
            f"{', …' if len(involved) > 5 else ''} together. Positions and velocities must satisfy the constraints and their "
            "derivatives; compute them by consistent_start"
        )

    def _row_name(self, row: int) -> str:
        times, index = divmod(row, self.form.size)
        labels = self.form.residual.output("residual").labels
        name = repr(labels[index]) if labels else f"the equation of {self.form.residual.input('x').labels[index]!r}"
        return name + ("", ", differentiated once,", ", differentiated twice,")[times]
