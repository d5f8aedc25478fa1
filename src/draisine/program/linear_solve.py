"""Programs with a linear system that is solved at run time: K z = r, and results as functions of z.

Where elimination without pivoting is not safe (the augmented matrix of a constrained system, an arbitrary mass matrix), the
solution is no straight-line code. A `LinearSolveProgram` consists of the straight-line programs before and after the solution,
and is called and compiled like a `Program`. Only structurally nonzero entries of K are computed; operation counts decide between
dense elimination and sparse factorization.

If r depends on z (forces that depend on multipliers: creep, friction), Newton's method is used: `start` gives the initial z, and
`system` the matrix and right-hand side of an iteration, (K − ∂r/∂z) z⁺ = r − (∂r/∂z) z.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from draisine.errors import ArgumentError
from draisine.program.digest import digest_of
from draisine.program.program import DaeResidual, Program, Slot

if TYPE_CHECKING:
    import casadi as ca

Numbers: TypeAlias = NDArray[np.float64]
Slots: TypeAlias = "Mapping[str, tuple[ca.SX, Sequence[str]] | ca.SX]"

MAX_ITERATIONS = 40  # of Newton's method
UNROLLED_ITERATIONS = 8  # where the loop is unrolled (exported code)
STEP_TOLERANCE = 1e-10  # relative change of z at which the iteration ends; the error is then its square
SHORT_TOLERANCE = 1e-8  # the same of condensed iterations
# Steps along what a constant matrix leaves undetermined, relative to the solution, up to which right sides that contradict each
# other there are taken for inexact. With compliances of 1e-7 these contradictions are about 1e-3.
CONTRADICTION = 1e4
_SPARSE_COST = 4  # time of an operation with indirect addressing, relative to one along a column


class Solver(StrEnum):
    """How the linear system is solved at run time."""

    AUTO = "auto"  # whichever needs fewer operations
    DENSE = "dense"  # elimination with partial pivoting
    SPARSE = "sparse"  # Householder QR, columns ordered once for little fill
    ACTIVE = "active"  # elimination without the rows that have a diagonal entry alone: forces of contacts that are open


@dataclass(frozen=True)
class Pattern:
    """Sparsity pattern of a square matrix: row and column indices of its entries in column-major order.

    >>> Pattern.dense(2)
    Pattern(size=2, rows=(0, 1, 0, 1), columns=(0, 0, 1, 1))
    """

    size: int
    rows: tuple[int, ...]
    columns: tuple[int, ...]

    def __post_init__(self) -> None:
        indices = list(zip(self.columns, self.rows, strict=True))
        if any(a >= b for a, b in pairwise(indices)):
            raise ArgumentError("the indices of the entries must be in column-major order, without duplicates")
        if any(not 0 <= k < self.size for pair in indices for k in pair):
            raise ArgumentError(f"an index is outside of the matrix of {self.size} rows and columns")

    @staticmethod
    def dense(size: int) -> Pattern:
        return Pattern(size, tuple(range(size)) * size, tuple(c for c in range(size) for _ in range(size)))

    @staticmethod
    def of(sparsity: ca.Sparsity) -> Pattern:
        """From a CasADi sparsity."""
        if sparsity.size1() != sparsity.size2():
            raise ArgumentError(f"expected a square matrix, got {sparsity.size1()} × {sparsity.size2()}")
        rows, columns = sparsity.get_triplet()
        return Pattern(sparsity.size1(), tuple(rows), tuple(columns))

    def nnz(self) -> int:
        """The number of entries."""
        return len(self.rows)

    @property
    def column_offsets(self) -> list[int]:
        """Offset of each column among the entries, and their number."""
        counts = [0] * (self.size + 1)
        for column in self.columns:
            counts[column + 1] += 1
        for k in range(self.size):
            counts[k + 1] += counts[k]
        return counts

    @cached_property
    def sparsity(self) -> ca.Sparsity:
        """As a CasADi sparsity."""
        import casadi as ca

        return ca.Sparsity.triplet(self.size, self.size, list(self.rows), list(self.columns))


class Condensed(NamedTuple):
    """Newton's method for the last unknowns alone, where the others follow from them: quicker, but its derivatives are longer.

    `system` and `start` are programs as those of `LinearSolveProgram`, with the last unknowns in place of all and a full matrix;
    `expansion` is a program of the arguments, the last estimate of these unknowns and their solution for all unknowns. `of` is
    the digest of the system that it stands for.
    """

    of: str
    system: Program
    start: Program
    expansion: Program


@dataclass(frozen=True, eq=False)
class LinearSolveProgram:
    """`system`: arguments → entries of the matrix K (n × n) in the order of `pattern`, and right-hand side r (n).
    `after`: the same arguments and z = K⁻¹ r → results.

    Without a pattern `system` returns the full K. `further` is a program of the arguments and z with more right-hand sides
    (n × k), solved with the same factors; `after` then takes all solutions as columns (n × (1 + k)), for derivatives of z.
    With `start`, a program of the arguments for the initial z, `system` takes z too and is iterated until z converges: until its
    relative change is below `tolerance`. `after` may then take the last estimate z and the solution, so that it can use what the
    last iteration has computed at the estimate.

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
    tolerance: float = STEP_TOLERANCE
    condensed: Condensed | None = None

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
        """From symbols and expressions: K of the inputs, r and outputs of the inputs and z. `start` is the initial z, required if
        r is nonlinear in z."""
        import casadi as ca

        jacobian = ca.jacobian(side, z)
        nonlinear = bool(jacobian.nnz()) and ca.depends_on(jacobian, z)
        if nonlinear and start is None:
            raise ArgumentError(f"{name!r}: the right-hand side is nonlinear in the unknowns; give a start for Newton's method")
        if jacobian.nnz():  # the linear part moves to the matrix
            side = side - jacobian @ z if nonlinear else ca.substitute(side, z, ca.SX.zeros(z.numel()))
            matrix = matrix - jacobian
        filled = ca.sparsify(ca.SX(matrix))
        entries = ca.SX(filled.nz[:]) if filled.nnz() else ca.SX(0, 1)
        taken = {**inputs, "z": z}
        system = Program.build(f"{name}_system", taken if nonlinear else inputs, {"entries": entries, "side": side})
        first = Program.build(f"{name}_start", inputs, {"z": start}) if nonlinear and start is not None else None
        return LinearSolveProgram(
            name, system, Program.build(name, taken, outputs), Pattern.of(filled.sparsity()), solver, start=first
        )

    def __post_init__(self) -> None:
        matrix, side = self.system.outputs
        n = side.size
        if self.pattern is None:
            if matrix.shape != (n, n):
                raise ArgumentError(
                    f"{self.name!r}: the matrix is {matrix.shape[0]} × {matrix.shape[1]} and the right-hand side has {n} entries"
                )
        elif self.pattern.size != n or self.pattern.nnz() != matrix.size:
            rows = self.pattern.size
            raise ArgumentError(
                f"{self.name!r}: the pattern has {self.pattern.nnz()} entries in {rows} × {rows}, the matrix {matrix.size} "
                f"entries and the right-hand side {n}"
            )
        shapes = [slot.shape for slot in self.inputs]
        if self.start is not None and [s.shape for s in self.system.inputs] != [*shapes, (n, 1)]:
            raise ArgumentError(f"{self.name!r}: with a start, the system must take the same arguments and the solution")
        if self.further is not None and [s.shape for s in self.further.inputs] != [*shapes, (n, 1)]:
            raise ArgumentError(
                f"{self.name!r}: the program of further right-hand sides must take the same arguments and the solution"
            )
        solved = [(n, 1)] * 2 if self.takes_estimate else [(n, self.sides)]
        if [slot.shape for slot in self.after.inputs] != [*shapes, *solved]:
            raise ArgumentError(f"{self.name!r}: the program after the solution must take the same arguments and the solution")

    @property
    def inputs(self) -> tuple[Slot, ...]:
        return (self.start or self.system).inputs

    @property
    def iterates(self) -> bool:
        """Whether it is solved by Newton iterations."""
        return self.start is not None

    @property
    def takes_estimate(self) -> bool:
        """Whether `after` takes the estimate of the last iteration, too."""
        return self.iterates and self.further is None and len(self.after.inputs) == len(self.inputs) + 2

    @property
    def outputs(self) -> tuple[Slot, ...]:
        return self.after.outputs

    @cached_property
    def condenses(self) -> bool:
        """Whether `condensed` belongs to this system, and is not left from another one."""
        return self.condensed is not None and self.condensed.of == self.system.digest and self.further is None

    @cached_property
    def evaluated(self) -> LinearSolveProgram:
        """The program to evaluate: with the condensed iteration, if there is one."""
        if self.condensed is None or not self.condenses:
            return self
        import casadi as ca

        short, arguments = self.condensed, self.symbols()
        z, solution = (ca.SX.sym(name, short.start.outputs[0].size) for name in ("z", "solution"))
        (whole,) = short.expansion.function.call([*arguments, z, solution])
        results = self.after.function.call([*arguments, whole])
        slots = {slot.name: (symbol, slot.labels) for slot, symbol in zip(self.inputs, arguments, strict=True)}
        named = {slot.name: (result, slot.labels) for slot, result in zip(self.outputs, results, strict=True)}
        after = Program.build(self.after.name, {**slots, "z": z, "solution": solution}, named)
        pattern = Pattern.dense(z.numel())
        return LinearSolveProgram(self.name, short.system, after, pattern, start=short.start, tolerance=SHORT_TOLERANCE)

    def mapped(self, function: Callable[[Program], Program]) -> LinearSolveProgram:
        """The same with a function of every program, such as a substitution for arguments."""
        further, start = (None if p is None else function(p) for p in (self.further, self.start))
        system, short = function(self.system), None
        if self.condensed is not None and self.condenses:
            parts = (function(p) for p in (self.condensed.system, self.condensed.start, self.condensed.expansion))
            short = Condensed(system.digest, *parts)
        return replace(self, system=system, after=function(self.after), further=further, start=start, condensed=short)

    @property
    def size(self) -> int:
        """Number of unknowns."""
        return self.system.outputs[1].size

    @property
    def sides(self) -> int:
        """Number of right-hand sides, the first of which is r."""
        return 1 + (0 if self.further is None else self.further.outputs[0].shape[1])

    @cached_property
    def entry_pattern(self) -> Pattern:
        """The pattern of K; dense if none was given."""
        return Pattern.dense(self.size) if self.pattern is None else self.pattern

    @cached_property
    def sparse(self) -> bool:
        """Whether a sparse factorization is used."""
        if self.solver != Solver.AUTO:
            return self.solver == Solver.SPARSE
        if 4 * self.entry_pattern.nnz() > self.size**2:
            return False
        import casadi as ca

        return (
            ca.sprank(self.entry_pattern.sparsity) == self.size
            and _SPARSE_COST * self._sparse_operations < self._dense_operations
        )

    @cached_property
    def factorized_once(self) -> bool:
        """Whether the iterations have the same matrix."""
        return self.iterates and not self.system.function.jac_sparsity(0, len(self.system.inputs) - 1).nnz()

    @property
    def operations(self) -> int:
        """Operations of the programs and, approximately, of the solution; for Newton's method, of one iteration."""
        straight = [p.operations for p in (self.system, self.after, self.further, self.start) if p is not None]
        return sum(straight) + (self._sparse_operations if self.sparse else self._dense_operations)

    @property
    def can_switch(self) -> bool:
        """Whether matrix, right-hand side or results can; the start of Newton's method is only a first guess."""
        return self.system.can_switch or self.after.can_switch

    @property
    def can_be_sharp(self) -> bool:
        """Whether functions of time alone in matrix, right-hand side or results may vary suddenly."""
        return self.system.can_be_sharp or self.after.can_be_sharp

    @property
    def _dense_operations(self) -> int:
        n = self.size
        return (2 * n**3) // 3 + 2 * n**2 * self.sides

    @cached_property
    def _sparse_operations(self) -> int:
        # each entry of R and of the right-hand sides takes one reflection, of four operations per entry of its vector
        vectors, upper, _, _ = self.entry_pattern.sparsity.qr_sparse(True)
        lengths = np.diff(vectors.colind())
        reflections = np.sum(lengths[np.array(upper.row(), dtype=np.int64)]) + self.sides * np.sum(lengths)
        return int(4 * reflections + 2 * self.sides * upper.nnz())

    @cached_property
    def digest(self) -> str:
        digested = digest_of(f"solved {self.system.digest} {self.after.digest} {self.sparse}".encode())
        if self.solver == Solver.ACTIVE:
            digested.update(b"active")
        for further in (self.further, self.start):
            digested.update((further.digest if further is not None else "none").encode())
        if self.tolerance != STEP_TOLERANCE:
            digested.update(repr(self.tolerance).encode())
        if self.condensed is not None and self.condenses:
            for part in (self.condensed.system, self.condensed.start, self.condensed.expansion):
                digested.update(part.digest.encode())
        if self.pattern is not None:
            digested.update(np.array([*self.pattern.column_offsets, *self.pattern.rows], dtype=np.int64).tobytes())
        return digested.hexdigest()

    def input(self, name: str) -> Slot:
        return (self.start or self.system).input(name)

    def output(self, name: str) -> Slot:
        return self.after.output(name)

    def symbols(self) -> list[ca.SX]:
        """Symbols for the arguments."""
        return (self.start or self.system).symbols()

    def linear(self, arguments: Sequence[ca.SX], z: ca.SX | None = None) -> tuple[ca.SX, ca.SX]:
        """K (sparse) and r in the given symbols; for Newton's method those of the iteration at z."""
        import casadi as ca

        if self.iterates and z is None:
            raise ArgumentError(f"{self.name!r} is nonlinear in its unknowns; give z")
        given: list[ca.SX] = [*arguments, z] if self.iterates and z is not None else [*arguments]
        entries, side = self.system.function.call(given)
        return ca.SX(self.entry_pattern.sparsity, ca.vec(entries)), side

    def matrix_at(self, *arguments: ArrayLike) -> NDArray[np.float64]:
        """The numerical K; for Newton's method that of the last iteration."""
        z = [np.reshape(self.solution(*arguments), (self.size, -1))[:, 0]] if self.iterates else []
        matrix = np.zeros((self.size, self.size))
        matrix[self.entry_pattern.rows, self.entry_pattern.columns] = self.system(*arguments, *z)[0].ravel(order="F")
        return matrix

    def solution(self, *arguments: ArrayLike) -> NDArray[np.float64]:
        """z; with further right-hand sides, all solutions as columns. NaN if Newton's method does not converge.

        The iteration is that of the compiled kernel (`codegen/jit/linear_solve.py`), for which this is the reference: full steps
        and the same convergence criterion. It therefore does not use `numerics.newton`.
        """
        _, z, solve = self._iterated(*arguments)
        if self.further is None:
            return z
        sides = np.reshape(self.further(*arguments, z)[0], (self.size, self.sides - 1))
        return np.column_stack([z, solve(sides)])

    def _iterated(self, *arguments: ArrayLike) -> tuple[Numbers, Numbers, Callable[[Numbers], Numbers]]:
        """The last estimate of z, z, and the function that solves for other right-hand sides."""
        if self.start is None:
            z, solve = self._newton_step(*arguments)
            return z, z, solve
        (new,) = self.start(*arguments)
        step = new
        for count in range(1, MAX_ITERATIONS + 1):
            z, before = new, step
            new, solve = self._newton_step(*arguments, z)
            step = new - z
            change, size = float(np.sum(step**2)), float(np.sum(new**2))
            if not change > self.tolerance**2 * size:
                return z, new, solve
            bend = float(np.sum((step - before) ** 2))
            if self.factorized_once and count > 2 and not bend > self.tolerance**2 * max(change, 0.01 * size):
                rest = new - count * step  # the steps go on without end: `linear_update` of the kernels
                if change <= CONTRADICTION**2 * float(np.sum(rest**2)):
                    return rest, rest, solve
        return z, np.full(self.size, np.nan), solve

    def _newton_step(
        self, *arguments: ArrayLike
    ) -> tuple[NDArray[np.float64], Callable[[NDArray[np.float64]], NDArray[np.float64]]]:
        """The solution of the linear system at these arguments, and the function that solves for other right-hand sides."""
        entries, side = self.system(*arguments)
        rows, columns = self.entry_pattern.rows, self.entry_pattern.columns
        if self.sparse:
            from scipy.sparse import csc_array
            from scipy.sparse.linalg import splu

            solve = splu(
                csc_array((entries.ravel(order="F"), rows, self.entry_pattern.column_offsets), shape=(self.size, self.size))
            ).solve
        else:
            matrix = np.zeros((self.size, self.size))
            matrix[rows, columns] = entries.ravel(order="F")

            def solve(side: NDArray[np.float64]) -> NDArray[np.float64]:
                return np.asarray(np.linalg.solve(matrix, side), dtype=np.float64)

        return solve(side), solve

    def __call__(self, *arguments: ArrayLike) -> tuple[NDArray[np.float64], ...]:
        """Evaluate in CasADi's interpreter, with the solver of NumPy or SciPy."""
        if self.takes_estimate:
            return self.after(*arguments, *self._iterated(*arguments)[:2])
        return self.after(*arguments, self.solution(*arguments))

    def jacobian(self, of: str, wrt: str, name: str | None = None, shared: bool = False) -> LinearSolveProgram:
        """∂of/∂wrt, exact: directly, and through z by K ∂z = ∂r − ∂(K z) at constant z, with the same factors. `name` is that of
        the new program, `shared` as in `Program.build`."""
        import casadi as ca

        if self.further is not None:
            raise ArgumentError(f"{self.name!r} is a derivative already and cannot be differentiated again")
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
            Program.build(label, {**slots, "solutions": solutions}, {f"d{of}_d{wrt}": total}, shared=shared),
            self.pattern,
            self.solver,
            Program.build(f"{label}_sides", {**slots, "z": z}, {"sides": sides}, shared=shared),
            self.start,
            self.tolerance,
        )

    def __repr__(self) -> str:
        ins = ", ".join(f"{s.name}[{s.size}]" for s in self.inputs)
        outs = ", ".join(f"{s.name}[{s.size}]" for s in self.outputs)
        kind = "sparse" if self.sparse else "dense"
        return (
            f"<LinearSolveProgram {self.name}({ins}) → {outs}, {self.size} unknowns, {kind}, about {self.operations} operations>"
        )


@dataclass(frozen=True, eq=False)
class SolvedResidual(DaeResidual):
    """ẋ − f(t, x, u, p), where f solves its linear system itself: the states are the only unknowns, and ∂f/∂x is dense.

    For systems K z = r whose matrix may be singular, because f determines z by more than K (compliance removed by iteration).
    """

    solved: LinearSolveProgram | None = None
    shorter: Program | None = None  # results from which f follows as well: it does not depend on what they do not depend on

    @staticmethod
    def of(dynamics: LinearSolveProgram, shorter: Program | None = None) -> SolvedResidual:
        """The residual of ẋ = f."""
        import casadi as ca

        rate = ca.SX.sym("xdot", dynamics.inputs[1].size)

        def with_rate(program: Program, residual: bool = False) -> Program:
            """The program with ẋ among its arguments, after x; with the residual as its only result."""
            symbols, slots = program.symbols(), dict[str, Any]()
            for slot, symbol in zip(program.inputs, symbols, strict=True):
                slots[slot.name] = symbol, slot.labels
                if slot.name == dynamics.inputs[1].name:
                    slots["xdot"] = rate
            results = program.function.call(symbols)
            named = {slot.name: (result, slot.labels) for slot, result in zip(program.outputs, results, strict=True)}
            return Program.build(program.name, slots, {"residual": rate - results[0]} if residual else named)

        start = None if dynamics.start is None else with_rate(dynamics.start)
        system, after = with_rate(dynamics.system), with_rate(dynamics.after, True)
        solved = replace(dynamics, name=f"{dynamics.name}_residual", system=system, after=after, start=start)
        return SolvedResidual(dynamics.name, cast(Program, solved), solved=solved, shorter=shorter)

    @cached_property
    def differential(self) -> tuple[bool, ...]:
        return (True,) * self.size

    @cached_property
    def _by_state(self) -> NDArray[np.bool_]:
        """Where ∂F/∂x may be filled: the solution depends on whatever its linear system depends on."""
        assert self.solved is not None
        place, count = [slot.name for slot in self.inputs].index("x"), len(self.solved.inputs)
        system, after = self.solved.system, self.solved.after.function
        filled = np.zeros((self.size, self.size), dtype=bool)
        filled[after.jac_sparsity(0, place).get_triplet()] = True
        solved = {row for k in range(count, len(self.solved.after.inputs)) for row in after.jac_sparsity(0, k).row()}
        needed = {column for k in range(len(system.outputs)) for column in system.function.jac_sparsity(k, place).get_col()}
        filled[np.ix_(sorted(solved), sorted(needed))] = True
        if self.shorter is not None:
            short, place = self.shorter.function, [slot.name for slot in self.shorter.inputs].index("x")
            used = {column for k in range(len(self.shorter.outputs)) for column in short.jac_sparsity(k, place).get_col()}
            filled[:, [j for j in range(self.size) if j not in used]] = False
        return filled

    @cached_property
    def pattern(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        columns, rows = np.nonzero((self._by_state | np.eye(self.size, dtype=bool)).T)
        return rows.astype(np.int64), columns.astype(np.int64)

    @property
    def isolated(self) -> NDArray[np.bool_]:
        """Here those that enter no equation but by their rates: cyclic coordinates."""
        return np.asarray(~self._by_state.any(axis=0))

    @cached_property
    def jacobian(self) -> LinearSolveProgram:  # type: ignore[override]
        """(t, x, xdot, u, p) → dx, dxdot: the entries of ∂F/∂x and of the unit matrix."""
        import casadi as ca

        assert self.solved is not None
        made = self.solved.jacobian("residual", "x", f"{self.name}_jacobian")
        symbols = made.after.symbols()
        (by_state,) = made.after.function.call(symbols)
        slots = {slot.name: (symbol, slot.labels) for slot, symbol in zip(made.after.inputs, symbols, strict=True)}
        filled = ca.Sparsity.triplet(self.size, self.size, *(indices.tolist() for indices in self.pattern))
        both = {"dx": by_state, "dxdot": ca.SX.eye(self.size)}
        entries = {name: ca.SX(ca.project(matrix, filled).nz[:]) for name, matrix in both.items()}
        return replace(made, after=Program.build(made.name, slots, entries))


def implicit_form(dynamics: Program | LinearSolveProgram | DaeResidual) -> DaeResidual:
    """The dynamics as a residual 0 = F(t, x, ẋ, u, p); the states come first among its unknowns.

    ẋ = f becomes ẋ − f. Where accelerations are solved for at run time, K z = r, the solution z joins the unknowns: the Jacobians
    remain sparse and exact, and no linear system is solved within a residual. Errors of z are not controlled.

    >>> import casadi as ca
    >>> t, x, u, p = (ca.SX.sym(n, k) for n, k in (("t", 1), ("x", 1), ("u", 0), ("p", 0)))
    >>> fall = Program.build("fall", {"t": t, "x": x, "u": u, "p": p}, {"xdot": -x})
    >>> implicit_form(fall)([0.0], [2.0], [1.0], [], [])
    array([3.])
    """
    if isinstance(dynamics, DaeResidual):
        return dynamics
    import casadi as ca

    t, x, u, p = (ca.SX.sym(slot.name, slot.size) for slot in dynamics.inputs)
    labels = dynamics.inputs[1].labels
    if isinstance(dynamics, Program):
        (rates,) = dynamics.function.call([t, x, u, p])[:1]
        rate = ca.SX.sym("xdot", x.numel())
        residual, unknowns = rate - rates, x
    else:
        z = ca.SX.sym("z", dynamics.size, dynamics.sides)
        matrix, side = dynamics.linear([t, x, u, p], z[:, 0])
        if dynamics.further is not None:
            side = ca.horzcat(side, dynamics.further.function.call([t, x, u, p, z[:, 0]])[0])
        rates = dynamics.after.function.call([t, x, u, p, z])[0]
        rate = ca.SX.sym("xdot", x.numel() + z.numel())
        residual = ca.vertcat(rate[: x.numel()] - rates, ca.vec(matrix @ z - side))
        unknowns = ca.vertcat(x, ca.vec(z))
        labels = ()
    arguments: dict[str, Any] = {"t": t, "x": (unknowns, labels), "xdot": rate, "u": u, "p": p}
    return DaeResidual(dynamics.name, Program.build(f"{dynamics.name}_residual", arguments, {"residual": residual}))
