"""What type checkers and editors see; at run time names are loaded when first used."""

from draisine.simulation.methods.auto import Auto as Auto
from draisine.simulation.methods.dop853 import DOP853 as DOP853
from draisine.simulation.methods.esdirk23 import ESDIRK23 as ESDIRK23
from draisine.simulation.methods.gauss import Gauss as Gauss
from draisine.simulation.methods.heun import Heun as Heun
from draisine.simulation.methods.method import Method as Method
from draisine.simulation.methods.predictor_corrector import PredictorCorrector as PredictorCorrector
from draisine.simulation.methods.radau import Radau as Radau
from draisine.simulation.methods.rk4 import RK4 as RK4
from draisine.simulation.methods.scheme import Scheme as Scheme, SteppingMethod as SteppingMethod
from draisine.simulation.methods.sundials import CVODE as CVODE, IDA as IDA
