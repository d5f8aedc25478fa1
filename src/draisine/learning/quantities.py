"""What an agent sees and does: observations, rewards and terminations as compiled expressions, actions with bounds."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from draisine.errors import ArgumentError, UnitError
from draisine.expr.expression import Expr
from draisine.expr.units import quantity_in
from draisine.optimal.symbolic_model import ITERATED, SymbolicModel
from draisine.program.arguments import unknown_name
from draisine.program.equations import Equations, Quantity
from draisine.program.linear_solve import LinearSolveProgram
from draisine.program.program import Program

Reals = NDArray[np.float64]
Law = str | Expr
Observe = Sequence[Law] | Mapping[str, Law] | Callable[..., Any]
Bound = float | str | tuple[float | str, float | str]


@dataclass(frozen=True, eq=False)
class Part:
    """Values over all members: columns of the compiled results, or a Python function of such columns."""

    columns: slice
    function: Callable[..., Any] | None = None
    where: str = ""

    def __call__(self, values: Reals) -> Reals:
        """(members, entries) of the results of all members."""
        own = values[:, self.columns]
        if self.function is None:
            return own
        found = np.asarray(self.function(*own.T), dtype=float)
        if found.shape[:1] != (len(values),):
            raise ArgumentError(
                f"{self.where}: the function must return one row per environment, {len(values)} of them, got the shape "
                f"{found.shape}"
            )
        return found if found.ndim == 2 else found.reshape(len(values), -1)


class Expressions:
    """Collects expressions of named quantities; `Part`s are columns of their results. Inputs with a law have its value."""

    def __init__(self, equations: Equations, actions: Sequence[str]) -> None:
        dynamics = equations.explicit
        self._model = SymbolicModel(equations, tuple(actions), eliminated=isinstance(dynamics, LinearSolveProgram))
        self._columns: list[ca.SX] = []
        self.symbols: Sequence[ca.SX] = self._model.plant.arguments

    @property
    def stacked(self) -> ca.SX:
        return ca.vertcat(*self._columns) if self._columns else ca.SX(0, 1)

    def part(self, texts: Sequence[Law], where: str) -> Part:
        """Expressions as columns."""
        begin = len(self._columns)
        self._columns += [self._model.value(text, where) for text in texts]
        return Part(slice(begin, len(self._columns)), where=where)

    def function(self, function: Callable[..., Any], where: str) -> Part:
        """A Python function of quantities, which its parameters name."""
        try:
            names = list(inspect.signature(function).parameters)
        except (TypeError, ValueError):
            raise ArgumentError(f"{where}: the parameters of {function!r} must name the quantities that it takes") from None
        columns = self.part(names, f"{where}: parameters of the function").columns
        return Part(columns, function, where)

    def any_part(self, given: Law | Callable[..., Any], where: str) -> Part:
        """One expression, or a function."""
        if callable(given) and not isinstance(given, Expr):
            return self.function(given, where)
        if isinstance(given, bool) or not isinstance(given, str | Expr | int | float):
            raise ArgumentError(f"{where}: give a text such as '1 - lean^2', or a function, got {given!r}")
        return self.part([given], where)

    def events(self, program: Program | LinearSolveProgram) -> Part:
        """The functions of the model's events."""
        begin = len(self._columns)
        arguments = list(self.symbols)
        if isinstance(program, LinearSolveProgram):
            if program.iterates:
                raise ArgumentError(f"{self._model.equations.name}: {self._by_iteration(program)} {ITERATED}")
            matrix, side = program.linear(arguments)
            found = program.after.function.call([*arguments, ca.solve(matrix, side)])[0]
        else:
            found = program.function.call(arguments)[0]
        self._columns += ca.vertsplit(found)
        return Part(slice(begin, len(self._columns)), where="events")

    def _by_iteration(self, program: LinearSolveProgram) -> str:
        """The first of the events that depend on what a program iterates for."""
        z = ca.SX.sym("z", program.size, program.sides)
        found = ca.vertsplit(program.after.function.call([*self.symbols, z])[0])
        names = (event.name for event in self._model.equations.event_list)
        return next(f"event {name!r}" for name, value in zip(names, found, strict=True) if ca.depends_on(value, ca.vec(z)))


def observed_texts(equations: Equations, observe: Observe) -> tuple[dict[str, Law], tuple[Quantity, ...]]:
    """Observations by label, and as quantities with the units of those that are plain names."""
    if isinstance(observe, str) or not isinstance(observe, Sequence | Mapping) or not len(observe):
        raise ArgumentError(
            f"observe: give names or expressions, such as ['lean', 'steer_rate'], or a function whose parameters are names, "
            f"got {observe!r}"
        )
    texts: dict[str, Law] = dict(observe) if isinstance(observe, Mapping) else {str(text): text for text in observe}
    if not isinstance(observe, Mapping) and len(texts) < len(observe):
        raise ArgumentError(f"observe: an expression occurs twice among {', '.join(map(str, observe))}")
    units = {q.name: q.unit for q in (*equations.outputs, *equations.velocities, *equations.states, *equations.inputs)}
    return texts, tuple(Quantity(label, units.get(str(text), "")) for label, text in texts.items())


@dataclass(frozen=True, eq=False)
class Actions:
    """Inputs that actions set, with their bounds."""

    quantities: tuple[Quantity, ...]
    indices: NDArray[np.int64]
    low: Reals
    high: Reals

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(q.name for q in self.quantities)

    @staticmethod
    def of(equations: Equations, act: Mapping[str, Bound]) -> Actions:
        """From bounds by name: a number for ± that number, or a pair; texts have units."""
        known = {q.name: i for i, q in enumerate(equations.inputs)}
        if not isinstance(act, Mapping) or not act:
            example = next(iter(known), "torque")
            raise ArgumentError(
                f"act: give the bounds of each action by the name of its input, such as {{{example!r}: 5.0}}, got {act!r}"
            )
        for name in act:
            if name not in known:
                raise unknown_name(f"input of {equations.name} among the actions (act)", name, known)
        quantities = tuple(equations.inputs[known[name]] for name in act)
        bounds = [_bounds(q, act[q.name]) for q in quantities]
        low, high = (np.array(side, dtype=float) for side in zip(*bounds, strict=True))
        return Actions(quantities, np.array([known[name] for name in act], dtype=np.int64), low, high)


def _bounds(quantity: Quantity, given: Bound) -> tuple[float, float]:
    pair = isinstance(given, tuple | list) and len(given) == 2
    sides = [_number(quantity, side) for side in (given if pair else (given,))]  # type: ignore[union-attr]
    low, high = (sides[0], sides[1]) if pair else (-sides[0], sides[0])
    if not (np.isfinite(low) and np.isfinite(high) and low < high):
        raise ArgumentError(f"act: the bounds of {quantity.name!r} must be finite, the lower one first, got {given!r}")
    return low, high


def _number(quantity: Quantity, given: Any) -> float:
    where = f"act: bound of {quantity.name!r}"
    if isinstance(given, str):
        try:
            found = quantity_in(given, quantity.unit, where)
        except UnitError as problem:
            raise ArgumentError(str(problem)) from None
        if found is not None:
            return found
    if isinstance(given, bool) or not isinstance(given, int | float | np.number):
        raise ArgumentError(f"{where} must be a number, or a text such as '5 {quantity.unit}', got {given!r}")
    return float(given)
