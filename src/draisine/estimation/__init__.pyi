"""Parameters and states from data: experiments, methods, filters, design of experiments."""

from . import losses as losses
from .coverage import coverage as coverage
from .data import Experiment as Experiment
from .design_criteria import DOptimal as DOptimal, EOptimal as EOptimal, SamplingTimes as SamplingTimes, Variance as Variance
from .estimate import estimate as estimate, identifiability as identifiability
from .experiment_design import design_experiment as design_experiment
from .filters.methods import ExtendedKalmanFilter as ExtendedKalmanFilter, UnscentedKalmanFilter as UnscentedKalmanFilter
from .inputs import CubicInput as CubicInput
from .multistart import MultiStart as MultiStart
from .rider_identification import identify_rider as identify_rider
from .sensors import Sensor as Sensor
from .single_shooting import SingleShooting as SingleShooting
from .multiple_shooting import Collocation as Collocation, MultipleShooting as MultipleShooting
from .filters.filter_result import FilterResult as FilterResult
from .fit import Fit as Fit
