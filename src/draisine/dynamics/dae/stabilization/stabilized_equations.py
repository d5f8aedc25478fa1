"""Equations with drift control: projection onto constraints and invariants, and the choice of the equations that a run
integrates."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import get_args

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from draisine.dynamics.augmented.second_order_system import augmented
from draisine.dynamics.dae.as_dae import as_dae
from draisine.dynamics.dae.second_order_form import second_order
from draisine.dynamics.dae.stabilization.minimal_coordinates import minimal
from draisine.dynamics.dae.stabilization.unreduced import UnreducedSystem, at_state, program_at
from draisine.dynamics.derive import derive
from draisine.dynamics.formulations import Augmented, Recursive, Reduced
from draisine.dynamics.input_laws import StateScope, with_laws
from draisine.dynamics.stabilization import (
    GGL,
    Baumgarte,
    Drift,
    InvariantStabilization,
    Minimal,
    NoControl,
    Projection,
    Rattle,
    Symplectic,
    VelocityProjection,
)
from draisine.errors import ArgumentError, ModelError
from draisine.expr.expression import Expr, parse
from draisine.model.system import System
from draisine.program.equations import Equations, Event, Quantity
from draisine.program.linear_solve import LinearSolveProgram, Slots
from draisine.program.program import Program

Reals = NDArray[np.float64]

ENERGY = "energy"
ROUNDING = 1e-15  # residuals above it are reduced by a Newton step
AT_START = "_at_start"  # suffix of parameters with initial values of invariants


@dataclass(frozen=True, eq=False)
class StabilizedEquations:
    """Equations with drift control; their additional parameters are the initial values of `invariants`."""

    equations: Equations
    invariants: Program | None = None  # (t, x, u, p) of the original equations → value

    def with_values(self, x: Reals, u: Reals, p: Reals) -> Reals:
        """Parameters, extended by the invariants at t = 0."""
        if self.invariants is None:
            return p
        _, state, _, parameters = self.invariants.inputs
        (values,) = self.invariants([0.0], x[: state.size], u, p[: parameters.size])
        return np.concatenate([p[: parameters.size], values])


def projected(equations: Equations, control: Projection | VelocityProjection) -> StabilizedEquations:
    """Equations with the projection that the option describes."""
    if isinstance(control, Projection) and control.invariants:
        return _with_invariants(equations, control.invariants, 1.0, control.limit, once=False)
    if not equations.constraints or equations.project is None:
        raise ModelError(f"{equations.name} has no constraints to project onto; Projection(invariants=…) keeps invariants")
    positions = isinstance(control, Projection)
    velocities = isinstance(control, VelocityProjection) or control.velocities
    limit = control.limit if control.limit is not None else equations.limits.residual
    project = equations.project if positions and velocities else _part(UnreducedSystem(equations), positions)
    return StabilizedEquations(replace(equations, project=project, limits=equations.limits._replace(residual=limit)))


def _part(system: UnreducedSystem, positions: bool) -> LinearSolveProgram:
    """The projection of positions only, or of velocities only."""
    q, v, rest = system.parts
    position, velocity = system.residuals
    side, states = (position, q) if positions else (velocity, v)
    if not side.numel():
        level = "position" if positions else "velocity"
        raise ModelError(f"{system.equations.name} has no {level} constraints to project onto")
    lean = ca.jacobian(side, states)
    z = ca.SX.sym("z", side.numel())
    moved = states - lean.T @ z
    x_new = ca.vertcat(moved, v, rest) if positions else ca.vertcat(q, moved, rest)
    error = ca.norm_inf(_with_redundant(system, side, "position" if positions else "velocity"))
    outputs: Slots = {"x_new": (x_new, _labels(system)), "error": (error, ["error"])}
    name = f"{system.equations.name}_project"
    return LinearSolveProgram.build(name, system.arguments(), lean @ lean.T, side, z, outputs)


def _with_redundant(system: UnreducedSystem, solved: ca.SX, level: str) -> ca.SX:
    """All residuals of a level, if there are more than those that are solved for: redundant ones are monitored."""
    e, (t, _, u, p), (q, v, _) = system.equations, system.symbols, system.parts
    own = [i for i, constraint in enumerate(e.constraints) if constraint.level == level]
    if len(own) <= solved.numel():
        return solved
    results = e.motion.function.call([t, q, v, u, p])
    return results[[slot.name for slot in e.motion.outputs].index("residuals")][own]


def _labels(system: UnreducedSystem) -> list[str]:
    return [s.name for s in system.equations.states]


# ---------------------------------------------------------------- invariants


def stabilized(equations: Equations, control: InvariantStabilization) -> StabilizedEquations:
    """Equations to which a run applies x ← x − γ F (I − I₀) once after each step."""
    return _with_invariants(equations, control.invariants, control.gamma, None, once=True)


def invariants_of(system: UnreducedSystem, names: tuple[str, ...]) -> ca.SX:
    """Invariants, by name or expression."""
    e = system.equations
    scope = StateScope(e)
    theirs, ours = ca.vertcat(scope.t, scope.x, scope.u, scope.p), ca.vertcat(*system.symbols)
    known = {q.name for q in (*e.outputs, *e.states)}
    found = []
    for name in names:
        if name == ENERGY and ENERGY not in known:
            if system.energy is None:
                raise ModelError(
                    f"{e.name} has no energy, or does not count the work of its forces (work=True does); name an output that is "
                    "invariant, or give an expression of the states"
                )
            found.append(system.energy)
        else:
            found.append(ca.substitute(scope.value(parse(name), f"invariant {name!r}"), theirs, ours))
    return ca.vertcat(*found)


def _with_invariants(
    equations: Equations, names: tuple[str, ...], gamma: float, limit: float | None, once: bool
) -> StabilizedEquations:
    """Projection onto constraints and invariants: one least-norm Newton step, with the factor γ for the invariants."""
    system = UnreducedSystem(equations)
    t, x, u, p = system.symbols
    q, v, rest = system.parts
    if equations.velocities and system.row_count >= v.numel():
        raise ModelError(
            f"{equations.name} has no degree of freedom: its constraints determine the motion, and with it the invariants"
        )
    values = invariants_of(system, names)
    before = Program.build(f"{equations.name}_invariants", system.arguments(), {"value": (values, list(names))})
    initial = ca.SX.sym("initial", len(names))
    residuals = ca.vertcat(*system.residuals)
    states = ca.vertcat(q, v)
    lean = ca.jacobian(ca.vertcat(residuals, values), states)
    z = ca.SX.sym("z", lean.shape[0])
    wider = _WithInitialValues(equations, names)
    error = ca.norm_inf(ca.vertcat(residuals, values - initial))
    outputs: Slots = {"x_new": (ca.vertcat(states - lean.T @ z, rest), _labels(system)), "error": (error, ["error"])}
    side = ca.vertcat(residuals, gamma * (values - initial))
    project = LinearSolveProgram.build(
        f"{equations.name}_hold", wider.slots(t, x, u, p, initial), lean @ lean.T, side, z, outputs
    )
    rounds = 1 if once else equations.limits.projections
    limits = equations.limits._replace(residual=limit or ROUNDING, projections=rounds, monitored=False)
    return StabilizedEquations(replace(wider.equations, project=project, limits=limits), before)


class _WithInitialValues:
    """The same equations with parameters for the initial values of invariants."""

    def __init__(self, equations: Equations, names: tuple[str, ...]) -> None:
        self._old = equations
        more = tuple(
            Quantity(f"{_identifier(name)}{AT_START}", description=f"initial value of {name}, kept by the run") for name in names
        )
        taken = {q.name for q in equations.parameters} & {q.name for q in more}
        if taken:
            raise ModelError(f"{equations.name} has a parameter {taken.pop()!r}, the name of an invariant's value; rename it")
        self._parameters = [q.name for q in (*equations.parameters, *more)]
        self.equations = self._widened(more)

    def slots(self, t: ca.SX, x: ca.SX, u: ca.SX, p: ca.SX, initial: ca.SX) -> Slots:
        return {
            "t": (t, ["t"]),
            "x": (x, [s.name for s in self._old.states]),
            "u": (u, [i.name for i in self._old.inputs]),
            "p": (ca.vertcat(p, initial), self._parameters),
        }

    def _widened(self, more: tuple[Quantity, ...]) -> Equations:
        old = self._old
        t, x, u, p = UnreducedSystem(old).symbols
        initial = ca.SX.sym("initial", len(more))
        slots, given = self.slots(t, x, u, p, initial), [t, x, u, p]
        motion = dict(zip((slot.name for slot in old.motion.inputs), old.motion.symbols(), strict=True))
        moved: Slots = {slot.name: (motion[slot.name], slot.labels) for slot in old.motion.inputs}
        moved = {**moved, "p": (ca.vertcat(motion["p"], initial), self._parameters)}
        return replace(
            old,
            parameters=(*old.parameters, *more),
            dynamics=at_state(old.explicit, slots, given),
            report=at_state(old.report, slots, given),
            motion=program_at(old.motion, moved, list(motion.values())),
            events=None if old.events is None else at_state(old.events, slots, given),
            monitor=None if old.monitor is None else program_at(old.monitor, slots, given),
            causes=None if old.causes is None else program_at(old.causes, slots, given),
            project=None,
        )


def _identifier(name: str) -> str:
    """An identifier made from an expression."""
    return re.sub(r"\W+", "_", name).strip("_")


Laws = tuple[tuple[str, Expr], ...]


def _names() -> list[str]:
    """The options of drift control as written in code."""
    needs = {"Rattle": "step", "Symplectic": "step"}
    return [f"{kind.__name__}({needs.get(kind.__name__, '')})" for kind in get_args(Drift)]


def stabilized_equations(
    model: System | Equations,
    drift: Drift,
    laws: Mapping[str, Expr] | None = None,
    events: tuple[Event, ...] = (),
    work: bool | None = None,
) -> StabilizedEquations:
    """The equations of a run with the given drift control. `Rattle` and `Symplectic`, which are integration methods, take
    unreduced equations."""
    if not isinstance(drift, Drift):
        raise ArgumentError(f"drift={drift!r} is not a drift control; give one of {', '.join(_names())}")
    return _stabilized(model, drift, tuple(sorted((laws or {}).items())), tuple(events), work)


@lru_cache(maxsize=64)
def _stabilized(
    model: System | Equations, drift: Drift, laws: Laws, events: tuple[Event, ...], work: bool | None
) -> StabilizedEquations:
    if isinstance(drift, Baumgarte | GGL) and isinstance(model, Equations) and not model.constraints:
        raise ModelError(f"{model.name} has no constraints to stabilize")
    if isinstance(drift, GGL):
        return StabilizedEquations(_stabilized_form(model, laws, events))
    if isinstance(drift, Reduced):
        if isinstance(model, System):
            return StabilizedEquations(derive(model, dict(laws), events, work, drift))
        return StabilizedEquations(minimal(_unreduced(model, laws, events, work), iterations=0))
    if isinstance(drift, Recursive):
        if not isinstance(model, System):
            raise ModelError(f"{model.name}: equations have no bodies; pass the model for formulation=Recursive()")
        return StabilizedEquations(derive(model, dict(laws), events, work, drift))
    if isinstance(drift, Augmented):
        return StabilizedEquations(_unreduced(model, laws, events, work, drift))
    if isinstance(drift, Baumgarte):
        stabilized_unreduced = _unreduced(model, laws, events, work, Augmented(drift.scaled()))
        if not stabilized_unreduced.constraints:
            raise ModelError(f"{stabilized_unreduced.name} has no constraints to stabilize")
        return _carried(stabilized_unreduced, _without_projection)
    unreduced = _unreduced(model, laws, events, work)
    if isinstance(drift, NoControl):
        return _carried(unreduced, _without_control)
    if isinstance(drift, Projection | VelocityProjection):
        return _carried(unreduced, lambda e: projected(e, drift))
    if isinstance(drift, InvariantStabilization):
        return _carried(unreduced, lambda e: stabilized(e, drift))
    if isinstance(drift, Minimal):
        return StabilizedEquations(minimal(unreduced, drift.iterations))
    assert isinstance(drift, Rattle | Symplectic)  # the remaining options
    return StabilizedEquations(unreduced)


def _without_projection(equations: Equations) -> StabilizedEquations:
    return StabilizedEquations(replace(equations, project=None))


def _without_control(equations: Equations) -> StabilizedEquations:
    """Equations whose drift is not controlled, on request."""
    return StabilizedEquations(replace(equations, project=None, limits=equations.limits._replace(residual=math.inf)))


def _carried(equations: Equations, control: Callable[[Equations], StabilizedEquations]) -> StabilizedEquations:
    """The drift control for equations and for all their other choices of rows."""
    made, again = control(equations), equations.with_independent
    if again is None:
        return made

    def other(choice: tuple[str, ...]) -> Equations:
        return _carried(again(choice), control).equations

    return replace(made, equations=replace(made.equations, with_independent=other))


def _unreduced(
    model: System | Equations,
    laws: Laws,
    events: tuple[Event, ...],
    work: bool | None,
    options: Augmented | None = None,
) -> Equations:
    """Unreduced equations."""
    if isinstance(model, System):
        return derive(model, dict(laws), events, work, options or Augmented())
    equations = with_laws(model, dict(laws), events)
    if options is None or options.stabilization is None:
        return equations
    return augmented(second_order(equations)[0], options.stabilization, bool(equations.extra_states), options.solver)


def _stabilized_form(model: System | Equations, laws: Laws, events: tuple[Event, ...]) -> Equations:
    form = as_dae(model, ggl=True)
    if not form.constraints:
        raise ModelError(f"{form.name} has no constraints to stabilize")
    return with_laws(form, dict(laws), events)
