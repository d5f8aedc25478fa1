"""Feedback laws, observers and prescribed paths; `lqr` is at the top of the package."""

from .design.feedback_linearization import computed_torque as computed_torque, feedback_linearization as feedback_linearization
from .design.gain_schedule import gain_schedule as gain_schedule
from .design.observer import kalman as kalman, with_observer as with_observer
from .design.regulator import lqr as lqr, pole_placement as pole_placement
from .follow import Bounded as Bounded, Forward as Forward, follow as follow
from .path import on_path as on_path
from .python_control import to_control as to_control
from .design.feedback import EveryStage as EveryStage, Sampled as Sampled
from .rider_control import RiderControl as RiderControl, rider_control as rider_control
