"""Symbolic model for optimal control: all named quantities as expressions of time, states, algebraic unknowns, inputs and
parameters.

All kinds of dynamics take the semi-explicit form ẏ = f, 0 = g in (t, y, z, u, p):

- explicit ẋ = f(t, x, u, p): y = x, no z;
- `LinearSolveProgram`, K z = r and ẋ = f(…, z): y = x, with the accelerations and multipliers z as unknowns and
  g = K z − r; a small z can be `eliminated` where ẏ = f is needed;
- `DaeResidual`, 0 = F(t, x, ẋ, u, p): y are the unknowns with a derivative in F, z = (ẏ, all others), f = ẏ, g = F.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from draisine.control.plant import Plant, stacked
from draisine.errors import ArgumentError
from draisine.expr.expression import Call, Expr, did_you_mean, evaluate
from draisine.expr.safe_functions import SX_FUNCTIONS
from draisine.model.quantities import Amount, amount_in
from draisine.program.equations import ENERGIES, Equations
from draisine.program.linear_solve import LinearSolveProgram
from draisine.program.program import DaeResidual, Program
from draisine.stability.deviations import attitude

Reals = NDArray[np.float64]
ITERATED = (
    "is found by iteration, because a contact's force depends nonlinearly on its own load (a bound of friction on a rigid tire), "
    "and no expression gives it; let the load follow from the state (stiffness= of the tire), or remove the bound (friction=None)"
)


@dataclass(frozen=True, eq=False)
class Condition:
    """A named expression between bounds; an equation has equal ones. Of a relation, `value` is left − right."""

    name: str
    value: ca.SX
    low: float
    high: float
    right: ca.SX | None = None  # right side of a relation

    @property
    def equation(self) -> bool:
        return self.low == self.high


@dataclass(frozen=True, eq=False)
class SymbolicModel:
    """The named quantities of a system of equations with the given controls."""

    equations: Equations
    controls: tuple[str, ...]
    eliminated: bool = False  # z of `LinearSolveProgram` dynamics is solved for symbolically

    @cached_property
    def plant(self) -> Plant:
        return Plant(self.equations, self.controls)

    # ---------------------------------------------------------------- the common form

    @cached_property
    def _differential(self) -> tuple[bool, ...]:
        dynamics = self.equations.dynamics
        return dynamics.differential if isinstance(dynamics, DaeResidual) else (True,) * len(self.equations.states)

    @cached_property
    def state_indices(self) -> list[int]:
        """Indices of the system's states that are y."""
        return [i for i, moving in enumerate(self._differential) if moving]

    @cached_property
    def algebraic_indices(self) -> list[int]:
        """Indices of the system's states that are algebraic."""
        return [i for i, moving in enumerate(self._differential) if not moving]

    @property
    def state_names(self) -> tuple[str, ...]:
        return tuple(self.equations.states[i].name for i in self.state_indices)

    @cached_property
    def y(self) -> ca.SX:
        return stacked([self.plant.x[i] for i in self.state_indices])

    @cached_property
    def _solved_for(self) -> ca.SX:
        """z of `LinearSolveProgram` dynamics, or the rates ẏ of `DaeResidual` dynamics."""
        dynamics = self.equations.dynamics
        if isinstance(dynamics, LinearSolveProgram):
            return ca.SX.sym("z", dynamics.size)
        return ca.SX.sym("rate", len(self.state_indices) if isinstance(dynamics, DaeResidual) else 0)

    @cached_property
    def solution(self) -> ca.SX:
        """z of `LinearSolveProgram` dynamics, as an unknown or as its symbolic solution, which an iteration does not have."""
        dynamics = self.equations.dynamics
        if not self.eliminated:
            return self._solved_for
        assert isinstance(dynamics, LinearSolveProgram)
        if dynamics.iterates:
            return self._solved_for
        matrix, side = dynamics.linear(self.plant.arguments)
        return ca.solve(matrix, side)

    @cached_property
    def z(self) -> ca.SX:
        if self.eliminated:
            return ca.SX(0, 1)
        return ca.vertcat(self._solved_for, *[self.plant.x[i] for i in self.algebraic_indices])

    @cached_property
    def rates(self) -> ca.SX:
        """f."""
        dynamics = self.equations.dynamics
        if isinstance(dynamics, Program):
            return self.plant.rates
        if isinstance(dynamics, DaeResidual):
            return self._solved_for
        return _slot(dynamics.after, [*self.plant.arguments, self.solution], "xdot")

    @cached_property
    def algebraic(self) -> ca.SX:
        """g."""
        dynamics, plant = self.equations.dynamics, self.plant
        if self.eliminated:
            return ca.SX(0, 1)
        if isinstance(dynamics, LinearSolveProgram):
            matrix, side = dynamics.linear(plant.arguments, self._solved_for)
            return matrix @ self._solved_for - side
        if isinstance(dynamics, DaeResidual):
            rates = ca.SX.zeros(len(self._differential))
            for i, place in enumerate(self.state_indices):
                rates[place] = self._solved_for[i]
            return dynamics.residual.function.call([plant.t, plant.x, rates, plant.inputs, plant.p])[0]
        return ca.SX(0, 1)

    def along(self, expression: ca.SX, where: str) -> ca.SX:
        """The time derivative along the motion."""
        for excluded, what in ((self.plant.u, "a control"), (self.z, "an acceleration, a force or an algebraic unknown")):
            if excluded.numel() and ca.depends_on(expression, excluded):
                raise ArgumentError(f"{where}: its rate would need the derivative of {what}, which the equations do not define")
        return ca.jtimes(expression, ca.vertcat(self.plant.t, self.y), ca.vertcat(1, self.rates))

    @cached_property
    def coordinates(self) -> dict[str, ca.SX]:
        """Quantities that determine a state, in order of preference; angles replace quaternions."""
        turned = {name for quaternion in self.equations.quaternions for name in quaternion}
        at = dict(zip(self.state_names, ca.vertsplit(self.y), strict=True)) if self.state_names else {}
        found: dict[str, ca.SX] = {}
        for quaternion in self.equations.quaternions:
            angles = attitude([at[name] for name in quaternion])
            stem = quaternion[0].removesuffix("_qw")
            found |= {f"{stem}_{name}": angle for name, angle in zip(("heading", "lean", "pitch"), angles, strict=True)}
        return {name: symbol for name, symbol in at.items() if name not in turned} | found

    # ---------------------------------------------------------------- names

    @cached_property
    def _reported(self) -> dict[str, ca.SX]:
        """The results of the report by slot; of a linear system that the dynamics do not solve, in terms of a further z."""
        report, arguments = self.equations.report, self.plant.arguments
        program = report.after if isinstance(report, LinearSolveProgram) else report
        if isinstance(report, LinearSolveProgram):
            arguments = [*arguments, self.solution if self._solved_alike else self._further]
        return dict(zip((slot.name for slot in program.outputs), program.function.call(arguments), strict=True))

    @cached_property
    def _solved_alike(self) -> bool:
        """Whether the report needs no other unknowns than those of the dynamics."""
        report, dynamics = self.equations.report, self.equations.dynamics
        if isinstance(report, Program):
            return True
        return isinstance(dynamics, LinearSolveProgram) and report.system.digest == dynamics.system.digest

    @cached_property
    def _further(self) -> ca.SX:
        report = self.equations.report
        return ca.SX.sym("further", report.size, report.sides) if isinstance(report, LinearSolveProgram) else ca.SX(0, 1)

    @cached_property
    def _given(self) -> dict[str, int]:
        """The inputs that are not controls, with their places."""
        return {q.name: i for i, q in enumerate(self.equations.inputs) if q.name not in self.controls}

    def _law(self, name: str, where: str) -> ca.SX:
        found = self._reported["inputs"][self._given[name]]
        if not self._solved_alike and ca.depends_on(found, ca.vec(self._further)):
            raise ArgumentError(
                f"{self.equations.name}: {where}: the law of input {name!r} uses velocities that are solved for at run time; "
                "name other quantities, or derive the model with formulation=Reduced()"
            )
        return found

    @cached_property
    def _forces(self) -> dict[str, ca.SX]:
        """Outputs that depend on accelerations, multipliers and energies."""
        if not self._solved_alike:
            return {}
        report, reported = self.equations.report, self._reported
        found = {q.name: reported["multipliers"][i] for i, q in enumerate(self.equations.multipliers)}
        labels = report.output("outputs").labels
        found |= {name: reported["outputs"][i] for i, name in enumerate(labels) if name in self.equations.force_outputs}
        if "energy" in reported:
            found |= {name: reported["energy"][i] for i, name in enumerate(ENERGIES[:2])}
        return found

    def named(self, name: str, where: str) -> ca.SX:
        """The expression of a name; of an input with a law, which the equations contain, that law."""
        if name in self._given:
            return self._law(name, where)
        if name in self.plant.values:
            return self.plant.values[name]
        if name not in self._forces:
            known = [*self.plant.values, *self._forces]
            raise ArgumentError(f"{self.equations.name}: {where}: unknown name {name!r}{did_you_mean(name, known)}")
        found = self._forces[name]
        if self.eliminated and ca.depends_on(found, self._solved_for):
            raise ArgumentError(f"{self.equations.name}: {where}: {name!r} {ITERATED}")
        return found

    def value(self, text: Amount, where: str) -> ca.SX:
        """An expression of named quantities; text is parsed, not evaluated as Python."""
        return self._evaluated(amount_in(text, None, f"{self.equations.name}: {where}"), where)

    def _evaluated(self, expression: Expr, where: str) -> ca.SX:
        return ca.SX(evaluate(expression, lambda name: self.named(name, where), SX_FUNCTIONS))

    def condition(self, name: str, text: Amount, where: str) -> Condition:
        """`left <= right`, `left >= right` or `left = right`."""
        if isinstance(text, str) and "=" in text.replace("<=", "").replace(">=", ""):
            sides = text.replace("==", "=").split("=")
            if len(sides) != 2 or "<" in text or ">" in text:
                raise ArgumentError(
                    f"{where}: {text!r} is not a condition; write one relation, left <= right, left >= right or left = right"
                )
            left, right = (self.value(side.strip(), where) for side in sides)
            return Condition(name, left - right, 0.0, 0.0, right)
        expression = amount_in(text, None, f"{self.equations.name}: {where}")
        if not isinstance(expression, Call) or expression.function not in ("lt", "le", "gt", "ge"):
            raise ArgumentError(f"{where}: {text!r} is not a condition; write left <= right, left >= right or left = right")
        left, right = (self._evaluated(side, where) for side in expression.arguments)
        below = expression.function in ("lt", "le")
        return Condition(name, left - right, -math.inf if below else 0.0, 0.0 if below else math.inf, right)


def _slot(program: Program, arguments: list[ca.SX], name: str) -> ca.SX:
    return program.function.call(arguments)[[slot.name for slot in program.outputs].index(name)]
