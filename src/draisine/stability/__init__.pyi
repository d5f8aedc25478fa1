"""Linear models, steady motions and their branches, periodic motions, stability maps."""

from .continuation.arclength import Steps as Steps
from .continuation.branch import continuation as continuation
from .descriptor import descriptor as descriptor
from .linearization import linearize as linearize
from .modes import modes as modes
from .periodic.branch import CycleBranch as CycleBranch, follow_cycle as follow_cycle
from .periodic.cycle import Cycle as Cycle, limit_cycle as limit_cycle
from .periodic.flow import state_transition as state_transition
from .stability_map import stability_map as stability_map
from .steady import steady as steady
