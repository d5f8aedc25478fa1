"""Reduced linearization: A of the essential deviations over many points, and its directional derivatives.

With ζ the essential quantities and X their directions of `deviations`, A = D(∂ζ/∂x · f) X has only the essential columns (four
for a bicycle). Unknowns z that are solved for at run time, 0 = g(x, z), are additional directions:

    [G 0; ∂ζ/∂x 0; ∂g/∂x ∂g/∂z] X = [0; 1; 0].

Along a further direction, dX follows from the same matrix, and dA = (dD) X + D dX. All derivatives are exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from draisine.numerics.newton_batch import solve_each
from draisine.program.equations import Equations
from draisine.program.linear_solve import LinearSolveProgram
from draisine.program.program import Program
from draisine.program.shared_expressions import short_jacobian
from draisine.stability.batch_evaluation import BatchProgram, program_without_cse
from draisine.stability.deviations import Deviations, Naming

Array = NDArray[np.float64]


class EssentialMatrix:
    """A of the deviations named by `states`, at points (t, x, u, p, z)."""

    def __init__(self, equations: Equations, deviations: Deviations, naming: Naming, states: Sequence[str]) -> None:
        self.equations, self.deviations, self.naming = equations, deviations, naming
        self.states = tuple(states)
        dynamics = equations.explicit
        self._z = ca.SX.sym("z", dynamics.size if isinstance(dynamics, LinearSolveProgram) else 0)
        self._own = len(equations.coordinates) + len(equations.independent)

    @property
    def _slots(self) -> dict[str, ca.SX]:
        return {**self.deviations._arguments, "z": self._z}

    @cached_property
    def _moving(self) -> ca.SX:
        return ca.vertcat(self.deviations._x[: self._own], self._z)

    @cached_property
    def _square(self) -> ca.SX:
        d = self.deviations
        gradient = d._motion[0][list(self.naming.rows)] if self.naming.rows else ca.SX(0, 1)
        zeta = ca.vertcat(*[d.candidates[n] for n in self.naming.names])
        return short_jacobian(ca.vertcat(gradient, zeta, self._gap), self._moving)

    @cached_property
    def _gap(self) -> ca.SX:
        dynamics = self.equations.explicit
        if not isinstance(dynamics, LinearSolveProgram):
            return ca.SX(0, 1)
        matrix, side = dynamics.linear(list(self.deviations._arguments.values()), self._z)
        return ca.SX(ca.densify(side - matrix @ self._z))

    @cached_property
    def _rates(self) -> ca.SX:
        d, dynamics = self.deviations, self.equations.explicit
        arguments = list(d._arguments.values())
        slope = (
            dynamics.after.function.call([*arguments, self._z])
            if isinstance(dynamics, LinearSolveProgram)
            else dynamics.function.call(arguments)
        )
        zeta = ca.vertcat(*[d.candidates[n] for n in self.states])
        return short_jacobian(zeta, d._x[: self._own]) @ slope[0][: self._own] + short_jacobian(zeta, d._t)

    @cached_property
    def _directions(self) -> ca.SX:
        return ca.SX.sym("directions", self._moving.numel(), len(self.states))

    @cached_property
    def _along(self) -> ca.SX:
        return ca.densify(ca.jtimes(self._rates, self._moving, self._directions))

    @cached_property
    def span_matrix(self) -> Program:
        """(t, x, u, p, z) → the square matrix whose inverse contains X."""
        return program_without_cse(f"{self.equations.name}_span", self._slots, {"square": self._square})

    @cached_property
    def jacobian_along(self) -> Program:
        """(t, x, u, p, z, directions) → A, linear in the directions."""
        return program_without_cse(
            f"{self.equations.name}_along", {**self._slots, "directions": self._directions}, {"A": self._along}
        )

    @cached_property
    def directional_derivatives(self) -> Program:
        """(t, x, u, p, z, directions, dx, du, dp, dz) → d(square) X and (dD) X."""
        slots, directions = self._slots, self._directions
        place = ca.vertcat(*[slots[name] for name in ("x", "u", "p", "z")])
        directions_of_change = {f"d{name}": ca.SX.sym(f"d{name}", slots[name].numel()) for name in ("x", "u", "p", "z")}
        direction_of_change = ca.vertcat(*directions_of_change.values())
        second = self._square @ directions
        results = {
            name: ca.reshape(ca.jtimes(ca.vec(ca.densify(e)), place, direction_of_change), *e.shape)
            for name, e in (("second", second), ("turned", self._along))
        }
        return program_without_cse(
            f"{self.equations.name}_turning", {**slots, "directions": directions, **directions_of_change}, results
        )

    @cached_property
    def sides(self) -> Array:
        """Right-hand sides of X: a unit vector for each essential deviation."""
        rows = [len(self.naming.rows) + self.naming.names.index(n) for n in self.states]
        right = np.zeros((self._moving.numel(), len(self.states)))
        right[rows, np.arange(len(self.states))] = 1.0
        return right

    @cached_property
    def _over(self) -> tuple[BatchProgram, BatchProgram]:
        return BatchProgram(self.span_matrix), BatchProgram(self.jacobian_along)

    def at(self, *arguments: Array) -> tuple[Array, Array, NDArray[np.bool_]]:
        """A and X at points, and where they exist."""
        span_matrix, jacobian_along = self._over
        (square,) = span_matrix(*arguments)
        directions, good = solve_each(square, np.broadcast_to(self.sides, (len(square), *self.sides.shape)))
        (a,) = jacobian_along(*arguments, directions)
        return a, directions, good & np.isfinite(a).all(axis=(1, 2))

    def derivatives(self, arguments: Sequence[Array], directions_of_change: Sequence[Array]) -> tuple[Array, Array]:
        """A at one point, and dA along directions dx, du, dp, dz, each (directions, size)."""
        count = len(directions_of_change[0])
        point = [np.repeat(argument[None], count, axis=0) for argument in arguments]
        a, directions, _ = self.at(*(part[:1] for part in point))
        (square,) = self._over[0](*(part[:1] for part in point))
        x = np.repeat(directions, count, axis=0)
        second, turned = BatchProgram(self.directional_derivatives)(*point, x, *directions_of_change)
        moved, _ = solve_each(np.repeat(square, count, axis=0), -second)
        (through,) = self._over[1](*point, moved)
        return a[0], turned + through
