"""The public names, and the modules that define them: the only list of them. They are loaded when first used.

Verbs and the types that they take first; what only some calls need is in namespaces, each with its own list.
"""

from . import (
    bicycle as bicycle,
    codegen as codegen,
    control as control,
    errors as errors,
    estimation as estimation,
    gallery as gallery,
    optimal as optimal,
    parts as parts,
    stability as stability,
    symbolic as symbolic,
    view as view,
)
from .codegen.export.jax_functions import as_jax as as_jax
from .control.design.regulator import lqr as lqr
from .diagnostics.certify import certify as certify
from .diagnostics.diagnosis import diagnose as diagnose
from .dynamics import dae as dae, formulations as formulations, stabilization as stabilization
from .dynamics.derive import derive as derive
from .estimation import losses as losses
from .estimation.estimate import estimate as estimate
from .estimation.filters.filter import filter as filter
from .learning.environment import environment as environment
from .model import contact as contact
from .model.files import read_model as read_model, write_model as write_model
from .model.model import Model as Model
from .model.robots.mjcf import read_mjcf as read_mjcf
from .model.robots.urdf import read_urdf as read_urdf
from .model.robots.urdf_writer import write_urdf as write_urdf
from .optimal import guess as guess
from .optimal.maneuver import maneuver as maneuver
from .program.equations import Equations as Equations, Event as Event
from .results.load import load as load
from .results.trajectory import Trajectory as Trajectory
from .simulation import methods as methods
from .simulation.compare_drift import compare_drift as compare_drift
from .simulation.ensemble import distributions as distributions, reductions as reductions
from .simulation.ensemble.ensemble import ensemble as ensemble
from .simulation.export import export as export
from .simulation.initial.consistent_start import consistent_start as consistent_start
from .simulation.initial.problem import InitialGuess as InitialGuess
from .simulation.simulate import simulate as simulate
from .stability.linearization import linearize as linearize
from .stability.modes import modes as modes
from .stability.steady import steady as steady
from .studio.studio import studio as studio
from .symbolic.first_order import first_order as first_order
from .symbolic.from_sympy import from_sympy as from_sympy
from .symbolic.lagrangian import lagrangian as lagrangian
from .view.drawing import draw as draw
from .view.report.report import report as report

__version__: str

def _leave(*_: object) -> None: ...
