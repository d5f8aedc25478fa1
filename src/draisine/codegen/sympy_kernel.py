"""Kernels of SymPy matrices and expressions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import casadi as ca

from draisine.codegen.jit.kernel import Kernel, compile
from draisine.codegen.passes import ALL, Passes
from draisine.errors import ArgumentError
from draisine.program.program import Program
from draisine.symbolic.sympy_bridge import to_sx


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
        inputs[slot] = (column, tuple(str(m) for m in members))
    return compile(Program.build(name, inputs, {"value": to_sx(matrix, symbols)}), vectorized, passes)


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
