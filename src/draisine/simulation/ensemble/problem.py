"""The problem of an ensemble: which varied names are parameters, inputs or start targets, and which values are valid."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from draisine.dynamics.derive import derive
from draisine.dynamics.given_parameters import description_of
from draisine.errors import ArgumentError
from draisine.model.model import Model
from draisine.model.plausibility import ParameterRules
from draisine.model.quantities import Amount, laws_and_constants
from draisine.model.system import System
from draisine.program.arguments import numbers, parameter_values, refuse_dependent, unknown_name
from draisine.program.equations import Equations, Event
from draisine.program.program import DaeResidual
from draisine.results.channel import HasState, StateValue, named_start
from draisine.simulation.ensemble.distributions import SampleValues
from draisine.simulation.given_equations import equations_for_run
from draisine.simulation.initial.batch import BatchTargets
from draisine.simulation.initial.problem import InitialGuess, StartProblem, plain

Reals = NDArray[np.float64]
Texts = NDArray[np.object_]
T = TypeVar("T")

BAD_VALUES = "BAD_VALUES"  # the values of a run are invalid, and it is not run


@dataclass(frozen=True, eq=False)
class ValueCheck:
    """Checks of the values in which runs differ: finite, and physically possible."""

    parameters: Mapping[str, str]  # columns that are parameters → parameter
    rules: ParameterRules | None  # that they can violate

    @staticmethod
    def of(model: Model | System | Equations, kinds: Mapping[str, tuple[str, str]], fixed: Mapping[str, float]) -> ValueCheck:
        """Raises a `ModelError` if values common to all runs are invalid."""
        parameters = {name: own for name, (kind, own) in kinds.items() if kind == "parameter"}
        system = description_of(model)
        if system is None:
            return ValueCheck(parameters, None)
        rules = ParameterRules.of(system, fixed, frozenset(parameters.values()))
        return ValueCheck(parameters, rules if rules.amounts else None)

    def reasons(self, values: Mapping[str, Reals], count: int) -> Texts:
        """The reason why the values of each run are invalid, or ""."""
        found = np.full(count, "", dtype=object)
        if self.rules is not None:
            texts = np.array([*self.rules.reasons, ""], dtype=object)
            found = texts[self.rules.first_violations(self._given(values))]
        for name, column in values.items():
            found[~np.isfinite(column)] = _not_finite(name)
        return found

    def complaint(self, values: Mapping[str, float]) -> str:
        """What is wrong with the values of a run, with the numbers."""
        for name, value in values.items():
            if not np.isfinite(value):
                return f"{_not_finite(name)}, got {float(value)!r}"
        if self.rules is None:
            return ""
        one = {name: np.array([value]) for name, value in self._given(values).items()}
        (reason,) = self.rules.first_violations(one)
        return self.rules.complaint(int(reason), self._given(values)) if reason >= 0 else ""

    def _given(self, values: Mapping[str, T]) -> dict[str, T]:
        return {own: values[name] for name, own in self.parameters.items()}


def _not_finite(name: str) -> str:
    return f"{name!r} must be a finite number"


START = "start."


@dataclass(frozen=True, eq=False)
class EnsembleProblem:
    """An ensemble with its equations: kinds of the varied names, and values common to all runs."""

    equations: Equations
    starts: StartProblem
    varied: SampleValues
    kinds: dict[str, tuple[str, str]]  # name → ("parameter" | "input" | "start", name there)
    targets: dict[str, float]
    near: dict[str, float]
    inputs: Reals
    parameters: Reals
    validity: ValueCheck

    def __reduce__(self) -> tuple[Callable[..., EnsembleProblem], tuple[Any, ...]]:
        """Kernels are not pickled; they are compiled in the other process."""
        rest = self.varied, self.kinds, self.targets, self.near, self.inputs, self.parameters, self.validity
        return problem_from_pickle, (self.equations, *rest)

    @property
    def count(self) -> int:
        return int(np.prod(self.varied.shape))

    def requested(self, begin: int, end: int) -> tuple[dict[str, Reals], BatchTargets]:
        """The values of runs from `begin` to before `end`, and the targets, inputs and parameters of their starts."""
        e, count = self.equations, end - begin
        values = self.varied.values(begin, end)
        u, p = np.tile(self.inputs, (count, 1)), np.tile(self.parameters, (count, 1))
        targets = {name: np.full(count, value) for name, value in self.targets.items()}
        index = {
            "parameter": {q.name: i for i, q in enumerate(e.parameters)},
            "input": {q.name: i for i, q in enumerate(e.inputs)},
        }
        for name, column in values.items():
            kind, own = self.kinds[name]
            if kind == "start":
                targets[own] = column
            else:
                (p if kind == "parameter" else u)[:, index[kind][own]] = column
        return values, BatchTargets(targets, self.near, u, p)

    def fingerprint(self, *more: object) -> str:
        """A digest of all data that determine the results."""
        e = self.equations
        programs = [e.dynamics, e.report, e.motion, e.project, e.monitor, e.events]
        own = [e.contact_margins, e.contact_terms, e.contact_system, e.usual_dynamics, e.usual_margins, e.usual_project]
        programs += own if e.unilateral else []
        more = (*more, e.unilateral) if e.unilateral else more
        reported = [getattr(program, "digest", None) for program in _plain(programs)]
        constants = sorted(self.targets.items()), sorted(self.near.items()), self.inputs.tolist(), self.parameters.tolist()
        text = repr((reported, e.event_list, e.alternates, constants, self.varied.reported(), sorted(self.kinds.items()), *more))
        return hashlib.sha256(text.encode()).hexdigest()


def problem_from_pickle(equations: Equations, *rest: Any) -> EnsembleProblem:
    """Restore a pickled problem."""
    return EnsembleProblem(equations, StartProblem(equations), *rest)


def _plain(programs: Sequence[Any]) -> list[Any]:
    """Programs with digests: an implicit system has two."""
    found: list[Any] = []
    for program in programs:
        found += [program.residual, program.jacobian] if isinstance(program, DaeResidual) else [program]
    return found


def ensemble_problem(
    model: Model | System | Equations,
    varied: SampleValues,
    start: Mapping[str, float | InitialGuess] | HasState | None,
    parameters: Mapping[str, float],
    inputs: Mapping[str, Amount],
    events: tuple[Event, ...],
) -> EnsembleProblem:
    """Sort the names; unknown names and values given twice are refused."""
    laws, constants = laws_and_constants(
        inputs, "ensembles do not call Python functions; give a law as text, with parameters that differ between runs"
    )
    fixed = {name: kind for kind in ("parameter", "input") for name in (parameters if kind == "parameter" else constants)}
    driven = bool(inputs) or any(_is_input(model, name) for name in varied.names)
    if isinstance(model, Equations):
        named = {*named_start(start), *(name.removeprefix(START) for name in varied.names)}
        equations, _ = equations_for_run(model, laws, events, named)
    else:
        equations = derive(model, laws, events, work=True if driven else None)
    starts = StartProblem(equations)
    kinds = {name: _kind(equations, starts, name) for name in varied.names}
    given = plain(equations, named_start(start))
    moving = {q.name for q in (*equations.coordinates, *equations.velocities)}
    computed = {name: value for name, value in given.items() if isinstance(value, StateValue) and name in moving}
    guesses = {name: value.value for name, value in given.items() if isinstance(value, InitialGuess)}
    targets = {name: float(value) for name, value in given.items() if name not in (*computed, *guesses)}  # type: ignore[arg-type]
    for name, (kind, own) in kinds.items():
        twice = own in targets if kind == "start" else fixed.get(own) == kind
        if twice:
            raise ArgumentError(f"{name!r} is given both for all runs and for each run; leave one out")
    _check_targets(equations, starts, given)
    u = numbers("input", equations.inputs, constants)
    p = parameter_values(equations, parameters)
    return EnsembleProblem(
        equations, starts, varied, kinds, targets, {**guesses, **computed}, u, p, ValueCheck.of(model, kinds, parameters)
    )


def _is_input(model: Model | System | Equations, name: str) -> bool:
    described = model.freeze() if isinstance(model, Model) else model
    return name in {q.name for q in described.inputs}


def _kind(e: Equations, starts: StartProblem, name: str) -> tuple[str, str]:
    """A plain name is a parameter, an input or a start target, in this order; `start.name` is always a start target."""
    known = {"parameter": {q.name for q in e.parameters}, "input": {q.name for q in e.inputs}, "start": set(starts.kinds)}
    if name.startswith(START):
        if name.removeprefix(START) not in known["start"]:
            raise unknown_name(f"coordinate, velocity or output of {e.name}", name.removeprefix(START), known["start"])
        return "start", name.removeprefix(START)
    for kind, names in known.items():
        if name in names:
            _check_targets(e, starts, [name] if kind == "start" else [])
            return kind, name
    refuse_dependent(name, e.dependent_parameters)
    every = [n for names in known.values() for n in names]
    raise unknown_name(f"parameter, input or start target of {e.name}", name, every, e.left_out)


def _check_targets(e: Equations, starts: StartProblem, targets: Mapping[str, Any] | Sequence[str]) -> None:
    for name in targets:
        if name in e.force_outputs:
            raise ArgumentError(f"{e.name}: {name!r} depends on accelerations or forces and cannot be a start target")
        if name not in starts.kinds:
            raise unknown_name(f"coordinate, velocity or output of {e.name}", name, starts.kinds)
