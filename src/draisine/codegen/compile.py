"""Machine code of programs (`compile`) and operation counts (`operation_counts`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from draisine.codegen.jit.kernel import Kernel
from draisine.codegen.jit.kernel import compile as compile_program
from draisine.codegen.operation_counts import OperationCounts, count_operations
from draisine.codegen.passes import ALL, Passes
from draisine.dynamics.derive import derive
from draisine.errors import ArgumentError
from draisine.model.items import System
from draisine.model.model import Model
from draisine.program.equations import Equations
from draisine.program.linear_solve import LinearSolveProgram
from draisine.program.program import Program

if TYPE_CHECKING:
    import sympy


def compile(
    what: Program | LinearSolveProgram | sympy.Matrix | sympy.Expr,
    arguments: Sequence[Any] | None = None,
    name: str = "kernel",
    *,
    passes: Passes = ALL,
) -> Kernel:
    """Machine code of a program, or of any SymPy expression or matrix in the given arguments.

    `passes` reduce the number of operations; each can be switched off: `passes=Passes(reassociation=False)`.

    >>> import sympy as sp
    >>> x, y = sp.symbols("x y")
    >>> f = compile(sp.Matrix([[x * y, sp.sin(x)]]), [x, y])
    >>> f(2.0, 3.0)[0].round(6).tolist()
    [[6.0, 0.909297]]
    """
    if isinstance(what, Program | LinearSolveProgram):
        return compile_program(what, passes=passes)
    from draisine.codegen.sympy_kernel import compile_symbolic  # imports SymPy

    if arguments is None:
        raise ArgumentError("compile: the order of the arguments is missing, e.g. compile(matrix, [x, y])")
    return compile_symbolic(what, arguments, name=name, passes=passes)


def operation_counts(model: Model | System | Equations | Program | LinearSolveProgram) -> OperationCounts:
    """Operation counts of one evaluation of a model's dynamics, or of a program, and the savings of each pass.

    >>> from draisine import gallery
    >>> counts = operation_counts(gallery.chaplygin_sleigh())
    >>> counts.final.per_evaluation < counts.rows[0].per_evaluation
    True
    """
    if isinstance(model, Model | System):
        model = derive(model)
    return count_operations(model.explicit if isinstance(model, Equations) else model)
