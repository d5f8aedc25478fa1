"""Machine code of programs and of SymPy expressions (`compile`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from draisine.codegen.jit.kernel import Kernel
from draisine.codegen.jit.kernel import compile as compile_program
from draisine.codegen.passes import ALL, Passes
from draisine.errors import ArgumentError
from draisine.program.linear_solve import LinearSolveProgram
from draisine.program.program import Program

if TYPE_CHECKING:
    import sympy


def compile(
    what: Program | LinearSolveProgram | sympy.Matrix | sympy.Expr,
    arguments: Sequence[Any] | None = None,
    name: str = "kernel",
    *,
    vectorized: bool = False,
    passes: Passes = ALL,
) -> Kernel:
    """Machine code of a program, or of any SymPy expression or matrix in the given arguments.

    - `what`: the program, expression or matrix; `arguments`: the order of its symbols; `name`: of the kernel.
    - `vectorized`: `map` computes several samples at a time in vector registers, with equal results.
    - `passes` reduce the number of operations; each can be switched off: `passes=Passes(reassociation=False)`.

    >>> import sympy as sp
    >>> x, y = sp.symbols("x y")
    >>> f = compile(sp.Matrix([[x * y, sp.sin(x)]]), [x, y])
    >>> f(2.0, 3.0)[0].round(6).tolist()
    [[6.0, 0.909297]]
    """
    if isinstance(what, Program | LinearSolveProgram):
        return compile_program(what, vectorized, passes)
    from draisine.codegen.sympy_kernel import compile_symbolic  # imports SymPy

    if arguments is None:
        raise ArgumentError("compile: the order of the arguments is missing, e.g. compile(matrix, [x, y])")
    return compile_symbolic(what, arguments, name=name, vectorized=vectorized, passes=passes)
