"""The languages of export: one file each, one entry each here."""

from __future__ import annotations

from draisine.codegen.export.language import Language
from draisine.codegen.export.languages.c import C
from draisine.codegen.export.languages.fortran import Fortran
from draisine.codegen.export.languages.javascript import JavaScript, Script
from draisine.codegen.export.languages.julia import Julia
from draisine.codegen.export.languages.octave import Octave
from draisine.codegen.export.languages.python import Python
from draisine.codegen.export.languages.rust import Rust
from draisine.errors import ExportError

LANGUAGES: dict[str, Language] = {
    language.key: language for language in (C(), Fortran(), Julia(), Octave(), JavaScript(), Script(), Rust(), Python())
}
_ALSO_CALLED = {"js": "javascript", "matlab": "octave", "numpy": "python", "c99": "c", "f90": "fortran"}


def language(name: str) -> Language:
    """A language by its name."""
    key = _ALSO_CALLED.get(name.lower(), name.lower())
    if key not in LANGUAGES:
        raise ExportError(f"there is no language {name!r} to export to; choose from {', '.join(LANGUAGES)}, casadi, fmu")
    return LANGUAGES[key]
