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
    from draisine.control.design.feedback import Feedback
    from draisine.control.design.linearising import computed_torque, feedback_linearisation
    from draisine.control.design.observer import Observer, kalman, observed
    from draisine.control.design.regulator import lqr, place
    from draisine.control.design.schedule import schedule
    from draisine.control.follow import Bounded, Forward, follow
    from draisine.control.path import OnPath, on_path
    from draisine.doctor.diagnosis import Diagnosis, diagnose
    from draisine.drawn.films import animate
    from draisine.drawn.filters import Filtered, filter
    from draisine.drawn.fits import Fit, MultiStart, coverage, estimate, identifiability
    from draisine.drawn.modes import animate_mode, mode_shapes, root_locus
    from draisine.drawn.optimal import Manoeuvre, Solution, manoeuvre
    from draisine.drawn.stability import StabilityMap, modes, stability_map
    from draisine.drawn.steady import Atlas, Branch, Steps, continuation, hands_free_turns, turning_atlas
    from draisine.drift_table import compare_drift
    from draisine.ensembles import Ensemble, Extremes, Final, Happenings, Normal, Snapshots, Uniform, ensemble
    from draisine.equations import Augmented, Baumgarte, Recursive, Reduced, derive
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
    from draisine.equations.index.findings import IndexReport
    from draisine.equations.index.posed import posed
    from draisine.equations.index.reduction import reduce_index
    from draisine.equations.index.report import index_of
    from draisine.equations.typed.algebraic import implicit, semi_explicit
    from draisine.equations.typed.first_order import first_order
    from draisine.equations.typed.from_sympy import from_sympy
    from draisine.equations.typed.lagrange import lagrangian
    from draisine.equations.writing.listing import listing
    from draisine.equations.writing.symbolic import symbolic
    from draisine.estimation.data import DataError, Experiment
    from draisine.estimation.design import Design, Determinant, Instants, Variance, WorstCombination
    from draisine.estimation.experiments import design_experiment
    from draisine.estimation.filters.methods import Extended, Unscented
    from draisine.estimation.interpolation import Smooth
    from draisine.estimation.losses import Cauchy, Huber, SoftL1
    from draisine.estimation.multiple import MultipleShooting
    from draisine.estimation.single import SingleShooting
    from draisine.kernels.export import as_casadi, as_jax
    from draisine.measured_bicycle import MeasuredBicycle, read_bicycle
    from draisine.model import Model, ModelError, System
    from draisine.model.files import read_model, write_model
    from draisine.model.laws import Coulomb, Creep, LinearTyre, Rolling, ShenHedrickElkins
    from draisine.optimal.adjoint.gradient import Gradient, gradient
    from draisine.optimal.adjoint.method import Adjoint, Descent
    from draisine.optimal.collocation import Collocation
    from draisine.optimal.feedforward import Feedforward
    from draisine.optimal.guess import Held, Shaken, Straight
    from draisine.optimal.ipopt import Ipopt
    from draisine.optimal.multistart import Searches, Starts, multistart
    from draisine.optimal.predictive import Predictive, predictive
    from draisine.optimal.refinement import Refinement
    from draisine.optimal.shooting import Shooting
    from draisine.optimal.tracking import Tracking, tracking
    from draisine.presentation import draw, write_equations
    from draisine.program.equations import Equations, Event
    from draisine.program.expression import parse
    from draisine.program.program import Program
    from draisine.program.solved import Solver
    from draisine.program.sympy_bridge import to_sympy
    from draisine.reports import Report, report
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
    from draisine.stability.closed_form import closed_form
    from draisine.stability.descriptor import Descriptor, descriptor
    from draisine.stability.linearisation import linearize
    from draisine.stability.periodic.branch import CycleBranch, follow_cycle
    from draisine.stability.periodic.cycle import Cycle, limit_cycle
    from draisine.stability.periodic.flow import transition
    from draisine.stability.steady import steady
    from draisine.stability.uncertainty import uncertainty
    from draisine.studio.verb import open_studio as studio
    from draisine.verbs import certify, compile, export, simulate
    from draisine.view.mesh_files import read_mesh

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
    **dict.fromkeys(("Extremes", "Final", "Happenings", "Normal", "Snapshots", "Uniform"), "draisine.ensembles"),
    "ensemble": "draisine.drawn.ensembles",
    "Ensemble": "draisine.drawn.ensembles",
    "derive": "draisine.equations",
    "lagrangian": "draisine.equations.typed.lagrange",
    "first_order": "draisine.equations.typed.first_order",
    "semi_explicit": "draisine.equations.typed.algebraic",
    "implicit": "draisine.equations.typed.algebraic",
    "index_of": "draisine.equations.index.report",
    "IndexReport": "draisine.equations.index.findings",
    "reduce_index": "draisine.equations.index.reduction",
    "posed": "draisine.equations.index.posed",
    "from_sympy": "draisine.equations.typed.from_sympy",
    "Augmented": "draisine.equations",
    "Baumgarte": "draisine.equations",
    "Recursive": "draisine.equations",
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
    "certify": "draisine.drawn.judged",
    "diagnose": "draisine.drawn.judged",
    "Diagnosis": "draisine.drawn.judged",
    "derive_by_energies": "draisine.equations.energies",
    "compile": "draisine.verbs",
    "simulate": "draisine.verbs",
    "Atlas": "draisine.drawn.steady",
    "Branch": "draisine.drawn.steady",
    "Steps": "draisine.drawn.steady",
    "continuation": "draisine.drawn.steady",
    "hands_free_turns": "draisine.drawn.steady",
    "turning_atlas": "draisine.drawn.steady",
    "linearize": "draisine.drawn.linear",
    "descriptor": "draisine.stability.descriptor",
    "Descriptor": "draisine.stability.descriptor",
    "steady": "draisine.drawn.linear",
    **dict.fromkeys(("limit_cycle", "Cycle", "follow_cycle", "CycleBranch"), "draisine.drawn.cycles"),
    "transition": "draisine.stability.periodic.flow",
    "modes": "draisine.drawn.stability",
    "stability_map": "draisine.drawn.stability",
    "StabilityMap": "draisine.drawn.stability",
    "canonical": "draisine.stability.canonical",
    "animate_mode": "draisine.drawn.modes",
    "root_locus": "draisine.drawn.modes",
    "mode_shapes": "draisine.drawn.modes",
    "uncertainty": "draisine.stability.uncertainty",
    "MeasuredBicycle": "draisine.measured_bicycle",
    "read_bicycle": "draisine.measured_bicycle",
    "closed_form": "draisine.stability.closed_form",
    "LinearModel": "draisine.drawn.linear",
    "Feedback": "draisine.control.design.feedback",
    "computed_torque": "draisine.control.design.linearising",
    "feedback_linearisation": "draisine.control.design.linearising",
    "Observer": "draisine.control.design.observer",
    "kalman": "draisine.control.design.observer",
    "observed": "draisine.control.design.observer",
    "lqr": "draisine.control.design.regulator",
    "place": "draisine.control.design.regulator",
    "schedule": "draisine.control.design.schedule",
    "follow": "draisine.control.follow",
    "on_path": "draisine.control.path",
    "OnPath": "draisine.control.path",
    "Bounded": "draisine.control.follow",
    "Forward": "draisine.control.follow",
    "manoeuvre": "draisine.drawn.optimal",
    "Manoeuvre": "draisine.drawn.optimal",
    "Collocation": "draisine.optimal.collocation",
    "Adjoint": "draisine.optimal.adjoint.method",
    "Descent": "draisine.optimal.adjoint.method",
    "Gradient": "draisine.optimal.adjoint.gradient",
    "Searches": "draisine.optimal.multistart",
    "Starts": "draisine.optimal.multistart",
    "multistart": "draisine.optimal.multistart",
    "gradient": "draisine.optimal.adjoint.gradient",
    "Shooting": "draisine.optimal.shooting",
    "Straight": "draisine.optimal.guess",
    "Held": "draisine.optimal.guess",
    "Shaken": "draisine.optimal.guess",
    "Ipopt": "draisine.optimal.ipopt",
    "Refinement": "draisine.optimal.refinement",
    "Solution": "draisine.drawn.optimal",
    "Feedforward": "draisine.optimal.feedforward",
    "Predictive": "draisine.optimal.predictive",
    "predictive": "draisine.optimal.predictive",
    "Tracking": "draisine.optimal.tracking",
    "tracking": "draisine.optimal.tracking",
    "estimate": "draisine.drawn.fits",
    "identifiability": "draisine.drawn.fits",
    "coverage": "draisine.drawn.fits",
    "Fit": "draisine.drawn.fits",
    "MultiStart": "draisine.drawn.fits",
    "Experiment": "draisine.estimation.data",
    "DataError": "draisine.estimation.data",
    "Huber": "draisine.estimation.losses",
    "SoftL1": "draisine.estimation.losses",
    "Smooth": "draisine.estimation.interpolation",
    "Cauchy": "draisine.estimation.losses",
    "SingleShooting": "draisine.estimation.single",
    "MultipleShooting": "draisine.estimation.multiple",
    "design_experiment": "draisine.estimation.experiments",
    "Design": "draisine.estimation.design",
    "Variance": "draisine.estimation.design",
    "Determinant": "draisine.estimation.design",
    "WorstCombination": "draisine.estimation.design",
    "Instants": "draisine.estimation.design",
    "filter": "draisine.drawn.filters",
    "Filtered": "draisine.drawn.filters",
    "Extended": "draisine.estimation.filters.methods",
    "Unscented": "draisine.estimation.filters.methods",
    "symbolic": "draisine.equations.writing.symbolic",
    "listing": "draisine.equations.writing.listing",
    "to_sympy": "draisine.program.sympy_bridge",
    "export": "draisine.verbs",
    "animate": "draisine.drawn.films",
    "draw": "draisine.presentation",
    "read_mesh": "draisine.view.mesh_files",
    "write_equations": "draisine.presentation",
    "report": "draisine.reports",
    "Report": "draisine.reports",
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
    "Adjoint",
    "Atlas",
    "Augmented",
    "Auto",
    "Baumgarte",
    "Bounded",
    "Branch",
    "Cauchy",
    "Collocation",
    "ConjugateGradients",
    "Coulomb",
    "Creep",
    "Cycle",
    "CycleBranch",
    "DataError",
    "Descent",
    "Descriptor",
    "Design",
    "Determinant",
    "Diagnosis",
    "Ensemble",
    "Equations",
    "Event",
    "EveryStage",
    "Experiment",
    "Extended",
    "Extremes",
    "Feedback",
    "Feedforward",
    "Filtered",
    "Final",
    "Fit",
    "Forward",
    "Gauss",
    "Gradient",
    "Happenings",
    "Held",
    "Heun",
    "Huber",
    "InconsistentStart",
    "IndexReport",
    "Instants",
    "InvariantStabilisation",
    "Ipopt",
    "LinearModel",
    "LinearTyre",
    "Manoeuvre",
    "MeasuredBicycle",
    "Minimal",
    "Model",
    "ModelError",
    "MultiStart",
    "MultipleShooting",
    "Near",
    "NoControl",
    "Normal",
    "Observer",
    "OnPath",
    "Predictive",
    "PredictorCorrector",
    "Program",
    "Projection",
    "Radau",
    "Rattle",
    "Recursive",
    "Reduced",
    "Refinement",
    "Report",
    "Rolling",
    "Sampled",
    "Searches",
    "Shaken",
    "ShenHedrickElkins",
    "Shooting",
    "SingleShooting",
    "Smooth",
    "Snapshots",
    "SoftL1",
    "Solution",
    "Solver",
    "StabilityMap",
    "Starts",
    "Steps",
    "Straight",
    "Symplectic",
    "System",
    "Tracking",
    "Trajectory",
    "Uniform",
    "Unscented",
    "Variance",
    "VelocityProjection",
    "WorstCombination",
    "animate",
    "animate_mode",
    "as_casadi",
    "as_jax",
    "canonical",
    "certify",
    "closed_form",
    "compare_drift",
    "compile",
    "computed_torque",
    "consistent_start",
    "continuation",
    "coverage",
    "derive",
    "derive_by_energies",
    "descriptor",
    "design_experiment",
    "diagnose",
    "draw",
    "ensemble",
    "estimate",
    "export",
    "feedback_linearisation",
    "filter",
    "first_order",
    "follow",
    "follow_cycle",
    "from_sympy",
    "gallery",
    "gradient",
    "hands_free_turns",
    "identifiability",
    "implicit",
    "index_of",
    "kalman",
    "lagrangian",
    "limit_cycle",
    "linearize",
    "listing",
    "load",
    "lqr",
    "manoeuvre",
    "mode_shapes",
    "modes",
    "multistart",
    "observed",
    "on_path",
    "parse",
    "place",
    "posed",
    "predictive",
    "reactions",
    "read_bicycle",
    "read_mesh",
    "read_model",
    "reduce_index",
    "report",
    "root_locus",
    "schedule",
    "semi_explicit",
    "simulate",
    "stability_map",
    "steady",
    "studio",
    "symbolic",
    "to_sympy",
    "tracking",
    "transition",
    "turning_atlas",
    "uncertainty",
    "write_equations",
    "write_model",
]


def __getattr__(name: str) -> Any:
    if name in ("gallery", "studio"):
        return import_module(f"draisine.{name}")
    if name == "__version__":
        from importlib.metadata import version

        return version("draisine")
    if name not in _HOME:
        raise AttributeError(f"draisine has no {name!r}; it has {', '.join(__all__)}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return __all__
