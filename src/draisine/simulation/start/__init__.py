"""Consistent starts: fix these, solve those.

`solve` has the whole way: `wishes` are sorted, a `stage` of positions and one of velocities make each a `level` of scaled
equations, which `search` solves by `newton` and `descent`; `calm` keeps independent velocities at rest; `conflict` explains what
cannot be; `result` is what comes out.
"""

from draisine.simulation.start.problem import StartProblem
from draisine.simulation.start.result import Conflict, InconsistentStart, Leftover, Moved, Start, StartReport, Wish
from draisine.simulation.start.search import Way
from draisine.simulation.start.solve import consistent_start
from draisine.simulation.start.wishes import Near

__all__ = [
    "Conflict",
    "InconsistentStart",
    "Leftover",
    "Moved",
    "Near",
    "Start",
    "StartProblem",
    "StartReport",
    "Way",
    "Wish",
    "consistent_start",
]
