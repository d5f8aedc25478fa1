"""From names to lanes: which of the things that runs differ in is a parameter, an input or a wish for the start."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from draisine.dynamics.derive import derive
from draisine.dynamics.input_laws import with_laws
from draisine.errors import ArgumentError
from draisine.model.items import System
from draisine.model.model import Model
from draisine.model.quantities import Amount, laws_and_constants
from draisine.program.dae_residual import DaeResidual
from draisine.program.equations import Equations, Event
from draisine.simulation.ensemble.problem import Sense
from draisine.simulation.ensemble.samples import LaneValues, Reals
from draisine.simulation.initial.batch import Asked
from draisine.simulation.initial.problem import InitialGuess, StartProblem
from draisine.simulation.named_values import numbers, unknown_name

START = "start."


@dataclass(frozen=True, eq=False)
class Posed:
    """An ensemble in the equations' words."""

    equations: Equations
    starts: StartProblem
    lanes: LaneValues
    homes: dict[str, tuple[str, str]]  # name → ("parameter" | "input" | "start", name there)
    targets: dict[str, float]
    near: dict[str, float]
    inputs: Reals
    parameters: Reals
    sense: Sense

    def __reduce__(self) -> tuple[Callable[..., Posed], tuple[Any, ...]]:
        """What is compiled of the equations is compiled where they arrive."""
        rest = self.lanes, self.homes, self.targets, self.near, self.inputs, self.parameters, self.sense
        return arrived, (self.equations, *rest)

    @property
    def count(self) -> int:
        return int(np.prod(self.lanes.shape))

    def asked(self, begin: int, end: int) -> tuple[dict[str, Reals], Asked]:
        """What the lanes from `begin` to before `end` differ in, and what they ask for."""
        e, count = self.equations, end - begin
        values = self.lanes.values(begin, end)
        u, p = np.tile(self.inputs, (count, 1)), np.tile(self.parameters, (count, 1))
        targets = {name: np.full(count, value) for name, value in self.targets.items()}
        places = {
            "parameter": {q.name: i for i, q in enumerate(e.parameters)},
            "input": {q.name: i for i, q in enumerate(e.inputs)},
        }
        for name, column in values.items():
            home, own = self.homes[name]
            if home == "start":
                targets[own] = column
            else:
                (p if home == "parameter" else u)[:, places[home][own]] = column
        return values, Asked(targets, self.near, u, p)

    def fingerprint(self, *more: object) -> str:
        """Of all that decides the results."""
        e = self.equations
        programs = [e.dynamics, e.report, e.motion, e.project, e.monitor, e.events]
        reported = [getattr(program, "digest", None) for program in _plain(programs)]
        constants = sorted(self.targets.items()), sorted(self.near.items()), self.inputs.tolist(), self.parameters.tolist()
        text = repr((reported, e.event_list, e.alternates, constants, self.lanes.reported(), sorted(self.homes.items()), *more))
        return hashlib.sha256(text.encode()).hexdigest()


def arrived(equations: Equations, *rest: Any) -> Posed:
    """An ensemble from another process."""
    return Posed(equations, StartProblem(equations), *rest)


def _plain(programs: Sequence[Any]) -> list[Any]:
    """Programs that have digests: an implicit system has two."""
    found: list[Any] = []
    for program in programs:
        found += [program.residual, program.jacobian] if isinstance(program, DaeResidual) else [program]
    return found


def pose(
    model: Model | System | Equations,
    lanes: LaneValues,
    start: Mapping[str, float | InitialGuess],
    parameters: Mapping[str, float],
    inputs: Mapping[str, Amount],
    events: tuple[Event, ...],
) -> Posed:
    """Refuses names that do not exist and values that are given twice."""
    laws, constants = laws_and_constants(
        inputs, "an ensemble runs no Python functions; give a law as text, with parameters that runs differ in"
    )
    fixed = {name: home for home in ("parameter", "input") for name in (parameters if home == "parameter" else constants)}
    driven = bool(inputs) or any(_is_input(model, name) for name in lanes.names)
    if isinstance(model, Equations):
        equations = with_laws(model, laws, events)
    else:
        equations = derive(model, laws, events, work=True if driven else None)
    starts = StartProblem(equations)
    homes = {name: _home(equations, starts, name) for name in lanes.names}
    targets = {name: float(value) for name, value in start.items() if not isinstance(value, InitialGuess)}
    for name, (home, own) in homes.items():
        twice = own in targets if home == "start" else fixed.get(own) == home
        if twice:
            raise ArgumentError(f"{name!r} is given for all runs and for each of them; leave one of these out")
    _check_targets(equations, starts, start)
    near = {name: float(value.value) for name, value in start.items() if isinstance(value, InitialGuess)}
    u, p = numbers("input", equations.inputs, constants), numbers("parameter", equations.parameters, parameters)
    return Posed(equations, starts, lanes, homes, targets, near, u, p, Sense.of(model, homes, parameters))


def _is_input(model: Model | System | Equations, name: str) -> bool:
    described = model.freeze() if isinstance(model, Model) else model
    return name in {q.name for q in described.inputs}


def _home(e: Equations, starts: StartProblem, name: str) -> tuple[str, str]:
    """A plain name is a parameter, an input or a wish, in this order; `start.name` is a wish whatever else has the name."""
    known = {"parameter": {q.name for q in e.parameters}, "input": {q.name for q in e.inputs}, "start": set(starts.homes)}
    if name.startswith(START):
        if name.removeprefix(START) not in known["start"]:
            raise unknown_name(f"coordinate, velocity or output of {e.name}", name.removeprefix(START), known["start"])
        return "start", name.removeprefix(START)
    for home, names in known.items():
        if name in names:
            _check_targets(e, starts, [name] if home == "start" else [])
            return home, name
    raise unknown_name(
        f"parameter, input or wish for the start of {e.name}", name, [n for names in known.values() for n in names]
    )


def _check_targets(e: Equations, starts: StartProblem, targets: Mapping[str, Any] | Sequence[str]) -> None:
    for name in targets:
        if name in e.force_outputs:
            raise ArgumentError(f"{e.name}: {name!r} depends on accelerations or forces and cannot be wished for at the start")
        if name not in starts.homes:
            raise unknown_name(f"coordinate, velocity or output of {e.name}", name, starts.homes)
