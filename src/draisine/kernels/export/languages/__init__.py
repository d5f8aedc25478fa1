"""The languages that programs can be written in: one file each, one line each here."""

from __future__ import annotations

from draisine.kernels.export.language import ExportError, Language
from draisine.kernels.export.languages.c import C
from draisine.kernels.export.languages.fortran import Fortran
from draisine.kernels.export.languages.javascript import JavaScript
from draisine.kernels.export.languages.julia import Julia
from draisine.kernels.export.languages.octave import Octave
from draisine.kernels.export.languages.python import Python
from draisine.kernels.export.languages.rust import Rust
from draisine.kernels.export.languages.script import Script

LANGUAGES: dict[str, Language] = {
    made.key: made for made in (C(), Fortran(), Julia(), Octave(), JavaScript(), Script(), Rust(), Python())
}
_ALSO_CALLED = {"js": "javascript", "matlab": "octave", "numpy": "python", "c99": "c", "f90": "fortran"}


def language(name: str) -> Language:
    """A language by its name."""
    key = _ALSO_CALLED.get(name.lower(), name.lower())
    if key not in LANGUAGES:
        raise ExportError(f"there is no language {name!r} to export to; choose from {', '.join(LANGUAGES)}, casadi, fmu")
    return LANGUAGES[key]
