"""Exact linearization of a mechanism about an admissible motion.

>>> import draisine as dr
>>> straight = dr.linearize(dr.gallery.bicycle(), at={"speed": 5.0}, states=("lean", "steer")).essential()
>>> straight.states
('lean', 'steer', 'frame_wx', 'steer_rate')
>>> straight.eigenvalues.real.round(6).tolist()
[-14.07839, -0.775342, -0.775342, -0.322866]
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from draisine.dynamics.dae.index_reduction import reduce_index
from draisine.dynamics.derive import derive
from draisine.dynamics.given_parameters import given_parameters
from draisine.errors import ArgumentError, SolverError
from draisine.model.model import Model
from draisine.model.system import System
from draisine.numerics.newton import LeastNorm, Newton
from draisine.numerics.rank import RTOL
from draisine.program.arguments import checked, number_in, numbers
from draisine.program.equations import Equations, Quantity
from draisine.results.channel import HasState, StateValue, named_start
from draisine.results.linear import LinearModel
from draisine.simulation.initial.consistent_start import consistent_start
from draisine.simulation.initial.problem import InitialGuess, StartProblem
from draisine.stability.deviations import Derivatives, Deviations, Naming, attitude_texts, deviations_of, entry_rounding
from draisine.stability.explicit_time import require_no_time
from draisine.stability.switching_limits import limit_note

Array = NDArray[np.float64]

NEARLY_DEPENDENT = 0.02  # smallest singular value of the constraint gradients, relative to the largest
VIOLATED = 1e-6  # residual of a violated constraint, relative to its gradient


@dataclass(frozen=True)
class Motion:
    """A state of given equations, with its inputs and parameters, at time zero."""

    equations: Equations
    x: Array
    u: Array
    p: Array  # with the modes of contacts that open at its end

    def as_start(self) -> dict[str, float]:
        """States, all velocities, inputs and parameters: a start whose run tells where its inputs or parameters differ."""
        e = self.equations
        named = dict(zip((q.name for q in e.states), self.x.tolist(), strict=True))
        slot = [s.name for s in e.report.outputs].index("v")
        v = np.ravel(e.report([0.0], self.x, self.u, self.p)[slot]).tolist()
        named = dict(zip((q.name for q in e.velocities), v, strict=True)) | named  # independent velocities as they are
        for quantities, values in ((e.inputs, self.u), (e.parameters, self.p[: len(e.parameters)])):
            named |= dict(zip((q.name for q in quantities), values.tolist(), strict=True))
        return {name: StateValue(value) for name, value in named.items()}


def motion_of(start: Mapping[str, float] | HasState | None) -> Motion | dict[str, float]:
    """The motion of a result, if it has one, with its inputs and parameters; otherwise a start as values by name."""
    motion = start if isinstance(start, Motion) else getattr(start, "motion", None)
    return motion if isinstance(motion, Motion) else named_start(start)


def equations_of(model: Model | System | Equations) -> Equations:
    """Equations without bookkeeping states."""
    return model if isinstance(model, Equations) else derive(model, work=False)


def explicit_equations_of(model: Model | System | Equations) -> Equations:
    """The same as ẋ = f: equations given as 0 = F(t, x, ẋ) are reduced."""
    return _explicit(equations_of(model))


@lru_cache(maxsize=32)
def _explicit(equations: Equations) -> Equations:
    return reduce_index(equations)


@lru_cache(maxsize=32)
def _start_problem(equations: Equations) -> StartProblem:
    return StartProblem(equations, compiled=False)


def motion_at(
    model: Model | System | Equations,
    at: Mapping[str, float] | HasState | None = None,
    parameters: Mapping[str, float] | None = None,
    inputs: Mapping[str, float] | None = None,
) -> Motion:
    """The consistent state nearest to the defaults that meets the targets; or the state of a result."""
    equations = equations_of(model)
    at, parameters, inputs = (
        real_values(equations, kind, given)
        for kind, given in (("target", named_start(at)), ("parameter", parameters), ("input", inputs))
    )
    given_parameters(model, equations, parameters)
    found = consistent_start(_start_problem(equations), at, parameters=parameters, inputs=dict(inputs or {}))
    return Motion(equations, found.x, numbers("input", equations.inputs, inputs), found.given[2])


def real_values(equations: Equations, kind: str, given: Mapping[str, Any] | None) -> dict[str, Any]:
    """Values by name as real and finite numbers, also those given with a unit; `InitialGuess(value)` is a target too."""
    found: dict[str, Any] = {}
    for name, value in (given or {}).items():
        if isinstance(value, StateValue):  # of a result: kept exactly
            found[name] = value
            continue
        number = getattr(value, "value", value)
        if isinstance(number, complex | np.complexfloating) or not np.isscalar(number):
            raise ArgumentError(f"{equations.name}: {kind} {name!r} is {number!r}; give a real number")
        unit = next((q.unit for q in named_quantities(equations) if q.name == name), None)
        real = number_in(number, unit, f"{equations.name}: {kind} {name!r}")
        if real is None or not np.isfinite(real):
            cure = "a real number" if real is None else "a finite number"
            raise ArgumentError(f"{equations.name}: {kind} {name!r} is {number!r}; give {cure}{f' in {unit}' if unit else ''}")
        found[name] = InitialGuess(real) if isinstance(value, InitialGuess) else real
    return found


def named_quantities(e: Equations) -> tuple[Quantity, ...]:
    """All quantities that can be given by name."""
    return (*e.states, *e.velocities, *e.outputs, *e.inputs, *e.parameters)


@checked
def linearize(
    model: Model | System | Equations | Motion,
    at: Mapping[str, float] | HasState | None = None,
    *,
    parameters: Mapping[str, float] | None = None,
    inputs: Mapping[str, float] | None = None,
    states: Sequence[str] = (),
) -> LinearModel:
    """The full linear model of small deviations from a motion; `.essential()` removes states on which nothing depends.

    - `at`: targets for the motion, or a result, as `start` in `simulate`; the rest is solved for, so that no constraint is
      violated.
    - `states`: states or outputs used as the first states of the linear model; the others are chosen. Heading, lean and pitch
      of a free body replace its quaternion.
    - `parameters`, `inputs`: values by name, as in `simulate`; the others have their defaults.

    All derivatives are exact. Outputs are outputs of motion; forces are not included. A motion that is not steady is reported:
    by a warning, and in `unsteady` of the result with the rates of its states. So is one on the limit of a switching function,
    where the linear model is one-sided (`limit` of the result). Equations on which time itself has an effect are refused.
    """
    found = _linearized(model, at, parameters, inputs, states)
    if found.note and not isinstance(model, Motion):
        warnings.warn(f"{found.model}: {found.note}; eigenvalues of A do not decide on its stability", stacklevel=2)
    return found


def _linearized(
    model: Model | System | Equations | Motion,
    at: Mapping[str, float] | HasState | None,
    parameters: Mapping[str, float] | None,
    inputs: Mapping[str, float] | None,
    states: Sequence[str],
) -> LinearModel:
    if not isinstance(model, Motion):
        equations = explicit_equations_of(model)
        given_parameters(model, equations, parameters)
        model = motion_at(equations, at, parameters, inputs)
    motion, e = model, model.equations
    require_no_time(e, motion.x, motion.u, motion.p, "a linear model")
    deviations = deviations_of(e, tuple(states))
    point = (0.0, motion.x[None], motion.u[None], motion.p[None])
    derivatives = deviations.derivatives(*point)
    if not all(np.isfinite(a).all() for a in (derivatives.by_state, derivatives.names, derivatives.constraints)):
        raise SolverError(f"{e.name}: its derivatives are not finite at this state, which is singular; linearize near it")
    naming = deviations.choose(derivatives)
    _require_admissible(motion, deviations, derivatives, naming)
    a, b = naming.matrices(derivatives)
    by_state, by_input, outputs = deviations.output_derivatives(*point)
    labels = tuple(e.motion.output("outputs").labels) if e.outputs else ()
    values = dict(zip(labels, outputs[0].tolist(), strict=True))
    values |= dict(zip(deviations.candidates, derivatives.values[0].tolist(), strict=True))
    values |= dict(zip((i.name for i in e.inputs), motion.u.tolist(), strict=True))
    units = dict.fromkeys(attitude_texts(e), "rad")
    units |= {quantity.name: quantity.unit for quantity in (*e.states, *e.velocities, *e.inputs, *e.outputs)}
    return LinearModel(
        e.name,
        naming.names,
        tuple(i.name for i in e.inputs),
        labels,
        a[0],
        b[0],
        (by_state @ naming.span(derivatives))[0],
        by_input[0],
        values,
        {extra.name: "bookkeeping, not a motion" for extra in e.extra_states},
        units,
        dict(zip(naming.names, naming.rates(derivatives)[0].tolist(), strict=True)),
        {name: text for name, text in attitude_texts(e).items() if name in naming.names},
        limit_note(e, motion.x, motion.u, motion.p),
        deviations.angles,
        entry_rounding(deviations, naming, motion.x, motion.u, motion.p),
    )


def _require_admissible(motion: Motion, deviations: Deviations, derivatives: Derivatives, naming: Naming) -> None:
    """Refuse states that violate the constraints: they have no tangent space."""
    e = motion.equations
    gradient, residual = derivatives.constraints[0], derivatives.residuals[0]
    broken = np.flatnonzero(np.abs(residual) > VIOLATED * np.maximum(np.linalg.norm(gradient, axis=1), 1.0))
    if not len(broken):
        return
    worst = sorted(broken, key=lambda i: -abs(residual[i]))[:3]
    violations = ", ".join(
        f"{e.constraints[i].name} ({e.constraints[i].level}) by {residual[i]:.3g} {e.constraints[i].unit}".strip() for i in worst
    )
    own, rows = gradient.shape[1], list(naming.rows)

    def evaluate(y: Array) -> tuple[Array, Array]:
        x = np.concatenate([y, motion.x[own:]])
        point = deviations.derivatives(0.0, x[None], motion.u[None], motion.p[None])
        return point.residuals[0][rows], point.constraints[0][rows]

    found = Newton(step_tolerance=1e-13, max_iterations=20).solve(evaluate, motion.x[:own], LeastNorm(RTOL))
    moved = [(s.name, a, b) for s, a, b in zip(e.states, motion.x, found.point.x, strict=False) if abs(a - b) > 1e-9]
    cure = ", ".join(f"{name} = {new:.6g} (not {old:.6g})" for name, old, new in moved[:6]) if found.converged else ""
    nearest = f"; the nearest state that satisfies them has {cure}" if cure else ""
    raise ArgumentError(f"{e.name}: the state to linearize about violates its constraints: {violations}{nearest}")


def what_is_singular(motion: Motion) -> str:
    """Why a motion is singular: causes beyond their limit, or nearly dependent constraints; otherwise an empty text."""
    e = motion.equations
    causes: list[str] = []
    if not np.isfinite(motion.x).all():
        return ""
    if e.causes is not None:
        (slot,) = e.causes.outputs
        values = np.ravel(e.causes([0.0], motion.x, motion.u, motion.p)[0])
        causes = [label for label, value in zip(slot.labels, values, strict=True) if not value <= e.limits.condition]
    causes = causes or dependent_constraints(motion)
    return f"singular configuration: {'; '.join(causes)}" if causes else ""


def dependent_constraints(motion: Motion) -> list[str]:
    """A sentence about position constraints whose gradients are nearly dependent."""
    e = motion.equations
    at = [i for i, constraint in enumerate(e.constraints) if constraint.level == "position"]
    if not at:
        return []
    derivatives = deviations_of(e).derivatives(0.0, motion.x[None], motion.u[None], motion.p[None])
    gradient = derivatives.constraints[0][at][:, : len(e.coordinates)]
    left, values, _ = np.linalg.svd(gradient, full_matrices=False)
    if values[-1] >= NEARLY_DEPENDENT * values[0]:
        return []
    names = [repr(e.constraints[i].name) for i, share in zip(at, left[:, -1], strict=True) if abs(share) > 0.1]
    return [
        f"the constraints {', '.join(names)} are nearly dependent"
        if len(names) > 1
        else f"the constraint {names[0]} hardly depends on the coordinates"
    ]
