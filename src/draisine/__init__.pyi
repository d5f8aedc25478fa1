"""The public names, and the modules that define them: the only list of them. They are loaded when first used."""

from . import errors as errors, gallery as gallery
from .bicycle.closed_form import closed_form as closed_form
from .bicycle.hands_free_turns import hands_free_turns as hands_free_turns
from .bicycle.measured import MeasuredBicycle as MeasuredBicycle, read_bicycle as read_bicycle
from .bicycle.turning_atlas import Atlas as Atlas, turning_atlas as turning_atlas
from .bicycle.uncertainty import uncertainty as uncertainty
from .bicycle.whipple_matrices import whipple_matrices as whipple_matrices
from .codegen.export.casadi_and_jax import as_casadi as as_casadi, as_jax as as_jax
from .codegen.passes import Passes as Passes
from .control.design.feedback import Feedback as Feedback
from .control.design.feedback_linearization import (
    computed_torque as computed_torque,
    feedback_linearization as feedback_linearization,
)
from .control.design.gain_schedule import gain_schedule as gain_schedule
from .control.design.observer import Observer as Observer, kalman as kalman, with_observer as with_observer
from .control.design.regulator import lqr as lqr, pole_placement as pole_placement
from .control.follow import Bounded as Bounded, Forward as Forward, follow as follow
from .control.path import OnPath as OnPath, on_path as on_path
from .diagnostics.certify import certify as certify
from .diagnostics.diagnosis import Diagnosis as Diagnosis, diagnose as diagnose
from .dynamics.options import Baumgarte as Baumgarte
from .dynamics.dae.as_dae import as_dae as as_dae
from .dynamics.dae.index_of import index_of as index_of
from .dynamics.dae.index_reduction import reduce_index as reduce_index
from .dynamics.dae.index_report import IndexReport as IndexReport
from .dynamics.options import (
    GGL as GGL,
    InvariantStabilization as InvariantStabilization,
    Minimal as Minimal,
    NoControl as NoControl,
    Projection as Projection,
    Rattle as Rattle,
    Symplectic as Symplectic,
    VelocityProjection as VelocityProjection,
)
from .dynamics.derive import derive as derive
from .dynamics.options import Augmented as Augmented, Recursive as Recursive, Reduced as Reduced
from .dynamics.lagrangian.energies import derive_by_energies as derive_by_energies
from .estimation.coverage import coverage as coverage
from .estimation.data import Experiment as Experiment
from .estimation.design_criteria import (
    Design as Design,
    DOptimal as DOptimal,
    SamplingTimes as SamplingTimes,
    Variance as Variance,
    EOptimal as EOptimal,
)
from .estimation.estimate import estimate as estimate, identifiability as identifiability
from .estimation.experiment_design import design_experiment as design_experiment
from .estimation.filters.filter import filter as filter
from .estimation.filters.filter_result import FilterResult as FilterResult
from .estimation.filters.methods import (
    ExtendedKalmanFilter as ExtendedKalmanFilter,
    UnscentedKalmanFilter as UnscentedKalmanFilter,
)
from .estimation.fit import Fit as Fit
from .estimation.inputs import CubicInput as CubicInput
from .estimation.losses import Cauchy as Cauchy, Huber as Huber, SoftL1 as SoftL1
from .estimation.multistart import MultiStart as MultiStart
from .estimation.single_shooting import SingleShooting as SingleShooting
from .expr.expression import parse as parse
from .model.contact_laws import (
    Coulomb as Coulomb,
    Creep as Creep,
    LinearTire as LinearTire,
    Rolling as Rolling,
    ShenHedrickElkins as ShenHedrickElkins,
)
from .model.files import read_model as read_model, write_model as write_model
from .model.items import System as System
from .model.model import Model as Model
from .optimal.adjoint.gradient import CostGradient as CostGradient, gradient as gradient
from .optimal.adjoint.method import Adjoint as Adjoint, Descent as Descent
from .numerics.direct_methods import Collocation as Collocation, MultipleShooting as MultipleShooting
from .optimal.feedforward import Feedforward as Feedforward
from .optimal.guess import Held as Held, PerturbedGuess as PerturbedGuess, Straight as Straight
from .optimal.ipopt import Ipopt as Ipopt
from .optimal.maneuver import OptimalControlProblem as OptimalControlProblem, maneuver as maneuver
from .optimal.model_predictive import PredictiveController as PredictiveController, predictive as predictive
from .optimal.multistart import MultistartResult as MultistartResult, RandomGuesses as RandomGuesses, multistart as multistart
from .optimal.transcription import Refinement as Refinement
from .optimal.solution import Solution as Solution
from .optimal.tracking import TrackingLaw as TrackingLaw, tracking as tracking
from .program.equations import Equations as Equations, Event as Event
from .program.linear_solve import Solver as Solver
from .program.program import Program as Program
from .results.load import load as load
from .results.linear import LinearModel as LinearModel
from .results.trajectory import Trajectory as Trajectory
from .simulation.compare_drift import compare_drift as compare_drift
from .simulation.compile import compile as compile, export as export, operation_counts as operation_counts
from .simulation.ensemble.ensemble import ensemble as ensemble
from .simulation.ensemble.reductions import (
    Extremes as Extremes,
    Final as Final,
    EventCounts as EventCounts,
    Snapshots as Snapshots,
)
from .simulation.ensemble.result import Ensemble as Ensemble
from .simulation.ensemble.samples import Normal as Normal, Uniform as Uniform
from .simulation.initial.consistent_start import consistent_start as consistent_start
from .simulation.initial.problem import InitialGuess as InitialGuess
from .simulation.iterated_reactions import ConjugateGradients as ConjugateGradients, reactions as reactions
from .simulation.methods.selection import Auto as Auto
from .simulation.methods.dop853 import DOP853 as DOP853
from .simulation.methods.esdirk23 import ESDIRK23 as ESDIRK23
from .simulation.methods.gauss import Gauss as Gauss
from .simulation.methods.heun import Heun as Heun
from .simulation.methods.predictor_corrector import PredictorCorrector as PredictorCorrector
from .simulation.methods.radau import Radau as Radau
from .simulation.methods.rk4 import RK4 as RK4
from .simulation.methods.sundials import CVODE as CVODE, IDA as IDA
from .simulation.sampled_control import EveryStage as EveryStage, Sampled as Sampled
from .simulation.simulate import simulate as simulate
from .stability.continuation.arclength import Steps as Steps
from .stability.continuation.branch import Branch as Branch, continuation as continuation
from .stability.descriptor import Descriptor as Descriptor, descriptor as descriptor
from .stability.linearization import linearize as linearize
from .stability.modes import modes as modes
from .stability.periodic.branch import CycleBranch as CycleBranch, follow_cycle as follow_cycle
from .stability.periodic.cycle import Cycle as Cycle, limit_cycle as limit_cycle
from .stability.periodic.flow import state_transition as state_transition
from .stability.stability_map import StabilityMap as StabilityMap, stability_map as stability_map
from .stability.steady import steady as steady
from .studio.studio import studio as studio
from .symbolic.differential_algebraic import implicit as implicit, semi_explicit as semi_explicit
from .symbolic.first_order import first_order as first_order
from .symbolic.from_sympy import from_sympy as from_sympy
from .symbolic.lagrangian import lagrangian as lagrangian
from .symbolic.rendering.listing import listing as listing
from .symbolic.rendering.symbolic import symbolic as symbolic
from .symbolic.sympy_bridge import to_sympy as to_sympy
from .view.drawing import draw as draw
from .view.film.animate import animate as animate
from .view.modes import animate_mode as animate_mode, mode_shapes as mode_shapes, root_locus as root_locus
from .view.equation_document import write_equations as write_equations
from .view.report.report import Report as Report, report as report
from .view.scene.mesh_files import read_mesh as read_mesh
