from .dop853 import DOP853 as DOP853
from .esdirk23 import ESDIRK23 as ESDIRK23
from .gauss import Gauss as Gauss
from .heun import Heun as Heun
from .predictor_corrector import PredictorCorrector as PredictorCorrector
from .radau import Radau as Radau
from .rk4 import RK4 as RK4
from .sundials import CVODE as CVODE, IDA as IDA
from .selection import Auto as Auto
