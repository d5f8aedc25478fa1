"""Programs that move a state onto what it must obey: constraints of positions and velocities, and invariants."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from draisine.dynamics.dae.stabilization.unreduced import Opened, at_state, program_at
from draisine.dynamics.input_laws import StateScope
from draisine.dynamics.options import InvariantStabilization, Projection, VelocityProjection
from draisine.errors import ModelError
from draisine.expr.expression import parse
from draisine.program.equations import Equations, Quantity
from draisine.program.linear_solve import LinearSolveProgram, Slots
from draisine.program.program import Program

Reals = NDArray[np.float64]

ENERGY = "energy"
ROUNDING = 1e-15  # residuals above it are worth a step of Newton's method
AT_START = "_at_start"  # ends the names of parameters that hold invariants


@dataclass(frozen=True, eq=False)
class Held:
    """Equations whose further parameters are the values of `invariants` at the start."""

    equations: Equations
    invariants: Program | None = None  # (t, x, u, p) of the equations before → value

    def with_values(self, x: Reals, u: Reals, p: Reals) -> Reals:
        """Parameters, the last of which are the invariants at the start, t = 0."""
        if self.invariants is None:
            return p
        _, state, _, parameters = self.invariants.inputs
        (values,) = self.invariants([0.0], x[: state.size], u, p[: parameters.size])
        return np.concatenate([p[: parameters.size], values])


def projected(equations: Equations, control: Projection | VelocityProjection) -> Held:
    """Equations that a run projects as the control says."""
    if isinstance(control, Projection) and control.invariants:
        return _holding(equations, control.invariants, 1.0, control.limit, once=False)
    if not equations.constraints or equations.project is None:
        raise ModelError(
            f"{equations.name} has no constraints to project onto; Projection(invariants=…) holds what stays as it is"
        )
    positions = isinstance(control, Projection)
    velocities = isinstance(control, VelocityProjection) or control.velocities
    limit = control.limit if control.limit is not None else equations.limits.residual
    project = equations.project if positions and velocities else _part(Opened(equations), positions)
    return Held(replace(equations, project=project, limits=replace(equations.limits, residual=limit)))


def _part(opened: Opened, positions: bool) -> LinearSolveProgram:
    """The projection of positions alone, or of velocities alone."""
    q, v, rest = opened.parts
    place, speed = opened.residuals
    side, states = (place, q) if positions else (speed, v)
    if not side.numel():
        level = "position" if positions else "velocity"
        raise ModelError(f"{opened.equations.name} has no constraints of {level} to be moved onto")
    lean = ca.jacobian(side, states)
    z = ca.SX.sym("z", side.numel())
    moved = states - lean.T @ z
    x_new = ca.vertcat(moved, v, rest) if positions else ca.vertcat(q, moved, rest)
    outputs: Slots = {"x_new": (x_new, _labels(opened)), "error": (ca.norm_inf(side), ["error"])}
    name = f"{opened.equations.name}_project"
    return LinearSolveProgram.build(name, opened.arguments(), lean @ lean.T, side, z, outputs)


def _labels(opened: Opened) -> list[str]:
    return [s.name for s in opened.equations.states]


# ---------------------------------------------------------------- invariants


def stabilized(equations: Equations, control: InvariantStabilization) -> Held:
    """Equations to which a run applies x ← x − γ F (I − I₀) once after each step."""
    return _holding(equations, control.invariants, control.gamma, None, once=True)


def invariants_of(opened: Opened, names: tuple[str, ...]) -> ca.SX:
    """Quantities that stay as they are, by name or expression."""
    e = opened.equations
    scope = StateScope(e)
    theirs, ours = ca.vertcat(scope.t, scope.x, scope.u, scope.p), ca.vertcat(*opened.symbols)
    known = {q.name for q in (*e.outputs, *e.states)}
    found = []
    for name in names:
        if name == ENERGY and ENERGY not in known:
            if opened.energy is None:
                raise ModelError(
                    f"{e.name} has no energy; name an output that stays as it is, or give an expression of the states"
                )
            found.append(opened.energy)
        else:
            found.append(ca.substitute(scope.value(parse(name), f"invariant {name!r}"), theirs, ours))
    return ca.vertcat(*found)


def _holding(equations: Equations, names: tuple[str, ...], gamma: float, limit: float | None, once: bool) -> Held:
    """Constraints and invariants held together: one Newton step of least change, of which invariants take the part γ."""
    opened = Opened(equations)
    t, x, u, p = opened.symbols
    q, v, rest = opened.parts
    if equations.velocities and opened.row_count >= v.numel():
        raise ModelError(
            f"{equations.name} has no freedom left: its constraints say how it moves, and with it what its invariants are"
        )
    values = invariants_of(opened, names)
    before = Program.build(f"{equations.name}_invariants", opened.arguments(), {"value": (values, list(names))})
    begun = ca.SX.sym("begun", len(names))
    held = ca.vertcat(*opened.residuals)
    states = ca.vertcat(q, v)
    lean = ca.jacobian(ca.vertcat(held, values), states)
    z = ca.SX.sym("z", lean.shape[0])
    wider = _Wider(equations, names)
    error = ca.norm_inf(ca.vertcat(held, values - begun))
    outputs: Slots = {"x_new": (ca.vertcat(states - lean.T @ z, rest), _labels(opened)), "error": (error, ["error"])}
    side = ca.vertcat(held, gamma * (values - begun))
    project = LinearSolveProgram.build(f"{equations.name}_hold", wider.slots(t, x, u, p, begun), lean @ lean.T, side, z, outputs)
    rounds = 1 if once else equations.limits.projections
    limits = replace(equations.limits, residual=limit or ROUNDING, projections=rounds)
    return Held(replace(wider.equations, project=project, limits=limits), before)


class _Wider:
    """The same equations with parameters for invariants at the start."""

    def __init__(self, equations: Equations, names: tuple[str, ...]) -> None:
        self._old = equations
        more = tuple(Quantity(f"{_word(name)}{AT_START}", description=f"{name} at the start, held by the run") for name in names)
        taken = {q.name for q in equations.parameters} & {q.name for q in more}
        if taken:
            raise ModelError(f"{equations.name} has a parameter {taken.pop()!r}, the name of an invariant's value; rename it")
        self._parameters = [q.name for q in (*equations.parameters, *more)]
        self.equations = self._widened(more)

    def slots(self, t: ca.SX, x: ca.SX, u: ca.SX, p: ca.SX, begun: ca.SX) -> Slots:
        return {
            "t": (t, ["t"]),
            "x": (x, [s.name for s in self._old.states]),
            "u": (u, [i.name for i in self._old.inputs]),
            "p": (ca.vertcat(p, begun), self._parameters),
        }

    def _widened(self, more: tuple[Quantity, ...]) -> Equations:
        old = self._old
        t, x, u, p = Opened(old).symbols
        begun = ca.SX.sym("begun", len(more))
        slots, given = self.slots(t, x, u, p, begun), [t, x, u, p]
        motion = dict(zip((slot.name for slot in old.motion.inputs), old.motion.symbols(), strict=True))
        moved: Slots = {slot.name: (motion[slot.name], slot.labels) for slot in old.motion.inputs}
        moved = {**moved, "p": (ca.vertcat(motion["p"], begun), self._parameters)}
        return replace(
            old,
            parameters=(*old.parameters, *more),
            dynamics=at_state(old.explicit, slots, given),
            report=at_state(old.report, slots, given),
            motion=program_at(old.motion, moved, list(motion.values())),
            events=None if old.events is None else program_at(old.events, slots, given),
            project=None,
        )


def _word(name: str) -> str:
    """A name made of an expression."""
    return re.sub(r"\W+", "_", name).strip("_")
