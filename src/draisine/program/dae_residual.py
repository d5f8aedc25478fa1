"""Dynamics that nobody has solved for ẋ: 0 = F(t, x, ẋ, u, p).

A differential-algebraic system is given as it stands. Unknowns whose derivative does not enter are algebraic: multipliers,
controls to be found, currents at a node. Such systems are stepped by implicit methods, which need F and its two Jacobians.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from draisine.errors import ArgumentError
from draisine.program.program import Program, Slot

if TYPE_CHECKING:
    import casadi as ca


@dataclass(frozen=True, eq=False)
class DaeResidual:
    """`residual`: (t, x, xdot, u, p) → residual, with as many entries as unknowns.

    `index` says of each unknown how often its equations must be differentiated before they give it (Hairer, Lubich & Roche
    1989): 1 for those of ordinary systems and of index 1, 2 or 3 for multipliers and velocities of constrained mechanisms posed
    as such. Errors of those are judged more mildly. Empty means 1 throughout.
    `orders` says of each unknown of a mechanism what it is: 0 a position, 1 a velocity, 2 a force. Starts settle them one after
    the other, as those of other mechanisms. Empty where nobody knows.

    >>> import casadi as ca
    >>> t, x, rate, u, p = (ca.SX.sym(n, k) for n, k in (("t", 1), ("x", 2), ("r", 2), ("u", 0), ("p", 0)))
    >>> arguments = {"t": t, "x": (x, ["y", "z"]), "xdot": rate, "u": u, "p": p}
    >>> circle = Program.build("c", arguments, {"residual": ca.vertcat(rate[0] + x[1], x[0] ** 2 + x[1] ** 2 - 1)})
    >>> DaeResidual("circle", circle).differential
    (True, False)
    """

    name: str
    residual: Program
    index: tuple[int, ...] = ()
    orders: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        names = [slot.name for slot in self.residual.inputs]
        if names != ["t", "x", "xdot", "u", "p"]:
            raise ArgumentError(f"{self.name!r}: a residual takes (t, x, xdot, u, p), got ({', '.join(names)})")
        unknowns, equations = self.residual.input("x").size, self.residual.output("residual").size
        if equations != unknowns:
            raise ArgumentError(
                f"{self.name!r} has {unknowns} unknowns and {equations} equations; give as many equations as there are unknowns"
            )
        if self.index and len(self.index) != unknowns:
            raise ArgumentError(f"{self.name!r}: {len(self.index)} indices for {unknowns} unknowns")
        if self.orders and len(self.orders) != unknowns:
            raise ArgumentError(f"{self.name!r}: {len(self.orders)} orders for {unknowns} unknowns")

    @property
    def inputs(self) -> tuple[Slot, ...]:
        return self.residual.inputs

    @property
    def size(self) -> int:
        """Number of unknowns."""
        return self.residual.input("x").size

    @property
    def digest(self) -> str:
        return self.residual.digest

    @property
    def operations(self) -> int:
        return self.residual.operations

    @cached_property
    def _symbols(self) -> list[ca.SX]:
        return self.residual.symbols()

    @cached_property
    def _jacobian(self) -> tuple[ca.SX, ca.SX]:
        """∂F/∂x and ∂F/∂ẋ."""
        import casadi as ca

        (residual,) = self.residual.function.call(self._symbols)
        return ca.jacobian(residual, self._symbols[1]), ca.jacobian(residual, self._symbols[2])

    @cached_property
    def differential(self) -> tuple[bool, ...]:
        """Of each unknown, whether its derivative enters."""
        filled = self._jacobian[1].sparsity()
        present = set(filled.get_triplet()[1])
        return tuple(i in present for i in range(self.size))

    @cached_property
    def pattern(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Rows and columns, in column-major order, of the entries in which ∂F/∂x or ∂F/∂ẋ is filled."""
        rows, columns = (np.array(places, dtype=np.int64) for places in self._union.get_triplet())
        rows.flags.writeable = columns.flags.writeable = False  # they are remembered
        return rows, columns

    @cached_property
    def _union(self) -> ca.Sparsity:
        by_state, by_rate = self._jacobian
        return by_state.sparsity() + by_rate.sparsity()

    @cached_property
    def jacobian(self) -> Program:
        """(t, x, xdot, u, p) → dx, dxdot: the entries of ∂F/∂x and ∂F/∂ẋ at the places of `pattern`."""
        import casadi as ca

        slots = {slot.name: (symbol, slot.labels) for slot, symbol in zip(self.inputs, self._symbols, strict=True)}
        values = [ca.SX(ca.densify(ca.project(m, self._union).nz[:])) for m in self._jacobian]
        return Program.build(f"{self.name}_jacobian", slots, {"dx": values[0], "dxdot": values[1]})

    def __call__(self, *arguments: ArrayLike) -> NDArray[np.float64]:
        """F, in CasADi's interpreter."""
        return self.residual(*arguments)[0]

    def __repr__(self) -> str:
        algebraic = self.size - sum(self.differential)
        return f"<Implicit {self.name}: {self.size} unknowns, {algebraic} of them algebraic, {self.operations} operations>"
