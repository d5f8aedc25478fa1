"""Source code of models in other languages, and functional mock-up units (`export`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from draisine.codegen.export import write, write_system
from draisine.dynamics.derive import derive
from draisine.errors import ArgumentError
from draisine.model.model import Model
from draisine.model.system import System
from draisine.program.arguments import refuse_unilateral
from draisine.program.equations import Equations
from draisine.program.linear_solve import LinearSolveProgram
from draisine.program.program import Program
from draisine.results.channel import HasState
from draisine.simulation.initial.consistent_start import consistent_start
from draisine.simulation.initial.problem import InitialGuess, StartProblem
from draisine.simulation.machine_source import Included, write_machine


def export(
    model: Model | System | Equations | Program | LinearSolveProgram,
    lang: str | Sequence[str] = "c",
    what: str | Sequence[str] = ("dynamics",),
    out: str | Path = ".",
    *,
    start: Mapping[str, float | InitialGuess] | HasState | None = None,
    modes: Included | None = None,
) -> list[Path]:
    """Write programs of a model, or one program, as source code in other languages; return the paths of the files.

    - `lang`: c, fortran, julia, octave (MATLAB too), javascript, script (JavaScript for pages), rust, python; casadi for a file
      that CasADi loads; fmu for a functional mock-up unit (FMI 3.0, model exchange and co-simulation) of the whole model.
    - `what`: dynamics, residual, linear, report, motion, mass_matrix, inverse_dynamics, multipliers, contacts, project, events,
      monitor; a residual where equations are given as 0 = F(t, x, ẋ).
    - `out`: the folder of the files; it is made if it does not exist.
    - `start`: targets for the initial state of a functional mock-up unit, or a result, as in `simulate`.
    - `modes`: for a model with contacts that stick, slip and open: "all", or the modes that each contact may have, such as
      {"front": ("stick", "slip")}. In c and javascript a machine follows them (`NAME_machine`), and ends with a status where a
      contact leaves its modes. A functional mock-up unit contains it; there "all" is the default.
    """
    langs = [one.lower() for one in ([lang] if isinstance(lang, str) else lang)]
    if modes is None and not isinstance(model, Program | LinearSolveProgram) and model.unilateral and {*langs} == {"fmu"}:
        modes = "all"
    if modes is None:
        refuse_unilateral("export", model, '; in C, JavaScript and FMU modes="all" writes a machine that follows them')
    if modes is not None:
        return _export_machine(model, langs, Path(out), start, modes)
    nothing = start is None or (isinstance(start, Mapping) and not start)
    if not nothing and "fmu" not in langs:
        raise ArgumentError(
            "export: start= is of a functional mock-up unit (fmu), or of a machine (modes=); "
            f"programs in {', '.join(langs)} take the state as an argument"
        )
    if isinstance(model, Program | LinearSolveProgram):
        return [write(model, one, Path(out)) for one in langs]
    kinds = [what] if isinstance(what, str) else list(what)
    if isinstance(model, Equations):
        equations, description = model, ""
    else:
        system = model.freeze() if isinstance(model, Model) else model
        # whoever runs the export gives the inputs: their work is counted wherever it is reported
        counted = bool(system.inputs) and ("fmu" in langs or "report" in kinds)
        equations, description = derive(system, work=True if counted else None), system.description

    def begin() -> np.ndarray:
        return consistent_start(StartProblem(equations), start).x

    return write_system(equations, langs, kinds, Path(out), description, begin)


def _export_machine(
    model: Model | System | Equations | Program | LinearSolveProgram,
    langs: Sequence[str],
    folder: Path,
    start: Mapping[str, float | InitialGuess] | HasState | None,
    modes: Included,
) -> list[Path]:
    if isinstance(model, Program | LinearSolveProgram) or not model.unilateral:
        raise ArgumentError(
            f"export: modes= is for models with contacts that stick, slip and open (friction=); {model.name!r} has none"
        )
    equations = model if isinstance(model, Equations) else derive(model)
    description = "" if isinstance(model, Equations) else (model.freeze() if isinstance(model, Model) else model).description
    return write_machine(equations, consistent_start(StartProblem(equations), start), langs, folder, modes, description)
