"""Starts of episodes: targets and parameters that are numbers, distributions or drawn by a function, solved in batches."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from draisine.errors import ArgumentError, StartError
from draisine.model.model import Model
from draisine.model.system import System
from draisine.program.arguments import number_in, numbers, parameter_values, refuse_dependent, unknown_name
from draisine.program.equations import Equations
from draisine.simulation.ensemble.distributions import Distribution
from draisine.simulation.ensemble.problem import ValueCheck
from draisine.simulation.initial.batch import BatchTargets, consistent_starts, refusal
from draisine.simulation.initial.consistent_start import consistent_start
from draisine.simulation.initial.problem import InitialGuess, StartProblem, plain

Reals = NDArray[np.float64]
Draw = float | str | Distribution | tuple[float, float]
Reset = Mapping[str, Any] | Callable[..., Mapping[str, Any]] | None

BLOCK = 256  # starts that are solved together where members start one by one


@dataclass(eq=False)
class EpisodeStarts:
    """Starts of an environment, in the order of their draws; what a seed determines does not depend on who takes them."""

    equations: Equations
    problem: StartProblem
    reset: Reset
    parameters: Mapping[str, Any]
    inputs: Reals
    block: int
    validity: ValueCheck
    _states: Reals = field(default_factory=lambda: np.zeros((0, 0)))  # solved ahead
    _parameters: Reals = field(default_factory=lambda: np.zeros((0, 0)))

    @staticmethod
    def of(
        model: Model | System | Equations,
        equations: Equations,
        reset: Reset,
        parameters: Mapping[str, Any],
        inputs: Mapping[str, float],
        block: int,
    ) -> EpisodeStarts:
        """Names are checked now; values of functions when they are drawn."""
        problem = StartProblem(equations)
        if reset is not None and not isinstance(reset, Mapping) and not callable(reset):
            raise ArgumentError(
                f"reset: give start targets by name, such as {{'speed': 4.0, 'lean': (-0.1, 0.1)}}, or a function of a random "
                f"generator and a number of starts, got {reset!r}"
            )
        known = [q.name for q in equations.parameters]
        for name in parameters:
            refuse_dependent(name, equations.dependent_parameters)
            if name not in known:
                raise unknown_name(f"parameter of {equations.name}", name, known, equations.left_out)
        fixed = {name: value for name, value in parameters.items() if _is_fixed(value)}
        numbers_of = dict(zip(known, parameter_values(equations, fixed).tolist(), strict=True))
        drawn = {name: ("parameter", name) for name in parameters if name not in fixed}
        validity = ValueCheck.of(model, drawn, {name: numbers_of[name] for name in fixed})
        u = numbers("input", equations.inputs, inputs)
        made = EpisodeStarts(equations, problem, reset, parameters, u, block, validity)
        if isinstance(reset, Mapping):
            made._check(reset)
        for name, value in parameters.items():
            _bounds(f"parameters: {name}", value, made._unit(name))
        return made

    def _check(self, reset: Mapping[str, Any]) -> None:
        for name in reset:
            if name in self.equations.force_outputs:
                raise ArgumentError(f"reset: {name!r} depends on accelerations or forces and cannot be a start target")
            if name not in self.problem.kinds:
                raise unknown_name(f"coordinate, velocity or output of {self.equations.name} for reset", name, self.problem.kinds)
        for name, value in reset.items():
            _bounds(f"reset: {name}", value, self._unit(name))

    def _unit(self, name: str) -> str:
        """The unit of a parameter or a start target."""
        equations = self.equations
        listed = (*equations.parameters, *equations.outputs, *equations.velocities, *equations.states)
        return next((q.unit for q in listed if q.name == name), "")

    def forget(self) -> None:
        """Drop the starts that were solved ahead, because the generator is seeded anew."""
        self._states, self._parameters = self._states[:0], self._parameters[:0]

    def take(self, random: np.random.Generator, count: int) -> tuple[Reals, Reals]:
        """The next starts: states and parameters, one row each."""
        if len(self._states) < count:
            x, p = self._solved(random, max(self.block, count - len(self._states)))
            parts = ((self._states, x), (self._parameters, p))
            self._states, self._parameters = (np.concatenate(part) if len(part[0]) else part[1] for part in parts)
        both = self._states[:count], self._parameters[:count]
        self._states, self._parameters = self._states[count:], self._parameters[count:]
        return both

    def of_one(self, random: np.random.Generator) -> tuple[Reals, Reals]:
        """The next start of a member with a generator of its own."""
        return self._solved(random, 1)

    def given(self, targets: Mapping[str, Any], random: np.random.Generator) -> tuple[Reals, Reals]:
        """A start with some targets given for this episode."""
        self._check(targets)
        drawn = {name: column[0] for name, column in self._drawn_targets(random, 1).items()}
        p = self._drawn_parameters(random, 1)[0]
        start = plain(self.equations, {**drawn, **targets})
        return consistent_start(self.problem, start, parameters=p, inputs=self.inputs).x[None], p[None]

    def _solved(self, random: np.random.Generator, count: int) -> tuple[Reals, Reals]:
        targets, p = self._drawn_targets(random, count), self._drawn_parameters(random, count)
        if count > 1 and (p == p[0]).all() and all((column == column[0]).all() for column in targets.values()):
            x = self._solutions({name: column[:1] for name, column in targets.items()}, p[:1])
            return np.repeat(x, count, axis=0), p
        return self._solutions(targets, p), p

    def _solutions(self, targets: Mapping[str, Reals], p: Reals) -> Reals:
        """Consistent states for all rows of targets and parameters."""
        requested = BatchTargets(targets, {}, np.tile(self.inputs, (len(p), 1)), p)
        found = consistent_starts(self.problem, requested)
        x = found.states(self.equations)
        for index in np.flatnonzero(found.refused):
            raise StartError(f"reset: a start that was drawn does not exist: {refusal(self.problem, requested, int(index))}")
        for index in np.flatnonzero(~found.solved):
            x[index] = consistent_start(self.problem, requested.of(int(index)), parameters=p[index], inputs=self.inputs).x
        return x

    def _drawn_targets(self, random: np.random.Generator, count: int) -> dict[str, Reals]:
        if callable(self.reset):
            given: Mapping[str, Any] = self.reset(random, count)
            self._check(given)
        else:
            given = self.reset or {}
        fixed = {name: value for name, value in given.items() if _is_fixed(value)}
        as_numbers = plain(self.equations, fixed)
        return {
            name: _column(f"reset: {name}", as_numbers.get(name, value), self._unit(name), random, count)
            for name, value in given.items()
        }

    def _drawn_parameters(self, random: np.random.Generator, count: int) -> Reals:
        fixed = {name: value for name, value in self.parameters.items() if _is_fixed(value)}
        p = np.tile(parameter_values(self.equations, fixed), (count, 1))
        index = {q.name: i for i, q in enumerate(self.equations.parameters)}
        others = {name: value for name, value in self.parameters.items() if name not in fixed}
        drawn = {name: _column(f"parameters: {name}", value, self._unit(name), random, count) for name, value in others.items()}
        for member in np.flatnonzero(self.validity.reasons(drawn, count) != ""):
            complaint = self.validity.complaint({name: float(column[member]) for name, column in drawn.items()})
            raise ArgumentError(f"parameters: values were drawn that no model can have: {complaint}")
        for name, column in drawn.items():
            p[:, index[name]] = column
        return p


def _is_fixed(given: Any) -> bool:
    return isinstance(given, str | float | int | np.number)


def _bounds(where: str, given: Any, unit: str) -> tuple[float, float] | None:
    """The bounds of a uniform distribution, texts with units converted; None for anything else."""
    if not isinstance(given, tuple) or len(given) != 2:
        return None
    sides = [None if isinstance(side, bool) else number_in(side, unit, where) for side in given]
    low, high = (math.nan if side is None else side for side in sides)
    if not (math.isfinite(low) and math.isfinite(high) and low <= high):
        raise ArgumentError(f"{where}: the bounds (low, high) must be finite numbers, the lower one first, got {given!r}")
    return low, high


def _column(where: str, given: Any, unit: str, random: np.random.Generator, count: int) -> Reals:
    """Numbers of all starts: one for all, drawn from a distribution or between two bounds, or one for each."""
    if hasattr(given, "draw"):
        return np.asarray(given.draw(random, count), dtype=float)
    if isinstance(given, InitialGuess):
        raise ArgumentError(f"{where}: initial guesses are not drawn; give a number, (low, high) or a distribution")
    bounds = _bounds(where, given, unit)
    if bounds is not None:
        return random.uniform(*bounds, count)
    try:
        column = np.asarray(given, dtype=float)
    except (TypeError, ValueError):
        column = np.zeros((0, 0))
    if column.shape not in ((), (count,)):
        raise ArgumentError(
            f"{where}: give a number, (low, high), a distribution, or {count} numbers, got the shape {column.shape}"
        )
    return np.broadcast_to(column, (count,)).copy()
