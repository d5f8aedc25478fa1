"""Exact linearisation of a mechanism about an admissible motion.

>>> import draisine as dr
>>> straight = dr.linearize(dr.gallery.bicycle(), at={"speed": 5.0}, states=("lean", "steer")).essential()
>>> straight.states
('lean', 'steer', 'frame_wx', 'steer_rate')
>>> straight.eigenvalues.real.round(6).tolist()
[-14.07839, -0.775342, -0.775342, -0.322866]
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from draisine.equations.derive import derive
from draisine.model.errors import ModelError
from draisine.model.items import System
from draisine.model.model import Model
from draisine.program.equations import Equations
from draisine.results.linear import LinearModel
from draisine.simulation import StartProblem, consistent_start
from draisine.simulation.names import numbers
from draisine.stability.deviations import deviations_of

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Motion:
    """A state of given equations, with its inputs and parameters, at time zero."""

    equations: Equations
    x: Array
    u: Array
    p: Array


def equations_of(model: Model | System | Equations) -> Equations:
    """Equations without bookkeeping states."""
    return model if isinstance(model, Equations) else derive(model, work=False)


def motion_at(
    model: Model | System | Equations,
    at: Mapping[str, float] | None = None,
    parameters: Mapping[str, float] | None = None,
    inputs: Mapping[str, float] | None = None,
) -> Motion:
    """The consistent state nearest to the defaults in which the wishes hold."""
    equations = equations_of(model)
    p = numbers("parameter", equations.parameters, parameters)
    u = numbers("input", equations.inputs, inputs)
    for kind, values, quantities in (("parameter", p, equations.parameters), ("input", u, equations.inputs)):
        for quantity, value in zip(quantities, values, strict=True):
            if not np.isfinite(value):
                raise ModelError(f"{equations.name}: {kind} {quantity.name!r} is {value}; give a finite number")
    x = consistent_start(StartProblem(equations), dict(at or {}), parameters, inputs=dict(inputs or {})).x
    return Motion(equations, x, u, p)


def linearize(
    model: Model | System | Equations | Motion,
    at: Mapping[str, float] | None = None,
    *,
    parameters: Mapping[str, float] | None = None,
    inputs: Mapping[str, float] | None = None,
    states: Sequence[str] = (),
) -> LinearModel:
    """The linear model of small deviations from a motion, in full: `.essential()` leaves out what nothing depends on.

    - `at`: wishes for the motion, as in `simulate`; the rest is solved for, so that no constraint is broken.
    - `states`: names of states or outputs by which deviations shall be told; the others are chosen. Heading, lean and pitch of a
      free body stand in place of its quaternion.

    All derivatives are exact. Outputs are those of motion (forces are not among them).
    """
    motion = model if isinstance(model, Motion) else motion_at(model, at, parameters, inputs)
    e = motion.equations
    deviations = deviations_of(e, tuple(states))
    point = (0.0, motion.x[None], motion.u[None], motion.p[None])
    slopes = deviations.slopes(*point)
    if not all(np.isfinite(a).all() for a in (slopes.by_state, slopes.names, slopes.constraints)):
        raise ModelError(f"{e.name}: its derivatives are not finite at this state; it is singular there, linearise beside it")
    naming = deviations.choose(slopes)
    a, b = naming.matrices(slopes)
    by_state, by_input = deviations.observed(*point)
    labels = tuple(e.motion.output("outputs").labels) if e.outputs else ()
    values = dict(zip(deviations.candidates, slopes.values[0].tolist(), strict=True))
    values |= dict(zip((i.name for i in e.inputs), motion.u.tolist(), strict=True))
    units = {quantity.name: quantity.unit for quantity in (*e.states, *e.inputs, *e.outputs)}
    return LinearModel(
        e.name,
        naming.names,
        tuple(i.name for i in e.inputs),
        labels,
        a[0],
        b[0],
        (by_state @ naming.span(slopes))[0],
        by_input[0],
        values,
        {extra.name: "bookkeeping, not a motion" for extra in e.extra_states},
        units,
        dict(zip(naming.names, naming.rates(slopes)[0].tolist(), strict=True)),
    )
