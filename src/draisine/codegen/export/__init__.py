"""Export: programs as source code of other languages, as functional mock-up units (FMU), and as objects of other libraries.

`write` writes one program to a file of a language; `write_system` writes several programs of a system in several languages,
including FMUs. `as_casadi` and `as_jax` return objects in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from numpy.typing import ArrayLike

from draisine.codegen.export.casadi_and_jax import as_casadi, as_jax
from draisine.codegen.export.exportable_programs import WHAT, items, without_uncounted_work
from draisine.codegen.export.fmu import ContactSources, write_fmu
from draisine.codegen.export.languages import LANGUAGES, language
from draisine.codegen.export.names import letters
from draisine.codegen.export.source import Guide, file_name, source_text
from draisine.errors import ExportError
from draisine.program.equations import Equations
from draisine.program.linear_solve import LinearSolveProgram
from draisine.program.program import Program
from draisine.results.files import replacing, write_text

CASADI, FMU = "casadi", "fmu"  # files that are not source


def write(program: Program | LinearSolveProgram, lang: str, folder: Path, guide: Guide | None = None) -> Path:
    """Write a program in a language (or as a file for `casadi.Function.load`); returns the path."""
    if lang.lower() == FMU:
        raise ExportError(f"a functional mock-up unit needs a whole system; {program.name!r} is a single program")
    program = without_uncounted_work(program)
    if lang.lower() != CASADI:
        target = language(lang)
        path, text = folder / file_name(program, target), source_text(program, target, guide)
        folder.mkdir(parents=True, exist_ok=True)
        write_text(path, text)
        return path
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{letters(program.name)}.casadi"
    with replacing(path) as draft:
        as_casadi(program).save(str(draft))
    return path


def write_system(
    equations: Equations,
    langs: Sequence[str],
    what: Iterable[str],
    folder: Path,
    description: str = "",
    start: Callable[[], ArrayLike] | None = None,
) -> list[Path]:
    """Write programs of a system in each language. `start` gives the state in which a functional mock-up unit begins."""
    for lang in langs:
        if lang.lower() not in (CASADI, FMU):
            language(lang)  # raises for an unknown name before anything is written
    requested = items(equations, what, description) if any(lang.lower() != FMU for lang in langs) else []
    written = []
    for lang in langs:
        if lang.lower() == FMU:
            if start is None:
                raise ExportError(f"the functional mock-up unit of {equations.name!r} needs a start; pass start=")
            written.append(write_fmu(equations, start(), folder, description))
        else:
            written += [write(item.program, lang, folder, item.guide) for item in requested]
    return written


__all__ = ["LANGUAGES", "WHAT", "ContactSources", "Guide", "as_casadi", "as_jax", "write", "write_fmu", "write_system"]
