"""Closed loops: equations with laws substituted for inputs, and with controller states among the coordinates.

A law that is an expression of states and outputs is substituted by `derive(model, laws)`. A controller with states of its own (an
observer), or one built from derivatives of the equations, is substituted into the finished programs of (t, x, u, p). Its states
are coordinates, so that they can be initial conditions and are part of linear models.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import casadi as ca

from draisine.control.plant import Plant, stacked
from draisine.dynamics.derive import derive
from draisine.dynamics.input_laws import with_laws
from draisine.errors import ArgumentError, ModelError
from draisine.expr.expression import Expr, Number, did_you_mean, evaluate
from draisine.expr.safe_functions import SX_FUNCTIONS
from draisine.model.model import Model
from draisine.model.quantities import Amount, amount_in
from draisine.model.system import System
from draisine.program.arguments import refuse_unilateral
from draisine.program.equations import Equations, Quantity
from draisine.program.linear_solve import LinearSolveProgram
from draisine.program.program import DaeResidual, Program


class NamedSymbols:
    """The named quantities of a plant as symbols, with further names."""

    def __init__(self, plant: Plant, more: Mapping[str, ca.SX] | None = None) -> None:
        e = plant.equations
        self._model = e.name
        self.values: dict[str, ca.SX] = {"t": plant.t}
        for symbols, quantities in ((plant.p, e.parameters), (plant.velocities, e.velocities), (plant.x, e.states)):
            self.values |= {q.name: symbols[i] for i, q in enumerate(quantities)}
        self.values |= {name: plant.outputs[i] for i, name in enumerate(plant.output_names)}
        self.values |= dict(more or {})

    def value(self, expression: Expr, what: str) -> ca.SX:
        def look_up(name: str) -> ca.SX:
            if name not in self.values:
                raise ArgumentError(f"{self._model}: {what}: there is no {name!r}{did_you_mean(name, self.values)}")
            return self.values[name]

        return ca.SX(evaluate(expression, look_up, SX_FUNCTIONS))


class Controller(Protocol):
    """A controller that can close a loop."""

    @property
    def controls(self) -> tuple[str, ...]:
        """Names of the inputs it sets."""

    @property
    def own_states(self) -> tuple[Quantity, ...]: ...

    def commands(self, plant: Plant, own: Mapping[str, ca.SX]) -> list[ca.SX]:
        """The controls as expressions of the plant and of its own states."""

    def rates(self, plant: Plant, own: Mapping[str, ca.SX], commands: Sequence[ca.SX]) -> list[ca.SX]:
        """Rates of its own states."""


def input_laws(inputs: Mapping[str, Amount] | None) -> dict[str, Expr]:
    """Laws for inputs as expressions, constants too."""
    given = (inputs or {}).items()
    return {n: amount_in(v, None, f"law of input {n!r}") if isinstance(v, Expr | str) else Number(float(v)) for n, v in given}


def with_expressions(model: Model | System | Equations, laws: Mapping[str, Expr]) -> Equations:
    """Equations with laws that are expressions; work is integrated, so that the energy balance can be checked."""
    if not isinstance(model, Equations):
        return derive(model, laws, work=True)
    if laws and set(model.independent) != {v.name for v in model.velocities}:
        return ClosedLoop(model, Expressions(dict(laws))).equations()
    return with_laws(model, laws)


@dataclass(frozen=True, eq=False)
class Expressions:
    """A static controller: expressions of named quantities of the plant."""

    laws: dict[str, Expr]

    @property
    def controls(self) -> tuple[str, ...]:
        return tuple(self.laws)

    @property
    def own_states(self) -> tuple[Quantity, ...]:
        return ()

    def commands(self, plant: Plant, own: Mapping[str, ca.SX]) -> list[ca.SX]:
        named = NamedSymbols(plant)
        return [named.value(law, f"law of input {name!r}") for name, law in self.laws.items()]

    def rates(self, plant: Plant, own: Mapping[str, ca.SX], commands: Sequence[ca.SX]) -> list[ca.SX]:
        return []


def close_loop(
    model: Model | System | Equations, controller: Controller, inputs: Mapping[str, Amount] | None = None
) -> Equations:
    """A model with a controller in the loop; `inputs` are laws of the other inputs."""
    others = input_laws(inputs)
    both = [name for name in others if name in controller.controls]
    if both:
        raise ArgumentError(f"{both[0]!r} is set by the controller and also has a law; remove one of them")
    return ClosedLoop(with_expressions(model, others), controller).equations()


@dataclass(frozen=True, eq=False)
class ClosedLoop:
    """The programs of a plant with a controller: x of the loop is (q, controller states, speeds, extra states)."""

    plain: Equations
    controller: Controller

    @cached_property
    def plant(self) -> Plant:
        if isinstance(self.plain.dynamics, DaeResidual):
            raise ModelError(f"{self.plain.name} is given as 0 = F(t, x, ẋ); reduce its index first (reduce_index)")
        refuse_unilateral("a controller with states of its own", self.plain)
        return Plant(self.plain, self.controller.controls)

    @cached_property
    def _own(self) -> ca.SX:
        return stacked([ca.SX.sym(q.name) for q in self.controller.own_states])

    @cached_property
    def _law(self) -> ca.Function:
        """(t, x, own, u, p) → all inputs, rates of the own states."""
        plant, names = self.plant, [q.name for q in self.controller.own_states]
        own = {name: self._own[i] for i, name in enumerate(names)}
        commands = self.controller.commands(plant, own)
        rates = self.controller.rates(plant, own, commands)
        set_to = dict(zip(self.controller.controls, commands, strict=True))
        u = stacked([set_to.get(q.name, plant.inputs[i]) for i, q in enumerate(self.plain.inputs)])
        return ca.Function("law", [plant.t, plant.x, self._own, plant.inputs, plant.p], [u, stacked(rates)])

    def equations(self) -> Equations:
        e = self.plain
        again = e.with_independent
        onward: Callable[[tuple[str, ...]], Equations] | None = None
        if again is not None:

            def onward(names: tuple[str, ...]) -> Equations:
                return ClosedLoop(again(names), self.controller).equations()

        assert not isinstance(e.dynamics, DaeResidual)  # refused by `plant`
        return replace(
            e,
            coordinates=(*e.coordinates, *self.controller.own_states),
            dynamics=self._substituted_anywhere(e.dynamics),
            report=self._substituted_anywhere(e.report),
            motion=self._substituted(e.motion),
            project=None if e.project is None else self._substituted_anywhere(e.project),
            monitor=None if e.monitor is None else self._substituted(e.monitor),
            events=None if e.events is None else self._substituted_anywhere(e.events),
            causes=None if e.causes is None else self._substituted(e.causes),
            with_independent=onward,
            inverse_dynamics=None,
        )

    # ---------------------------------------------------------------- programs

    def _substituted_anywhere(self, what: Program | LinearSolveProgram) -> Program | LinearSolveProgram:
        if isinstance(what, Program):
            return self._substituted(what)
        start = None if what.start is None else self._substituted(what.start)
        return replace(what, system=self._substituted(what.system), after=self._substituted(what.after), start=start)

    def _substituted(self, program: Program) -> Program:
        names = [q.name for q in self.controller.own_states]
        count, at = len(names), len(self.plain.coordinates)
        ins: dict[str, tuple[ca.SX, Sequence[str]]] = {}
        arguments: dict[str, ca.SX] = {}
        own = self._own
        for slot, symbol in zip(program.inputs, program.symbols(), strict=True):
            arguments[slot.name], labels = symbol, list(slot.labels)
            if slot.name in ("x", "q"):
                symbol, labels = _inserted(symbol, own, at), [*labels[:at], *names, *labels[at:]]
            ins[slot.name] = (symbol, labels)
        u, rates = self._law(arguments["t"], self._state(arguments), own, arguments["u"], arguments["p"])
        given = {**arguments, "u": u}
        results = program.function.call([given[slot.name] for slot in program.inputs])
        outs: dict[str, tuple[ca.SX, Sequence[str]]] = {}
        for slot, result in zip(program.outputs, results, strict=True):
            labels = list(slot.labels)
            if slot.name in ("xdot", "x_new") and count:
                more = rates if slot.name == "xdot" else own
                result, labels = _inserted(result, more, at), [*labels[:at], *(f"d{n}/dt" for n in names), *labels[at:]]
                if slot.name == "x_new":
                    labels[at : at + count] = names
            outs[slot.name] = (result, labels)
        units = {n: unit for slot in (*program.inputs, *program.outputs) for n, unit in zip(slot.labels, slot.units, strict=True)}
        units |= {q.name: q.unit for q in self.controller.own_states}
        return Program.build(program.name, ins, outs, units)

    def _state(self, arguments: Mapping[str, ca.SX]) -> ca.SX:
        """The state of the plant in the arguments of a program, which takes x, or q and v."""
        if "x" in arguments:
            return arguments["x"]
        e = self.plain
        index = {v.name: i for i, v in enumerate(e.velocities)}
        speeds = [arguments["v"][index[name]] for name in e.independent]
        return ca.vertcat(arguments["q"], *speeds, ca.SX.zeros(len(e.extra_states)))


def _inserted(column: ca.SX, more: ca.SX, at: int) -> ca.SX:
    first, rest = ca.vertsplit(column, [0, at, column.numel()])
    return ca.vertcat(first, more, rest)
