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
    from draisine.control.follow import Bounded, Forward, follow
    from draisine.control.path import OnPath, on_path
    from draisine.doctor.diagnosis import Diagnosis, diagnose
    from draisine.drift_table import compare_drift
    from draisine.equations import Augmented, Baumgarte, Reduced, derive
    from draisine.equations.drift import (
        GGL,
        InvariantStabilisation,
        Minimal,
        NoControl,
        Projection,
        Rattle,
        Symplectic,
        VelocityProjection,
    )
    from draisine.equations.energies import derive_by_energies
    from draisine.equations.index.posed import posed
    from draisine.equations.index.reduction import reduce_index
    from draisine.equations.index.report import IndexReport, index_of
    from draisine.equations.typed.algebraic import implicit, semi_explicit
    from draisine.equations.typed.first_order import first_order
    from draisine.equations.typed.from_sympy import from_sympy
    from draisine.equations.typed.lagrange import lagrangian
    from draisine.equations.writing.listing import listing
    from draisine.equations.writing.symbolic import symbolic
    from draisine.kernels.export import as_casadi, as_jax
    from draisine.model import Model, ModelError, System
    from draisine.model.files import read_model, write_model
    from draisine.model.laws import Coulomb, Creep, LinearTyre, Rolling, ShenHedrickElkins
    from draisine.presentation import draw, write_equations
    from draisine.program.equations import Equations, Event
    from draisine.program.expression import parse
    from draisine.program.program import Program
    from draisine.program.solved import Solver
    from draisine.program.sympy_bridge import to_sympy
    from draisine.results import Trajectory, load
    from draisine.results.linear import LinearModel
    from draisine.simulation import (
        CVODE,
        DOP853,
        ESDIRK23,
        IDA,
        RK4,
        Auto,
        ConjugateGradients,
        EveryStage,
        Gauss,
        Heun,
        InconsistentStart,
        Near,
        PredictorCorrector,
        Radau,
        Sampled,
        consistent_start,
        reactions,
    )
    from draisine.stability.canonical import canonical
    from draisine.stability.linearisation import linearize
    from draisine.stability.modes import modes
    from draisine.stability.steady import steady
    from draisine.verbs import certify, compile, export, simulate

# public name → the module that holds it
_HOME = {
    "Model": "draisine.model",
    "ModelError": "draisine.model",
    "System": "draisine.model",
    "Rolling": "draisine.model.laws",
    "Creep": "draisine.model.laws",
    "LinearTyre": "draisine.model.laws",
    "Coulomb": "draisine.model.laws",
    "ShenHedrickElkins": "draisine.model.laws",
    "read_model": "draisine.model.files",
    "write_model": "draisine.model.files",
    "parse": "draisine.program.expression",
    "Program": "draisine.program.program",
    "Equations": "draisine.program.equations",
    "Event": "draisine.program.equations",
    "derive": "draisine.equations",
    "lagrangian": "draisine.equations.typed.lagrange",
    "first_order": "draisine.equations.typed.first_order",
    "semi_explicit": "draisine.equations.typed.algebraic",
    "implicit": "draisine.equations.typed.algebraic",
    "index_of": "draisine.equations.index.report",
    "IndexReport": "draisine.equations.index.report",
    "reduce_index": "draisine.equations.index.reduction",
    "posed": "draisine.equations.index.posed",
    "from_sympy": "draisine.equations.typed.from_sympy",
    "Augmented": "draisine.equations",
    "Baumgarte": "draisine.equations",
    "Reduced": "draisine.equations",
    "GGL": "draisine.equations.drift",
    "InvariantStabilisation": "draisine.equations.drift",
    "Minimal": "draisine.equations.drift",
    "NoControl": "draisine.equations.drift",
    "Projection": "draisine.equations.drift",
    "Rattle": "draisine.equations.drift",
    "Symplectic": "draisine.equations.drift",
    "VelocityProjection": "draisine.equations.drift",
    "compare_drift": "draisine.drift_table",
    "certify": "draisine.verbs",
    "diagnose": "draisine.doctor.diagnosis",
    "Diagnosis": "draisine.doctor.diagnosis",
    "derive_by_energies": "draisine.equations.energies",
    "compile": "draisine.verbs",
    "simulate": "draisine.verbs",
    "linearize": "draisine.stability.linearisation",
    "steady": "draisine.stability.steady",
    "modes": "draisine.stability.modes",
    "canonical": "draisine.stability.canonical",
    "LinearModel": "draisine.results.linear",
    "follow": "draisine.control.follow",
    "on_path": "draisine.control.path",
    "OnPath": "draisine.control.path",
    "Bounded": "draisine.control.follow",
    "Forward": "draisine.control.follow",
    "symbolic": "draisine.equations.writing.symbolic",
    "listing": "draisine.equations.writing.listing",
    "to_sympy": "draisine.program.sympy_bridge",
    "export": "draisine.verbs",
    "draw": "draisine.presentation",
    "write_equations": "draisine.presentation",
    "as_casadi": "draisine.kernels.export",
    "as_jax": "draisine.kernels.export",
    "Auto": "draisine.simulation",
    "CVODE": "draisine.simulation",
    "DOP853": "draisine.simulation",
    "ESDIRK23": "draisine.simulation",
    "Gauss": "draisine.simulation",
    "IDA": "draisine.simulation",
    "Radau": "draisine.simulation",
    "RK4": "draisine.simulation",
    "Heun": "draisine.simulation",
    "PredictorCorrector": "draisine.simulation",
    "Sampled": "draisine.simulation",
    "EveryStage": "draisine.simulation",
    "InconsistentStart": "draisine.simulation",
    "Near": "draisine.simulation",
    "consistent_start": "draisine.simulation",
    "ConjugateGradients": "draisine.simulation",
    "reactions": "draisine.simulation",
    "Solver": "draisine.program.solved",
    "Trajectory": "draisine.verbs",
    "load": "draisine.verbs",
}

__all__ = [
    "CVODE",
    "DOP853",
    "ESDIRK23",
    "GGL",
    "IDA",
    "RK4",
    "Augmented",
    "Auto",
    "Baumgarte",
    "Bounded",
    "ConjugateGradients",
    "Coulomb",
    "Creep",
    "Diagnosis",
    "Equations",
    "Event",
    "EveryStage",
    "Forward",
    "Gauss",
    "Heun",
    "InconsistentStart",
    "IndexReport",
    "InvariantStabilisation",
    "LinearModel",
    "LinearTyre",
    "Minimal",
    "Model",
    "ModelError",
    "Near",
    "NoControl",
    "OnPath",
    "PredictorCorrector",
    "Program",
    "Projection",
    "Radau",
    "Rattle",
    "Reduced",
    "Rolling",
    "Sampled",
    "ShenHedrickElkins",
    "Solver",
    "Symplectic",
    "System",
    "Trajectory",
    "VelocityProjection",
    "as_casadi",
    "as_jax",
    "canonical",
    "certify",
    "compare_drift",
    "compile",
    "consistent_start",
    "derive",
    "derive_by_energies",
    "diagnose",
    "draw",
    "export",
    "first_order",
    "follow",
    "from_sympy",
    "gallery",
    "implicit",
    "index_of",
    "lagrangian",
    "linearize",
    "listing",
    "load",
    "modes",
    "on_path",
    "parse",
    "posed",
    "reactions",
    "read_model",
    "reduce_index",
    "semi_explicit",
    "simulate",
    "steady",
    "symbolic",
    "to_sympy",
    "write_equations",
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
