"""Machine code of programs (`compile`), operation counts (`operation_counts`) and source code in other languages (`export`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from draisine.codegen.export import write, write_system
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
from draisine.simulation.initial.consistent_start import consistent_start
from draisine.simulation.initial.problem import InitialGuess, StartProblem

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


def export(
    model: Model | System | Equations | Program | LinearSolveProgram,
    lang: str | Sequence[str] = "c",
    what: str | Sequence[str] = ("dynamics",),
    out: str | Path = ".",
    *,
    start: Mapping[str, float | InitialGuess] | None = None,
) -> list[Path]:
    """Write programs of a model, or one program, as source code in other languages; return the paths of the files.

    - `lang`: c, fortran, julia, octave (MATLAB too), javascript, script (JavaScript for pages), rust, python; casadi for a file
      that CasADi loads; fmu for a functional mock-up unit (FMI 3.0, model exchange) of the whole model.
    - `what`: dynamics, residual, linear, report, motion, mass_matrix, inverse_dynamics, multipliers, contacts, project, events,
      monitor; a residual where equations are given as 0 = F(t, x, ẋ).
    - `start`: targets for the initial state of a functional mock-up unit, as in `simulate`.
    """
    langs = [lang] if isinstance(lang, str) else list(lang)
    if isinstance(model, Program | LinearSolveProgram):
        return [write(model, one, Path(out)) for one in langs]
    equations = model if isinstance(model, Equations) else derive(model)
    description = "" if isinstance(model, Equations) else (model.freeze() if isinstance(model, Model) else model).description

    def begin() -> np.ndarray:
        return consistent_start(StartProblem(equations), dict(start or {})).x

    return write_system(equations, langs, [what] if isinstance(what, str) else what, Path(out), description, begin)
