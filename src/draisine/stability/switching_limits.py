"""Motions that lie on the limit of a switching function, where equations have no derivative: on both sides it differs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from draisine.program.branches import branches_at, nearest_limit
from draisine.program.equations import Equations
from draisine.program.interpreter import interpret
from draisine.program.program import DaeResidual, Program
from draisine.program.switch import Switch
from draisine.program.switching import find_switching

Array = NDArray[np.float64]

ROUNDING = 1e-12  # distance of an argument from its limit, relative to the largest state or 1


def switches_at_limit(equations: Equations, x: Array, u: Array, p: Array) -> tuple[Switch, ...]:
    """The switching functions whose argument is on a limit at a state, at time zero."""
    found = find_switching(equations)
    if found is None or isinstance(found.dynamics, DaeResidual) or not np.isfinite(x).all():
        return ()
    branches = branches_at(found, 0.0, x, u, p).values
    arguments, given = found.arguments, ([0.0], x, u, np.concatenate([p, branches]))
    values = interpret(arguments, *given)[0] if isinstance(arguments, Program) else arguments(*given)[0]
    room = ROUNDING * max(1.0, float(np.abs(x).max(initial=0.0)))
    near = [
        bool(np.isfinite(z)) and abs(z - nearest_limit(switch, float(z))) <= room
        for switch, z in zip(found.switches, np.ravel(values), strict=True)
    ]
    inner = found.graph.inner_alone  # what matters there is the other one, in whose argument they are
    return tuple(
        switch for k, (switch, is_near) in enumerate(zip(found.switches, near, strict=True)) if is_near and k not in inner
    )


def limit_note(equations: Equations, x: Array, u: Array, p: Array) -> str:
    """A sentence on a motion that lies on the limit of a switching function; empty for others."""
    switches = switches_at_limit(equations, x, u, p)
    if not switches:
        return ""
    jumps, kinks = ([s.name for s in switches if s.jump == jump] for jump in (True, False))
    if jumps:
        return (
            f"the motion lies on the limit of {', '.join(jumps)}, where the rates of the states jump: no linear model describes "
            "both sides, and the derivatives are those of the law as written, without the jump; linearize beside the limit, "
            "or smooth the switch, e.g. tanh(x/width) for sign(x)"
        )
    return (
        f"the motion lies on the limit of {', '.join(kinks)}, where derivatives differ on both sides: the linear model is "
        "that of one side; linearize beside the limit on either side"
    )
