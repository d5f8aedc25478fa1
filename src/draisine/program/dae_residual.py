"""Differential-algebraic systems in residual form: 0 = F(t, x, ẋ, u, p).

Unknowns whose derivative does not occur are algebraic: multipliers, unknown controls, currents at a node. Such systems are
integrated by implicit methods, which need F and its Jacobians by x and ẋ.
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

    `index` is the differentiation index of each unknown (Hairer, Lubich & Roche 1989): 1 for ordinary and index-1 systems, 2 or 3
    for velocities and multipliers of constrained mechanisms; the error estimate of these is scaled accordingly. Empty means 1
    throughout. `orders` of a mechanism is 0 for a position, 1 for a velocity, 2 for a force; consistent initial values are found
    in this order. Empty if unknown.

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

    @property
    def can_switch(self) -> bool:
        return self.residual.can_switch

    @cached_property
    def _symbols(self) -> list[ca.SX]:
        return self.residual.symbols()

    @cached_property
    def _jacobians(self) -> tuple[ca.SX, ca.SX]:
        """∂F/∂x and ∂F/∂ẋ."""
        import casadi as ca

        (residual,) = self.residual.function.call(self._symbols)
        return ca.jacobian(residual, self._symbols[1]), ca.jacobian(residual, self._symbols[2])

    @cached_property
    def differential(self) -> tuple[bool, ...]:
        """Of each unknown, whether its derivative occurs."""
        filled = self._jacobians[1].sparsity()
        present = set(filled.get_triplet()[1])
        return tuple(i in present for i in range(self.size))

    @cached_property
    def pattern(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Rows and columns, in column-major order, of the structurally nonzero entries of ∂F/∂x or ∂F/∂ẋ."""
        rows, columns = (np.array(indices, dtype=np.int64) for indices in self._union.get_triplet())
        rows.flags.writeable = columns.flags.writeable = False  # cached
        return rows, columns

    @cached_property
    def _union(self) -> ca.Sparsity:
        by_state, by_rate = self._jacobians
        return by_state.sparsity() + by_rate.sparsity()

    @cached_property
    def jacobian(self) -> Program:
        """(t, x, xdot, u, p) → dx, dxdot: the entries of ∂F/∂x and ∂F/∂ẋ in `pattern`."""
        import casadi as ca

        slots = {slot.name: (symbol, slot.labels) for slot, symbol in zip(self.inputs, self._symbols, strict=True)}
        values = [ca.SX(ca.densify(ca.project(m, self._union).nz[:])) for m in self._jacobians]
        return Program.build(f"{self.name}_jacobian", slots, {"dx": values[0], "dxdot": values[1]})

    def __call__(self, *arguments: ArrayLike) -> NDArray[np.float64]:
        """F, in CasADi's interpreter."""
        return self.residual(*arguments)[0]

    def __repr__(self) -> str:
        algebraic = self.size - sum(self.differential)
        return f"<DaeResidual {self.name}: {self.size} unknowns, {algebraic} of them algebraic, {self.operations} operations>"
