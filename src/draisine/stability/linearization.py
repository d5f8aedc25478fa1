"""Exact linearization of a mechanism about an admissible motion.

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
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from draisine.dynamics.derive import derive
from draisine.errors import ArgumentError, SolverError
from draisine.model.items import System
from draisine.model.model import Model
from draisine.numerics.newton import LeastNorm, Newton
from draisine.numerics.rank import RTOL
from draisine.program.equations import Equations
from draisine.results.linear import LinearModel
from draisine.simulation.initial.consistent_start import consistent_start
from draisine.simulation.initial.problem import StartProblem
from draisine.simulation.named_values import numbers
from draisine.stability.deviations import Deviations, Naming, attitude_texts, deviations_of

Array = NDArray[np.float64]

BROKEN = 1e-6  # residual, in units of its own gradient, of a constraint that does not hold


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


@lru_cache(maxsize=32)
def _starts(equations: Equations) -> StartProblem:
    return StartProblem(equations, compiled=False)


def motion_at(
    model: Model | System | Equations,
    at: Mapping[str, float] | None = None,
    parameters: Mapping[str, float] | None = None,
    inputs: Mapping[str, float] | None = None,
) -> Motion:
    """The consistent state nearest to the defaults in which the wishes hold."""
    equations = equations_of(model)
    for kind, given in (("parameter", parameters), ("input", inputs), ("wish for", at)):
        for name, value in (given or {}).items():
            require_real(equations.name, kind, name, value)
    p = numbers("parameter", equations.parameters, parameters)
    u = numbers("input", equations.inputs, inputs)
    x = consistent_start(_starts(equations), dict(at or {}), parameters, inputs=dict(inputs or {})).x
    return Motion(equations, x, u, p)


def require_real(model: str, kind: str, name: str, value: object) -> None:
    """Numbers of motions are real and finite; `Near(value)` is a wish too."""
    number = getattr(value, "value", value)
    if isinstance(number, complex | np.complexfloating) or not np.isscalar(number) or isinstance(number, str):
        raise ArgumentError(f"{model}: {kind} {name!r} is {number!r}; give a real number")
    if not np.isfinite(number):
        raise ArgumentError(f"{model}: {kind} {name!r} is {number!r}; give a finite number")


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
    jacobians = deviations.derivatives(*point)
    if not all(np.isfinite(a).all() for a in (jacobians.by_state, jacobians.names, jacobians.constraints)):
        raise SolverError(f"{e.name}: its derivatives are not finite at this state; it is singular there, linearize beside it")
    naming = deviations.choose(jacobians)
    _require_admissible(motion, deviations, jacobians, naming)
    a, b = naming.matrices(jacobians)
    by_state, by_input, outputs = deviations.observed(*point)
    labels = tuple(e.motion.output("outputs").labels) if e.outputs else ()
    values = dict(zip(labels, outputs[0].tolist(), strict=True))
    values |= dict(zip(deviations.candidates, jacobians.values[0].tolist(), strict=True))
    values |= dict(zip((i.name for i in e.inputs), motion.u.tolist(), strict=True))
    units = {quantity.name: quantity.unit for quantity in (*e.states, *e.inputs, *e.outputs)}
    return LinearModel(
        e.name,
        naming.names,
        tuple(i.name for i in e.inputs),
        labels,
        a[0],
        b[0],
        (by_state @ naming.span(jacobians))[0],
        by_input[0],
        values,
        {extra.name: "bookkeeping, not a motion" for extra in e.extra_states},
        units,
        dict(zip(naming.names, naming.rates(jacobians)[0].tolist(), strict=True)),
        {name: text for name, text in attitude_texts(e).items() if name in naming.names},
    )


def _require_admissible(motion: Motion, deviations: Deviations, jacobians: Jacobians, naming: Naming) -> None:
    """Deviations are from states that keep the constraints: others have no tangent directions."""
    e = motion.equations
    gradient, residual = jacobians.constraints[0], jacobians.residuals[0]
    broken = np.flatnonzero(np.abs(residual) > BROKEN * np.maximum(np.linalg.norm(gradient, axis=1), 1.0))
    if not len(broken):
        return
    worst = sorted(broken, key=lambda i: -abs(residual[i]))[:3]
    reported = ", ".join(
        f"{e.constraints[i].name} ({e.constraints[i].level}) by {residual[i]:.3g} {e.constraints[i].unit}".strip() for i in worst
    )
    own, rows = gradient.shape[1], list(naming.rows)

    def evaluate(y: Array) -> tuple[Array, Array]:
        x = np.concatenate([y, motion.x[own:]])
        here = deviations.derivatives(0.0, x[None], motion.u[None], motion.p[None])
        return here.residuals[0][rows], here.constraints[0][rows]

    found = Newton(step_tolerance=1e-13, max_iterations=20).solve(evaluate, motion.x[:own], LeastNorm(RTOL))
    moved = [(s.name, a, b) for s, a, b in zip(e.states, motion.x, found.point.x, strict=False) if abs(a - b) > 1e-9]
    cure = ", ".join(f"{name} = {new:.6g} (not {old:.6g})" for name, old, new in moved[:6]) if found.converged else ""
    nearest = f"; the nearest that keeps them has {cure}" if cure else ""
    raise ArgumentError(f"{e.name}: the state to linearize about breaks its constraints: {reported}{nearest}")
