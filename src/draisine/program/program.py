"""Programs with named arguments: the interface between the derivation of equations and their use.

A `Program` is straight-line code whose slots have names, labels and units. It is built from CasADi symbols (`Program.build`) and
can be differentiated, printed, interpreted and compiled (`draisine.codegen.jit`). All slots are dense; matrices are stored by
columns. A program restored by `serialization` loads CasADi only when its `function` is needed.

A `DaeResidual` is a differential-algebraic system 0 = F(t, x, ẋ, u, p). Unknowns whose derivative does not occur are algebraic:
multipliers, unknown controls, currents at a node. Such systems are integrated by implicit methods, which need F and its Jacobians
by x and ẋ.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from draisine.errors import ArgumentError, UnknownNameError
from draisine.numerics.number_range import refuse_masked
from draisine.program import opcodes as op
from draisine.program.casadi_functions import CasadiCode, evaluate
from draisine.program.digest import digest_of
from draisine.program.shared_expressions import shared as shared_expressions
from draisine.program.tape import Code, Tape, tape_is_sharp

if TYPE_CHECKING:
    import casadi as ca


class Slot(NamedTuple):
    """A named argument or result. The entries of a column have labels and units."""

    name: str
    shape: tuple[int, int]
    labels: tuple[str, ...] = ()
    units: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        return self.shape[0] * self.shape[1]

    def describe(self) -> str:
        rows, columns = self.shape
        head = f"{self.name} ({rows} × {columns})" if columns != 1 else f"{self.name} ({rows})"
        if not self.labels:
            return head
        units = self.units or ("",) * len(self.labels)
        entries = ", ".join(f"{label} [{unit}]" if unit else label for label, unit in zip(self.labels, units, strict=True))
        return f"{head}: {entries}"


@dataclass(frozen=True, eq=False)
class Program:
    """A straight-line function of named vectors.

    >>> import casadi as ca
    >>> x = ca.SX.sym("x", 2)
    >>> p = Program.build("norm2", {"x": (x, ("a", "b"))}, {"y": (ca.sumsqr(x), ("square",))})
    >>> p.operations
    3
    >>> float(p([3.0, 4.0])[0][0])
    25.0
    """

    name: str
    inputs: tuple[Slot, ...]
    outputs: tuple[Slot, ...]
    code: Code

    @staticmethod
    def build(
        name: str,
        inputs: Mapping[str, tuple[ca.SX, Sequence[str]] | ca.SX],
        outputs: Mapping[str, tuple[ca.SX, Sequence[str]] | ca.SX],
        units: Mapping[str, str] | None = None,
        shared: bool = False,
    ) -> Program:
        """Build a program from symbols (inputs) and expressions (outputs), with elimination of common subexpressions.

        A value is an SX, or a pair (SX, labels); `units` maps labels to units. `shared` skips the elimination, which takes longer
        than some hundred evaluations: for programs that run a few times, and for those that are only compiled, where kernels
        share what is equal themselves.
        """
        import casadi as ca

        units = units or {}
        for kind, names in (("program", [name]), ("argument", inputs), ("result", outputs)):
            for text in names:
                if not ca.Function.check_name(text):
                    raise ArgumentError(
                        f"{kind}: {text!r} is not a valid name; use letters, digits and single underscores, beginning with a "
                        "letter; null, jac and hess are taken"
                    )

        def slots(table: Mapping[str, tuple[ca.SX, Sequence[str]] | ca.SX]) -> tuple[tuple[Slot, ...], list[ca.SX]]:
            found, expressions = [], []
            for slot, value in table.items():
                expression, labels = value if isinstance(value, tuple) else (value, ())
                dense = expression if type(expression) is ca.SX and expression.is_dense() else ca.densify(ca.SX(expression))
                labels = tuple(labels)
                if labels and len(labels) != dense.numel():
                    raise ArgumentError(f"program {name!r}: slot {slot!r} has {dense.numel()} entries but {len(labels)} labels")
                found.append(Slot(slot, dense.shape, labels, tuple(units.get(label, "") for label in labels)))
                expressions.append(dense)
            return tuple(found), expressions

        ins, arguments = slots(inputs)
        outs, results = slots(outputs)
        if not shared:
            results = shared_expressions(results)
        function = ca.Function(name, arguments, results, [s.name for s in ins], [s.name for s in outs])
        if function.has_free():
            raise ArgumentError(f"program {name!r} uses symbols that are not among its inputs: {', '.join(function.get_free())}")
        return Program(name, ins, outs, CasadiCode(function))

    # ---------------------------------------------------------------- properties

    @property
    def tape(self) -> Tape:
        """The instructions in order."""
        return self.code.tape

    @property
    def function(self) -> ca.Function:
        """The CasADi function: for derivatives and expressions."""
        return self.code.function

    @property
    def operations(self) -> int:
        """Number of floating-point operations (instructions other than input, output and constant)."""
        return self.code.operations

    @property
    def can_switch(self) -> bool:
        """Whether there are operations of which value or slope can jump."""
        return self.code.can_switch

    @cached_property
    def can_be_sharp(self) -> bool:
        """Whether there are functions of time alone that may vary suddenly, such as short smooth pulses."""
        return tape_is_sharp(self.tape, [slot.name for slot in self.inputs])

    @cached_property
    def digest(self) -> str:
        """A hash of the program; the key of the cache of compiled kernels."""
        digested = digest_of()
        for slot in (*self.inputs, *self.outputs):
            digested.update(f"{slot.name}{slot.shape};".encode())
        digested.update(self.code.fingerprint.encode())
        return digested.hexdigest()

    def input(self, name: str) -> Slot:
        return _named(self.inputs, name, f"program {self.name!r} has no input")

    def output(self, name: str) -> Slot:
        return _named(self.outputs, name, f"program {self.name!r} has no output")

    def symbols(self) -> list[ca.SX]:
        """New symbols with the shapes of the inputs."""
        import casadi as ca

        return [ca.SX.sym(slot.name, *slot.shape) for slot in self.inputs]

    def __str__(self) -> str:
        return "\n".join(_listing(self))

    def __repr__(self) -> str:
        ins = ", ".join(f"{s.name}[{s.size}]" for s in self.inputs)
        outs = ", ".join(f"{s.name}[{s.size}]" for s in self.outputs)
        return f"<Program {self.name}({ins}) → {outs}, {self.operations} operations>"

    # ---------------------------------------------------------------- evaluation and derivatives

    def __call__(self, *arguments: ArrayLike) -> tuple[NDArray[np.float64], ...]:
        """Evaluate in CasADi's interpreter. Columns are returned as one-dimensional, matrices as two-dimensional arrays."""
        if len(arguments) != len(self.inputs):
            names = ", ".join(slot.name for slot in self.inputs)
            raise ArgumentError(f"program {self.name!r} takes {len(self.inputs)} arguments ({names}), got {len(arguments)}")
        for slot, argument in zip(self.inputs, arguments, strict=True):
            refuse_masked(f"program {self.name!r}: argument {slot.name!r}", argument)
        given = [np.asarray(argument, dtype=float) for argument in arguments]
        for slot, array in zip(self.inputs, given, strict=True):
            if array.size != slot.size:
                raise ArgumentError(f"program {self.name!r}: argument {slot.name!r} needs {slot.size} numbers, got {array.size}")
        results = evaluate(self.function, given, (slot.shape for slot in self.outputs))
        return tuple(r[:, 0] if slot.shape[1] == 1 else r for slot, r in zip(self.outputs, results, strict=True))

    def jacobian(self, of: str, wrt: str, name: str | None = None, shared: bool = False) -> Program:
        """The program of ∂of/∂wrt, exact, with the same inputs. `of` must be a column; `name` is that of the new program,
        `shared` as in `build`."""
        import casadi as ca

        arguments = self.symbols()
        results = self.function.call(arguments)
        row = [s.name for s in self.outputs].index(self.output(of).name)
        column = [s.name for s in self.inputs].index(self.input(wrt).name)
        matrix = ca.jacobian(results[row], arguments[column])
        return Program.build(
            name or f"{self.name}_d{of}_d{wrt}",
            {slot.name: (symbol, slot.labels) for slot, symbol in zip(self.inputs, arguments, strict=True)},
            {f"d{of}_d{wrt}": matrix},
            shared=shared,
        )


class LazyProgram(NamedTuple):
    """A program that is built by `make` only if its compiled code is not in the cache.

    Differentiating a program can take longer than loading the compiled derivative. The `digest` must change with everything that
    the program depends on, including the code of `make`.
    """

    name: str
    inputs: tuple[Slot, ...]
    outputs: tuple[Slot, ...]
    digest: str
    make: Callable[[], Program]

    def build(self) -> Program:
        """Build the program and check its slots."""
        program = self.make()
        shapes = [slot.shape for slot in (*program.inputs, *program.outputs)]
        if shapes != [slot.shape for slot in (*self.inputs, *self.outputs)]:
            raise ArgumentError(f"lazy program {self.name!r}: the program built has other slots than declared")
        return program


def _named(slots: Sequence[Slot], name: str, message: str) -> Slot:
    for slot in slots:
        if slot.name == name:
            return slot
    raise UnknownNameError(f"{message} {name!r}; it has {', '.join(s.name for s in slots)}")


def _listing(program: Program) -> Iterator[str]:
    infix = {"add": "+", "sub": "-", "mul": "*", "div": "/"}
    yield f"program {program.name}"
    for slot in program.inputs:
        yield f"  in  {slot.describe()}"
    for slot in program.outputs:
        yield f"  out {slot.describe()}"

    def label(slot: Slot, entry: int) -> str:
        return f"{slot.name}.{slot.labels[entry]}" if slot.labels else f"{slot.name}[{entry}]"

    for line in program.tape:
        operation = op.NAMES[line.operation].lower()
        if line.operation == op.INPUT:
            yield f"  w{line.outputs[0]} = {label(program.inputs[line.inputs[0]], line.inputs[1])}"
        elif line.operation == op.OUTPUT:
            yield f"  {label(program.outputs[line.outputs[0]], line.outputs[1])} = w{line.inputs[0]}"
        elif line.operation == op.CONST:
            yield f"  w{line.outputs[0]} = {line.constant!r}"
        elif operation in infix:
            yield f"  w{line.outputs[0]} = w{line.inputs[0]} {infix[operation]} w{line.inputs[1]}"
        else:
            called = line.callee.name if line.callee is not None else operation
            targets = ", ".join(f"w{o}" for o in line.outputs)
            yield f"  {targets} = {called}({', '.join(f'w{i}' for i in line.inputs)})"


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

    @property
    def can_be_sharp(self) -> bool:
        return self.residual.can_be_sharp

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

    @property
    def isolated(self) -> NDArray[np.bool_]:
        """The unknowns that enter no other equation than their own, as coordinates along which nothing changes."""
        rows, columns = self.pattern
        return np.asarray(np.bincount(columns[rows != columns], minlength=self.size) == 0)

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
