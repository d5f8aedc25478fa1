"""Equations with inputs that are piecewise polynomials in time.

The coefficients are the inputs of the new equations, constant in each interval, so that one compiled kernel serves all intervals
and all data, and no step crosses a breakpoint.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache

import casadi as ca

from draisine.program.equations import Equations, Quantity
from draisine.program.linear_solve import LinearSolveProgram
from draisine.program.program import DaeResidual, Program


@lru_cache(maxsize=32)
def with_piecewise_inputs(equations: Equations, controls: tuple[str, ...], degree: int) -> Equations:
    """Equations with new inputs: the inputs that stay constant; the polynomial coefficients of each of the `controls` in
    s = (t − interval_begin)/interval_length, in ascending order; begin and length of the interval."""
    constant = [q for q in equations.inputs if q.name not in controls]
    coefficients = [Quantity(f"{name}_{k}") for name in controls for k in range(degree + 1)]
    inputs = (*constant, *coefficients, Quantity("interval_begin"), Quantity("interval_length", default=1.0))

    def original(t: ca.SX, u: ca.SX) -> ca.SX:
        s = (t - u[len(inputs) - 2]) / u[len(inputs) - 1]
        values = {q.name: u[i] for i, q in enumerate(constant)}
        for c, name in enumerate(controls):
            value = ca.SX(0)
            for k in reversed(range(degree + 1)):
                value = value * s + u[len(constant) + c * (degree + 1) + k]
            values[name] = value
        return ca.vertcat(*[values[q.name] for q in equations.inputs]) if values else ca.SX(0, 1)

    substitute_inputs = _input_substitution(original, len(inputs))
    dynamics, other_choice = equations.dynamics, equations.with_independent
    if isinstance(dynamics, DaeResidual):
        new: Program | LinearSolveProgram | DaeResidual = replace(dynamics, residual=substitute_inputs(dynamics.residual))
    else:
        new = _substituted(dynamics, substitute_inputs)
    return replace(
        equations,
        inputs=inputs,
        dynamics=new,
        report=_substituted(equations.report, substitute_inputs),
        motion=substitute_inputs(equations.motion),
        project=None if equations.project is None else _substituted(equations.project, substitute_inputs),
        monitor=None if equations.monitor is None else substitute_inputs(equations.monitor),
        events=None if equations.events is None else _substituted(equations.events, substitute_inputs),
        causes=None if equations.causes is None else substitute_inputs(equations.causes),
        inverse_dynamics=None,
        with_independent=None
        if other_choice is None
        else lambda choice: with_piecewise_inputs(other_choice(choice), controls, degree),
    )


def _input_substitution(original: Callable[[ca.SX, ca.SX], ca.SX], count: int) -> Callable[[Program], Program]:
    def substitute_inputs(program: Program) -> Program:
        symbols = {slot.name: symbol for slot, symbol in zip(program.inputs, program.symbols(), strict=True)}
        given = {**symbols}
        symbols["u"] = ca.SX.sym("u", count)
        given["u"] = original(symbols["t"], symbols["u"])
        results = program.function.call([given[slot.name] for slot in program.inputs])
        outs = {slot.name: (result, slot.labels) for slot, result in zip(program.outputs, results, strict=True)}
        ins = {s.name: symbols[s.name] if s.name == "u" else (symbols[s.name], s.labels) for s in program.inputs}
        return Program.build(f"{program.name}_driven", ins, outs)

    return substitute_inputs


def _substituted(
    what: Program | LinearSolveProgram, substitute_inputs: Callable[[Program], Program]
) -> Program | LinearSolveProgram:
    if isinstance(what, Program):
        return substitute_inputs(what)
    start = None if what.start is None else substitute_inputs(what.start)
    return replace(what, system=substitute_inputs(what.system), after=substitute_inputs(what.after), start=start)
