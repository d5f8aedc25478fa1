"""Derive and compile a system once and print the seconds of both. `speed.cold` runs it in new processes with an empty cache."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from importlib import import_module

from draisine.codegen.jit.kernel import compile
from draisine.dynamics.derive import derive
from draisine.gallery import model
from draisine.program.equations import Equations
from draisine.program.linear_solve import Solver

LATE = (
    "draisine.codegen.jit.llvm",
    "draisine.codegen.passes.pipeline",
    "draisine.codegen.jit.trigonometry",
    "draisine.program.casadi_functions",
    "numpy.ma",
    "numpy.random",
)


def main() -> None:
    match sys.argv[1:]:
        case ["lagrangian", solver]:
            make = lagrangian_bicycle(Solver(solver))
        case ["model", name, entry]:
            make = described(name, entry)
        case _:
            make = described("bicycle", "bicycle")
    for module in LATE:  # imported where they are used; importing is not counted
        import_module(module)
    began = time.perf_counter()
    equations = make()
    derived = time.perf_counter()
    compile(equations.dynamics)
    print(derived - began, time.perf_counter() - derived)


def described(name: str, entry: str) -> Callable[[], Equations]:
    """A model of the gallery by its name, whose entry is imported beforehand."""
    import_module(f"draisine.gallery.entries.{entry}")
    return lambda: derive(model(name))


def lagrangian_bicycle(solver: Solver) -> Callable[[], Equations]:
    """The bicycle of 23 coordinates. All libraries are imported here, beforehand."""
    from draisine import lagrangian
    from draisine.gallery.entries.delebecque_bicycle import delebecque_bicycle

    assert callable(lagrangian)
    return lambda: delebecque_bicycle(solver)


if __name__ == "__main__":
    main()
