"""Two-wheelers: Whipple–Carvallo matrices, parameter files with uncertainties, measured machines and riders, hands-free turns."""

from .closed_form import closed_form as closed_form
from .hands_free_turns import hands_free_turns as hands_free_turns
from .machines import machines as machines
from .measured import MeasuredBicycle as MeasuredBicycle, read_bicycle as read_bicycle
from .turning_atlas import turning_atlas as turning_atlas
from .uncertainty import uncertainty as uncertainty
from .whipple_matrices import whipple_matrices as whipple_matrices
