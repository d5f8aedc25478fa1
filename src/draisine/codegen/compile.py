"""Machine code of programs and of SymPy expressions (`compile`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import casadi as ca

from draisine.codegen.jit.kernel import Kernel, compiler, load
from draisine.codegen.jit.kernel import compile as compile_program
from draisine.codegen.passes import ALL, Passes
from draisine.errors import ArgumentError
from draisine.numerics.parallel import one_after_the_other
from draisine.program.linear_solve import LinearSolveProgram
from draisine.program.program import LazyProgram, Program
from draisine.symbolic.sympy_bridge import to_sx

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
    if arguments is None:
        raise ArgumentError("compile: the order of the arguments is missing, e.g. compile(matrix, [x, y])")
    return compile_symbolic(what, arguments, name=name, vectorized=vectorized, passes=passes)


def begin_compiling(
    *programs: Program | LazyProgram | LinearSolveProgram, vectorized: bool = False, quick: bool = False, passes: Passes = ALL
) -> Callable[[], tuple[Kernel, ...]]:
    """Machine code of several programs: LLVM compiles one in another thread while the text of the next is generated, and goes on
    when this returns; the function returned waits for it.

    Name first what has a short text and takes long to compile. `passes`, `quick`: see `jit.kernel.compile`.
    """
    codes = one_after_the_other("compile", (compiler(program, vectorized, quick, passes) for program in programs))
    return lambda: tuple(load(program, code.result()) for program, code in zip(programs, codes, strict=True))


def compile_symbolic(
    matrix: Any,
    arguments: Sequence[Any] | Mapping[str, Any],
    name: str = "symbolic",
    vectorized: bool = False,
    passes: Passes = ALL,
) -> Kernel:
    """Machine code of a SymPy matrix or expression; its one result, `value`, is dense.

    `arguments` are the symbols in the order of the call. A group of symbols (list, tuple, matrix row by row) is one argument, a
    vector; a mapping gives the groups names.

    >>> import sympy
    >>> a, b, c = sympy.symbols("a b c")
    >>> kernel = compile_symbolic(sympy.Matrix([[a * b, c], [0, sympy.cos(c)]]), [a, (b, c)])
    >>> kernel(2.0, [3.0, 0.0])
    (array([[6., 0.],
           [0., 1.]]),)
    """
    groups = _groups(arguments)
    symbols: dict[Any, ca.SX] = {}
    inputs: dict[str, tuple[ca.SX, tuple[str, ...]]] = {}
    for slot, members in groups.items():
        column = ca.SX.sym(slot, len(members))
        for k, member in enumerate(members):
            if member in symbols:
                raise ArgumentError(f"symbol {member} occurs twice among the arguments of {name!r}")
            symbols[member] = column[k]
        is_number = not isinstance(arguments, Mapping) and slot == str(members[0])  # labels would make it a column of one entry
        inputs[slot] = (column, () if is_number else tuple(str(m) for m in members))
    return compile_program(Program.build(name, inputs, {"value": to_sx(matrix, symbols)}), vectorized, passes)


def _groups(arguments: Sequence[Any] | Mapping[str, Any]) -> dict[str, list[Any]]:
    """Slot name → symbols. A slot with a single symbol has its name, if CasADi accepts it."""
    if isinstance(arguments, Mapping):
        return {slot: _members(given) for slot, given in arguments.items()}
    groups: dict[str, list[Any]] = {}
    for k, given in enumerate(arguments):
        members = _members(given)
        alone = str(members[0]) if len(members) == 1 and given == members[0] else ""
        groups[alone if ca.Function.check_name(alone) and alone not in groups else f"argument{k}"] = members
    return groups


def _members(given: Any) -> list[Any]:
    import sympy
    from sympy.matrices.expressions.matexpr import MatrixElement

    given = given.as_explicit() if isinstance(given, sympy.MatrixExpr) else given
    members = list(given) if isinstance(given, Iterable | sympy.MatrixBase) else [given]
    for member in members:
        if not isinstance(member, sympy.Symbol | sympy.Function | sympy.Derivative | sympy.Indexed | MatrixElement):
            raise ArgumentError(f"an argument must be a symbol or a group of symbols, got {member!r} ({type(member).__name__})")
    return members
