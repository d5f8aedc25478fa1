"""Optimal control: transcriptions and solvers, gradients by the adjoint method, tracking and predictive control."""

from . import guess as guess
from .adjoint.gradient import gradient as gradient
from .adjoint.method import Adjoint as Adjoint, Descent as Descent
from .ipopt import Ipopt as Ipopt
from .maneuver import OptimalControlProblem as OptimalControlProblem, maneuver as maneuver
from .model_predictive import predictive as predictive
from .multistart import MultistartResult as MultistartResult, RandomGuesses as RandomGuesses, multistart as multistart
from .tracking import tracking as tracking
from .refinement import Refinement as Refinement
from .transcription import Collocation as Collocation, MultipleShooting as MultipleShooting
from .feedforward import Feedforward as Feedforward
from .solution import Solution as Solution
