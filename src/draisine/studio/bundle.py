"""Bundle of a model for a page: its programs as a classic script, a manifest of names and limits, and the runtime.

>>> from draisine.studio.bundle import bundle
>>> made = bundle("rolling_disk")
>>> made.manifest["inputs"], made.manifest["bodies"]
([], ['disk'])
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from draisine import gallery
from draisine.dynamics.derive import derive
from draisine.errors import ArgumentError, ModelError
from draisine.model.model import Model
from draisine.model.system import System
from draisine.program.equations import Equations
from draisine.simulation.machine_source import machine_script
from draisine.studio.manifest import Manifest
from draisine.studio.programs import Programs, StraightRunning, check_runnable, solver_script, straight_running
from draisine.view.film.page import as_script

RUNTIME = (
    "starts.js",
    "eigenvalues.js",
    "spectrum.js",
    "sense.js",
    "looks.js",
    "recording.js",
    "switches.js",
    "runtime.js",
)  # in order of execution
_UNSAFE = ("</script", "<script", "<!--", "\u2028", "\u2029")  # not allowed in a script element


@dataclass(frozen=True, eq=False)
class Bundle:
    """`manifest` is plain data, `script` a classic script that registers `Draisine.programs`."""

    manifest: dict[str, Any]
    script: str

    def as_script(self) -> str:
        """Manifest, programs and runtime as one classic script, safe inside a script element; it defines `Draisine.Live`."""
        head = f"globalThis.Draisine = globalThis.Draisine || {{}};\nDraisine.manifest = {as_script(self.manifest)};\n"
        machine = [machine_script(), web_file("contacts.js")] if self.manifest["runtime"]["machine"] else []
        return safe("\n".join([head, self.script, solver_script(), *machine, *(web_file(name) for name in RUNTIME)]))


def bundle(model: Model | System | Equations | str, *, step: float | None = None) -> Bundle:
    """The bundle of a model, or of a gallery model by name; raises `ModelError` if it cannot run in a page.

    `step` is the step size in seconds; by default two milliseconds, less for fast equations.
    """
    if step is not None and not 0 < step < float("inf"):
        raise ArgumentError(f"step is the step size in seconds and must be positive; got {step!r}")
    name, description, described = _named(model)
    system = described.freeze() if isinstance(described, Model) else described if isinstance(described, System) else None
    equations = described if isinstance(described, Equations) else derive(described)
    check_runnable(equations)
    programs = Programs(equations, system, _straight(described, equations))
    manifest = Manifest(programs, name or equations.name, (system.description if system is not None else "") or description, step)
    return Bundle(manifest.data(), safe(programs.script()))


def _straight(described: Model | System | Equations, equations: Equations) -> StraightRunning | None:
    """The linear model of straight running; with contacts that open that of wheels that roll, other contacts open."""
    if not equations.unilateral:
        return straight_running(equations)
    if not isinstance(described, Model) or any(c.normal < 0 or c.bounded for c in equations.unilateral):
        return None
    rolling = derive(described.in_modes({c.name: "stick" if c.stands else "open" for c in equations.unilateral}))
    same = [p.name for p in rolling.parameters] == [p.name for p in equations.parameters]
    return straight_running(rolling) if same else None


def _named(model: Model | System | Equations | str) -> tuple[str, str, Model | System | Equations]:
    """Gallery name, one-line description, and model."""
    if not isinstance(model, str):
        return "", "", model
    found = gallery.model(model)
    return model, (getattr(gallery, model).__doc__ or "").partition("\n")[0].rstrip("."), found


def safe(text: str) -> str:
    """The text, checked to be safe inside a script element."""
    low = text.lower()
    for mark in _UNSAFE:
        if mark in low:
            raise ModelError(f"the script cannot be embedded in a page: it contains {mark!r}")
    return text


def web_file(name: str) -> str:
    """The text of a file in the folder `web`."""
    return (files("draisine.studio") / "web" / name).read_text(encoding="utf-8")
