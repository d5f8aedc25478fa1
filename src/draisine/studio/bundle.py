"""A model made ready for a page: its programs as a classic script, a manifest of names and limits, and the runtime.

>>> from draisine.studio import bundle
>>> made = bundle("rolling_disk")
>>> made.manifest["inputs"], made.manifest["bodies"]
([], ['disk'])
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from draisine.dynamics.derive import derive
from draisine.errors import ArgumentError, ModelError
from draisine.model.items import System
from draisine.model.model import Model
from draisine.program.equations import Equations
from draisine.studio.manifest import Manifest
from draisine.studio.programs import Programs, check_livable, solver_script, straight_running
from draisine.view.film.page import as_script

RUNTIME = (
    "starts.js",
    "eigenvalues.js",
    "spectrum.js",
    "sense.js",
    "looks.js",
    "recording.js",
    "runtime.js",
)  # in the order in which they run
_UNSAFE = ("</script", "<script", "<!--", "\u2028", "\u2029")  # what may not stand in a script element


@dataclass(frozen=True, eq=False)
class Bundle:
    """`manifest` is plain data, `script` a classic script that registers `Draisine.programs`."""

    manifest: dict[str, Any]
    script: str

    def as_script(self) -> str:
        """Manifest, programs and runtime as one classic script, safe inside a script element; it defines `Draisine.Live`."""
        head = f"globalThis.Draisine = globalThis.Draisine || {{}};\nDraisine.manifest = {as_script(self.manifest)};\n"
        return safe("\n".join([head, self.script, solver_script(), *(web_file(name) for name in RUNTIME)]))


def bundle(model: Model | System | Equations | str, *, step: float | None = None) -> Bundle:
    """A model, or one of the gallery by name, ready for a page; `ModelError` says why one cannot run there.

    `step` is the length of a step in seconds; by default two milliseconds, less where the equations are fast.
    """
    if step is not None and not 0 < step < float("inf"):
        raise ArgumentError(f"step is the length of a step in seconds, a positive number; got {step!r}")
    name, description, described = _named(model)
    system = described.freeze() if isinstance(described, Model) else described if isinstance(described, System) else None
    equations = described if isinstance(described, Equations) else derive(described)
    check_livable(equations)
    programs = Programs(equations, system, straight_running(equations))
    manifest = Manifest(programs, name or equations.name, (system.description if system is not None else "") or description, step)
    return Bundle(manifest.data(), safe(programs.script()))


def _named(model: Model | System | Equations | str) -> tuple[str, str, Model | System | Equations]:
    """The name of a model in the gallery, one line about it, and the model."""
    if not isinstance(model, str):
        return "", "", model
    from draisine import gallery

    found = gallery.model(model)
    return model, (getattr(gallery, model).__doc__ or "").partition("\n")[0].rstrip("."), found


def safe(text: str) -> str:
    """The text, if it can stand inside a script element."""
    low = text.lower()
    for mark in _UNSAFE:
        if mark in low:
            raise ModelError(f"the script cannot be put into a page: it holds {mark!r}")
    return text


def web_file(name: str) -> str:
    """A text of the folder `web`."""
    return (files("draisine.studio") / "web" / name).read_text(encoding="utf-8")
