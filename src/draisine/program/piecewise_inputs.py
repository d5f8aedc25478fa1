"""Equations whose inputs are polynomials in time, interval by interval.

The coefficients are inputs of the equations made here, constant in an interval, so that one compiled kernel serves all
intervals and all data, and no step crosses a corner of an input.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache

import casadi as ca

from draisine.program.dae_residual import DaeResidual
from draisine.program.equations import Equations, Quantity
from draisine.program.linear_solve import LinearSolveProgram
from draisine.program.program import Program


@lru_cache(maxsize=32)
def driven(equations: Equations, controls: tuple[str, ...], degree: int) -> Equations:
    """The same equations with other inputs: those that are held, in their order; the coefficients of each of the `controls` in
    s = (t − interval_begin)/interval_length, from the constant on; then begin and length of the interval."""
    held = [q for q in equations.inputs if q.name not in controls]
    made = [Quantity(f"{name}_{k}") for name in controls for k in range(degree + 1)]
    inputs = (*held, *made, Quantity("interval_begin"), Quantity("interval_length", default=1.0))

    def original(t: ca.SX, u: ca.SX) -> ca.SX:
        s = (t - u[len(inputs) - 2]) / u[len(inputs) - 1]
        values = {q.name: u[i] for i, q in enumerate(held)}
        for c, name in enumerate(controls):
            value = ca.SX(0)
            for k in reversed(range(degree + 1)):
                value = value * s + u[len(held) + c * (degree + 1) + k]
            values[name] = value
        return ca.vertcat(*[values[q.name] for q in equations.inputs]) if values else ca.SX(0, 1)

    put_in = _putter(original, len(inputs))
    dynamics, again = equations.dynamics, equations.with_independent
    if isinstance(dynamics, DaeResidual):
        new: Program | LinearSolveProgram | DaeResidual = replace(dynamics, residual=put_in(dynamics.residual))
    else:
        new = _into(dynamics, put_in)
    return replace(
        equations,
        inputs=inputs,
        dynamics=new,
        report=_into(equations.report, put_in),
        motion=put_in(equations.motion),
        project=None if equations.project is None else _into(equations.project, put_in),
        monitor=None if equations.monitor is None else put_in(equations.monitor),
        events=None if equations.events is None else put_in(equations.events),
        causes=None if equations.causes is None else put_in(equations.causes),
        inverse_dynamics=None,
        with_independent=None if again is None else lambda choice: driven(again(choice), controls, degree),
    )


def _putter(original: Callable[[ca.SX, ca.SX], ca.SX], count: int) -> Callable[[Program], Program]:
    def put_in(program: Program) -> Program:
        symbols = {slot.name: symbol for slot, symbol in zip(program.inputs, program.symbols(), strict=True)}
        given = {**symbols}
        symbols["u"] = ca.SX.sym("u", count)
        given["u"] = original(symbols["t"], symbols["u"])
        results = program.function.call([given[slot.name] for slot in program.inputs])
        outs = {slot.name: (result, slot.labels) for slot, result in zip(program.outputs, results, strict=True)}
        ins = {s.name: symbols[s.name] if s.name == "u" else (symbols[s.name], s.labels) for s in program.inputs}
        return Program.build(f"{program.name}_driven", ins, outs)

    return put_in


def _into(what: Program | LinearSolveProgram, put_in: Callable[[Program], Program]) -> Program | LinearSolveProgram:
    if isinstance(what, Program):
        return put_in(what)
    start = None if what.start is None else put_in(what.start)
    return replace(what, system=put_in(what.system), after=put_in(what.after), start=start)
