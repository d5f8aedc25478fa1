"""Refusal of geometry, constraints and energies across which a velocity would have to jump.

A position that jumps, or whose slope jumps, would change velocities in no time: an impact, which is not modeled. The same holds
for a velocity constraint whose value jumps, and for an energy, whose force would be infinite there. A jump of the next derivative
is an ordinary switch of the accelerations. A potential may jump in time alone: that changes no velocity, only the energy.
"""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca

from draisine.dynamics.lowering import Scope
from draisine.errors import ModelError
from draisine.expr.expression import Expr
from draisine.expr.tree import calls
from draisine.program.program import Program

_NOT_SMOOTH = frozenset({"abs", "sign", "min", "max", "clip", "where", "floor", "ceil", "lt", "le", "gt", "ge"})


def may_switch(scope: Scope, *expressions: Expr) -> bool:
    """Whether one of the expressions, or an output that may stand in them, has a function that can switch."""
    system = scope.system
    risky = _NOT_SMOOTH | {table.name for table in system.tables}
    return any(calls(expression) & risky for expression in (*expressions, *(o.expression for o in system.outputs)))


def check_smooth(scope: Scope, what: str, value: ca.SX, level: str = "position", variables: ca.SX | None = None) -> list[str]:
    """Raise a `ModelError` if a quantity jumps, or at position level its slope. `variables` are symbols besides those of the
    scope, such as the position on the ground. Returns the names of jumps in time that an energy may have."""
    own = ca.SX(0, 1) if variables is None else variables
    return check_jumps(what, value, scope.t, ca.vertcat(scope.q, scope.v, own), ca.vertcat(scope.u, scope.p), level)


def check_jumps(
    what: str, value: ca.SX, t: ca.SX, moving: ca.SX, constant: ca.SX, level: str, singular: bool = False
) -> list[str]:
    """Raise a `ModelError` if a quantity of (t, moving, constant) jumps, or at the level "position" its slope.

    At the level "energy" jumps in time alone are returned by name instead. Rows that may be `singular` somewhere may also have
    kinks there, and quotients z/|z|: the contact of a disk, r |cos lean| above the ground, has them where it lies flat.
    """
    inputs = {"t": (t, ["t"]), "x": (moving, _names(moving)), "p": (constant, _names(constant))}
    program = Program.build("geometry", inputs, {"value": ca.densify(ca.vec(value))})
    if not program.can_switch:
        return []
    from draisine.program.switching import switches_of  # most geometry is smooth and does not need it

    in_time = []
    for switch in switches_of(program):
        if level == "energy" and switch.jump and switch.time_only:
            in_time.append(switch.name)
        elif singular and (switch.continuous or not switch.jump):
            continue
        elif switch.jump or level == "position":
            raise ModelError(_message(what, switch.name, bool(switch.breaks), switch.jump, level))
    return in_time


def uncounted(what: str, jumps: Sequence[str]) -> list[str]:
    """A warning about an energy that jumps in time, if it does."""
    if not jumps:
        return []
    return [f"{what} jumps at {', '.join(jumps)}: the energy changes there by work that is not counted in the energy balance"]


def _names(symbols: ca.SX) -> list[str]:
    return [symbols[i].name() for i in range(symbols.numel())]


def _message(what: str, name: str, table: bool, jump: bool, level: str) -> str:
    effect = "jumps" if jump else "has a slope that jumps"
    result = "a body would have to move in no time" if jump and level == "position" else "velocities would have to jump"
    if table:
        cure = "give the table the kind 'spline', with outside='slope'"
    else:
        cure = "smooth it over a length or a time, for example with 0.5*(1 + tanh((x - 3)/0.05))"
    return f"{what} {effect} at {name}: {result}, which is an impact and not modeled; {cure}"
