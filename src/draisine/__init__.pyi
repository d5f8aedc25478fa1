"""What type checkers and editors see of `draisine`; at run time names are loaded when first used (`names.py`)."""

from draisine import gallery as gallery
from draisine.control.design.feedback import Feedback as Feedback
from draisine.control.design.linearising import (
    computed_torque as computed_torque,
    feedback_linearisation as feedback_linearisation,
)
from draisine.control.design.observer import Observer as Observer, kalman as kalman, observed as observed
from draisine.control.design.regulator import lqr as lqr, place as place
from draisine.control.design.schedule import schedule as schedule
from draisine.control.follow import Bounded as Bounded, Forward as Forward, follow as follow
from draisine.control.path import OnPath as OnPath, on_path as on_path
from draisine.drawn.cycles import (
    Cycle as Cycle,
    CycleBranch as CycleBranch,
    follow_cycle as follow_cycle,
    limit_cycle as limit_cycle,
)
from draisine.drawn.ensembles import Ensemble as Ensemble, ensemble as ensemble
from draisine.drawn.films import animate as animate
from draisine.drawn.filters import Filtered as Filtered, filter as filter
from draisine.drawn.fits import (
    Fit as Fit,
    MultiStart as MultiStart,
    coverage as coverage,
    estimate as estimate,
    identifiability as identifiability,
)
from draisine.drawn.judged import Diagnosis as Diagnosis, certify as certify, diagnose as diagnose
from draisine.drawn.linear import LinearModel as LinearModel, linearize as linearize, steady as steady
from draisine.drawn.loaded import load as load
from draisine.drawn.modes import animate_mode as animate_mode, mode_shapes as mode_shapes, root_locus as root_locus
from draisine.drawn.optimal import Manoeuvre as Manoeuvre, Solution as Solution, manoeuvre as manoeuvre
from draisine.drawn.runs import Trajectory as Trajectory
from draisine.drawn.stability import StabilityMap as StabilityMap, modes as modes, stability_map as stability_map
from draisine.drawn.steady import (
    Atlas as Atlas,
    Branch as Branch,
    Steps as Steps,
    continuation as continuation,
    hands_free_turns as hands_free_turns,
    turning_atlas as turning_atlas,
)
from draisine.drift_table import compare_drift as compare_drift
from draisine.ensembles import (
    Extremes as Extremes,
    Final as Final,
    Happenings as Happenings,
    Normal as Normal,
    Snapshots as Snapshots,
    Uniform as Uniform,
)
from draisine.equations import (
    Augmented as Augmented,
    Baumgarte as Baumgarte,
    Recursive as Recursive,
    Reduced as Reduced,
    derive as derive,
)
from draisine.equations.drift import (
    GGL as GGL,
    InvariantStabilisation as InvariantStabilisation,
    Minimal as Minimal,
    NoControl as NoControl,
    Projection as Projection,
    Rattle as Rattle,
    Symplectic as Symplectic,
    VelocityProjection as VelocityProjection,
)
from draisine.equations.energies import derive_by_energies as derive_by_energies
from draisine.equations.index.findings import IndexReport as IndexReport
from draisine.equations.index.posed import posed as posed
from draisine.equations.index.reduction import reduce_index as reduce_index
from draisine.equations.index.report import index_of as index_of
from draisine.equations.typed.algebraic import implicit as implicit, semi_explicit as semi_explicit
from draisine.equations.typed.first_order import first_order as first_order
from draisine.equations.typed.from_sympy import from_sympy as from_sympy
from draisine.equations.typed.lagrange import lagrangian as lagrangian
from draisine.equations.writing.listing import listing as listing
from draisine.equations.writing.symbolic import symbolic as symbolic
from draisine.estimation.data import DataError as DataError, Experiment as Experiment
from draisine.estimation.design import (
    Design as Design,
    Determinant as Determinant,
    Instants as Instants,
    Variance as Variance,
    WorstCombination as WorstCombination,
)
from draisine.estimation.experiments import design_experiment as design_experiment
from draisine.estimation.filters.methods import Extended as Extended, Unscented as Unscented
from draisine.estimation.interpolation import Smooth as Smooth
from draisine.estimation.losses import Cauchy as Cauchy, Huber as Huber, SoftL1 as SoftL1
from draisine.estimation.multiple import MultipleShooting as MultipleShooting
from draisine.estimation.single import SingleShooting as SingleShooting
from draisine.kernels.export import as_casadi as as_casadi, as_jax as as_jax
from draisine.kernels.passes import Passes as Passes
from draisine.measured_bicycle import MeasuredBicycle as MeasuredBicycle, read_bicycle as read_bicycle
from draisine.model import Model as Model, ModelError as ModelError, System as System
from draisine.model.files import read_model as read_model, write_model as write_model
from draisine.model.laws import (
    Coulomb as Coulomb,
    Creep as Creep,
    LinearTyre as LinearTyre,
    Rolling as Rolling,
    ShenHedrickElkins as ShenHedrickElkins,
)
from draisine.optimal.adjoint.gradient import Gradient as Gradient, gradient as gradient
from draisine.optimal.adjoint.method import Adjoint as Adjoint, Descent as Descent
from draisine.optimal.collocation import Collocation as Collocation
from draisine.optimal.feedforward import Feedforward as Feedforward
from draisine.optimal.guess import Held as Held, Shaken as Shaken, Straight as Straight
from draisine.optimal.ipopt import Ipopt as Ipopt
from draisine.optimal.multistart import Searches as Searches, Starts as Starts, multistart as multistart
from draisine.optimal.predictive import Predictive as Predictive, predictive as predictive
from draisine.optimal.refinement import Refinement as Refinement
from draisine.optimal.shooting import Shooting as Shooting
from draisine.optimal.tracking import Tracking as Tracking, tracking as tracking
from draisine.presentation import draw as draw, write_equations as write_equations
from draisine.program.equations import Equations as Equations, Event as Event
from draisine.program.expression import parse as parse
from draisine.program.program import Program as Program
from draisine.program.solved import Solver as Solver
from draisine.program.sympy_bridge import to_sympy as to_sympy
from draisine.reports import Report as Report, report as report
from draisine.simulation import (
    Auto as Auto,
    CVODE as CVODE,
    ConjugateGradients as ConjugateGradients,
    DOP853 as DOP853,
    ESDIRK23 as ESDIRK23,
    EveryStage as EveryStage,
    Gauss as Gauss,
    Heun as Heun,
    IDA as IDA,
    InconsistentStart as InconsistentStart,
    Near as Near,
    PredictorCorrector as PredictorCorrector,
    RK4 as RK4,
    Radau as Radau,
    Sampled as Sampled,
    consistent_start as consistent_start,
    reactions as reactions,
)
from draisine.stability.canonical import canonical as canonical
from draisine.stability.closed_form import closed_form as closed_form
from draisine.stability.descriptor import Descriptor as Descriptor, descriptor as descriptor
from draisine.stability.periodic.flow import transition as transition
from draisine.stability.uncertainty import uncertainty as uncertainty
from draisine.verbs.making import compile as compile, export as export, operation_counts as operation_counts
from draisine.verbs.moving import simulate as simulate
from draisine.view.mesh_files import read_mesh as read_mesh
from draisine.studio.verb import open_studio

__version__: str
studio = open_studio
