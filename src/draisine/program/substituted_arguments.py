"""Equations with other arguments: every program of theirs has a slot replaced by expressions of new symbols.

Programs of unilateral contacts are among them. A slot may become a polynomial in time (`piecewise_inputs`), or be partly given
by numbers (`fixed_modes`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import casadi as ca

from draisine.program.equations import USUAL_PROGRAMS, Equations
from draisine.program.linear_solve import LinearSolveProgram
from draisine.program.program import DaeResidual, Program

SOLVED = ("report", "project", "events", "contact_margins")  # may have a linear system
DIRECT = (
    *("motion", "monitor", "causes", "twists"),
    *("contact_terms", "contact_system"),
    *USUAL_PROGRAMS,
)


class Substitution(NamedTuple):
    """A slot, its new symbols with labels, and its old entries as a function of time and these."""

    slot: str
    size: int
    labels: tuple[str, ...]
    original: Callable[[ca.SX, ca.SX], ca.SX]

    def program(self, program: Program) -> Program:
        """A program with the new slot."""
        if self.slot not in [slot.name for slot in program.inputs]:
            return program
        symbols = {slot.name: symbol for slot, symbol in zip(program.inputs, program.symbols(), strict=True)}
        given = {**symbols}
        symbols[self.slot] = ca.SX.sym(self.slot, self.size)
        given[self.slot] = self.original(symbols.get("t", ca.SX(0)), symbols[self.slot])
        results = program.function.call([given[slot.name] for slot in program.inputs])
        outs = {slot.name: (result, slot.labels) for slot, result in zip(program.outputs, results, strict=True)}
        ins: dict[str, Any] = {
            s.name: (symbols[s.name], self.labels if s.name == self.slot else s.labels) for s in program.inputs
        }
        return Program.build(f"{program.name}_driven", ins, outs)

    def solved(self, what: Program | LinearSolveProgram) -> Program | LinearSolveProgram:
        """The same with a linear system."""
        return self.program(what) if isinstance(what, Program) else what.mapped(self.program)

    def equations(self, equations: Equations) -> Equations:
        """All programs with the new slot; those of other choices of velocities too. Names of quantities stay."""
        dynamics, other_choice = equations.dynamics, equations.with_independent
        if isinstance(dynamics, DaeResidual):
            new: Program | LinearSolveProgram | DaeResidual = replace(dynamics, residual=self.program(dynamics.residual))
        else:
            new = self.solved(dynamics)
        direct = {n: None if (p := getattr(equations, n)) is None else self.program(p) for n in DIRECT}
        solved = {n: None if (p := getattr(equations, n)) is None else self.solved(p) for n in SOLVED}
        made: dict[str, Any] = {**direct, **solved}
        return replace(
            equations,
            dynamics=new,
            inverse_dynamics=None,
            with_independent=None if other_choice is None else lambda choice: self.equations(other_choice(choice)),
            **made,
        )
