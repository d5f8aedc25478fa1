"""What type checkers and editors see; at run time names are loaded when first used."""

from draisine.simulation.choices import Choices as Choices, prepare as prepare
from draisine.simulation.control import EveryStage as EveryStage, Sampled as Sampled, State as State
from draisine.simulation.iterated import ConjugateGradients as ConjugateGradients, Reactions as Reactions, reactions as reactions
from draisine.simulation.methods import (
    CVODE as CVODE,
    DOP853 as DOP853,
    ESDIRK23 as ESDIRK23,
    IDA as IDA,
    RK4 as RK4,
    Auto as Auto,
    Gauss as Gauss,
    Heun as Heun,
    Method as Method,
    PredictorCorrector as PredictorCorrector,
    Radau as Radau,
)
from draisine.simulation.result import Occurrence as Occurrence, Run as Run, Segment as Segment
from draisine.simulation.run import integrate as integrate
from draisine.simulation.start import (
    Conflict as Conflict,
    InconsistentStart as InconsistentStart,
    Near as Near,
    Start as Start,
    StartProblem as StartProblem,
    StartReport as StartReport,
    consistent_start as consistent_start,
)
