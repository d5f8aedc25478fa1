"""draisine: constrained mechanical systems, from a drawing to certified equations, compiled code and motion.

    >>> import draisine as dr
    >>> bike = dr.gallery.bicycle()
    >>> run = dr.simulate(bike, 1.0, start={"speed": 4.6, "roll_rate": 0.5})
    >>> print(run.status)
    FINISHED: reached t = 1 s

Names are loaded when first used, so that `import draisine` itself costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from draisine import gallery
    from draisine.equations import Baumgarte, derive
    from draisine.equations.energies import derive_by_energies
    from draisine.equations.typed.first_order import first_order
    from draisine.equations.typed.from_sympy import from_sympy
    from draisine.equations.typed.lagrange import lagrangian
    from draisine.equations.writing.symbolic import symbolic
    from draisine.kernels.export import as_casadi, as_jax
    from draisine.model import Model, ModelError, System
    from draisine.model.files import read_model, write_model
    from draisine.program.equations import Equations, Event
    from draisine.program.expression import parse
    from draisine.program.program import Program
    from draisine.results import Trajectory, load
    from draisine.simulation import DOP853, RK4, EveryStage, InconsistentStart, PredictorCorrector, Sampled
    from draisine.verbs import certify, compile, export, simulate

# public name → the module that holds it
_HOME = {
    "Model": "draisine.model",
    "ModelError": "draisine.model",
    "System": "draisine.model",
    "read_model": "draisine.model.files",
    "write_model": "draisine.model.files",
    "parse": "draisine.program.expression",
    "Program": "draisine.program.program",
    "Equations": "draisine.program.equations",
    "Event": "draisine.program.equations",
    "derive": "draisine.equations",
    "lagrangian": "draisine.equations.typed.lagrange",
    "first_order": "draisine.equations.typed.first_order",
    "from_sympy": "draisine.equations.typed.from_sympy",
    "Baumgarte": "draisine.equations",
    "certify": "draisine.verbs",
    "derive_by_energies": "draisine.equations.energies",
    "compile": "draisine.verbs",
    "simulate": "draisine.verbs",
    "symbolic": "draisine.equations.writing.symbolic",
    "export": "draisine.verbs",
    "as_casadi": "draisine.kernels.export",
    "as_jax": "draisine.kernels.export",
    "DOP853": "draisine.simulation",
    "RK4": "draisine.simulation",
    "PredictorCorrector": "draisine.simulation",
    "Sampled": "draisine.simulation",
    "EveryStage": "draisine.simulation",
    "InconsistentStart": "draisine.simulation",
    "Trajectory": "draisine.verbs",
    "load": "draisine.verbs",
}

__all__ = [
    "DOP853",
    "RK4",
    "Baumgarte",
    "Equations",
    "Event",
    "EveryStage",
    "InconsistentStart",
    "Model",
    "ModelError",
    "PredictorCorrector",
    "Program",
    "Sampled",
    "System",
    "Trajectory",
    "as_casadi",
    "as_jax",
    "certify",
    "compile",
    "derive",
    "derive_by_energies",
    "export",
    "first_order",
    "from_sympy",
    "gallery",
    "lagrangian",
    "load",
    "parse",
    "read_model",
    "simulate",
    "symbolic",
    "write_model",
]


def __getattr__(name: str) -> Any:
    if name == "gallery":
        return import_module("draisine.gallery")
    if name == "__version__":
        from importlib.metadata import version

        return version("draisine")
    if name not in _HOME:
        raise AttributeError(f"draisine has no {name!r}; it has {', '.join(__all__)}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return __all__
