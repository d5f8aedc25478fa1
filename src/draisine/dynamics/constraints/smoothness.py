"""Refusal of geometry and constraints across which a velocity would have to jump.

A position that jumps, or whose slope jumps, would change velocities in no time: an impact, which is not modeled. The same holds
for a velocity constraint whose value jumps. A jump of the next derivative is an ordinary switch of the accelerations.
"""

from __future__ import annotations

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


def check_smooth(scope: Scope, what: str, value: ca.SX, level: str = "position", variables: ca.SX | None = None) -> None:
    """Raise a `ModelError` if a quantity jumps, or at position level its slope. `variables` are symbols besides those of the
    scope, such as the position on the ground."""
    own = ca.SX(0, 1) if variables is None else variables
    moving = ca.vertcat(scope.q, scope.v, own)
    names = [*scope.coordinates, *scope.velocities, *(symbol.name() for symbol in ca.symvar(own))]
    inputs = {
        "t": (scope.t, ["t"]),
        "x": (moving, names),
        "p": (ca.vertcat(scope.u, scope.p), [*scope.input_names, *scope.parameters]),
    }
    program = Program.build("geometry", inputs, {"value": ca.densify(ca.vec(value))})
    if not program.can_switch:
        return
    from draisine.program.switching import switches_of  # most geometry is smooth and does not need it

    for switch in switches_of(program):
        if switch.jump or level == "position":
            raise ModelError(_message(what, switch.name, bool(switch.breaks), switch.jump, level))


def _message(what: str, name: str, table: bool, jump: bool, level: str) -> str:
    effect = "jumps" if jump else "has a slope that jumps"
    result = "a body would have to move in no time" if jump and level == "position" else "velocities would have to jump"
    if table:
        cure = "give the table the kind 'spline', with outside='slope'"
    else:
        cure = "smooth it over a length or a time, for example with 0.5*(1 + tanh((x - 3)/0.05))"
    return f"{what} {effect} at {name}: {result}, which is an impact and not modeled; {cure}"
