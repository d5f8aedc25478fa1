"""Substitution of input laws and events into existing equations.

A described model takes them during its derivation. Equations typed by hand (a Lagrangian, a first-order system) are programs of
(t, x, u, p): they are evaluated with laws in place of inputs, and rebuilt.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property, lru_cache
from typing import Any

import casadi as ca

from draisine.dynamics.dae.hidden_constraints import with_hidden_constraints
from draisine.dynamics.dae.structure import moved_by_inputs, structure
from draisine.errors import ModelError
from draisine.expr.expression import Expr, did_you_mean, evaluate, parse
from draisine.expr.safe_functions import SX_FUNCTIONS
from draisine.program.equations import USUAL_PROGRAMS, Equations, Event, check_events
from draisine.program.linear_solve import LinearSolveProgram
from draisine.program.program import DaeResidual, Program


def with_laws(equations: Equations, laws: Mapping[str, Expr] | None = None, events: tuple[Event, ...] = ()) -> Equations:
    """The same equations with inputs given by expressions of t, states, outputs and parameters, and with further events.

    The inputs keep their names and positions; a value passed for an input with a law is ignored.
    """
    check_events(events, [event.name for event in equations.event_list])
    if not laws and not events:
        return equations
    return _with_laws(equations, tuple(sorted((laws or {}).items())), tuple(events))


@lru_cache(maxsize=32)
def _with_laws(equations: Equations, laws: tuple[tuple[str, Expr], ...], events: tuple[Event, ...]) -> Equations:
    if set(equations.independent) != {v.name for v in equations.velocities}:
        raise ModelError(
            f"{equations.name}: laws and events are compiled in while velocities are eliminated: pass them to derive(…), or pass "
            "the model itself"
        )
    scope = StateScope(equations)
    inputs = {u.name: scope.u[i] for i, u in enumerate(equations.inputs)}
    for name, law in laws:
        if name not in inputs:
            raise ModelError(f"{equations.name} has no input {name!r}{did_you_mean(name, inputs)}")
        inputs[name] = scope.law(name, law)
    u = ca.vertcat(*inputs.values()) if inputs else ca.SX(0, 1)

    def with_inputs(program: Program) -> Program:
        arguments = program.symbols()
        named = {slot.name: symbol for slot, symbol in zip(program.inputs, arguments, strict=True)}
        given = dict(named)
        given["u"] = ca.substitute(u, ca.vertcat(scope.t, scope.x, scope.u, scope.p), scope.state_of(named, equations))
        results = program.function.call([given[slot.name] for slot in program.inputs])
        ins = {slot.name: (named[slot.name], slot.labels) for slot in program.inputs}
        outs = {slot.name: (result, slot.labels) for slot, result in zip(program.outputs, results, strict=True)}
        units = {n: unit for slot in (*program.inputs, *program.outputs) for n, unit in zip(slot.labels, slot.units, strict=True)}
        return Program.build(program.name, ins, outs, units)

    def with_inputs_solved(what: Program | LinearSolveProgram) -> Program | LinearSolveProgram:
        return with_inputs(what) if isinstance(what, Program) else what.mapped(with_inputs)

    def with_inputs_any(what: Program | LinearSolveProgram | DaeResidual) -> Program | LinearSolveProgram | DaeResidual:
        return replace(what, residual=with_inputs(what.residual)) if isinstance(what, DaeResidual) else with_inputs_solved(what)

    def with_inputs_optional(program: Program | None) -> Program | None:
        return None if program is None else with_inputs(program)

    driven = replace(
        equations,
        dynamics=with_inputs_any(equations.dynamics),
        report=with_inputs_solved(equations.report),
        motion=with_inputs(equations.motion),
        project=None if equations.project is None else with_inputs_solved(equations.project),
        monitor=with_inputs_optional(equations.monitor),
        events=None if (program := scope.event_program(events)) is None else with_inputs_solved(program),
        event_list=(*equations.event_list, *events),
        contact_margins=None if equations.contact_margins is None else with_inputs_solved(equations.contact_margins),
        contact_terms=with_inputs_optional(equations.contact_terms),
        contact_system=with_inputs_optional(equations.contact_system),
    )
    usual: dict[str, Any] = {name: with_inputs_optional(getattr(equations, name)) for name in USUAL_PROGRAMS}
    driven = replace(driven, **usual)
    return with_hidden_constraints(driven) if _moves_hidden(equations, {name for name, _ in laws}) else driven


def _moves_hidden(equations: Equations, inputs: set[str]) -> bool:
    """Whether hidden constraints depend on the rate of an input: they were derived for constant inputs."""
    if not inputs or not isinstance(equations.dynamics, DaeResidual):
        return False
    return any(name in inputs for _, name in moved_by_inputs(structure(equations)))


class StateScope:
    """Names that expressions of given equations may use: time, states, outputs of motion, inputs, parameters; in events also what
    only the report has, forces and multipliers."""

    def __init__(self, equations: Equations) -> None:
        self._equations = equations
        self.t = ca.SX.sym("t")
        self.x, self.u, self.p = (
            ca.SX.sym(name, len(quantities))
            for name, quantities in (("x", equations.states), ("u", equations.inputs), ("p", equations.arguments))
        )
        self._values: dict[str, ca.SX] = {"t": self.t}
        for symbols, quantities in ((self.p, equations.parameters), (self.u, equations.inputs), (self.x, equations.states)):
            self._values |= {q.name: symbols[i] for i, q in enumerate(quantities)}
        for item in equations.dependent_parameters:
            self._values[item.name] = self.value(parse(item.expression), f"parameter {item.name!r}")
        first, second = len(equations.coordinates), len(equations.coordinates) + len(equations.independent)
        speeds = {name: self.x[first + i] for i, name in enumerate(equations.independent)}
        given = {
            "t": self.t,
            "q": self.x[:first],
            "v": ca.vertcat(*[speeds[v.name] for v in equations.velocities]) if second > first else ca.SX(0, 1),
            "u": self.u,
            "p": self.p,
        }
        motion = equations.motion
        results = motion.function.call([given[slot.name] for slot in motion.inputs])
        reported = dict(zip((slot.name for slot in motion.outputs), results, strict=True))
        self._values |= {name: reported["outputs"][i] for i, name in enumerate(motion.output("outputs").labels)}

    @cached_property
    def _solution(self) -> ca.SX:
        """The solution z of the report's linear system."""
        report = self._equations.report
        return ca.SX.sym("z", report.size, report.sides) if isinstance(report, LinearSolveProgram) else ca.SX(0, 1)

    @cached_property
    def _reactions(self) -> dict[str, ca.SX]:
        """Outputs and multipliers that only the report has, in terms of its linear solve."""
        report, arguments = self._equations.report, [self.t, self.x, self.u, self.p]
        after = report.after if isinstance(report, LinearSolveProgram) else report
        results = after.function.call([*arguments, self._solution] if after is not report else arguments)
        found: dict[str, ca.SX] = {}
        for slot, result in zip(after.outputs, results, strict=True):
            if slot.name in ("outputs", "multipliers"):
                found |= {name: result[i] for i, name in enumerate(slot.labels) if name not in self._values}
        return found

    def value(self, expression: Expr, what: str, reactions: bool = False) -> ca.SX:
        def look_up(name: str) -> ca.SX:
            if name not in self._values:
                if reactions and name in self._reactions:
                    return self._reactions[name]
                raise ModelError(f"{self._equations.name}: {what}: unknown name {name!r}{did_you_mean(name, self._values)}")
            return self._values[name]

        return ca.SX(evaluate(expression, look_up, SX_FUNCTIONS))

    def law(self, name: str, expression: Expr) -> ca.SX:
        found = self.value(expression, f"law of input {name!r}")
        others = [q.name for i, q in enumerate(self._equations.inputs) if ca.depends_on(found, self.u[i])]
        if others:
            raise ModelError(
                f"the law of input {name!r} uses the input {others[0]!r}; write laws in states, outputs, parameters and t"
            )
        return found

    def event_program(self, events: tuple[Event, ...]) -> Program | LinearSolveProgram | None:
        """The program of all events, existing and new, before substitution of inputs."""
        old, report = self._equations.events, self._equations.report
        values, given = [], [self.t, self.x, self.u, self.p]
        if isinstance(old, LinearSolveProgram):  # of the system that the report solves too
            values.append(old.after.function.call([*given, self._solution])[0])
        elif old is not None:
            values.append(old.function.call(given)[0])
        values += [self.value(parse(event.expression), f"event {event.name!r}", reactions=True) for event in events]
        if not values:
            return None
        names = [event.name for event in (*self._equations.event_list, *events)]
        arguments = {
            slot.name: (symbol, slot.labels)
            for slot, symbol in zip(self._equations.report.inputs, (self.t, self.x, self.u, self.p), strict=True)
        }
        name, outputs = f"{self._equations.name}_events", {"value": (ca.vertcat(*values), names)}
        if isinstance(report, LinearSolveProgram) and ca.depends_on(ca.vertcat(*values), ca.vec(self._solution)):
            return replace(report, name=name, after=Program.build(name, {**arguments, "z": self._solution}, outputs))
        return Program.build(name, arguments, outputs)

    def state_of(self, named: Mapping[str, ca.SX], equations: Equations) -> ca.SX:
        """(t, x, u, p) in the arguments of a program: of one that takes x, or of the motion, which takes q and v."""
        if "x" in named:
            x = named["x"]
        else:
            place = {v.name: i for i, v in enumerate(equations.velocities)}
            speeds = [named["v"][place[name]] for name in equations.independent]
            x = ca.vertcat(named["q"], *speeds, ca.SX.zeros(len(equations.extra_states)))
        return ca.vertcat(named["t"], x, named["u"], named["p"])
