"""Nodes of a periodic motion and switching surfaces.

Deviations jump where the motion crosses a switching surface (`simulation.stepper.saltation`). A node on a surface has no unique
deviations: rounding would decide whether the jump belongs to the passage before it, to the one after it, or to none.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from draisine.program.branches import branches_at, nearest_limit
from draisine.program.equations import Equations
from draisine.program.program import DaeResidual
from draisine.program.switching import find_switching
from draisine.stability.periodic.contact_motions import change_near

Array = NDArray[np.float64]

NEAR = 1e-6  # time to a surface relative to that between two nodes
ON_SURFACE = 1e-12  # a switching function of motions that stay on its surface


def surface_near(e: Equations, t: float, x: Array, u: Array, p: Array, duration: float) -> str:
    """The name of a switching function whose surface the motion crosses about now, or on which it slides, or of a contact that
    changes its mode; "" if there is none.

    Switches of time alone do not count: deviations do not change their times.
    """
    contact = change_near(e, t, x, u, p, duration)
    if contact:
        return contact
    found = find_switching(e)
    if found is None or isinstance(found.dynamics, DaeResidual):
        return ""
    fixed = np.concatenate([p, branches_at(found, t, x, u, p).values])
    arguments, rates = (np.asarray(program([t], x, u, fixed)[0]) for program in (found.arguments, found.rates))
    for switch, z, rate in zip(found.switches, arguments, rates, strict=True):
        distance = abs(z - nearest_limit(switch, z))
        reach = NEAR * duration * abs(rate) if np.isfinite(rate) else 0.0
        if not switch.time_only and switch.jump and distance <= max(reach, ON_SURFACE):
            return switch.name
    return ""
