"""A program behind a linear system: K z = r is solved with pivoting at run time, then z is put to use.

Where no elimination without pivoting is safe (the augmented matrix of a constrained system, a mass matrix that nobody has looked
at), the solution cannot be written as a straight line. `Solved` keeps the two straight lines before and after it, and is called,
compiled and stepped like a `Program`.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from draisine.program.program import Program, Slot


@dataclass(frozen=True, eq=False)
class Solved:
    """`system`: arguments → matrix K (n × n), side r (n). `after`: the same arguments and z = K⁻¹ r → results.

    >>> import casadi as ca
    >>> x = ca.SX.sym("x", 2)
    >>> z = ca.SX.sym("z", 2)
    >>> system = Program.build("s", {"x": x}, {"matrix": ca.SX([[0, 2], [1, 0]]), "side": x})
    >>> after = Program.build("a", {"x": x, "z": z}, {"y": 10 * z})
    >>> Solved("half", system, after)([3.0, 4.0])[0].tolist()
    [40.0, 15.0]
    """

    name: str
    system: Program
    after: Program

    def __post_init__(self) -> None:
        matrix, side = self.system.outputs
        if matrix.shape != (side.size, side.size):
            raise ValueError(
                f"{self.name!r}: its matrix is {matrix.shape[0]} × {matrix.shape[1]} and its side has {side.size} entries"
            )
        shapes = [slot.shape for slot in (*self.system.inputs, side)]
        if [slot.shape for slot in self.after.inputs] != shapes:
            raise ValueError(f"{self.name!r}: the program after the solution must take the same arguments and the solution")

    @property
    def inputs(self) -> tuple[Slot, ...]:
        return self.system.inputs

    @property
    def outputs(self) -> tuple[Slot, ...]:
        return self.after.outputs

    @property
    def size(self) -> int:
        """Number of unknowns."""
        return self.system.outputs[1].size

    @property
    def operations(self) -> int:
        """Operations of both straight lines, and about ⅔ n³ + 2 n² of a dense solution."""
        n = self.size
        return self.system.operations + self.after.operations + (2 * n**3) // 3 + 2 * n**2

    @cached_property
    def digest(self) -> str:
        return hashlib.sha256(f"solved {self.system.digest} {self.after.digest}".encode()).hexdigest()

    def input(self, name: str) -> Slot:
        return self.system.input(name)

    def output(self, name: str) -> Slot:
        return self.after.output(name)

    def solution(self, *arguments: ArrayLike) -> NDArray[np.float64]:
        """z itself."""
        matrix, side = self.system(*arguments)
        return np.asarray(np.linalg.solve(np.reshape(matrix, (self.size, self.size)), side), dtype=np.float64)

    def __call__(self, *arguments: ArrayLike) -> tuple[NDArray[np.float64], ...]:
        """Run in CasADi's interpreter and NumPy's solver."""
        return self.after(*arguments, self.solution(*arguments))

    def jacobian(self, of: str, wrt: str, name: str | None = None) -> Solved:
        """∂of/∂wrt, exact: with z fixed, and by K ∂z = ∂r − ∂(K z) through the solution.

        The enlarged system [K 0; ∂(Kz)−∂r  K…] would repeat K for every column; instead z and its derivatives are the unknowns of
        one block-diagonal system, solved together.
        """
        arguments = self.system.symbols()
        z = ca.SX.sym("z", self.size)
        matrix, side = self.system.function.call(arguments)
        results = self.after.function.call([*arguments, z])
        row = [slot.name for slot in self.outputs].index(self.output(of).name)
        column = [slot.name for slot in self.inputs].index(self.input(wrt).name)
        direct, through = ca.jacobian(results[row], arguments[column]), ca.jacobian(results[row], z)
        count = arguments[column].numel()
        # unknowns: z, then one column of derivatives after the other; the coupling −∂r + ∂(K z) is linear in z
        moved = ca.jacobian(matrix @ z - side, arguments[column])
        coupling = ca.jacobian(ca.vec(moved), z)
        rest = ca.substitute(ca.vec(moved), z, ca.SX.zeros(self.size))
        blocks = ca.diagcat(*[matrix] * count)
        big = ca.vertcat(ca.horzcat(matrix, ca.SX(self.size, self.size * count)), ca.horzcat(coupling, blocks))
        slots = {slot.name: (symbol, slot.labels) for slot, symbol in zip(self.inputs, arguments, strict=True)}
        everything = ca.SX.sym("everything", self.size * (count + 1))
        derivatives = ca.reshape(everything[self.size :], self.size, count)
        total = direct + through @ derivatives
        total = ca.substitute(total, z, everything[: self.size])
        label = name or f"{self.name}_d{of}_d{wrt}"
        return Solved(
            label,
            Program.build(f"{label}_system", slots, {"matrix": big, "side": ca.vertcat(side, -rest)}),
            Program.build(label, {**slots, "z": everything}, {f"d{of}_d{wrt}": total}),
        )

    def __repr__(self) -> str:
        ins = ", ".join(f"{s.name}[{s.size}]" for s in self.inputs)
        outs = ", ".join(f"{s.name}[{s.size}]" for s in self.outputs)
        return f"<Solved {self.name}({ins}) → {outs}, {self.size} unknowns, about {self.operations} operations>"
