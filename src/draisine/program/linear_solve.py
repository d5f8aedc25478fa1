"""A program behind a system of equations: K z = r is solved at run time, then z is put to use.

Where no elimination without pivoting is safe (the augmented matrix of a constrained system, a mass matrix that nobody has looked
at), the solution cannot be written as a straight line. `LinearSolveProgram` keeps the straight lines before and after it, and is called,
compiled and stepped like a `Program`. Only the entries of K that can differ from zero are computed; whether a dense elimination
or a sparse factorization solves it is decided by their operations.

Where r depends on z itself (forces that depend on multipliers: creep, friction), Newton's method solves it: `start` gives a first
z, and `system` the matrix and side of the next, (K − ∂r/∂z) z⁺ = r − (∂r/∂z) z.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from draisine.errors import ArgumentError
from draisine.program.linear_solve import Pattern
from draisine.program.program import Program, Slot

if TYPE_CHECKING:
    import casadi as ca

Slots: TypeAlias = "Mapping[str, tuple[ca.SX, Sequence[str]] | ca.SX]"

ROUNDS = 40  # of Newton's method, after which it has failed
WRITTEN = 8  # rounds where they are written out one after the other
SETTLED = 1e-10  # relative change of z that ends it; the error is then its square
_SPARSE_PRICE = 4  # an operation that looks up its place takes this many of those that run along a column


class Solver(StrEnum):
    """How the linear system is solved at run time."""

    AUTO = "auto"  # whichever is quicker by its operations
    DENSE = "dense"  # elimination with partial pivoting
    SPARSE = "sparse"  # Householder's QR, columns ordered once for little fill


@dataclass(frozen=True, eq=False)
class LinearSolveProgram:
    """`system`: arguments → entries of the matrix K (n × n) in the places of `pattern` by columns, and side r (n).
    `after`: the same arguments and z = K⁻¹ r → results.

    Without a pattern `system` gives K whole. With `further`, a program of the arguments and z that gives more sides (n × k),
    those are solved for by the same factors, and `after` takes all solutions as columns (n × (1 + k)): derivatives of z need it.
    With `start`, a program of the arguments that gives a first z, `system` takes z too and is asked again until z settles.

    >>> import casadi as ca
    >>> x, z = ca.SX.sym("x", 2), ca.SX.sym("z", 2)
    >>> half = LinearSolveProgram.build("half", {"x": x}, ca.SX([[0, 2], [1, 0]]), x, z, {"y": 10 * z})
    >>> half([3.0, 4.0])[0].tolist()
    [40.0, 15.0]
    """

    name: str
    system: Program
    after: Program
    pattern: Pattern | None = None
    solver: Solver = Solver.AUTO
    further: Program | None = None
    start: Program | None = None

    @staticmethod
    def build(
        name: str,
        inputs: Slots,
        matrix: ca.SX,
        side: ca.SX,
        z: ca.SX,
        outputs: Slots,
        solver: Solver = Solver.AUTO,
        start: ca.SX | None = None,
    ) -> LinearSolveProgram:
        """From symbols and expressions: K of the inputs, r of the inputs and z, outputs of the inputs and z. `start` is a first
        z, where r is not linear in it."""
        import casadi as ca

        bent = ca.jacobian(side, z)
        curved = bool(bent.nnz()) and ca.depends_on(bent, z)
        if curved and start is None:
            raise ArgumentError(f"{name!r}: its side is not linear in what is solved for; give a start for Newton's method")
        if bent.nnz():  # without its linear part; where that is all, no unknown is left in it
            side = side - bent @ z if curved else ca.substitute(side, z, ca.SX.zeros(z.numel()))
            matrix = matrix - bent
        filled = ca.sparsify(ca.SX(matrix))
        entries = ca.SX(filled.nz[:]) if filled.nnz() else ca.SX(0, 1)
        taken = {**inputs, "z": z}
        system = Program.build(f"{name}_system", taken if curved else inputs, {"entries": entries, "side": side})
        first = Program.build(f"{name}_start", inputs, {"z": start}) if curved and start is not None else None
        return LinearSolveProgram(
            name, system, Program.build(name, taken, outputs), Pattern.of(filled.sparsity()), solver, start=first
        )

    def __post_init__(self) -> None:
        matrix, side = self.system.outputs
        n = side.size
        if self.pattern is None:
            if matrix.shape != (n, n):
                raise ArgumentError(
                    f"{self.name!r}: its matrix is {matrix.shape[0]} × {matrix.shape[1]} and its side has {n} entries"
                )
        elif self.pattern.size != n or self.pattern.nnz() != matrix.size:
            rows = self.pattern.size
            raise ArgumentError(
                f"{self.name!r}: its pattern has {self.pattern.nnz()} places in {rows} × {rows}, its matrix {matrix.size} "
                f"entries and its side {n}"
            )
        shapes = [slot.shape for slot in self.inputs]
        if self.start is not None and [s.shape for s in self.system.inputs] != [*shapes, (n, 1)]:
            raise ArgumentError(f"{self.name!r}: with a start, its system must take the same arguments and the solution")
        if self.further is not None and [s.shape for s in self.further.inputs] != [*shapes, (n, 1)]:
            raise ArgumentError(f"{self.name!r}: the program of further sides must take the same arguments and the solution")
        if [slot.shape for slot in self.after.inputs] != [*shapes, (n, self.sides)]:
            raise ArgumentError(f"{self.name!r}: the program after the solution must take the same arguments and the solution")

    @property
    def inputs(self) -> tuple[Slot, ...]:
        return (self.start or self.system).inputs

    @property
    def iterates(self) -> bool:
        """Whether Newton's method solves it, in several rounds."""
        return self.start is not None

    @property
    def outputs(self) -> tuple[Slot, ...]:
        return self.after.outputs

    @property
    def size(self) -> int:
        """Number of unknowns."""
        return self.system.outputs[1].size

    @property
    def sides(self) -> int:
        """Number of right sides, the first of which is r."""
        return 1 + (0 if self.further is None else self.further.outputs[0].shape[1])

    @cached_property
    def places(self) -> Pattern:
        """Where the entries of K stand."""
        return Pattern.dense(self.size) if self.pattern is None else self.pattern

    @cached_property
    def sparse(self) -> bool:
        """Whether a sparse factorization solves it."""
        if self.solver != Solver.AUTO:
            return self.solver == Solver.SPARSE
        if 4 * self.places.nnz() > self.size**2:
            return False
        import casadi as ca

        return ca.sprank(self.places.sparsity) == self.size and _SPARSE_PRICE * self._sparse_operations < self._dense_operations

    @property
    def operations(self) -> int:
        """Operations of the straight lines and, about, of the solution; of Newton's method, one round."""
        straight = [p.operations for p in (self.system, self.after, self.further, self.start) if p is not None]
        return sum(straight) + (self._sparse_operations if self.sparse else self._dense_operations)

    @property
    def _dense_operations(self) -> int:
        n = self.size
        return (2 * n**3) // 3 + 2 * n**2 * self.sides

    @cached_property
    def _sparse_operations(self) -> int:
        # each entry of R takes one reflection, of four operations per entry of its vector; so do the sides
        vectors, upper, _, _ = self.places.sparsity.qr_sparse(True)
        lengths = np.diff(vectors.colind())
        reflections = np.sum(lengths[np.array(upper.row(), dtype=np.int64)]) + self.sides * np.sum(lengths)
        return int(4 * reflections + 2 * self.sides * upper.nnz())

    @cached_property
    def digest(self) -> str:
        sha = hashlib.sha256(f"solved {self.system.digest} {self.after.digest} {self.sparse}".encode())
        for further in (self.further, self.start):
            sha.update((further.digest if further is not None else "none").encode())
        if self.pattern is not None:
            sha.update(np.array([*self.pattern.begins, *self.pattern.rows], dtype=np.int64).tobytes())
        return sha.hexdigest()

    def input(self, name: str) -> Slot:
        return (self.start or self.system).input(name)

    def output(self, name: str) -> Slot:
        return self.after.output(name)

    def symbols(self) -> list[ca.SX]:
        """Symbols for the arguments."""
        return (self.start or self.system).symbols()

    def linear(self, arguments: Sequence[ca.SX], z: ca.SX | None = None) -> tuple[ca.SX, ca.SX]:
        """K, sparse, and r in the given symbols; with Newton's method those of its round at z, which z fulfils as well."""
        import casadi as ca

        if self.iterates and z is None:
            raise ArgumentError(f"{self.name!r} is not linear in what is solved for; its equations need z")
        given: list[ca.SX] = [*arguments, z] if self.iterates and z is not None else [*arguments]
        entries, side = self.system.function.call(given)
        return ca.SX(self.places.sparsity, ca.vec(entries)), side

    def matrix_at(self, *arguments: ArrayLike) -> NDArray[np.float64]:
        """K in numbers; with Newton's method, that of the last round."""
        z = [np.reshape(self.solution(*arguments), (self.size, -1))[:, 0]] if self.iterates else []
        matrix = np.zeros((self.size, self.size))
        matrix[self.places.rows, self.places.columns] = self.system(*arguments, *z)[0].ravel(order="F")
        return matrix

    def solution(self, *arguments: ArrayLike) -> NDArray[np.float64]:
        """z itself; with further sides, all solutions as columns. NaN where Newton's method does not settle.

        Its rounds are those of the compiled kernel one by one (`codegen/jit/linear_solve.py`), whose oracle this is: full steps
        on the system's own factors, and the same rule for the end; so it is no call of `numerics.newton`.
        """
        if self.start is None:
            z, solve = self._round(*arguments)
        else:
            (z,) = self.start(*arguments)
            for _ in range(ROUNDS):
                new, solve = self._round(*arguments, z)
                change, z = float(np.sum((new - z) ** 2)), new
                if not change > SETTLED**2 * float(np.sum(new**2)):
                    break
            else:
                z = np.full(self.size, np.nan)
        if self.further is None:
            return z
        sides = np.reshape(self.further(*arguments, z)[0], (self.size, self.sides - 1))
        return np.column_stack([z, solve(sides)])

    def _round(self, *arguments: ArrayLike) -> tuple[NDArray[np.float64], Callable[[NDArray[np.float64]], NDArray[np.float64]]]:
        """The solution for what `system` says of these arguments, and what solves for other sides."""
        entries, side = self.system(*arguments)
        rows, columns = self.places.rows, self.places.columns
        if self.sparse:
            from scipy.sparse import csc_array
            from scipy.sparse.linalg import splu

            solve = splu(csc_array((entries.ravel(order="F"), rows, self.places.begins), shape=(self.size, self.size))).solve
        else:
            matrix = np.zeros((self.size, self.size))
            matrix[rows, columns] = entries.ravel(order="F")

            def solve(side: NDArray[np.float64]) -> NDArray[np.float64]:
                return np.asarray(np.linalg.solve(matrix, side), dtype=np.float64)

        return solve(side), solve

    def __call__(self, *arguments: ArrayLike) -> tuple[NDArray[np.float64], ...]:
        """Run in CasADi's interpreter, with NumPy's or SciPy's solver."""
        return self.after(*arguments, self.solution(*arguments))

    def jacobian(self, of: str, wrt: str, name: str | None = None) -> LinearSolveProgram:
        """∂of/∂wrt, exact: with z fixed, and through the solution by K ∂z = ∂r − ∂(K z), z fixed, on the same factors."""
        import casadi as ca

        if self.further is not None:
            raise ArgumentError(f"{self.name!r} is a derivative already, and its solutions can be differentiated only once")
        arguments = self.symbols()
        z = ca.SX.sym("z", self.size)
        matrix, side = self.linear(arguments, z)
        results = self.after.function.call([*arguments, z])
        row = [slot.name for slot in self.outputs].index(self.output(of).name)
        column = [slot.name for slot in self.inputs].index(self.input(wrt).name)
        direct, through = ca.jacobian(results[row], arguments[column]), ca.jacobian(results[row], z)
        slots = {slot.name: (symbol, slot.labels) for slot, symbol in zip(self.inputs, arguments, strict=True)}
        sides = ca.jacobian(side - matrix @ z, arguments[column])
        solutions = ca.SX.sym("solutions", self.size, 1 + arguments[column].numel())
        total = ca.substitute(direct + through @ solutions[:, 1:], z, solutions[:, 0])
        label = name or f"{self.name}_d{of}_d{wrt}"
        return LinearSolveProgram(
            label,
            self.system,
            Program.build(label, {**slots, "solutions": solutions}, {f"d{of}_d{wrt}": total}),
            self.pattern,
            self.solver,
            Program.build(f"{label}_sides", {**slots, "z": z}, {"sides": sides}),
            self.start,
        )

    def __repr__(self) -> str:
        ins = ", ".join(f"{s.name}[{s.size}]" for s in self.inputs)
        outs = ", ".join(f"{s.name}[{s.size}]" for s in self.outputs)
        kind = "sparse" if self.sparse else "dense"
        return f"<Solved {self.name}({ins}) → {outs}, {self.size} unknowns, {kind}, about {self.operations} operations>"
