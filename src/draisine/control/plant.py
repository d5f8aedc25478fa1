"""A plant with controls in symbolic form, along which paths and outputs are differentiated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import casadi as ca

from draisine.errors import ArgumentError, ModelError
from draisine.expr.expression import Expr, did_you_mean, evaluate
from draisine.expr.safe_functions import SX_FUNCTIONS
from draisine.model.quantities import Amount, amount_in
from draisine.program.equations import Equations, Quantity
from draisine.program.linear_solve import LinearSolveProgram
from draisine.program.program import Program

MOST_SOLVED = 20  # largest number of accelerations that are solved for symbolically


@dataclass(frozen=True, eq=False)
class Plant:
    """ẋ = f(t, x, u, w, p): explicit equations whose inputs are controls u and given inputs w."""

    equations: Equations
    controls: tuple[str, ...]

    def __post_init__(self) -> None:
        e = self.equations
        known = [q.name for q in e.inputs]
        for name in self.controls:
            if name not in known:
                hint = did_you_mean(name, known) if known else "; it has no inputs"
                raise ArgumentError(f"{e.name}: the control {name!r} is not an input{hint}")
        if len(set(self.controls)) < len(self.controls):
            raise ArgumentError(f"{e.name}: the controls are {', '.join(self.controls)}; name each control once")

    # ---------------------------------------------------------------- symbols

    @cached_property
    def t(self) -> ca.SX:
        return ca.SX.sym("t")

    @cached_property
    def x(self) -> ca.SX:
        return _column("x", self.equations.states)

    @cached_property
    def inputs(self) -> ca.SX:
        """All inputs in their order."""
        return _column("u", self.equations.inputs)

    @cached_property
    def p(self) -> ca.SX:
        return _column("p", self.equations.parameters)

    @cached_property
    def u(self) -> ca.SX:
        """The controls."""
        index = {q.name: i for i, q in enumerate(self.equations.inputs)}
        return stacked([self.inputs[index[name]] for name in self.controls])

    @property
    def quantities(self) -> tuple[Quantity, ...]:
        """The controls as quantities."""
        given = {q.name: q for q in self.equations.inputs}
        return tuple(given[name] for name in self.controls)

    @property
    def arguments(self) -> list[ca.SX]:
        return [self.t, self.x, self.inputs, self.p]

    # ---------------------------------------------------------------- motion

    @cached_property
    def rates(self) -> ca.SX:
        """ẋ."""
        dynamics = self.equations.explicit
        if isinstance(dynamics, Program):
            return dynamics.function.call(self.arguments)[0]
        return self._solved(dynamics, "xdot")

    def _solved(self, what: LinearSolveProgram, slot: str) -> ca.SX:
        if what.size > MOST_SOLVED:
            raise ModelError(
                f"{self.equations.name}: {what.size} accelerations and multipliers are solved for at run time, too many to "
                "differentiate along a path; derive the model with formulation=Reduced()"
            )
        if what.iterates:
            raise ModelError(
                f"{self.equations.name}: forces depend nonlinearly on constraint multipliers (friction, saturated creep), and "
                "accelerations are found by iteration, which cannot be differentiated along a path; remove the bound of the law "
                "(friction=None), or give the load as a parameter"
            )
        matrix, side = what.linear(self.arguments)
        results = what.after.function.call([*self.arguments, ca.solve(matrix, side)])
        return results[[s.name for s in what.outputs].index(slot)]

    @cached_property
    def velocities(self) -> ca.SX:
        """All velocities, including those that are not states."""
        e = self.equations
        first = len(e.coordinates)
        speeds = {name: self.x[first + i] for i, name in enumerate(e.independent)}
        if set(speeds) == {v.name for v in e.velocities}:
            return stacked([speeds[v.name] for v in e.velocities])
        if not isinstance(e.report, Program):
            return self._solved(e.report, "v")
        return e.report.function.call(self.arguments)[[s.name for s in e.report.outputs].index("v")]

    @cached_property
    def _motion(self) -> dict[str, ca.SX]:
        """Residuals and outputs of motion."""
        motion = self.equations.motion
        given = {
            "t": self.t,
            "q": self.x[: len(self.equations.coordinates)],
            "v": self.velocities,
            "u": self.inputs,
            "p": self.p,
        }
        results = motion.function.call([given[slot.name] for slot in motion.inputs])
        return dict(zip((slot.name for slot in motion.outputs), results, strict=True))

    @property
    def residuals(self) -> ca.SX:
        """Residuals of the system's own constraints."""
        return self._motion["residuals"]

    @property
    def outputs(self) -> ca.SX:
        """Outputs of motion."""
        return self._motion["outputs"]

    @property
    def output_names(self) -> tuple[str, ...]:
        return self.equations.motion.output("outputs").labels

    def along(self, expression: ca.SX) -> ca.SX:
        """The total time derivative along the motion; given inputs are constant."""
        return ca.jtimes(expression, ca.vertcat(self.t, self.x), ca.vertcat(1, self.rates))

    # ---------------------------------------------------------------- names

    @cached_property
    def values(self) -> dict[str, ca.SX]:
        """All named quantities that do not depend on accelerations."""
        e = self.equations
        found = {"t": self.t}
        for symbols, quantities in ((self.p, e.parameters), (self.inputs, e.inputs), (self.velocities, e.velocities)):
            found |= {q.name: symbols[i] for i, q in enumerate(quantities)}
        found |= {q.name: self.x[i] for i, q in enumerate(e.states)}
        return found | {name: self.outputs[i] for i, name in enumerate(self.output_names)}

    def path_residual(self, name: str, text: Amount) -> ca.SX:
        """The residual of a path constraint: an expression that vanishes, or a text "left = right"."""
        e = self.equations
        where = f"{e.name}: path {name!r}"
        found = self._value(where, _left_less_right(where, text))
        bound = [c for i, c in enumerate(self.controls) if ca.depends_on(found, self.u[i])]
        if bound:
            raise ArgumentError(
                f"{where} contains the control {bound[0]!r}, which is unknown; write the path in time, states and outputs"
            )
        if not ca.depends_on(found, self.x):
            raise ArgumentError(f"{where} contains no state and no output of {e.name}")
        return found

    def _value(self, where: str, expression: Expr) -> ca.SX:
        def look_up(word: str) -> ca.SX:
            if word in self.equations.force_outputs:
                raise ArgumentError(
                    f"{where}: {word!r} depends on accelerations or forces; write the path in coordinates, velocities and "
                    "outputs of motion"
                )
            if word not in self.values:
                raise ArgumentError(f"{where}: unknown name {word!r}{did_you_mean(word, self.values)}")
            return self.values[word]

        return ca.SX(evaluate(expression, look_up, SX_FUNCTIONS))


def _left_less_right(where: str, text: Amount) -> Expr:
    if not isinstance(text, str) or "=" not in text:
        return amount_in(text, None, where)
    sides = text.split("=")
    if len(sides) != 2 or any(side[-1:] in "<>!" for side in sides[:-1]):
        raise ArgumentError(f"{where} is {text!r}; write one equation, 'left = right', or an expression that vanishes")
    left, right = (amount_in(side.strip(), None, where) for side in sides)
    return left - right


def _column(name: str, quantities: Sequence[Quantity]) -> ca.SX:
    return stacked([ca.SX.sym(f"{name}_{q.name}") for q in quantities])


def stacked(parts: Sequence[ca.SX]) -> ca.SX:
    return ca.vertcat(*parts) if parts else ca.SX(0, 1)


def paths_of(plant: Plant, path: Mapping[str, Amount]) -> dict[str, ca.SX]:
    """All path constraints as symbols; there must be as many as controls."""
    if not isinstance(path, Mapping):
        raise ArgumentError(f"{plant.equations.name}: a path is a mapping of names, {{'line': 'y = 0.5*sin(t)'}}; got {path!r}")
    if len(path) != len(plant.controls) or not path:
        raise ArgumentError(
            f"{plant.equations.name}: {len(path)} path constraints ({', '.join(path) or 'none'}) for {len(plant.controls)} "
            f"controls ({', '.join(plant.controls) or 'none'}); give one constraint for each control"
        )
    return {name: plant.path_residual(name, text) for name, text in path.items()}
